"""core is pure: no time, no file, no socket, no memory of its own. What its library needs from outside proves it."""

import re
import subprocess

import pytest

from tree import BUILD

LIBC = {
    "memchr", "memcmp", "memcpy", "memmove", "memset", "strcasecmp", "strchr", "strcmp", "strcpy", "strcspn",
    "strlen", "strncasecmp", "strncmp", "strnlen", "strpbrk", "strrchr", "strspn", "strstr", "strtod", "strtoll",
    "strtoul", "strtoull", "snprintf", "vsnprintf", "tolower", "toupper", "qsort", "bsearch",
    "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc", "__assert_fail", "__stack_chk_fail",
}
OF_BASE = re.compile(r"(arena|error|digest|strbuf)_\w+")
# what hardening and sanitizers put in place of the above
INSTRUMENTED = re.compile(r"__(asan|ubsan|sanitizer|tsan|gcov|llvm)\w*|_GLOBAL_OFFSET_TABLE_")


def symbols(*words):
    library = BUILD / "src/core/libcore.a"
    if not library.exists():
        pytest.skip(f"{library} is not built")
    output = subprocess.run(["nm", *words, str(library)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            encoding="ascii", check=True).stdout
    return {line.split()[-1] for line in output.splitlines() if line and not line.endswith(":")}


def is_allowed(symbol):
    plain = re.fullmatch(r"__(\w+)_chk", symbol)
    return symbol in LIBC or (plain and plain[1] in LIBC) or OF_BASE.fullmatch(symbol) \
        or INSTRUMENTED.fullmatch(symbol)


def test_core_needs_nothing_but_text_functions_and_base():
    outside = symbols("-u") - symbols("--defined-only")
    assert [symbol for symbol in sorted(outside) if not is_allowed(symbol)] == []
    assert "arena_printf" in outside, "nm says nothing, so this proves nothing"


def test_core_has_no_writable_state():
    """Neither .data nor .bss: the same facts give the same answer, always."""
    library = BUILD / "src/core/libcore.a"
    if not library.exists():
        pytest.skip(f"{library} is not built")
    output = subprocess.run(["nm", str(library)], stdout=subprocess.PIPE, encoding="ascii", check=True).stdout
    writable = [line.split()[-1] for line in output.splitlines()
                if re.match(r"[0-9a-f]+ [bBdDC] ", line) and not INSTRUMENTED.match(line.split()[-1])
                and not re.match(r"\.?L|__compound", line.split()[-1])]
    # tables of pointers are written once, by the linker, and read-only after that
    assert writable == [symbol for symbol in writable if symbol in relocated(library)]


def relocated(library):
    """Symbols in .data.rel.ro."""
    output = subprocess.run(["objdump", "-t", str(library)], stdout=subprocess.PIPE, encoding="ascii",
                            check=True).stdout
    return {line.split()[-1] for line in output.splitlines() if ".data.rel.ro" in line}


@pytest.mark.parametrize("symbol", ["malloc", "clock_gettime", "open", "write", "printf", "getenv", "rand", "socket",
                                    "loop_new", "store_open", "__fprintf_chk"])
def test_the_list_lets_nothing_else_through(symbol):
    assert not is_allowed(symbol)
