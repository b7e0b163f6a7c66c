"""Those who want changes: pipelines that run one statement after the other, and daemons, all killed again and again.

A run is killed (kill -9) at a random moment of real time, or dies at a crash point; then the same command is started
again. When and where is chosen by the seed before anything starts.
"""

import contextlib
import json
import random
import re
import signal
import sqlite3
import subprocess
import time

from cluster import ROOT
from history import Crew
from program import CRASH_BUILD, DRIVEN, Running, Vtddl

# Without --vtgate nobody asks VTGate, so a run passes no point of that (test_crash has them).
NAMES = [name for name in re.findall(r'^CRASH_POINT_ROW\("([^"]+)"',
                                     (ROOT / "src/base/crash_points.def").read_text("utf-8"), re.M)
         if not name.startswith("proof-")]
# Where a death costs most if the protocol is wrong: around what is sent and what is written down.
DECISIVE = ["effect-start-before", "effect-start-after", "effect-reply", "store-update-before", "store-update-after",
            "store-insert-after"]
TIMES = ["--poll-interval", "2s", "--read-timeout", "2s", "--effect-timeout", "15s"]
AWAY = {69: "vtctld cannot be reached", 75: "somebody else was first"}  # nothing was decided: run it again
PATIENCE = 420  # seconds for a run that nobody kills


class Ask:
    """A statement, and what the table or view must look like when it is done (None: it is gone)."""

    def __init__(self, keyspace, table, sql, wanted, flags=()):
        self.keyspace, self.table, self.sql, self.wanted, self.flags = keyspace, table, sql, wanted, flags
        self.uuid = None

    def is_met_by(self, text):
        if self.wanted is None or text is None:
            return text is self.wanted
        return re.search(self.wanted, text) is not None

    def __repr__(self):
        return f"{self.keyspace}: {self.sql}"


def chain(kind, keyspace, name):
    """Statements on one object, each of which needs the one before. `grown` finds a table with rows."""
    if kind == "table":
        rows = [(f"create table {name} (id bigint primary key, n int)", "`n` int"),
                (f"alter table {name} add column m int", "`m` int"),
                (f"drop table {name}", None)]
    elif kind == "view":
        rows = [(f"create view {name} as select 1 as one", "`one`"),
                (f"alter view {name} as select 2 as two", "`two`"),
                (f"drop view {name}", None)]
    else:
        rows = [(f"alter table {name} add column m int", "`m` int"),
                (f"alter table {name} add column q int", "`q` int", ["--ddl-strategy-flags", "--prefer-instant-ddl"]),
                (f"alter table {name} modify column name varchar(80)", r"`name` varchar\(80\)")]
    return [Ask(keyspace, name, *row) for row in rows]


class SqliteStore:
    def __init__(self, home):
        self.home, self.path = home, home / "store.db"
        self.words = ["--store", f"sqlite:{self.path}"]

    def rows(self, sql):
        with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=20) as base:
            return [[str(cell) for cell in row] for row in base.execute(sql)]


class MysqlStore:
    def __init__(self, home, server):
        self.home, self.server = home, server
        self.url, secret = server.database()
        self.words = ["--store", self.url, "--store-password-file", str(secret)]

    def rows(self, sql):
        return [line.split("\t") for line in
                self.server.sql(sql, database=self.url.rsplit("/", 1)[1]).stdout.splitlines()]


class Death:
    """At a moment (seconds after the start) or at a crash point."""

    def __init__(self, chance):
        """Of @chance, the numbers of a seed."""
        self.moment, self.point = None, None
        self.rest = chance.uniform(0, 2)
        choice = chance.random()
        if choice < 0.2:
            self.moment = chance.uniform(0.02, 0.6)
        elif choice < 0.5:
            self.moment = chance.uniform(0.6, 9)
        elif choice < 0.8:
            self.point = f"{chance.choice(DECISIVE)}:{chance.choice((1, 1, 2))}"
        elif choice < 0.9:
            self.point = f"{chance.choice(NAMES)}:{chance.choice((1, 2, 3))}"
        else:
            self.point = f"#{chance.randrange(1, 60)}"

    def __repr__(self):
        return f"dies at {self.point}" if self.point else f"is killed after {self.moment:.2f} s"


