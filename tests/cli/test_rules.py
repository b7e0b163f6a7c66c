"""`vtddl rules` is well-formed in each format, and all formats show the same rows."""

import json
import re


def rules(vtddl):
    got = vtddl.run("rules", "--format", "json")
    assert (got.returncode, got.stderr) == (0, "")
    return json.loads(got.stdout)["rules"]


def test_numbers_grow_and_stay_in_the_hundreds_of_their_phase(vtddl):
    rows = rules(vtddl)
    numbers = [row["number"] for row in rows]
    assert numbers == sorted(set(numbers))
    hundreds = {}
    for row in rows:
        hundreds.setdefault(row["phase"], set()).add(row["number"] // 100)
    assert all(len(found) == 1 for found in hundreds.values())


def test_the_last_row_of_every_phase_asks_for_nothing(vtddl):
    last = {row["phase"]: row for row in rules(vtddl)}
    assert len(last) == 9
    assert all(row["yes"] == [] and row["no"] == [] for row in last.values())


def test_no_fact_is_nameless_and_every_row_has_a_reason(vtddl):
    for row in rules(vtddl):
        assert row["reason"]
        assert all(re.fullmatch(r"[a-z_]+", fact) for fact in row["yes"] + row["no"]), row


def test_only_a_move_goes_somewhere(vtddl):
    for row in rules(vtddl):
        assert (row["to"] is not None) == (row["action"] == "move"), row


def test_all_formats_have_the_same_rows(vtddl):
    rows = rules(vtddl)
    table = vtddl.run("rules").stdout
    assert [int(n) for n in re.findall(r"^ {2,5}(\d{3,4})  ", table, re.M)] == [row["number"] for row in rows]
    markdown = vtddl.run("rules", "--format", "markdown").stdout
    assert [int(n) for n in re.findall(r"^\| (\d+) \|", markdown, re.M)] == [row["number"] for row in rows]
    assert all(line.count("|") == 5 for line in markdown.splitlines() if line.startswith("|"))
    mermaid = vtddl.run("rules", "--format", "mermaid").stdout
    assert mermaid.startswith("stateDiagram-v2\n")
    assert re.findall(r"^    (\w+) --> (\w+): (\d+)$", mermaid, re.M) == \
        [(row["phase"], row["to"], str(row["number"])) for row in rows if row["action"] == "move"]


def test_json_by_either_option(vtddl):
    assert vtddl.run("rules", "--json").stdout == vtddl.run("rules", "--format", "json").stdout
