"""The page of attacks says what there is."""

from __future__ import annotations

from rmqlab.checkout import ROOT
from tests.proof.stress.attacks import PAGE, SURFACES, counted, put, runs, runs_table, tests_table


def test_the_page_has_the_counts_of_today():
    """`python -m tests.proof.stress.attacks` writes them."""
    text = PAGE.read_text("utf-8")
    assert put(text, "tests", tests_table(counted())) == text
    assert put(text, "runs", runs_table(runs())) == text


def test_every_hostile_module_is_on_the_page():
    named = {module for modules in SURFACES.values() for module in modules}
    own = f"tests/hostile/{__file__.rpartition('/')[2]}"
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/hostile").glob("test_*.py")}
    assert found - named == {own}


def test_no_finding_is_left_open():
    assert [row.wrong for row in runs() if row.wrong] == []
