"""The independent reader: what every shard's own mysqld has, over its socket, past vtddl, vtctld and VTGate.

It looks on all the time (a line of the history for every change of a row), at the moment a run says that it is done,
and at the end of a round on every mysqld, replicas too.
"""

import collections
import contextlib
import re
import subprocess
import time

from cluster import wait_until
from history import Crew

# What a timestamp(0) column says is rounded: up to half a second off the truth.
ROUNDED = 0.5
END = "-- that was it --"
ROWS = ("select migration_uuid, migration_status, ready_to_complete, "
        "ifnull(unix_timestamp(ready_to_complete_timestamp), 0), postpone_completion, retries, "
        "ifnull(unix_timestamp(completed_timestamp), 0), mysql_table, artifacts, tablet_failure "
        "from _vt.schema_migrations where migration_context like 'ddl-%' and id > {after} order by id")


class Row:
    def __init__(self, cells):
        self.uuid, self.status, self.ready, ready_at, self.held, self.retries, done_at, self.table = cells[:8]
        self.ready_at, self.done_at = float(ready_at), float(done_at)
        self.artifacts = set(re.findall(r"_vt_\w+", cells[8]))
        self.tablet_failure = cells[9]

    def state(self):
        return f"{self.status} ready={self.ready} held={self.held} retries={self.retries}"

    def is_done(self):
        """Released by Complete (a duplicate of another one keeps its hold), and never retried."""
        return (self.status, self.held, self.retries, self.tablet_failure) == ("complete", "0", "0", "0")


class Shard:
    """Its tablets, and which of them leads; @moves is odd while that changes."""

    def __init__(self, keyspace, name, tablets):
        self.keyspace, self.name, self.tablets = keyspace, name, tablets
        self.primary, self.moves = tablets[0], 0

    @property
    def replica(self):
        return next(tablet for tablet in self.tablets if tablet != self.primary)


