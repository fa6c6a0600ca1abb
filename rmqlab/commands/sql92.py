"""The verb `sql92`: compile a filter as the broker does, explain it, evaluate it step by step."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TextIO

from rmqlab.commands.output import text_stream, write_json
from rmqlab.errors import BadInput
from rmqlab.filter.sql92 import VERSIONS, MQFilterException, compile_sql92
from rmqlab.filter.sql92.doctor import examine, hint
from rmqlab.filter.sql92.explain import describe, draw, label
from rmqlab.filter.sql92.steps import evaluate_in_steps
from rmqlab.filter.sql92.witness import NOT_TRUE, Can, Found, Search

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab.filter.sql92 import CompiledSql92

Json = dict[str, object]
_PROPERTY = re.compile(r"[^\s=]+=.*", re.DOTALL)
_MOST_LINES = 200
_WIDEST = 2_000


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("expr", nargs="?", metavar="EXPR", help="the expression, in quotes; - reads standard input")
    parser.add_argument(
        "--set",
        nargs="*",
        action="extend",
        metavar="NAME=VALUE",
        help="properties of a message to evaluate it on; none at all after --set: a message without properties",
    )
    parser.add_argument("--version", choices=VERSIONS, default=VERSIONS[0], help="the broker's version (4.8.0)")
    parser.add_argument("--strict", action="store_true", help="return 1 as well when the broker ignores part of it")
    parser.add_argument("--witness", action="store_true", help="find a message that passes and one that does not")


def run(args: Namespace) -> int:
    """Print what the broker makes of the expression; return 1 if it refuses it, else 0.

    With `--strict` ignored text counts as a refusal. Raise `BadInput` for a missing expression and a wrong property.
    """
    expression, pairs = _apart(args.expr, args.set)
    text = sys.stdin.read() if expression == "-" else expression
    properties = None if pairs is None else _properties(pairs)
    out = text_stream(args)
    result: Json = {"expression": text, "version": args.version}
    try:
        compiled = compile_sql92(text, args.version)
    except MQFilterException as refusal:
        result |= _refusal(refusal, text, out)
        write_json(result, args.json)
        return 1
    result |= _accepted(compiled, properties, out)
    if properties is not None:
        result |= _evaluated(compiled, properties, out)
    result["doctor"] = _examined(compiled, out)
    if args.witness:
        result["witness"] = _witnesses(compiled, out)
    write_json(result, args.json)
    return 1 if args.strict and compiled.ignored else 0


def _apart(expression: str | None, pairs: list[str] | None) -> tuple[str, list[str] | None]:
    """The expression and the properties: behind `--set a=5` argparse takes the expression for a property."""
    if expression is not None:
        return expression, pairs
    others = [one for one in pairs or () if not _PROPERTY.fullmatch(one)]
    if len(others) == 1 and pairs is not None:
        return others[0], [one for one in pairs if one is not others[0]]
    said = f" (taken for properties: {', '.join(pairs)})" if pairs else ""
    raise BadInput(f"the expression is missing{said}; write it first: rmqlab sql92 'a > 3' --set a=5")


def _properties(pairs: list[str]) -> dict[str, str]:
    properties = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadInput(f"--set {pair!r}: a property is NAME=VALUE, such as a=5")
        if not _PROPERTY.fullmatch(pair):
            right = f"{name.strip()}={value.strip()}"
            raise BadInput(f"--set {pair!r}: the name of a property has no blank in it; write {right!r}")
        properties[name] = value
    return properties


def _refusal(refusal: MQFilterException, text: str, out: TextIO) -> Json:
    meant = hint(refusal, text)
    print(f"refused ({refusal.cause_name}): {refusal}", file=out)
    if refusal.offset is not None and "\n" not in text:
        print(f"  {text}\n  {' ' * refusal.offset}^", file=out)
    if meant:
        print(f"  meant? {meant}", file=out)
    print(f"  the broker answers 23 (SUBSCRIPTION_PARSE_FAILED): {refusal.java_message.splitlines()[0]}", file=out)
    return {
        "ok": False,
        "error": {
            "cause": refusal.cause_name,
            "message": refusal.java_message,
            "explanation": str(refusal),
            "line": refusal.line,
            "column": refusal.column,
            "offset": refusal.offset,
            "hint": meant,
        },
    }


def _accepted(compiled: CompiledSql92, properties: dict[str, str] | None, out: TextIO) -> Json:
    canonical = str(compiled)
    print(f"accepted by {compiled.version} as {canonical[:_WIDEST]}{'...' * (len(canonical) > _WIDEST)}", file=out)
    lines = draw(compiled, properties)
    print("\n".join(f"  {line}" for line in lines[:_MOST_LINES]), file=out)
    if len(lines) > _MOST_LINES:
        print(f"  and {len(lines) - _MOST_LINES} more nodes", file=out)
    return {"ok": True, "canonical": canonical, "ignored": compiled.ignored, "tree": lines}


def _evaluated(compiled: CompiledSql92, properties: dict[str, str], out: TextIO) -> Json:
    evaluation = evaluate_in_steps(compiled.root, properties)
    root = evaluation.root
    matches = root.value is True
    what = "returns the message" if matches else "drops the message"
    print(f"  {describe(root)}: the broker {what}", file=out)
    steps = [
        {
            "node": label(outcome.node),
            "start": outcome.node.start,
            "end": outcome.node.end,
            "value": outcome.value,
            "error": None if outcome.error is None else outcome.error.java_name,
            "told": describe(outcome),
        }
        for outcome in evaluation.outcomes
    ]
    error = root.error
    return {
        "properties": properties,
        "result": root.value,
        "error": None if error is None else error.java_name,
        "cause": None if error is None else error.cause_name,
        "matches": matches,
        "steps": steps,
    }


def _examined(compiled: CompiledSql92, out: TextIO) -> list[Json]:
    findings = examine(compiled)
    for finding in findings:
        where = f" at {finding.line}:{finding.column}" if finding.code != "switch" else ""
        print(f"{finding.severity}{where}: {finding.message} ({finding.advice})", file=out)
    return [finding._asdict() for finding in findings]


def _witnesses(compiled: CompiledSql92, out: TextIO) -> Json:
    search = Search(compiled.root)
    passes = search.find(Can.TRUE)
    fails = None if passes.properties is None else search.near_miss(passes.properties)
    failing = search.find(NOT_TRUE) if fails is None else Found(fails)
    told: Json = {}
    for name, found in (("passes", passes), ("fails", failing)):
        told[name] = found.properties
        told[f"{name}_proven_impossible"] = found.proven
        text = _shown(found, evaluated=compiled)
        print(f"{'passes:        ' if name == 'passes' else 'does not pass: '}{text}", file=out)
    return told


def _shown(found: Found, evaluated: CompiledSql92) -> str:
    if found.properties is None:
        return "there is no such message" if found.proven else "none was found"
    text = " ".join(f"{name}={value!r}" for name, value in found.properties.items()) or "a message without properties"
    return f"{text}  ({describe(evaluate_in_steps(evaluated.root, found.properties).root)})"
