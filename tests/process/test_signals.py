"""SIGINT and SIGTERM while every shard is held: the change goes on, and the very same command goes on with it."""

import re
import signal
import subprocess
import time

import pytest

from harness import ALTER, GRACE_S, HOLD, UNHOLD, assert_done_once, read_until, stand_still


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_says_that_the_change_goes_on_and_how_to_resume(sim, vtddl, number, code):
    fleet = sim(script=[HOLD], scale=20)
    program = vtddl(fleet)
    # a statement that needs quoting in a shell
    statement = "alter table orders add column memo varchar(64) default 'it''s $HOME; \"x\"'"
    run = program.start("run", "commerce", "--sql", statement)
    read_until(run, "phase submitted")
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (code, ""), err
    assert re.search(r"^vtddl: interrupted; the change [0-9a-f_]{36} of keyspace commerce \(phase submitted\) keeps "
                     r"running in the fleet", err, re.M), err
    assert fleet.journal("CompleteSchemaMigration", "CancelSchemaMigration") == []
    fleet.reload([UNHOLD])
    printed = re.search(r"to go on: (vtddl run .*)", err).group(1)
    path = program.program.rsplit("/", 1)[0] + ":/usr/bin:/bin"
    got = subprocess.run(["sh", "-c", printed], env={**program.env, "PATH": path}, cwd=program.home, timeout=60,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert got.returncode == 0, got.stdout + got.stderr
    assert_done_once(fleet, program)


def test_a_second_signal_ends_it_at_once(sim, vtddl):
    fleet = sim(script=[{"on": "ApplySchema", "when": "after", "drop": True}], scale=20)
    program = vtddl(fleet)
    run = program.start("run", "commerce", "--sql", ALTER)
    read_until(run, "phase submitting")
    time.sleep(0.5)
    began = time.monotonic()
    run.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert run.poll() is None, "it waits for its effect"
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130 and time.monotonic() - began < GRACE_S
    assert program.run("run", "commerce", "--sql", ALTER, "--effect-timeout", "2s").returncode == 0
    assert_done_once(fleet, program)


def test_a_signal_before_anything_was_sent_says_so(sim, vtddl):
    fleet = sim(scale=20)
    program = vtddl(fleet)
    stand_still(fleet.process.pid)
    run = program.start("run", "commerce", "--sql", ALTER, "--read-timeout", "60s")
    time.sleep(1)
    began = time.monotonic()
    run.send_signal(signal.SIGTERM)
    _, err = run.communicate(timeout=90)
    fleet.process.send_signal(signal.SIGCONT)
    assert time.monotonic() - began < 30, "a read without an answer is not waited for"
    assert run.returncode == 143 and "before the change was written down; nothing was sent" in err, err
    assert fleet.effects() == []


def test_hangup_and_a_closed_terminal_are_not_the_end_of_the_change(sim, vtddl):
    """Without a handler SIGHUP kills, which is kill -9 to us: the next run goes on."""
    fleet = sim(script=[HOLD], scale=20)
    program = vtddl(fleet)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL) # under nohup it is ignored, and that is inherited
    run = program.start("run", "commerce", "--sql", ALTER)
    signal.signal(signal.SIGHUP, before)
    read_until(run, "phase submitted")
    run.send_signal(signal.SIGHUP)
    run.communicate(timeout=30)
    assert run.returncode != 0
    fleet.reload([UNHOLD])
    assert program.run("run", "commerce", "--sql", ALTER).returncode == 0
    assert_done_once(fleet, program)
