"""The store inside Vitess itself: an unsharded keyspace, through VTGate, on a third cluster of one shard."""

import json
import os
import subprocess

import pytest

from cluster import KEYSPACE
from conftest import bring_up, new_table
from program import BUILD, Vtddl

PROGRAMS = ["test_store", "test_store_batch", "test_store_lease", "test_store_live"]


@pytest.fixture(scope="module")
def unsharded():
    for cluster in bring_up("--shards", "-"):
        cluster.vtctldclient("ApplyVSchema", "--vschema", json.dumps({"sharded": False}), KEYSPACE)
        yield cluster


@pytest.fixture
def fleet(unsharded):  # pylint: disable=redefined-outer-name
    yield unsharded
    unsharded.heal()


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_contract_of_a_store_holds_through_vtgate(fleet, program):
    """But for answers beyond the 16 MiB that Vitess lets through."""
    got = subprocess.run([str(BUILD / "tests" / "contract" / program)], stdin=subprocess.DEVNULL, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", timeout=600,
                         env={**os.environ, "MYSQLD_ONLY": "none", "CMOCKA_MESSAGE_OUTPUT": "STDOUT",
                              "CONTRACT_VTGATE": f"{fleet.vtgate}/{KEYSPACE}"})
    assert got.returncode == 0, got.stdout[-4000:]
    assert got.stdout.count("] Running ") == 3, "SQLite, the model, and VTGate"


def test_a_change_whose_store_is_in_the_keyspace_that_it_changes(fleet, tmp_path):
    table = new_table(fleet)
    vtddl = Vtddl(tmp_path / "home", fleet.server)
    store = ("--store", f"mysql://vtddl@{fleet.vtgate}/{KEYSPACE}", "--cluster", "one_shard")  # not the contract's
    sql = f"alter table {table} add column memo int"
    for _ in range(2):
        result = vtddl.json("run", KEYSPACE, "--sql", sql, "--vtgate", fleet.vtgate, *store)
        assert result["verdict"] == "verified"
    assert all("`memo`" in text for text in fleet.definition(table).values())
    fleet.assert_sound(table)
    assert "VTGate" in vtddl.ok("doctor", KEYSPACE, *store).stdout
