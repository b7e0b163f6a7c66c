"""A vttablet that is stopped, killed or paused during submit, hold and complete: waited for, never sent twice.

To meet the submit and the complete half done, a lock on the second mysqld's migration table holds the write there
until the tablet is gone. An ALTER of a killed tablet takes Vitess up to two minutes to pick up again, so only
the release is killed with one (a held one is in test_with_replicas.py); the others are immediate operations.
"""

import contextlib
import re

import pytest

from cluster import KEYSPACE, PAUSE, wait_until

FLAGS = ["--read-timeout", "2s", "--effect-timeout", "8s"]
ALTER, CREATE = "alter table {table} add column memo int", "create table {table}_x (id bigint primary key, memo int)"
UNDO = {"stop": "start", "kill": "start", "pause": "resume"}
TROUBLE = {"stop": "(was shut down|does not answer)", "kill": "does not answer", "pause": "does not answer"}


def statement(text, table):
    return text.format(table=table), (f"{table}_x" if text == CREATE else table)


@contextlib.contextmanager
def writes_blocked(fleet, tablet):
    """Whatever vttablet writes into its migrations waits."""
    with fleet.session(tablet, "lock tables _vt.schema_migrations read"):
        yield


def act(fleet, tablet, fault):
    if fault == "pause":
        fleet.signal_vttablet(tablet, PAUSE)
    else:
        fleet.tablet(tablet, fault)


def assert_waits_and_sees_the_other(running, first, second, fault, after):
    """The lost shard is named with its tablet and why; the other one is still looked at; nothing ends."""
    number = running.until(rf"(shard {second.shard} unknown|waiting) .*{second.alias} {TROUBLE[fault]}", 40, after)
    assert running.process.poll() is None, running.stderr
    seen = [line for line in running.lines if re.search(rf" shard {first.shard} \w+", line)]
    assert not re.search(r"unknown|absent", seen[-1]), seen
    return number


@pytest.mark.parametrize("fault, text", [("stop", CREATE), ("kill", ALTER), ("pause", CREATE)])
def test_a_tablet_lost_during_the_submit(fleet, vtddl, table, fault, text):
    first, second = fleet.tablets
    sql, target = statement(text, table)
    with writes_blocked(fleet, second):
        running = vtddl.start("run", KEYSPACE, "--sql", sql, *FLAGS)
        after = running.until("phase submitting")
        wait_until(lambda: fleet.migrations_of(target), "the submit on the first shard")
        act(fleet, second, fault)
    assert_waits_and_sees_the_other(running, first, second, fault, after)
    fleet.tablet(second, UNDO[fault])
    running.end()
    assert all("`memo` int" in text for text in fleet.definition(target).values())
    assert len(fleet.assert_sound(target)) == 1


@pytest.mark.parametrize("fault, text", [("stop", CREATE), ("kill", CREATE), ("pause", ALTER)])
def test_a_tablet_lost_while_held(fleet, vtddl, table, fault, text):
    first, second = fleet.tablets
    sql, target = statement(text, table)
    uuid = vtddl.held(sql)
    act(fleet, second, fault)
    running = vtddl.start("run", KEYSPACE, "--sql", sql, *FLAGS)
    assert_waits_and_sees_the_other(running, first, second, fault, 0)
    assert fleet.rows(uuid, "postpone_completion") == {shard: [["1"]] for shard in fleet.shards}
    fleet.tablet(second, UNDO[fault])
    running.end(seconds=240)
    assert all("`memo` int" in text for text in fleet.definition(target).values())
    assert fleet.assert_sound(target) == [uuid]


@pytest.mark.parametrize("fault, text", [("stop", CREATE), ("kill", ALTER), ("pause", ALTER)])
def test_a_tablet_lost_during_the_release(fleet, vtddl, table, fault, text):
    first, second = fleet.tablets
    sql, target = statement(text, table)
    uuid = vtddl.held(sql)
    with writes_blocked(fleet, second):
        running = vtddl.start("run", KEYSPACE, "--sql", sql, *FLAGS)
        after = running.until("phase completing")
        wait_until(lambda: fleet.rows(uuid, "postpone_completion")[first.shard] == [["0"]], "the first shard's release")
        assert fleet.rows(uuid, "postpone_completion")[second.shard] == [["1"]]
        act(fleet, second, fault)
    after = assert_waits_and_sees_the_other(running, first, second, fault, after)
    running.until(rf"shard {first.shard} complete", 60)
    assert running.process.poll() is None
    fleet.tablet(second, UNDO[fault])
    running.end(seconds=240)
    assert all("`memo` int" in text for text in fleet.definition(target).values())
    assert fleet.assert_sound(target) == [uuid]


def test_vtctld_is_gone_for_a_while(fleet, vtddl, table):
    sql = f"alter table {table} add column memo int"
    running = vtddl.start("run", KEYSPACE, "--sql", sql, *FLAGS)
    after = running.until("phase submitted")
    fleet.tool("vtctld", "kill")
    running.until(r"shard \S+ unknown", 30, after)
    assert running.process.poll() is None
    fleet.tool("vtctld", "start")
    running.end()
    fleet.assert_sound(table)
