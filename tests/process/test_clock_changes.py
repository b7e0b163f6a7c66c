"""The wall clock is set while a change is under way: forward, back, to before 1970, beyond 2038 and 2106.

own_clock.c sets it for the program alone; the monotonic clocks go on, and the simulated fleet and MariaDB keep the
right time. What the program waits for goes by its monotonic clock and by the store's.
"""

import calendar
import contextlib
import signal
import sqlite3
import time

import pytest

from crew import Crew
from exchange import Exchange, sample
from harness import ALTER, HOLD, UNHOLD, Sim, Vtddl, assert_done_once, side_by_side, wait_until
from mysql_server import MysqlServer
from own_clock import HOUR_S, OwnClock
from proxy import AtRequest

RATE = 4
WORKERS = 24
SHARE = 6
WORDS = ("--read-timeout", "30s", "--effect-timeout", "20s")  # of the program's time
YEAR_S = 365 * 24 * HOUR_S


def moment(*parts):
    return calendar.timegm((*parts, 0, 0, 0)[:6])


# what the clock is set to, given what it is
JUMPS = {
    "an hour forward": lambda now: now + HOUR_S,
    "an hour back": lambda now: now - HOUR_S,
    "ten years back": lambda now: now - 10 * YEAR_S,
    "before 1970": lambda now: moment(1969, 12, 31, 23, 59, 58),
    "far before 1970": lambda now: moment(1901, 12, 13, 20, 45, 40),
    "two seconds before 1970 ends": lambda now: -2,
}
# behind the deadline, which stands in the store as a time of the wall clock
LATE = {
    "a day forward": lambda now: now + 24 * HOUR_S,
    "the last second of 2^31": lambda now: 2**31 - 2,
    "the last second of 2^32": lambda now: 2**32 - 2,
}


def set_clock(clock, jump):
    clock.set_wall_to(jump(time.time()))


def jump_at_request(exchange, jump):
    def do(*_):
        set_clock(exchange.clock, jump)
        return True

    return do


def test_set_at_every_request_it_makes_no_difference(tmp_path, every, seed):
    def check(name, case):
        jump, nth = case
        folder = tmp_path / name.replace(" ", "-").replace("^", "")
        folder.mkdir()
        clock = OwnClock(folder / "clock", RATE)
        with Exchange(folder, clock) as exchange:
            exchange.proxy.harm = AtRequest(nth, jump_at_request(exchange, jump))
            began = time.monotonic()
            assert exchange.run_through() == 1
            return time.monotonic() - began

    count = 22
    places = range(1, count + 1) if every else [1 + n for n in sample(count, SHARE, seed)]
    cases = {f"{name} {n}": (jump, n) for name, jump in {**JUMPS, **LATE}.items() for n in places}
    took = side_by_side(cases, check, WORKERS)
    # the waits of a whole run take 3 s and less by this machine's clock; an hour or a day of waiting would show
    assert max(took.values()) < 60, took
    print(f"{len(cases)} places at {len(places)} of {count} requests, seed {seed}, {max(took.values()):.1f} s at most")


def test_set_between_two_processes_the_second_goes_on(tmp_path, crash_program):
    """The first dies right behind an effect, when the store says until when one may be in flight."""
    def check(name, case):
        jump, at = case
        folder = tmp_path / name.replace(" ", "-").replace("^", "").replace(":", "-")
        folder.mkdir()
        clock = OwnClock(folder / "clock", RATE)
        with Exchange(folder, clock, words=WORDS) as exchange:
            first = Vtddl(exchange.vtddl.home, exchange.vtddl.server, crash_program)
            died = first.run("run", "commerce", "--sql", ALTER, env={**clock.env, "VTDDL_CRASH_AT": at})
            assert died.returncode == 128 + signal.SIGKILL, died.stderr
            set_clock(clock, jump)
            began = time.monotonic()
            assert exchange.run_through() == 1
            return time.monotonic() - began

    cases = {f"{name} {at}": (jump, at) for name, jump in {**JUMPS, **LATE}.items()
             for at in ("store-insert-after:1", "effect-start-before:1", "effect-reply:1", "effect-start-after:2")}
    took = side_by_side(cases, check, len(cases))
    # after a clock that was set back, an effect of the dead is held to act for as long as an effect may: 22 s
    assert max(took.values()) < 60, took


class Keeper:
    """A daemon over SQLite with a clock of its own that takes up what was submitted."""

    def __init__(self, fleet, program, clock):
        self.fleet, self.program, self.clock = fleet, program, clock
        self.process = program.start("serve", "--store", f"sqlite:{program.store}", "--server", program.server,
                                     "--poll-interval", "1s", "--http", "off", env=clock.env)

    def record(self, column):
        with contextlib.closing(sqlite3.connect(f"file:{self.program.store}?mode=ro", uri=True)) as store:
            return store.execute(f"select {column} from ddl_pipeline").fetchone()[0]

    def end(self):
        self.process.terminate()
        _, err = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, err
        return err


