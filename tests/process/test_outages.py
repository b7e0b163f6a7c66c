"""A vtctld that is not there, goes away, or stops answering."""

import re
import signal
import socket
import time

from harness import ALTER, HOLD, UNHOLD, assert_done_once, one_sentence, read_until, stand_still, wait_until


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_nobody_listening_is_exit_69_at_once(vtddl):
    program = vtddl(f"127.0.0.1:{free_port()}")
    for words in (["run", "commerce", "--sql", ALTER], ["show", "commerce"]):
        began = time.monotonic()
        said = one_sentence(program.run(*words, "--read-timeout", "60s"), 69)
        assert time.monotonic() - began < 30, "it waited as for an answer"
        assert program.server in said and "refused" in said, said


def test_a_host_without_an_address_is_exit_69(vtddl):
    said = one_sentence(vtddl("nowhere.invalid:15999").run("show", "commerce", "--read-timeout", "3s"), 69)
    assert "nowhere.invalid" in said


def test_a_listener_that_is_no_vtctld_is_no_endless_wait(vtddl):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        program = vtddl(f"127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        got = program.run("show", "commerce", "--read-timeout", "2s")
        assert got.returncode == 69 and time.monotonic() - began < 30, got.stderr


def test_a_vtctld_that_stops_answering_for_a_while_costs_only_time(sim, vtddl):
    fleet = sim(script=[HOLD], scale=10)
    program = vtddl(fleet)
    run = program.start("run", "commerce", "--sql", ALTER, "--read-timeout", "1s")
    read_until(run, "phase submitted")
    stand_still(fleet.process.pid)
    read_until(run, r"shard \S+ unknown")
    time.sleep(2)
    assert run.poll() is None
    fleet.process.send_signal(signal.SIGCONT)
    fleet.reload([UNHOLD])
    out, err = run.communicate(timeout=90)
    assert run.returncode == 0, out + err
    assert_done_once(fleet, program)


def test_a_vtctld_that_is_killed_is_waited_for_and_named(sim, vtddl):
    fleet = sim(script=[HOLD], scale=10)
    program = vtddl(fleet)
    run = program.start("run", "commerce", "--sql", ALTER, "--read-timeout", "1s")
    read_until(run, "phase submitted")
    fleet.stop(signal.SIGKILL)
    said = read_until(run, r"waiting.*connection refused")
    time.sleep(3)
    assert run.poll() is None, "it must wait, not give up: the change is in the fleet"
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130 and "keeps running in the fleet" in err, said + err


def test_a_vtctld_that_is_restarted_is_found_again(sim, vtddl):
    """The simulated fleet forgets everything with its process, so all that counts here is that it is asked again."""
    fleet = sim(script=[HOLD], scale=10)
    program = vtddl(fleet)
    run = program.start("run", "commerce", "--sql", ALTER, "--read-timeout", "1s")
    read_until(run, "phase submitted")
    fleet.stop(signal.SIGKILL)
    read_until(run, "unknown")
    before = len(fleet.journal())
    fleet.start()
    wait_until(lambda: len(fleet.journal()) > before, "the new process is asked")
    run.send_signal(signal.SIGTERM)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 143, err
    assert re.search(r"to go on: vtddl run", err)


def test_a_refused_effect_is_told_at_once_and_not_only_after_many(sim, vtddl):
    """Between a refusal and the next try the reason changes all the time: none stands long enough to be told."""
    shards = ("-80", "80-")
    fleet = sim(script=[{"do": "submit_foreign", "ddl": "alter table orders add column other int", "at_ms": 0,
                         "context": "somebody", "uuid": "aaaaaaaa_0000_11ee_8000_000000000001"},
                        *({"do": "hold_copy", "shard": shard, "at_ms": 0} for shard in shards)])
    program = vtddl(fleet)
    run = program.start("run", "commerce", "--sql", ALTER)
    read_until(run, "waiting .*found pending migration.*aaaaaaaa_0000_11ee_8000_000000000001")
    assert len(fleet.journal("ApplySchema")) <= 2
    fleet.reload([{"do": "cancel", "uuid": "aaaaaaaa_0000_11ee_8000_000000000001", "shard": shard, "at_ms": 0}
                  for shard in shards] +
                 [{"do": "hold_copy", "shard": shard, "held": False, "at_ms": 0} for shard in shards])
    out, err = run.communicate(timeout=90)
    assert run.returncode == 0, out + err
