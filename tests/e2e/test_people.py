"""Other hands on the same migration, a shard that cannot do it, and a lock in the way."""

import re
import time

from cluster import KEYSPACE, wait_until
from program import seconds_since


def test_a_shard_that_fails_holds_the_others_and_can_be_repaired(fleet, vtddl, table):
    first, second = fleet.tablets
    fleet.ask(second, f"insert into {table} values (4, 'twice', 4), (5, 'twice', 5)")
    sql = f"alter table {table} add unique key by_name (name)"
    got = vtddl.ok("run", KEYSPACE, "--sql", sql, code=1)
    assert re.search(r"^failed: the migration failed on a shard; no other shard was released", got.stdout, re.M)
    assert "Duplicate entry 'twice'" in got.stdout and f"shard {second.shard}: failed" in got.stdout, got.stdout
    assert "vtddl cancel" in got.stdout and "--again" in got.stdout, got.stdout
    uuid = vtddl.json("show")["changes"][0]["uuid"]
    assert vtddl.json("show", KEYSPACE, uuid)["changes"][0]["phase"] == "failed"
    assert fleet.status(uuid) == {first.shard: "running", second.shard: "failed"}
    assert fleet.rows(uuid, "postpone_completion")[first.shard] == [["1"]], "the other shard is no longer held"

    vtddl.ok("cancel", KEYSPACE, uuid)
    assert fleet.status(uuid) == {first.shard: "cancelled", second.shard: "failed"}
    assert all("by_name" not in text for text in fleet.definition(table).values())

    fleet.ask(second, f"update {table} set name='once' where id=5")
    result = vtddl.json("run", KEYSPACE, "--sql", sql, "--again")
    assert (result["verdict"], result["change"]["generation"]) == ("verified", 2)
    assert all("UNIQUE KEY `by_name`" in text for text in fleet.definition(table).values())
    assert fleet.status(uuid) == {first.shard: "cancelled", second.shard: "failed"}, "the first one was revived"
    assert len({row[0] for row in fleet.migrations_of(table)}) == 2
    assert {row[3] for row in fleet.migrations_of(table)} == {0}


def test_a_release_by_hand_stops_the_change_and_verify_proves_it(fleet, vtddl, table):
    sql = f"alter table {table} add column memo int"
    uuid = vtddl.held(sql)
    fleet.vtctldclient("OnlineDDL", "complete", KEYSPACE, uuid)
    got = vtddl.ok("wait", KEYSPACE, uuid, code=6)
    assert "somebody else completed it" in got.stdout and "vtddl verify" in got.stdout, got.stdout
    wait_until(lambda: set(fleet.status(uuid).values()) == {"complete"}, "complete on both shards", 90)
    before = fleet.rows(uuid)
    result = vtddl.json("verify", KEYSPACE, uuid)
    assert (result["verdict"], result["effects_sent"]["complete"]) == ("verified", 0)
    assert fleet.rows(uuid) == before and fleet.assert_sound(table) == [uuid]


def test_a_transaction_that_blocks_the_cut_over_is_waited_for(fleet, vtddl, table):
    first, second = fleet.tablets
    sql = f"alter table {table} add column memo int"
    vtddl.held(sql)
    with fleet.session(second, f"begin; update {table} set amount=0 where id=1"):
        running = vtddl.start("run", KEYSPACE, "--sql", sql)
        running.until(rf"shard {first.shard} complete")
        began = time.monotonic()
        running.until("last attempt: failed locking tables", 40)
        assert running.process.poll() is None, "it ended while a shard had not cut over"
        time.sleep(max(0, 20 - seconds_since(began)))
        assert "memo" not in fleet.definition(table)[second.shard]
    running.end(seconds=150)
    assert "verified: " in running.stdout
    assert fleet.ask(second, f"select amount from {table} where id=1") == [["1"]], "it was rolled back"
    fleet.assert_sound(table)


def test_a_migration_of_somebody_else_is_waited_for(fleet, vtddl, table):
    """--singleton-context: Vitess refuses a submit while another context is pending; then it goes on."""
    foreign = "aaaaaaaa_0000_11ee_8000_" + format(time.time_ns() % 16**12, "012x")
    fleet.vtctldclient("ApplySchema", "--ddl-strategy", "vitess --postpone-completion", "--migration-context",
                       "somebody", "--uuid", foreign, "--sql", f"alter table {table} add column theirs int", KEYSPACE)
    running = vtddl.start("run", KEYSPACE, "--sql", f"alter table {table} add column ours int")
    running.until(f"waiting .*found pending migration.*{foreign}", 90)  # the refusal may need a tablet's lock
    assert running.process.poll() is None and fleet.migrations_of(table) == []
    fleet.vtctldclient("OnlineDDL", "cancel", KEYSPACE, foreign)
    running.end()
    assert all("`ours`" in text and "`theirs`" not in text for text in fleet.definition(table).values())
    fleet.assert_sound(table)


def test_a_run_that_is_interrupted_during_the_release_goes_on(fleet, vtddl, table):
    sql = f"alter table {table} add column memo int"
    running = vtddl.start("run", KEYSPACE, "--sql", sql)
    running.until("phase completing")
    running.process.terminate()
    running.end(code=143)
    assert "keeps running in the fleet" in running.stderr and "to go on: vtddl run" in running.stderr
    vtddl.ok("run", KEYSPACE, "--sql", sql)
    fleet.assert_sound(table)
