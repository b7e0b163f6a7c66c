"""At least fifty kills of vtddl on a real fleet of six shards whose primaries, vtctld and topology go away meanwhile.

Two keyspaces, `commerce` with four shards and a replica each, `customer` with two. In each, pipelines change tables and
views side by side; a reader that shares nothing with vtddl compares what was told with what every mysqld has.

E2E_SEED chooses everything that is chosen here (Vitess and the kernel's scheduler choose too, so a run is not repeated
exactly). It and the history of the round are printed when a test fails.
"""

import collections
import os
import random
import threading

import pytest

from cluster import KEYSPACE
from conftest import ALSO, SESSION
from crowd import CRASH_BUILD, Daemon, MysqlStore, Pipeline, SqliteStore, chain
from history import History
from mysql_server import MysqlServer
from nemesis import FAULTS, Nemesis, plan
from reader import Reader, Shard
from waiting import wait_until

SEED = int(os.environ.get("E2E_SEED") or random.SystemRandom().randrange(1_000_000))
# Store, number of daemons, how often each is killed, how often a run at most, statements of a pipeline (fewer over
# MySQL, where a lease outlives its holder by up to 30 s).
ROUNDS = {"runs": ("sqlite", 0, 0, 5, 3), "runs and a daemon": ("sqlite", 1, 4, 4, 3),
          "runs and two daemons over MySQL": ("mysql", 2, 1, 4, 2), "runs and two daemons": ("sqlite", 2, 3, 4, 3)}
LEAST = 50
PHASES = ["submitting", "submitted", "completing", "completed", "verified"]


class World:
    """What lasts from round to round."""

    def __init__(self, cluster):
        self.cluster, self.mutex = cluster, threading.Lock()
        self.shards = [Shard(keyspace, name, [tablet for tablet in tablets if tablet.shard == name])
                       for keyspace, tablets in ((KEYSPACE, cluster.tablets), (ALSO, cluster.also))
                       for name in dict.fromkeys(tablet.shard for tablet in tablets)]
        for shard in self.shards:
            if len(shard.tablets) > 1:
                shard.primary = cluster.primary(shard.name)
        self.kills, self.faults = collections.Counter(), collections.Counter()
        self.changes, self.rounds, self.left = 0, 0, []
        self.history = self.reader = None

    def count_kill(self, how):
        with self.mutex:
            self.kills[how] += 1


@pytest.fixture(scope="module")
def world(replicated):
    if not (CRASH_BUILD / "vtddl").exists():
        pytest.skip(f"{CRASH_BUILD} holds no vtddl (meson setup -Dcrash_points=true); set CRASH_BUILD_DIR")
    return World(replicated)


@pytest.fixture(scope="module")
def mysql():
    server = MysqlServer().start()
    yield server
    server.remove()


def pipelines(world, store, number, most, length):
    """Two in each keyspace. Vitess takes the migrations of one context at a time, so those of a keyspace take turns."""
    chance = random.Random(f"{SEED} pipelines {number}")
    made = []
    for keyspace in (KEYSPACE, ALSO):
        for kind in chance.sample(("table", "view", "grown"), 2):
            table = f"{kind}{SESSION}_{number}"
            if kind == "grown":
                sql = f"create table {table} (id bigint primary key, name varchar(64))"
                world.cluster.vtctldclient("ApplySchema", "--ddl-strategy", "direct", "--sql", sql, keyspace)
                for shard in world.shards:
                    if shard.keyspace == keyspace:
                        world.cluster.ask(shard.primary, f"insert into {table} values (1, 'one'), (2, 'two')")
            made.append(Pipeline(f"{keyspace} {kind}", world, store, f"{SEED} {number} {keyspace} {kind}",
                                 chain(kind, keyspace, table)[:length], most))
    return made


def check_store(store, asked):
    """One change for each statement that was asked for, and each went once through its phases."""
    found = store.rows("select keyspace_name, ddl, generation, uuid, phase from ddl_pipeline")
    assert sorted(found) == sorted([ask.keyspace, ask.sql, "1", ask.uuid, "verified"] for ask in asked), found
    steps = {ask.uuid: [] for ask in asked}
    for uuid, old, new in store.rows("select uuid, coalesce(from_phase, ''), to_phase from ddl_history join ddl_pipeline "
                                     "on ddl_pipeline.id=change_id order by ddl_history.id"):
        if old != new:
            steps[uuid].append(new)
    assert all(phases == PHASES for phases in steps.values()), steps


def carry_out(world, store, number, how):
    daemons, lives, most, length = how
    made = pipelines(world, store, number, most, length)
    asked = [ask for one in made for ask in one.asks]
    world.reader = Reader(world.cluster, world.shards, asked, world.history)
    serving = [Daemon(f"daemon {one}", world, store, f"{SEED} {number} daemon {one}", lives) for one in range(daemons)]
    nemesis = Nemesis(world, f"{SEED} {number} nemesis", world.left + plan(SEED, len(ROUNDS))[number])
    crews = [*world.reader.watches, nemesis, *serving, *made]
    for one in crews:
        one.start()
    try:
        wait_until(lambda: any(one.error for one in crews) or not any(one.is_alive() for one in made),
                   "every statement is verified", 1200)
        for one in crews:
            if one.error:
                raise one.error
        nemesis.over.set()
        nemesis.finish(300)
        for daemon in serving:
            daemon.over.set()
            daemon.finish(120)
    except BaseException:
        for one in crews:
            one.over.set()
        nemesis.join(300)  # it undoes what it has done
        raise
    world.reader.stop()
    world.reader.check_round(asked)
    check_store(store, asked)
    world.left, world.changes = nemesis.left, world.changes + len(asked)
    world.faults.update(nemesis.done)


@pytest.mark.parametrize("number, name", list(enumerate(ROUNDS)), ids=[name.replace(" ", "-") for name in ROUNDS])
def test_changes_go_on_while_everything_is_killed(world, mysql, tmp_path, number, name):
    kind, *how = ROUNDS[name]
    world.cluster.heal()
    world.history = History(tmp_path / "history")
    home = tmp_path / "home"
    home.mkdir()
    store = SqliteStore(home) if kind == "sqlite" else MysqlStore(home, mysql)
    print(f"E2E_SEED={SEED}, history in {world.history.path}")
    try:
        carry_out(world, store, number, how)
        world.rounds += 1
    except BaseException:
        print(world.history.text(2000))
        raise


def test_there_were_enough_of_each(world, capsys):
    if world.rounds < len(ROUNDS):
        pytest.skip("not every round was run to its end")
    kills, faults = sum(world.kills.values()), world.faults
    with capsys.disabled():
        print(f"\nnote: {kills} kills ({', '.join(f'{count} at {how}' for how, count in world.kills.items())}) during "
              f"{world.changes} changes; {', '.join(f'{faults[name]} {name}s' for name in FAULTS)} "
              f"({faults['refused']} refused by Vitess); E2E_SEED={SEED}")
    assert kills >= LEAST, f"{kills} kills of {LEAST}: E2E_SEED={SEED}"
    assert all(faults[name] for name in FAULTS), (faults, f"E2E_SEED={SEED}")
