"""Two processes on one store and one fleet: one drives, the other follows; and takes over when the first is killed."""

import re
import signal

from harness import ALTER, HOLD, UNHOLD, assert_done_once, read_until, stand_still


def test_two_at_once_are_one_change(sim, vtddl):
    fleet = sim(scale=20)
    program = vtddl(fleet)
    runs = [program.start("run", "commerce", "--sql", ALTER) for _ in range(2)]
    outputs = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], outputs
    assert sum("another process drives this keyspace" in err for _, err in outputs) <= 1
    assert len(fleet.journal("ApplySchema")) == 1 and len(fleet.journal("CompleteSchemaMigration")) == 1
    assert_done_once(fleet, program)


def test_a_follower_says_who_drives_and_takes_over_when_it_is_killed(sim, vtddl):
    fleet = sim(script=[HOLD], scale=20)
    program = vtddl(fleet)
    driver = program.start("run", "commerce", "--sql", ALTER)
    read_until(driver, "phase submitted")
    follower = program.start("run", "commerce", "--sql", ALTER)
    said = read_until(follower, "another process drives this keyspace")
    assert re.search(rf":{driver.pid}:", said), "the follower does not name the driver"
    driver.send_signal(signal.SIGKILL)
    assert driver.wait(10) == -9
    fleet.reload([UNHOLD])
    out, err = follower.communicate(timeout=90)
    driver.communicate()
    assert follower.returncode == 0, out + err
    assert len(fleet.journal("ApplySchema")) == 1
    assert_done_once(fleet, program)


def test_a_paused_driver_that_wakes_up_late_does_nothing_twice(sim, vtddl):
    """SIGSTOP keeps the kernel's lock, so nobody takes over; SIGCONT goes on with what the fleet shows then."""
    fleet = sim(script=[HOLD], scale=20)
    program = vtddl(fleet)
    driver = program.start("run", "commerce", "--sql", ALTER)
    read_until(driver, "phase submitted")
    stand_still(driver.pid)
    fleet.reload([UNHOLD])
    follower = program.start("run", "commerce", "--sql", ALTER)
    read_until(follower, "another process drives this keyspace")
    assert fleet.journal("CompleteSchemaMigration") == []
    driver.send_signal(signal.SIGCONT)
    assert driver.communicate(timeout=60) is not None and follower.communicate(timeout=60) is not None
    assert (driver.returncode, follower.returncode) == (0, 0)
    assert_done_once(fleet, program)


def test_two_stores_are_still_one_change(sim, vtddl):
    """Two runners without a common store have no lease between them, but the names are the same: the fleet has the
    change once. The one that finds it released by somebody else may stop (exit 6), and `verify` then proves it."""
    fleet = sim(scale=20)
    program = vtddl(fleet)
    urls = [f"sqlite:{program.home}/{name}.db" for name in ("one", "two")]
    runs = [program.start("run", "commerce", "--sql", ALTER, "--store", url) for url in urls]
    outputs = [run.communicate(timeout=90) for run in runs]
    codes = [run.returncode for run in runs]
    assert 0 in codes and set(codes) <= {0, 6}, outputs
    uuids = {call["request"]["uuid"] for call in fleet.effects()}
    assert len(uuids) == 1
    assert fleet.done("ApplySchema") == fleet.done("CompleteSchemaMigration") == {"-80": 1, "80-": 1}
    for url in urls:
        got = program.run("verify", "commerce", *uuids, "--store", url)
        assert got.returncode == 0, got.stdout + got.stderr


def test_another_change_on_the_same_table_waits_for_its_turn(sim, vtddl):
    fleet = sim(script=[HOLD], scale=20)
    program = vtddl(fleet)
    first = program.start("run", "commerce", "--sql", ALTER)
    read_until(first, "phase submitted")
    second = program.start("run", "commerce", "--sql", "alter table orders add column other int")
    read_until(second, "another process drives this keyspace")
    assert len(fleet.journal("ApplySchema")) == 1
    fleet.reload([UNHOLD])
    outputs = [run.communicate(timeout=60) for run in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], outputs
    calls = fleet.effects()
    assert [call["method"] for call in calls] == ["ApplySchema", "CompleteSchemaMigration"] * 2
    assert calls[0]["request"]["uuid"] == calls[1]["request"]["uuid"] != calls[2]["request"]["uuid"]


def test_another_change_on_a_table_whose_change_nobody_drives_is_exit_5(sim, vtddl):
    fleet = sim(script=[HOLD], scale=20)
    program = vtddl(fleet)
    assert program.run("submit", "commerce", "--sql", ALTER).returncode == 0
    got = program.run("run", "commerce", "--sql", "alter table orders add column other int")
    assert got.returncode == 5, got.stdout + got.stderr
    assert len(fleet.effects()) == 1
