"""Fixtures: `sim` starts simulated vtctlds and ends them, `vtddl` is the program in a home of its own."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
# pylint: disable=wrong-import-position
from harness import BUILD, CRASH_BUILD, Sim, Vtddl


@pytest.fixture
def sim(tmp_path):
    started = []

    def start(*words, **more):
        started.append(Sim(tmp_path / f"sim{len(started)}", *words, **more).start())
        return started[-1]

    assert (BUILD / "vtctldsim").exists(), f"{BUILD} has no vtctldsim; set BUILD_DIR"
    yield start
    for one in started:
        one.stop()


@pytest.fixture
def vtddl(tmp_path):
    def make(server=None, **more):
        server = server.address if isinstance(server, Sim) else server
        return Vtddl(tmp_path / "home", server, **more)

    return make


@pytest.fixture
def crash_program():
    program = CRASH_BUILD / "vtddl"
    if not program.exists():
        pytest.skip(f"{CRASH_BUILD} has no vtddl; build with -Dcrash_points=true and set CRASH_BUILD_DIR")
    return program
