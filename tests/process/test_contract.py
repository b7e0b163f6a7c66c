"""The contract of vtctld holds on the simulator. tests/e2e/test_contract.py runs the same suite on a real Vitess."""

import os
import subprocess

import pytest

from harness import BUILD

SUITE = BUILD / "tests" / "contract" / "test_vtctld"
TOPICS = ["submit", "hold", "cancel", "read", "errors"]


def run(server, shards, *topics):
    return subprocess.run([str(SUITE), *topics], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", timeout=900, check=False,
                          env={**os.environ, "CONTRACT_SERVER": server, "CONTRACT_KEYSPACE": "commerce",
                               "CONTRACT_SHARDS": shards, "CMOCKA_MESSAGE_OUTPUT": "STDOUT"})


@pytest.mark.parametrize("topic", TOPICS)
def test_the_simulator_holds_to_the_contract(sim, topic):
    got = run(sim("--shards", "-80,80-", scale=5).address, "-80,80-", topic)
    assert got.returncode == 0 and "[  PASSED  ]" in got.stdout, got.stdout


def test_it_holds_again_on_a_fleet_with_history_and_four_shards(sim):
    shards = "-40,40-80,80-c0,c0-"
    server = sim("--shards", shards, scale=20).address
    for topic in ("submit", "read", "submit"):
        got = run(server, shards, topic)
        assert got.returncode == 0, got.stdout


def test_the_suite_refuses_a_server_with_other_shards(sim):
    got = run(sim("--shards", "-80,80-").address, "-40,40-", "read")
    assert got.returncode == 1 and "CONTRACT_SHARDS" in got.stdout, got.stdout


def test_without_a_server_the_suite_is_skipped():
    got = run("", "-80,80-")
    assert got.returncode == 77 and got.stdout.startswith("skipped"), got.stdout
