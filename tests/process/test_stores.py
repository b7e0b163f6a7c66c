"""A store that cannot be used: exit 74, one sentence that names the file, and nothing is sent to the fleet."""

import contextlib
import os
import resource
import sqlite3
import subprocess

import pytest

from harness import ALTER, CREATE, HOLD, UNHOLD, assert_done_once, one_sentence, wait_until
from own_clock import compiled


def nothing_sent(program, fleet, *words, code=74, **more):
    said = one_sentence(program.run("run", "commerce", "--sql", ALTER, *words, **more), code)
    assert fleet.effects() == []
    return said


def database(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as one:
        for statement in statements:
            one.execute(statement)
        one.commit()


@contextlib.contextmanager
def tmpfs(folder, options):
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], stderr=subprocess.PIPE,
                          check=False)
    if made.returncode:
        pytest.skip("this user may not mount a tmpfs: " + made.stderr.decode().strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(disk):
    """Writes until the disk is full; gives the file to delete."""
    path = disk / "filler"
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    with contextlib.suppress(OSError):
        while True:
            os.write(fd, b"x" * 4096)
    os.close(fd)
    return path


@pytest.mark.parametrize("content", [b"this is text, no database\n" * 40, b"\0" * 8192, os.urandom(8192)],
                         ids=["text", "zeros", "noise"])
def test_a_file_that_is_no_database_is_left_alone(program, fleet, content):
    program.store.write_bytes(content)
    assert str(program.store) in nothing_sent(program, fleet)
    assert program.store.read_bytes() == content


def test_a_database_of_another_program_is_left_alone(program, fleet):
    database(program.store, "create table diary (day text)", "insert into diary values ('monday')")
    before = program.store.read_bytes()
    assert "another program" in nothing_sent(program, fleet)
    assert program.store.read_bytes() == before


def test_a_store_of_a_newer_version_is_left_alone(program, fleet):
    assert program.run("submit", "commerce", "--sql", CREATE).returncode == 0
    count = len(fleet.effects())
    database(program.store, "pragma user_version = 99")
    before = program.store.read_bytes()
    got = program.run("run", "commerce", "--sql", ALTER)
    assert "newer vtddl" in one_sentence(got, 74)
    assert len(fleet.effects()) == count and program.store.read_bytes() == before


def test_a_damaged_store_is_found_before_anything_is_sent(program, fleet):
    assert program.run("submit", "commerce", "--sql", CREATE).returncode == 0
    count, size = len(fleet.effects()), program.store.stat().st_size
    with open(program.store, "r+b") as file:
        for page in range(1, size // 4096):
            file.seek(page * 4096 + 8)
            file.write(b"\xff" * 64)
    said = one_sentence(program.run("run", "commerce", "--sql", ALTER), 74)
    assert str(program.store) in said and "damaged" in said, said
    assert len(fleet.effects()) == count


def test_a_store_that_lost_a_trigger_is_refused(program, fleet):
    assert program.run("submit", "commerce", "--sql", CREATE).returncode == 0
    count = len(fleet.effects())
    database(program.store, "drop trigger ddl_pipeline_no_return")
    one_sentence(program.run("run", "commerce", "--sql", ALTER), 74)
    assert len(fleet.effects()) == count


def test_a_store_that_many_make_at_once_is_one_store(program):
    uuid = "9748c3b7_7fdb_81eb_8c2c_f875a4d24e90"
    for round_ in range(12):
        program.store = program.home / f"many{round_}.db"
        runs = [program.start("complete", "commerce", uuid) for _ in range(6)]
        for run in runs:
            _, err = run.communicate(timeout=60)
            assert "no change " + uuid in err, err


def test_a_folder_a_link_and_a_missing_folder_are_no_store(program, fleet):
    (program.home / "folder").mkdir()
    (program.home / "link").symlink_to(program.home / "elsewhere")
    for name in ("folder", "link", "missing/store.db"):
        path = program.home / name
        assert str(path.parent) in nothing_sent(program, fleet, "--store", f"sqlite:{path}")
    assert not (program.home / "elsewhere").exists()


def test_a_file_and_a_folder_without_rights(program, fleet):
    if os.geteuid() == 0:
        pytest.skip("root may read and write everything; the read-only disk stands for it")
    program.store.touch(mode=0o000)
    nothing_sent(program, fleet)
    program.store.unlink()
    program.home.chmod(0o500)
    nothing_sent(program, fleet)
    program.home.chmod(0o700)


def test_a_read_only_disk_is_exit_74(program, fleet):
    with tmpfs(program.home / "disk", "size=4m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert str(disk) in nothing_sent(program, fleet, "--store", f"sqlite:{disk}/store.db")


def test_a_store_on_a_disk_that_became_read_only_is_exit_74(program, fleet):
    with tmpfs(program.home / "disk", "size=4m") as disk:
        url = f"sqlite:{disk}/store.db"
        assert program.run("submit", "commerce", "--sql", CREATE, "--store", url).returncode == 0
        count = len(fleet.effects())
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        one_sentence(program.run("run", "commerce", "--sql", ALTER, "--store", url), 74)
        assert len(fleet.effects()) == count
        shown = program.run("show", "--store", url)
        assert shown.returncode == 0 and "notes" in shown.stdout, "reading needs no writable disk"


def test_a_full_disk_is_exit_74_and_the_same_command_goes_on_once_there_is_room(program, fleet):
    with tmpfs(program.home / "disk", "size=256k") as disk:
        url = f"sqlite:{disk}/store.db"
        assert program.run("show", "commerce", "--store", url).returncode == 0
        filler = fill(disk)
        nothing_sent(program, fleet, "--store", url)
        filler.unlink()
        assert program.run("run", "commerce", "--sql", ALTER, "--store", url).returncode == 0
        assert fleet.done("ApplySchema") == {"-80": 1, "80-": 1}


def test_a_disk_that_fills_up_before_the_release_releases_nothing(program, sim):
    fleet = sim(script=[HOLD], scale=20)
    program.server = fleet.address
    with tmpfs(program.home / "disk", "size=512k") as disk:
        url = f"sqlite:{disk}/store.db"
        assert program.run("submit", "commerce", "--sql", ALTER, "--store", url).returncode == 0
        filler = fill(disk)
        fleet.reload([UNHOLD])
        got = program.run("run", "commerce", "--sql", ALTER, "--store", url)
        assert got.returncode == 74, got.stdout + got.stderr
        assert fleet.journal("CompleteSchemaMigration") == []
        filler.unlink()
        assert program.run("run", "commerce", "--sql", ALTER, "--store", url).returncode == 0
        program.store = disk / "store.db"
        assert_done_once(fleet, program)


def test_a_daemon_whose_disk_cannot_confirm_a_write_ends_and_the_next_goes_on(program, sim, daemon, beside, tmp_path):
    """After a failed fsync the kernel forgets the pages: what this process reads may never have reached the disk."""
    fleet = sim(script=[HOLD], scale=20)
    program.server = fleet.address
    trouble = tmp_path / "trouble"
    serve = daemon(program, env={"FAIL_SYNC": str(trouble),
                                 "LD_PRELOAD": str(compiled("fail_sync.c", "-shared", "-fPIC"))})
    assert program.run("submit", "commerce", "--sql", ALTER).returncode == 0
    complete = beside(program, "complete", "commerce", wait_until(serve.changes, "it has the change")[0]["uuid"])
    wait_until(lambda: serve.changes()[0]["gate"] == "auto", "the gate is open")
    complete.kill()
    trouble.touch()
    fleet.reload([UNHOLD])
    assert serve.process.wait(60) == 74
    said = serve.log_file.read_text(encoding="utf-8")
    assert f"the disk of the store {program.store}" in said.replace("sqlite:", "") and "start vtddl serve again" in said
    assert fleet.journal("CompleteSchemaMigration") == []
    trouble.unlink()
    serve.start()
    wait_until(lambda: serve.log("change moved", phase="verified"), "it is verified")
    assert_done_once(fleet, program)


def test_a_limit_on_file_sizes_is_exit_74(program, fleet):
    """`ulimit -f` of a build host: the write fails, and SIGXFSZ does not kill."""
    nothing_sent(program, fleet, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))


def test_no_home_and_no_store_is_exit_78(program, fleet):
    del program.env["HOME"]
    words = program.words("run", "commerce", "--sql", ALTER)
    words = [word for word in words if word != "--store" and not word.startswith("sqlite:")]
    got = subprocess.run(words, env=program.env, cwd=program.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, encoding="utf-8", timeout=30, check=False)
    assert "--store" in one_sentence(got, 78)
    assert fleet.journal() == []


def test_without_a_home_everything_works_where_the_store_is_named(program, fleet):
    del program.env["HOME"]
    got = program.run("run", "commerce", "--sql", ALTER)
    assert got.returncode == 0, got.stderr
    assert_done_once(fleet, program)
