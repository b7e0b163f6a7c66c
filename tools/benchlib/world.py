"""The processes that are measured: the stub, stores, vtddl, vtctldclient; and what the kernel says of them."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATEMENT = ("alter table t{} add column note varchar(255) character set utf8mb4 not null default '' "
             "comment 'why the row was changed by hand, and by whom', add index note_idx (note(32))")


def die(text):
    sys.exit("bench: " + text)


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def environment():
    """Without what would configure vtddl, or make malloc slow (meson test sets MALLOC_PERTURB_)."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("VTDDL_", "MALLOC_", "GLIBC_TUNABLES"))}


def client_of(given):
    cache = os.environ.get("LOCAL_VITESS_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vtddl")
    found = sorted(pathlib.Path(cache, "bin").glob("*/vtctldclient"))
    client = given or (str(found[-1]) if found else shutil.which("vtctldclient"))
    if not client:
        die("there is no vtctldclient; tools/local-vitess install makes one, or give --client")
    return client


class World:
    """One run of the bench: its options, its build folder, its scratch folder."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, pathlib.Path(folder)
        self.build, self.quick = arguments.build, arguments.quick
        self.repeats = arguments.runs
        self._names = 0

    @property
    def client(self):
        return client_of(self.arguments.client)

    def program(self, name):
        path = self.build / name
        if not path.exists():
            die(f"{self.build} has no {name}; build it, or give --build")
        return str(path)

    def path(self, suffix):
        self._names += 1
        return self.folder / f"{self._names}{suffix}"

    def store(self, *, keyspaces=1, changes=1, shards=2, phase="submitted", gate="auto", url=None, first=0,
              secret=None):
        url = url or f"sqlite:{self.path('.db')}"
        made = subprocess.run([self.program("bench-store"), url, "--keyspaces", str(keyspaces), "--changes", str(changes),
                               "--shards", str(shards), "--phase", phase, "--gate", gate, "--first", str(first),
                               *(["--password-file", str(secret)] if secret else [])],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if made.returncode != 0:
            die(f"bench-store: {made.stderr.strip()}")
        return url

    @contextlib.contextmanager
    def mysql(self):
        """A MariaDB of its own, durable; gives the function that makes an empty database: (URL, file of its password)."""
        sys.path[:0] = [str(ROOT / "tests/lib"), str(ROOT / "tests/process")]
        from mysql_server import MysqlServer  # pylint: disable=import-outside-toplevel,import-error
        server = MysqlServer()
        try:
            yield server.start().database
        finally:
            server.remove()

    def measure(self, rounds, *commands):
        """Runs the commands in turn (bench-run); gives for each its list of runs."""
        words = [self.program("bench-run"), str(rounds)]
        for command in commands:
            words += ["--", *map(str, command)]
        output = subprocess.run(words, stdout=subprocess.PIPE, env=environment(), check=True).stdout
        runs = [[] for _ in commands]
        for line in output.splitlines():
            run = json.loads(line)
            if run["exit_code"] != 0:
                die(f"{' '.join(map(str, commands[run['command']]))} ended with {run['exit_code']}")
            runs[run["command"]].append(run)
        return runs

    @contextlib.contextmanager
    def stub(self, *, keyspaces=1, changes=1, shards=2, stage="copying", moving=False, tls=None, port=0):
        words = [self.program("stub-vtctld"), "--keyspaces", str(keyspaces), "--changes", str(changes), "--shards",
                 str(shards), "--stage", stage, "--listen", f"127.0.0.1:{port}"]
        words += ["--moving"] * moving + (["--tls", *map(str, tls)] if tls else [])
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield Stub(process, keyspaces, changes, shards)
            finally:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
                process.wait(timeout=30)

    @contextlib.contextmanager
    def authority(self):
        """Certificates of P-256 for a server and a client of one authority."""
        folder = self.path(".tls")
        folder.mkdir()

        def openssl(*words):
            subprocess.run(["openssl", *map(str, words)], check=True, cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl("req", "-x509", *curve, "-days", "2", "-subj", "/CN=bench", "-keyout", "ca.key", "-out", "ca.crt")
        for name in ("server", "client"):
            (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n", encoding="ascii")
            openssl("req", *curve, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                    "2", "-extfile", "names", "-out", f"{name}.crt")
        yield folder

    def show(self, stub, *words, store="none", tls=()):
        """The command line of `vtddl show`, with a store that is not there unless one is given."""
        store = f"sqlite:{self.folder}/none.db" if store == "none" else store
        return [self.program("vtddl"), "show", *words, "--json", "--server", stub.server, "--store", store, *tls]

    def client_show(self, stub, *words, tls=()):
        return [self.client, "--server", stub.server, *tls, "OnlineDDL", "show", *words, "--json"]


class Stub:
    def __init__(self, process, keyspaces, changes, shards):
        self.process, self.keyspaces, self.changes, self.shards = process, keyspaces, changes, shards
        line = process.stdout.readline()
        if not line:
            die("the stub did not start")
        self.port = json.loads(line)["port"]
        self.server = f"127.0.0.1:{self.port}"
        self.lock = threading.Lock()

    def __call__(self, command):
        with self.lock:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

    def counts(self):
        return self("counts")

    def wait(self, condition, what, timeout_s=60, every_s=0.02):
        """Counts once @condition(counts) holds."""
        end = time.monotonic() + timeout_s
        while True:
            counts = self.counts()
            if condition(counts):
                return counts
            if time.monotonic() > end:
                die(f"after {timeout_s} s there is still not: {what} "
                    f"({ {key: counts[key] for key in ('rpcs', 'sweeps', 'seen', 'effects')} })")
            time.sleep(every_s)

    def uuids(self, world, keyspace="bench000"):
        shown = subprocess.run(world.show(self, keyspace), stdout=subprocess.PIPE, env=environment(), check=True)
        rows = json.loads(shown.stdout)["migrations"]
        return sorted({row["uuid"] for row in rows}), sorted({row["shard"] for row in rows})


# ---- What the kernel says ----


def cpu_s(pid):
    """User and system time of a process, all threads that live, in seconds; nanoseconds are counted."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
             open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def memory_kib(pid):
    """{"Pss": ..., "Rss": ..., "peak": ...} of a process."""
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[0] in ("Pss:", "Rss:", "Private_Dirty:"):
                found[words[0][:-1]] = int(words[1])
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                found["peak"] = int(line.split()[1])
    return found


@contextlib.contextmanager
def scratch():
    with tempfile.TemporaryDirectory(prefix="vtddl-bench-") as folder:
        yield folder
