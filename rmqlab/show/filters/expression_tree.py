"""The tree of an SQL92 expression, with what every node came to for one message: true, false, null, error.

A refused expression is a picture too: where reading stopped, what could have stood there, what was probably meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.filter.sql92.doctor import hint
from rmqlab.filter.sql92.evaluation import evaluate_in_steps
from rmqlab.filter.sql92.explain import describe, label, operands_drawn
from rmqlab.filter.sql92.nodes import Constant, Property
from rmqlab.filter.sql92.tokens import as_units
from rmqlab.rules import DEFAULT_VERSION
from rmqlab.show import branches
from rmqlab.show.branches import Branch
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import GREEN, GREY, PALE, PURPLE, SKY, VERMILLION, WHITE
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.filter.sql92 import CompiledSql92
    from rmqlab.filter.sql92.evaluation import StepOutcome
    from rmqlab.filter.sql92.nodes import Node
    from rmqlab.filter.sql92.tokens import Version

# Inches.
TOP, FOOT, MARGIN, LEAST_WIDTH = 0.72, 0.4, 0.15, 7.0
LETTER = 0.095  # of the expression's own line
MOST_NODES = 80
WIDEST = 34  # letters in a box
LONGEST = 110  # letters of the expression in one line
NOT_ASKED = "not asked"
HOLD = "\N{NO-BREAK SPACE}"  # blanks at the start of an SVG text are lost
KINDS = {"true": ("✓", GREEN), "false": ("✗", VERMILLION), "null": ("?", SKY), "error": ("!", PURPLE)}


def expression_tree(expression: str, properties: Mapping[str, str], *, version: Version = DEFAULT_VERSION) -> Picture:
    """How 4.8.0 reads an expression, and what it makes of one message's properties."""
    try:
        compiled = compile_sql92(expression, version)
    except MQFilterException as refusal:
        return _refused(expression, refusal)
    outcomes = {id(outcome.node): outcome for outcome in evaluate_in_steps(compiled.root, properties).outcomes}
    count = sum(1 for _ in compiled.root.walk())
    root = _branch(compiled.root, outcomes) if count <= MOST_NODES else _too_large(compiled, outcomes, count)
    kind = kind_of(outcomes[id(compiled.root)])
    verdict = f"{KINDS[kind][0]} {kind}: the broker {'returns' if kind == 'true' else 'drops'} the message"
    if kind == "error":
        verdict = f"! {describe(outcomes[id(compiled.root)])}: the broker drops the message"
    width, height = branches.size(root)
    shown = _shown(properties)
    width = max(width + 2 * MARGIN, LEAST_WIDTH, (min(len(expression), LONGEST) + 2) * LETTER, len(verdict) * 0.1)

    def draw(brush: Brush) -> None:
        _source(brush, compiled)
        brush.text(MARGIN, 0.47, f"message: {shown}", ha="left", size=9)
        branches.draw(brush, root, MARGIN, TOP)
        colour = KINDS[kind][1]
        brush.block(MARGIN, TOP + height + 0.12, 0.14, 0.2, colour)
        brush.text(MARGIN + 0.24, TOP + height + 0.22, verdict, size=9.5, ha="left", bold=True)

    svg = painted(width, TOP + height + FOOT, draw)
    ignored = f' The text "{compiled.ignored}" is ignored in silence.' if compiled.ignored else ""
    alt = f"Read as {compiled}. For a message with {shown}: {verdict[2:]}.{ignored}"
    return Picture(svg, title=f"Tree of {expression[:LONGEST]}", alt=alt, table=_table(compiled, outcomes))


def kind_of(outcome: StepOutcome) -> str:
    """true, false, null or error; a value that is no boolean counts as false, for so the filter takes it."""
    if outcome.error is not None:
        return "error"
    if outcome.value is None:
        return "null"
    return "true" if outcome.value is True else "false"


