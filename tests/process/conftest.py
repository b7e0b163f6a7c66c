"""Fixtures: `sim` starts simulated vtctlds and ends them, `vtddl` is the program in a home of its own."""

import pathlib
import random
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


def pytest_addoption(parser):
    parser.addoption("--every", action="store_true", help="every place of a run, and no sample of them")
    parser.addoption("--step", type=int, default=1, help="with --every: each so many-th place only")
    parser.addoption("--seed", type=int, default=None, help="of the samples; printed by each run")


@pytest.fixture
def every(request):
    return request.config.getoption("--every", False)


@pytest.fixture
def step(request):
    return request.config.getoption("--step", 1)


@pytest.fixture
def seed(request):
    """Of what is drawn by chance, another each time; in the report of a test that fails."""
    given = request.config.getoption("--seed", None)
    number = random.randrange(10**6) if given is None else given
    print(f"seed {number}")
    return number
