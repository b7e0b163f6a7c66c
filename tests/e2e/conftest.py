"""One cluster at a time: modules that need another one come last.

Vitess looks after its migrations every 2 s here instead of once a minute: what is waited for is the same, but less
long. The last module's cluster has Vitess's own flags.

E2E_KEEP=1 leaves the cluster up; E2E_QUICK=1 runs the core only (marked `core`).
"""

import itertools
import os
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
# pylint: disable=wrong-import-position
from cluster import KEYSPACE, Cluster, wait_until
from program import BUILD, CRASH_BUILD, Vtddl

SESSION = f"{int(time.time()):x}"
numbers = itertools.count(1)


def pytest_configure(config):
    config.addinivalue_line("markers", "core: runs with E2E_QUICK=1 too")
    if config.option.durations is None:
        config.option.durations = 10


def pytest_collection_modifyitems(config, items):
    # One change of cluster for the first two, one for the last, not more.
    others = ("test_with_replicas.py", "test_kills.py", "test_with_one_shard.py")
    items.sort(key=lambda item: others.index(item.path.name) if item.path.name in others else -1)
    if os.environ.get("E2E_QUICK") != "1":
        return
    config.hook.pytest_deselected(items=[item for item in items if not item.get_closest_marker("core")])
    items[:] = [item for item in items if item.get_closest_marker("core")]


TICKS = ("--", "--migration-check-interval", "2s")
ALSO = "customer"


def bring_up(*options):
    assert (BUILD / "vtddl").exists(), f"{BUILD} holds no vtddl; set BUILD_DIR"
    cluster = Cluster(*options).up()
    cluster.heal()
    yield cluster
    if os.environ.get("E2E_KEEP") != "1":
        cluster.down()


@pytest.fixture(scope="session")
def two_shards():
    yield from bring_up("--replicas", "0", *TICKS)


@pytest.fixture(scope="session")
def replicated():
    """Four shards with a replica each, and a second keyspace of two without."""
    yield from bring_up("--shards", "-40,40-80,80-c0,c0-", "--replicas", "1", "--also", f"{ALSO}:-80,80-", *TICKS)


@pytest.fixture
def fleet(two_shards):
    """The cluster, whole before and after the test."""
    yield two_shards
    two_shards.heal()


def new_table(cluster):
    """A table of its own for a test: (id, name, amount), with three rows on each shard."""
    name = f"t{SESSION}_{next(numbers)}"
    sql = f"create table if not exists {name} (id bigint primary key, name varchar(64), amount int)"
    # Not through VTGate, which takes up to a minute to find a tablet that was restarted.
    wait_until(lambda: cluster.vtctldclient("ApplySchema", "--ddl-strategy", "direct", "--sql", sql, KEYSPACE,
                                            check=False).returncode == 0, "a table is made", 90)
    for tablet in cluster.primaries():
        cluster.ask(tablet, f"insert into {name} values (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)")
    return name


@pytest.fixture
def table(fleet):
    return new_table(fleet)


@pytest.fixture
def name():
    """Of a table that does not exist."""
    return f"t{SESSION}_{next(numbers)}"


@pytest.fixture
def vtddl(fleet, tmp_path):
    return Vtddl(tmp_path / "home", fleet.server)


@pytest.fixture
def crashing(fleet, tmp_path):
    """The program that can be told to die, over the same store as `vtddl`."""
    if not (CRASH_BUILD / "vtddl").exists():
        pytest.skip(f"{CRASH_BUILD} holds no vtddl (meson setup -Dcrash_points=true); set CRASH_BUILD_DIR")
    return Vtddl(tmp_path / "home", fleet.server, CRASH_BUILD / "vtddl")
