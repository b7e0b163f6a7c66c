"""The real program runs out of memory: at a sample of its allocations, whoever asks for them, gRPC and all libraries
too. It ends with one clear sentence, or does without; the same command run again ends as if nothing had happened.

test_alloc.c does this for every allocation of the engine, the store and SQLite. TORTURE_POINTS says how many places
are tried here (12), TORTURE_SEED which.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("lib", "process"):
    sys.path.insert(0, str(HERE.parent / folder))
# pylint: disable=wrong-import-position
from harness import ALTER, BUILD, Sim, Vtddl, assert_done_once

POINTS = int(os.environ.get("TORTURE_POINTS") or 12)
SEED = int(os.environ.get("TORTURE_SEED") or 1)
SENTENCE = "out of memory"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    made = tmp_path_factory.mktemp("fail_malloc") / "fail_malloc.so"
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o", made, HERE / "fail_malloc.c"],
                   check=True)
    return made


@pytest.fixture(scope="session")
def total(library, tmp_path_factory):
    """How many allocations a whole change takes."""
    folder = tmp_path_factory.mktemp("counted")
    sim = Sim(folder / "sim", scale=100).start()
    try:
        got = Vtddl(folder / "home", sim.address).run(
            "run", "commerce", "--sql", ALTER, env={"LD_PRELOAD": str(library), "ALLOC_COUNT": str(folder / "count")})
        assert got.returncode == 0, got.stderr
        return int((folder / "count").read_text(encoding="utf-8"))
    finally:
        sim.stop()


def one_failure_and_another_life(folder, env):
    """Gives how the life ended in which memory ran out."""
    sim = Sim(folder / "sim", scale=100).start()
    try:
        vtddl = Vtddl(folder / "home", sim.address)
        first = vtddl.run("run", "commerce", "--sql", ALTER, env=env)
        if first.returncode < 0:
            assert first.returncode == -signal.SIGABRT, f"{env}: signal {-first.returncode}\n{first.stderr}"
            assert first.stderr.count(SENTENCE) >= 1, f"{env}: {first.stderr}"
        elif first.returncode:
            assert first.stderr.startswith("vtddl: ") or "\nvtddl: " in first.stderr, f"{env}: {first.stderr}"
        again = vtddl.run("run", "commerce", "--sql", ALTER)
        assert again.returncode == 0, f"{env}: {again.returncode}\n{again.stdout}{again.stderr}"
        assert_done_once(sim, vtddl)
        return first.returncode
    finally:
        sim.stop()


@pytest.mark.skipif(not (BUILD / "vtctldsim").exists(), reason="no build")
@pytest.mark.parametrize("lasts", [False, True], ids=["once", "from-then-on"])
def test_memory_may_run_out_anywhere(library, total, tmp_path, lasts):
    draw = random.Random(SEED + lasts)
    ends = {}
    for number, at in enumerate(sorted(draw.sample(range(1, total), POINTS // 2))):
        env = {"LD_PRELOAD": str(library), "ALLOC_FAILS_AT": str(at), **({"ALLOC_FAILS_ON": "1"} if lasts else {})}
        end = one_failure_and_another_life(tmp_path / str(number), env)
        ends[end] = ends.get(end, 0) + 1
    print(f"{total} allocations; exit codes of {POINTS // 2}: {ends}")
    assert not lasts or set(ends) & {-signal.SIGABRT, 70, 74}, ends
