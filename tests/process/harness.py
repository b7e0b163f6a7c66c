"""The built programs as a test sees them: a simulated vtctld, and vtddl started in a home of its own.

BUILD_DIR names the build folder, CRASH_BUILD_DIR one that was made with -Dcrash_points=true.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import threading

import sanitizers  # noqa: F401, its import is what it does
from waiting import send, stand_still, wait_until  # noqa: F401, for the tests too

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR") or ROOT / "build").absolute()
CRASH_BUILD = pathlib.Path(os.environ.get("CRASH_BUILD_DIR") or os.environ.get("VTDDL_CRASH_BUILD")
                           or ROOT / "build-crash").absolute()

ALTER = "alter table orders add column memo varchar(64)"
CREATE = "create table notes (id bigint primary key, note varchar(64))"
# For a script: this shard copies and never gets ready, until it may.
HOLD = {"do": "hold_copy", "shard": "80-", "at_ms": 0}
UNHOLD = {**HOLD, "held": False}
# ... and this one's cut-over waits for a lock.
BLOCK = {"do": "block_cutover", "shard": "80-", "at_ms": 0}
UNBLOCK = {**BLOCK, "blocked": False}
READ_AGAIN = "the script was read again"
GRACE_S = 10  # after a signal, for what is in flight
EFFECTS = ("ApplySchema", "CompleteSchemaMigration", "CancelSchemaMigration")


def clean_environment(home):
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith("VTDDL_") and key not in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "STATE_DIRECTORY")}
    return {**kept, "HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


class Sim:
    """One vtctldsim. The journal outlives it; a second start() is a new fleet under the same address."""

    def __init__(self, folder, *words, script=None, scale=10):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.process, self.port = folder, None, None
        self.script_file, self.journal_file = folder / "script.json", folder / "journal.jsonl"
        self.script_file.write_text(json.dumps(script or []), encoding="utf-8")
        self.words = [str(BUILD / "vtctldsim"), "--port-file", str(folder / "port"), "--journal",
                      str(self.journal_file), "--script", str(self.script_file), "--time-scale", str(scale), *words]

    def start(self):
        port_file = self.folder / "port"
        port_file.unlink(missing_ok=True)
        listen = ["--listen", f"127.0.0.1:{self.port}"] if self.port else []
        with open(self.folder / "sim.stderr", "ab") as stderr:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen(self.words + listen, stdout=subprocess.DEVNULL, stderr=stderr)
        wait_until(lambda: self.process.poll() is not None or port_file.exists(), "the simulator listens")
        assert self.process.poll() is None, self.said()
        self.port = int(port_file.read_text(encoding="utf-8"))
        return self

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
            self.process.wait(20)

    def reload(self, script):
        """Puts another script in place, from now on."""
        before = self.said().count(READ_AGAIN)
        self.script_file.write_text(json.dumps(script), encoding="utf-8")
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.said().count(READ_AGAIN) > before, "the simulator has read its script again")

    def said(self):
        return (self.folder / "sim.stderr").read_text(encoding="utf-8")

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def journal(self, *methods):
        """The RPCs that ended, oldest first; of some methods or all."""
        if not self.journal_file.exists():
            return []
        lines = self.journal_file.read_text(encoding="utf-8").splitlines()
        calls = [json.loads(line) for line in lines if line.endswith("}")]
        return [call for call in calls if not methods or call["method"] in methods]

    def effects(self):
        return self.journal(*EFFECTS)

    def done(self, method):
        """How often an effect took place, by shard."""
        counts = {}
        for call in self.journal(method):
            for shard in call["done"]:
                counts[shard] = counts.get(shard, 0) + 1
        return counts


class Vtddl:
    """The program with one home folder, one store and (unless told otherwise) one simulator."""

    def __init__(self, home, server=None, program=None):
        home.mkdir(parents=True, exist_ok=True)
        self.home, self.server = home, server
        self.program = str(program or BUILD / "vtddl")
        self.store = home / "store.db"
        self.env = clean_environment(home)

    def words(self, command, *words):
        """The command line. What `words` gives is not given again."""
        line = [self.program, command, *map(str, words)]
        driven = command in ("run", "submit", "wait", "complete", "verify", "cancel")
        if self.server and (driven or command in ("show", "doctor")) and "--server" not in line:
            line += ["--server", self.server]
        if (driven or command in ("show", "doctor")) and "--store" not in line:
            line += ["--store", f"sqlite:{self.store}"]
        if driven and "--poll-interval" not in line:
            line += ["--poll-interval", "2s"]
        return line

    def definitions(self, uuid):
        """What the store says was found on each shard in the end."""
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as store:
            return dict(store.execute("select name, definition_after from ddl_pipeline_shard join ddl_pipeline"
                                      " on ddl_pipeline.id = change_id where uuid = ?", (uuid,)))

    def start(self, command, *words, env=None, **more):
        return subprocess.Popen(self.words(command, *words), env={**self.env, **(env or {})}, cwd=self.home,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                   "stderr": subprocess.PIPE, "encoding": "utf-8", "errors": "replace", **more})

    def run(self, command, *words, env=None, timeout=90, text=None, **more):
        feed = {"input": text} if text is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(self.words(command, *words), env={**self.env, **(env or {})}, cwd=self.home,
                              timeout=timeout, check=False,
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8",
                                 "errors": "replace", **feed, **more})


def read_until(process, pattern, seconds=40):
    """Reads standard error line by line until one matches; gives all that was read. Kills it where none comes."""
    seen, watchdog = "", threading.Timer(seconds, process.kill)
    watchdog.start()
    try:
        while not re.search(pattern, seen):
            line = process.stderr.readline()
            assert line, f"/{pattern}/ did not come:\n{seen}"
            seen += line
    finally:
        watchdog.cancel()
    return seen


def assert_done_once(sim, vtddl, shards=("-80", "80-"), table="orders", fragment="`memo`"):
    """One name ever; each shard got the change once and was released once; the record says verified."""
    uuids = {call["request"]["uuid"] for call in sim.effects()}
    assert len(uuids) == 1, uuids
    uuid = uuids.pop()
    assert sim.done("ApplySchema") == {shard: 1 for shard in shards}
    assert sim.done("CompleteSchemaMigration") == {shard: 1 for shard in shards}
    assert sim.done("CancelSchemaMigration") == {}
    got = vtddl.run("show", "commerce", uuid, "--json")
    assert got.returncode == 0, got.stderr
    shown = json.loads(got.stdout)
    assert [change["phase"] for change in shown["changes"]] == ["verified"]
    rows = shown["migrations"]
    assert [row["shard"] for row in rows] == list(shards)
    assert all((row["status"], row["retries"], row["table"]) == ("COMPLETE", "0", table) for row in rows), rows
    for shard, definition in vtddl.definitions(uuid).items():
        assert fragment in definition, (shard, definition)
    return uuid


def one_sentence(got, code):
    """The exit code, and on standard error one line of the program for people, without a password or a stack."""
    assert got.returncode == code, (got.returncode, got.stdout, got.stderr)
    lines = [line for line in got.stderr.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("vtddl: "), got.stderr
    assert got.stdout == "" and len(lines[0]) < 1100
    return lines[0]


def submit(program, *words, sql=ALTER, keyspace="commerce"):
    """Gives the uuid."""
    got = program.run("submit", keyspace, "--sql", sql, *words)
    assert got.returncode == 0, got.stderr
    return re.search(r"uuid +([0-9a-f_]{36})", got.stdout).group(1)


def side_by_side(cases, check, workers=32):
    """check(name, case) for every {name: case}, many at once, for a run mostly waits. Gives {name: result};
    says all that failed, by name."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        started = {name: pool.submit(check, name, case) for name, case in cases.items()}
    failed = {name: future.exception() for name, future in started.items() if future.exception()}
    assert not failed, "\n\n".join(f"{name}: {error}" for name, error in failed.items())
    return {name: future.result() for name, future in started.items()}
