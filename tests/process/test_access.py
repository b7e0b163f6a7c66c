"""TLS and static authentication against a vtctld that asks for them: the exit code, and one sentence that helps."""

import json
import re

import pytest

from certificates import Authority
from harness import ALTER, assert_done_once, one_sentence

LOCAL = "IP:127.0.0.1,DNS:localhost"
EXPIRED = {"start": "20200101000000Z", "end": "20210101000000Z"}


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca") / "good")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca") / "strange", "another authority")


def tls_server(sim, pair, *more):
    return sim("--grpc-cert", str(pair[0]), "--grpc-key", str(pair[1]), *more, scale=20)


def client_words(ca, pair=None):
    words = ["--vtctld-grpc-ca", ca.cert]
    return words + (["--vtctld-grpc-cert", pair[0], "--vtctld-grpc-key", pair[1]] if pair else [])


def refused(program, fleet, *words, code):
    """Neither run nor show gets in; each says one sentence. Gives what run said."""
    said = [one_sentence(program.run(*command, *words, "--read-timeout", "4s"), code)
            for command in (["run", "commerce", "--sql", ALTER], ["show", "commerce"])]
    assert fleet.effects() == []
    return said[0]


# ---- TLS ----


def test_with_the_right_certificates_a_change_is_verified(sim, vtddl, ca):
    fleet = tls_server(sim, ca.issue("vtctld", LOCAL), "--grpc-ca", str(ca.cert))
    program = vtddl(fleet)
    words = client_words(ca, ca.issue("deployer", "DNS:deployer"))
    got = program.run("run", "commerce", "--sql", ALTER, *words)
    assert got.returncode == 0, got.stdout + got.stderr
    assert {call["method"] for call in fleet.effects()} == {"ApplySchema", "CompleteSchemaMigration"}
    assert "verified" in program.run("show", "commerce", *words).stdout


def test_a_server_of_another_authority_is_refused(sim, vtddl, ca, stranger):
    fleet = tls_server(sim, ca.issue("vtctld", LOCAL))
    said = refused(vtddl(fleet), fleet, *client_words(stranger), code=77)
    assert "--vtctld-grpc-ca" in said, said


def test_a_server_by_another_name_is_refused_unless_that_name_is_asked_for(sim, vtddl, ca):
    fleet = tls_server(sim, ca.issue("other", "DNS:vtctld.example"))
    program = vtddl(fleet)
    said = refused(program, fleet, *client_words(ca), code=77)
    assert "--vtctld-grpc-server-name" in said, said
    got = program.run("show", "commerce", *client_words(ca), "--vtctld-grpc-server-name", "vtctld.example")
    assert got.returncode == 0, got.stderr


def test_an_expired_server_certificate_is_refused(sim, vtddl, ca):
    fleet = tls_server(sim, ca.issue("old", LOCAL, **EXPIRED))
    said = refused(vtddl(fleet), fleet, *client_words(ca), code=77)
    assert re.search("expired|certificate", said), said


def test_an_expired_client_certificate_is_named_with_its_date(sim, vtddl, ca):
    fleet = tls_server(sim, ca.issue("vtctld2", LOCAL), "--grpc-ca", str(ca.cert))
    said = refused(vtddl(fleet), fleet, *client_words(ca, ca.issue("oldclient", "DNS:c", **EXPIRED)), code=77)
    assert "oldclient.crt" in said and "2021-01-01" in said, said


def test_a_server_that_wants_a_client_certificate_gets_none(sim, vtddl, ca):
    fleet = tls_server(sim, ca.issue("vtctld3", LOCAL), "--grpc-ca", str(ca.cert))
    # the server just closes the connection, which a restart does too: so it may be tried again
    said = refused(vtddl(fleet), fleet, *client_words(ca), code=69)
    assert "client certificate" in said, said


def test_plain_text_to_a_tls_server_and_tls_to_a_plain_one(sim, vtddl, ca):
    tls, plain = tls_server(sim, ca.issue("vtctld4", LOCAL)), sim()
    for server, words in ((tls, []), (plain, client_words(ca))):
        got = vtddl(server).run("show", "commerce", *words, "--read-timeout", "3s")
        assert got.returncode in (69, 77), got.stderr
        assert "TLS" in got.stderr or "--vtctld-grpc-ca" in got.stderr, got.stderr


