"""shellcheck finds nothing in the shell scripts, and each of them stops at the first error."""

import shutil
import subprocess

import pytest

from tree import all_files, name_of


def scripts():
    found = []
    for path in all_files():
        if name_of(path).startswith((".ci/", "tools/", "packaging/", "tests/")) and path.suffix not in (".c", ".h"):
            with open(path, "rb") as file:
                first = file.readline()
            if first.startswith(b"#!") and b"sh" in first.split(b"/")[-1] or b"shellcheck shell=" in first:
                found.append(path)
    return found


def test_there_are_scripts():
    assert {"tools/test", ".ci/run", "tools/local-vitess"} <= {name_of(path) for path in scripts()}


@pytest.mark.parametrize("path", scripts(), ids=name_of)
def test_shellcheck_finds_nothing(path):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    got = subprocess.run(["shellcheck", "--external-sources", "--source-path=SCRIPTDIR:SCRIPTDIR/..", name_of(path)],
                         cwd=path.parents[len(name_of(path).split("/")) - 1], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    assert got.returncode == 0, got.stdout


@pytest.mark.parametrize("path", scripts(), ids=name_of)
def test_a_script_stops_at_the_first_error(path):
    text = path.read_text(encoding="utf-8")
    assert "set -euo pipefail" in text or not text.startswith("#!"), "set -euo pipefail is missing"
