"""The program with a terminal behind one of its streams."""

import fcntl
import os
import pty
import subprocess
import termios

from conftest import BUILD


def run_on_terminal(vtddl, *words, env, stream="stderr"):
    """`stream` is a terminal of 24 lines and 80 columns. Gives what it got, and what came by the other one."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, b"\x18\x00\x50\x00\x00\x00\x00\x00")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: slave}
    with subprocess.Popen([str(BUILD / "vtddl"), *words], env={**vtddl.env, **env}, cwd=vtddl.home, **streams) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            if not more:
                break
            shown += more
        other = (process.stdout or process.stderr).read().decode()
    os.close(master)
    assert process.returncode == 0
    return shown.decode(), other
