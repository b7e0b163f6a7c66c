"""Several daemons over one MySQL store: the one at work is killed or stopped in every phase of a change."""

import re
import signal
import threading
import time

import pytest

from crew import Crew
from harness import ALTER, BLOCK, HOLD, UNBLOCK, UNHOLD, send, side_by_side, wait_until
from mysql_server import MysqlServer

LEASE_S = 30
SLACK_S = 15  # of a noisy machine; what the protocol itself takes is asserted in virtual time, in tests/crash


@pytest.fixture(scope="module")
def mysql():
    server = MysqlServer().start()
    yield server
    server.remove()


class Stage(Crew):
    """One fleet, one database, and the programs over them."""

    def __init__(self, fleet, vtddl, mysql):
        super().__init__(fleet.address, vtddl, mysql)
        self.fleet = fleet

    def start(self, command, *words):
        process = self.vtddl.start(command, *self.words(*words))
        process.lines = []
        for stream in (process.stderr, process.stdout):
            threading.Thread(target=lambda stream=stream: process.lines.extend(stream), daemon=True).start()
        self.started.append(process)
        return process

    def serve(self):
        return self.start("serve", "--http", "off")

    def run(self, command, *words):
        return self.vtddl.run(command, *self.words(*words), timeout=150)

    def change(self):
        rows = self.ask("select phase, uuid, attempts, epoch from ddl_pipeline")
        return rows[0] if rows else ["", "", "0", "0"]

    def assert_done_once(self):
        uuids = {call["request"]["uuid"] for call in self.fleet.effects()}
        assert len(uuids) == 1, uuids
        both = {"-80": 1, "80-": 1}
        assert self.fleet.done("ApplySchema") == both and self.fleet.done("CompleteSchemaMigration") == both
        assert self.fleet.done("CancelSchemaMigration") == {}
        assert self.change()[0] == "verified" and self.ask("select count(*) from ddl_pipeline") == [["1"]]
        moves = [row[0] for row in self.ask("select to_phase from ddl_history where from_phase is null or"
                                            " from_phase <> to_phase order by id")]
        assert moves == ["submitting", "submitted", "completing", "completed", "verified"], moves


# phase -> (script at the start, the script that lets it go on, what must be seen before the signal)
PHASES = {
    "submitting": ([{"on": "ApplySchema", "nth": 1, "when": "before", "delay_ms": 20000}], [],
                   lambda stage: stage.change()[0] == "submitting" and stage.change()[2] != "0"),
    "submitted": ([HOLD], [UNHOLD], lambda stage: stage.change()[0] == "submitted"),
    "completing": ([BLOCK], [UNBLOCK], lambda stage: stage.change()[0] == "completing"
                   and stage.fleet.done("CompleteSchemaMigration") == {"-80": 1, "80-": 1}),
    "releasing": ([{"on": "CompleteSchemaMigration", "nth": 1, "when": "after", "shards": "-80", "delay_ms": 20000}], [],
                  lambda stage: stage.change()[0] == "completing" and stage.change()[2] != "0"),
}


def take_over(stage, case):
    script, go_on, reached = PHASES[case[0]]
    number = case[1]
    stage.fleet.reload(script)
    daemons = [stage.serve() for _ in range(case[2])]
    client = stage.start("run", "commerce", "--sql", ALTER)
    by_pid = {process.pid: process for process in [*daemons, client]}
    wait_until(lambda: reached(stage), f"{case[0]} is reached", 60)
    pid = wait_until(stage.holder, "somebody holds the lease")
    epoch = int(stage.ask("select epoch from ddl_lock")[0][0])
    send(pid, number)
    began = time.monotonic()
    wait_until(lambda: stage.holder() not in (0, pid), "another takes over", 150)
    taken_s = time.monotonic() - began
    assert int(stage.ask("select epoch from ddl_lock")[0][0]) > epoch
    stage.fleet.reload(go_on)
    wait_until(lambda: stage.change()[0] == "verified", "it is verified", 120)
    if number == signal.SIGSTOP:
        effects = len(stage.fleet.effects())
        by_pid[pid].send_signal(signal.SIGCONT)
        time.sleep(4)
        assert len(stage.fleet.effects()) == effects, "the one that slept sent something"
        assert by_pid[pid].poll() in (None, 0), by_pid[pid].lines
    stage.assert_done_once()
    in_flight = case[0] in ("submitting", "releasing")
    assert taken_s < (LEASE_S if not in_flight else 90) + SLACK_S, taken_s
    if pid != client.pid:
        assert client.wait(60) == 0, client.lines


