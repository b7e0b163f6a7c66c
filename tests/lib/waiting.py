"""For tests of real processes: they come to a state by themselves, or the test says which one they did not."""

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
