"""The real program dies (as by kill -9) at its crash points; the next run goes on, and it is one migration.

E2E_SEED chooses the points; it is printed when a test fails. Over many runs every point is met.
"""

import os
import random
import re

import pytest

from cluster import KEYSPACE, ROOT

SEED = int(os.environ.get("E2E_SEED") or random.SystemRandom().randrange(1_000_000))
NAMES = re.findall(r'^CRASH_POINT_ROW\("([^"]+)"', (ROOT / "src/base/crash_points.def").read_text("utf-8"), re.M)

# Everything before the first byte of ApplySchema: such a run takes a moment.
BEFORE_SUBMIT = ["store-lease-before", "store-lease-after", "store-list-before", "store-list-after",
                 "read-start-after:4", "read-reply:5", "store-insert-before", "store-insert-after", "read-start-before:3",
                 "store-update-before", "store-update-after", "effect-start-before", "effect-start-after"]
CREATE_POINTS, CREATE_RUNS = 100, 6  # points that a CREATE passes at least; how many of them are tried
ALTER_POINTS, ALTER_RUNS = 110, 10


def stride(points, runs):
    """One point out of each of so many equal parts."""
    chance = random.Random(SEED)
    return [1 + part * points // runs + chance.randrange(points // runs) for part in range(runs)]


def die(crashing, sql, point):
    got = crashing.run("run", KEYSPACE, "--sql", sql, env={"VTDDL_CRASH_AT": point})
    assert got.returncode == 137, (f"E2E_SEED={SEED}", point, got.returncode, got.stdout, got.stderr)


def finish(fleet, crashing, sql, table, wanted):
    got = crashing.run("run", KEYSPACE, "--sql", sql)
    assert got.returncode == 0, (f"E2E_SEED={SEED}", got.stdout, got.stderr)
    uuid, = fleet.assert_sound(table)
    assert all(wanted in text for text in fleet.definition(table).values())
    before = fleet.rows(uuid)
    assert "nothing sent" in crashing.ok("run", KEYSPACE, "--sql", sql).stdout
    assert fleet.rows(uuid) == before


def create(name):
    return f"create table {name} (id bigint primary key, note varchar(20))"


def test_every_point_before_the_submit_in_turn(fleet, crashing, name):
    for point in BEFORE_SUBMIT:
        die(crashing, create(name), point)
        if point != "effect-start-after":  # from here on it may have arrived
            assert fleet.migrations_of(name) == [], point
    finish(fleet, crashing, create(name), name, "`note`")


def test_a_run_that_never_gets_further_than_its_second_write(fleet, crashing, name):
    """Dies before its first write, then after its second, until a run has nothing left to write."""
    deaths = 0
    for point in ["store-update-before:1", "store-update-after:2"] * 6:
        got = crashing.run("run", KEYSPACE, "--sql", create(name), env={"VTDDL_CRASH_AT": point})
        if got.returncode != 137:
            break
        deaths += 1
    assert got.returncode == 0, (got.stdout, got.stderr)
    assert deaths >= 5, deaths
    finish(fleet, crashing, create(name), name, "`note`")


@pytest.mark.parametrize("point", ["effect-reply:1", "effect-start-after:2"])
def test_around_the_effects(fleet, crashing, name, point):
    die(crashing, create(name), point)
    finish(fleet, crashing, create(name), name, "`note`")


@pytest.mark.parametrize("part", range(CREATE_RUNS))
def test_a_create_that_dies_anywhere_and_again_while_recovering(fleet, crashing, name, part):
    die(crashing, create(name), f"#{stride(CREATE_POINTS, CREATE_RUNS)[part]}")
    die(crashing, create(name), f"#{random.Random(SEED + part).randrange(1, 13)}")
    finish(fleet, crashing, create(name), name, "`note`")


@pytest.mark.parametrize("part", range(ALTER_RUNS))
def test_an_alter_that_dies_anywhere(fleet, crashing, table, part):
    sql = f"alter table {table} add column note varchar(20)"
    die(crashing, sql, f"#{stride(ALTER_POINTS, ALTER_RUNS)[part]}")
    finish(fleet, crashing, sql, table, "`note`")


def test_the_proof_through_vtgate_dies(fleet, crashing, table):
    sql = f"alter table {table} add column note varchar(20)"
    words = ["run", KEYSPACE, "--sql", sql, "--vtgate", fleet.vtgate]
    for point in ("proof-start-before", "proof-reply"):
        got = crashing.run(*words, env={"VTDDL_CRASH_AT": point})
        assert got.returncode == 137, (point, got.stdout, got.stderr)
    finish(fleet, crashing, sql, table, "`note`")


def test_the_points_named_here_exist():
    assert {point.split(":")[0] for point in BEFORE_SUBMIT} <= set(NAMES)
