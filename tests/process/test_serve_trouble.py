"""What a daemon needs and does not have is told: a vtctld that is silent, the library of its HTTP server."""

import re
import subprocess

import pytest

from harness import HOLD, submit, wait_until
from own_clock import OwnClock

RATE = 10  # a minute of the daemon takes six seconds


def missing(serve, code):
    """What /readyz says of it, or None. The lease may be between two holders for a moment, at these clocks."""
    status, body = serve.get("/readyz")
    assert status in (200, 503), body
    return next((reason["text"] for reason in body["reasons"] if reason["code"] == code), None)


def test_a_vtctld_that_is_silent_for_a_minute_makes_it_not_ready_and_does_not_end_it(sim, vtddl, daemon, tmp_path):
    fleet = sim(scale=20, script=[HOLD])
    program = vtddl(fleet)
    serve = daemon(program, "--read-timeout", "60s", env=OwnClock(tmp_path / "clock", RATE).env)
    submit(program)
    wait_until(lambda: [change for change in serve.changes() if change["leader"]], "it drives the change")
    fleet.stop()
    text = wait_until(lambda: missing(serve, "vtctld"), "it is not ready", 60)
    silent = re.fullmatch(rf"vtctld at {re.escape(fleet.address)} has not answered for (\d+) s", text)
    assert silent and int(silent[1]) >= 60, text
    assert serve.get("/healthz") == (200, "ok\n")
    fleet.start()
    wait_until(lambda: serve.get("/readyz")[0] == 200, "it is ready again", 60)


@pytest.mark.parametrize("library, says", [("no library at all", "install libmicrohttpd12, or give --http off"),
                                           (None, "it is another version than 0.9.75 or later")])
def test_without_its_http_library_it_says_what_to_install(vtddl, tmp_path, library, says):
    place = tmp_path / "lib"
    place.mkdir()
    if library:
        (place / "libmicrohttpd.so.12").write_text(library, encoding="utf-8")
    else:
        subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", place / "libmicrohttpd.so.12"], check=True)
    program = vtddl("127.0.0.1:1")
    got = program.run("serve", "--store", f"sqlite:{program.store}", "--http", "127.0.0.1:0",
                      env={"LD_LIBRARY_PATH": str(place)})
    assert got.returncode == 78 and says in got.stderr and "libmicrohttpd.so.12" in got.stderr, got.stderr
