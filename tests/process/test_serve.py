"""The daemon: it drives what others submit, tells what it does, survives kill -9 and outages, and ends when it is told."""

import contextlib
import json
import re
import signal
import socket
import sqlite3
import subprocess
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from daemon import Daemon
from harness import ALTER, GRACE_S, HOLD, ROOT, UNHOLD, assert_done_once, read_until, stand_still, submit, wait_until
from mysql_server import MysqlServer


def is_ready(serve, uuid):
    return [c for c in serve.changes() if c["uuid"] == uuid and c["shards_ready"] == c["shards_expected"] == 2]


def log_of(serve, uuid):
    return [line["phase"] for line in serve.log("change moved", uuid=uuid)]


# ---- What it does ----


def test_it_drives_what_is_submitted_and_a_run_follows_it_to_the_end(sim, vtddl, daemon):
    fleet = sim(scale=20)
    program = vtddl(fleet)
    serve = daemon(program)
    uuid = submit(program)
    wait_until(lambda: is_ready(serve, uuid), "every shard is held and ready")
    assert fleet.journal("CompleteSchemaMigration") == [], "nobody opened the gate"
    got = program.run("run", "commerce", "--sql", ALTER)
    assert got.returncode == 0, got.stderr
    assert "another process drives this keyspace" in got.stderr
    assert_done_once(fleet, program)
    wait_until(lambda: serve.log("change ended", uuid=uuid), "the daemon has seen its end")
    # one line for each step, and none twice
    assert log_of(serve, uuid) == ["completing", "completed", "verified"]
    assert serve.changes() == []
    assert [c["uuid"] for c in serve.get("/api/v1/history")[1]["changes"]] == [uuid]
    assert serve.stop() == 0


def test_an_opened_gate_needs_nobody_else(sim, vtddl, daemon, beside):
    """The run that opened the gate is killed: the daemon does the rest."""
    fleet = sim(script=[HOLD], scale=20)
    program = vtddl(fleet)
    serve = daemon(program)
    run = beside(program, "run", "commerce", "--sql", ALTER)
    wait_until(lambda: [c for c in serve.changes() if c["phase"] == "submitted" and c["gate"] == "auto"],
               "it is submitted, its gate open")
    run.kill()
    run.communicate()
    fleet.reload([UNHOLD])
    wait_until(lambda: serve.log("change ended"), "the daemon took it to the end")
    assert_done_once(fleet, program)


def test_killed_at_any_moment_it_goes_on_after_a_restart(sim, vtddl, daemon, beside):
    fleet = sim(scale=20, script=[{"on": "CompleteSchemaMigration", "when": "after", "drop": True, "times": 1}])
    program = vtddl(fleet)
    serve = daemon(program, "--effect-timeout", "2s")
    uuid = submit(program)
    for _ in range(3):
        serve.stop(signal.SIGKILL)
        serve.start()
        wait_until(lambda: [c for c in serve.changes() if c["uuid"] == uuid], "it is found again")
    complete = beside(program, "complete", "commerce", uuid)
    wait_until(lambda: serve.log("change moved", phase="completing"), "it is released")
    serve.stop(signal.SIGKILL)
    serve.start()
    complete.communicate(timeout=60)
    assert complete.returncode == 0
    wait_until(lambda: serve.log("change ended", uuid=uuid), "it is verified")
    assert_done_once(fleet, program)


