#!/usr/bin/env python3
"""Pages of docs/ that the program prints itself. `BUILD_DIR=build tests/cli/generate_docs.py` writes
them; test_docs.py compares them with what the program prints now."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR", "build"))


def output(*words):
    return subprocess.run([str(BUILD / "vtddl"), *words], check=True, stdout=subprocess.PIPE, encoding="utf-8",
                          env={"HOME": "/nonexistent", "PATH": os.environ["PATH"]}).stdout


def commands(*path):
    """Every command and sub-command below @path, as tuples of words, from the help itself."""
    text = output("help", *path) if path else output("--help")
    found = re.search(r"^commands:\n((?:  .*\n)+)", text, re.MULTILINE)
    for line in found.group(1).splitlines() if found else []:
        name = line.split()[0]
        yield (*path, name)
        yield from commands(*path, name)


def cli_page():
    parts = ["# The command line\n\nThis page is the output of `--help`, made by tests/cli/generate_docs.py.\n",
             "\n## vtddl\n\n```text\n" + output("--help") + "```\n"]
    for words in commands():
        parts.append("\n## vtddl " + " ".join(words) + "\n\n```text\n" + output("help", *words) + "```\n")
    return "".join(parts)


def exit_codes_page():
    lines = output("help", "exit-codes").splitlines()
    starts = [lines[0].index(word) for word in ("CODE", "NAME", "MEANING", "A PIPELINE")]
    rows = [[line[a:b].strip() for a, b in zip(starts, [*starts[1:], None])] for line in lines[1:]]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return ("# Exit codes\n\nThe same table as `vtddl help exit-codes`. The codes are stable. The code is also "
            "`exit_code` in the JSON of a\nchange, and the name its `verdict`, unless the goal was reached: then "
            "the verdict is the goal, such as `verified`.\n\n"
            "| code | name | meaning | a pipeline should |\n|---|---|---|---|\n" + table + "\n")


def rules_page():
    return output("rules", "--format", "markdown")


def metrics_page():
    lines = output("help", "metrics").splitlines()
    starts = [lines[0].index(word) for word in ("METRIC", "TYPE", "LABELS", "MEANING")]
    rows = [[line[a:b].strip() for a, b in zip(starts, [*starts[1:], None])] for line in lines[1:]]
    table = "\n".join(f"| `{name}` | {kind} | {labels if labels != '-' else ''} | {meaning} |"
                      for name, kind, labels, meaning in rows)
    return ("# Metrics\n\nWhat `vtddl serve` answers under `/metrics`, in the text format of Prometheus; the same "
            "table as `vtddl help metrics`.\nNo label names a change but those of `vtddl_change_info`. "
            "`packaging/vtddl-alerts.yml` has rules for alerts.\n\n"
            "| metric | type | labels | meaning |\n|---|---|---|---|\n" + table + "\n")


def crash_safety_page():
    """Written by hand but for the table between two marks, which the test of the same cells prints."""
    table = subprocess.run([str(BUILD / "tests/crash/test_matrix"), "--markdown"], check=True, stdout=subprocess.PIPE,
                           encoding="utf-8").stdout
    before, mark, rest = (ROOT / "docs/crash-safety.md").read_text(encoding="utf-8").partition("generate_docs.py -->\n")
    return before + mark + table + rest[rest.index("<!-- /matrix -->"):]


PAGES = {"docs/crash-safety.md": crash_safety_page, "docs/cli.md": cli_page, "docs/exit-codes.md": exit_codes_page,
         "docs/rules.md": rules_page, "docs/metrics.md": metrics_page}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (ROOT / name).write_text(make(), encoding="utf-8")
        print(name, file=sys.stderr)
