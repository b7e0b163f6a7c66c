"""The proof at the end: a change is verified only when VTGate serves it, and VTGate is a server like any other."""

import json
import os

import pytest

from fake_vtgate import FakeVtgate
from simulator import Simulator

ALTER = "alter table orders add column memo varchar(64)"
CREATE, SELECT, PROBE = "show create table `orders`", "select * from `orders` where 1 != 1", "select id from orders"
DEFINITION = (["Table", "Create Table"], [["orders", "CREATE TABLE `orders` (\n  `id` bigint,\n  `memo` varchar(64)\n)"]])


class InTurn:
    """Answers of one query, one after the other; the last one stays."""

    def __init__(self, *answers):
        self.answers, self.asked = answers, 0

    def __call__(self, _):
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


@pytest.fixture
def sim(tmp_path):
    with Simulator(tmp_path) as simulator:
        yield simulator


def run(vtddl, sim, vtgate, *words, sql=ALTER):
    got = vtddl.run("run", "commerce", "--sql", sql, "--server", sim.address, "--poll-interval", "2s", "--vtgate",
                    vtgate.address, "--json", *words)
    return got.returncode, json.loads(got.stdout)


def of_vtgate(result):
    return [check for check in result["checks"] if "VTGate" in check]


def test_it_waits_until_vtgate_knows_the_table_and_then_until_it_has_the_column(vtddl, sim):
    columns = InTurn((["id"], []), (["id"], []), (["id", "memo"], []))
    table = InTurn((1146, "table orders not found in vschema"), DEFINITION)
    with FakeVtgate({CREATE: table, SELECT: columns}) as vtgate:
        code, result = run(vtddl, sim, vtgate)
    assert (code, result["verdict"]) == (0, "verified")
    assert of_vtgate(result) == ["ok VTGate serves the new definition"]
    assert columns.asked >= 3 and table.asked >= 3, "it was taken for served before it was"


@pytest.mark.parametrize("bad", [None, (["Table"], [["orders"]]), (1105, "vtgate is on fire")],
                         ids=["no result", "no definition", "an error"])
def test_an_answer_that_proves_nothing_is_asked_for_again(vtddl, sim, bad):
    table = InTurn(bad, bad, DEFINITION)
    with FakeVtgate({CREATE: table, SELECT: (["id", "memo"], [])}) as vtgate:
        code, result = run(vtddl, sim, vtgate)
    assert (code, result["verdict"]) == (0, "verified"), result["checks"]
    assert table.asked >= 3, "it was taken for served before it was"


def test_what_vtgate_does_not_serve_by_the_deadline_is_unproven_and_the_shards_stay_done(vtddl, sim):
    with FakeVtgate({CREATE: DEFINITION, SELECT: (["id", "other"], [])}) as vtgate:
        code, result = run(vtddl, sim, vtgate, "--deadline", "25s")
    assert code == 7 and result["goal_reached"] is False  # rule 411
    assert result["change"]["phase"] == "completed"
    assert of_vtgate(result) == ["wait VTGate does not serve the new columns yet (column 'memo')"]


def test_a_dropped_table_must_be_gone_from_vtgate_too(vtddl, sim):
    with FakeVtgate({CREATE: InTurn(DEFINITION, DEFINITION, (1146, "gone")), SELECT: (["id"], [])}) as vtgate:
        code, result = run(vtddl, sim, vtgate, sql="drop table orders")
        assert (code, result["verdict"]) == (0, "verified"), result["checks"]
        assert vtgate.queries.count(CREATE) >= 3


def test_a_probe_that_fails_keeps_it_from_being_verified(vtddl, sim):
    probe = InTurn((1105, "target: commerce.-80: down"), (1105, "target: commerce.-80: down"), (["id"], [["1"]]))
    with FakeVtgate({CREATE: DEFINITION, SELECT: (["id", "memo"], []), PROBE: probe}) as vtgate:
        code, result = run(vtddl, sim, vtgate, "--probe", PROBE)
        assert vtgate.queries.count(CREATE) >= 3, "each failed probe is a proof that failed"
    assert (code, result["verdict"]) == (0, "verified"), result["checks"]


def test_a_server_that_asks_for_a_file_gets_none(vtddl, sim, tmp_path):
    """LOAD DATA LOCAL: the protocol lets any server ask for any file of its client, in answer to any statement."""
    secret = tmp_path / "password"
    secret.write_text("correct horse battery staple", encoding="utf-8")
    with FakeVtgate({CREATE: InTurn(b"\xfb" + os.fsencode(secret), DEFINITION), SELECT: (["id", "memo"], [])}) as vtgate:
        code, result = run(vtddl, sim, vtgate)
        assert vtgate.replies == [b""], "it was given the file"
    assert (code, result["verdict"]) == (0, "verified"), result["checks"]
