"""Reparents, planned and in an emergency, on a second cluster: four shards with a replica each."""

import re

import pytest

from cluster import KEYSPACE
from conftest import new_table
from program import Vtddl

FLAGS = ["--read-timeout", "2s", "--effect-timeout", "10s"]
SHARD = "c0-"


@pytest.fixture
def fleet(replicated):
    yield replicated
    replicated.heal()


@pytest.fixture
def table(fleet):
    return new_table(fleet)


@pytest.fixture
def vtddl(fleet, tmp_path):
    return Vtddl(tmp_path / "home", fleet.server)


def both(fleet):
    """The primary of the shard, and the other one."""
    primary = fleet.primary(SHARD)
    return primary, next(tablet for tablet in fleet.tablets if tablet.shard == SHARD and tablet != primary)


def test_a_planned_reparent_while_the_rows_are_copied(fleet, vtddl, table):
    old, new = both(fleet)
    running = vtddl.start("run", KEYSPACE, "--sql", f"alter table {table} add column memo int")
    running.until("phase submitted")
    fleet.tool("reparent", SHARD, new.uid)
    running.end(seconds=240)
    assert fleet.primary(SHARD) != old
    assert all("`memo` int" in text for text in fleet.definition(table).values())
    fleet.assert_sound(table)


def test_a_planned_reparent_while_held(fleet, vtddl, table):
    sql = f"alter table {table} add column memo int"
    uuid = vtddl.held(sql)
    fleet.tool("reparent", SHARD, both(fleet)[1].uid)
    vtddl.ok("run", KEYSPACE, "--sql", sql, timeout=240)
    assert fleet.assert_sound(table) == [uuid]


@pytest.mark.parametrize("cure", ["the old tablet is started again", "its record is deleted"])
def test_an_emergency_reparent_with_the_old_primary_dead(fleet, vtddl, table, cure):
    sql = f"alter table {table} add column memo int"
    uuid = vtddl.held(sql)
    old, new = both(fleet)
    fleet.tablet(old, "kill")
    running = vtddl.start("run", KEYSPACE, "--sql", sql, *FLAGS)
    after = running.until(rf"shard {SHARD} unknown .*{old.alias} does not answer", 40)
    fleet.tool("reparent", SHARD, new.uid, "--emergency")
    number = running.until(f"DeleteTablets {old.alias}", 60, after)
    assert re.search(rf"dead old primary {old.alias} of shard {SHARD}.*start that tablet", running.lines[number - 1])
    report = vtddl.run("doctor", KEYSPACE, "--read-timeout", "2s")
    assert f"vtctldclient DeleteTablets {old.alias}" in report.stdout, report.stdout
    if cure.startswith("its record"):
        fleet.vtctldclient("DeleteTablets", old.alias)
    else:
        fleet.tablet(old, "start")
    running.end(seconds=300)
    if cure.startswith("its record"):
        fleet.tablet(old, "start")
    assert all("`memo` int" in text for text in fleet.definition(table).values())
    assert fleet.assert_sound(table) == [uuid]
