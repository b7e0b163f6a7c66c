"""Folders are layers: base <- core <- {wire, mysql, store, http} <- engine <- cli; and each library has one door."""

import re

import pytest

from tree import ROOT, files, name_of

# what a folder may include of the others, beside itself
BELOW = {
    "base": set(),
    "core": {"base"},
    "wire": {"base", "core"},
    "mysql": {"base", "core"},
    "store": {"base", "core", "mysql"},
    "http": {"base"},
    "engine": {"base", "core", "wire", "mysql", "store"},
    "cli": {"base", "core", "wire", "mysql", "store", "http", "engine"},
}
# whose a header of include/vtddl is
HEADERS = {
    "base": {"arena", "banned", "clock", "digest", "error", "log", "strbuf"},
    "core": {"change", "ddl", "identity", "observation", "rules", "schedule", "vtctld"},
    "wire": {"wire"},
    "mysql": {"mysql", "vtgate"},
    "store": {"store"},
    "http": {"http", "metrics"},
    "engine": {"engine", "loop"},
}
# a library's headers, and the files that may include them
DOORS = {
    r"grpc/": {"src/wire/wire.c", "src/wire/channel.c", "src/wire/channel.h", "tools/vtctldsim/server.c"},
    r"(mysql|mysqld_error|errmsg|mariadb\w*)\.h$|(mysql|mariadb)/": {"src/mysql/"},
    r"sqlite3": {"src/store/"},
    r"ini\.h": {"src/cli/config.c"},
    r"openssl/": {"src/wire/credentials.c", "src/base/digest.c"},
    r"protobuf-c/|.*\.pb-c\.h": {"src/wire/", "tools/vtctldsim/codec.c", "tools/bench-decode.c"},
    r"jansson": {"src/wire/credentials.c", "src/cli/", "tools/vtctldsim/"},
    r"pthread|threads\.h": {"src/engine/proof.c", "src/engine/store_worker.c", "src/wire/", "src/base/log.c",
                            "src/base/crash_point.c", "src/cli/serve_", "src/mysql/", "src/http/"},
    r"microhttpd\.h": {"src/http/mhd.h"},
    r"sys/socket|netdb|poll\.h|sys/epoll": {"src/cli/notify.c", "src/http/"},
}


def includes(path):
    return re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', path.read_text(encoding="utf-8"), re.M)


def layer_of_header(name):
    return next((layer for layer, names in HEADERS.items() if name in names), None)


def test_every_public_header_belongs_to_a_layer():
    found = {path.stem for path in files("include/vtddl")}
    assert found == set().union(*HEADERS.values())


def test_every_folder_of_src_is_a_layer():
    assert {path.relative_to(ROOT / "src").parts[0] for path in files("src")} == set(BELOW)


def wrong_includes(layer, path):
    allowed = BELOW[layer] | {layer}
    for name in includes(path):
        public = re.fullmatch(r"vtddl/(\w+)\.h", name)
        other = re.fullmatch(r"\.\./(\w+)/.*", name) or re.fullmatch(r"src/(\w+)/.*", name)
        of = layer_of_header(public[1]) if public else other[1] if other else layer
        if of not in allowed:
            yield f"{name_of(path)} includes {name}, of {of}"


@pytest.mark.parametrize("layer", BELOW)
def test_a_folder_sees_only_the_layers_below(layer):
    wrong = [line for path in files(f"src/{layer}") for line in wrong_includes(layer, path)]
    assert wrong == []


@pytest.mark.parametrize("layer", HEADERS)
def test_a_public_header_sees_only_the_layers_below(layer):
    wrong = [line for name in HEADERS[layer] for line in wrong_includes(layer, ROOT / f"include/vtddl/{name}.h")]
    assert wrong == []


@pytest.mark.parametrize("library", DOORS)
def test_a_library_is_included_in_one_place(library):
    wrong = [f"{name_of(path)} includes {name}" for path in files("src", "include", "tools", "tests/sim")
             for name in includes(path) if re.match(library, name)
             and not any(name_of(path).startswith(door) for door in DOORS[library])]
    assert wrong == []


def test_a_source_includes_its_own_header_first():
    wrong = []
    for path in files("src", "tools", "tests/sim", suffixes=(".c",)):
        own = [name for name in (f"{path.stem}_private.h", f"{path.stem}.h", f"vtddl/{path.stem}.h")
               if (path.parent / name).exists() or (ROOT / "include" / name).exists()]
        if own and includes(path)[0] not in own:
            wrong.append(f"{name_of(path)} includes {includes(path)[0]} before {own[0]}")
    assert wrong == []


def test_the_check_itself_can_fail(tmp_path, monkeypatch):
    bad = tmp_path / "bad.c"
    bad.write_text('#include "vtddl/store.h"\n#include "../cli/json.h"\n#include "vtddl/arena.h"\n', encoding="ascii")
    monkeypatch.setitem(globals(), "name_of", lambda path: path.name)
    assert list(wrong_includes("core", bad)) == ["bad.c includes vtddl/store.h, of store",
                                                 "bad.c includes ../cli/json.h, of cli"]
