"""The program is hardened, read off what was linked: a flag that is lost on the way from meson.build is found here."""

import json
import re
import shutil
import subprocess

import pytest

from tree import BUILD, ROOT

PROGRAM = BUILD / "vtddl"
COMPILED = re.compile(r"src/\w+/lib[\w-]+\.a\.p/.*\.o|vtddl\.p/.*\.o")

# Flags that leave a mark in the debug information of each source. Those that a compiler may lack are asked for where
# it has them: -fstrict-flex-arrays came with gcc 13.
FLAGS = ("-O2", "-fstack-protector-strong", "-fstack-clash-protection", "-fcf-protection=full",
         "-ftrivial-auto-var-init=zero", "-fno-delete-null-pointer-checks", "-fno-strict-overflow")
IF_KNOWN = ("-fstrict-flex-arrays=3",)


def read(*words):
    return subprocess.run(["readelf", "-W", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          encoding="utf-8", errors="replace", check=True).stdout


def options():
    found = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text(encoding="utf-8"))
    return {option["name"]: option["value"] for option in found}


@pytest.fixture(scope="module", autouse=True)
def plain_build():
    """Sanitizers and debug builds have flags of their own; what ships is the plain one."""
    if not PROGRAM.exists() or not shutil.which("readelf"):
        pytest.skip(f"{PROGRAM} is not built, or there is no readelf")
    set_to = options()
    if set_to["b_sanitize"] not in ("none", []) or set_to["b_coverage"] or set_to["optimization"] not in ("2", "3", "s"):
        pytest.skip(f"{BUILD} is not a build that would be shipped")


@pytest.fixture(scope="module")
def dynamic():
    return read("-d", PROGRAM)


@pytest.fixture(scope="module")
def segments():
    """(type, flags, address, size in memory)."""
    rows = re.findall(r"^  (\w+) +0x\w+ (0x\w+) 0x\w+ 0x\w+ (0x\w+) ([RWE ]{3})", read("-l", PROGRAM), re.M)
    return [(kind, flags, int(address, 16), int(size, 16)) for kind, address, size, flags in rows]


@pytest.fixture(scope="module")
def needed():
    """What the program asks the shared libraries for."""
    return set(re.findall(r" UND +(\w+)", read("--dyn-syms", PROGRAM)))


@pytest.fixture(scope="module")
def objects():
    """Every object of ours that is linked into the program."""
    database = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    ours = {BUILD / entry["output"] for entry in database if COMPILED.fullmatch(entry["output"])}
    return sorted(path for path in ours if path.exists())


def test_a_position_independent_executable(dynamic):
    assert re.search(r"Type: +DYN \(Position-Independent Executable file\)", read("-h", PROGRAM))
    assert re.search(r"FLAGS_1.*\bPIE\b", dynamic)


def test_what_the_loader_writes_is_read_only_afterwards(dynamic, segments):
    """Full RELRO: everything is bound at the start, so the table of addresses can be locked."""
    assert re.search(r"\(FLAGS\).*BIND_NOW", dynamic) and re.search(r"FLAGS_1.*\bNOW\b", dynamic)
    relro = [(address, address + size) for kind, _, address, size in segments if kind == "GNU_RELRO"]
    assert len(relro) == 1
    got = re.search(r" \.got +PROGBITS +(\w+) \w+ (\w+)", read("-S", PROGRAM))
    address, size = int(got[1], 16), int(got[2], 16)
    assert relro[0][0] <= address and address + size <= relro[0][1], "the table of addresses stays writable"
    assert ".got.plt" not in read("-S", PROGRAM), "a part of the table is bound late"


def test_nothing_is_writable_and_executable(segments):
    loads = [flags for kind, flags, *_ in segments if kind == "LOAD"]
    assert len(loads) >= 4 and "R E" in loads and "RW " in loads
    assert not [flags for flags in loads if "W" in flags and "E" in flags]


