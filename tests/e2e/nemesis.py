"""What goes wrong with the fleet while changes go on: one fault after the other, in the order and at the moments that
the seed chose.

Two moments are kept apart, for Vitess itself loses a migration there, with or without vtddl (docs/facts):
- a tablet is not killed while it holds a migration that was released and is not complete: one that dies between the
  RENAME of a cut-over and its end leaves a row that never ends;
- nothing begins on a shard while a migration is being started there: its row says `running` a moment before there is
  a stream, and a tablet that dies or is demoted in between never makes one.
What happens around a release has its own tests (test_tablet_faults, test_with_replicas).
"""

import collections
import random
import subprocess
import time

from cluster import KILL, PAUSE, RESUME, ROOT, wait_until
from history import Crew

TOOL = str(ROOT / "tools" / "local-vitess")
PENDING = "select count(*) from _vt.schema_migrations where migration_context like 'ddl-%' and "
RELEASED = "migration_status in ('queued', 'ready', 'running') and postpone_completion=0"
STARTING = ("migration_status in ('queued', 'ready') and not (is_immediate_operation and ready_to_complete) or "
            "migration_status='running' and not exists (select 1 from _vt.vreplication where workflow=migration_uuid "
            "and state in ('Running', 'Copying'))")
FAULTS = {"planned reparent": 4, "emergency reparent": 3, "vtctld restart": 3, "vttablet restart": 4, "etcd pause": 2,
          "etcd restart": 2}


def plan(seed, rounds):
    """For each round its faults: all kinds, about the same number in each round."""
    chance = random.Random(seed)
    faults = [name for name, times in FAULTS.items() for _ in range(times)]
    chance.shuffle(faults)
    return [faults[number::rounds] for number in range(rounds)]


class Nemesis(Crew):
    def __init__(self, world, seed, faults):
        super().__init__("nemesis", world.history)
        self.cluster, self.world, self.chance = world.cluster, world, random.Random(seed)
        self.left, self.done = list(faults), collections.Counter()

    def work(self):
        while self.left and not self.over.wait(self.chance.uniform(1, 5)):
            fault = self.left.pop(0)
            if getattr(self, fault.replace(" ", "_"))() == "refused":
                self.left.append(fault)
                self.done["refused"] += 1
            else:
                self.done[fault] += 1

    def tell(self, kind, what):
        self.history.add(self.name, kind, what)

    def wait(self, low, high):
        time.sleep(self.chance.uniform(low, high))

    # ---- Tablets ----

    def choose(self, shards):
        return self.chance.choice(shards)

    def replicated(self):
        return [shard for shard in self.world.shards if len(shard.tablets) > 1]

    def calm(self, tablets, condition=f"({STARTING})"):
        """Waits for a moment when it holds for nothing there; what is submitted later starts a second later."""
        until = time.monotonic() + 180
        while time.monotonic() < until:
            began = time.monotonic()
            if all(self.cluster.ask(tablet, PENDING + condition) == [["0"]] for tablet in tablets) \
                    and time.monotonic() - began < 0.9:
                return
            time.sleep(0.1)
        raise AssertionError(f"{[tablet.alias for tablet in tablets]} were never at rest")

    def vttablet_restart(self):
        tablet = self.choose(self.world.shards).primary
        self.tell("invoke", f"kill -9 of the vttablet of {tablet.alias}")
        self.calm([tablet], f"({RELEASED} or {STARTING})")
        self.cluster.signal_vttablet(tablet, KILL)
        self.wait(0.5, 5)
        self.cluster.tablet(tablet, "start")
        self.tell("ok", f"{tablet.alias} runs again")

    def planned_reparent(self):
        """Also during a release: one that meets a cut-over is refused after 15 s, and nothing has moved."""
        shard = self.choose(self.replicated())
        old, new = shard.primary, shard.replica
        self.calm([old])
        self.tell("invoke", f"PlannedReparentShard {shard.name} to {new.alias}")
        shard.moves += 1
        got = self.cluster.tool("reparent", shard.name, new.uid, check=False)
        shard.primary = self.cluster.primary(shard.name)
        shard.moves += 1
        if shard.primary == new:
            self.tell("ok", f"{new.alias} leads {shard.name}")
            return "done"
        self.tell("fail", f"{old.alias} still leads {shard.name}: {got.stderr.strip()[-300:]}")
        return "refused"

    def emergency_reparent(self):
        shard = self.choose(self.replicated())
        old, new = shard.primary, shard.replica
        mysqld_too = self.chance.random() < 0.5
        self.tell("invoke", f"kill -9 of {old.alias}{' and its mysqld' if mysqld_too else ''}, EmergencyReparentShard "
                  f"{shard.name} to {new.alias}")
        self.calm([old], f"({RELEASED} or {STARTING})")
        shard.moves += 1
        self.cluster.signal_vttablet(old, KILL)
        if mysqld_too:
            # The durability policy is "none": what was not replicated would be lost, whoever had confirmed it.
            wait_until(lambda: self.world.reader.has_all(new, old), f"{new.alias} has what {old.alias} has", 60)
            self.cluster.signal(f"mysqld-{old.uid}", KILL)
        process = self.promote(shard, new)
        self.wait(0, 7)
        if mysqld_too:
            self.cluster.tool("mysqld", old.uid, "start")
        self.cluster.tablet(old, "start")
        said = process.communicate(timeout=90)[0]
        self.tell("info", f"EmergencyReparentShard ended with {process.returncode}: {said.strip()[-200:]}")
        shard.primary = new
        shard.moves += 1
        self.tell("ok", f"{new.alias} leads {shard.name}")

    def promote(self, shard, new):
        """Until the topology names the new primary. The command itself waits on for the dead one, 15 s or until it is
        back."""
        for _ in range(3):
            # pylint: disable-next=consider-using-with
            process = subprocess.Popen([TOOL, "reparent", shard.name, str(new.uid), "--emergency"], encoding="utf-8",
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            wait_until(lambda one=process: one.poll() is not None or self.cluster.primary(shard.name) == new,
                       f"{new.alias} leads {shard.name}", 90)
            if self.cluster.primary(shard.name) == new:
                return process
            self.tell("fail", process.communicate()[0].strip()[-300:])
        raise AssertionError(f"{new.alias} could not be made the primary of {shard.name}")

    # ---- What all shards share ----

    def vtctld_restart(self):
        self.tell("invoke", "kill -9 of vtctld")
        self.cluster.signal("vtctld", KILL)
        self.wait(0.5, 6)
        self.cluster.tool("vtctld", "start")
        self.tell("ok", "vtctld runs again")

    def etcd_pause(self):
        self.calm([shard.primary for shard in self.world.shards])
        self.tell("invoke", "etcd is paused")
        self.cluster.signal("etcd", PAUSE)
        self.wait(2, 12)
        self.cluster.signal("etcd", RESUME)
        self.tell("ok", "etcd goes on")

    def etcd_restart(self):
        self.calm([shard.primary for shard in self.world.shards])
        self.tell("invoke", "kill -9 of etcd")
        self.cluster.signal("etcd", KILL)
        self.wait(0.5, 4)
        self.cluster.tool("etcd", "start")
        self.tell("ok", "etcd runs again, over the same data")
