"""The planner for groups that pop: the same procedures, played by members that pop, and what to do there."""

from __future__ import annotations

from functools import cache

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.scenario.scenario import POPPING, PYTHON, Start
from rmqlab_tools.cli.cli import main
from rmqlab_tools.search.plan.change import change_between, parse_subscription
from rmqlab_tools.search.plan.checklist import checklist
from rmqlab_tools.search.plan.plan_text import plan_lines
from rmqlab_tools.search.plan.procedures import PROCEDURES

pytestmark = pytest.mark.slow
CHANGE = change_between(parse_subscription("tagA", "OLD"), parse_subscription("tagB", "NEW"))


@cache
def planned(kind):
    """One procedure that loses and one that does not, few schedules each."""
    return rmqlab.plan(
        "tagA", "tagB", kind=kind, budget=2, every_ms=1_000, procedures=["one-by-one", "stop-all"], producers=["keep"]
    )


@pytest.mark.parametrize("kind", sorted(POPPING - PYTHON.keys()))
def test_members_that_differ_for_a_while_go_past_what_they_do_not_want(kind):
    found = planned(kind)
    starts = [step for tried in found.tried for step in tried.course.scenario.steps if isinstance(step, Start)]
    assert {step.kind for step in starts} == {kind}
    by_name = {tried.procedure.name: tried for tried in found.tried}
    assert by_name["stop-all"].lossless
    lost = by_name["one-by-one"].lost
    assert lost
    assert {one.fate for one in lost} <= {"skipped_by_pop", "acked_by_proxy"}
    text = "\n".join(map(str, plan_lines(found, verbose=True)))
    assert f"Members pop ({kind}), by the rules of 5.5.0" in text
    assert "'s pop, which carried tag" in text
    assert "the broker held" not in text
    assert found.as_json()["kind"] == kind


@pytest.mark.parametrize("procedure", PROCEDURES, ids=lambda procedure: procedure.name)
@pytest.mark.parametrize("kind", ["push", "pop", "grpc", "simple"])
def test_a_checklist_is_of_the_way_that_members_fetch(procedure, kind):
    steps = checklist(procedure, CHANGE, kind)
    text = " ".join(steps)
    pops, proxied = kind in POPPING, kind in {"grpc", "simple"}
    assert ("%RETRY%GROUP_TOPIC" in text) == pops
    assert not (pops and "The gauge flips" in text), "no slot flips there"
    if procedure.name == "one-by-one":
        assert ("goes past it. That holds for retries too" in text) == pops
    if procedure.name in {"one-by-one", "stop-all"}:
        assert ("--proxy HOST:PORT" in text) == proxied
    asked = [step for step in checklist(procedure, CHANGE) if step.startswith(("Producers ", "Have the producers"))]
    assert [step for step in steps if step.startswith(("Producers ", "Have the producers"))] == asked


def test_kinds_and_versions_that_do_not_fit_are_refused(capsys):
    with pytest.raises(BadInput, match=r"kind is pop: 4.8.0 has no POP; use push, or a version of 5.3.3"):
        rmqlab.plan("tagA", "tagB", kind="pop", version="4.8.0")
    with pytest.raises(BadInput, match=r"kind is 'lite'; it is one of push, grpc, pop, simple"):
        rmqlab.plan("tagA", "tagB", kind="lite")
    assert main(["plan", "tagA", "tagB", "--kind", "grpc", "--version", "4.8.0"]) == 2
    assert "4.8.0 has no POP" in capsys.readouterr().err


def test_the_verb_plays_members_that_pop(capsys):
    arguments = ["--kind", "pop", "--budget", "1", "--procedure", "stop-all", "--producers", "keep", "--members", "1"]
    assert main(["plan", "tagA", "tagB", *arguments]) == 1, "it asks the producers to stop what only OLD takes"
    said = capsys.readouterr().out
    assert "Members pop (pop), by the rules of 5.5.0" in said
    assert "%RETRY%GROUP_TOPIC" in said
