"""The commands against a simulated vtctld: what they print, their exit codes, and how often they act."""

import json
import re
import signal
import subprocess
import time

import pytest

from conftest import BUILD
from fake_vtgate import FakeVtgate
from simulator import Simulator

ALTER = "alter table orders add column memo varchar(64)"
FAST = ["--poll-interval", "2s"]


@pytest.fixture
def sim(tmp_path):
    with Simulator(tmp_path) as simulator:
        yield simulator


def run(vtddl, sim, *words, **more):
    return vtddl.run(*words, "--server", sim.address, *(FAST if words[0] in ("run", "wait", "submit", "complete",
                                                                           "cancel", "verify") else []), **more)


def found(got):
    return json.loads(got.stdout)


def eventually(holds, seconds=20):
    """The simulator's events happen a moment after its start: asks again until they have."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never came"


def uuid_of(vtddl):
    return found(vtddl.run("show", "--json"))["changes"][0]["uuid"]


def test_a_change_is_verified_and_a_second_run_sends_nothing(vtddl, sim):
    first = run(vtddl, sim, "run", "commerce", "--sql", ALTER)
    assert first.returncode == 0, first.stderr
    assert re.search(r"^verified: commerce\.orders, proven on every shard \(2 of 2\), in ", first.stdout, re.M)
    assert sim.calls("ApplySchema") == 1 and sim.calls("CompleteSchemaMigration") == 1
    again = run(vtddl, sim, "run", "commerce", "--sql", ALTER + " ; ")
    assert again.returncode == 0
    assert re.search(r"^already verified on \d{4}-\d\d-\d\dT.*Z: nothing sent$", again.stdout, re.M)
    assert sim.calls("ApplySchema") == 1 and sim.calls("CompleteSchemaMigration") == 1


def test_the_log_has_one_line_for_each_phase(vtddl, sim):
    got = run(vtddl, sim, "run", "commerce", "--sql", ALTER, "--log-format", "json")
    lines = [json.loads(line) for line in got.stderr.splitlines()]
    phases = [line["msg"] for line in lines if line["msg"].startswith("phase ")]
    assert phases == ["phase " + name for name in ("submitting", "submitted", "completing", "completed", "verified")]
    assert all(line["keyspace"] == "commerce" and line["uuid"] for line in lines)


def test_json_is_one_object_with_everything(vtddl, sim):
    got = run(vtddl, sim, "run", "commerce", "--sql", ALTER, "--json")
    result = found(got)
    assert (got.returncode, result["exit_code"]) == (0, 0)
    assert (result["schema_version"], result["kind"], result["verdict"]) == (1, "change", "verified")
    assert result["goal_reached"] is True and result["already"] is False and result["resume"] is None
    assert result["effects_sent"] == {"submit": 1, "complete": 1, "cancel": 0}
    assert [shard["shard"] for shard in result["shards"]] == ["-80", "80-"]
    assert [shard["migration"]["status"] for shard in result["shards"]] == ["COMPLETE", "COMPLETE"]
    assert result["change"]["phase"] == "verified" and result["change"]["statement"] == ALTER
    assert [line["to"] for line in result["history"]][-1] == "verified"
    assert result["checks"]


def test_the_stages_of_a_pipeline_that_gates(vtddl, sim):
    held = run(vtddl, sim, "submit", "commerce", text=ALTER)
    assert held.returncode == 0 and "submitted: " in held.stdout
    uuid = uuid_of(vtddl)
    assert run(vtddl, sim, "wait", "commerce", uuid, "--for", "ready").returncode == 0
    assert sim.calls("CompleteSchemaMigration") == 0
    done = run(vtddl, sim, "complete", "commerce", uuid)
    assert done.returncode == 0 and "complete: " in done.stdout
    assert run(vtddl, sim, "verify", "commerce", uuid).returncode == 0
    shown = run(vtddl, sim, "show", "commerce", uuid)
    assert "phase verified" in shown.stdout and "history:" in shown.stdout


def test_a_held_change_can_be_cancelled_and_then_not_completed(vtddl, sim):
    assert run(vtddl, sim, "submit", "commerce", "--sql", ALTER).returncode == 0
    uuid = uuid_of(vtddl)
    got = run(vtddl, sim, "cancel", "commerce", uuid)
    assert got.returncode == 0 and "cancelled: " in got.stdout
    assert run(vtddl, sim, "complete", "commerce", uuid).returncode not in (0, None)
    assert sim.calls("CompleteSchemaMigration") == 0


def test_an_error_after_the_effect_is_no_second_effect(vtddl, tmp_path):
    script = [{"on": "ApplySchema", "when": "after", "code": 4},
              {"on": "CompleteSchemaMigration", "when": "after", "code": 14}]
    with Simulator(tmp_path, script=script) as sim:
        got = run(vtddl, sim, "run", "commerce", "--sql", ALTER)
        assert got.returncode == 0, got.stderr
        assert sim.calls("ApplySchema") == 1


def test_a_failed_shard_is_exit_1_and_nothing_is_released(vtddl, tmp_path):
    script = [{"do": "fail", "shard": "-80", "message": "Duplicate column \u001b[2J\u009b name",
               "on": "GetSchemaMigrations", "nth": 2}]
    with Simulator(tmp_path, script=script) as sim:
        got = run(vtddl, sim, "run", "commerce", "--sql", ALTER)
        assert got.returncode == 1, got.stderr
        assert "Duplicate column" in got.stdout and re.search(r"^failed: .*\(exit code 1, ", got.stdout, re.M)
        assert "\033" not in got.stdout + got.stderr and "\u009b" not in got.stdout + got.stderr
        assert sim.calls("CompleteSchemaMigration") == 0
        shown = run(vtddl, sim, "show", "commerce", "failed")
        assert "Duplicate column" in shown.stdout and "\033" not in shown.stdout


def test_a_deadline_that_passes_is_exit_4_and_says_how_to_go_on(vtddl, tmp_path):
    with Simulator(tmp_path, script=[{"do": "hold_copy", "shard": "80-", "at_ms": 0}]) as sim:
        got = run(vtddl, sim, "run", "commerce", "--sql", ALTER, "--deadline", "4s")
        assert got.returncode == 4, got.stderr
        assert re.search(r"^late: ", got.stdout, re.M) and "to go on: vtddl run commerce" in got.stdout
        assert sim.calls("CompleteSchemaMigration") == 0


@pytest.mark.parametrize("number, code, sql", [
    (signal.SIGINT, 130, "alter table orders add column memo varchar(64) default 'it''s'"),
    (signal.SIGTERM, 143, "alter table orders\n\tadd column memo varchar(64) default 'it''s'\n")])
def test_a_signal_leaves_the_change_alone_and_the_printed_command_goes_on(vtddl, tmp_path, number, code, sql):
    with Simulator(tmp_path, script=[{"do": "hold_copy", "shard": "80-", "at_ms": 0}]) as sim:
        words = [str(BUILD / "vtddl"), "run", "commerce", "--sql", sql, "--server", sim.address, *FAST]
        with subprocess.Popen(words, env=vtddl.env, cwd=vtddl.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8") as process:
            seen = ""
            while "phase submitted" not in seen:
                line = process.stderr.readline()
                assert line, seen
                seen += line
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (code, "")
        assert "keeps running in the fleet" in err
        resume = re.search(r"to go on: (vtddl run commerce .*)", err).group(1)
        (tmp_path / "script.json").write_text('[{"do": "hold_copy", "shard": "80-", "held": false, "at_ms": 0}]')
        sim.process.send_signal(signal.SIGHUP)
        got = subprocess.run(["bash", "-c", resume], env={**vtddl.env, "PATH": f"{BUILD.absolute()}:/usr/bin:/bin"},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
        assert got.returncode == 0, got.stderr
        assert sim.calls("ApplySchema") == 1


def test_two_runners_are_one_change(vtddl, sim):
    words = [str(BUILD / "vtddl"), "run", "commerce", "--sql", ALTER, "--server", sim.address, *FAST, "--json"]
    runners = [subprocess.Popen(words, env=vtddl.env, cwd=vtddl.home, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, encoding="utf-8") for _ in range(2)]
    results = [json.loads(runner.communicate(timeout=100)[0]) for runner in runners]
    assert [runner.returncode for runner in runners] == [0, 0]
    assert results[0]["change"]["uuid"] == results[1]["change"]["uuid"]
    assert sim.calls("ApplySchema") == 1 and sim.calls("CompleteSchemaMigration") == 1


def vtgate_answers(columns):
    return {"show create table `orders`": (["Table", "Create Table"], [["orders", "CREATE TABLE `orders` (\n"
            "  `id` bigint,\n  `memo` varchar(64) DEFAULT NULL\n)"]]),
            "select * from `orders` where 1 != 1": (columns, []),
            "select id from orders": (["id"], [["1"]])}


def test_vtgate_is_asked_and_the_probe_runs_twenty_times(vtddl, sim):
    with FakeVtgate(vtgate_answers(["id", "memo"])) as vtgate:
        got = run(vtddl, sim, "run", "commerce", "--sql", ALTER, "--vtgate", vtgate.address,
                  "--probe", "select id from orders")
        assert "probe 1: p99" in got.stdout, got.stdout + got.stderr
        assert vtgate.queries.count("select id from orders") >= 20


def test_show_has_the_names_and_forms_of_vtctldclient(vtddl, sim):
    assert run(vtddl, sim, "submit", "commerce", "--sql", ALTER).returncode == 0
    result = found(run(vtddl, sim, "show", "commerce", "--json"))
    assert (result["schema_version"], result["kind"], result["keyspace"]) == (1, "migrations", "commerce")
    row = result["migrations"][0]
    assert row["status"] in ("QUEUED", "READY", "RUNNING") and row["strategy"] == "VITESS"
    assert row["migration_statement"] == ALTER and row["postpone_completion"] is True
    assert isinstance(row["table_rows"], str) and isinstance(row["retries"], str)
    assert re.fullmatch(r"\d+", row["requested_at"]["seconds"])
    assert row["completed_at"] is None
    assert result["changes"][0]["phase"] == "submitted"


def test_show_filters_by_status_and_context_and_shows_strangers(vtddl, tmp_path):
    script = [{"do": "submit_foreign", "ddl": "alter table orders add column other int", "at_ms": 0,
               "context": "somebody"}]
    with Simulator(tmp_path, script=script) as sim:
        eventually(lambda: "add column other" in run(vtddl, sim, "show", "commerce").stdout)
        assert "add column other" in run(vtddl, sim, "show", "commerce", "somebody").stdout
        nothing = run(vtddl, sim, "show", "commerce", "cancelled")
        assert (nothing.returncode, nothing.stdout) == (0, "")
        assert not (vtddl.home / ".local").exists(), "show makes no store"


def test_one_dead_primary_does_not_blind_show(vtddl, tmp_path):
    script = [{"do": "submit_foreign", "ddl": ALTER, "context": "somebody", "at_ms": 0},
              {"do": "tablet", "shard": "80-", "event": "kill", "on": "GetKeyspaces"}]
    with Simulator(tmp_path, script=script) as sim:
        eventually(lambda: "running" in run(vtddl, sim, "show", "commerce", "somebody").stdout)
        run(vtddl, sim, "doctor", "commerce", "--read-timeout", "1s")
        got = run(vtddl, sim, "show", "commerce", "somebody", "--read-timeout", "3s")
        assert got.returncode == 0, got.stderr
        assert re.search(r"^  -80 ", got.stdout, re.M) and not re.search(r"^  80- ", got.stdout, re.M)
        assert "no answer from shard 80-" in got.stderr


def test_doctor_says_ok_for_a_good_fleet(vtddl, sim):
    got = run(vtddl, sim, "doctor", "commerce")
    assert (got.returncode, got.stderr) == (0, ""), got.stdout
    assert [line.split()[1] for line in got.stdout.splitlines()] == \
        ["store", "server", "shards", "tablets", "primary", "primary", "throttler", "migrations"]
    assert all(line.startswith("ok ") for line in got.stdout.splitlines())


def test_doctor_names_the_cure_of_a_stale_primary_record(vtddl, tmp_path):
    with Simulator(tmp_path, script=[{"do": "reparent", "shard": "-80", "emergency": True, "at_ms": 0}]) as sim:
        eventually(lambda: re.search(r"^warn +tablets .*vtctldclient DeleteTablets zone1-",
                                     run(vtddl, sim, "doctor", "commerce", "--read-timeout", "1s").stdout, re.M))


def test_doctor_ends_with_the_code_of_its_first_failure(vtddl, tmp_path):
    with Simulator(tmp_path, script=[{"do": "tablet", "shard": "80-", "event": "stop", "at_ms": 0}]) as sim:
        eventually(lambda: "shut down" in run(vtddl, sim, "doctor", "commerce").stdout)
        got = run(vtddl, sim, "doctor", "commerce", "--json")
        result = found(got)
        failed = [check for check in result["checks"] if check["result"] == "FAIL"]
        assert failed and got.returncode == result["exit_code"] == failed[0]["exit_code"] == 69
    with Simulator(tmp_path) as sim:
        assert run(vtddl, sim, "doctor", "nosuch").returncode == 64


def test_nobody_listening_is_exit_69(vtddl):
    for words in ["run", "ks", "--sql", ALTER], ["show", "ks"], ["doctor", "ks"]:
        got = vtddl.run(*words, "--server", "127.0.0.1:1")
        assert got.returncode == 69, words


def test_refused_credentials_are_exit_77(vtddl, tmp_path):
    (tmp_path / "auth.json").write_text('[{"Username": "u", "Password": "p"}]')
    (tmp_path / "wrong.json").write_text('{"Username": "u", "Password": "q"}')
    (tmp_path / "wrong.json").chmod(0o600)
    with Simulator(tmp_path, "--auth-static", str(tmp_path / "auth.json")) as sim:
        for words in ["run", "commerce", "--sql", ALTER], ["show", "commerce"], ["doctor", "commerce"]:
            assert run(vtddl, sim, *words).returncode == 77, words
            got = run(vtddl, sim, *words, "--grpc-auth-static-client-creds", "wrong.json")
            assert got.returncode == 77, words


def test_an_unknown_uuid_says_that_the_store_lacks_it(vtddl, sim):
    got = run(vtddl, sim, "complete", "commerce", "00000000_0000_8000_8000_000000000000")
    assert got.returncode not in (0, 70) and got.stderr.startswith("vtddl: ")
    assert sim.calls("CompleteSchemaMigration") == 0


def test_a_second_signal_does_not_wait_for_what_is_in_flight(vtddl, tmp_path):
    with Simulator(tmp_path, script=[{"on": "ApplySchema", "drop": True}]) as sim:
        words = [str(BUILD / "vtddl"), "run", "commerce", "--sql", ALTER, "--server", sim.address, *FAST]
        with subprocess.Popen(words, env=vtddl.env, cwd=vtddl.home, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            eventually(lambda: [change["attempts"] for change in found(vtddl.run("show", "--json"))["changes"]] == [1])
            process.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(2)
            process.send_signal(signal.SIGTERM)
            assert process.wait(6) == 143, "it waits for ten seconds of its own"


def test_show_gives_what_the_shards_say_even_if_the_store_is_broken(vtddl, sim):
    assert run(vtddl, sim, "submit", "commerce", "--sql", ALTER).returncode == 0
    (vtddl.home / ".local/state/vtddl/vtddl.db").write_text("this is no database")
    got = run(vtddl, sim, "show", "commerce")
    assert got.returncode == 74 and ALTER in got.stdout and "vtddl.db" in got.stderr
    assert run(vtddl, sim, "run", "commerce", "--sql", ALTER).returncode == 74
    assert (vtddl.home / ".local/state/vtddl/vtddl.db").read_text() == "this is no database"