def _branch(node: Node, outcomes: Mapping[int, StepOutcome]) -> Branch:
    outcome = outcomes.get(id(node))
    children = [] if isinstance(node, Property | Constant) else [_branch(one, outcomes) for one in operands_drawn(node)]
    title = _cut(label(node))
    if outcome is None:
        return Branch(title, (NOT_ASKED,), WHITE, faint=True, children=children)
    told = _cut(describe(outcome))
    if outcome.error is not None:
        mark, colour = KINDS["error"]
        thrown = outcome.error.cause_name or outcome.error.java_name
        return Branch(title, (f"{mark} {thrown}",), colour, children=children)
    if isinstance(node, Constant):
        return Branch(title, (), PALE)
    if isinstance(node, Property) and outcome.value is not None:
        return Branch(title, (f"= {told}",), PALE)
    if outcome.value is None or isinstance(outcome.value, bool):
        mark, colour = KINDS[kind_of(outcome)]
        text = "missing: null" if isinstance(node, Property) else told
        return Branch(title, (f"{mark} {text}",), colour, children=children)
    return Branch(title, (f"= {told}",), PALE, children=children)


def _too_large(compiled: CompiledSql92, outcomes: Mapping[int, StepOutcome], count: int) -> Branch:
    """The root alone, for a tree that no picture holds."""
    root = compiled.root
    mark, colour = KINDS[kind_of(outcomes[id(root)])]
    return Branch(_cut(label(root)), (f"{mark} {_cut(describe(outcomes[id(root)]))}", f"{count} nodes"), colour)


def _source(brush: Brush, compiled: CompiledSql92) -> None:
    """The expression, with what is never read in grey."""
    text = compiled.text.replace("\n", " ")
    read, ignored = (text, "") if not compiled.ignored else (text[: compiled.rest.start], compiled.ignored)
    if len(text) > LONGEST:
        read, ignored = f"{text[: LONGEST - 1]}…", ""
    _code(brush, 0.2, read, bold=True)
    if ignored:
        _code(brush, 0.2, HOLD * len(read) + f"{ignored}{HOLD * 3}← ignored in silence", colour=GREY)


def _code(brush: Brush, y: float, text: str, **style: Any) -> None:
    """A line in letters of one width."""
    brush.text(MARGIN, y, text, size=10, ha="left", monospace=True, **style)


def _refused(expression: str, refusal: MQFilterException) -> Picture:
    """The place where reading stopped."""
    meant = hint(refusal, expression)
    lines = as_units(expression).split("\n")
    line = lines[min(max(refusal.line - 1, 0), len(lines) - 1)]
    skip = max(refusal.column - LONGEST // 2, 0) if len(line) > LONGEST else 0
    shown = line[skip : skip + LONGEST]
    told = [str(refusal), *([f"Meant? {meant}"] if meant else []), "The consumer's start fails with code 23."]
    folded = [part for text in told for part in _folded(text)]
    width = max(LEAST_WIDTH, (len(shown) + 4) * LETTER, max(map(len, folded)) * 0.092)

    def draw(brush: Brush) -> None:
        _code(brush, 0.2, shown, bold=True)
        if refusal.column:
            _code(brush, 0.38, HOLD * (refusal.column - 1 - skip) + "^", colour=VERMILLION)
        for number, text in enumerate(folded):
            first = number == 0
            brush.text(MARGIN, 0.62 + 0.2 * number, ("✗ " if first else "") + text, ha="left", size=9, bold=first)

    svg = painted(width, 0.72 + 0.2 * len(folded), draw)
    rows = [("refused because", str(refusal)), ("cause in Java", refusal.cause_name), ("meant?", meant)]
    table = Table("A refused expression", ("what", "told"), [*rows, ("answer of the broker", 23)])
    return Picture(svg, title=f"Refused: {expression[:LONGEST] or 'nothing'}", alt=" ".join(told), table=table)


def _folded(text: str) -> list[str]:
    """A text in lines of at most ``LONGEST`` letters."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > LONGEST:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


def _table(compiled: CompiledSql92, outcomes: Mapping[int, StepOutcome]) -> Table:
    """One row for each node, in the order of the picture."""
    text = as_units(compiled.text)
    rows: list[tuple[str, str, str]] = []
    waiting = [compiled.root]
    while waiting and len(rows) < MOST_NODES:
        node = waiting.pop()
        outcome = outcomes.get(id(node))
        told = NOT_ASKED if outcome is None else describe(outcome)
        rows.append((_cut(label(node)), _cut(text[node.start : node.end]), told))
        waiting.extend(reversed([] if isinstance(node, Property | Constant) else operands_drawn(node)))
    return Table("Nodes of the tree and what they came to", ("node", "text", "came to"), rows)


def _shown(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in properties.items()) or "no properties"


def _cut(text: str) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
