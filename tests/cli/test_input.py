"""Bad input: the exit code, one sentence on standard error, nothing on standard output, nothing sent.

Nothing listens at the address, so a case that got as far as vtctld would end with 69 and fail here.
"""

import os
import pty
import subprocess

import pytest

UUID = "9748c3b7_7fdb_81eb_8c2c_f875a4d24e90"
NOWHERE = ["--server", "127.0.0.1:1"]
GOOD = "alter table t add column c int"


def refused(got, code, says=""):
    assert (got.returncode, got.stdout) == (code, ""), got.stderr
    assert got.stderr.startswith("vtddl: ") and got.stderr.count("\n") == 1 and got.stderr.endswith("\n")
    assert says in got.stderr


@pytest.mark.parametrize("words, code, says", [
    (["run"], 64, "needs more words: vtddl run KEYSPACE"),
    (["run", "ks", "x", "--sql", GOOD], 64, 'no use for the word "x"'),
    (["run", "all", "--sql", GOOD], 64, "one keyspace"),
    (["run", "k;s", "--sql", GOOD], 64, "not a keyspace's name"),
    (["run", "ks", "--sql", ""], 65, "--sql is empty"),
    (["run", "ks", "--sql", " \n\t "], 65, "--sql is empty"),
    (["run", "ks", "--sql", "truncate table t"], 65, ""),
    (["run", "ks", "--sql", "select 1"], 65, ""),
    (["run", "ks", "--sql", GOOD + "; " + GOOD], 65, ""),
    (["run", "ks", "--sql", "alter table t add column c varchar('"], 65, ""),
    (["run", "ks", "--sql", GOOD, "--sql-file", "x"], 64, "exclude each other"),
    (["run", "ks", "--sql-file", "missing.sql"], 65, "missing.sql"),
    (["run", "ks", "--sql-file", "."], 65, "directory"),
    (["run", "ks"], 65, "standard input is empty"),
    (["run", "ks", "--sql-file", "-"], 65, "standard input is empty"),
    (["run", "ks", "--sql", "alter table t comment '" + "x" * 49152 + "'"], 65, "49152"),
    (["run", "ks", "--sql", GOOD, "--probe", "select 1"], 64, "--vtgate"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "delete from t"], 65, "SELECT"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "select 1; select 2"], 65, "one statement"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "select 1 into outfile '/x'"], 65, "into"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "select /*! 1 */ 2"], 65, "comments"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", " \t"], 65, "a probe is empty"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "(select 1)"], 65, "must begin with SELECT"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "select 'it\\'"], 65, "quote that is not closed"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "select `a``"], 65, "quote that is not closed"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "select 1 -- x"], 65, "comments"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "select Sleep(9)"], 65, "sleep"),
    (["run", "ks", "--sql", GOOD, "--vtgate", "h:1", "--probe", "select '" + "x" * 16384 + "'"], 65, "16384"),
    (["complete", "ks"], 64, "needs a uuid"),
    (["cancel", "ks"], 64, "needs a uuid"),
    (["cancel", "ks", "all"], 64, 'refuses "all"'),
    (["cancel", "ks", "ALL"], 64, 'refuses "all"'),
    (["complete", "ks", "all"], 64, 'refuses "all"'),
    (["complete", "ks", UUID, "--sql", GOOD], 64, "exclude each other"),
    (["complete", "ks", "x' or '1"], 64, "neither a uuid"),
    (["wait", "ks", UUID, "--for", "done"], 64, "must be one of"),
    (["show", "k s"], 64, "not a keyspace's name"),
    (["show", "ks", "x y"], 64, "neither a uuid"),
    (["doctor", "k'"], 64, "not a keyspace's name"),
    (["run", "ks", "--sql", GOOD, "--store", "sqlite:/nonexistent/x.db"], 74, "/nonexistent/x.db"),
    (["run", "ks", "--sql", GOOD, "--vtctld-grpc-ca", "/nonexistent/ca.pem"], 78, "/nonexistent/ca.pem"),
])
def test_it_is_refused(vtddl, words, code, says):
    refused(vtddl.run(*words, *NOWHERE), code, says)


@pytest.mark.parametrize("probe", [
    "select ';', '-- no comment', \"it''s /* none */\", `into` from t;", "SELECT 'it\\'s', 'a''b', `a``b`", "\n select 1 ; \n",
    "select updated_at, into_x from t"])
def test_what_is_quoted_in_a_probe_is_no_word_of_it(vtddl, probe):
    """It is taken, so what fails is the next step: nobody listens."""
    got = vtddl.run("run", "ks", "--sql", GOOD, "--vtgate", "127.0.0.1:1", "--probe", probe, *NOWHERE)
    assert got.returncode == 69, got.stderr


def test_a_file_with_a_nul_byte_is_refused(vtddl, tmp_path):
    (tmp_path / "nul.sql").write_bytes(GOOD.encode() + b"\0 -- more")
    refused(vtddl.run("run", "ks", "--sql-file", "nul.sql", *NOWHERE), 65, "NUL")


def test_a_file_that_is_too_long_is_refused(vtddl, tmp_path):
    (tmp_path / "long.sql").write_text(GOOD + " " * 49152)
    refused(vtddl.run("run", "ks", "--sql-file", "long.sql", *NOWHERE), 65, "49152")


def test_latin_1_is_refused(vtddl, tmp_path):
    (tmp_path / "latin.sql").write_bytes("alter table t comment 'ä'".encode("latin-1"))
    refused(vtddl.run("run", "ks", "--sql-file", "latin.sql", *NOWHERE), 65)


def test_a_terminal_is_not_waited_for(vtddl):
    master, slave = pty.openpty()
    try:
        refused(vtddl.run("run", "ks", *NOWHERE, stdin=slave, timeout=10), 64, "no statement was given")
    finally:
        os.close(master)
        os.close(slave)


def test_escapes_in_a_word_do_not_reach_the_terminal(vtddl):
    for words in ["\033[2Jx"], ["run", "ks", "\033[2J"], ["--\033[2J"], ["show", "\033]0;x\007"]:
        got = vtddl.run(*words)
        assert got.returncode == 64
        assert "\033" not in got.stderr + got.stdout


def test_with_json_an_error_is_also_an_object(vtddl):
    import json
    got = vtddl.run("run", "ks", "--sql", "", "--json", *NOWHERE)
    assert got.returncode == 65
    found = json.loads(got.stdout)
    assert (found["schema_version"], found["kind"], found["exit_code"]) == (1, "error", 65)
    assert "empty" in found["reasons"][0]["text"]


def test_standard_streams_that_are_closed_do_no_harm(vtddl):
    from conftest import BUILD
    got = subprocess.run(["sh", "-c", f"'{BUILD}/vtddl' config show >&- 2>&- <&-"], env=vtddl.env, check=False)
    assert got.returncode == 0


def test_a_reader_that_went_away_is_no_error(vtddl):
    from conftest import BUILD
    got = subprocess.run(["bash", "-c", f"'{BUILD}/vtddl' rules --format json | true; echo ${{PIPESTATUS[0]}}"],
                         env=vtddl.env, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    assert got.stdout == "0\n"


def test_a_full_disk_is_an_error(vtddl):
    with open("/dev/full", "w", encoding="utf-8") as full:
        from conftest import BUILD
        got = subprocess.run([str(BUILD / "vtddl"), "rules"], env=vtddl.env, stdout=full, stderr=subprocess.PIPE,
                             encoding="utf-8", check=False)
    assert got.returncode == 74
    assert "standard output" in got.stderr
