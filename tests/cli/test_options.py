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
        "name": "server", "value": "localhost:15999", "source": "default", "reloadable": True}


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
    # relative ones have no meaning of their own
    assert setting(vtddl.run("config", "show", "--json", env={"XDG_CONFIG_HOME": "xdg"}), "server")["value"] == "home:1"
    assert setting(vtddl.run("config", "show", "--json", env={"HOME": "."}), "server")["value"] == "localhost:15999"
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
    assert sorted(n for n in names if "password" in n or "secret" in n) == ["store-password-file",
                                                                            "vtgate-password-file"]


@pytest.mark.parametrize("url", [
    "mysql://vtddl:hunter2@db/vtddl", "mysql://:hunter2@db/vtddl", "mysql://vtddl:hunter2@db", "mysql://a:hunter2@b@db/x",
])
def test_a_store_url_with_a_password_is_refused_and_not_repeated(vtddl, url):
    for words, env, code in (["--store", url], {}, 64), ([], {"VTDDL_STORE": url}, 78):
        got = vtddl.run("config", "show", *words, env=env)
        assert got.returncode == code and "--store-password-file" in got.stderr
        assert "hunter2" not in got.stdout + got.stderr


@pytest.mark.parametrize("url, good", [
    ("mysql://vtddl@db/vtddl", True), ("mysql://vtddl@db:3306/vtddl", True), ("mysql://vtddl@[::1]:3306/vtddl", True),
    ("mysql://db/vtddl", False), ("mysql://vtddl@db", False), ("mysql://vtddl@db/", False), ("mysql://vtddl@/x", False),
    ("mysql://vtddl@db/a/b", False), ("mysql:vtddl@db/x", False), ("postgres://vtddl@db/x", False),
])
def test_the_form_of_a_mysql_url_is_checked(vtddl, url, good):
    assert (vtddl.run("config", "show", "--store", url).returncode == 0) == good


def servers(got):
    assert got.returncode == 0, got.stderr
    return {s["name"]: (s["value"], s["source"]) for s in json.loads(got.stdout)["settings"]
            if s["name"].startswith("server")}


def test_servers_of_single_keyspaces_are_settings_of_their_own(vtddl, conf):
    path = conf("server = all:1\nserver.commerce = one:2\nserver.eu_* = eu:3\n")
    words = ["config", "show", "--json", "--config", path]
    expected = {"server": ("all:1", f"{path}:1"), "server.commerce": ("one:2", f"{path}:2"),
                "server.eu_*": ("eu:3", f"{path}:3")}
    assert servers(vtddl.run(*words)) == expected
    got = servers(vtddl.run(*words, "--server", "commerce=flag:4"))
    assert got == expected | {"server.commerce": ("flag:4", "--server")}
    got = servers(vtddl.run(*words, "--server", "commerce=flag:4", "--server", "flag:5"))
    assert got == {"server": ("flag:5", "--server"), "server.commerce": ("flag:4", "--server")}


@pytest.mark.parametrize("words", [
    ["--server", "=a:1"], ["--server", "a b=a:1"], ["--server", "a*b=a:1"], ["--server", "a=b"], ["--server", "a="],
    ["--server", "x" * 65 + "=a:1"], ["--server", "a=a:1", "--server", "a=b:1"], ["--server", "a:1", "--server", "b:1"],
    ["--http", "15960"], ["--http", ":15960"], ["--http", "a:70000"], ["--http", ""],
])
def test_a_bad_server_or_address_is_a_usage_error(vtddl, words):
    got = vtddl.run("config", "show", *words)
    assert (got.returncode, got.stdout) == (64, "")
    assert got.stderr.startswith("vtddl: ") and got.stderr.count("\n") == 1


@pytest.mark.parametrize("text, says", [
    ("server.a = b:1\nserver.a = b:2\n", ":2 gives a server of a twice"),
    ("server. = b:1\n", ":1 must name a keyspace"),
    ("server.a = b\n", ":1 must be of the form host:port"),
])
def test_a_bad_server_in_a_file_is_refused_with_its_line(vtddl, conf, text, says):
    got = vtddl.run("config", "show", "--config", conf(text))
    assert (got.returncode, got.stdout) == (78, "")
    assert says in got.stderr


@pytest.mark.parametrize("keyspace, port", [
    ("commerce", 2), ("eu_west", 4), ("eu_", 3), ("eu_west_2", 3), ("other", 1), ("commerc", 1), ("commerce2", 1),
])
def test_the_longest_match_decides_which_vtctld_is_asked(vtddl, conf, keyspace, port):
    path = conf("server = 127.0.0.1:1\nserver.commerce = 127.0.0.1:2\nserver.eu_* = 127.0.0.1:3\n"
                "server.eu_west = 127.0.0.1:4\n")
    got = vtddl.run("show", keyspace, "--config", path, "--read-timeout", "1s")
    assert f"127.0.0.1:{port}" in got.stderr, got.stderr
    # a plain flag is for every keyspace, a keyed one for its own alone
    got = vtddl.run("show", keyspace, "--config", path, "--read-timeout", "1s", "--server", "127.0.0.1:5")
    assert "127.0.0.1:5" in got.stderr, got.stderr
    got = vtddl.run("show", keyspace, "--config", path, "--read-timeout", "1s", "--server", "eu_*=127.0.0.1:6")
    assert f"127.0.0.1:{6 if keyspace.startswith('eu_') else port}" in got.stderr, got.stderr


@pytest.mark.parametrize("env, where", [
    ({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b"}, "sqlite:/var/lib/a/vtddl.db"),
    ({"XDG_STATE_HOME": "/state"}, "sqlite:/state/vtddl/vtddl.db"),
    ({}, "sqlite:{home}/.local/state/vtddl/vtddl.db"),
])
def test_the_default_store_follows_systemd_then_xdg_then_home(vtddl, env, where):
    got = setting(vtddl.run("config", "show", "--json", env=env), "store")
    assert got["value"] == where.format(home=vtddl.home)
