"""Small helpers in C, compiled where they are used, and clocks for a program alone (own_clock.c)."""

import atexit
import functools
import mmap
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Werror")
HOUR_S = 3600


@functools.cache
def folder():
    made = pathlib.Path(tempfile.mkdtemp(prefix="vtddl-helpers-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def compiled(source, *flags):
    """The path of what tests/process/SOURCE compiles to."""
    result = folder() / pathlib.Path(source).stem
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", *WARNINGS, *flags, "-o", result, HERE / source],
                   check=True)
    return result


class OwnClock:
    """Clocks that run `rate` times as fast as this machine's, and a wall clock that can be set.

    Programs of one OwnClock, also one after the other, have one time."""

    FIELDS = struct.Struct("5q")

    def __init__(self, path, rate=1):
        bases = [time.clock_gettime_ns(one) for one in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME)]
        self.rate, self.base_wall_s = rate, bases[0] / 1e9
        path.write_bytes(self.FIELDS.pack(rate, 0, *bases))
        self.env = {"OWN_CLOCK": str(path), "LD_PRELOAD": str(compiled("own_clock.c", "-shared", "-fPIC"))}
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), self.FIELDS.size)

    def set_wall(self, offset_s):
        """From now on the wall clock is so many seconds off."""
        struct.pack_into("q", self.memory, 8, int(offset_s * 10**9))

    def set_wall_to(self, unix_s):
        """From now on the wall clock goes on from this time."""
        self.set_wall(unix_s - self.base_wall_s - (time.time() - self.base_wall_s) * self.rate)
