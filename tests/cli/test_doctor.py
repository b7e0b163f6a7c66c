"""doctor: each check says what is wrong, what to do about it, and the first failure gives the exit code."""

import json

import pytest

from fake_vtgate import FakeVtgate
from simulator import Simulator
from terminal import run_on_terminal


@pytest.fixture
def sim(tmp_path):
    with Simulator(tmp_path) as simulator:
        yield simulator


def lines(got):
    """[(level, check, text)]"""
    return [tuple(line.split(None, 2)) for line in got.stdout.splitlines()]


def of_check(got, name):
    return [(level, text) for level, check, text in lines(got) if check == name]


def test_vtgate_and_each_probe_are_timed(vtddl, sim):
    with FakeVtgate({"select 1": (["1"], [["1"]]), "select id from orders": (["id"], [])}) as vtgate:
        got = vtddl.run("doctor", "commerce", "--server", sim.address, "--vtgate", vtgate.address,
                        "--probe", "select 1", "--probe", "select id from orders")
    assert got.returncode == 0, got.stdout
    (level, text), = of_check(got, "vtgate")
    assert level == "ok" and text.startswith(vtgate.address + " answers in ")
    assert [(level, text.split()[0]) for level, text in of_check(got, "probe")] == [("ok", "1"), ("ok", "2")]
    assert vtgate.queries.count("select id from orders") == 1, "doctor tries a probe, it does not measure"


def test_a_probe_that_fails_does_not_hide_the_next(vtddl, sim):
    answers = {"select 1": (["1"], [["1"]]), "select a from b": (1146, "table b not found"),
               "select c from d": (["c"], [["1"]])}
    with FakeVtgate(answers) as vtgate:
        got = vtddl.run("doctor", "commerce", "--server", sim.address, "--vtgate", vtgate.address,
                        "--probe", "select a from b", "--probe", "select c from d")
    (first, why), (second, _) = of_check(got, "probe")
    assert (first, second) == ("FAIL", "ok") and "table b not found" in why
    assert got.returncode != 0


@pytest.mark.parametrize("refuse, code", [(True, 77), (None, 69)])
def test_a_vtgate_that_cannot_be_used_is_the_failure(vtddl, sim, refuse, code):
    if refuse is None:
        got = vtddl.run("doctor", "commerce", "--server", sim.address, "--vtgate", "127.0.0.1:1")
    else:
        with FakeVtgate({}, refuse_login=True) as vtgate:
            got = vtddl.run("doctor", "commerce", "--server", sim.address, "--vtgate", vtgate.address)
    assert [level for level, _ in of_check(got, "vtgate")] == ["FAIL"]
    assert got.returncode == code, got.stdout


def test_a_topology_that_no_change_could_use_is_exit_3(vtddl, tmp_path):
    with Simulator(tmp_path, script=[{"do": "add_shard", "shard": "80-c0", "serving": False, "at_ms": 0},
                                     {"do": "add_shard", "shard": "c0-", "serving": False, "at_ms": 0}]) as sim:
        got = vtddl.run("doctor", "commerce", "--server", sim.address)
        (level, text), = of_check(got, "shards")
        assert level == "FAIL" and "reshard" in text and got.returncode == 3, got.stdout


@pytest.mark.parametrize("method, check, goes_on", [("FindAllShardsInKeyspace", "shards", False),
                                                    ("GetTablets", "tablets", True)])
def test_a_read_that_fails_is_told_with_the_server_s_words(vtddl, tmp_path, method, check, goes_on):
    script = [{"on": method, "code": 14, "text": "the topology is away", "times": 9}]
    with Simulator(tmp_path, script=script) as sim:
        got = vtddl.run("doctor", "commerce", "--server", sim.address)
    (level, text), = of_check(got, check)
    assert level == "FAIL" and "the topology is away" in text
    assert got.returncode == 69
    assert bool(of_check(got, "primary")) == goes_on, "without shards there is no primary to ask"


def test_what_only_slows_a_change_down_is_a_warning(vtddl, tmp_path):
    script = [{"on": "CheckThrottler", "code": 14, "text": "no throttler here", "times": 9},
              {"on": "GetSchemaMigrations", "code": 14, "text": "poisoned row", "times": 9}]
    with Simulator(tmp_path, script=script) as sim:
        got = vtddl.run("doctor", "commerce", "--server", sim.address)
    assert [level for level, text in of_check(got, "throttler") if "cannot say" in text] == ["warn", "warn"]
    (level, text), = of_check(got, "migrations")
    assert level == "warn" and "poisoned row" in text and "reading each primary directly" in text
    assert got.returncode == 0