CASES = {f"{phase} {'kill' if number == signal.SIGKILL else 'stop'} {count}": (phase, number, count)
         for phase in PHASES for number in (signal.SIGKILL, signal.SIGSTOP) for count in (2, 3)}


def test_the_holder_dies_or_sleeps_in_every_phase(sim, vtddl, mysql):
    stages = {name: Stage(sim(scale=10), vtddl(), mysql) for name in CASES}
    try:
        side_by_side(CASES, lambda name, case: take_over(stages[name], case))
    finally:
        for stage in stages.values():
            stage.end()


@pytest.fixture
def stage(sim, vtddl, mysql):
    one = Stage(sim(scale=10), vtddl(), mysql)
    yield one
    one.end()


def test_sigterm_hands_over_at_once(stage):
    stage.fleet.reload([HOLD])
    daemons = {process.pid: process for process in (stage.serve(), stage.serve())}
    assert stage.run("submit", "commerce", "--sql", ALTER).returncode == 0
    pid = wait_until(lambda: stage.holder() in daemons and stage.holder(), "a daemon took the change up", 40)
    began = time.monotonic()
    daemons[pid].send_signal(signal.SIGTERM)
    assert daemons[pid].wait(20) == 0, daemons[pid].lines
    wait_until(lambda: stage.holder() not in (0, pid), "the other takes over", 40)
    assert time.monotonic() - began < LEASE_S / 2, "it waited for the lease to end"
    stage.fleet.reload([UNHOLD])
    uuid = stage.change()[1]
    assert stage.run("complete", "commerce", uuid).returncode == 0
    wait_until(lambda: stage.change()[0] == "verified", "it is verified", 60)
    stage.assert_done_once()


def test_a_store_that_is_away_means_no_effects_and_then_it_goes_on(stage):
    server = MysqlServer().start()
    try:
        stage.mysql = server
        stage.url, stage.secret = server.database()
        stage.fleet.reload([HOLD])
        daemon = stage.serve()
        assert stage.run("submit", "commerce", "--sql", ALTER).returncode == 0
        client = stage.start("complete", "commerce", stage.change()[1])
        wait_until(lambda: stage.ask("select gate from ddl_pipeline") == [["auto"]], "the gate is open")
        wait_until(stage.holder, "somebody holds the lease")
        effects = len(stage.fleet.effects())
        server.kill()
        stage.fleet.reload([UNHOLD])
        time.sleep(12)
        assert len(stage.fleet.effects()) == effects, "an effect without its intent on disk"
        assert daemon.poll() is None and client.poll() is None, (daemon.lines, client.lines)
        server.start()
        wait_until(lambda: stage.change()[0] == "verified", "it is verified", 120)
        stage.assert_done_once()
        assert any(re.search("store", line) for line in daemon.lines), daemon.lines
    finally:
        server.remove()


def test_changes_of_one_keyspace_wait_their_turn(stage):
    """Vitess takes one migration context at a time (--singleton-context) and would refuse the others."""
    stage.fleet.reload([HOLD])
    daemon = stage.serve()
    assert stage.run("submit", "commerce", "--sql", ALTER).returncode == 0
    first = stage.change()[1]
    wait_until(lambda: stage.holder() == daemon.pid, "the daemon took the change up", 40)
    clients = [stage.start("run", "commerce", "--sql", f"create table turn{i} (id bigint primary key)")
               for i in range(4)]
    wait_until(lambda: stage.ask("select count(*) from ddl_pipeline where phase='submitting'") == [["4"]],
               "four more are written down")
    time.sleep(6)
    assert {call["request"]["uuid"] for call in stage.fleet.effects()} == {first}, "one was sent before its turn"
    wait_until(lambda: any("comes first" in line for line in daemon.lines), "it says what they wait for")
    stage.fleet.reload([UNHOLD])
    assert stage.run("complete", "commerce", first).returncode == 0
    for client in clients:
        assert client.wait(150) == 0, client.lines
    assert len(stage.fleet.effects()) == 10, [call["method"] for call in stage.fleet.effects()]
