"""A one-shot command does not pay for the server: libmicrohttpd is loaded by who serves, and linked by nobody."""

import re
import shutil
import subprocess

import pytest

from conftest import BUILD


@pytest.mark.parametrize("program", ["vtddl", "tests/http/http_demo"])
def test_libmicrohttpd_is_not_linked(program):
    if not (BUILD / program).exists() or not shutil.which("readelf"):
        pytest.skip("not built, or no readelf")
    out = subprocess.run(["readelf", "-d", str(BUILD / program)], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", out)
    assert "libc.so.6" in needed
    assert [name for name in needed if "microhttpd" in name or "gnutls" in name] == []
