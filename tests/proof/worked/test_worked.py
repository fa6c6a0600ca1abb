"""Every worked example fits this tree, alone and with the others, and its page shows it as it is."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from rmqlab.checkout import ROOT
from tests.proof.worked.patches import EXAMPLES, FOLDER, PAGES, apply, files_of, ids_of, patch_of, renewed

RENEW = """
`python -m tests.proof.worked edit {0} FOLDER` lays out a copy with what fits. Mend it there, then
`python -m tests.proof.worked take {0} FOLDER` makes patch and page anew."""


def test_every_example_has_its_patch_and_its_page():
    assert sorted(path.stem for path in FOLDER.glob("*.patch")) == sorted(EXAMPLES)
    assert sorted(path.stem for path in PAGES.glob("*.md")) == sorted([*EXAMPLES, "index"])
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f"({name}.md)" not in index or f"add/{name}.md)" not in contributing] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_patch_applies(name, tried):
    _, complaints = tried
    assert name not in complaints, complaints[name] + RENEW.format(name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_page_shows_the_patch(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page == renewed(page, name), "`python -m tests.proof.worked pages` writes its blocks anew"
    shown = set(re.findall(r"^\+\+\+ (\S+)$", page, re.MULTILINE))
    assert shown >= {path for path in files_of(name) if not path.endswith(".ipynb")}
    assert any(test.partition("::")[0] in shown for test in ids_of(name))


def test_what_they_write_is_clean(tried):
    tree, _ = tried
    files = [path for name in EXAMPLES for path in files_of(name) if path.endswith(".py")]
    for what in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *what, "--no-cache", *files]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_a_patch_that_no_longer_fits_is_told(tried):
    tree, _ = tried
    assert "patch does not apply" in apply(patch_of("rule"), tree)  # it is there already


def test_a_page_cannot_quote_what_the_patch_has_not():
    with pytest.raises(KeyError, match=r"gone\.py"):
        renewed("```diff\n+++ gone.py\n+x\n```\n", "rule")
