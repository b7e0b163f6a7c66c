"""Odd standard streams: a reader that goes away, a full or closed output, nothing on standard input."""

import subprocess

import pytest

from harness import ALTER, assert_done_once, one_sentence


def test_a_reader_that_goes_away_does_not_stop_the_change(program, fleet):
    words = program.words("run", "commerce", "--sql", ALTER)
    with subprocess.Popen(words, env=program.env, cwd=program.home, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        run.stdout.close()
        err = run.stderr.read().decode()
        assert run.wait(60) in (0, 74), err
    assert_done_once(fleet, program)


@pytest.mark.parametrize("line", [["rules"], ["help", "run"], ["show", "commerce", "--json"], ["config", "show"]])
def test_head_is_no_crash(program, line):
    words = program.words(*line)
    got = subprocess.run(["bash", "-c", '"$@" | head -c1; exit ${PIPESTATUS[0]}', "bash", *words], env=program.env,
                         cwd=program.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         encoding="utf-8", timeout=30, check=False)
    assert got.returncode in (0, 74), (got.returncode, got.stderr)
    assert len(got.stdout) == 1


def test_a_full_output_is_exit_74(program):
    with open("/dev/full", "w", encoding="ascii") as full:
        got = program.run("rules", stdout=full)
    assert got.returncode == 74 and got.stderr.count("\n") == 1, got.stderr


def test_closed_streams_do_not_mix_with_the_store(program, fleet):
    """Without descriptors 0 to 2 the store's file would get one of them, and be written into by printf."""
    got = subprocess.run(["bash", "-c", '"$@" <&- >&- 2>&-', "bash", *program.words("run", "commerce", "--sql", ALTER)],
                         env=program.env, cwd=program.home, timeout=60, check=False)
    assert got.returncode in (0, 74)
    assert_done_once(fleet, program)


def test_an_empty_standard_input_is_an_empty_statement(program, fleet):
    said = one_sentence(program.run("run", "commerce"), 65)
    assert "standard input" in said and fleet.journal() == []


def test_a_statement_by_pipe_is_taken_whole(program, fleet):
    got = program.run("run", "commerce", text=ALTER + ";\n")
    assert got.returncode == 0, got.stderr
    assert_done_once(fleet, program)


def test_output_and_log_do_not_mix(program):
    got = program.run("run", "commerce", "--sql", ALTER, "--json")
    assert got.stdout.startswith("{") and got.stdout.rstrip().endswith("}")
    assert "phase submitted" in got.stderr and "phase submitted" not in got.stdout
