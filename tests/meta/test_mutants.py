"""Every planted bug of tests/mutants still applies to the tree, alone, and stands in docs/planted-bugs.md."""

import re
import subprocess

import pytest
from tree import ROOT

PATCHES = sorted((ROOT / "tests/mutants").glob("*.patch"))


def applies(patch):
    return subprocess.run(["git", "apply", "--check", "-p1", str(patch)], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", check=False)


def test_there_are_enough():
    assert len(PATCHES) >= 25
    assert [patch.name[:2] for patch in PATCHES] == [f"{number:02}" for number in range(1, len(PATCHES) + 1)]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_planted_bug_still_applies(patch):
    got = applies(patch)
    assert got.returncode == 0, f"{got.stdout}\nmake it anew: the code that it changes is another by now"


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_planted_bug_says_what_it_is(patch):
    assert re.match(r"\S.*\nBreaks: \S.*\n\n--- a/(src|tests/sim)/", patch.read_text(encoding="utf-8"))


def test_one_that_does_not_apply_is_noticed(tmp_path):
    other = tmp_path / "other.patch"
    other.write_text(PATCHES[0].read_text(encoding="utf-8").replace("\n-\t", "\n-\tnot "), encoding="utf-8")
    assert applies(other).returncode != 0


def test_the_page_has_a_row_for_each():
    page = (ROOT / "docs/planted-bugs.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\d\d) (.+?) \|", page, re.M))
    words = {patch.name[:2]: patch.read_text(encoding="utf-8").split("\n", maxsplit=1)[0].replace("|", "\\|")
             for patch in PATCHES}
    assert rows == words
