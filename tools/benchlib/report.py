"""Results as a table for people, as JSON, as docs/performance.md and its picture."""

import datetime
import json
import math
import os
import pathlib
import platform
import re
import shutil
import subprocess

from .world import ROOT, die, say

LABEL_MAX = 90
BEGIN, END = "<!-- begin: tools/bench --write-docs -->", "<!-- end -->"


def shown(value):
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}" if abs(value) < 100 else f"{value:.0f}"


def with_interval(found, mark=""):
    if found is None:
        return ""
    if found["low"] == found["high"]:
        return shown(found["median"]) + mark
    return f"{shown(found['median'])}{mark} ({shown(found['low'])}-{shown(found['high'])})"


def verdict(row):
    return "" if row["met"] is None else "met" if row["met"] else "MISSED"


def table(result):
    yield "| | what | unit | vtddl | the other way | ratio | target | |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in result["rows"]:
        other = with_interval(row["other"]) if row["other"] else ""
        yield (f"| {row['metric']} | {row['name']} | {row['unit']} | {with_interval(row['vtddl'])} | {other} "
               f"| {with_interval(row['ratio'], 'x') if row['ratio'] else ''} | {row['target']} | {verdict(row)} |")


def notes(result):
    for row in result["rows"]:
        if row.get("note"):
            yield f"- {row['metric']}, {row['name']}: {row['note']}."


def conditions():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return {"day": datetime.date.today().isoformat(), "cores": os.cpu_count(), "cpu": model[1] if model else platform.machine(),
            "load": round(os.getloadavg()[0], 1), "kernel": platform.release()}


def print_people(result):
    for line in table(result):
        print(line)
    print()
    for line in notes(result):
        print(line)
    missed = [row for row in result["rows"] if row["met"] is False]
    print(f"\n{sum(row['met'] is True for row in result['rows'])} targets met, {len(missed)} missed; {result['took_s']} s")


# ---- docs/performance.md and .svg ----


def write_docs(result):
    page = ROOT / "docs/performance.md"
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        die(f"{page} has no place for the table ({BEGIN} ... {END})")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    where = result["conditions"]
    lines = [BEGIN, "", f"Measured {where['day']} on {where['cores']} shared cores ({where['cpu']}), load {where['load']} "
             f"at the end, against the vtctldclient of Vitess {result['client'].split()[0]}.", "", *table(result), "", *notes(result), "", END]
    page.write_text(before + "\n".join(lines) + after, encoding="utf-8")
    plot(result, ROOT / "docs/performance.svg")
    say(f"wrote {page} and its picture")


def label(row):
    text = f"{row['metric']}  {row['name']}"
    return text if len(text) <= LABEL_MAX else text[:LABEL_MAX - 3] + "..."


def plot(result, path):
    """Every ratio with its interval and its target on one scale of powers of ten."""
    rows = [row for row in result["rows"] if row["ratio"] and math.isfinite(row["ratio"]["median"])
            and not row["target"].startswith("<=")]
    if not rows:
        return
    if not shutil.which("gnuplot"):
        subprocess.run(["bash", "-c", ". tools/lib/packages.sh; install_packages gnuplot-nox"], cwd=ROOT, check=True)
    count = len(rows)
    data = "\n".join(f"{row['ratio']['median']} {count - at} {row['ratio']['low']} {row['ratio']['high']} "
                     f"{row['bound'] if row['bound'] else 'NaN'}" for at, row in enumerate(rows))
    labels = ", ".join(f"{json.dumps(label(row))} {count - at}" for at, row in enumerate(rows))
    script = f"""
set terminal svg size 1200,{80 + 26 * count} font "sans,12" background rgb "white"
set output {json.dumps(str(path))}
set logscale x
set xrange [1:*]
set yrange [0.3:{count + 0.7}]
set ytics ({labels}) nomirror
set grid x
set lmargin 80
set title "how many times less than the other way: median and 95 % interval"
set key bottom right
$data << EOD
{data}
EOD
plot $data using 1:2:3:4 with xerrorbars pt 7 ps 0.7 lc rgb "#1f5fa8" title "measured", \\
     $data using 5:2 with points pt 9 ps 0.9 lc rgb "#c0392b" title "target"
"""
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
