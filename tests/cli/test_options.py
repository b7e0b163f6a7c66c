"""Flag > environment > file > default; every value is checked where it is set."""

import json

import pytest


def setting(got, name):
    assert got.returncode == 0, got.stderr
    return next(s for s in json.loads(got.stdout)["settings"] if s["name"] == name)


@pytest.fixture
def conf(tmp_path):
    def write(text, name="vtddl.conf"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
    return write


def test_the_default_says_that_it_is_one(vtddl):
    assert setting(vtddl.run("config", "show", "--json"), "server") == {
        "name": "server", "value": "localhost:15999", "source": "default", "reloadable": False}


def test_a_flag_wins_over_the_environment_and_that_over_the_file(vtddl, conf):
    path = conf("server = file:1\n")
    env = {"VTDDL_SERVER": "env:2"}
    words = ["config", "show", "--json", "--config", path]
    assert setting(vtddl.run(*words), "server")["value"] == "file:1"
    assert setting(vtddl.run(*words), "server")["source"] == f"{path}:1"
    assert setting(vtddl.run(*words, env=env), "server")["value"] == "env:2"
    assert setting(vtddl.run(*words, env=env), "server")["source"] == "VTDDL_SERVER"
    got = setting(vtddl.run(*words, "--server", "flag:3", env=env), "server")
    assert (got["value"], got["source"]) == ("flag:3", "--server")


def test_the_users_file_is_found_and_a_given_file_replaces_it(vtddl, conf):
    conf("server = home:1\n", ".config/vtddl/vtddl.conf")
    xdg = conf("server = xdg:1\n", "xdg/vtddl/vtddl.conf")
    given = conf("cluster = prod\n", "given.conf")
    assert setting(vtddl.run("config", "show", "--json"), "server")["value"] == "home:1"
    env = {"XDG_CONFIG_HOME": str(xdg.parents[1])}
    assert setting(vtddl.run("config", "show", "--json", env=env), "server")["value"] == "xdg:1"
    for words, env in (["--config", given], {}), ([], {"VTDDL_CONFIG": str(given)}):
        got = vtddl.run("config", "show", "--json", *words, env=env)
        assert setting(got, "server")["value"] == "localhost:15999"
        assert setting(got, "cluster")["value"] == "prod"


def test_a_list_is_replaced_by_a_higher_source_not_lengthened(vtddl, conf):
    path = conf("probe = select 1\nprobe = select 2\n")
    words = ["config", "show", "--json", "--config", path]
    assert setting(vtddl.run(*words), "probe")["value"] == ["select 1", "select 2"]
    got = vtddl.run(*words, "--probe", "select 3", "--probe", "select 4")
    assert setting(got, "probe")["value"] == ["select 3", "select 4"]


@pytest.mark.parametrize("word", ["--read_timeout=7s", "--read-timeout=7s"])
def test_dashes_and_underscores_are_the_same(vtddl, word):
    assert setting(vtddl.run("config", word, "show", "--json"), "read-timeout")["value"] == "7s"


def test_an_empty_variable_is_not_set(vtddl):
    assert setting(vtddl.run("config", "show", "--json", env={"VTDDL_SERVER": ""}), "server")["source"] == "default"


def test_variables_that_kubernetes_sets_for_a_service_of_our_name_are_not_ours(vtddl):
    env = {"VTDDL_SERVICE_HOST": "10.0.0.1", "VTDDL_PORT": "tcp://10.0.0.1:80", "VTDDL_PORT_80_TCP_ADDR": "10.0.0.1"}
    assert vtddl.run("config", "show", env=env).returncode == 0


@pytest.mark.parametrize("name, says", [
    ("VTDDL_SERVR", "did you mean server?"),
    ("VTDDL_AGAIN", "only be given on the command line"),
    ("VTDDL_SQL", "only be given on the command line"),
    ("VTDDL_XYZZY", "no setting"),
])
def test_an_unknown_variable_is_a_configuration_error(vtddl, name, says):
    got = vtddl.run("config", "show", env={name: "true"})
    assert (got.returncode, got.stdout) == (78, "")
    assert name in got.stderr and says in got.stderr


@pytest.mark.parametrize("text, says", [
    ("servr = a:1\n", ":1: there is no setting servr; did you mean server?"),
    ("\nagain = true\n", ":2: again can only be given on the command line"),
    ("server = a:1\nserver = b:2\n", ":2: server is set twice"),
    ("[vtddl]\nserver = a:1\n", "no sections"),
    ("server\n", ":1 is neither"),
    ("deadline = 6\n", "deadline, in "),
    ("deadline = 6\n", ":1 must be a duration"),
    ("probe = select " + "1" * 300 + "\n", ":1 is longer than"),
])
def test_a_bad_file_is_refused_with_its_line(vtddl, conf, text, says):
    got = vtddl.run("config", "show", "--config", conf(text))
    assert (got.returncode, got.stdout) == (78, "")
    assert says in got.stderr


def test_a_given_file_must_exist_and_be_a_file(vtddl, tmp_path):
    for path in tmp_path / "none", tmp_path:
        got = vtddl.run("config", "show", "--config", path)
        assert (got.returncode, got.stdout) == (78, ""), path
        assert str(path) in got.stderr


@pytest.mark.parametrize("words", [
    ["--deadline", "6"], ["--deadline", ""], ["--deadline", "0s"], ["--deadline", "-5s"], ["--deadline", "1y"],
    ["--deadline", "99999999999999999999s"], ["--deadline", "91d"], ["--poll-interval", "5 s"],
    ["--server", "localhost"], ["--server", ":15999"], ["--server", "a:0"], ["--server", "a:65536"],
    ["--server", "a:x"], ["--server", "::1:15999"], ["--server", "http://a:1"], ["--server", ""],
    ["--log-format", "xml"], ["--log-format", "json|text"], ["--log-level", ""],
    ["--grpc-max-message-size", "1"], ["--grpc-max-message-size", "1k"],
    ["--json=maybe"], ["--cluster", "a b"], ["--cluster", "x" * 65], ["--store", "mysql://a/b"], ["--store", "sqlite:"],
    ["--ddl-strategy-flags", "--postpone-completion"], ["--ddl-strategy-flags", "--allow-concurrent=1"],
    ["--ddl-strategy-flags", "--cut-over-threshold=4s"], ["--ddl-strategy-flags", "--cut-over-threshold=31s"],
    ["--ddl-strategy-flags", "--retain-artifacts"], ["--ddl-strategy-flags", "--analyze-table --analyze-table"],
    ["--ddl-strategy-flags", "--retain-artifacts=1d"],
    ["--server", "a:1", "--server", "b:1"], ["--deadline"], ["-x"],
])
def test_a_bad_value_is_a_usage_error_in_one_line(vtddl, words):
    got = vtddl.run("config", "show", *words)
    assert (got.returncode, got.stdout) == (64, "")
    assert got.stderr.startswith("vtddl: ") and got.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [
    ["--deadline", "1h30m"], ["--deadline", "90d"], ["--poll-interval", "500ms"], ["--server", "[::1]:15999"],
    ["--json=false"], ["--server=a:1"], ["--store", "sqlite:/tmp/x=y"],
    ["--ddl-strategy-flags", "  --prefer-instant-ddl   --retain-artifacts=24h --cut-over-threshold=30s "],
])
def test_a_good_value_is_taken(vtddl, words):
    assert vtddl.run("config", "show", *words).returncode == 0


def test_secrets_are_never_settings(vtddl):
    names = [s["name"] for s in json.loads(vtddl.run("config", "show", "--json").stdout)["settings"]]
    assert [n for n in names if "password" in n or "secret" in n] == ["vtgate-password-file"]


@pytest.mark.parametrize("env, where", [
    ({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b"}, "sqlite:/var/lib/a/vtddl.db"),
    ({"XDG_STATE_HOME": "/state"}, "sqlite:/state/vtddl/vtddl.db"),
    ({}, "sqlite:{home}/.local/state/vtddl/vtddl.db"),
])
def test_the_default_store_follows_systemd_then_xdg_then_home(vtddl, env, where):
    got = setting(vtddl.run("config", "show", "--json", env=env), "store")
    assert got["value"] == where.format(home=vtddl.home)
