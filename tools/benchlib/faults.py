"""P7, P9 to P12: how fast vtddl reacts, and what it does while something is down."""

import json
import statistics
import subprocess
import time

from . import stats
from .serve import CHANGES, KEYSPACES, Serve, needs_serve, serving
from .world import ROOT, environment, say

# ---- P7: the barrier ----


def p7(world):
    """In virtual time, over many seeds: the engine that ships, on the fleet model."""
    program = world.build / "bench-barrier"
    if not program.exists():
        return [stats.note("P7", "not measured", "this build has no tests, so no bench-barrier")]
    rows = []
    for interval_ms in (1000, 15000):
        seeds = 200 if world.quick else 1000
        ran = subprocess.run([program, str(seeds), str(interval_ms)], stdout=subprocess.PIPE, check=True)
        found = json.loads(ran.stdout)
        row = stats.bounded("P7", f"last shard ready to Complete on the wire, p99, poll interval {interval_ms // 1000} s", "ms",
                            found["p99_ms"], interval_ms + 50)
        row["note"] = (f"virtual time, {seeds} seeds: p50 {found['p50_ms']} ms, p90 {found['p90_ms']} ms, max "
                       f"{found['max_ms']} ms; readiness counts when it was seen in two looks 2 s apart")
        rows.append(row)
    return rows + p7_real(world)


@needs_serve
def p7_real(world):
    """Real processes: 50 keyspaces become ready at one moment; Complete of each as it reaches the stub."""
    keyspaces = 50
    store = world.store(keyspaces=keyspaces, shards=16, gate="auto")
    with world.stub(keyspaces=keyspaces, shards=16) as stub, serving(world, stub, store, "1s"):
        stub.wait(lambda counts: counts["all_seen_us"], "every change seen once")
        stub("reset")
        ready_us = stub("stage held")["at_us"]
        counts = stub.wait(lambda counts: counts["effects"] >= keyspaces, "Complete for each")
    took = [(at - ready_us) / 1000 for at in counts["effect_us"][:keyspaces]]
    row = stats.bounded("P7", "the same by real processes: 50 keyspaces ready at one moment, p99", "ms",
                        stats.percentile(took, 99), None)
    row["note"] = (f"poll interval 1 s, 16 shards: p50 {stats.percentile(took, 50):.0f} ms; 2,000 ms of it are the second "
                   "look")
    return [row]


# ---- P9: killed and back ----