def test_one_vtctld_that_hangs_delays_no_other_keyspace(sim, vtddl, daemon, beside):
    hung, good = sim("--keyspace", "hung", scale=20), sim("--keyspace", "good", scale=20)
    program = vtddl()
    servers = ["--server", f"hung={hung.address}", "--server", f"goo*={good.address}"]
    serve = daemon(program, *servers, "--read-timeout", "3s")
    uuids = [submit(program, *servers, keyspace=name) for name in ("hung", "good")]
    for uuid in uuids:
        wait_until(lambda one=uuid: is_ready(serve, one), "both are ready")
    stand_still(hung.process.pid)
    other = beside(program, "complete", "hung", uuids[0], *servers)
    wait_until(lambda: [s for s in serve.get("/api/v1/changes")[1]["servers"] if not s["answering"]],
               "it is seen that one hangs")
    began = len(good.journal())
    got = program.run("complete", "good", uuids[1], *servers)
    assert got.returncode == 0, got.stderr
    wait_until(lambda: serve.log("change ended", uuid=uuids[1]), "the other one is verified", 10)
    assert len(good.journal()) > began
    assert [s["server"] for s in serve.get("/api/v1/changes")[1]["servers"] if not s["answering"]] == [hung.address]
    assert len(serve.log("vtctld", level="warning")) == 1, "told once"
    hung.process.send_signal(signal.SIGCONT)
    other.communicate(timeout=60)
    wait_until(lambda: serve.log("change ended", uuid=uuids[0]), "and the first one, once it answers")


# ---- Ending ----


def test_sigterm_ends_it_at_once_and_the_next_one_may_act(sim, vtddl, daemon):
    program = vtddl(sim(scale=20))
    serve = daemon(program)
    uuid = submit(program)
    wait_until(lambda: is_ready(serve, uuid), "ready")
    began = time.monotonic()
    assert serve.stop() == 0
    assert time.monotonic() - began < GRACE_S, "nothing was in flight"
    # not only followed any more
    got = program.run("complete", "commerce", uuid)
    assert got.returncode == 0 and "another process" not in got.stderr


def test_sigterm_waits_for_an_effect_but_not_for_ever_and_begins_none(sim, vtddl, daemon, beside):
    fleet = sim(scale=20, script=[{"on": "CompleteSchemaMigration", "when": "after", "drop": True}])
    other = sim("--keyspace", "customer", scale=20)
    program = vtddl(fleet)
    servers = ["--server", f"customer={other.address}"]
    serve = daemon(program, *servers)
    uuid, later = submit(program), submit(program, *servers, keyspace="customer")
    wait_until(lambda: is_ready(serve, uuid) and is_ready(serve, later), "ready")
    complete = beside(program, "complete", "commerce", uuid)
    wait_until(lambda: serve.log("change moved", phase="completing"), "released")
    time.sleep(0.5)
    complete.kill()
    complete.communicate()
    began = time.monotonic()
    serve.process.send_signal(signal.SIGTERM)
    wait_until(lambda: serve.log("stopping: nothing new is sent, what is in flight is waited for"), "it stops")
    complete = beside(program, "complete", "customer", later, *servers)
    assert serve.process.wait(60) == 0, "it waits for as long as an effect may act, 75 s"
    assert time.monotonic() - began > GRACE_S - 2
    complete.kill()
    complete.communicate()
    assert log_of(serve, later) == [], "the gate was opened too late for this daemon"


def test_a_second_signal_ends_it_without_waiting(sim, vtddl, daemon, beside):
    fleet = sim(scale=20, script=[{"on": "CompleteSchemaMigration", "when": "after", "drop": True}])
    program = vtddl(fleet)
    serve = daemon(program)
    uuid = submit(program)
    wait_until(lambda: is_ready(serve, uuid), "ready")
    beside(program, "complete", "commerce", uuid)
    wait_until(lambda: serve.log("change moved", phase="completing"), "released")
    time.sleep(0.5)
    began = time.monotonic()
    serve.process.send_signal(signal.SIGTERM)
    wait_until(lambda: serve.log("stopping: nothing new is sent, what is in flight is waited for"), "it stops")
    assert serve.stop(signal.SIGINT) == 130
    assert time.monotonic() - began < GRACE_S


def test_a_reader_of_events_does_not_keep_it_alive(sim, vtddl, daemon):
    serve = daemon(vtddl(sim(scale=20)))
    with socket.create_connection(("127.0.0.1", int(serve.port)), 5) as reader:
        reader.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"text/event-stream" in reader.recv(4096)
        began = time.monotonic()
        assert serve.stop() == 0
        assert time.monotonic() - began < GRACE_S


@pytest.fixture(scope="module")
def mysql():
    server = MysqlServer().start()
    yield server
    server.remove()


