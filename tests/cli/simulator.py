"""vtctldsim as a context: `with Simulator(tmp_path, script=[...]) as sim: ... "--server", sim.address`."""

import json
import subprocess
import time

from conftest import BUILD


class Simulator:
    def __init__(self, folder, *words, script=None):
        self.folder, self.words = folder, list(words)
        self.journal_file = folder / "journal.jsonl"
        if script is not None:
            (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
            self.words += ["--script", str(folder / "script.json")]

    def __enter__(self):
        port = self.folder / "port"
        port.unlink(missing_ok=True)
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            [str(BUILD / "vtctldsim"), "--port-file", str(port), "--journal", str(self.journal_file),
             "--time-scale", "10", *self.words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until = time.monotonic() + 20
        while not (port.exists() and port.read_text().strip()):
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < until, "the simulator does not listen"
            time.sleep(0.02)
        self.address = "127.0.0.1:" + port.read_text().strip()
        return self

    def __exit__(self, *_):
        died = self.process.poll()
        self.process.terminate()
        self.process.wait(10)
        words = self.process.stderr.read().decode(errors="replace")
        self.process.stderr.close()
        assert died is None, f"the simulator died with {died}: {words}"

    def calls(self, method):
        """How often an RPC arrived, by the simulator's own journal."""
        lines = self.journal_file.read_text(encoding="utf-8").splitlines()
        return sum(1 for line in lines if json.loads(line)["method"] == method)
