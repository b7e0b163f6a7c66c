"""P1, P2, P4, P8, P13: what one poll, one command, one commit and one build cost."""

import json
import os
import re
import shutil
import subprocess
import time

from . import stats
from .world import environment, die, say

POLLS = 1000


# ---- P1: one poll ----


class Poller:
    """build/bench-poll with its channel open, as the engine has it."""

    def __init__(self, world, stub, uuid, shards):
        self.process = subprocess.Popen([world.program("bench-poll"), stub.server, "bench000", uuid, "0", *shards],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())

    def poll_us(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def client_poll_us(world, stub, uuid, shards):
    """As a controller around vtctldclient does it: spawn, read all, parse, look at every shard."""
    began = time.perf_counter_ns()
    run = subprocess.run(world.client_show(stub, "bench000", uuid), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         env=environment(), check=True)
    rows = {row["shard"]: row for row in json.loads(run.stdout)["migrations"]}
    ready = all(rows[shard]["status"] == "RUNNING" and rows[shard]["ready_to_complete"] for shard in shards)
    took = (time.perf_counter_ns() - began) / 1000
    if ready or len(rows) != len(shards):
        die("the stub's change should be copying on every shard")
    return took


def p1(world):
    rows = []
    for count, target in ((2, 10), (16, None), (256, 3)):
        with world.stub(shards=count) as stub:
            uuids, shards = stub.uuids(world)
            poller = Poller(world, stub, uuids[0], shards)
            for _ in range(20):
                poller.poll_us()
            client_poll_us(world, stub, uuids[0], shards)
            stub("reset")
            before = stub.counts()
            for _ in range(200):
                poller.poll_us()
            after = stub.counts()
            ours, theirs = [], []
            for turn in range(world.repeats):
                for side in ((0, 1) if turn % 2 else (1, 0)):
                    if side == 0:
                        ours.append(poller.poll_us())
                    else:
                        theirs.append(client_poll_us(world, stub, uuids[0], shards))
            poller.close()
        served = (after["cpu_us"] - before["cpu_us"]) / 200000
        rows.append(stats.compare("P1", f"one poll, {count} shards: due to verdict", "ms", ours, theirs, target, 1000,
                                  note=f"the stub's own CPU is {served:.2f} ms of each poll, on both sides"))
    return rows


# ---- P2: CPU of many polls ----


def p2(world):
    rows = []
    for count in (2,) if world.quick else (2, 64):
        with world.stub(shards=count) as stub:
            uuids, shards = stub.uuids(world)
            runs = world.measure(world.repeats,
                                 [world.program("bench-poll"), stub.server, "bench000", uuids[0], POLLS, *shards],
                                 world.client_show(stub, "bench000", uuids[0]))
        ours, theirs = ([run["cpu_us"] for run in side] for side in runs)
        rows.append(stats.compare("P2", f"{POLLS:,} polls, {count} shards: client CPU", "s", ours,
                                  [cpu * POLLS for cpu in theirs], 30, 1e6,
                                  note=f"vtctldclient: one call each round, times {POLLS}"))
    return rows


# ---- P4: cold start ----


def p4(world):
    rows = []
    with world.authority() as folder:
        for name, tls, most in (("plain", None, 12), ("mTLS", (folder / "server.crt", folder / "server.key",
                                                               folder / "ca.crt"), 20)):
            with world.stub(tls=tls) as stub:
                words = () if not tls else ("--vtctld-grpc-ca", folder / "ca.crt", "--vtctld-grpc-cert",
                                            folder / "client.crt", "--vtctld-grpc-key", folder / "client.key",
                                            "--vtctld-grpc-server-name", "localhost")
                uuid = uuid_of(world, stub, words)
                ours = world.show(stub, "bench000", uuid, tls=words)
                theirs = world.client_show(stub, "bench000", uuid, tls=words)
                world.measure(3, ours, theirs)  # the files are in memory from here on
                runs = world.measure(world.repeats, ours, theirs)
            for key, what, unit, scale, target in (("wall_us", "wall time", "ms", 1000, 2.5),
                                                   ("cpu_us", "CPU time", "ms", 1000, None),
                                                   ("peak_kib", "peak memory", "MiB", 1024, 3)):
                values = [[run[key] for run in side] for side in runs]
                rows.append(stats.compare("P4", f"cold start to the first answer, {name}: {what}", unit, *values, target,
                                          scale, **({"note": f"wanted on an idle machine: <= {most} ms"}
                                                    if key == "wall_us" else {})))
    return rows


def uuid_of(world, stub, tls):
    shown = subprocess.run(world.show(stub, "bench000", tls=tls), stdout=subprocess.PIPE, env=environment(), check=True)
    return json.loads(shown.stdout)["migrations"][0]["uuid"]


# ---- P8: commits ----


def commits(world, name, *words):
    ran = subprocess.run([world.program("bench-commit"), words[0], str(world.repeats), "256", *map(str, words[1:])],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0:
        die(ran.stderr.strip())
    single, group = [], []
    for line in ran.stdout.splitlines():
        run = json.loads(line)
        (single if run["batch"] == 1 else group).append(run["us"] / run["writes"])
    row = stats.compare("P8", f"a state change written, {name}: 256 in one commit against one by one", "us", group, single,
                        20)
    row["note"] = (f"{1e6 / row['other']['median']:,.0f} state changes a second one by one, "
                   f"{1e6 / row['vtddl']['median']:,.0f} in groups of 256 (column vtddl)")
    return row


def p8(world):
    rows = [commits(world, "SQLite", f"sqlite:{world.path('.db')}")]
    if not world.quick:
        with world.mysql() as database:
            rows.append(commits(world, "MySQL store (MariaDB)", *database()))
    return rows


# ---- P13: what does not depend on the moment ----


def instructions(words, within=None):
    """Instructions that valgrind counts for a run of @words, all threads, user side; of one function and below."""
    limit = [f"--toggle-collect={within}"] if within else []
    ran = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *limit, *map(str, words)],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                         env=environment(), check=False)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode != 0 or not found or int(found[1]) == 0:
        die(f"valgrind of {' '.join(map(str, words))} ended with {ran.returncode}: {ran.stderr.strip()[-300:]}")
    return int(found[1])