@pytest.mark.parametrize("end", ["done", "signal"])
def test_a_single_command_gives_its_lease_of_a_shared_store_back(sim, vtddl, mysql, end):
    fleet = sim(scale=20, script=[HOLD] if end == "signal" else None)
    program = vtddl(fleet)
    url, secret = mysql.database()
    words = ["commerce", "--sql", ALTER, "--store", url, "--store-password-file", secret]
    if end == "done":
        assert program.run("submit", *words).returncode == 0
    else:
        run = program.start("run", *words)
        read_until(run, "phase submitted")
        run.send_signal(signal.SIGTERM)
        assert run.communicate(timeout=30) and run.returncode == 143
    lock = mysql.sql("select epoch, owner from ddl_lock", database=url.rsplit("/", 1)[1]).stdout
    assert lock == "1\t\n", "it was taken once, and is nobody's"


# ---- Reading the configuration again ----


def test_sighup_takes_a_good_file_and_keeps_the_old_one_where_it_is_bad(sim, vtddl, daemon):
    one, other = sim(scale=20), sim(scale=20)
    program = vtddl()
    config = program.home / "vtddl.conf"
    config.write_text(f"server = {one.address}\ncaller-id = night-shift\n", encoding="utf-8")
    serve = daemon(program, "--config", config)
    submit(program, "--server", one.address)
    # from then on it is looked at once a minute
    wait_until(lambda: [c for c in serve.changes() if c["leader"] and c["shards_ready"] == 2], "it is ready")

    config.write_text(f"server = {other.address}\nservr = x:1\n", encoding="utf-8")
    serve.process.send_signal(signal.SIGHUP)
    said = wait_until(lambda: serve.log(level="error"), "it says what is wrong")
    assert f"{config}:2" in said[0]["reason"] and "old one stays" in said[0]["msg"]
    assert [s["server"] for s in serve.get("/api/v1/changes")[1]["servers"]] == [one.address]

    config.write_text(f"server = {other.address}\ncaller-id = day-shift\ncluster = other\n", encoding="utf-8")
    serve.process.send_signal(signal.SIGHUP)
    wait_until(lambda: serve.log("the configuration was read again"), "it takes the good one")
    assert [line["setting"] for line in serve.log("a setting that has changed needs a restart")] == ["caller-id", "cluster"]
    shown = serve.get("/api/v1/changes")[1]
    assert [s["server"] for s in shown["servers"]] == [other.address] and shown["cluster"] == "default"
    wait_until(other.journal, "the other one is asked", 30)
    assert serve.stop() == 0


def test_sighup_moves_one_keyspace_to_a_vtctld_of_its_own(sim, vtddl, daemon):
    one, other = sim(scale=20), sim(scale=20)
    program = vtddl()
    config = program.home / "vtddl.conf"
    config.write_text(f"server = {one.address}\n", encoding="utf-8")
    serve = daemon(program, "--config", config)
    submit(program, "--server", one.address)
    wait_until(lambda: [c for c in serve.changes() if c["leader"]], "it drives it")
    config.write_text(f"server = {one.address}\nserver.com* = {other.address}\n", encoding="utf-8")
    serve.process.send_signal(signal.SIGHUP)
    wait_until(other.journal, "the other one is asked")
    shown = serve.get("/api/v1/changes")[1]
    assert [s["server"] for s in shown["servers"]] == [one.address, other.address]
    assert [k["server"] for k in shown["keyspaces"]] == [other.address]


# ---- What it shows ----


def test_every_line_of_its_log_is_json_and_begins_alike(sim, vtddl, daemon):
    fleet = sim(scale=20)
    program = vtddl(fleet)
    serve = daemon(program)
    assert program.run("run", "commerce", "--sql", ALTER).returncode == 0
    wait_until(lambda: serve.log("change ended") or not serve.changes(), "it has seen the end")
    serve.stop()
    lines = serve.log_file.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 4
    for line in lines:
        assert list(json.loads(line))[:3] == ["time", "level", "msg"], line
    for line in serve.log():
        assert line["level"] in ("debug", "info", "warning", "error")
        if "uuid" in line:
            assert {"cluster", "keyspace", "table", "phase", "reason"} <= set(line)


