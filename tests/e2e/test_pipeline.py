"""The main job on two real shards: verified, once, and a second run that sends nothing."""

import re

import pytest

from cluster import KEYSPACE

pytestmark = pytest.mark.core


def test_a_run_ends_verified_and_a_second_run_sends_nothing(fleet, vtddl, table):
    words = ["run", KEYSPACE, "--sql", f"alter table {table} add column note varchar(20)", "--vtgate", fleet.vtgate,
             "--probe", f"select id, note from {table} where id < 3"]
    first = vtddl.ok(*words)
    assert re.search(rf"^verified: {KEYSPACE}\.{table}, proven on every shard \(2 of 2\), in ", first.stdout, re.M)
    assert "ok VTGate serves the new definition" in first.stdout and "ok probe 1: p99" in first.stdout
    uuid, = fleet.assert_sound(table)
    assert all("`note` varchar(20)" in text for text in fleet.definition(table).values())
    before = fleet.rows(uuid)

    again = vtddl.json(*words)
    assert (again["already"], again["verdict"], again["exit_code"]) == (True, "verified", 0)
    assert again["effects_sent"] == {"submit": 0, "complete": 0, "cancel": 0}
    assert re.search(r"^already verified on .*Z: nothing sent$", vtddl.ok(*words).stdout, re.M)
    assert fleet.rows(uuid) == before, "a second run left a trace on a shard"
    fleet.assert_sound(table)


def test_add_drop_add_are_three_changes_and_the_second_add_is_asked_for(fleet, vtddl, table):
    add, drop = f"alter table {table} add column memo int", f"alter table {table} drop column memo"
    vtddl.ok("run", KEYSPACE, "--sql", add)
    vtddl.ok("run", KEYSPACE, "--sql", drop)
    assert all("memo" not in text for text in fleet.definition(table).values())

    blocked = vtddl.ok("run", KEYSPACE, "--sql", add, code=3)
    assert "has changed since" in blocked.stdout and "--again" in blocked.stdout, blocked.stdout
    assert len(fleet.assert_sound(table, ["complete"] * 2)) == 2

    result = vtddl.json("run", KEYSPACE, "--sql", add, "--again")
    assert result["change"]["generation"] == 2 and result["verdict"] == "verified"
    assert all("`memo` int" in text for text in fleet.definition(table).values())
    assert len(fleet.assert_sound(table, ["complete"] * 3)) == 3


def test_a_cancel_by_vtctldclient_is_respected(fleet, vtddl, table):
    sql = f"alter table {table} add column memo int"
    uuid = vtddl.held(sql)
    fleet.vtctldclient("OnlineDDL", "cancel", KEYSPACE, uuid)
    got = vtddl.ok("run", KEYSPACE, "--sql", sql, code=1)
    assert "CANCEL issued by user" in got.stdout and "somebody cancelled" in got.stdout, got.stdout
    assert fleet.status(uuid) == {shard: "cancelled" for shard in fleet.shards}
    before = fleet.rows(uuid)

    again = vtddl.json("run", KEYSPACE, "--sql", sql, code=1)
    assert again["effects_sent"] == {"submit": 0, "complete": 0, "cancel": 0}
    assert fleet.rows(uuid) == before
    assert "memo" not in fleet.definition(table)[fleet.shards[0]]
    fleet.assert_sound(table, ["cancelled"])
