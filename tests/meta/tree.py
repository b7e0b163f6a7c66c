"""The files of the tree, for the tests that read them."""

import functools
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD_DIR") or ROOT / "build").absolute()
SKIPPED = {".git", ".pytest_cache", "__pycache__", "subprojects"}


@functools.cache
def all_files():
    """What git would put into a release; in a tarball without git everything but build folders."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
                 if not path.relative_to(ROOT).parts[0].startswith("build")]
    return sorted(path for path in (ROOT / name for name in names)
                  if path.is_file() and not SKIPPED & set(path.relative_to(ROOT).parts))


def files(*folders, suffixes=(".c", ".h")):
    return [path for path in all_files() if path.suffix in suffixes
            and any(path.is_relative_to(ROOT / folder) for folder in folders)]


def name_of(path):
    return str(path.relative_to(ROOT))
