"""The connection to vtctld is cut after n bytes of a whole run, in either direction, by RST and by FIN.

The process that it happens to must go on by itself, on a new connection, and get its change through once. Only before
its first look at the fleet it may give up: with exit 69, when no effect was sent; then the same command is given again,
as it says. A sample of the numbers by the printed seed is taken, each by RST and by FIN; `--every` cuts after each number
of bytes, by RST and FIN in turn: another seed turns them round.
"""

import pytest

from exchange import Exchange, sample
from harness import side_by_side
from own_clock import OwnClock
from proxy import TO_CLIENT, TO_SERVER, Cut

RATE = 4
WORKERS = 24
SHARE = 30


def measured(folder, clock):
    """The proxy of one whole run that was left alone."""
    with Exchange(folder, clock) as exchange:
        assert exchange.run_through() == 1
        return exchange.proxy


@pytest.mark.parametrize("direction", [TO_SERVER, TO_CLIENT], ids=["to the server", "to the client"])
def test_a_cut_connection_is_made_again_and_nothing_is_done_twice(tmp_path, every, step, seed, direction):
    clock = OwnClock(tmp_path / "clock", RATE)
    whole = measured(tmp_path / "whole", clock).bytes[direction]
    # how often the fleet is looked at differs a little, so not all of the last bytes come again
    count = whole * 8 // 10
    assert count > 3000, count

    def check(name, case):
        with Exchange(tmp_path / name, clock, Cut(direction, *case)) as exchange:
            lives = exchange.run_through()
            assert exchange.proxy.connections > 1
            return lives

    if every:
        cuts = [(n, bool((n // step + seed) % 2)) for n in range(seed % step, count, step)]
    else:
        cuts = [(n, reset) for n in sample(count, SHARE, seed) for reset in (True, False)]
    cases = {f"{'rst' if reset else 'fin'}-{n}": (n, reset) for n, reset in cuts}
    lives = side_by_side(cases, check, WORKERS)
    gave_up = [int(name.split("-")[1]) for name, count in lives.items() if count > 1]
    print(f"{len(cases)} cuts within {whole} bytes, seed {seed}; {len(gave_up)} before anything "
          f"was sent, the last behind byte {max(gave_up, default=0)}")
    assert len(gave_up) < len(cases) / 2
