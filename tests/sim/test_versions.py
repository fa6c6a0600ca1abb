"""Clients and brokers of 5.x beside those of 4.8.0: what was recorded is reached, and each difference is seen alone."""

from __future__ import annotations

import ast
import itertools
import json
import re
from dataclasses import fields

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.events import Pull
from rmqlab.protocol.codes import RequestCode
from rmqlab.rules import DEFAULT_VERSION, RULES, Rules
from rmqlab.scenario.scenario import convert_scenario, read_scenarios
from rmqlab.scenario.schedule import Timing
from rmqlab.sim.cluster import cluster_of
from rmqlab.sim.simulate import simulate
from rmqlab_tools.cli.cli import main
from rmqlab_tools.show.rule_differences import DECIDES, FUNCTION_WORDS, method_of, rules_between
from tests.proof.fixed_chooser import FixedChooser
from tests.proof.recorded_outcomes import RecordedVerdict, compare

LINE = "no rules of version '5.9'; there are those of 4.8.0, 5.3.3, 5.5.0"
GROUP = {"A": {"T": "tagA"}, "B": {"T": "tagB"}}
START = {"at": 0, "do": "start", "who": "A", "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "a"}}}
LOSS = {"id": "x", "topics": {"T": 4}, "steps": [START]}


@pytest.mark.row("S-79", "S-82")
def test_the_recorded_outcomes_of_5_5_0_are_reached(golden):
    folder = golden / "broker-5.5.0" / "push"
    results = list(compare(folder, read_scenarios(folder / "scenarios.jsonl"), seeds=10))
    assert len(results) == 29
    assert {one.verdict for one in results} == {RecordedVerdict.SAME, RecordedVerdict.REACHED}


def test_the_rules_of_4_8_0_are_the_usual_values():
    assert RULES["4.8.0"] == Rules("4.8.0")
    assert DEFAULT_VERSION == "4.8.0"


def test_no_code_asks_which_version_it_is(root):
    """What a version decides is a rule; only the words of SQL92 are looked up by the grammar's name."""
    found = []
    for path in sorted([*(root / "rmqlab").rglob("*.py"), *(root / "rmqlab_tools").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare):
                operands = itertools.chain.from_iterable(ast.walk(one) for one in (node.left, *node.comparators))
                if any(isinstance(one, ast.Constant) and one.value in set(RULES) for one in operands):
                    found.append(f"{path.name}:{node.lineno}")
    assert [one for one in found if not one.startswith("tokens.py")] == []


# The table of versions, what it is made of, the words of each grammar; lesson 14 compares recordings of two versions,
# and lesson 16 a proposal that was made for 5.5.0 with 4.8.0.
NAMING = {"rules.py", "rules_of_5.py", "rules_of_pop.py", "wire.py", "tokens.py", "checks_14.py", "checks_16.py"}
OF_A_VERSION = re.compile("|".join(rf"(?<![A-Z0-9])\w+_{version.replace('.', '_')}$" for version in RULES))


def test_no_code_outside_the_tables_names_a_version(root):
    """Neither as a text nor as a name such as WIRE_5_5_0: a new version is an entry of the tables alone."""
    found = []
    for path in sorted([*(root / "rmqlab").rglob("*.py"), *(root / "rmqlab_tools").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Constant(value=str(text)) if text in RULES:
                    named = text
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) if OF_A_VERSION.search(name):
                    named = name
                case _:
                    continue
            if path.name not in NAMING:
                found.append(f"{path.name}:{node.lineno}: {named}")
    assert found == []


@pytest.mark.parametrize(("old", "new"), list(itertools.permutations(RULES, 2)))
def test_every_difference_is_told_in_words_with_its_method(old, new):
    rows = rules_between(old, new)
    names = {one.rule.partition(".")[0] for one in rows}
    expected = {one.name for one in fields(Rules)[1:] if getattr(RULES[old], one.name) != getattr(RULES[new], one.name)}
    assert names == expected
    for row in rows:
        assert row.decides == DECIDES[row.rule]
        assert row.old != row.new
        assert "." in row.method or row.rule == "sql92", row
    for version, name in itertools.product((old, new), expected):
        rule = getattr(RULES[version], name)
        assert not callable(rule) or rule in FUNCTION_WORDS, name


def test_a_version_does_not_differ_from_itself():
    assert rules_between("5.5.0", "5.5.0") == []


@pytest.mark.parametrize("version", RULES)
def test_every_rule_names_class_and_method_in_every_version(version):
    assert [one.name for one in fields(Rules)[1:] if not method_of(RULES[version], one.name)] == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: rmqlab.Lab(topics={"T": 4}, version="5.9"),
        lambda: rmqlab.simulate(LOSS, version="5.9"),
        lambda: rmqlab.explore(LOSS, version="5.9"),
        lambda: rmqlab.lint(GROUP, version="5.9"),
        lambda: rmqlab.plan("tagA", "tagB", version="5.9"),
        lambda: rmqlab.serve(version="5.9"),
        lambda: rmqlab.sql92("a > 3", version="5.9"),
        lambda: rmqlab.rules_between("4.8.0", "5.9"),
    ],
    ids=["Lab", "simulate", "explore", "lint", "plan", "serve", "sql92", "rules_between"],
)
def test_a_version_that_is_not_there_is_one_line_that_names_those_that_are(call):
    with pytest.raises(BadInput) as raised:
        call()
    assert str(raised.value) == LINE


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "{file}", "--version", "5.9"],
        ["explore", "{file}#x", "--version", "5.9"],
        ["lint", "--member", "A:T=a", "--version", "5.9"],
        ["plan", "tagA", "tagB", "--version", "5.9"],
        ["serve", "--version", "5.9"],
        ["sql92", "a > 3", "--version", "5.9"],
        ["rules", "--version", "5.9"],
        ["rules", "--between", "5.9", "4.8.0"],
    ],
    ids=lambda one: " ".join(one[:1] + one[-2:-1]),
)
def test_every_verb_says_it_in_one_line(arguments, tmp_path, capsys):
    file = tmp_path / "scenarios.jsonl"
    file.write_text(json.dumps(LOSS) + "\n")
    assert main([one.format(file=file) for one in arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"rmqlab {arguments[0]}: {LINE}\n"


def test_a_version_and_rules_of_another_do_not_fit_together():
    with pytest.raises(BadInput, match=r"version is '5\.5\.0' and rules are those of 4\.8\.0; give one of the two"):
        rmqlab.Lab(topics={"T": 4}, version="5.5.0", rules=RULES["4.8.0"])


def test_words_of_5_are_a_filter_since_5():
    messages = [{"a": "xyz"}, {"a": "abc"}]
    received = {}
    for version in ("4.8.0", "5.5.0"):
        lab = rmqlab.Lab(topics={"T": 1}, version=version)
        lab.consumer("A", group="G", sql92={"T": "a STARTSWITH 'x'"})
        lab.run(seconds=30)
        lab.send("T", properties=messages)
        lab.run(seconds=30)
        received[version] = [body for _, body, _ in lab.finish().outcome().consumed]
    assert received["5.5.0"] == ["MsgStr0"]
    assert received["4.8.0"] == []


@pytest.mark.parametrize(("version", "first", "gets"), [("5.5.0", 1, []), ("4.8.0", 0, ["m"])])
@pytest.mark.parametrize("kind", ["lite", "push"])
def test_a_message_that_comes_between_two_questions_for_an_offset_is_skipped_by_5_x(kind, version, first, gets):
    """A broker of 5.x knows no offset of a new group on an empty queue: the client asks for the queue's end."""
    steps = [
        {"at": 0, "do": "start", "who": "A", "group": "G", "kind": kind, "subscribe": {"T": {"expr": "a"}}},
        {"at": 1_120, "do": "send", "topic": "T", "messages": [{"tag": "a", "body": "m"}]},
        {"at": 40_000, "do": "offsets"},
    ]
    late = {f"thread A {int(RequestCode.QUERY_CONSUMER_OFFSET)}": 1}
    run = simulate(
        convert_scenario({"id": "x", "topics": {"T": 1}, "steps": steps}),
        timing=Timing(thread_us=(0, 80_000)), chooser=FixedChooser(late), cluster=cluster_of({}, RULES[version]),
    )  # fmt: skip
    pulls = [fact.event for fact in run.facts.of(Pull) if fact.event.topic == "T"]
    assert (pulls[0].offset, run.outcome().bodies_of("A")) == (first, gets)
