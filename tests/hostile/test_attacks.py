"""The page of attacks says no more than there is."""

from __future__ import annotations

from rmqlab.checkout import ROOT
from tests.proof.stress.attacks import PAGE, SURFACES, counted, put, runs, table_of_runs, table_of_tests


def test_the_page_counts_no_test_that_is_not_there():
    """`python -m tests.proof.stress.attacks` writes the counts; a new test need not wait for that."""
    today, text = counted(), PAGE.read_text("utf-8")
    said = {}
    for surface in SURFACES:
        (line,) = [line for line in text.splitlines() if line.startswith(f"{surface} ")]
        said[surface] = int(line.removeprefix(surface).split()[0].replace(",", ""))
    assert all(0 < said[surface] <= today[surface] for surface in SURFACES)
    assert put(text, "tests", table_of_tests(said)) == text


def test_the_page_has_the_runs_and_none_has_an_open_finding():
    text = PAGE.read_text("utf-8")
    assert put(text, "runs", table_of_runs(runs())) == text
    assert [row.wrong for row in runs() if row.wrong] == []


def test_every_hostile_module_is_on_the_page():
    named = {module for modules in SURFACES.values() for module in modules}
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/hostile").glob("test_*.py")}
    assert found - named == {"tests/hostile/test_attacks.py"}
