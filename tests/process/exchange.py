"""A whole run with a proxy between the program and the simulated vtctld, and which of its places a test takes."""

import random
import re
import time

from harness import ALTER, Sim, Vtddl, assert_done_once
from proxy import Proxy

WORDS = ("--read-timeout", "30s", "--effect-timeout", "60s")  # of the program's time
GAVE_UP = "nothing was sent|run the same command again to go on"


def sample(count, share, seed):
    """`share` of the numbers from 0 to count - 1: one of each of as many pieces."""
    drawn = random.Random(seed)
    bounds = [count * piece // share for piece in range(share + 1)]
    return sorted({drawn.randrange(low, max(high, low + 1)) for low, high in zip(bounds, bounds[1:])})


class Exchange:
    """A fleet, a proxy in front of it, and the program with its own clock."""

    def __init__(self, folder, clock, harm=None, words=WORDS):
        self.sim = Sim(folder / "sim", scale=100).start()
        self.proxy = Proxy(self.sim.port, harm)
        self.vtddl = Vtddl(folder / "home", self.proxy.address)
        self.clock, self.words = clock, words

    def run(self):
        return self.vtddl.run("run", "commerce", "--sql", ALTER, *self.words, env=self.clock.env)

    def run_through(self):
        """Runs until verified; more than one process only while no effect was sent. Gives how many."""
        got = self.run()
        lives = 1
        while got.returncode == 69 and lives < 8:
            assert self.sim.effects() == [] and re.search(GAVE_UP, got.stderr), got.stderr
            time.sleep(0.5)
            got = self.run()
            lives += 1
        assert got.returncode == 0, f"{got.returncode}\n{got.stdout}{got.stderr}"
        assert not self.proxy.harm or self.proxy.harmed == 1, "the place was not reached"
        self.vtddl.server = self.sim.address
        assert_done_once(self.sim, self.vtddl)
        return lives

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proxy.stop()
        self.sim.stop()
