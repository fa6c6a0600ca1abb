"""What a broker makes of an expression and of one message: a tree drawn as text, and plain data for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.filter.sql92.errors import MQFilterException
from rmqlab.filter.sql92.evaluation import evaluate_in_steps
from rmqlab.filter.sql92.nodes import And, Constant, Equal, In, Node, Or, Property, chain, is_between
from rmqlab.filter.sql92.tokens import as_units
from rmqlab.filter.sql92.values import class_name, java_text
from rmqlab.language import _, joined
from rmqlab_tools.search.expressions.examine import examine
from rmqlab_tools.search.expressions.hints import Hint
from rmqlab_tools.search.expressions.repair.repair import repair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.filter.sql92.compiler import CompiledSql92
    from rmqlab.filter.sql92.evaluation import StepOutcome
    from rmqlab.filter.sql92.tokens import Version


_DEEPEST_DRAWN = 200
_WIDEST_LIST = 8
_WIDEST_TEXT = 60
_WORDS = {"&&": "AND", "||": "OR", "==": "="}


def label(node: Node) -> str:
    """Name a node in the words of the expression."""
    if isinstance(node, And | Or) and is_between(node):
        return "BETWEEN, as AND" if isinstance(node, And) else "NOT BETWEEN, as OR"
    if isinstance(node, Equal) and isinstance(node.right, Constant) and node.right.value is None:
        return "IS NULL"
    if isinstance(node, In):
        shown = joined(", ", map(repr, node.elements[:_WIDEST_LIST]))
        more = _(", ... {elements} in all", elements=len(node.elements)) if len(node.elements) > _WIDEST_LIST else ""
        return f"{node.symbol} ({shown}{more})"
    if isinstance(node, Constant):
        return f"{_cut(node.symbol)} ({class_name(node.value)})"
    return _WORDS.get(node.symbol, node.symbol) or _("as a condition")


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST_TEXT else f"{text[:_WIDEST_TEXT]}..."


def describe(outcome: StepOutcome) -> str:
    """What a node came to, with the Java class of a value."""
    if outcome.error is not None:
        text = outcome.error.text
        return _(
            "throws {java_name}{text}", java_name=outcome.error.java_name, text="" if text is None else f": {text}"
        )
    value = outcome.value
    if value is None or isinstance(value, bool):
        return java_text(value)
    return _cut(repr(value)) if isinstance(value, str) else f"{java_text(value)} ({class_name(value)})"


def operands_drawn(node: Node) -> list[Node]:
    """The branches below a node: all terms of a chain side by side, no branch for the NULL of IS NULL."""
    if isinstance(node, And | Or) and not is_between(node):
        return chain(node)
    if label(node) == "IS NULL":
        return [node.operands[0]]
    return list(node.operands)


def draw(compiled: CompiledSql92, properties: Mapping[str, str] | None = None) -> list[str]:
    """Draw the tree, one node a line; with properties also each node's value, or that it was never asked."""
    outcomes = None
    if properties is not None:
        outcomes = {id(outcome.node): outcome for outcome in evaluate_in_steps(compiled.root, properties).outcomes}
    rows = list(_rows(compiled.root))
    if outcomes is None:
        return [text for text, _ in rows]
    width = max(len(text) for text, _ in rows)
    return [f"{text:<{width}}  {_told(outcomes.get(id(node)))}" for text, node in rows]


def _told(outcome: StepOutcome | None) -> str:
    return _("not asked") if outcome is None else f"= {describe(outcome)}"


def _rows(root: Node) -> Iterator[tuple[str, Node]]:
    """Line and node, depth first; too deep a tree is cut off."""
    waiting: list[tuple[Node, str, str]] = [(root, "", "")]
    while waiting:
        node, lead, indent = waiting.pop()
        cut = len(indent) > 3 * _DEEPEST_DRAWN
        yield f"{lead}{'...' if cut else label(node)}", node
        branches = [] if cut or isinstance(node, Property | Constant) else operands_drawn(node)
        for index, branch in reversed(list(enumerate(branches))):
            last = index == len(branches) - 1
            waiting.append((branch, f"{indent}{'└─ ' if last else '├─ '}", f"{indent}{'   ' if last else '│  '}"))


