"""kill -9 of the shipped program when it enters a system call, at every one of a whole run, and then the same again.

Others can see of a process only what it does by system calls: bytes in files, locks, bytes on sockets. So a death at a
call without such an effect leaves what a death at the next call with one leaves, and those calls are enough; in
kill_at_syscall.c stands which they are. Calls before the first of them (the loader, reading the configuration) are left
out. `--every` dies at each of the others as well, and at every one twice: before and behind it. Without it, it is all
calls with an effect for the ALTER, and a sample of them, by the printed seed, for the CREATE.
"""

import re
import signal

import pytest

from exchange import sample
from harness import ALTER, CREATE, Sim, Vtddl, assert_done_once, side_by_side
from own_clock import OwnClock, compiled

RATE = 4
WORKERS = 24
TRIES = 8
KILLED = 128 + signal.SIGKILL
WORDS = ("--read-timeout", "30s")  # of the program's time


def again_where_nothing_began(sim, run):
    """A machine under load does not always connect in the 5 s (of the program's time) of one attempt. Then the program
    gives up at once, as it has sent nothing, and says so: no change has begun, and the same is tried again."""
    effects = len(sim.effects())
    for _ in range(TRIES):
        got = run()
        if got.returncode != 69 or not re.search("nothing was sent", got.stderr):
            break
        assert len(sim.effects()) == effects, got.stderr
    return got


class Life:
    """One fleet and one home, and a change that is to get through whatever happens to its process."""

    def __init__(self, folder, clock, statement, program=None):
        self.sim = Sim(folder / "sim", scale=100).start()
        self.vtddl = Vtddl(folder / "home", self.sim.address, program)
        self.clock, self.statement = clock, statement

    def run(self):
        return again_where_nothing_began(self.sim, lambda: self.vtddl.run(
            "run", "commerce", "--sql", self.statement, *WORDS, env=self.clock.env))

    def run_traced(self, *words):
        program, tracer = self.vtddl.program, compiled("kill_at_syscall.c")
        line = self.vtddl.words("run", "commerce", "--sql", self.statement, *WORDS)[1:]
        # the clocks are the program's and not the tracer's
        preload = ["env", *(f"{key}={value}" for key, value in self.clock.env.items())]
        traced = Vtddl(self.vtddl.home, self.sim.address, tracer)
        traced.words = lambda *_: [str(tracer), *map(str, words), *preload, program, *line]
        return again_where_nothing_began(self.sim, lambda: traced.run("run"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sim.stop()


def calls_of_a_run(folder, clock, statement):
    """Every call of one whole run: (number, number among those with an effect or 0, name)."""
    with Life(folder, clock, statement) as life:
        got = life.run_traced("--list", folder / "calls")
        assert got.returncode == 0, got.stderr
    lines = (folder / "calls").read_text(encoding="utf-8").splitlines()
    assert "shared-mapping" not in lines, "stores into shared memory are effects without a call"
    return [(int(all_), int(effect), name) for all_, effect, name, _ in (line.split() for line in lines)]


def die_and_go_on(folder, clock, statement, words, expect):
    """Gives False where the run was over before that call."""
    with Life(folder, clock, statement) as life:
        first = life.run_traced(*words)
        assert first.returncode in (0, KILLED), f"{first.returncode}\n{first.stderr}"
        if first.returncode == KILLED:
            again = life.run()
            assert again.returncode == 0, f"{again.returncode}\n{again.stdout}{again.stderr}"
        assert_done_once(life.sim, life.vtddl, **expect)
        return first.returncode == KILLED


def die_at(places, folder, clock, statement, what, **expect):
    """Each place is (words for the tracer). All that lie in the first four fifths must be reached: how often the fleet
    is looked at shifts a little from run to run, and with it the last numbers."""
    died = side_by_side({" ".join(map(str, words)): words for words in places}, lambda name, words: die_and_go_on(
        folder / name.replace(" ", ""), clock, statement, words, expect), WORKERS)
    print(f"{statement}: {sum(died.values())} deaths at {len(places)} boundaries, {what}")
    return died


@pytest.mark.parametrize("name, statement, expect, share", [
    ("alter", ALTER, {}, None), ("create", CREATE, {"table": "notes", "fragment": "`note`"}, 40)])
def test_killed_at_every_call_it_is_applied_once_and_verified(tmp_path, every, seed, name, statement, expect, share):
    clock = OwnClock(tmp_path / "clock", RATE)
    calls = calls_of_a_run(tmp_path / "counted", clock, statement)
    total, effects = calls[-1][0], max(effect for _, effect, _ in calls)
    assert total > 600 and effects > 250, (total, effects)
    if every:
        places = [("--at", n, *after) for n in range(1, total + 20) for after in ((), ("--after",))]
    else:
        chosen = [1 + n for n in sample(effects, share, seed)] if share else range(1, effects + 20)
        places = [("--effects", "--at", n) for n in chosen]
    died = die_at(places, tmp_path, clock, statement, f"{total} calls, {effects} with an effect, seed {seed}", **expect)
    missed = [words for words, was in died.items() if not was
              and int(words.split()[-1 if words[-1].isdigit() else -2]) < (total if every else effects) * 8 // 10]
    assert missed == [], f"{name}: these calls were not reached again"
