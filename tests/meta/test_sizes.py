"""Files of at most 600 lines, functions of at most 70."""

import re

from tree import files, name_of

FILE_MAX, FUNCTION_MAX = 600, 70

# file or file:function -> why it may be longer. Kept empty if at all possible.
EXCEPTIONS = {}


def sources():
    return files("src", "include", "tools", "tests/sim")


def functions(text):
    """(name, lines) of every function: from the line of its name to the closing brace in the first column."""
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if line.startswith("{") and number:
            start = number
            while start and not re.match(r"\w", lines[start]):
                start -= 1
        elif line.startswith("}") and start is not None:
            name = re.search(r"(\w+)\s*\(", lines[start])
            yield (name[1] if name else lines[start]), number - start + 1
            start = None


def test_no_file_is_longer_than_600_lines():
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {name: length for name, length in lengths.items()
            if length > FILE_MAX and name not in EXCEPTIONS} == {}


def test_no_function_is_longer_than_70_lines():
    long = {f"{name_of(path)}:{name}": length for path in sources() if path.suffix == ".c"
            for name, length in functions(path.read_text(encoding="utf-8")) if length > FUNCTION_MAX}
    assert {name: length for name, length in long.items() if name not in EXCEPTIONS} == {}


def test_every_exception_is_still_needed():
    names = {name_of(path) for path in sources()}
    assert all(name.split(":")[0] in names for name in EXCEPTIONS)


def test_functions_are_found():
    text = "int f(int a,\n      int b)\n{\n\treturn a;\n}\n\nstatic const int t[] = {\n\t1,\n};\n\nvoid g(void)\n{\n}\n"
    assert list(functions(text)) == [("f", 5), ("g", 3)]
    assert sum(1 for path in sources() for _ in functions(path.read_text(encoding="utf-8"))) > 700
