"""proto/ says what Vitess says, and the check that proves it can fail."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERSION = "v0.24.4"


def check(*args):
    return subprocess.run([ROOT / "tools/check-proto", *args], capture_output=True, text=True)


@pytest.fixture(scope="module")
def vitess():
    cache = os.environ.get("LOCAL_VITESS_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vtddl")
    folder = pathlib.Path(cache, "proto", VERSION)
    if folder.is_dir():
        return folder
    if not shutil.which("go"):
        pytest.skip("neither %s nor Go to fetch Vitess's .proto files with" % folder)
    made = subprocess.run([ROOT / "tools/local-vitess", "proto-dir", VERSION], stdout=subprocess.PIPE,
                          text=True, check=True)
    return pathlib.Path(made.stdout.split()[-1])


def changed(tmp_path, name, old, new):
    """A copy of proto/ with one thing changed."""
    ours = tmp_path / "proto"
    shutil.copytree(ROOT / "proto", ours)
    text = (ours / name).read_text()
    assert text.count(old) == 1
    (ours / name).write_text(text.replace(old, new))
    return ours


def test_every_message_is_as_in_vitess(vitess):
    result = check(vitess)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 known differences, 0 others" in result.stdout


@pytest.mark.parametrize("name, old, new, key", [
    ("vtctldata.proto", "string stage = 49;", "string stage = 56;", "field vtctldata.SchemaMigration.stage"),
    ("vtctldata.proto", "string stage = 49;", "bytes stage = 49;", "field vtctldata.SchemaMigration.stage"),
    ("vtctldata.proto", "string stage = 49;", "repeated string stage = 49;",
     "field vtctldata.SchemaMigration.stage"),
    ("vtctldata.proto", "string stage = 49;", "string step = 49;", "field vtctldata.SchemaMigration.step"),
    ("vtctldata.proto", "RUNNING = 5;", "RUNNING = 8;", "value vtctldata.SchemaMigration.Status.RUNNING"),
    ("vtctldata.proto", "map<string, Shard> shards = 1;", "map<string, Keyspace> shards = 1;",
     "field vtctldata.FindAllShardsInKeyspaceResponse.ShardsEntry.value"),
    ("vtctlservice.proto", "rpc GetTablets(", "rpc GetTabletz(", "method vtctlservice.Vtctld.GetTabletz"),
])
def test_one_changed_thing_is_found(vitess, tmp_path, name, old, new, key):
    result = check("--ours", changed(tmp_path, name, old, new), vitess)
    assert result.returncode == 1
    assert "DIFFERENT: %s:" % key in result.stdout


def test_a_known_difference_that_is_none_is_found(vitess, tmp_path):
    ours = tmp_path / "proto"
    shutil.copytree(ROOT / "proto", ours)
    with open(ours / "allowed-differences.txt", "a") as file:
        file.write("%s field vtctldata.Keyspace.name\n" % VERSION)
    result = check("--ours", ours, vitess)
    assert result.returncode == 1
    assert "DIFFERENT: field vtctldata.Keyspace.name" in result.stdout


def test_a_missing_folder_is_not_a_pass(tmp_path):
    assert check(tmp_path).returncode == 2
