"""show: what is in the store, what the shards say, and that the one is never taken for the other."""

import json
import re
import signal

import pytest

from simulator import Simulator

ALTER = "alter table orders add column memo varchar(64)"


@pytest.fixture
def sim(tmp_path):
    with Simulator(tmp_path) as simulator:
        yield simulator


def submit(vtddl, sim, *words):
    got = vtddl.run("submit", "commerce", "--sql", ALTER, "--server", sim.address, "--poll-interval", "2s", *words)
    assert got.returncode == 0, got.stderr
    return json.loads(vtddl.run("show", "--json").stdout)["changes"][0]["uuid"]


def test_without_a_keyspace_it_lists_the_store_and_asks_nobody(vtddl, sim):
    empty = vtddl.run("show", "--server", "127.0.0.1:1")
    assert (empty.returncode, empty.stdout) == (0, "") and "holds no change" in empty.stderr
    assert not (vtddl.home / ".local").exists(), "show makes no store"
    uuid = submit(vtddl, sim)
    head, line = vtddl.run("show", "--server", "127.0.0.1:1").stdout.splitlines()
    assert head.split() == ["UUID", "PHASE", "UPDATED", "TABLE"]
    assert re.fullmatch(rf"{uuid}  submitted   \d{{4}}-\d\d-\d\dT\S+Z +commerce\.orders", line)


def test_a_keyspace_that_does_not_exist_is_not_an_empty_one(vtddl, sim):
    empty = vtddl.run("show", "commerce", "--server", sim.address)
    assert (empty.returncode, empty.stdout) == (0, "") and "commerce has no migration" in empty.stderr
    wrong = vtddl.run("show", "comerce", "--server", sim.address)
    assert wrong.returncode == 65 and "knows no keyspace 'comerce'" in wrong.stderr


def test_recent_and_the_limit(vtddl, tmp_path):
    script = [{"do": "submit_foreign", "ddl": f"alter table orders add column c{n} int", "at_ms": 0,
               "uuid": f"f0e1d2c3_0000_4000_8000_00000000000{n}", "context": f"somebody{n}"} for n in (1, 2, 3)]
    with Simulator(tmp_path, script=script) as sim:
        def shown(*words):
            got = vtddl.run("show", "commerce", "recent", "--server", sim.address, *words)
            assert got.returncode == 0, got.stderr
            return sorted(set(re.findall(r"add column (c\d)", got.stdout))), got.stderr

        assert shown() == (["c1", "c2", "c3"], "")
        columns, words = shown("--limit", "2")
        assert len(columns) == 2 and "1 more, cut by --limit" in words
        assert shown("--limit", "0")[0] == ["c1", "c2", "c3"]


def test_a_record_whose_migration_the_fleet_lost_is_shown_with_its_history(vtddl, tmp_path):
    with Simulator(tmp_path) as sim:
        uuid = submit(vtddl, sim, "--caller-id", "deploy-bot")
    with Simulator(tmp_path) as another:
        got = vtddl.run("show", "commerce", uuid, "--server", another.address)
    assert f'shows no migration for "{uuid}"' in got.stderr
    assert got.stdout.splitlines()[0] == f"{uuid}  commerce.orders"
    assert "phase submitted" in got.stdout
    assert re.search(r"^    \d{4}-\S+Z  submitting  .*by deploy-bot$", got.stdout, re.M), got.stdout


def test_a_shard_that_is_not_in_the_answer_is_not_taken_for_one_without_the_migration(vtddl, tmp_path):
    with Simulator(tmp_path, script=[]) as sim:
        uuid = submit(vtddl, sim)
        fault = {"on": "GetSchemaMigrations", "times": 1000, "missing": "80-"}
        (tmp_path / "script.json").write_text(json.dumps([fault]), encoding="utf-8")
        sim.process.send_signal(signal.SIGHUP)
        texts = (vtddl.run("show", "commerce", uuid, "--server", sim.address).stdout for _ in range(20))
        assert any(re.search(r"^  80- +not in this answer, which proves nothing", text, re.M) for text in texts)


def test_json_of_one_uuid_has_its_history(vtddl, sim):
    uuid = submit(vtddl, sim)
    one = json.loads(vtddl.run("show", "commerce", uuid, "--server", sim.address, "--json").stdout)
    assert [entry["to"] for entry in one["changes"][0]["history"]][-1] == "submitted"
    all_of_them = json.loads(vtddl.run("show", "commerce", "--server", sim.address, "--json").stdout)
    assert "history" not in all_of_them["changes"][0], "the list stays short"


def test_version_for_programs_and_for_people_is_the_same(vtddl):
    found = json.loads(vtddl.run("version", "--json").stdout)
    people = vtddl.run("version").stdout
    assert found["kind"] == "version" and found["schema_version"] == 1
    assert people.startswith(f"vtddl {found['version']}") and found["commit"] in people
    assert all(library in people for library in found["libraries"].split(", "))
