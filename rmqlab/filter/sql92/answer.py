"""What a broker makes of an expression and of one message, as plain data: for tables, pictures and `rmqlab.sql92`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.filter.sql92.doctor import Finding, examine, hint
from rmqlab.filter.sql92.errors import MQFilterException
from rmqlab.filter.sql92.evaluation import evaluate_in_steps
from rmqlab.filter.sql92.explain import describe, draw, label, operands_drawn
from rmqlab.filter.sql92.nodes import Constant, Property
from rmqlab.filter.sql92.tokens import as_units

if TYPE_CHECKING:
    from rmqlab.filter.sql92.compiler import CompiledSql92
    from rmqlab.filter.sql92.evaluation import StepOutcome
    from rmqlab.filter.sql92.nodes import Node
    from rmqlab.filter.sql92.tokens import Version

TRUE, FALSE, NULL, ERROR, OTHER, NOT_ASKED = "true", "false", "null", "error", "value", "not asked"
MAX_PARTS = 80


@dataclass(frozen=True)
class ExpressionPart:
    """A part of an expression: its name, its text, what it came to (in words), of which `kind` that is.

    `kind` is true, false, null or error; "value" for a text or number; "not asked"; empty without a message.
    """

    name: str
    text: str
    came_to: str
    kind: str
    parts: Sequence[ExpressionPart] = ()


@dataclass(frozen=True)
class Sql92:
    """What a broker makes of a SQL92 expression, and of a message's properties.

    `accepted`: it compiles; else `error` says why not, `offset` where, and `meant` what was probably meant. `read_as`
    is what the broker reads, `ignored` the text behind it that it does not read. `value` is what the expression comes
    to for the message: "true", "false", "null", or the name of the exception; `matches` whether the broker passes it.
    `steps` draw the evaluation, `tree` is the same as data, `findings` are what is probably not meant.
    """

    expression: str
    accepted: bool
    error: str | None = None
    offset: int | None = None
    meant: str | None = None
    read_as: str = ""
    ignored: str = ""
    properties: Mapping[str, str] | None = None
    value: str | None = None
    matches: bool | None = None
    steps: Sequence[str] = ()
    findings: Sequence[Finding] = field(default=())
    tree: ExpressionPart | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """The answer, its steps and the findings, a line each."""
        if not self.accepted:
            return f"{self.expression!r} is refused: {self.error}" + (f" ({self.meant})" if self.meant else "")
        passes = {None: "accepted", True: "accepted; the message passes", False: "accepted; the message is dropped"}
        read = [f"{self.ignored!r} is ignored"] if self.ignored else []
        found = (f"{one.severity}: {one.message}" for one in self.findings)
        return "\n".join([f"{self.expression!r} is {passes[self.matches]}", *read, *self.steps, *found])


def answer(expression: str, properties: Mapping[str, str] | None, version: Version) -> Sql92:
    """Compile an expression, and evaluate it if there is a message."""
    try:
        compiled = compile_sql92(expression, version)
    except MQFilterException as refusal:
        meant = hint(refusal, expression)
        return Sql92(expression, accepted=False, error=str(refusal), offset=refusal.offset, meant=meant)
    outcomes: dict[int, StepOutcome] = {}
    value = matches = None
    if properties is not None:
        evaluation = evaluate_in_steps(compiled.root, dict(properties))
        outcomes = {id(outcome.node): outcome for outcome in evaluation.outcomes}
        value, matches = _value(evaluation.root), evaluation.root.value is True
    small = sum(1 for _ in compiled.root.walk()) <= MAX_PARTS
    return Sql92(
        expression,
        accepted=True,
        read_as=str(compiled),
        ignored=compiled.ignored or "",
        properties=properties,
        value=value,
        matches=matches,
        steps=draw(compiled, properties),
        findings=examine(compiled),
        tree=_part(compiled.root, compiled, outcomes, asked=properties is not None, whole=small),
    )


def _value(outcome: StepOutcome) -> str:
    kind = _kind(outcome)
    if kind == ERROR and outcome.error is not None:
        return outcome.error.cause_name or outcome.error.java_name
    return FALSE if kind == OTHER else kind


def _kind(outcome: StepOutcome) -> str:
    if outcome.error is not None:
        return ERROR
    if outcome.value is None:
        return NULL
    if isinstance(outcome.value, bool):
        return TRUE if outcome.value else FALSE
    return OTHER


def _part(
    node: Node, compiled: CompiledSql92, outcomes: Mapping[int, StepOutcome], *, asked: bool, whole: bool
) -> ExpressionPart:
    """A node as data; of an expression that is too large only the root."""
    outcome = outcomes.get(id(node))
    below = operands_drawn(node) if whole and not isinstance(node, Property | Constant) else []
    parts = [_part(one, compiled, outcomes, asked=asked, whole=whole) for one in below]
    text = as_units(compiled.text)[node.start : node.end]
    if outcome is None:
        told = NOT_ASKED if asked else ""
        return ExpressionPart(label(node), text, told, told, parts)
    if outcome.error is not None:
        told = f"throws {_value(outcome)}"
    elif isinstance(node, Property) and outcome.value is None:
        told = "missing: null"
    else:
        told = describe(outcome)
    return ExpressionPart(label(node), text, told, _kind(outcome), parts)
