"""The tree stands alone: it names no package registry, no path of the machine it was written on, no folder beside it."""

import re

from tree import all_files, name_of

# Spelled so that this file does not find itself.
FORBIDDEN = {
    "a folder beside the tree": r"\.\./sha" + r"red",
    "a path of one machine": r"(?<![\w.])/(ro" + r"ot|wo" + r"rk|ho" + r"me/\w+)/",
    "the host of a package registry": r"(?:registry\.npm" + r"js|py" + r"pi\.org|files\.pytho" + r"nhosted|proxy\.gol"
                                      + r"ang|cra" + r"tes\.io|deb\.deb" + r"ian\.org|rubyg" + r"ems\.org|repo\.ma"
                                      + r"ven|dock" + r"er\.io|gh" + r"cr\.io)",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE " + r"KEY",
    "a mark of a merge": r"^(<{7}|>{7}) ",
}


def text_of(path):
    data = path.read_bytes()
    return None if b"\0" in data[:4096] else data.decode("utf-8", errors="replace")


def test_nothing_forbidden_is_in_any_file():
    found = []
    for path in all_files():
        text = text_of(path) or ""
        for what, pattern in FORBIDDEN.items():
            for match in re.finditer(pattern, text, re.M):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{name_of(path)}:{line}: {what}: {match[0]}")
    assert found == []


def test_the_patterns_find_what_they_are_for():
    samples = ["../sha" + "red/x", "see /ro" + "ot/x", "https://py" + "pi.org/simple"]
    assert all(any(re.search(pattern, sample, re.M) for pattern in FORBIDDEN.values()) for sample in samples)


def test_sources_are_utf8_and_end_with_a_line_end():
    wrong = []
    for path in all_files():
        data = path.read_bytes()
        if path.suffix in (".c", ".h", ".py", ".md", ".sql", ".build", ".proto") and "corpus" not in path.parts and data:
            try:
                data.decode("utf-8")
            except UnicodeDecodeError:
                wrong.append(f"{name_of(path)} is not UTF-8")
            if not data.endswith(b"\n"):
                wrong.append(f"{name_of(path)} has no line end at its end")
    assert wrong == []
