"""SECURITY.md promises what the code keeps: the sandbox, the questions of `doctor`, the limits of expressions."""

from __future__ import annotations

import re

import pytest

from rmqlab import __version__
from rmqlab.checkout import ROOT
from rmqlab_tools.cli.cli import parser_of
from rmqlab_tools.doctor.read_client import READ_CODES
from rmqlab_tools.search.expressions import findings
from tests.proof.workshop.sandbox import PROMISES

TEXT = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())


def promised(text: str) -> list[str]:
    """What stands behind "The sandbox promises:", clause by clause."""
    (found,) = re.findall(r"The sandbox promises: (.*?)\. Where a machine cannot", text)
    clauses = found.split("; ")
    return [" ".join(one.split()) for one in clauses]


def test_the_sandbox_promises_in_one_wording():
    assert promised(TEXT) == "; ".join(PROMISES.values()).split("; ")


@pytest.mark.parametrize("name", PROMISES)
def test_the_verbs_help_says_each_promise_whole(name):
    told = " ".join(parser_of("workshop").format_help().split())
    assert f"{name} {PROMISES[name]}" in told


def test_a_machine_that_cannot_keep_one_is_told_which():
    assert "the verb says which, and runs nothing without `--trust`" in TEXT
    assert "--trust" in parser_of("workshop").format_help()


def test_the_questions_of_doctor_are_counted():
    assert f"{len(READ_CODES)} request codes that change nothing" in TEXT


def test_the_limits_of_expressions_are_those_of_the_code():
    assert f"examined up to {findings.LONGEST_EXAMINED:,} characters" in TEXT


def test_the_version_that_is_mended_is_the_one_there_is():
    assert f"newest release of {__version__.partition('.')[0]}.x" in TEXT


def test_a_promise_that_only_one_of_the_two_makes_is_seen():
    assert promised("The sandbox promises: a; b, c. Where a machine cannot") == ["a", "b, c"]
