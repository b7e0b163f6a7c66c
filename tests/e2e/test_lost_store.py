"""The store is gone: the fleet is asked, and what it has is taken up. Nothing is sent twice."""

import re

import pytest

from cluster import KEYSPACE

pytestmark = pytest.mark.core


@pytest.mark.parametrize("lost_after", ["held", "complete", "verified"])
def test_a_change_whose_store_is_lost_is_taken_up(fleet, vtddl, table, lost_after):
    sql = f"alter table {table} add column memo int"
    uuid = vtddl.held(sql)
    if lost_after == "complete":
        vtddl.ok("complete", KEYSPACE, uuid)
    elif lost_after == "verified":
        vtddl.ok("run", KEYSPACE, "--sql", sql)
    before = fleet.rows(uuid)
    vtddl.lose_store()

    result = vtddl.json("run", KEYSPACE, "--sql", sql)
    assert (result["verdict"], result["change"]["uuid"]) == ("verified", uuid)
    assert result["effects_sent"] == {"submit": 0, "complete": int(lost_after == "held"), "cancel": 0}
    assert any(re.search("store had no record", line["reason"]) for line in result["history"])
    if lost_after != "held":
        assert fleet.rows(uuid) == before
    assert fleet.assert_sound(table) == [uuid]


def test_a_create_whose_store_is_lost_is_not_refused_as_existing(fleet, vtddl, name):
    sql = f"create table {name} (id bigint primary key)"
    vtddl.ok("run", KEYSPACE, "--sql", sql)
    uuid, = fleet.assert_sound(name)
    before = fleet.rows(uuid)
    vtddl.lose_store()
    result = vtddl.json("run", KEYSPACE, "--sql", sql)
    assert (result["verdict"], result["effects_sent"]) == ("verified", {"submit": 0, "complete": 0, "cancel": 0})
    assert fleet.rows(uuid) == before and fleet.assert_sound(name) == [uuid]
