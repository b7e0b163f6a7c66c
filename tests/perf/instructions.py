#!/usr/bin/env python3
"""The gate against creeping cost: instructions, counted by valgrind, of three things that must stay cheap.

    tests/perf/instructions.py --build DIR            compare with instructions.json; exit 0 fine, 1 dearer, 77 skipped
    tests/perf/instructions.py --build DIR --record   write instructions.json anew: a rise that is wanted
    tests/perf/instructions.py --check-itself         that the comparison can fail

Seconds depend on the moment, instructions hardly (the poll varies by 0.2 %, the others not at all), but they do depend
on the compiler, its options, the libraries and the processor's kind: where one of these is another than
recorded, nothing is compared and a note says so.
"""

import argparse
import json
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from benchlib.client import instructions  # noqa: E402
from benchlib.world import World, scratch  # noqa: E402

RECORD = HERE / "instructions.json"
TOLERANCE_PERCENT = 2
SKIPPED = 77
SHARDS = 16
ROWS = 10000
LIBRARIES = ("grpc", "libprotobuf-c", "sqlite3", "libcrypto", "jansson")
OPTIONS = ("buildtype", "optimization", "debug", "b_lto", "b_pie", "b_sanitize", "c_args", "static_grpc", "crash_points")


def output_of(*words):
    return subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def made_with(build):
    """All that may change a count without a change of ours."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    words = next(shlex.split(command["command"]) for command in commands if command["file"].endswith("main.c"))
    compiler = words["ccache" in words[0]]
    options = {option["name"]: option["value"] for option
               in json.loads((build / "meson-info/intro-buildoptions.json").read_text(encoding="utf-8"))}
    flags = re.search(r"^flags\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    kinds = {"avx2", "avx512f", "sha_ni", "erms"} & set(flags[1].split() if flags else [])
    return {
        "compiler": output_of(compiler, "--version").splitlines()[0],
        "options": " ".join(f"{name}={options[name]}" for name in OPTIONS if name in options),
        "libc": output_of("getconf", "GNU_LIBC_VERSION"),
        "valgrind": output_of("valgrind", "--version"),
        "processor": " ".join(sorted(kinds)) or "plain",
        **{library: output_of("pkg-config", "--modversion", library) for library in LIBRARIES},
    }


def measure(build):
    found = {}
    with scratch() as folder:
        world = World(types.SimpleNamespace(build=build, quick=True, runs=30, client=None), folder)
        found["vtddl version"] = instructions([world.program("vtddl"), "version"])
        found[f"decoding {ROWS} rows"] = instructions([world.program("bench-decode"), "--once", ROWS], "rows_decode")
        with world.stub(shards=SHARDS) as stub:
            uuids, _ = stub.uuids(world)
            show = world.show(stub, "bench000", uuids[0], "--read-timeout", "60s")
            found[f"vtddl show of one change on {SHARDS} shards"] = int(statistics.median(instructions(show) for _ in range(3)))
    return found


def judge(recorded, counts, with_what):
    """(exit code, lines for people)."""
    other = [f"{key} is {with_what.get(key)}, recorded was {value}" for key, value in recorded["made_with"].items()
             if with_what.get(key) != value]
    if other:
        return SKIPPED, ["note: nothing was compared, for the counts were recorded with other tools: " + "; ".join(other),
                         *(f"note: now {count:,}: {name}" for name, count in counts.items()),
                         "note: tests/perf/instructions.py --build DIR --record makes these the record"]
    lines, failed = [], set(recorded["instructions"]) != set(counts)
    if failed:
        lines.append("the record is not of the same things; record it anew")
    for name, count in counts.items():
        before = recorded["instructions"].get(name)
        if before is None:
            continue
        percent = (count - before) * 100 / before
        lines.append(f"{name}: {count:,} instructions, recorded {before:,}: {percent:+.2f} %")
        if percent > recorded["tolerance_percent"]:
            failed = True
            lines[-1] += f"  TOO DEAR: more than {recorded['tolerance_percent']} %"
        elif percent < -recorded["tolerance_percent"]:
            lines[-1] += "  cheaper: record it anew, so that the gate stays tight"
    if failed:
        lines.append("If the rise is wanted, record it: tests/perf/instructions.py --build DIR --record, and say in the "
                     "commit what it buys. Else `valgrind --tool=callgrind` and callgrind_annotate show where it went.")
    return int(failed), lines


def check_itself():
    recorded = {"tolerance_percent": 2, "made_with": {"compiler": "a"}, "instructions": {"x": 10000, "y": 500}}

    def code(x, compiler="a", **more):
        return judge(recorded, {"x": x, "y": 500, **more}, {"compiler": compiler})[0]

    assert code(10000) == 0 and code(10200) == 0 and code(5000) == 0
    assert code(10201) == 1, "a rise of more than 2 % must fail"
    assert code(99999, "b") == SKIPPED and "nothing was compared" in judge(recorded, {"x": 1}, {"compiler": "b"})[1][0]
    assert code(10000, z=1) == 1, "a count without a record must fail"
    assert judge(recorded, {"x": 10000}, {"compiler": "a"})[0] == 1, "a record without a count must fail"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check-itself", action="store_true")
    arguments = parser.parse_args()
    if arguments.check_itself:
        check_itself()
        return 0
    if not shutil.which("valgrind"):
        print("note: nothing was compared: valgrind is not installed")
        return SKIPPED
    counts, with_what = measure(arguments.build.resolve()), made_with(arguments.build.resolve())
    if arguments.record:
        RECORD.write_text(json.dumps({"tolerance_percent": TOLERANCE_PERCENT, "made_with": with_what,
                                      "instructions": counts}, indent=2) + "\n", encoding="utf-8")
        print(f"recorded {counts} in {RECORD}")
        return 0
    code, lines = judge(json.loads(RECORD.read_text(encoding="utf-8")), counts, with_what)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