def test_the_log_is_text_where_that_is_asked_for(sim, vtddl, daemon):
    serve = daemon(vtddl(sim(scale=20)), "--log-format", "text", ready=False)
    wait_until(lambda: "vtddl serves" in serve.log_file.read_text(encoding="utf-8"), "it serves")
    assert serve.stop() == 0
    assert serve.log() == [] and "stopped" in serve.log_file.read_text(encoding="utf-8")


def test_the_api_tells_what_the_dashboard_shows(sim, vtddl, daemon):
    fleet = sim(scale=20)
    program = vtddl(fleet)
    serve = daemon(program)
    uuid = submit(program)
    wait_until(lambda: is_ready(serve, uuid), "ready")
    status, shown = serve.get("/api/v1/changes?phase=submitted&q=ORD&limit=1")
    assert (status, shown["kind"], shown["count"], shown["totals"]["submitted"]) == (200, "changes", 1, 1)
    assert shown["store"] == {"url": f"sqlite:{program.store}", "trouble": ""}
    assert shown["servers"] == [{"server": fleet.address, "answering": True, "down_since": None}]
    keyspace = shown["keyspaces"][0]
    assert (keyspace["keyspace"], keyspace["leader"], keyspace["changes"]) == ("commerce", True, 1)
    change = shown["changes"][0]
    assert (change["uuid"], change["table"], change["gate"], change["leader"]) == (uuid, "orders", "manual", True)
    assert serve.changes("?q=nothing") == [] and serve.changes("?phase=failed") == [] \
        and serve.changes("?offset=1") == []
    status, one = serve.get(f"/api/v1/changes/{uuid}")
    assert (status, one["kind"], one["change"]["ddl"]) == (200, "change", ALTER)
    assert [s["shard"] for s in one["shards"]] == ["-80", "80-"] and all(s["ready"] for s in one["shards"])
    assert [line["to"] for line in one["history"]][-1] == "submitted"
    assert f"vtddl complete commerce {uuid}" in one["change"]["advice"]
    unknown = "00000000_0000_8000_8000_000000000000"
    for path, code in ((f"/api/v1/changes/{unknown}", 404), ("/api/v1/changes/all", 404), ("/api/v1/nothing", 404),
                       ("/api/v1/changes?limit=-1", 400), ("/api/v1/changes?limit=100000", 400),
                       ("/api/v1/changes?phase=x", 400), ("/api/v1/changes?q=" + "x" * 200, 400)):
        status, body = serve.get(path)
        assert status == code and body["kind"] == "error", (path, status, body)
    assert program.run("complete", "commerce", uuid).returncode == 0
    wait_until(lambda: not serve.changes(), "it is over")
    status, one = serve.get(f"/api/v1/changes/{uuid}")
    assert (status, one["change"]["phase"], one["shards"]) == (200, "verified", [])
    assert [line["to"] for line in one["history"]][-1] == "verified"


def test_the_metrics_parse_and_are_those_that_are_documented(sim, vtddl, daemon):
    program = vtddl(sim(scale=20))
    serve = daemon(program)
    uuid = submit(program)
    wait_until(lambda: is_ready(serve, uuid), "ready")
    families = {family.name: family for family in text_string_to_metric_families(serve.get("/metrics")[1])}
    documented = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", (ROOT / "docs/metrics.md").read_text("utf-8"), re.M))
    assert {name + ("_total" if family.type == "counter" else ""): family.type
            for name, family in families.items()} == documented

    def value(name, **labels):
        found = [s.value for s in families[name].samples if labels.items() <= s.labels.items()]
        assert len(found) == 1, (name, labels, found)
        return found[0]

    assert value("vtddl_changes", keyspace="commerce", phase="submitted") == 1
    assert value("vtddl_shards", keyspace="commerce", state="held_ready") == 2
    assert value("vtddl_barrier_ready_ratio", keyspace="commerce") == 1
    assert value("vtddl_lease_held", keyspace="commerce") == 1
    assert value("vtddl_change_info", uuid=uuid) == 1
    assert value("vtddl_store_up") == 1
    assert value("vtddl_rpcs", rpc="GetSchemaMigrations", outcome="done") > 0
    buckets = [s for s in families["vtddl_rpc_duration_seconds"].samples
               if s.labels.get("rpc") == "GetSchemaMigrations" and s.name.endswith("_bucket")]
    counts = [s.value for s in buckets]
    assert counts == sorted(counts) and counts[-1] == value("vtddl_rpcs", rpc="GetSchemaMigrations", outcome="done")
    uuid_labels = {name for name, family in families.items() if any("uuid" in s.labels for s in family.samples)}
    assert uuid_labels == {"vtddl_change_info"}


