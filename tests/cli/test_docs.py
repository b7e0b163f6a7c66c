"""The pages that the program prints itself are those in docs/, and the example file is accepted."""

import functools
import re

import pytest

import generate_docs
from conftest import ROOT


@pytest.mark.parametrize("page", generate_docs.PAGES)
def test_the_page_is_what_the_program_prints(page):
    assert (ROOT / page).read_text(encoding="utf-8") == generate_docs.PAGES[page](), \
        "run tests/cli/generate_docs.py"


def test_every_setting_of_the_example_file_is_known_and_every_known_one_is_in_it(vtddl, tmp_path):
    example = (ROOT / "packaging/vtddl.conf").read_text(encoding="utf-8")
    live = tmp_path / "vtddl.conf"
    live.write_text("\n".join(line[1:] if line.startswith("#") and " = " in line and not line.startswith("# ")
                              else line for line in example.splitlines()) + "\n", encoding="utf-8")
    shown = vtddl.run("config", "show", "--config", live)
    assert shown.returncode == 0, shown.stderr
    defaults = [line.split()[0] for line in shown.stdout.splitlines() if line.endswith("# default") or
                "# default," in line]
    assert defaults == []


COMMANDS = list(generate_docs.commands())
TOPICS = {"exit-codes", "metrics", "COMMAND"}


def told(path):
    """The command lines between backticks and in blocks of shell; not those of which a format or a script fills in the command."""
    text = path.read_text(encoding="utf-8")
    lines = re.findall(r"`vtddl ([a-z][^`$\n]*)`", text)
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines += re.findall(r"^(?:\$ )?(?:build/)?vtddl ([a-z][^#|\n]*)", block, re.MULTILINE)
    return [re.sub(r"'.*?'|\"[^\"]*\"", "TEXT", line).split() for line in lines]


@functools.cache
def options_of(path):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", generate_docs.output("help", *path)))


def problem(words):
    """What is wrong with a command line that a page or a message tells people; None: nothing."""
    if words[0] == "help":
        known = {path[0] for path in COMMANDS} | TOPICS
        return None if words[1:] and words[1] in known else "no such topic"
    path = max((path for path in COMMANDS if tuple(words[:len(path)]) == path), key=len, default=None)
    if not path:
        return "no such command"
    return next((f"no such option: {word}" for word in words
                 if word.startswith("--") and word.split("=")[0] not in options_of(path)), None)


@pytest.mark.parametrize("path", sorted(path for folder in ("docs", "packaging", "src")
                                        for path in (ROOT / folder).rglob("*")
                                        if path.suffix in {".md", ".c", ".h", ".conf", ".rules", ".yaml", ".def"})
                         + [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"],
                         ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_people_are_told_to_run_can_be_run(path):
    wrong = [(" ".join(words), why) for words in told(path) if (why := problem(words))]
    assert not wrong
