"""Statements and names that a build, a person or an attacker may give: refused with one sentence, nothing is sent."""

import os

import pytest

from harness import ALTER, one_sentence


def refused(program, fleet, got, codes=(64, 65)):
    assert got.returncode in codes, (got.returncode, got.stdout, got.stderr)
    said = one_sentence(got, got.returncode)
    assert said.isprintable(), "control characters reach the terminal"
    assert fleet.journal() == [], "the fleet was asked"
    return said


@pytest.mark.parametrize("keyspace", ["", "all", "ALL", "../etc", "a/b", "a b", "a'b", "a`b", "a;drop", "*", "%",
                                      "x" * 65, "k\u00e4se", "a\nb", "\x1b[2J", "commerce\u202e"])
def test_a_keyspace_that_is_no_name(program, fleet, keyspace):
    refused(program, fleet, program.run("run", keyspace, "--sql", ALTER))


@pytest.mark.parametrize("uuid", ["all", "All", "ALL", "*", "9748c3b7-7fdb-11eb-ac2c-f875a4d24e90", "' or '1'='1",
                                  "9748C3B7_7FDB_11EB_AC2C_F875A4D24E90", "9748c3b7_7fdb_11eb_ac2c_f875a4d24e9;",
                                  "\x1b]0;x\x07", "a" * 200])
@pytest.mark.parametrize("command", ["complete", "cancel"])
def test_a_uuid_that_is_none(program, fleet, command, uuid):
    refused(program, fleet, program.run(command, "commerce", uuid))


STATEMENTS = {
    "two": "alter table a add column x int; drop table b",
    "two on two lines": "alter table a add column x int;\ndrop table b;",
    "hidden in a comment": "/*! drop table b */ alter table a add column x int",
    "no ddl": "select 1",
    "delete": "delete from orders",
    "control verb": "alter vitess_migration complete all",
    "control verb in capitals": "ALTER VITESS_MIGRATION CANCEL ALL",
    "other database": "alter table mysql.user add column x int",
    "unclosed quote": "alter table orders add column x varchar(9) default 'abc",
    "unclosed comment": "alter table orders add column x int /* and",
    "only a comment": "-- nothing\n/* at all */",
    "semicolons": ";;;",
    "blank": " \t\n ",
    "empty": "",
    "no utf-8": b"alter table orders add column x\xff int",
    "terminal": "alter table orders add \x1b[2J column x int",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_that_is_not_one_change_of_one_table(program, fleet, name):
    path = program.home / "statement.sql"
    text = STATEMENTS[name]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(program, fleet, program.run("run", "commerce", "--sql-file", path))


def test_a_statement_of_70_kib_is_refused_by_file_and_by_pipe(program, fleet):
    text = "alter table orders add column x varchar(9) comment '" + "y" * (70 << 10) + "'"
    path = program.home / "long.sql"
    path.write_text(text, encoding="ascii")
    assert "49152" in refused(program, fleet, program.run("run", "commerce", "--sql-file", path))
    assert "49152" in refused(program, fleet, program.run("run", "commerce", "--sql-file", "-", text=text))
    assert "49152" in refused(program, fleet, program.run("run", "commerce", "--sql", text))


def test_nul_bytes_are_refused(program, fleet):
    path = program.home / "nul.sql"
    path.write_bytes(b"alter table orders add column x int\0; drop table orders")
    assert "NUL" in refused(program, fleet, program.run("run", "commerce", "--sql-file", path))


def test_files_that_are_none(program, fleet):
    (program.home / "folder").mkdir()
    (program.home / "missing.sql").unlink(missing_ok=True)
    for path in (program.home / "folder", program.home / "missing.sql", "/dev/null", ""):
        refused(program, fleet, program.run("run", "commerce", "--sql-file", path))


def test_an_endless_file_is_not_read_to_its_end(program, fleet):
    refused(program, fleet, program.run("run", "commerce", "--sql-file", "/dev/zero", timeout=60))


def test_a_pipe_nobody_writes_to_can_be_interrupted(program, fleet):
    path = program.home / "pipe"
    os.mkfifo(path)
    run = program.start("run", "commerce", "--sql-file", str(path))
    try:
        run.wait(1)
        raise AssertionError("a pipe without a writer is waited for")
    except Exception as error:  # pylint: disable=broad-except
        assert "timed out" in str(error)
    run.terminate()
    run.communicate(timeout=10)
    assert run.returncode == -15 and fleet.journal() == []


def test_names_that_need_quotes_go_through_whole(program, fleet, sim):
    schema = program.home / "schema.sql"
    schema.write_text("create table `or-der ``s` (id bigint primary key)", encoding="ascii")
    fleet = sim("--schema", str(schema), scale=20)
    program.server = fleet.address
    got = program.run("run", "commerce", "--sql", "alter table `or-der ``s` add column `a b` int")
    assert got.returncode in (0, 65), got.stdout + got.stderr
    if got.returncode == 0:
        assert fleet.done("CompleteSchemaMigration") == {"-80": 1, "80-": 1}
    else:
        assert fleet.effects() == []