def held_under_a_daemon(folder, end):
    """Submits a change that is held, starts a daemon with a clock of its own, and calls end(keeper, uuid)."""
    fleet = Sim(folder / "sim", script=[HOLD], scale=20).start()
    try:
        program = Vtddl(folder / "home", fleet.address)
        clock = OwnClock(folder / "clock", RATE)
        got = program.run("submit", "commerce", "--sql", ALTER, "--read-timeout", "30s", env=clock.env)
        assert got.returncode == 0, got.stderr
        keeper = Keeper(fleet, program, clock)
        try:
            looks = len(fleet.journal("GetSchemaMigrations"))
            wait_until(lambda: len(fleet.journal("GetSchemaMigrations")) > looks + 2, "the daemon looks")
            end(keeper, fleet.effects()[0]["request"]["uuid"])
        finally:
            keeper.end()
        assert_done_once(fleet, program)
    finally:
        fleet.stop()


def open_gate(keeper, uuid):
    """By a process that leaves again, so that it is the daemon that goes on."""
    opened = keeper.program.start("complete", "commerce", uuid, "--read-timeout", "30s", env=keeper.clock.env)
    wait_until(lambda: keeper.record("gate") == "auto", "the gate is open")
    opened.kill()
    opened.communicate()


def test_set_under_a_daemon_it_goes_on(tmp_path):
    def check(name, jump):
        def end(keeper, uuid):
            set_clock(keeper.clock, jump)
            open_gate(keeper, uuid)
            keeper.fleet.reload([UNHOLD])
            wait_until(lambda: keeper.record("phase") == "verified", "it is verified")

        held_under_a_daemon(tmp_path / name.replace(" ", "-"), end)

    side_by_side(JUMPS, check)


def test_a_day_forward_under_a_daemon_sends_nothing_and_is_over_when_the_clock_is_right(tmp_path):
    """A daemon judges the deadline anew with each look: behind it nothing more is sent, and nothing is lost either."""
    def end(keeper, uuid):
        open_gate(keeper, uuid)
        set_clock(keeper.clock, LATE["a day forward"])
        keeper.fleet.reload([UNHOLD])
        time.sleep(4)
        assert keeper.fleet.journal("CompleteSchemaMigration") == [], "it was sent behind the deadline"
        keeper.clock.set_wall(0)
        wait_until(lambda: keeper.record("phase") == "verified", "it is verified")

    held_under_a_daemon(tmp_path / "daemon", end)


@pytest.fixture(scope="module")
def mysql():
    server = MysqlServer().start()
    yield server
    server.remove()


def test_two_daemons_of_different_times_over_mysql_keep_the_lease_apart(sim, vtddl, mysql, tmp_path):
    """Leases are judged by the database's clock: whoever holds one keeps it, whatever the clocks of both say."""
    fleet = sim(script=[HOLD], scale=10)
    crew = Crew(fleet.address, vtddl(), mysql)
    clocks = [OwnClock(tmp_path / f"clock{n}") for n in range(2)]
    program = crew.vtddl
    try:
        for clock in clocks:
            with open(tmp_path / "serve.log", "ab") as log:
                crew.started.append(program.start("serve", *crew.words("--http", "off"), env=clock.env, stderr=log))
        assert program.run("submit", *crew.words("commerce", "--sql", ALTER)).returncode == 0
        pids = [process.pid for process in crew.started]
        holder = wait_until(lambda: crew.holder() in pids and crew.holder(), "a daemon took the change up", 60)
        epoch = crew.ask("select epoch from ddl_lock")
        uuid = crew.ask("select uuid from ddl_pipeline")[0][0]
        mine, other = clocks if holder == pids[0] else clocks[::-1]
        for own, theirs in ((HOUR_S, -HOUR_S), (-10 * YEAR_S, HOUR_S), (-80 * YEAR_S, -10 * YEAR_S)):
            mine.set_wall(own)
            other.set_wall(theirs)
            time.sleep(13)  # two renewals fall into it, and in all three the end of a lease
            assert crew.holder() == holder and crew.ask("select epoch from ddl_lock") == epoch
        fleet.reload([UNHOLD])
        got = program.run("complete", *crew.words("commerce", uuid), timeout=90)
        assert got.returncode == 0, got.stdout + got.stderr
        assert crew.ask("select phase from ddl_pipeline") == [["verified"]]
        assert crew.ask("select epoch from ddl_lock") == epoch
        both = {"-80": 1, "80-": 1}
        assert fleet.done("ApplySchema") == both and fleet.done("CompleteSchemaMigration") == both
    finally:
        crew.end()
