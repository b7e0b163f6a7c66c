"""Daemons over one MySQL store and a real Vitess: a change outlives whoever drives it."""

import json
import threading
import urllib.request

import pytest

from cluster import KEYSPACE
from crew import Crew
from mysql_server import MysqlServer, free_port
from waiting import wait_until


@pytest.fixture(scope="module")
def mysql():
    server = MysqlServer().start()
    yield server
    server.remove()


class Serving(Crew):
    def start(self, command, *words):
        process = self.vtddl.start(command, *self.words(*words)).process
        self.started.append(process)
        return process

    def serve(self, port):
        return self.start("serve", "--http", f"127.0.0.1:{port}")

    def ok(self, command, *words):
        return self.vtddl.ok(command, *self.words(*words))

    def phase(self):
        rows = self.ask("select phase from ddl_pipeline")
        return rows[0][0] if rows else ""


@pytest.fixture
def crew(fleet, vtddl, mysql):
    one = Serving(fleet.server, vtddl, mysql)
    yield one
    one.end()


def page(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return answer.read().decode()


@pytest.mark.core
@pytest.mark.parametrize("when", ["submitted", "completing"])
def test_the_daemon_that_drives_a_change_is_killed(crew, fleet, table, when):
    ports = [free_port(), free_port()]
    daemons = {process.pid: port for process, port in ((crew.serve(port), port) for port in ports)}
    sql = f"alter table {table} add column memo int"
    uuid = json.loads(crew.ok("submit", KEYSPACE, "--sql", sql, "--json").stdout)["change"]["uuid"]
    pid = wait_until(lambda: crew.holder() in daemons and crew.holder(), "a daemon took the change up", 60)
    ended = []
    client = threading.Thread(target=lambda: ended.append(crew.vtddl.run("run", *crew.words(KEYSPACE, "--sql", sql),
                                                                          timeout=400)))
    if when == "completing":
        client.start()
        wait_until(lambda: crew.phase() == "completing", "the release is decided", 90)
    process = next(one for one in crew.started if one.pid == pid)
    process.kill()
    if when == "submitted":
        client.start()
    wait_until(lambda: crew.holder() not in (0, pid), "another takes over", 150)
    client.join(400)
    assert ended and ended[0].returncode == 0, ended
    assert "verified: " in ended[0].stdout
    assert crew.phase() == "verified" and fleet.assert_sound(table) == [uuid]
    left = next(port for other, port in daemons.items() if other != pid)
    shown = json.loads(page(left, f"/api/v1/changes/{uuid}"))
    assert shown["change"]["phase"] == "verified" and shown["history"][-1]["to"] == "verified"
    assert 'vtddl_lease_held{keyspace="commerce"}' in page(left, "/metrics")


def test_a_change_that_was_submitted_elsewhere_is_driven_to_the_end_without_its_client(crew, fleet, table):
    daemon = crew.serve(free_port())
    sql = f"alter table {table} add column memo int"
    client = crew.start("run", KEYSPACE, "--sql", sql)
    wait_until(lambda: crew.phase() == "submitted", "it is submitted", 60)
    client.kill()
    client.wait(20)
    wait_until(lambda: crew.phase() == "verified", "the daemon proved it", 150)
    assert daemon.poll() is None
    fleet.assert_sound(table)
