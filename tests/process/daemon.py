"""`vtddl serve` as a process, its log and its API."""

import json
import signal
import subprocess
import urllib.error
import urllib.request

from harness import wait_until


class Daemon:
    """`vtddl serve` on the store of a Vtddl; its log is a file, so it is JSON by default."""

    def __init__(self, program, *words, env=None):
        self.program, self.words, self.env = program, words, env or {}
        self.log_file, self.process, self.port = program.home / "serve.log", None, None

    def start(self, ready=True):
        line = [self.program.program, "serve", "--store", f"sqlite:{self.program.store}", "--poll-interval", "1s",
                "--http", "127.0.0.1:0"]
        if self.program.server:
            line += ["--server", self.program.server]
        before = len(self.log())
        with open(self.log_file, "ab") as log:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen([*line, *map(str, self.words)], env={**self.program.env, **self.env},
                                            cwd=self.program.home, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log)
        if ready:
            first = wait_until(lambda: self.log()[before:], "it says that it serves")[0]
            assert first["msg"] == "vtddl serves", first
            self.port = first["http_port"]
            if self.port != "off":
                wait_until(lambda: self.get("/readyz")[0] == 200, "it is ready")
        return self

    def log(self, msg=None, **fields):
        if not self.log_file.exists():
            return []
        lines = [json.loads(line) for line in self.log_file.read_text(encoding="utf-8").splitlines()
                 if line.endswith("}")]
        return [line for line in lines if (not msg or line["msg"] == msg)
                and all(line.get(key) == value for key, value in fields.items())]

    def get(self, path):
        """Status and body; JSON where it is some."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                status, kind, body = answer.status, answer.headers["Content-Type"], answer.read().decode()
        except urllib.error.HTTPError as error:
            status, kind, body = error.code, error.headers["Content-Type"], error.read().decode()
        return status, json.loads(body) if kind.startswith("application/json") else body

    def changes(self, query=""):
        status, body = self.get("/api/v1/changes" + query)
        assert status == 200, body
        return body["changes"]

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(20)