def p13(world):
    binary = world.program("vtddl")
    stripped = world.path(".stripped")
    subprocess.run(["strip", "-o", stripped, binary], check=True)
    linked = subprocess.run(["ldd", binary], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [stats.bounded("P13", "binary, stripped", "MiB", stripped.stat().st_size, None, 1 << 20),
            stats.bounded("P13", "shared objects loaded", "files", linked.count("=>"), None)]
    rows[0]["note"] = f"vtctldclient: {os.stat(world.client).st_size / (1 << 20):.0f} MiB"
    if not shutil.which("valgrind"):
        return rows + [stats.note("P13", "instructions", "valgrind is not installed")]
    say("P13: valgrind is slow")
    rows.append(stats.bounded("P13", "`vtddl version`", "M instructions", instructions([binary, "version"]), None, 1e6))
    with world.stub(shards=16) as stub:
        uuids, shards = stub.uuids(world)
        rows.append(stats.bounded("P13", "cold start: `vtddl show` of one change, 16 shards", "M instructions",
                                  instructions(world.show(stub, "bench000", uuids[0])), None, 1e6))
        few, many = (instructions([world.program("bench-poll"), stub.server, "bench000", uuids[0], n, *shards])
                     for n in (10, 210))
        rows.append(stats.bounded("P13", "one poll, 16 shards", "k instructions", (many - few) / 200, None, 1000))
    program = world.build / "bench-decode"
    if program.exists():
        rows.append(stats.bounded("P13", "one decoded row", "instructions",
                                  instructions([program, "--once", "10000"], "rows_decode") / 10000, None))
    return rows


# ---- DECODE: rows a second ----


def decode(world):
    ran = subprocess.run([world.program("bench-decode")], stdout=subprocess.PIPE, text=True, check=True)
    rows = []
    for answer in json.loads(ran.stdout.splitlines()[-1])["answers"]:
        speed = answer["rows"]["rows_per_s"]
        times = answer["malloc"]["ratio"]
        rows.append({"metric": "DECODE", "unit": "rows/s",
                     "name": f"rows checked and decoded by one core, {answer['answer']}",
                     "vtddl": {"median": speed, "low": speed, "high": speed, "runs": 41},
                     "other": {"median": answer["malloc"]["rows_per_s"], "low": answer["malloc"]["rows_per_s"],
                               "high": answer["malloc"]["rows_per_s"], "runs": 41},
                     "ratio": {"median": times, "low": times, "high": times}, "bound": None,
                     "target": ">= 1,000,000 rows/s", "met": speed >= 1e6,
                     "note": "the other way is protobuf-c with malloc, which checks less"})
    return rows