@pytest.mark.parametrize("content, words", [
    (b"", ["--vtctld-grpc-ca"]), (b"no certificate\n", ["--vtctld-grpc-ca"]), (None, ["--vtctld-grpc-ca"]),
    (b"no key\n", ["--vtctld-grpc-cert", "--vtctld-grpc-key"])])
def test_files_that_hold_no_certificate_are_exit_78(sim, vtddl, content, words):
    fleet = sim()
    program = vtddl(fleet)
    path = program.home / "file.pem"
    if content is not None:
        path.write_bytes(content)
    said = refused(program, fleet, *(part for word in words for part in (word, path)), code=78)
    assert words[0] in said and str(path) in said


# ---- Static authentication ----


def creds_file(program, content, mode=0o600, name="creds.json"):
    path = program.home / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    path.chmod(mode)
    return path


@pytest.fixture
def guarded(sim, tmp_path):
    (tmp_path / "auth.json").write_text('[{"Username": "deployer", "Password": "right"}]', encoding="ascii")
    return sim("--auth-static", str(tmp_path / "auth.json"), scale=20)


def test_the_right_password_lets_a_change_through(guarded, vtddl):
    program = vtddl(guarded)
    creds = creds_file(program, {"Username": "deployer", "Password": "right"})
    got = program.run("run", "commerce", "--sql", ALTER, "--grpc-auth-static-client-creds", creds)
    assert got.returncode == 0, got.stderr
    assert guarded.done("ApplySchema") == {"-80": 1, "80-": 1}


@pytest.mark.parametrize("user", [{"Username": "deployer", "Password": "wrong"}, {"Username": "x", "Password": "right"}])
def test_a_wrong_password_is_exit_77(guarded, vtddl, user):
    program = vtddl(guarded)
    said = refused(program, guarded, "--grpc-auth-static-client-creds", creds_file(program, user), code=77)
    assert "--grpc-auth-static-client-creds" in said and user["Password"] not in said.split()


def test_no_credentials_are_exit_77(guarded, vtddl):
    said = refused(vtddl(guarded), guarded, code=77)
    assert "--grpc-auth-static-client-creds" in said


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_password_that_others_may_read_is_refused_before_it_is_sent(guarded, vtddl, mode):
    program = vtddl(guarded)
    creds = creds_file(program, {"Username": "deployer", "Password": "right"}, mode)
    said = refused(program, guarded, "--grpc-auth-static-client-creds", creds, code=78)
    assert f"chmod 0600 {creds}" in said
    assert guarded.journal() == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"Username": "a"}', '{"Username": "a", "Password": 1}',
                                     '{"Username": "a", "Password": "line\\nbreak"}'])
def test_a_credentials_file_that_is_none_is_exit_78(guarded, vtddl, content):
    program = vtddl(guarded)
    creds = creds_file(program, content)
    assert str(creds) in refused(program, guarded, "--grpc-auth-static-client-creds", creds, code=78)


def test_a_password_never_goes_over_plain_text_to_another_host(vtddl):
    program = vtddl("192.0.2.1:15999")
    creds = creds_file(program, {"Username": "deployer", "Password": "right"})
    said = one_sentence(program.run("show", "commerce", "--grpc-auth-static-client-creds", creds), 78)
    assert "--allow-plaintext-auth" in said


def test_the_change_of_an_allowed_caller_is_seen_once(guarded, vtddl):
    """Refused first, then let in: the refusal left nothing behind that counts as sent."""
    program = vtddl(guarded)
    refused(program, guarded, code=77)
    creds = creds_file(program, {"Username": "deployer", "Password": "right"})
    got = program.run("run", "commerce", "--sql", ALTER, "--grpc-auth-static-client-creds", creds)
    assert got.returncode == 0, got.stderr
    program.env["VTDDL_GRPC_AUTH_STATIC_CLIENT_CREDS"] = str(creds)
    assert_done_once(guarded, program)
