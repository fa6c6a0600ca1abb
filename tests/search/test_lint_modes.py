"""lint knows how members fetch: its words, its examples and its advice are those of pull, of POP, or of a mixture."""

from __future__ import annotations

import json

import pytest

import rmqlab
from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.run.fates import Fate
from rmqlab_tools.cli.cli import main
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.search.lint.members import read_groups

PAIR = {"A": {"T": "tagA"}, "B": {"T": "tagB"}}


@pytest.mark.parametrize("kind", ["pop", "grpc", "simple"])
def test_a_group_that_pops_is_judged_by_who_stands_first_in_line(kind):
    found = rmqlab.lint(PAIR, kind=kind)
    assert (found.verdict, found.rules.version) == (LintVerdict.INCONSISTENT, "5.5.0")
    (topic,) = found.topics
    assert topic.pops
    for example in topic.witnesses:
        assert example.losses == (), "no slot filters pops"
        assert {waiter.first: waiter.fate for waiter in example.waiters} == {
            client: Fate.DELIVERED if client in example.asked else Fate.SKIPPED_BY_POP for client in "AB"
        }
    text = str(found)
    assert "The broker holds the subscription" not in text
    assert "the next pop of the first goes past it" in text
    assert "popped with the popper's own expression" in text
    assert ("it acknowledges itself" in text) == (kind != "pop")
    assert "or * and choose in the listener" in text


def test_what_is_said_of_the_line_happens():
    """B waits before A, a message of A comes, then one of B: the first one is skipped."""
    subscribe = {who: {"T": {"type": "TAG", "expr": f"tag{who}"}} for who in "AB"}
    steps = [
        {"at": 0, "do": "start", "who": "B", "group": "G", "kind": "pop", "subscribe": subscribe["B"]},
        {"at": 3_000, "do": "start", "who": "A", "group": "G", "kind": "pop", "subscribe": subscribe["A"]},
        {"at": 8_000, "do": "send", "topic": "T", "messages": [{"tag": "tagA", "body": "first", "queue": 0}]},
        {"at": 9_000, "do": "send", "topic": "T", "messages": [{"tag": "tagB", "body": "second", "queue": 0}]},
        {"at": 60_000, "do": "offsets"},
    ]
    run = rmqlab.simulate({"id": "line", "topics": {"T": 1}, "steps": steps}, version="5.5.0")
    fates = {fate.body: fate.fate for fate in run.fates()}
    assert fates == {"first": Fate.SKIPPED_BY_POP, "second": Fate.DELIVERED}


def test_other_topics_cost_nothing_where_all_pop():
    members = {"A": {"T": "tagA"}, "B": {"U": "tagB"}}
    assert rmqlab.lint(members).verdict is LintVerdict.INCONSISTENT
    found = rmqlab.lint(members, kind="grpc")
    assert found.verdict is LintVerdict.CONSISTENT
    assert "pops none of it" in str(found)
    assert not any("heartbeat" in note for note in found.notes)


def test_mixed_ways_are_said_and_not_worked_out():
    found = rmqlab.lint(PAIR, kind={"B": "grpc"})
    assert found.kinds == {"push": ("A",), "grpc": ("B",)}
    assert all(example.losses == example.waiters == () for example in found.topics[0].witnesses)
    assert "The group mixes ways to fetch (push: A; grpc: B)" in str(found)
    assert "where some pull and some pop is not worked out" in str(found)
    same = rmqlab.lint({"A": {"T": "tagA"}, "B": {"T": "tagA"}}, kind={"B": "pop"})
    assert same.verdict is LintVerdict.CONSISTENT
    assert "Messages may be taken twice" in str(same), "also where both ask for the same"
    assert "mixes" not in str(rmqlab.lint(PAIR, kind={"A": "pop", "B": "grpc"})), "both pop"


@pytest.mark.parametrize(("kind", "noted"), [("push", True), ("pop", True), ("grpc", False), ("simple", False)])
def test_sql92_needs_the_property_filter_but_over_grpc(kind, noted):
    found = rmqlab.lint({"A": {"T": "SQL92:a > 3"}, "B": {"T": "tagB"}}, kind=kind)
    assert any("enablePropertyFilter" in note for note in found.notes) == noted
    assert any("under a TAG slot" in note for note in found.notes) == (kind == "push")


def test_what_is_wrong_is_named():
    with pytest.raises(BadInput, match=r"A is of kind pop: 4.8.0 has no POP; use push or lite, or a version of 5.3.3"):
        rmqlab.lint(PAIR, kind="pop", version="4.8.0")
    with pytest.raises(BadInput, match=r"kind is .gprc.; it is one of push, lite, pop, grpc, simple; did you mean"):
        rmqlab.lint(PAIR, kind={"A": "gprc"})


def test_the_kind_is_an_argument_and_a_field(capsys, tmp_path):
    pair = ["--member", "A:T=tagA", "--member", "B:T=tagB"]
    assert main(["lint", *pair, "--kind", "pop", "--kind", "B=push", "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["groups"][0]["kinds"] == {"pop": ["A"], "push": ["B"]}
    file = tmp_path / "members.json"
    members = [{"client": who, "subscribe": {"T": f"tag{who}"}, "kind": "simple"} for who in "AB"]
    file.write_text(json.dumps({"group": "G", "members": members}))
    assert main(["lint", str(file)]) == 1
    assert "first in line" in capsys.readouterr().out
    for arguments, problem in (
        ([*pair, "--kind", "C=pop"], "no member is called C"),
        ([*pair, "--kind", "A=push-ish"], "kind is 'push-ish'"),
        ([str(file), "--kind", "pop"], "a file has kind beside client"),
        ([str(file), "--version", "4.8.0"], "4.8.0 has no POP"),
    ):
        assert main(["lint", *arguments]) == 2
        assert problem in capsys.readouterr().err
    file.write_text(json.dumps({"members": [{"client": "A", "subscribe": {}, "kind": 3}]}))
    assert main(["lint", str(file)]) == 2


def test_the_members_of_a_scenario_have_its_kinds(tmp_path):
    subscribe = {"T": {"type": "TAG", "expr": "a"}}
    starts = [
        {"at": 0, "do": "start", "who": kind, "group": "G", "kind": kind, "subscribe": subscribe}
        for kind in ("push", "lite", "pop", "grpc", "simple", "py", "pysimple")
    ]
    file = tmp_path / "scenario.jsonl"
    file.write_text(json.dumps({"id": "all", "topics": {"T": 1}, "steps": starts}))
    (group,) = read_groups(f"{file}#all").values()
    assert {member.client: (member.kind, member.settings["consumeType"]) for member in group.members} == {
        "push": ("push", "CONSUME_PASSIVELY"), "lite": ("lite", "CONSUME_ACTIVELY"),
        "pop": ("pop", "CONSUME_PASSIVELY"),
        "py": ("grpc", "CONSUME_PASSIVELY"),
        "pysimple": ("simple", "CONSUME_ACTIVELY"),
        "grpc": ("grpc", "CONSUME_PASSIVELY"), "simple": ("simple", "CONSUME_ACTIVELY"),
    }  # fmt: skip


def test_a_recording_says_who_pops():
    groups = read_groups(str(checkout_path("data") / "golden" / "broker-5.3.3" / "pop"))
    kinds = {name: {member.kind for member in group.members} for name, group in groups.items()}
    assert sum(found == {"pop"} for found in kinds.values()) > len(kinds) / 2
    assert set().union(*kinds.values()) <= {"pop", "push"}
