"""kill -9 of the real program at every name of src/base/crash_points.def: none is left out by every test.

test_kill.py dies at every passing of the points of a `run` without VTGate; here each name is died at once, in a `run`
with VTGate or, where that never passes it, in `serve`. After each the change is done, and once in effect.
"""

import pathlib
import re
import sys

from harness import ALTER, ROOT, Sim, Vtddl, assert_done_once, side_by_side

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

from fake_vtgate import FakeVtgate  # noqa: E402  pylint: disable=wrong-import-position

NAMES = re.findall(r'^CRASH_POINT_ROW\("([a-z-]+)"', (ROOT / "src/base/crash_points.def").read_text("utf-8"), re.M)
ANSWERS = {"show create table `orders`": (["Table", "Create Table"], [["orders", "CREATE TABLE `orders` (\n"
           "  `id` bigint,\n  `memo` varchar(64) DEFAULT NULL\n)"]]),
           "select * from `orders` where 1 != 1": (["id", "memo"], [])}


def die_in_run(vtddl, words, at):
    return vtddl.run(*words, env={"VTDDL_CRASH_AT": at})


def die_in_serve(vtddl, words, at):
    """The daemon takes over from a run that died, and gives the lease back when all is done."""
    assert vtddl.run(*words, env={"VTDDL_CRASH_AT": "effect-reply:1"}).returncode == 137
    return vtddl.run("serve", "--store", f"sqlite:{vtddl.store}", "--server", vtddl.server, "--http", "off",
                     "--poll-interval", "1s", env={"VTDDL_CRASH_AT": at})


def dies_and_goes_on(folder, program, vtgate, name, die):
    """False: it was not passed."""
    sim = Sim(folder / "sim", scale=100).start()
    try:
        vtddl = Vtddl(folder / "home", sim.address, program)
        words = ("run", "commerce", "--sql", ALTER, "--vtgate", vtgate.address)
        first = die(vtddl, words, f"{name}:1")
        assert first.returncode in (0, 137), f"{first.returncode}\n{first.stdout}{first.stderr}"
        if first.returncode == 0:
            return False
        again = vtddl.run(*words)
        assert again.returncode == 0, f"{again.returncode}\n{again.stdout}{again.stderr}"
        assert_done_once(sim, vtddl)
        return True
    finally:
        sim.stop()


def die_at(folder, program, vtgate, name):
    """Gives the command that died there."""
    if dies_and_goes_on(folder / "run", program, vtgate, name, die_in_run):
        return "run"
    assert dies_and_goes_on(folder / "serve", program, vtgate, name, die_in_serve)
    return "serve"


def test_each_point_that_has_a_name_is_died_at(tmp_path, crash_program):
    assert len(NAMES) == len(set(NAMES)) >= 20
    with FakeVtgate(ANSWERS) as vtgate:
        died = side_by_side({name: name for name in NAMES},
                            lambda _, name: die_at(tmp_path / name, crash_program, vtgate, name), workers=8)
    print(f"{len(died)} names: " + ", ".join(f"{name} in {command}" for name, command in died.items()))
    assert died["proof-reply"] == "run" and died["store-live-after"] == "serve"
