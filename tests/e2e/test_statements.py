"""What is not a copying ALTER goes through the same barrier: Vitess holds it as an immediate operation."""

from cluster import KEYSPACE


def assert_held_then_verified(fleet, vtddl, sql, *words):
    """Held on every shard as an immediate operation; then released together, and proven."""
    uuid = vtddl.held(sql, *words)
    columns = "migration_status, postpone_completion, is_immediate_operation, completed_timestamp is null"
    assert fleet.rows(uuid, columns) == {shard: [["queued", "1", "1", "1"]] for shard in fleet.shards}
    vtddl.ok("run", KEYSPACE, "--sql", sql)
    assert fleet.rows(uuid, "migration_status, retries") == {shard: [["complete", "0"]] for shard in fleet.shards}
    return uuid


def test_create_table_and_drop_table(fleet, vtddl, name):
    made = assert_held_then_verified(fleet, vtddl, f"create table {name} (id bigint primary key, note varchar(9))")
    assert fleet.assert_sound(name) == [made]
    dropped = assert_held_then_verified(fleet, vtddl, f"drop table {name}")
    assert fleet.definition(name) == {shard: None for shard in fleet.shards}
    assert fleet.assert_sound(name, ["complete", "complete"]) == [made, dropped]


def test_a_view(fleet, vtddl, table, name):
    made = assert_held_then_verified(fleet, vtddl, f"create view {name} as select id, amount from {table}")
    assert all(f"`{table}`.`amount`" in text for text in fleet.definition(name).values())
    dropped = assert_held_then_verified(fleet, vtddl, f"drop view {name}")
    assert fleet.definition(name) == {shard: None for shard in fleet.shards}
    assert fleet.assert_sound(name, ["complete", "complete"]) == [made, dropped]


def test_an_instant_alter(fleet, vtddl, table):
    uuid = assert_held_then_verified(fleet, vtddl, f"alter table {table} add column memo int",
                                     "--ddl-strategy-flags", "--prefer-instant-ddl")
    assert all("instant-ddl" in rows[0][0] for rows in fleet.rows(uuid, "special_plan").values())
    assert all("`memo` int" in text for text in fleet.definition(table).values())
    assert fleet.assert_sound(table) == [uuid]
