"""A real Vitess made by tools/local-vitess, and a reader of its mysqlds that shares nothing with vtddl.

What a shard has is asked of its mysqld with MariaDB's client: not of vtddl, vtctld or VTGate.
"""

import codecs
import contextlib
import json
import pathlib
import re
import shlex
import signal
import subprocess

import pytest

from waiting import send, wait_until  # noqa: F401, for the tests too

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "local-vitess"
KEYSPACE = "commerce"


class Tablet:
    def __init__(self, text, keyspace):
        uid, self.shard, self.socket = text.split(":", 2)
        self.uid, self.keyspace = int(uid), keyspace
        self.alias = f"zone1-{self.uid:010d}"


class Cluster:
    """The one cluster of this host. Two of them differ in their options only."""

    def __init__(self, *options):
        self.options, self.env, self.tablets = options, {}, []
        self.also = []  # the tablets of a second keyspace

    def up(self):
        got = self.tool("up", *self.options, check=False, timeout=1800)
        if got.returncode == 1 and "another cluster is up" in got.stderr + got.stdout:
            self.down()
            got = self.tool("up", *self.options, check=False, timeout=1800)
        if got.returncode == 3:
            pytest.skip(f"no Vitess can be built here: {got.stderr.strip()}")
        assert got.returncode == 0, got.stdout + got.stderr
        for line in self.tool("env").stdout.splitlines():
            name, _, value = shlex.split(line)[1].partition("=")
            self.env[name] = value
        self.tablets = [Tablet(text, KEYSPACE) for text in self.env["LOCAL_VITESS_TABLETS"].split()]
        self.also = [Tablet(text, self.env["LOCAL_VITESS_ALSO"].split(":")[0])
                     for text in self.env["LOCAL_VITESS_ALSO_TABLETS"].split()]
        return self

    def down(self):
        self.tool("down")

    def tool(self, *words, check=True, timeout=120):
        got = subprocess.run([str(TOOL), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, encoding="utf-8", errors="replace", timeout=timeout, check=False)
        assert not check or got.returncode == 0, (words, got.stdout, got.stderr)
        return got

    @property
    def server(self):
        return self.env["LOCAL_VITESS_SERVER"]

    @property
    def vtgate(self):
        return self.env["LOCAL_VITESS_VTGATE"]

    @property
    def shards(self):
        return self.env["LOCAL_VITESS_SHARDS"].split(",")

    @property
    def first_primaries(self):
        return [tablet for tablet in self.tablets if tablet.uid < 200]

    def primary(self, shard):
        """The tablet that leads a shard by the topology: the mysqld of a dead one may be writable too."""
        record = json.loads(self.vtctldclient("GetShard", f"{KEYSPACE}/{shard}").stdout)
        uid = record["shard"]["primary_alias"]["uid"]
        return next(tablet for tablet in self.tablets if tablet.uid == uid)

    def primaries(self):
        if len(self.tablets) == len(self.shards):
            return self.tablets
        return [self.primary(shard) for shard in self.shards]

    # ---- Asking a mysqld ----

    @staticmethod
    def client(tablet):
        return ["mariadb", "--no-defaults", "--skip-ssl", "-u", "vt_dba", "-S", tablet.socket, "-D",
                f"vt_{tablet.keyspace}", "--batch", "--skip-column-names", "--unbuffered"]

    def ask(self, tablet, sql, check=True):
        """The rows of a statement, as lists of texts."""
        got = subprocess.run([*self.client(tablet), "-e", sql], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, encoding="utf-8", errors="replace", timeout=60, check=False)
        assert not check or got.returncode == 0, (tablet.alias, sql, got.stderr)
        return [[codecs.decode(cell, "unicode_escape") if "\\" in cell else cell for cell in line.split("\t")]
                for line in got.stdout.splitlines()]

    def on_every_shard(self, sql):
        for tablet in self.primaries():
            self.ask(tablet, sql)

    @contextlib.contextmanager
    def session(self, tablet, sql):
        """A connection that has done @sql and stays open, with its locks, until the end of the block."""
        with subprocess.Popen(self.client(tablet), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8") as process:
            try:
                process.stdin.write(f"{sql};\nselect 'here I am';\n")
                process.stdin.flush()
                for line in process.stdout:
                    if line.strip() == "here I am":
                        break
                else:
                    raise AssertionError(process.stderr.read())
                yield process
            finally:
                process.kill()

    def rows(self, uuid, columns="*"):
        """What the mysqlds hold of one migration: shard -> list of rows."""
        return {tablet.shard: self.ask(tablet, f"select {columns} from _vt.schema_migrations where "
                                       f"migration_uuid='{uuid}' order by id") for tablet in self.primaries()}

    def status(self, uuid):
        """shard -> status, or None where there is no row."""
        return {shard: rows[0][0] if rows else None for shard, rows in self.rows(uuid, "migration_status").items()}

    def definition(self, table):
        """shard -> SHOW CREATE TABLE, or None where there is no such table."""
        found = {}
        for tablet in self.primaries():
            rows = self.ask(tablet, f"show create table `{table}`", check=False)
            found[tablet.shard] = re.sub(r" AUTO_INCREMENT=\d+", "", rows[0][1]) if rows else None
        return found

    def migrations_of(self, table):
        """Every migration of vtddl that a table ever had: (uuid, shard, status, retries) by mysqld."""
        return [(uuid, tablet.shard, status, int(retries)) for tablet in self.primaries()
                for uuid, status, retries in self.ask(tablet, "select migration_uuid, migration_status, retries from "
                                                      "_vt.schema_migrations where migration_context like 'ddl-%' "
                                                      f"and mysql_table='{table}' order by id")]

    def pending(self):
        return [[*row, tablet.keyspace] for tablet in [*self.primaries(), *self.also]
                for row in self.ask(tablet, "select migration_uuid, migration_status from _vt.schema_migrations where "
                                    "migration_status in ('requested', 'queued', 'ready', 'running')")]

    # ---- What must hold at the end of every test ----

    def assert_sound(self, table, statuses=("complete",), retries=0):
        """One row for each uuid and shard, each uuid with its status on every shard, in the order they were
        made; nothing was retried unless the test asked; the definition is the same on every shard."""
        found = self.migrations_of(table)
        uuids = list(dict.fromkeys(uuid for uuid, *_ in found))
        assert sorted((uuid, shard) for uuid, shard, *_ in found) == \
            sorted((uuid, shard) for uuid in uuids for shard in self.shards), found
        assert [{status for uuid, _, status, _ in found if uuid == one} for one in uuids] == \
            [{status} for status in statuses], found
        assert all(row[3] == retries for row in found), found
        definitions = self.definition(table)
        assert len(set(definitions.values())) == 1, definitions
        return uuids

    # ---- Faults ----

    def tablet(self, tablet, action):
        self.tool("tablet", tablet.uid, action)

    def signal(self, name, number):
        """At once: tools/local-vitess takes its time, a race does not wait."""
        send(int(pathlib.Path(self.env["LOCAL_VITESS_DATA"], "run", f"{name}.pid").read_text("ascii")), number)

    def signal_vttablet(self, tablet, number):
        self.signal(f"vttablet-{tablet.uid}", number)

    def vtctldclient(self, *words, check=True):
        return self.tool("client", "--action-timeout", "30s", *words, check=check)

    def heal(self):
        """Everything runs again and nothing is pending: whatever a failed test left."""
        for line in self.tool("status", check=False).stdout.splitlines():
            name, _, state = line.split()
            words = name.replace("vttablet-", "tablet ").replace("mysqld-", "mysqld ").split()
            if state == "paused":
                self.tool(*words, "resume")
            elif state == "stopped":
                self.tool(*words, "start")
        for keyspace, uuid in {(keyspace, uuid) for uuid, _, keyspace in self.pending()}:
            self.vtctldclient("OnlineDDL", "cancel", keyspace, uuid, check=False)


PAUSE, RESUME, KILL = signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL
