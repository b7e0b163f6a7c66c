"""For tests of real processes: they come to a state by themselves, or the test says which one they did not."""

import os
import pathlib
import signal
import time


def wait_until(condition, what, seconds=60):
    """Looks again and again until condition() is true; gives its value."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"in {seconds} s it never came to this: {what}")


def send(pid, number):
    """SIGSTOP waits until no thread of it runs: one takes the signal and stops the others, which go on till then."""
    os.kill(pid, number)
    if number != signal.SIGSTOP:
        return
    threads = pathlib.Path("/proc", str(pid), "task")
    wait_until(lambda: all((thread / "stat").read_text("ascii").rpartition(")")[2].split()[0] in "Tt"
                           for thread in threads.iterdir()), f"process {pid} stands still")


def stand_still(pid):
    send(pid, signal.SIGSTOP)
