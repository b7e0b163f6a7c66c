"""Fixtures: `sim` starts simulated vtctlds and ends them, `vtddl` is the program in a home of its own, `daemon` serves."""

import pathlib
import random
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
# pylint: disable=wrong-import-position
from daemon import Daemon
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
def fleet(sim):
    return sim(scale=20)


@pytest.fixture
def program(vtddl, fleet):
    return vtddl(fleet)


@pytest.fixture
def daemon():
    """Starts daemons, and ends those that are left: politely at first, for what a sanitizer finds is told at the end."""
    started = []

    def start(*words, ready=True, **more):
        started.append(Daemon(*words, **more))
        return started[-1].start(ready)

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
            try:
                one.process.wait(3)
            except subprocess.TimeoutExpired:
                one.process.kill()
                one.process.wait(20)
        assert b"Sanitizer" not in one.log_file.read_bytes()


@pytest.fixture
def beside():
    """Starts a command beside the daemon; what is left of it is ended."""
    started = []

    def start(program, *words):
        started.append(program.start(*words))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


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