@pytest.mark.parametrize("name, value, level, words, code", [
    ("read_only", True, "FAIL", "80- zone1-0000000111, MySQL 9.7.0, is read only: no migration can run on it", 3),
    ("performance_schema", False, "warn", "performance_schema is off, so a forced cut-over cannot end what blocks it", 0),
    ("version", "", "FAIL", "answered without a version", 7)])
def test_a_primary_on_which_a_change_would_not_run_is_named(vtddl, tmp_path, name, value, level, words, code):
    script = [{"do": "mysqld", "shard": "80-", name: value, "at_ms": 0}]
    with Simulator(tmp_path, script=script) as sim:
        got = vtddl.run("doctor", "commerce", "--server", sim.address)
    good, (found, text) = of_check(got, "primary")
    assert good[0] == "ok" and (found, got.returncode) == (level, code), got.stdout
    assert words in text


def test_a_shard_that_holds_copies_back_is_named_with_its_lag(vtddl, tmp_path):
    with Simulator(tmp_path, script=[{"do": "throttle", "shard": "80-", "at_ms": 0}]) as sim:
        got = vtddl.run("doctor", "commerce", "--server", sim.address)
    assert of_check(got, "throttler") == [
        ("warn", "80- holds copies back now: value 7.5, threshold 5 threshold exceeded")], got.stdout
    assert got.returncode == 0


@pytest.mark.parametrize("events, code, level, words", [
    ([{"do": "tablet", "shard": "80-", "event": "stop", "at_ms": 0}], 69, "FAIL",
     "the primary of 80-, was shut down; start it, or reparent the shard"),
    ([{"do": "reparent", "shard": "80-", "emergency": True, "at_ms": 0}], 0, "warn",
     "is recorded as UNKNOWN but is not the shard's primary")])
def test_a_tablet_in_trouble_is_named_with_what_to_do(vtddl, tmp_path, events, code, level, words):
    with Simulator(tmp_path, script=events) as sim:
        got = vtddl.run("doctor", "commerce", "--server", sim.address)
    assert [found for found, text in of_check(got, "tablets") if words in text] == [level], got.stdout
    assert got.returncode == code, got.stdout


def test_without_a_keyspace_it_looks_at_vtctld_and_names_those_there_are(vtddl, sim):
    got = vtddl.run("doctor", "--server", sim.address)
    assert got.returncode == 0, got.stdout
    assert [check for _, check, _ in lines(got)] == ["store", "server"]
    assert of_check(got, "server")[0][1].endswith("keyspaces: commerce; name one to have its shards checked")


@pytest.mark.parametrize("words, colors", [([], True), (["--no-color"], False)])
def test_on_a_terminal_the_outcome_has_its_color(vtddl, tmp_path, words, colors):
    with Simulator(tmp_path, script=[{"do": "throttle", "shard": "80-", "at_ms": 0}]) as sim:
        shown, _ = run_on_terminal(vtddl, "doctor", "commerce", "--server", sim.address, *words, env={"TERM": "xterm"},
                                   stream="stdout")
    assert "holds copies back" in shown, shown
    assert ("\033[33m" in shown and "\033[32m" in shown) == ("\033" in shown) == colors, shown


def test_a_broken_store_does_not_keep_it_from_looking_at_the_fleet(vtddl, sim, tmp_path):
    (tmp_path / "bad.db").write_text("this is no database, whatever its name says" * 40, encoding="utf-8")
    got = vtddl.run("doctor", "commerce", "--server", sim.address, "--store", f"sqlite:{tmp_path}/bad.db")
    assert [level for level, _ in of_check(got, "store")] == ["FAIL"]
    assert got.returncode == 74
    assert [level for level, _ in of_check(got, "shards")] == ["ok"]


def test_a_probe_that_would_write_is_refused_before_anybody_is_asked(vtddl, sim):
    with FakeVtgate({}) as vtgate:
        got = vtddl.run("doctor", "commerce", "--server", sim.address, "--vtgate", vtgate.address,
                        "--probe", "delete from orders")
        assert (got.returncode, got.stdout, vtgate.logins) == (65, "", [])


def test_json_has_the_same_checks_and_the_exit_code(vtddl, sim):
    people = vtddl.run("doctor", "commerce", "--server", sim.address)
    result = json.loads(vtddl.run("doctor", "commerce", "--server", sim.address, "--json").stdout)
    assert result["kind"] == "doctor" and result["exit_code"] == 0
    assert [check["check"] for check in result["checks"]] == [check for _, check, _ in lines(people)]
