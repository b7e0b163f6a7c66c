"""What is wrong is said in one sentence with the right exit code, and nothing is sent."""

import json
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from cluster import KEYSPACE
from program import one_sentence

pytestmark = pytest.mark.core


@pytest.fixture
def no_new_rows(fleet):
    """No shard has more migrations after the test than before."""
    def count():
        return [fleet.ask(tablet, "select count(*) from _vt.schema_migrations") for tablet in fleet.tablets]
    before = count()
    yield
    assert count() == before, "something was sent"


CREATE = "create table {table} (id bigint primary key)"
REFUSED = [
    # code, keyspace, statement, words of the sentence
    (65, "nosuch", CREATE, ["no keyspace 'nosuch'", KEYSPACE]),
    (3, KEYSPACE, CREATE, ["'{table}' exists already on shard", "nothing was sent"]),
    (3, KEYSPACE, "create view {table} as select id from orders", ["'{table}' exists already", "nothing was sent"]),
    (3, KEYSPACE, "drop table {table}_x", ["has no '{table}_x'", "nothing was sent"]),
    (3, KEYSPACE, "alter table {table}_x add column a int", ["has no '{table}_x'", "nothing was sent"]),
    (3, KEYSPACE, "alter table {table} add column name varchar(64)", ["already has", "nothing was sent"]),
    (65, KEYSPACE, "alter table {table} add column a int; alter table {table} add column b int", []),
    (65, KEYSPACE, "truncate table {table}", []),
    (65, KEYSPACE, "alter table {table} rename to other", []),
    (65, KEYSPACE, "delete from {table}", []),
    (65, KEYSPACE, "this is no statement", []),
]


@pytest.mark.parametrize("code, keyspace, statement, wanted", REFUSED)
def test_a_statement_that_cannot_work(vtddl, table, no_new_rows, code, keyspace, statement, wanted):
    said = one_sentence(vtddl.run("run", keyspace, "--sql", statement.format(table=table)), code)
    for words in wanted:
        assert words.format(table=table) in said, said


def test_a_table_that_differs_between_the_shards(fleet, vtddl, table, no_new_rows):
    fleet.ask(fleet.tablets[1], f"alter table {table} add column drifted int")
    said = one_sentence(vtddl.run("run", KEYSPACE, "--sql", f"alter table {table} add column a int"), 3)
    assert fleet.shards[0] in said and fleet.shards[1] in said and "differs" in said, said


def test_a_port_where_nothing_listens(vtddl, table, no_new_rows):
    said = one_sentence(vtddl.run("run", KEYSPACE, "--sql", f"alter table {table} add column a int", "--server",
                                  "127.0.0.1:15998"), 69)
    assert "127.0.0.1:15998" in said and "refused" in said, said


def test_a_port_where_something_else_listens(fleet, vtddl, table, no_new_rows):
    got = vtddl.run("run", KEYSPACE, "--sql", f"alter table {table} add column a int", "--server", fleet.vtgate)
    assert fleet.vtgate in one_sentence(got, 69)


# ---- Passwords and TLS: further vtctlds over the same topology ----

