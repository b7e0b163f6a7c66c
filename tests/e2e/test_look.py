"""doctor and show on a real fleet."""

import re

from cluster import KEYSPACE


def test_doctor_finds_nothing_wrong(fleet, vtddl):
    got = vtddl.ok("doctor", KEYSPACE, "--vtgate", fleet.vtgate)
    assert "FAIL" not in got.stdout and got.stderr == ""
    for words in ("server", "shards", "tablets", "throttler", "migrations", "vtgate"):
        assert re.search(rf"^ok +{words}", got.stdout, re.M), got.stdout
    for tablet in fleet.tablets:
        assert f"{tablet.shard} {tablet.alias}, MySQL" in got.stdout


def test_show_by_uuid_context_status_and_time(fleet, vtddl, table):
    uuid = vtddl.held(f"alter table {table} add column memo int")
    shown = vtddl.json("show", KEYSPACE, uuid)
    assert [(row["shard"], row["status"], row["postpone_completion"], row["ready_to_complete"])
            for row in shown["migrations"]] == [(shard, "RUNNING", True, True) for shard in fleet.shards]
    assert shown["changes"][0]["phase"] == "submitted"
    context = shown["migrations"][0]["migration_context"]
    for words in ([context], ["running"], ["recent"], ["all"], []):
        got = vtddl.ok("show", KEYSPACE, *words)
        assert uuid in got.stdout and got.stderr == "", (words, got.stdout, got.stderr)
    assert uuid not in vtddl.ok("show", KEYSPACE, "failed").stdout
    assert re.search(rf"^{uuid}  submitted .*{KEYSPACE}\.{table}$", vtddl.ok("show").stdout, re.M)

    vtddl.ok("cancel", KEYSPACE, uuid)
    text = vtddl.ok("show", KEYSPACE, uuid).stdout
    assert "history:" in text and "a person asked to cancel" in text and "CANCEL issued by user" in text, text
    fleet.assert_sound(table, ["cancelled"])


def test_show_and_doctor_with_a_silent_tablet(fleet, vtddl, table):
    uuid = vtddl.held(f"alter table {table} add column memo int")
    first, second = fleet.tablets
    fleet.tablet(second, "pause")
    try:
        got = vtddl.ok("show", KEYSPACE, uuid, "--read-timeout", "2s")
        assert re.search(rf"^  {first.shard} +running", got.stdout, re.M), got.stdout
        assert f"no answer from shard {second.shard}" in got.stderr, got.stderr
        report = vtddl.run("doctor", KEYSPACE, "--read-timeout", "2s")
        assert report.returncode == 69 and second.alias in report.stdout, (report.returncode, report.stdout)
        assert re.search(rf"^(ok|warn) +primary +{first.shard} {first.alias}, MySQL", report.stdout, re.M)
    finally:
        fleet.tablet(second, "resume")
    vtddl.ok("cancel", KEYSPACE, uuid)
    fleet.assert_sound(table, ["cancelled"])
