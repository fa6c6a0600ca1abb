"""Whoever takes an expression says what is probably not meant by it, from the one list: surfaces and kinds of slips."""

from __future__ import annotations

import json
import warnings
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

import rmqlab
from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab_tools.cli.cli import main
from rmqlab_tools.doctor.expression_findings import examined
from rmqlab_tools.search.expressions.remarks import doubts

REFUSED = [
    ("a == 5", "single =", "a = 5"),
    ("a ＞ 5", "write ＞ as >", "a > 5"),
    ("a in ('x'，'y')", "，", "a in ('x','y')"),
]
READ_IN_PART = [("WHERE a > 5", "behind WHERE", "a > 5"), ("CAST(a AS INT) > 5", "no casts", "a > 5")]
ODD = [("'a' = 'x'", "without quotes", "a = 'x'"), ("(a = '1') and b = '2' or (c = '3')", "AND binds tighter", "")]
TAGS = [
    ("tagA|tagB", "two bars", "tagA || tagB"),
    ("tagA，tagB", "two bars", "tagA || tagB"),
    ("tag*", "no patterns", ""),
]
SQL = [*REFUSED, *READ_IN_PART, *ODD]
AS_TAG = [("a == 5", "SQL92", "a = 5"), ("a > 5", "SQL92", "")]


def page(name):
    path = str(checkout_path("docs") / "playgrounds" / f"{name}.py")
    loader = SourceFileLoader(name, path)
    module = module_from_spec(spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def warned(call):
    """What a call says: by warnings, and by what it raises."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            call()
        except BadInput as error:
            return str(error)
    return "\n".join(str(one.message) for one in said if one.category is rmqlab.ExpressionWarning)


def both(kind, text):
    return text if kind == "TAG" else f"SQL92:{text}"


def printed(kind, text, capsys):
    main(["sql92", text])
    return capsys.readouterr().out


def in_python(kind, text, capsys):
    told = rmqlab.sql92(text)
    advice = [f"{one.message} {one.advice} {one.write}" for one in told.findings]
    return repr(told) + "\n".join(advice)


def tags(kind, text, capsys):
    return warned(lambda: rmqlab.tags(text))


def lint(kind, text, capsys):
    def compared():
        found = rmqlab.lint({"A": {"T": both(kind, text)}, "B": {"T": "*"}})
        raise BadInput("\n".join(found.notes))

    return warned(compared)


def lint_verb(kind, text, capsys):
    main(["lint", "--sql92" if kind == "SQL92" else "--member", f"A:T={text}", "--member", "B:T=*"])
    told = capsys.readouterr()
    return told.out + told.err


def lint_file(kind, text, capsys, tmp_path):
    path = tmp_path / "members.json"
    wish = {"T": {"type": kind, "expr": text}}
    members = [{"client": "A", "subscribe": wish}, {"client": "B", "subscribe": {"T": {"type": "TAG", "expr": "*"}}}]
    path.write_text(json.dumps({"group": "G", "members": members}), encoding="utf-8")
    main(["lint", str(path)])
    return capsys.readouterr().out


def plan(kind, text, capsys):
    return warned(lambda: rmqlab.plan(both(kind, text), "tagC", members=1, budget=1))


def doctor(kind, text, capsys):
    refusal, said = examined(kind, text)
    return "\n".join([refusal or "", *said])


def lab(kind, text, capsys):
    wish = {"sql92": {"T": text}} if kind == "SQL92" else {"subscribe": {"T": text}}
    return warned(lambda: rmqlab.Lab(topics={"T": 1}).consumer("A", group="G", **wish))


def subscribed_anew(kind, text, capsys):
    cluster = rmqlab.Lab(topics={"T": 1})
    cluster.consumer("A", group="G", subscribe={"T": "*"})
    wish = {"sql92": text} if kind == "SQL92" else {"expression": text}
    return warned(lambda: cluster.subscribe("A", "T", **wish))


def scenario(kind, text):
    wish = {"T": {"type": kind, "expr": text}}
    steps = [{"do": "start", "at": 0, "who": "A", "group": "G", "subscribe": wish}, {"do": "offsets", "at": 3000}]
    return {"id": "s", "topics": {"T": 1}, "steps": steps}


def simulate(kind, text, capsys):
    return warned(lambda: rmqlab.simulate(scenario(kind, text)))


def simulate_verb(kind, text, capsys, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(scenario(kind, text)) + "\n", encoding="utf-8")
    main(["simulate", str(path), "--out", str(tmp_path / "events")])
    return capsys.readouterr().err


def explore_verb(kind, text, capsys, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(scenario(kind, text)) + "\n", encoding="utf-8")
    main(["explore", f"{path}#s", "--budget", "1", "--samples", "1"])
    return capsys.readouterr().err


def match(kind, text, capsys):
    state = {"type": kind, "expression": text, "tag": "x", "properties": []}
    return json.dumps(page("match").answer(state), ensure_ascii=False)


def group(kind, text, capsys):
    members = [{"client": "A", "topic": "T", "type": kind, "expression": text}]
    members.append({"client": "B", "topic": "T", "type": "TAG", "expression": "*"})
    answer = page("group").judge({"members": members, "queues": 4})
    return json.dumps(answer, ensure_ascii=False)


ACCEPTED = (lint, lint_verb, lint_file, doctor, match, group)
ASKED = [
    *((one, "SQL92", case) for one in (printed, in_python, *ACCEPTED) for case in SQL),
    *((one, "TAG", case) for one in (tags, *ACCEPTED) for case in TAGS),
    *((one, "TAG", case) for one in (tags, lint_file, doctor, match, lab, subscribed_anew) for case in AS_TAG),
    *((one, "SQL92", case) for one in (lab, subscribed_anew) for case in (REFUSED[0], READ_IN_PART[0], ODD[1])),
    *((one, "TAG", TAGS[0]) for one in (lab, subscribed_anew, plan, simulate, simulate_verb, explore_verb)),
    *((one, "SQL92", case) for one in (simulate, simulate_verb) for case in (READ_IN_PART[1], ODD[0])),
    (plan, "SQL92", REFUSED[1]),
    (simulate_verb, "SQL92", REFUSED[0]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("surface", "kind", "case"), ASKED, ids=lambda value: getattr(value, "__name__", str(value)[:24])
)
def test_each_surface_says_what_is_not_meant(surface, kind, case, capsys, tmp_path):
    text, says, write = case
    more = {"tmp_path": tmp_path} if "tmp_path" in surface.__code__.co_varnames[: surface.__code__.co_argcount] else {}
    told = surface(kind, text, capsys, **more).replace('\\"', '"')
    assert says in told
    assert write in told


@pytest.mark.parametrize("surface", [lint, lint_verb, lint_file, doctor, match, group, lab, simulate_verb])
def test_what_is_right_is_said_nothing_of(surface, capsys, tmp_path):
    more = {"tmp_path": tmp_path} if "tmp_path" in surface.__code__.co_varnames[: surface.__code__.co_argcount] else {}
    for kind, text in (("TAG", "tagA || tagB"), ("SQL92", "a > 5 AND b IN ('x')")):
        assert not doubts(kind, text)
        told = surface(kind, text, capsys, **more)
        assert "two bars" not in told
        assert "warning" not in told
