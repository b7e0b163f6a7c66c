"""Killed at every named point and started again, the change is done, and once in effect.

Only for a build with -Dcrash_points=true; others skip it. VTDDL_CRASH_ALL=1 takes every passing of every point
instead of the first of each name.
"""

import concurrent.futures
import json
import os
import re

import pytest

from conftest import ROOT, Runner
from simulator import Simulator

ALTER = "alter table orders add column memo varchar(64)"
DEFINED = re.findall(r'^CRASH_POINT_ROW\("([a-z-]+)"', (ROOT / "src/base/crash_points.def").read_text(), re.M)


def run(vtddl, sim, **env):
    return vtddl.run("run", "commerce", "--sql", ALTER, "--server", sim.address, "--poll-interval", "2s", "--json",
                     env=env, timeout=120)


def test_every_point_is_defined_once_and_used_once():
    used = [name for path in sorted((ROOT / "src").rglob("*.c")) if path.name != "crash_point.c"
            for name in re.findall(r'\bCRASH_POINT\("([a-z-]+)"\)', path.read_text(encoding="utf-8"))]
    assert sorted(used) == sorted(DEFINED)


def count_points(folder):
    """How often each point is passed by an undisturbed run; empty where the program has none."""
    folder.mkdir()
    with Simulator(folder) as sim:
        got = run(Runner(folder), sim, VTDDL_CRASH_COUNT=str(folder / "count"))
    assert got.returncode == 0, got.stderr
    if not (folder / "count").exists():
        return 0, {}
    first, *rest = (folder / "count").read_text().splitlines()
    return int(first), {name: int(number) for name, number in (line.split() for line in rest)}


def crash_and_go_on(folder, point):
    folder.mkdir()
    vtddl = Runner(folder)
    with Simulator(folder) as sim:
        died = run(vtddl, sim, VTDDL_CRASH_AT=point)
        again = run(vtddl, sim)
        journal = [json.loads(line) for line in sim.journal_file.read_text().splitlines()]
    done = {method: sorted(shard for line in journal if line["method"] == method for shard in line["done"])
            for method in ("ApplySchema", "CompleteSchemaMigration")}
    good = died.returncode == 137 and again.returncode == 0 and \
        done == {"ApplySchema": ["-80", "80-"], "CompleteSchemaMigration": ["-80", "80-"]}
    return None if good else (point, died.returncode, again.returncode, done, again.stderr)


def test_a_change_survives_being_killed_at_every_point(tmp_path):
    total, passed = count_points(tmp_path / "count")
    if not total:
        pytest.skip("built without -Dcrash_points=true")
    points = [f"#{n}" for n in range(1, total + 1)] if os.environ.get("VTDDL_CRASH_ALL") else \
        [f"{name}:1" for name, number in passed.items() if number]
    assert len(points) >= 10
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda p: crash_and_go_on(tmp_path / re.sub(r"\W", "_", p), p), points))
    assert [result for result in results if result] == []