class Files:
    """Certificates and passwords where the user that vtctld runs as can read them."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vtddl-e2e-"))
        self.folder.chmod(0o755)

    def __getitem__(self, name):
        return str(self.folder / name)

    def write(self, name, text, mode=0o644):
        (self.folder / name).write_text(text, "utf-8")
        (self.folder / name).chmod(mode)
        return self[name]

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def key(self, name, *words):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                     "-subj", f"/CN={name}", *words)
        (self.folder / f"{name}.key").chmod(0o644)

    def authority(self, name):
        self.key(name, "-x509", "-days", "2", "-out", f"{name}.pem")

    def certificate(self, name, authority, days):
        self.write("names", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        self.key(name, "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                     "-CAcreateserial", "-days", str(days), "-extfile", "names", "-out", f"{name}.pem")


@pytest.fixture(scope="module")
def files():
    made = Files()
    made.authority("ca")
    made.authority("other")
    made.certificate("server", "ca", 2)
    made.certificate("expired", "ca", -1)
    made.certificate("client", "ca", 2)
    made.write("passwords", json.dumps([{"Username": "ctl", "Password": "open sesame"}]))
    made.write("good.json", json.dumps({"Username": "ctl", "Password": "open sesame"}), 0o600)
    made.write("wrong.json", json.dumps({"Username": "ctl", "Password": "xyzzy"}), 0o600)
    yield made
    shutil.rmtree(made.folder)


def server_tls(files, name):
    return ["--grpc-cert", files[f"{name}.pem"], "--grpc-key", files[f"{name}.key"]]


@pytest.fixture(scope="module")
def servers(two_shards, files):
    flags = {
        "password": ["--grpc-auth-mode", "static", "--grpc-auth-static-password-file", files["passwords"]],
        "tls": server_tls(files, "server"),
        "expired": server_tls(files, "expired"),
        "mtls": [*server_tls(files, "server"), "--grpc-ca", files["ca.pem"]],
    }
    found = {}
    for number, (name, words) in enumerate(flags.items()):
        two_shards.tool("extra-vtctld", name, "--grpc-port", 15970 + number, "--port", 15980 + number, "--", *words)
        found[name] = f"127.0.0.1:{15970 + number}"
    yield found
    for name in flags:
        two_shards.tool("extra-vtctld", name, "stop")


CREDENTIALS = "--grpc-auth-static-client-creds"
CLIENT = ["--vtctld-grpc-cert", "client.pem", "--vtctld-grpc-key", "client.key"]
CHANNELS = [
    # server, flags, exit code, words of the sentence
    ("password", [CREDENTIALS, "wrong.json"], 77, ["credentials"]),
    ("password", [], 77, ["credentials"]),
    ("tls", ["--vtctld-grpc-ca", "other.pem"], 77, ["certificate"]),
    ("tls", [], 69, ["TLS", "--vtctld-grpc-ca"]),
    ("tls", ["--vtctld-grpc-ca", "ca.pem", "--vtctld-grpc-server-name", "other.example"], 77, ["other.example"]),
    ("expired", ["--vtctld-grpc-ca", "ca.pem"], 77, ["expired"]),
    ("mtls", ["--vtctld-grpc-ca", "ca.pem"], 69, ["client certificate"]),
]
GOOD = [("password", [CREDENTIALS, "good.json"]), ("tls", ["--vtctld-grpc-ca", "ca.pem"]),
        ("mtls", ["--vtctld-grpc-ca", "ca.pem", *CLIENT])]


def with_files(files, words):
    return [files[word] if word.endswith((".pem", ".key", ".json")) else word for word in words]


@pytest.mark.parametrize("server, words, code, wanted", CHANNELS)
def test_a_channel_that_is_refused(vtddl, table, no_new_rows, servers, files, server, words, code, wanted):
    said = one_sentence(vtddl.run("run", KEYSPACE, "--sql", f"alter table {table} add column a int", "--server",
                                  servers[server], *with_files(files, words)), code)
    for text in wanted:
        assert text in said, said
    assert "xyzzy" not in said and "sesame" not in said


@pytest.mark.parametrize("server, words", GOOD)
def test_a_channel_that_is_accepted(vtddl, servers, files, server, words):
    got = vtddl.ok("doctor", KEYSPACE, "--server", servers[server], *with_files(files, words))
    assert "FAIL" not in got.stdout, got.stdout


def test_a_whole_run_with_tls_and_client_certificate(fleet, vtddl, table, servers, files):
    vtddl.ok("run", KEYSPACE, "--sql", f"alter table {table} add column a int", "--server", servers["mtls"],
             *with_files(files, ["--vtctld-grpc-ca", "ca.pem", *CLIENT]))
    fleet.assert_sound(table)
