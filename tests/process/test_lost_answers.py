"""ApplySchema and Complete that fail or go silent, after their effect on no, some or all shards."""

import pytest

from harness import ALTER, CREATE, Sim, Vtddl, assert_done_once, side_by_side

# which shards an effect reaches before its answer is lost: what the journal then says, and the script
REACHED = {"none": ([], {"when": "before"}), "some": (["-80"], {"when": "after", "shards": "-80"}),
           "all": (["-80", "80-"], {"when": "after"})}
LOST = {"unknown": {"code": 2}, "unavailable": {"code": 14}, "internal": {"code": 13}, "aborted": {"code": 10},
        "exhausted": {"code": 8}, "silence": {"drop": True}}


def run_with_faults(folder, script, statement, **expect):
    fleet = Sim(folder / "sim", script=script, scale=20).start()
    try:
        program = Vtddl(folder / "home", fleet.address)
        got = program.run("run", "commerce", "--sql", statement, "--effect-timeout", "2s", "--json")
        assert got.returncode == 0, got.stdout + got.stderr
        assert_done_once(fleet, program, **expect)
        return fleet
    finally:
        fleet.stop()


@pytest.mark.parametrize("method", ["ApplySchema", "CompleteSchemaMigration"])
def test_an_effect_whose_answer_is_lost_takes_place_once(tmp_path, method):
    def check(name, case):
        lost, reached = case
        done, when = REACHED[reached]
        fleet = run_with_faults(tmp_path / name, [{"on": method, **when, **LOST[lost]}], ALTER)
        calls = fleet.journal(method)
        assert calls[0]["code"] != 0 and calls[0]["done"] == done, "the fault was not as planned"
        # all done: looking is enough; else it is sent again, under the same name
        assert len(calls) == (1 if reached == "all" else 2), calls

    side_by_side({f"{lost}-{reached}": (lost, reached) for lost in LOST for reached in REACHED}, check)


def test_a_create_whose_answers_are_lost_twice_over_is_made_once(tmp_path):
    def check(name, case):
        script = [{"on": method, **REACHED[reached][1], **LOST[case[0]]} for method, reached in
                  zip(("ApplySchema", "CompleteSchemaMigration"), case[1:])]
        run_with_faults(tmp_path / name, script, CREATE, table="notes", fragment="`note`")

    side_by_side({f"{lost}-{first}-{second}": (lost, first, second) for lost in ("unknown", "silence")
                  for first in REACHED for second in REACHED}, check)


def test_every_kind_of_answer_lost_twice_in_a_row(tmp_path):
    def check(name, reached):
        script = [{"on": method, "times": 2, **REACHED[reached][1], "code": 14} for method in
                  ("ApplySchema", "CompleteSchemaMigration")]
        run_with_faults(tmp_path / name, script, ALTER)

    side_by_side({reached: reached for reached in REACHED}, check)


def test_killed_after_an_effect_that_reached_one_shard_it_does_only_the_other(sim, vtddl, crash_program):
    fleet = sim(script=[{"on": "ApplySchema", "when": "after", "shards": "-80", "code": 2}], scale=20)
    program = vtddl(fleet, program=crash_program)
    died = program.run("run", "commerce", "--sql", ALTER, env={"VTDDL_CRASH_AT": "effect-reply:1"})
    assert died.returncode == 137
    assert [call["done"] for call in fleet.journal("ApplySchema")] == [["-80"]]
    assert program.run("run", "commerce", "--sql", ALTER).returncode == 0
    assert_done_once(fleet, program)


def test_an_answer_that_comes_late_is_no_second_release(sim, vtddl):
    fleet = sim(script=[{"on": "CompleteSchemaMigration", "when": "after", "delay_ms": 100000}], scale=20)
    program = vtddl(fleet)
    got = program.run("run", "commerce", "--sql", ALTER, "--effect-timeout", "2s")
    assert got.returncode == 0, got.stdout + got.stderr
    assert_done_once(fleet, program)


def test_reads_that_miss_or_double_a_shard_are_no_permission(sim, vtddl):
    script = [{"on": "GetSchemaMigrations", "nth": 2, "times": 2, "missing": "80-"},
              {"on": "GetSchemaMigrations", "nth": 5, "doubled": "-80"},
              {"on": "FindAllShardsInKeyspace", "nth": 5, "code": 14}]
    fleet = sim(script=script, scale=20)
    program = vtddl(fleet)
    got = program.run("run", "commerce", "--sql", ALTER)
    assert got.returncode == 0, got.stdout + got.stderr
    assert_done_once(fleet, program)