TRUE_STEP, FALSE_STEP, NULL_STEP, ERROR_STEP, OTHER, NOT_ASKED = (
    "true",
    "false",
    "null",
    "error",
    "value",
    _("not asked"),
)
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

    `accepted`: it compiles; else `error` says why not, `offset` where, `meant` what is probably wrong and
    `write` the expression as it is probably meant, both None where it cannot be said. `read_as`
    is what the broker reads, `ignored` the text after it that it does not read. `value` is what the expression comes
    to for the message: "true", "false", "null", or the name of the exception; `matches` whether the broker passes it.
    `steps` draw the evaluation, `tree` is the same as data, `findings` are what is probably not meant.
    """

    expression: str
    accepted: bool
    error: str | None = None
    offset: int | None = None
    meant: str | None = None
    write: str | None = None
    read_as: str = ""
    ignored: str = ""
    properties: Mapping[str, str] | None = None
    value: str | None = None
    matches: bool | None = None
    steps: Sequence[str] = ()
    findings: Sequence[Hint] = field(default=())
    tree: ExpressionPart | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """The answer, its steps and the findings, a line each."""
        if not self.accepted:
            return str(
                _("{expression} is refused: {error}", expression=f"{self.expression!r}", error=self.error)
                + (f" ({self.meant})" if self.meant else "")
                + (_("; write {expression}", expression=self.write) if self.write else "")
            )
        what = repr(self.expression)
        passes = {
            None: _("{what} is accepted", what=what),
            True: _("{what} is accepted; the message passes", what=what),
            False: _("{what} is accepted; the message is dropped", what=what),
        }
        read = [_("{ignored} is ignored", ignored=f"{self.ignored!r}")] if self.ignored else []
        findings = (f"{finding.severity}: {finding.message}" for finding in self.findings)
        return "\n".join(map(str, [passes[self.matches], *read, *self.steps, *findings]))


def answer(expression: str, properties: Mapping[str, str] | None, version: Version) -> Sql92:
    """Compile an expression, and evaluate it if there is a message."""
    try:
        compiled = compile_sql92(expression, version)
    except MQFilterException as refusal:
        meant = repair(expression, version)
        return Sql92(
            expression,
            accepted=False,
            error=refusal.args[0],
            offset=refusal.offset,
            meant=meant.told,
            write=meant.write,
        )
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
        tree=_part(compiled.root, compiled, outcomes, is_asked=properties is not None, whole=small),
    )


def _value(outcome: StepOutcome) -> str:
    kind = _kind(outcome)
    if kind == ERROR_STEP and outcome.error is not None:
        return outcome.error.cause_name or outcome.error.java_name
    return FALSE_STEP if kind == OTHER else kind


def _kind(outcome: StepOutcome) -> str:
    if outcome.error is not None:
        return ERROR_STEP
    if outcome.value is None:
        return NULL_STEP
    if isinstance(outcome.value, bool):
        return TRUE_STEP if outcome.value else FALSE_STEP
    return OTHER


def _part(
    node: Node, compiled: CompiledSql92, outcomes: Mapping[int, StepOutcome], *, is_asked: bool, whole: bool
) -> ExpressionPart:
    """A node as data; of an expression that is too large only the root."""
    outcome = outcomes.get(id(node))
    below = operands_drawn(node) if whole and not isinstance(node, Property | Constant) else []
    parts = [_part(operand, compiled, outcomes, is_asked=is_asked, whole=whole) for operand in below]
    text = as_units(compiled.text)[node.start : node.end]
    if outcome is None:
        came_to = NOT_ASKED if is_asked else ""
        return ExpressionPart(label(node), text, came_to, came_to, parts)
    if outcome.error is not None:
        came_to = _("throws {value}", value=_value(outcome))
    elif isinstance(node, Property) and outcome.value is None:
        came_to = _("missing: null")
    else:
        came_to = describe(outcome)
    return ExpressionPart(label(node), text, came_to, _kind(outcome), parts)