def test_the_alert_rules_name_metrics_that_exist():
    known = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs/metrics.md").read_text("utf-8"), re.M))
    used = set(re.findall(r"\b(vtddl_\w+)", (ROOT / "packaging/vtddl-alerts.yml").read_text("utf-8")))
    assert used and used <= known, used - known


def test_it_is_not_ready_while_the_store_is_locked_and_alive_all_the_while(sim, vtddl, daemon):
    program = vtddl(sim(scale=20))
    serve = daemon(program)
    submit(program)
    with contextlib.closing(sqlite3.connect(program.store, isolation_level=None)) as other:
        other.execute("begin exclusive")
        status, body = wait_until(lambda: serve.get("/readyz") if serve.get("/readyz")[0] != 200 else None,
                                  "it is not ready", 40)
        assert status == 503 and [reason["code"] for reason in body["reasons"]] == ["store"], body
        assert serve.get("/healthz") == (200, "ok\n")
        assert serve.get("/debug/health") == (503, "not ok")
        assert serve.get("/api/v1/changes")[1]["store"]["trouble"], "the loop turns, and says why"
        other.execute("rollback")
    wait_until(lambda: serve.get("/readyz")[0] == 200, "it is ready again", 60)
    assert serve.get("/debug/health") == (200, "ok")
    assert [line["level"] for line in serve.log("store")] == ["info", "warning", "info"], "told once each"


def test_debug_vars_are_in_camel_case(sim, vtddl, daemon):
    serve = daemon(vtddl(sim(scale=20)))
    names = set(serve.get("/debug/vars")[1])
    assert {"BuildVersion", "OpenChanges", "VtctldCalls", "Uptime"} <= names
    assert [name for name in names if not re.fullmatch(r"([A-Z][a-z]+)+", name)] == []


# ---- What it is told by its surroundings ----