class Killed(Crew):
    """Starts vtddl and kills it. @kills is what all of them together have killed."""

    def __init__(self, name, world, store, seed):
        super().__init__(name, world.history)
        self.world, self.store, self.chance = world, store, random.Random(seed)
        self.normal = Vtddl(store.home, world.cluster.server)
        self.crashing = Vtddl(store.home, world.cluster.server, CRASH_BUILD / "vtddl")

    def begin(self, words, death):
        vtddl = self.crashing if death and death.point else self.normal
        times = TIMES if words[0] in (*DRIVEN, "serve") else []
        env = {**vtddl.env, "VTDDL_CRASH_AT": death.point} if death and death.point else vtddl.env
        return Running([vtddl.program, *words, "--server", vtddl.server, *times, *self.store.words], env, vtddl.home)

    def live(self, words, death, patience, endless=False):
        """One life: (what it was, exit code or None: it was killed). It must end in @patience seconds by itself, or is
        ended then if it is @endless."""
        running = self.begin(words, death)
        process, moment = running.process, death and death.moment
        until = time.monotonic() + (moment or patience)
        try:
            while process.poll() is None and time.monotonic() < until and not self.over.is_set():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(min(0.2, max(0.001, until - time.monotonic())))
                self.world.reader.tell_trouble()
        except AssertionError:
            process.kill()
            raise
        late = process.poll() is None and not moment and not endless and not self.over.is_set()
        if process.poll() is None:
            if late or (moment and not self.over.is_set()):
                process.kill()
            else:
                process.terminate()
        code = process.wait(60)
        for thread in running.threads:
            thread.join(10)
        assert not late, f"{words} did not end in {patience} s:\n{running.stderr[-4000:]}"
        if code == (-signal.SIGKILL if moment else 137) and death:
            self.world.count_kill("a moment" if moment else "a crash point")
            return running, None
        return running, code


class Pipeline(Killed):
    """One statement after the other; each is run until a run of it says that it is verified."""

    def __init__(self, name, world, store, seed, asks, most):  # pylint: disable=too-many-arguments
        super().__init__(name, world, store, seed)
        self.asks = asks
        self.deaths = [[Death(self.chance) for _ in range(self.chance.randint(1, most))] for _ in asks]
        self.passes = self.chance.random() * 2

    def work(self):
        time.sleep(self.passes)
        for ask, deaths in zip(self.asks, self.deaths):
            for death in deaths:
                if self.attempt(ask, death):
                    break
                self.over.wait(death.rest)
            else:
                until = time.monotonic() + PATIENCE
                while not self.attempt(ask, None):
                    assert time.monotonic() < until, f"{ask} never got to its end"
                    self.over.wait(2)

    def attempt(self, ask, death):
        """True when it is done, and it is true."""
        assert not self.over.is_set(), "the round was given up"
        self.history.add(self.name, "invoke", f"{ask} ({death or 'is left alone'})")
        words = ["run", ask.keyspace, "--sql", ask.sql, "--json", *ask.flags]
        running, code = self.live(words, death, PATIENCE)
        if code is None:
            self.history.add(self.name, "info", f"{ask} was killed")
            return False
        if code in AWAY:
            self.history.add(self.name, "fail", f"{ask}: exit {code}, {AWAY[code]}")
            return False
        assert code == 0, (ask, code, running.stdout[-3000:], running.stderr[-3000:])
        told = json.loads(running.stdout)
        uuid = told["change"]["uuid"]
        assert (told["verdict"], told["exit_code"], told["change"]["phase"]) == ("verified", 0, "verified"), told
        assert ask.uuid in (None, uuid)
        ask.uuid = uuid
        self.world.reader.check_done(ask, uuid)
        self.history.add(self.name, "ok", f"{ask} is verified: {uuid}")
        return True


class Daemon(Killed):
    """vtddl serve, killed @lives times, then left alone until the round is over."""

    def __init__(self, name, world, store, seed, lives):  # pylint: disable=too-many-arguments
        super().__init__(name, world, store, seed)
        self.deaths = [Death(self.chance) for _ in range(lives)]
        for death in self.deaths:
            if death.moment:
                death.moment = self.chance.uniform(1, 14)

    def work(self):
        words = ["serve", "--http", "off"]
        for death in self.deaths:
            if self.over.is_set():
                return
            self.history.add(self.name, "invoke", f"serve ({death})")
            running, code = self.live(words, death, 12, endless=True)
            assert code in (None, 0), (code, running.stderr[-3000:])
            self.history.add(self.name, "info", "was killed" if code is None else "did not get to that point")
            time.sleep(death.rest + 0.5)
        self.history.add(self.name, "invoke", "serve (is left alone)")
        running = self.begin(words, None)
        while not self.over.wait(0.2):
            assert running.process.poll() is None, (running.process.returncode, running.stderr[-3000:])
        running.process.terminate()
        running.end(seconds=60)
        self.history.add(self.name, "ok", "stopped in order")
