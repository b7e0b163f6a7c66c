"""vtctld in trouble at every stage of a run: at each request, or at each frame that it sends.

It is stopped (SIGSTOP) for longer than the program waits, restarted (the connection is reset and others are refused
for a while; the tablets have the state), cut off without a sign (half-open), or says goodbye with GOAWAY. The process
must go on by itself; only before its first look at the fleet it may give up with exit 69. `--every` takes every place,
else it is a sample by the printed seed.
"""

import signal
import threading

import pytest

from exchange import Exchange, sample
from harness import side_by_side, stand_still
from own_clock import OwnClock
from proxy import AtFrame, AtRequest, goaway

RATE = 4
WORKERS = 24
SHARE = 12
# of the program's time: so short that they end while the server is away, and long enough for a machine under load
SHORT = ("--read-timeout", "4s", "--effect-timeout", "6s")
AWAY_S = 3  # of this machine's time: twelve of the program's
KEEPALIVE = ("--grpc-keepalive-time", "20s", "--grpc-keepalive-timeout", "4s")
ENHANCE_YOUR_CALM = 11
LAST_OF_ALL = 2**31 - 1


@pytest.fixture
def clock(tmp_path):
    return OwnClock(tmp_path / "clock", RATE)


def stop_for_a_while(exchange):
    def do(*_):
        stand_still(exchange.sim.process.pid)
        threading.Timer(AWAY_S, exchange.sim.process.send_signal, [signal.SIGCONT]).start()
        return True

    return do


def restart(_):
    def do(proxy, link):
        proxy.refuse(1)
        proxy.drop(link)
        return False

    return do


def cut_off(_):
    def do(_, link):
        link.deaf = True
        return False

    return do


def through_all(tmp_path, clock, cases, harm, words):
    """Runs each case and gives how many processes it took."""
    def check(name, case):
        with Exchange(tmp_path / name, clock, words=words) as exchange:
            exchange.proxy.harm = harm(exchange, case)
            return exchange.run_through()

    return side_by_side(cases, check, WORKERS)


def measured(folder, clock):
    with Exchange(folder, clock) as exchange:
        assert exchange.run_through() == 1
        return exchange.proxy


TROUBLE = {"stopped": (stop_for_a_while, SHORT), "restarted": (restart, SHORT), "half-open": (cut_off, SHORT + KEEPALIVE)}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_server_in_trouble_at_every_request(tmp_path, clock, every, seed, trouble):
    make, words = TROUBLE[trouble]
    count = measured(tmp_path / "whole", clock).requests * 7 // 10
    assert count > 15
    places = range(1, count + 1) if every else [1 + n for n in sample(count, SHARE, seed)]
    cases = {f"{n}-{'answered' if answered else 'asked'}": (n, answered) for n in places for answered in (False, True)}
    lives = through_all(tmp_path, clock, cases, lambda exchange, case: AtRequest(
        case[0], make(exchange), case[1]), words)
    print(f"{trouble}: {len(cases)} places at {len(places)} of {count} requests, seed {seed}; "
          f"{sum(count > 1 for count in lives.values())} before the first look")


# what is said; whether the connection is closed behind it
GOODBYES = {
    "graceful": (lambda _: goaway(LAST_OF_ALL), False),
    "final": (lambda link: goaway(link.last_stream), False),
    "final and closed": (lambda link: goaway(link.last_stream), True),
    "calm down": (lambda link: goaway(link.last_stream, ENHANCE_YOUR_CALM, b"too_many_pings"), True),
    # it says of the newest request, and of all before, that it has not seen them, though it has
    "a lie": (lambda _: goaway(0), True),
    "internal error": (lambda link: goaway(link.last_stream, 2, b"\x00\xff" * 40), True),
}


@pytest.mark.parametrize("goodbye", GOODBYES)
def test_a_goodbye_in_front_of_every_frame(tmp_path, clock, every, seed, goodbye):
    say, close = GOODBYES[goodbye]
    count = measured(tmp_path / "whole", clock).frames[1] * 7 // 10
    assert count > 50
    places = range(1, count + 1) if every else [1 + n for n in sample(count, SHARE, seed)]
    lives = through_all(tmp_path, clock, {str(n): n for n in places}, lambda _, n: AtFrame(n, say, close),
                        ("--read-timeout", "30s", "--effect-timeout", "60s"))
    print(f"{goodbye}: {len(places)} of {count} frames, seed {seed}; "
          f"{sum(count > 1 for count in lives.values())} before the first look")
