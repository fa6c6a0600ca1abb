"""What the broker makes of a SQL92 expression, in words and as JSON: its tree, an evaluation, advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.filter.sql92.evaluation import evaluate_in_steps
from rmqlab.filter.sql92.tokens import as_units
from rmqlab.language import ENGLISH, _, columns, english, spoken, translate
from rmqlab_tools.search.expressions.answer import describe, draw, label
from rmqlab_tools.search.expressions.examine import examine
from rmqlab_tools.search.expressions.repair.repair import repair
from rmqlab_tools.search.expressions.satisfiability import NOT_TRUE, Can, Found, Search

if TYPE_CHECKING:
    from rmqlab.filter.sql92 import CompiledSql92
    from rmqlab.filter.sql92.tokens import Version

Json = dict[str, object]
Lines = list[str]
MAX_LINES = 200
WIDEST_LINE = 2_000


def sql92_report(
    text: str, version: Version, properties: dict[str, str] | None, *, examples: bool = False
) -> tuple[Json, Lines]:
    """Everything about an expression, as JSON and in lines of text.

    With `properties` it is evaluated on a message that has them; `examples` looks for a message that passes and one
    that does not.
    """
    lines: Lines = []
    result: Json = {"expression": text, "version": version}
    try:
        compiled = compile_sql92(text, version)
    except MQFilterException as refusal:
        return result | _refusal(refusal, text, version, lines), lines
    result |= _accepted(compiled, properties, lines)
    if properties is not None:
        result |= _evaluated(compiled, properties, lines)
    result["doctor"] = _examined(compiled, lines)
    if examples:
        result["witness"] = _examples(compiled, lines)
    return result, lines


def _refusal(refusal: MQFilterException, text: str, version: Version, lines: Lines) -> Json:
    meant = repair(text, version)
    lines.append(_("refused ({cause_name}): {refusal}", cause_name=refusal.cause_name, refusal=refusal))
    if refusal.offset is not None and "\n" not in text:
        before = as_units(text)[: refusal.offset]
        lines.append(f"  {text}\n  {' ' * columns(before)}^")
    if meant.told:
        lines.append("  " + _("meant? {meant}", meant=meant.told))
    if meant.write is not None:
        lines.append("  " + _("write: {expression}", expression=meant.write))
    lines.append(
        "  "
        + _(
            "the broker answers 23 (SUBSCRIPTION_PARSE_FAILED): {splitlines}",
            splitlines=refusal.java_message.splitlines()[0],
        )
    )
    return {
        "ok": False,
        "error": {
            "cause": refusal.cause_name,
            "message": refusal.java_message,
            "explanation": english(refusal),
            "line": refusal.line,
            "column": refusal.column,
            "offset": refusal.offset,
            "hint": meant.told,
            "write": meant.write,
        },
    }


def _accepted(compiled: CompiledSql92, properties: dict[str, str] | None, lines: Lines) -> Json:
    canonical = str(compiled)
    lines.append(
        _(
            "accepted by {version} as {canonical}{value}",
            version=compiled.version,
            canonical=canonical[:WIDEST_LINE],
            value="..." * (len(canonical) > WIDEST_LINE),
        )
    )
    with spoken(ENGLISH):
        english_tree = draw(compiled, properties)
    tree = draw(compiled, properties)
    lines.extend(f"  {line}" for line in tree[:MAX_LINES])
    if len(tree) > MAX_LINES:
        lines.append("  " + _("and {tree} more nodes", tree=len(tree) - MAX_LINES))
    return {"ok": True, "canonical": canonical, "ignored": compiled.ignored, "tree": english_tree}


def _evaluated(compiled: CompiledSql92, properties: dict[str, str], lines: Lines) -> Json:
    evaluation = evaluate_in_steps(compiled.root, properties)
    root = evaluation.root
    matches = root.value is True
    what = _("returns the message") if matches else _("drops the message")
    lines.append("  " + _("{describe}: the broker {what}", describe=describe(root), what=what))
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


def _examined(compiled: CompiledSql92, lines: Lines) -> list[Json]:
    findings = examine(compiled)
    for finding in findings:
        where = f"{finding.line}:{finding.column}"
        sentence = _("{message} ({advice})", message=translate(finding.message), advice=translate(finding.advice))
        if finding.code == "switch":
            lines.append(_("note: {told}", told=sentence))
        else:
            lines.append(
                _("warning at {where}: {told}", where=where, told=sentence)
                if finding.severity == "warning"
                else _("note at {where}: {told}", where=where, told=sentence)
            )
        if finding.write is not None:
            lines.append("  " + _("write: {expression}", expression=finding.write))
    return [finding._asdict() for finding in findings]


def _examples(compiled: CompiledSql92, lines: Lines) -> Json:
    search = Search(compiled.root)
    passes = search.find(Can.TRUE)
    fails = None if passes.properties is None else search.near_miss(passes.properties)
    failing = search.find(NOT_TRUE) if fails is None else Found(fails)
    record: Json = {}
    for name, example in (("passes", passes), ("fails", failing)):
        record[name] = example.properties
        record[f"{name}_proven_impossible"] = example.proven
        text = _shown(example, evaluated=compiled)
        lines.append(
            _("passes:        {text}", text=text) if name == "passes" else _("does not pass: {text}", text=text)
        )
    return record


def _shown(example: Found, evaluated: CompiledSql92) -> str:
    if example.properties is None:
        return _("there is no such message") if example.proven else _("none was found")
    text = " ".join(f"{name}={value!r}" for name, value in example.properties.items()) or _(
        "a message without properties"
    )
    return f"{text}  ({describe(evaluate_in_steps(evaluated.root, example.properties).root)})"
