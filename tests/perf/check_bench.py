#!/usr/bin/env python3
"""That tools/bench measures what it says: its statistics, and that its stub, its stores and vtddl speak of one fleet.

    tests/perf/check_bench.py --build DIR
"""

import argparse
import json
import pathlib
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from benchlib import report, stats  # noqa: E402
from benchlib.world import STATEMENT, World, environment, scratch  # noqa: E402

SHARDS = ["-40", "40-80", "80-c0", "c0-"]


def check_statistics():
    found = stats.figure(range(1, 101))
    assert found["median"] == 50.5 and found["runs"] == 100
    assert 39 <= found["low"] <= 42 and 59 <= found["high"] <= 62, found  # the binomial's ranks 40 and 61
    times = stats.ratio([20, 40, 60] * 12, [2, 4, 6] * 12)
    assert times["median"] == 10 and times["low"] <= 10 <= times["high"], times
    near = stats.compare("P0", "x", "ms", [10, 11, 12] * 12, [30, 31, 32] * 12, 3)
    assert near["met"] is False, "a ratio whose interval reaches below the target does not meet it"
    assert stats.bounded("P0", "x", "ms", [1, 2, 3] * 12, 3)["met"] is True
    assert stats.bounded("P0", "x", "ms", [1, 2, 9] * 12, 1.5)["met"] is False
    assert stats.percentile(range(1, 101), 99) == 99
    assert report.shown(12345.6) == "12,346" and report.shown(0.1234) == "0.123"


def shown(world, stub, *words, store="none"):
    ran = subprocess.run(world.show(stub, *words, store=store), stdout=subprocess.PIPE, env=environment(), check=True)
    return json.loads(ran.stdout)


def check_stub(world):
    """What vtddl asks is counted one by one; what it is answered is the fleet that was asked for."""
    with world.stub(keyspaces=2, changes=3, shards=4) as stub:
        rows = shown(world, stub, "bench001")["migrations"]
        counts = stub.counts()
        assert counts["rpcs"] == {"GetSchemaMigrations": 1} and counts["tablet_queries"] == {"GetSchemaMigrations": 4}
        assert counts["sweeps"] == 1 and counts["rows"] == 12 and counts["seen"] == 3 and counts["all_seen_us"] == 0
        assert sorted({row["shard"] for row in rows}) == SHARDS and len({row["uuid"] for row in rows}) == 3
        assert {(row["status"], row["ready_to_complete"]) for row in rows} == {("RUNNING", False)}
        stub("stage held")
        one = shown(world, stub, "bench001", rows[0]["uuid"])["migrations"]
        assert len(one) == 4 and all(row["ready_to_complete"] for row in one)
        assert stub.counts()["rows"] == 16 and stub.counts()["sweeps"] == 1
        shown(world, stub, "bench000")
        assert stub.counts()["all_seen_us"] > 0
        stub("refuse")
        refused = subprocess.run(world.show(stub, "bench000"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=environment(), check=False)
        assert refused.returncode != 0 and stub.counts()["rpcs"]["GetSchemaMigrations"] >= 4


def check_store(world):
    """A change of bench-store is the one that the stub answers for, and the one that vtddl makes of the statement."""
    with world.stub(changes=2, shards=4, stage="held") as stub:
        uuids, _ = stub.uuids(world)
        store = world.store(changes=2, shards=4, phase="submitted")
        stored = {change["uuid"]: change for change in shown(world, stub, "bench000", store=store)["changes"]}
        assert sorted(stored) == uuids and {change["phase"] for change in stored.values()} == {"submitted"}
        fresh = f"sqlite:{world.path('.db')}"
        made = subprocess.run([world.program("vtddl"), "run", "bench000", "--sql", STATEMENT.format(1), "--server",
                               stub.server, "--store", fresh, "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=environment(), check=True)
        change = json.loads(made.stdout)["change"]
        assert change["uuid"] in uuids and change["phase"] == "verified"
        assert stub.counts()["rpcs"]["CompleteSchemaMigration"] == 1 and stub.counts()["effects"] == 1
        ended = world.store(changes=2, shards=4, phase="verified")
        phases = {change["phase"] for change in shown(world, stub, "bench000", store=ended)["changes"]}
        assert phases == {"verified"}, phases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    arguments = parser.parse_args()
    check_statistics()
    with scratch() as folder:
        world = World(types.SimpleNamespace(build=arguments.build.resolve(), quick=True, runs=30, client=None), folder)
        check_stub(world)
        check_store(world)
    print("tools/bench measures what it says")


if __name__ == "__main__":
    main()
