"""vtddl as its user starts it: a home and a store of its own, none of our environment.

BUILD_DIR names the build folder, CRASH_BUILD_DIR one that was made with -Dcrash_points=true.
"""

import json
import os
import pathlib
import re
import subprocess
import threading
import time

from cluster import KEYSPACE, ROOT, wait_until


def build_folder(name, default):
    return pathlib.Path(os.environ.get(name) or os.environ.get("VTDDL_" + name.replace("_DIR", ""))
                        or ROOT / default).absolute()


BUILD = build_folder("BUILD_DIR", "build")
CRASH_BUILD = build_folder("CRASH_BUILD_DIR", "build-crash")
DRIVEN = ("run", "submit", "wait", "complete", "verify", "cancel")


class Running:
    """A vtddl in the background. Its standard error is read all the time, so it can be waited for."""

    def __init__(self, words, env, home):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(words, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        self.lines, self.out = [], []
        self.threads = [threading.Thread(target=self.take, args=pair, daemon=True)
                        for pair in ((self.process.stderr, self.lines), (self.process.stdout, self.out))]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def take(stream, lines):
        for line in stream:
            lines.append(line)

    @property
    def stderr(self):
        return "".join(self.lines)

    @property
    def stdout(self):
        return "".join(self.out)

    def until(self, pattern, seconds=60, after=0):
        """Waits for a line of standard error, at or after line @after; gives the number of the next line."""
        def find():
            for number, line in enumerate(self.lines[after:], after + 1):
                if re.search(pattern, line):
                    return number
            assert self.process.poll() is None or self.threads[0].is_alive(), \
                f"it ended before /{pattern}/:\n{self.stderr}{self.stdout}"
            return None
        try:
            return wait_until(find, f"/{pattern}/", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.stderr}") from None

    def end(self, code=0, seconds=150):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end in {seconds} s:\n{self.stderr}") from None
        for thread in self.threads:
            thread.join(10)
        assert self.process.returncode == code, (self.process.returncode, self.stdout, self.stderr)
        return self


class Vtddl:
    def __init__(self, home, server, program=None):
        home.mkdir(parents=True, exist_ok=True)
        self.home, self.server, self.store = home, server, home / "store.db"
        self.program = str(program or BUILD / "vtddl")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("VTDDL_", "XDG_"))
                and name != "STATE_DIRECTORY"}
        self.env = {**kept, "HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8"}

    def words(self, command, *words):
        """The command line. What @words gives is not given again."""
        given = [command, *map(str, words)]
        asks = command in DRIVEN or command in ("show", "doctor")
        for flag, value, wanted in (("--server", self.server, asks), ("--store", f"sqlite:{self.store}", asks),
                                    ("--poll-interval", "2s", command in DRIVEN)):
            if wanted and flag not in given:
                given += [flag, value]
        return [self.program, *given]

    def start(self, command, *words, env=None):
        return Running(self.words(command, *words), {**self.env, **(env or {})}, self.home)

    def run(self, command, *words, env=None, timeout=150):
        return subprocess.run(self.words(command, *words), env={**self.env, **(env or {})}, cwd=self.home,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", errors="replace", timeout=timeout, check=False)

    def ok(self, command, *words, code=0, **more):
        got = self.run(command, *words, **more)
        assert got.returncode == code, (got.returncode, got.stdout, got.stderr)
        return got

    def json(self, command, *words, code=0, **more):
        return json.loads(self.ok(command, *words, "--json", code=code, **more).stdout)

    def lose_store(self):
        for path in self.home.glob("store.db*"):
            path.unlink()

    def held(self, sql, *words):
        """Submits and waits until every shard is held and ready; gives the uuid."""
        uuid = self.json("submit", KEYSPACE, "--sql", sql, *words)["change"]["uuid"]
        self.ok("wait", KEYSPACE, uuid, "--for", "ready")
        return uuid


def one_sentence(got, code):
    """The exit code, and on standard error one line for people; nothing on standard output."""
    assert got.returncode == code, (got.returncode, got.stdout, got.stderr)
    lines = [line for line in got.stderr.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("vtddl: ") and got.stdout == "", (got.stdout, got.stderr)
    assert len(lines[0]) < 1100 and "goroutine" not in lines[0], lines[0]
    return lines[0]


def seconds_since(began):
    return time.monotonic() - began
