"""P3, P5, P6, P9, SOAK, LINEAR, STORE: what `vtddl serve` costs, watching thousands of changes of the stub."""

import contextlib
import signal
import statistics
import subprocess

from . import stats
from .world import cpu_s, die, environment, memory_kib

KEYSPACES = 200
CHANGES = 10000
CLIENT_SAMPLE = 200


class Serve:
    """A `vtddl serve` with its log in a file."""

    def __init__(self, world, stub, store, interval, *more):
        self.log = world.path(".log")
        words = [world.program("vtddl"), "serve", "--server", stub.server, "--store", store, "--poll-interval", interval,
                 "--http", "off", "--log-format", "json", *map(str, more)]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment())
        self.pid = self.process.pid

    def check(self):
        if self.process.poll() is not None:
            die(f"vtddl serve ended with {self.process.returncode}: {self.log.read_text(encoding='utf-8')[-500:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()


@contextlib.contextmanager
def serving(world, stub, store, interval, *more):
    serve = Serve(world, stub, store, interval, *more)
    try:
        yield serve
        serve.check()
    finally:
        serve.stop()


NO_SERVE = "this build has no `vtddl serve`"


def has_serve(world):
    ran = subprocess.run([world.program("vtddl"), "serve", "--help"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         env=environment(), check=False)
    return ran.returncode == 0


def needs_serve(metric):
    """A metric of `vtddl serve` says so where the build has none."""
    def wrapped(world):
        if has_serve(world):
            return metric(world)
        return [stats.note(metric.__name__.split("_", maxsplit=1)[0].upper(), "not measured", NO_SERVE)]
    return wrapped


@contextlib.contextmanager
def watched(world, keyspaces, changes, shards, interval, **more):
    """A stub, a store filled with its changes, and a serve that has seen all of them once."""
    store = world.store(keyspaces=keyspaces, changes=changes, shards=shards, gate="manual")
    with world.stub(keyspaces=keyspaces, changes=changes, shards=shards, **more) as stub, \
         serving(world, stub, store, interval) as serve:
        stub.wait(lambda counts: counts["all_seen_us"], "every change seen once", 120)
        yield stub, serve


def swept(stub, counts):
    """How many observations of a keyspace; of a change that is alone in its own, they are reads of its uuid."""
    return counts["sweeps"] if stub.changes > 1 else counts["rpcs"].get("GetSchemaMigrations", 0)


def windows(stub, serve, count, sweeps):
    """CPU seconds of each of @count stretches of about @sweeps sweeps of all keyspaces, scaled to one."""
    found = []
    for _ in range(count):
        began, before = swept(stub, stub.counts()), cpu_s(serve.pid)
        wanted = began + sweeps * stub.keyspaces
        counts = stub.wait(lambda counts, wanted=wanted: swept(stub, counts) >= wanted, "another sweep", 300)
        found.append((cpu_s(serve.pid) - before) * stub.keyspaces / (swept(stub, counts) - began))
        serve.check()
    return found


# ---- P3: memory ----


@needs_serve
def p3(world):
    with world.stub(changes=50, shards=64) as stub:
        one = world.measure(5, world.client_show(stub, "bench000", stub.uuids(world)[0][0]))[0]
    child_mib = statistics.median(run["peak_kib"] for run in one) / 1024
    rows = []
    for keyspaces, changes, most in ((1, 1, 20), (20, 50, 25), (200, 50, 60)):
        pss = []
        with watched(world, keyspaces, changes, 64, "1s") as (stub, serve):
            base = swept(stub, stub.counts())

            def done(counts, base=base, pss=pss, serve=serve, stub=stub):
                pss.append(memory_kib(serve.pid)["Pss"])
                return swept(stub, counts) - base >= 5 * stub.keyspaces

            stub.wait(done, "five sweeps", 120)
            memory = memory_kib(serve.pid)
        count = keyspaces * changes
        row = stats.bounded("P3", f"memory (PSS, its peak) watching {count:,} changes on 64 shards", "MiB", max(pss), most,
                            1024)
        row["note"] = (f"median PSS {statistics.median(pss) / 1024:.1f} MiB of {len(pss)} samples in five sweeps; peak "
                       f"resident {memory['peak'] / 1024:.1f} MiB; one vtctldclient child alone is {child_mib:.0f} MiB")
        rows.append(row)
    return rows


# ---- P5: CPU of a sweep ----


def client_sweep(world, stub):
    """What one sweep costs with vtctldclient, in the two ways one can use it."""
    sample = [f"bench{number:03}" for number in range(0, stub.keyspaces, max(1, stub.keyspaces // 10))]
    each, whole = [], []
    for keyspace in sample:
        uuids, _ = stub.uuids(world, keyspace)
        picked = uuids[:max(1, CLIENT_SAMPLE // len(sample))]
        runs = world.measure(1, world.client_show(stub, keyspace, "all"))
        whole += [run["cpu_us"] / 1e6 * stub.keyspaces for run in runs[0]]
        for uuid in picked:
            run = world.measure(1, world.client_show(stub, keyspace, uuid))[0][0]
            each.append(run["cpu_us"] / 1e6 * stub.keyspaces * stub.changes)
    return each, whole


@needs_serve
def p5(world):
    rows = []
    for shards, most in ((64, None), (256, 2)):
        with watched(world, KEYSPACES, CHANGES // KEYSPACES, shards, "1s") as (stub, serve):
            before = stub.counts()
            ours = windows(stub, serve, stats.REPEATS_MIN, 1)
            after = stub.counts()
            each, whole = client_sweep(world, stub)
        served = (after["cpu_us"] - before["cpu_us"]) / 1e6 * KEYSPACES / (after["sweeps"] - before["sweeps"])
        name = f"sweep of {CHANGES:,} changes x {shards} shards in {KEYSPACES} keyspaces: client CPU"
        rows.append(stats.compare("P5", f"{name}; a call for each change", "s", ours, each, 100,
                                  note=f"vtctldclient: {len(each)} changes measured and scaled; the stub itself takes "
                                       f"{served:.2f} s of CPU for a sweep"))
        rows.append(stats.compare("P5", f"{name}; a call for each keyspace", "s", ours, whole, None,
                                  note=f"vtctldclient `show KEYSPACE all`: {len(whole)} keyspaces measured and scaled"))
        if most:
            rows.append(stats.bounded("P5", f"the same, by itself, {shards} shards", "s", ours, most))
    return rows


# ---- P6: what the server is asked ----


def asked(world, keyspaces, changes, shards, target):
    sweeps_wanted = 10
    with watched(world, keyspaces, changes, shards, "1s") as (stub, serve):
        stub("reset")
        counts = stub.wait(lambda counts: counts["sweeps"] >= sweeps_wanted * keyspaces, "ten sweeps", 120)
        serve.check()
    sweeps, total = counts["sweeps"] / keyspaces, keyspaces * changes
    for key, name, other in (("rpcs", "RPCs", total), ("tablet_queries", "queries to tablets", total * shards)):
        count = sum(counts[key].values()) / sweeps
        yield {"metric": "P6", "unit": "", "name": f"{name} of a sweep of {total:,} changes x {shards} shards in "
               f"{keyspaces} keyspace{'s' * (keyspaces > 1)}, against a call for each change",
               "vtddl": {"median": count, "low": count, "high": count, "runs": round(sweeps)},
               "other": {"median": other, "low": other, "high": other, "runs": 1},
               "ratio": dict.fromkeys(("median", "low", "high"), other / count), "bound": target,
               "target": f">= {target:,}x" if target else "", "met": other / count >= target if target else None,
               "note": "counted at the stub, a sweep: " + ", ".join(f"{rpc} {number / sweeps:.1f}" for rpc, number
                                                                    in sorted(counts[key].items()))}


@needs_serve
def p6(world):
    rows = list(asked(world, 1, CHANGES, 2, 1000))
    if not world.quick:
        rows += asked(world, KEYSPACES, CHANGES // KEYSPACES, 64, None)
        rows[-1]["note"] += f"; with {CHANGES // KEYSPACES} changes in a keyspace it cannot be more than that times"
        rows += asked(world, 1, 1000, 64, None)
        rows[-1]["note"] += "; a keyspace with more rows than an answer may have"
    return rows


# ---- LINEAR, SOAK, STORE ----


@needs_serve
def linear(world):
    """CPU for a row at each size: the sweep is linear if the last is no dearer than the first."""
    rows, costs = [], {}
    for count in (1000, 3000, 10000):
        with watched(world, count // 50, 50, 64, "1s") as (stub, serve):
            found = windows(stub, serve, stats.REPEATS_MIN, 1)
        costs[count] = [seconds / (count * 64) * 1e6 for seconds in found]
        rows.append(stats.bounded("LINEAR", f"sweep of {count:,} changes x 64 shards: CPU for each row", "us", costs[count],
                                  None))
    growth = stats.ratio(costs[10000], costs[1000])
    rows.append({"metric": "LINEAR", "name": "a row of 10,000 changes against a row of 1,000", "unit": "", "vtddl": None,
                 "other": None, "ratio": growth, "bound": None, "target": "<= 1.3x", "met": growth["low"] <= 1.3})
    return rows


@needs_serve
def soak(world):
    """Memory must not grow with sweeps. A keyspace is swept every 2 s at most, so many keyspaces make many sweeps.

    What is kept (news, buffers) fills in the first half; answers in flight come and go: so the least of each time counts.
    """
    rounds, samples = 20 if world.quick else 100, []
    with watched(world, KEYSPACES, 5, 16, "1s", moving=True) as (stub, serve):
        base = stub.counts()["sweeps"]
        for done in range(0, rounds + 1):
            stub.wait(lambda counts, done=done: counts["sweeps"] - base >= done * KEYSPACES, "another round", 120, 0.2)
            samples.append(memory_kib(serve.pid)["Private_Dirty"])
            serve.check()
    tenth = max(2, rounds // 10)
    early, late = min(samples[rounds // 2 - tenth:rounds // 2]), min(samples[-tenth:])
    row = stats.bounded("SOAK", f"growth over {rounds * KEYSPACES:,} sweeps of keyspaces, 1,000 changes x 16 shards", "KiB",
                        late - early, 256)
    row["note"] = (f"memory of its own between sweeps {early / 1024:.1f} MiB before the middle, {late / 1024:.1f} MiB at the "
                   f"end; with answers in flight up to {max(samples) / 1024:.1f} MiB")
    return [row]


def finished(world):
    """What has ended may cost nothing: 50 live changes, and in one of two stores 100,000 verified ones beside them."""
    many = 10000 if world.quick else 100000
    stores = []
    for verified in (many, 0):
        stores.append(world.store(changes=50, shards=64, gate="manual"))
        if verified:
            world.store(changes=verified, shards=2, phase="verified", first=50, url=stores[0])
    with world.stub(changes=50, shards=64) as stub:
        uuid = stub.uuids(world)[0][0]
        runs = world.measure(world.repeats, *(world.show(stub, "bench000", uuid, store=store) for store in stores))
    name = f"{many:,} verified changes in the store against none"
    rows = [slower(f"`show` of one live change, {name}", "ms", *([run["wall_us"] / 1000 for run in side] for side in runs))]
    return rows + finished_sweep(world, stores, name)


def slower(name, unit, full, empty):
    times = stats.ratio(full, empty)
    return {"metric": "STORE", "name": name, "unit": unit, "vtddl": stats.figure(full), "other": stats.figure(empty),
            "ratio": times, "bound": None, "target": "<= 1.1x slower", "met": times["low"] <= 1.1}


def finished_sweep(world, stores, name):
    """Two servers side by side, each with a stub of its own, take turns."""
    if not has_serve(world):
        return [stats.note("STORE", "sweep: not measured", NO_SERVE)]
    found = [[], []]
    with contextlib.ExitStack() as stack:
        pairs = []
        for store in stores:
            stub = stack.enter_context(world.stub(changes=50, shards=64))
            pairs.append((stub, stack.enter_context(serving(world, stub, store, "200ms"))))
            stub.wait(lambda counts: counts["all_seen_us"], "every change seen once", 120)
        for _ in range(stats.REPEATS_MIN):
            for side, (stub, serve) in enumerate(pairs):
                found[side] += [seconds * 1000 for seconds in windows(stub, serve, 1, 3)]
    return [slower(f"CPU of a sweep of 50 changes x 64 shards, {name}", "ms", *found)]
