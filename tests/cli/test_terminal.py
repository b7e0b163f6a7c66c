"""What a terminal gets: a block that is redrawn, with colours or without; plain lines where that is asked for."""

import re

import pytest

from simulator import Simulator
from terminal import run_on_terminal

ALTER = "alter table orders add column memo varchar(64)"


@pytest.mark.parametrize("env, words, redraws, colors", [
    ({"TERM": "xterm"}, [], True, True),
    ({"TERM": "xterm", "NO_COLOR": "1"}, [], True, False),
    ({"TERM": "xterm"}, ["--no-color"], True, False),
    ({"TERM": "dumb"}, [], False, False),
    ({"TERM": "xterm", "CI": "true"}, [], False, False),
    ({"TERM": "xterm"}, ["--log-format", "json"], False, False),
])
def test_the_terminal_decides_how_progress_is_shown(vtddl, tmp_path, env, words, redraws, colors):
    with Simulator(tmp_path) as sim:
        shown, out = run_on_terminal(vtddl, "run", "commerce", "--sql", ALTER, "--server", sim.address,
                                     "--poll-interval", "2s", *words, env=env)
    assert ("\033[J" in shown) == redraws
    assert ("\033[32m" in shown) == colors
    assert "\033" not in out and "verified: " in out
    if redraws:
        frames = re.split(r"\r\033\[\d+A\033\[J", shown)
        assert all(len(re.sub(r"\033\[\d*m", "", line)) < 80 for frame in frames
                   for line in frame.replace("\r", "").split("\n") if not re.match(r"\d{4}-", line))
        assert frames[-1] == "", "the block is gone at the end"
    else:
        assert "\033" not in shown


def test_the_block_fits_the_terminal_however_many_shards_there_are(vtddl, tmp_path):
    bounds = ["", *(f"{4 * i:02x}" for i in range(1, 64)), ""]
    shards = ",".join(f"{a}-{b}" for a, b in zip(bounds, bounds[1:]))
    with Simulator(tmp_path, "--shards=" + shards) as sim:
        shown, _ = run_on_terminal(vtddl, "run", "commerce", "--sql", ALTER, "--server", sim.address,
                                   "--poll-interval", "2s", env={"TERM": "xterm"})
    heights = [int(n) for n in re.findall(r"\r\033\[(\d+)A\033\[J", shown)]
    assert heights and max(heights) < 24
    assert re.search(r"  and \d+ more shards; in all \d+ of 64 ready, \d+ complete", shown)