class Manager:
    """The socket of a service manager."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(20)
        self.seen = []

    def wait_for(self, pattern):
        until = time.monotonic() + 20
        while not any(re.search(pattern, message) for message in self.seen):
            assert time.monotonic() < until, self.seen[-20:]
            self.seen.append(self.socket.recv(65536).decode())


@pytest.mark.parametrize("abstract", [False, True])
def test_it_tells_systemd_what_it_does(sim, vtddl, daemon, tmp_path, abstract):
    name = f"\0vtddl-{tmp_path.name}" if abstract else str(tmp_path / "notify")
    manager = Manager(name)
    program = vtddl(sim(scale=20))
    serve = daemon(program, env={"NOTIFY_SOCKET": name.replace("\0", "@"), "WATCHDOG_USEC": "400000"},
                   ready=False)
    manager.wait_for("^READY=1$")
    assert serve.log("store"), "the store was read before"
    manager.wait_for("^WATCHDOG=1$")
    submit(program)
    manager.wait_for("^STATUS=1 open change.*drives 1 of 1 keyspaces")
    serve.process.send_signal(signal.SIGHUP)
    manager.wait_for(r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
    at = next(i for i, m in enumerate(manager.seen) if m.startswith("RELOADING"))
    manager.seen = manager.seen[at + 1:]
    manager.wait_for("^READY=1$")
    fed, until = 0, time.monotonic() + 2
    while time.monotonic() < until:
        fed += manager.socket.recv(65536) == b"WATCHDOG=1"
    assert 2 <= fed <= 30, "it is fed at half of its time: ten times in 2 s; a few more have queued"
    serve.process.send_signal(signal.SIGTERM)
    manager.wait_for("^STOPPING=1")
    assert serve.process.wait(20) == 0


@pytest.mark.parametrize("address", ["notify", "/" + "x" * 200])
def test_an_address_that_is_no_manager_is_left_alone(sim, vtddl, daemon, address):
    program = vtddl(sim(scale=20))
    manager = Manager(str(program.home / "notify"))
    serve = daemon(program, env={"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000"})
    submit(program)
    assert serve.stop() == 0
    manager.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        manager.socket.recv(65536)


def test_the_watchdog_is_not_fed_by_a_process_that_stands(sim, vtddl, daemon, tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    serve = daemon(vtddl(sim(scale=20)), env={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"})
    manager.wait_for("^WATCHDOG=1$")
    stand_still(serve.process.pid)
    manager.socket.settimeout(1)
    with pytest.raises(TimeoutError):
        for _ in range(20):
            manager.socket.recv(65536)
    serve.process.send_signal(signal.SIGCONT)
    manager.seen = []
    manager.socket.settimeout(20)
    manager.wait_for("^WATCHDOG=1$")


def test_another_processs_watchdog_is_not_ours(sim, vtddl, daemon, tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    daemon(vtddl(sim(scale=20)), env={"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "100000",
                                      "WATCHDOG_PID": "1"})
    manager.wait_for("^READY=1$")
    manager.socket.settimeout(1)
    with contextlib.suppress(TimeoutError):
        for _ in range(20):
            manager.seen.append(manager.socket.recv(65536).decode())
    assert "WATCHDOG=1" not in manager.seen


def test_a_file_for_a_store_in_a_pod_is_said_to_be_lost(sim, vtddl, daemon):
    program = vtddl(sim(scale=20))
    serve = daemon(program, env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert ["emptyDir" in line["msg"] for line in serve.log(level="warning")] == [True]
    serve.stop()
    serve = daemon(program)
    assert len(serve.log(level="warning")) == 1, "and nowhere else"


def test_without_http_it_listens_nowhere(sim, vtddl, daemon):
    serve = daemon(vtddl(sim(scale=20)), "--log-level", "info", "--config", "/dev/null", env={"VTDDL_CLUSTER": "x"})
    assert int(serve.port) > 0
    serve.stop()
    off = Daemon(serve.program)
    line = [off.program.program, "serve", "--store", f"sqlite:{off.program.store}", "--server", off.program.server,
            "--http", "off"]
    with subprocess.Popen(line, env=off.program.env, stderr=subprocess.PIPE, encoding="utf-8") as process:
        first = json.loads(process.stderr.readline())
        listening = subprocess.run(["ss", "-Hltnp"], stdout=subprocess.PIPE, encoding="utf-8", check=False).stdout
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert first["http_port"] == "off" and f"pid={process.pid}," not in listening
        assert process.returncode == 0


def test_an_address_in_use_is_said_at_the_start(sim, vtddl, daemon):
    program = vtddl(sim(scale=20))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        got = program.run("serve", "--store", f"sqlite:{program.store}", "--server", program.server, "--http", address)
    assert got.returncode == 78 and address in json.loads(got.stderr.splitlines()[-1])["msg"], got.stderr


def test_nobody_listens_to_its_log(sim, vtddl):
    """Standard error is a pipe that was closed: it works on."""
    fleet = sim(scale=20)
    program = vtddl(fleet)
    process = subprocess.Popen([program.program, "serve", "--store", f"sqlite:{program.store}", "--server",
                                program.server, "--poll-interval", "1s", "--http", "off"], env=program.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        process.stderr.close()
        uuid = submit(program)
        assert program.run("complete", "commerce", uuid).returncode == 0
        assert process.poll() is None
    finally:
        process.terminate()
        assert process.wait(20) == 0