def test_the_stack_is_not_executable(segments):
    assert [flags for kind, flags, *_ in segments if kind == "GNU_STACK"] == ["RW "]


def test_code_is_apart_from_data(segments):
    """-z separate-code: what is only read is not mapped executable, where it would offer bytes to jump to."""
    code = [(address, address + size) for kind, flags, address, size in segments if kind == "LOAD" and "E" in flags]
    for name in (".rodata", ".eh_frame", ".dynsym"):
        address = int(re.search(rf" {re.escape(name)} +\w+ +(\w+) ", read("-S", PROGRAM))[1], 16)
        assert not [1 for begin, end in code if begin <= address < end], f"{name} is executable"


def test_libraries_come_from_the_system_alone(dynamic):
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic


def test_the_loader_changes_no_code(dynamic):
    assert "TEXTREL" not in dynamic


def test_stacks_are_guarded(needed):
    assert "__stack_chk_fail" in needed


def test_fortified_calls(needed, objects):
    """In the program, and in objects of ours: gRPC alone must not be what is found."""
    checked = {name for name in needed if re.fullmatch(r"__\w+_chk", name)}
    assert {"__snprintf_chk", "__vsnprintf_chk", "__memcpy_chk", "__fprintf_chk"} <= checked
    ours = set(re.findall(r" UND +(__\w+_chk)", read("-s", *objects)))
    assert {"__snprintf_chk", "__vsnprintf_chk", "__fprintf_chk"} <= ours


def test_fortify_uses_the_level_of_the_compiler():
    """Level 3 leaves no mark of its own; so that it was asked for must do."""
    compiler = next(entry["command"].split() for entry in commands())
    compiler = compiler[1] if "ccache" in compiler[0] else compiler[0]
    knows = subprocess.run([compiler, "-x", "c", "-Werror", "-fsyntax-only", "-"], check=False, stderr=subprocess.DEVNULL, text=True,
                           input="int f(char *p) { return __builtin_dynamic_object_size(p, 0) > 0; }")
    level = 3 if knows.returncode == 0 else 2
    assert [entry["file"] for entry in commands() if f"-D_FORTIFY_SOURCE={level}" not in entry["command"].split()] == []


def test_warnings_that_are_errors_were_asked_for():
    """A check of what the compiler knows may drop one in silence."""
    words = {"-Wall", "-Wextra", "-Wconversion", "-Wformat=2", "-Werror=format-security", "-Werror=implicit",
             "-Werror=incompatible-pointer-types"}
    assert [(entry["file"], words - set(entry["command"].split())) for entry in commands()
            if words - set(entry["command"].split())] == []


def commands():
    database = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    return [entry for entry in database if COMPILED.fullmatch(entry["output"])]


def test_every_source_was_compiled_with_the_flags():
    """The compiler notes them beside each source, if the build has debug information, as the default one has."""
    if not options()["debug"]:
        pytest.skip("the build has no debug information")
    producers = [line for line in read("--debug-dump=info", "--dwarf-depth=1", PROGRAM).splitlines()
                 if "DW_AT_producer" in line]
    if not any("GNU C" in line for line in producers):
        pytest.skip("only gcc notes the flags")
    producers = [line for line in producers if " C11 " in line]
    sources = len(list((ROOT / "src").rglob("*.c")))
    assert len(producers) >= sources, "readelf shows too few sources, so this proves little"
    words = commands()[0]["command"].split()
    for flag in [*FLAGS, *(flag for flag in IF_KNOWN if flag in words)]:
        assert [line for line in producers if flag not in line.split()] == [], f"{flag} is missing"


def test_own_code_is_ready_for_cet(objects):
    """Each object is; the program's own note is lost, for crt1.o of Debian 12 and gRPC's archives have none."""
    notes = ("\n" + read("-n", *objects)).split("\nFile: ")[1:]
    assert len(notes) == len(objects) >= 100
    assert [note.splitlines()[0] for note in notes if not re.search(r"x86 feature: IBT, SHSTK", note)] == []
