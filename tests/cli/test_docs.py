"""The pages that the program prints itself are those in docs/, and the example file is accepted."""

import pytest

import generate_docs
from conftest import ROOT


@pytest.mark.parametrize("page", generate_docs.PAGES)
def test_the_page_is_what_the_program_prints(page):
    assert (ROOT / page).read_text(encoding="utf-8") == generate_docs.PAGES[page](), \
        "run tests/cli/generate_docs.py"


def test_every_setting_of_the_example_file_is_known_and_every_known_one_is_in_it(vtddl, tmp_path):
    example = (ROOT / "packaging/vtddl.conf").read_text(encoding="utf-8")
    live = tmp_path / "vtddl.conf"
    live.write_text("\n".join(line[1:] if line.startswith("#") and " = " in line and not line.startswith("# ")
                              else line for line in example.splitlines()) + "\n", encoding="utf-8")
    shown = vtddl.run("config", "show", "--config", live)
    assert shown.returncode == 0, shown.stderr
    defaults = [line.split()[0] for line in shown.stdout.splitlines() if line.endswith("# default") or
                "# default," in line]
    assert defaults == []
