"""Every command explains itself, on standard output, and a wrong word is answered with what was possible."""

import pytest

import generate_docs

COMMANDS = list(generate_docs.commands())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_both_forms_of_help_are_the_same_and_go_to_standard_output(vtddl, words):
    by_command, by_option = vtddl.run("help", *words), vtddl.run(*words, "--help")
    assert (by_option.returncode, by_option.stderr) == (0, "")
    assert by_option.stdout == by_command.stdout
    assert by_option.stdout.startswith("vtddl " + " ".join(words) + ": ")
    assert "usage: vtddl " + " ".join(words) in by_option.stdout


def test_help_does_not_need_a_good_configuration(vtddl):
    assert vtddl.run("run", "--help", env={"VTDDL_NONSENSE": "1"}).returncode == 0
    assert vtddl.run("version", env={"VTDDL_NONSENSE": "1"}).returncode == 0


@pytest.mark.parametrize("words, said", [(["nosuch"], '`vtddl` has no command "nosuch"'),
                                         (["run", "nosuch"], '`vtddl` has no command "nosuch"'),
                                         (["config", "nosuch"], '`vtddl config` has no command "nosuch"')])
def test_help_about_what_there_is_not_says_what_there_is(vtddl, words, said):
    got = vtddl.run("help", *words)
    assert (got.returncode, got.stdout) == (64, "") and said in got.stderr and "\n  show " in got.stderr


def test_no_command_prints_the_help_on_standard_error_and_is_a_usage_error(vtddl):
    got = vtddl.run()
    assert (got.returncode, got.stdout) == (64, "")
    assert "commands:" in got.stderr


def test_a_wrong_command_names_the_nearest_one_and_lists_all(vtddl):
    got = vtddl.run("verfy", "ks")
    assert (got.returncode, got.stdout) == (64, "")
    assert "did you mean verify?" in got.stderr.splitlines()[0]
    for words in COMMANDS:
        if len(words) == 1:
            assert "\n  " + words[0] + " " in got.stderr


def test_a_word_that_is_near_to_nothing_is_not_guessed(vtddl):
    got = vtddl.run("xyzzy")
    assert got.returncode == 64
    assert "did you mean" not in got.stderr


def test_a_wrong_sub_command_lists_those_of_its_level(vtddl):
    got = vtddl.run("config", "shwo")
    assert got.returncode == 64
    assert "did you mean show?" in got.stderr and "submit" not in got.stderr


def test_a_wrong_option_names_the_nearest_one(vtddl):
    got = vtddl.run("run", "ks", "--deadlin", "5m")
    assert (got.returncode, got.stdout) == (64, "")
    assert got.stderr == "vtddl: there is no option --deadlin; did you mean --deadline?\n"


def test_an_option_of_another_command_says_whose_it_is(vtddl):
    got = vtddl.run("cancel", "ks", "--probe", "select 1", "--sql", "drop table t")
    assert got.returncode == 64
    assert "--probe is not an option of `vtddl cancel`" in got.stderr and "run" in got.stderr


def test_version_names_the_libraries(vtddl):
    for words in (["version"], ["--version"]):
        got = vtddl.run(*words)
        assert (got.returncode, got.stderr) == (0, "")
        assert "grpc core" in got.stdout and "sqlite" in got.stdout
