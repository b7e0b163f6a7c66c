"""The password of vtctld and of VTGate is nowhere but on the wire: not in what is printed, stored or logged."""

import json
import signal

from harness import ALTER, HOLD, UNHOLD, read_until

CANARY = "Canary-7dQ-passw0rd"


def everything(program, *texts):
    """All that the program wrote: to its streams, and into every file of its home but the two that hold the password."""
    found = "".join(texts).encode()
    for path in program.home.rglob("*"):
        if path.is_file() and path.name not in ("creds.json", "vtgate.pw"):
            found += path.read_bytes()
    return found


def test_no_password_in_output_store_or_journal(sim, vtddl, tmp_path):
    (tmp_path / "auth.json").write_text(json.dumps([{"Username": "deployer", "Password": CANARY}]), encoding="ascii")
    fleet = sim("--auth-static", str(tmp_path / "auth.json"), scale=20,
                script=[HOLD,
                        {"on": "GetSchemaMigrations", "nth": 3, "code": 14}])
    program = vtddl(fleet)
    creds, password = program.home / "creds.json", program.home / "vtgate.pw"
    creds.write_text(json.dumps({"Username": "deployer", "Password": CANARY}), encoding="ascii")
    password.write_text(CANARY + "\n", encoding="ascii")
    for path in (creds, password):
        path.chmod(0o600)
    words = ["--grpc-auth-static-client-creds", creds]
    gate = ["--vtgate", "127.0.0.1:1", "--vtgate-user", "app", "--vtgate-password-file", password]
    run = program.start("run", "commerce", "--sql", ALTER, "--log-level", "debug", "--log-format", "json", *words, *gate)
    said = read_until(run, "phase submitted")
    with open(f"/proc/{run.pid}/cmdline", "rb") as line, open(f"/proc/{run.pid}/environ", "rb") as environ:
        assert CANARY.encode() not in line.read() + environ.read()
    run.send_signal(signal.SIGINT)
    texts = [said, *run.communicate(timeout=30)]
    assert run.returncode == 130
    fleet.reload([UNHOLD])
    for line in (["run", "commerce", "--sql", ALTER, "--json", "--deadline", "20s", *words, *gate],
                 ["run", "commerce", "--sql", ALTER, *words], ["show", "commerce", "--json", *words],
                 ["show", "commerce"], ["doctor", "commerce", *words], ["config", "show"], ["show"]):
        got = program.run(*line, env={"VTDDL_GRPC_AUTH_STATIC_CLIENT_CREDS": str(creds),
                                      "VTDDL_VTGATE_PASSWORD_FILE": str(password)})
        texts += [got.stdout, got.stderr]
    assert CANARY.encode() not in everything(program, *texts)
    assert CANARY not in fleet.journal_file.read_text(encoding="utf-8")
    assert fleet.done("ApplySchema") == {"-80": 1, "80-": 1}, "the password was right, so it was sent"