@needs_serve
def p9(world):
    repeats = 10 if world.quick else stats.REPEATS_MIN
    store = world.store(keyspaces=KEYSPACES, changes=CHANGES // KEYSPACES, shards=64, gate="manual")
    took = []
    with world.stub(keyspaces=KEYSPACES, changes=CHANGES // KEYSPACES, shards=64) as stub:
        serve = Serve(world, stub, store, "15s")
        stub.wait(lambda counts: counts["all_seen_us"], "every change seen once", 120)
        for _ in range(repeats):
            serve.kill()
            stub("reset")
            began_us = time.monotonic_ns() // 1000
            serve = Serve(world, stub, store, "15s")
            counts = stub.wait(lambda counts: counts["all_seen_us"], "every change seen again", 120)
            took.append((counts["all_seen_us"] - began_us) / 1000)
            serve.check()
        serve.stop()
    row = stats.bounded("P9", f"kill -9 and start again, {CHANGES:,} changes x 64 shards in the store: until all were seen",
                        "ms", took, None)
    row["note"] = f"wanted: at most 1 s and one sweep; the slowest of {repeats} took {max(took):.0f} ms"
    return [row]


# ---- P10: takeover ----


def takeovers(world, make_store, repeats):
    """Milliseconds from the death of the leader to the first call of the other one, and to its first Complete."""
    acts, completes = [], []
    for _ in range(repeats):
        store, words = make_store()
        with world.stub(shards=16) as stub:
            leader = Serve(world, stub, store, "1s", *words)
            stub.wait(lambda counts: counts["all_seen_us"], "the leader's first look")
            with serving(world, stub, store, "1s", *words):
                time.sleep(2)  # the other is up, and knows the leader
                leader.kill()
                stub("reset")
                dead_us = stub("stage held")["at_us"]
                counts = stub.wait(lambda counts: counts["effects"] > 0, "Complete by the other", 120)
        acts.append((counts["first_us"] - dead_us) / 1000)
        completes.append((counts["effect_us"][0] - dead_us) / 1000)
    return acts, completes


def takeover_rows(name, most_ms, acts, completes):
    row = stats.bounded("P10", f"leader killed, until the other acts, {name}", "ms", acts, most_ms)
    row["note"] = (f"its first Complete comes {statistics.median(completes):.0f} ms after the death (median), of which "
                   "2,000 ms are the second look")
    return [row]


@needs_serve
def p10(world):
    repeats = 5 if world.quick else stats.REPEATS_MIN
    rows = takeover_rows("SQLite", 1000, *takeovers(world, lambda: (world.store(shards=16), ()), repeats))
    if world.quick:
        return rows
    with world.mysql() as database:
        def fresh():
            url, secret = database()
            return world.store(shards=16, url=url, secret=secret), ("--store-password-file", secret)
        rows += takeover_rows("MySQL store, lease 30 s", 32000, *takeovers(world, fresh, repeats // 3))
    return rows


# ---- P11: vtctld is down ----


@needs_serve
def p11(world):
    """50 real controllers, real time: the stub answers every call UNAVAILABLE at once, and counts."""
    controllers, minutes = (10, 2) if world.quick else (50, 10)
    with world.stub(shards=2) as stub:
        first = world.store(shards=2)
        stores = [first] + [world.store(shards=2) for _ in range(controllers - 1)]
        serves = [Serve(world, stub, store, "15s") for store in stores]
        say(f"P11 takes {minutes} minutes")
        time.sleep(10)
        stub("refuse")
        stub("reset")
        time.sleep(minutes * 60)
        counts = stub.counts()
        for serve in serves:
            serve.check()
            serve.stop()
    seconds = counts["per_second"] + [0] * (minutes * 60 - len(counts["per_second"]))
    late = seconds[len(seconds) // 2:minutes * 60]  # at the cap of the back-off
    tens = [sum(late[at:at + 10]) for at in range(0, len(late) - 9, 10)]
    rate = sum(late) / len(late) / controllers * 30
    rows = [stats.bounded("P11", f"calls of a controller in 30 s while vtctld is down, {controllers} of them", "", rate, 1),
            stats.bounded("P11", "busiest ten seconds against the mean", "", max(tens) / max(statistics.mean(tens), 1e-9), 3)]
    rows[0]["note"] = (f"real processes, {minutes} minutes, second half; {sum(seconds)} calls in all, "
                       f"{sum(seconds[:10])} in the first ten seconds")
    return rows


# ---- P12: skew on a real Vitess ----


def p12(world):
    """Makes changes on the Vitess of tools/local-vitess, so only where that was asked for."""
    if not world.arguments.real:
        return [stats.note("P12", "skew of the cut-overs", "not measured: it makes changes on the Vitess of "
                           "tools/local-vitess, and --real was not given")]
    script = 'eval "$(tools/local-vitess env)" && echo "$LOCAL_VITESS_SERVER $LOCAL_VITESS_KEYSPACE"'
    words = subprocess.run(["bash", "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           check=False).stdout.decode().split()
    if len(words) != 2:
        return [stats.note("P12", "skew of the cut-overs", "not measured: no local Vitess is up (tools/local-vitess up)")]
    server, keyspace = words
    skews = []
    for number in range(3):
        sql = f"alter table customer add column bench_{int(time.time())}_{number} int"
        made = subprocess.run([world.program("vtddl"), "run", keyspace, "--sql", sql, "--server", server, "--store",
                               f"sqlite:{world.path('.db')}", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(), check=False, text=True)
        if made.returncode != 0:
            return [stats.note("P12", "skew of the cut-overs", f"not measured: {made.stderr.strip()[-200:]}")]
        uuid = json.loads(made.stdout)["change"]["uuid"]
        shown = subprocess.run([world.program("vtddl"), "show", keyspace, uuid, "--server", server, "--json"],
                               stdout=subprocess.PIPE, env=environment(), check=True)
        ends = [int(row["completed_at"]["seconds"]) for row in json.loads(shown.stdout)["migrations"]]
        skews.append(max(ends) - min(ends))
    row = stats.bounded("P12", "first to last cut-over of a change on a real Vitess", "s", max(skews), None)
    row["note"] = f"report only: {len(skews)} changes, to the second; Vitess's review tick of 60 s bounds it"
    return [row]
