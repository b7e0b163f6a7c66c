"""The contract of vtctld holds on a real Vitess: the suite that tests/process/test_contract.py runs on the simulator.

Where the two differ the simulator is wrong.
"""

import os
import subprocess

import pytest

from cluster import KEYSPACE
from program import BUILD

TOPICS = ["submit", "hold", "cancel", "read", "errors"]

pytestmark = pytest.mark.core


@pytest.mark.parametrize("topic", TOPICS)
def test_a_real_vitess_holds_to_the_contract(fleet, topic):
    got = subprocess.run([str(BUILD / "tests" / "contract" / "test_vtctld"), topic], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                         timeout=900, check=False,
                         env={**os.environ, "CONTRACT_SERVER": fleet.server, "CONTRACT_KEYSPACE": KEYSPACE,
                              "CONTRACT_SHARDS": ",".join(fleet.shards), "CMOCKA_MESSAGE_OUTPUT": "STDOUT"})
    assert got.returncode == 0 and "[  PASSED  ]" in got.stdout, got.stdout
