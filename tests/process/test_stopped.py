"""SIGSTOP of the process that drives, in every phase, over one SQLite store.

There is no lease that could end there: the kernel's lock is the process's as long as it lives, stopped or not. So
nobody takes over; whoever comes is told who holds the keyspace, and nothing is sent until that one goes on or dies.
"""

import contextlib
import re
import signal
import sqlite3
import time

import pytest

from harness import (ALTER, BLOCK, HOLD, UNBLOCK, UNHOLD, Sim, Vtddl, assert_done_once, read_until, side_by_side,
                     stand_still, wait_until)
from own_clock import OwnClock

RATE = 4
LEASE_S = 30 / RATE  # what a lease of a MySQL store takes, in this machine's time
WORDS = ("--read-timeout", "20s", "--effect-timeout", "40s")


def record(program):
    with contextlib.closing(sqlite3.connect(f"file:{program.store}?mode=ro", uri=True)) as store:
        try:
            rows = store.execute("select phase, attempts from ddl_pipeline").fetchall()
        except sqlite3.OperationalError:  # it is made just now
            rows = []
        return rows[0] if rows else ("", 0)


def in_phase(name, attempts=0):
    return lambda fleet, program: program.store.exists() and record(program)[0] == name and (
        record(program)[1] >= attempts)


# the script at the start, the one that lets it go on, and what must be seen before it is stopped
PHASES = {
    "submitting": ([{"on": "ApplySchema", "nth": 1, "when": "before", "delay_ms": 20000}], [],
                   in_phase("submitting", 1)),
    "submitted": ([HOLD], [UNHOLD], in_phase("submitted")),
    "completing": ([BLOCK], [UNBLOCK], lambda fleet, program: fleet.done("CompleteSchemaMigration")),
    "releasing": ([{"on": "CompleteSchemaMigration", "nth": 1, "when": "after", "shards": "-80", "delay_ms": 20000}],
                  [], in_phase("completing", 1)),
}


@pytest.mark.parametrize("number", [signal.SIGCONT, signal.SIGKILL], ids=["goes on", "dies"])
def test_the_driver_is_stopped_in_every_phase(tmp_path, number):
    def check(name, case):
        script, go_on, reached = case
        fleet = Sim(tmp_path / name / "sim", script=script, scale=20).start()
        try:
            program = Vtddl(tmp_path / name / "home", fleet.address)
            env = OwnClock(tmp_path / name / "clock", RATE).env
            driver = program.start("run", "commerce", "--sql", ALTER, *WORDS, env=env)
            wait_until(lambda: reached(fleet, program), f"{name} is reached")
            stand_still(driver.pid)
            follower = program.start("run", "commerce", "--sql", ALTER, *WORDS, env=env)
            said = read_until(follower, "another process drives this keyspace")
            assert re.search(rf":{driver.pid}:", said), "the follower does not name the driver"
            fleet.reload(go_on)
            before = len(fleet.effects())
            time.sleep(LEASE_S + 1)
            after = fleet.effects()[before:]
            # what was on its way then may end now; nothing new may begin
            assert len(after) <= 1 and follower.poll() is None, after
            driver.send_signal(number)
            _, err = follower.communicate(timeout=90)
            assert follower.returncode == 0, err
            driver.communicate(timeout=60)
            assert driver.returncode == (0 if number == signal.SIGCONT else -number)
            assert_done_once(fleet, program)
        finally:
            fleet.stop()

    side_by_side(PHASES, check)
