"""What happened, in order: a line for every start, end and kill, every fault, every change of a shard's row.

The form is that of Jepsen: time, who, then `invoke` (it begins), `ok` (it was done), `fail` (it was not), `info`
(nobody can tell). Whoever reads a failure reads this file.
"""

import threading
import time


class History:
    def __init__(self, path):
        self.path, self.began, self.mutex = path, time.monotonic(), threading.Lock()
        # pylint: disable-next=consider-using-with
        self.file = path.open("w", encoding="utf-8", buffering=1)

    def add(self, who, kind, what):
        with self.mutex:
            self.file.write(f"{time.monotonic() - self.began:9.3f} {who:<22} {kind:<6} {what}\n")

    def text(self, last=None):
        lines = self.path.read_text("utf-8").splitlines()
        return "\n".join(lines[-last:] if last else lines)


class Crew(threading.Thread):
    """A thread whose end is awaited, and whose failure is the test's. It ends soon after @over."""

    def __init__(self, name, history):
        super().__init__(name=name, daemon=True)
        self.history, self.error, self.over = history, None, threading.Event()

    def run(self):
        try:
            self.work()
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error
            self.history.add(self.name, "info", f"THIS IS THE FAILURE: {error!r}"[:4000])

    def work(self):
        raise NotImplementedError

    def finish(self, seconds):
        self.join(seconds)
        if self.error:
            raise self.error
        assert not self.is_alive(), f"{self.name} did not come to an end in {seconds} s"
