"""Runs the built program (BUILD_DIR names the build folder) with a clean environment."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import sanitizers  # pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("BUILD_DIR", "build"))
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Runner:
    """One home folder; run() starts the program in it and gives what it printed and its exit code."""

    def __init__(self, home):
        self.home = home
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8",
                    **sanitizers.ENVIRONMENT}

    def run(self, *words, env=None, stdin=subprocess.DEVNULL, text=None, timeout=60):
        return subprocess.run(
            [str(BUILD / "vtddl"), *map(str, words)],
            env={**self.env, **(env or {})}, cwd=self.home, timeout=timeout,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape",
            **({"input": text} if text is not None else {"stdin": stdin}))


@pytest.fixture
def vtddl(tmp_path):
    return Runner(tmp_path)