class Watch(Crew):
    """Reads one mysqld over and over on one connection. @most: how many statements a table is asked for."""

    def __init__(self, cluster, tablet, after, most, history):  # pylint: disable=too-many-arguments
        super().__init__(f"{tablet.keyspace} {tablet.shard} {tablet.uid}", history)
        self.cluster, self.tablet, self.after, self.most = cluster, tablet, after, most
        self.uuids = collections.defaultdict(set)
        self.seen, self.retried, self.released, self.undone, self.looks = {}, set(), {}, set(), 0

    def work(self):
        while not self.over.is_set():
            with contextlib.suppress(BrokenPipeError):  # of the words that a dead server's client never read
                self.connect()
            self.over.wait(0.5)

    def connect(self):
        with subprocess.Popen(self.cluster.client(self.tablet), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace") as process:
            try:
                while self.look(process) and not self.over.wait(0.4):
                    pass
            finally:
                process.kill()

    def look(self, process):
        """False: this mysqld does not answer."""
        try:
            process.stdin.write(ROWS.format(after=self.after) + f"; select '{END}';\n")
            process.stdin.flush()
        except BrokenPipeError:
            return False
        lines = []
        for line in process.stdout:
            if line.rstrip("\n") == END:
                for cells in lines:
                    self.take(Row(cells), time.time())
                self.looks += 1
                return True
            lines.append(line.rstrip("\n").split("\t"))
        return False

    def take(self, row, at):
        if self.seen.get(row.uuid) == row.state():
            return
        self.history.add(self.name, "info", f"{row.table} {row.uuid} {row.state()}")
        if self.seen.get(row.uuid, "").startswith("complete"):
            self.undone.add(row.uuid)
        if row.retries != "0":
            self.retried.add(row.uuid)
        if row.held == "0" or row.status == "complete":
            self.released.setdefault(row.uuid, at)
        self.seen[row.uuid] = row.state()
        self.uuids[row.table].add(row.uuid)
        assert len(self.uuids[row.table]) <= self.most[row.table], (self.name, "one too many", self.uuids[row.table])


class Reader:
    """@asked: the objects of crowd.Ask that this round asks for."""

    def __init__(self, cluster, shards, asked, history):
        self.cluster, self.shards, self.history = cluster, shards, history
        self.after = {tablet.uid: self.high_water(tablet) for tablet in self.tablets()}
        self.watches = []
        for tablet in self.tablets():
            most = collections.Counter(ask.table for ask in asked if ask.keyspace == tablet.keyspace)
            self.watches.append(Watch(cluster, tablet, self.after[tablet.uid], most, history))
        self.old_artifacts = {tablet.uid: self.artifacts_there(tablet) for tablet in self.tablets()}

    def tablets(self):
        return [tablet for shard in self.shards for tablet in shard.tablets]

    def of(self, keyspace):
        return [shard for shard in self.shards if shard.keyspace == keyspace]

    def stop(self):
        for watch in self.watches:
            watch.over.set()
        for watch in self.watches:
            watch.finish(30)

    def tell_trouble(self):
        """Raises what a watch has found while the round goes on."""
        for watch in self.watches:
            if watch.error:
                raise watch.error

    def high_water(self, tablet):
        return int(self.cluster.ask(tablet, "select ifnull(max(id), 0) from _vt.schema_migrations")[0][0])

    def rows(self, tablet):
        return [Row(cells) for cells in self.cluster.ask(tablet, ROWS.format(after=self.after[tablet.uid]))]

    def definition(self, tablet, name):
        """None where there is no such table or view."""
        rows = self.cluster.ask(tablet, "select count(*) from information_schema.tables where table_schema=database() "
                                f"and table_name='{name}'")
        if rows == [["0"]]:
            return None
        return re.sub(r" AUTO_INCREMENT=\d+", "", self.cluster.ask(tablet, f"show create table `{name}`")[0][1])

    def artifacts_there(self, tablet):
        return {row[0] for row in self.cluster.ask(tablet, "select table_name from information_schema.tables where "
                                                   "table_schema=database() and table_name like '\\_vt\\_%'")}

    # ---- At the moment a run says "verified" ----

    def check_done(self, ask, uuid):
        """It is true now, on every shard: one row, complete, never retried; the definition is the one asked for."""
        for shard in self.of(ask.keyspace):
            moves = shard.moves
            found = self.done_on(shard.primary, ask, uuid)
            if found is None:
                continue
            # Its primary is being replaced: whoever has it then, some mysqld of the shard has it now.
            assert moves % 2 or shard.moves != moves, (ask, uuid, shard.name, found)
            others = [self.done_on(tablet, ask, uuid) for tablet in shard.tablets]
            assert None in others, (ask, uuid, shard.name, others)

    def done_on(self, tablet, ask, uuid):
        """None, or what is wrong there."""
        try:
            rows = [row for row in self.rows(tablet) if row.uuid == uuid]
            if len(rows) != 1 or not rows[0].is_done():
                return [row.state() for row in rows]
            text = self.definition(tablet, ask.table)
            return None if ask.is_met_by(text) else f"its definition is {text}"
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return f"{error!r}"

    # ---- At the end of a round ----

    def check_round(self, asked):
        self.check_roles()
        uuids = {ask.uuid: ask for ask in asked}
        assert len(uuids) == len(asked), "two statements got one uuid"
        for keyspace in {shard.keyspace for shard in self.shards}:
            wanted = {uuid for uuid, ask in uuids.items() if ask.keyspace == keyspace}
            rows = {}
            for shard in self.of(keyspace):
                for tablet in shard.tablets:
                    found = self.rows(tablet)
                    assert sorted(row.uuid for row in found) == sorted(wanted), (tablet.alias, "rows for", wanted)
                    assert all(row.is_done() for row in found), (tablet.alias, [row.state() for row in found])
                    rows[tablet.uid] = found
                    self.check_artifacts(tablet, found)
            self.check_barrier(keyspace, wanted, rows)
            self.check_definitions(keyspace, [ask for ask in asked if ask.keyspace == keyspace])
        self.check_watches()

    def check_roles(self):
        """In each shard exactly one mysqld follows no other, the one that is known to lead, and it takes writes; the
        others have all it has. (Without VTOrc a replica may take writes too: docs/facts.)"""
        for shard in self.shards:
            def leaders(shard=shard):
                return [tablet.uid for tablet in shard.tablets if not self.cluster.ask(tablet, "show replica status")]
            wait_until(lambda s=shard, l=leaders: l() == [s.primary.uid], f"{shard.name} has one leader", 60)
            assert self.cluster.ask(shard.primary, "select @@global.read_only") == [["0"]], shard.primary.alias
            for tablet in shard.tablets:
                if tablet != shard.primary:
                    wait_until(lambda s=shard, t=tablet: self.has_all(t, s.primary), f"{tablet.alias} caught up", 60)

    def has_all(self, tablet, source):
        got, = self.cluster.ask(source, "select @@global.gtid_executed")
        return self.cluster.ask(tablet, f"select gtid_subset('{got[0]}', @@global.gtid_executed)") == [["1"]]

    def check_barrier(self, keyspace, wanted, rows):
        """I3: when the first shard was released, every shard had been ready.

        The rows do not keep when a hold went away, so two bounds of it are compared with the time each shard became
        ready for the first time (Vitess never moves it): the first completion, and the first look that saw no hold.
        """
        leaders = [shard.primary.uid for shard in self.of(keyspace)]
        for uuid in wanted:
            row = {uid: next(row for row in rows[uid] if row.uuid == uuid) for uid in leaders}
            last = max(one.ready_at for one in row.values())
            assert all(one.ready_at for one in row.values()), (uuid, "complete on a shard that was never ready")
            first = min(one.done_at for one in row.values())
            assert last <= first + ROUNDED, (uuid, "a shard was complete before another was ready", last, first)
            seen = min((watch.released[uuid] for watch in self.watches if uuid in watch.released), default=first)
            assert last <= seen + ROUNDED, (uuid, "a shard was released before another was ready", last, seen)

    def check_definitions(self, keyspace, asked):
        """Every object is what the last statement on it made of it, on every mysqld the same."""
        for ask in {ask.table: ask for ask in asked}.values():
            texts = {tablet.alias: self.definition(tablet, ask.table)
                     for shard in self.of(keyspace) for tablet in shard.tablets}
            assert len(set(texts.values())) == 1, (ask, texts)
            assert all(ask.is_met_by(text) for text in texts.values()), (ask, texts)

    def check_artifacts(self, tablet, rows):
        """Vitess keeps the old table of a migration; its own collector drops it later under another name
        (_vt_hld_ and what follows). A shadow table that no migration knows would be one too many."""
        known = set().union(*(row.artifacts for row in rows)) | self.old_artifacts[tablet.uid]
        stray = {name for name in self.artifacts_there(tablet) - known if not re.match("_vt_(hld|prg|evc|drp)_", name)}
        assert not stray, (tablet.alias, stray)
        uuids = {row.uuid for row in rows}
        streams = self.cluster.ask(tablet, "select workflow, state from _vt.vreplication")
        assert all(state == "Stopped" for workflow, state in streams if workflow in uuids), (tablet.alias, streams)

    def check_watches(self):
        for watch in self.watches:
            assert watch.looks > 10, (watch.name, "it was hardly looked at")
            assert not watch.retried, (watch.name, "was retried for a while", watch.retried)
            assert not watch.undone, (watch.name, "was complete, then not", watch.undone)
