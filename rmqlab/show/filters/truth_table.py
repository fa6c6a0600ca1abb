"""Truth tables with four values: true, false, null (unknown) and error; every cell is evaluated."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING

from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.filter.sql92.evaluation import evaluate_in_steps
from rmqlab.filter.sql92.nodes import And, Node, Not, Or, is_between
from rmqlab.filter.sql92.satisfiability import candidates
from rmqlab.filter.sql92.tokens import as_units
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.filters.expression_tree import KINDS, MOST_NODES, kind_of
from rmqlab.show.palette import GREY, PALE, WHITE, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# A property x with one of these values makes `x = 1` come to each of the four.
OF_KIND: Mapping[str, str | None] = {"true": "1", "false": "0", "null": None, "error": "one"}
# Inches.
CELL, ROW, HEAD, EDGE, GAP = 0.78, 0.34, 0.34, 0.1, 0.45
MOST_COMBINATIONS = 20_000
MOST_ROWS = 16
MOST_CONDITIONS = 8
LETTER = 0.085
WIDEST = 30


def connective(word: str, left: str, right: str) -> str:
    """What ``left AND right`` or ``left OR right`` comes to; operands and result are kinds."""
    return _evaluated(f"a = 1 {word} b = 1", {"a": OF_KIND[left], "b": OF_KIND[right]})


def negation(kind: str) -> str:
    """What ``NOT (...)`` comes to."""
    return _evaluated("NOT (a = 1)", {"a": OF_KIND[kind]})


def _evaluated(expression: str, values: Mapping[str, str | None]) -> str:
    present = {name: value for name, value in values.items() if value is not None}
    return kind_of(evaluate_in_steps(compile_sql92(expression).root, present).root)


def truth_tables() -> Picture:
    """AND, OR and NOT, side by side."""
    kinds = list(KINDS)
    block = EDGE + CELL * (len(kinds) + 1)
    height = 0.3 + HEAD + ROW * len(kinds) + EDGE

    def draw(brush: Brush) -> None:
        for number, word in enumerate(("AND", "OR")):
            x = EDGE + number * (block + GAP)
            _block(brush, x, f"left {word} right", kinds)
            for row, left in enumerate(kinds):
                for column, right in enumerate(kinds):
                    _cell(brush, x + CELL * (column + 1), 0.3 + HEAD + ROW * row, connective(word, left, right))
        x = EDGE + 2 * (block + GAP)
        _block(brush, x, "NOT", kinds, columns=("result",))
        for row, kind in enumerate(kinds):
            _cell(brush, x + CELL, 0.3 + HEAD + ROW * row, negation(kind))

    svg = painted(2 * (block + GAP) + 2 * CELL + 2 * EDGE, height, draw)
    rows = [
        (left, right, connective("AND", left, right), connective("OR", left, right), negation(left))
        for left in kinds
        for right in kinds
    ]
    table = Table("AND, OR and NOT", ("left", "right", "left AND right", "left OR right", "NOT left"), rows)
    alt = (
        "AND is false as soon as the left side is false, and the right side is not asked; without a false, null wins "
        "over true. OR is the same with true in place of false. NOT null is null. An error on a side that is asked "
        "wins over everything."
    )
    return Picture(svg, title="Truth tables of AND, OR and NOT with four values", alt=alt, table=table)


def _block(brush: Brush, x: float, title: str, kinds: Sequence[str], columns: Sequence[str] | None = None) -> None:
    brush.text(x, 0.16, title, size=10, ha="left", bold=True)
    for column, name in enumerate(columns or kinds):
        brush.text(x + CELL * (column + 1.5), 0.3 + HEAD / 2, name, size=8.5, colour=GREY)
    for row, name in enumerate(kinds):
        brush.text(x + CELL - 0.12, 0.3 + HEAD + ROW * (row + 0.5), name, size=8.5, colour=GREY, ha="right")


def _cell(brush: Brush, x: float, y: float, kind: str, width: float = CELL) -> None:
    mark, colour = KINDS[kind]
    brush.block(x, y, width, ROW, colour, edge=WHITE, edge_width=1.5)
    brush.text(x + width / 2, y + ROW / 2, f"{mark} {kind}", size=9, colour=ink(colour))


def truth_table(expression: str, properties: Mapping[str, str]) -> Picture | None:
    """What the conditions of an expression can come to together, and the whole with them; an example for each line.

    The line of the message with ``properties`` is marked. None for an expression that is refused, or too large.
    """
    try:
        compiled = compile_sql92(expression)
    except MQFilterException:
        return None
    if sum(1 for _ in islice(compiled.root.walk(), MOST_NODES + 1)) > MOST_NODES:
        return None
    conditions = list({str(node): node for node in _conditions(compiled.root)}.values())
    if len(conditions) > MOST_CONDITIONS:
        return None
    lines = _lines(compiled.root, conditions, properties)
    own = _signature(compiled.root, conditions, properties)
    units = as_units(compiled.text)
    names = [_cut(units[node.start : node.end]) for node in conditions]
    widths = [max(CELL, len(name) * LETTER + 0.2) for name in names]
    examples = [_shown(example) for example in lines.values()]
    left = 2 * EDGE + sum(widths)
    width = left + CELL + 0.3 + max(len(text) for text in examples) * LETTER + 0.3

    def draw(brush: Brush) -> None:
        for column, name in enumerate(names):
            brush.text(EDGE + sum(widths[:column]) + widths[column] / 2, HEAD / 2, name, monospace=True)
        brush.text(left + CELL / 2, HEAD / 2, "the whole", size=9, bold=True)
        brush.text(left + CELL + 0.2, HEAD / 2, "such a message", size=9, ha="left")
        for row, (signature, example) in enumerate(zip(lines, examples, strict=True)):
            y = HEAD + ROW * row
            if signature == own:
                brush.block(0, y, width, ROW, PALE, layer=0.2)
            for column, kind in enumerate(signature[:-1]):
                _cell(brush, EDGE + sum(widths[:column]), y, kind, widths[column])
            _cell(brush, left, y, signature[-1])
            mine = signature == own
            words = f"{'▸ ' if mine else ''}{example}"
            brush.text(left + CELL + 0.2, y + ROW / 2, words, size=8.5, ha="left", bold=mine)

    svg = painted(width, HEAD + ROW * len(lines) + EDGE, draw)
    rows = [(*signature, example) for signature, example in zip(lines, examples, strict=True)]
    marked = frozenset(number for number, signature in enumerate(lines) if signature == own)
    table = Table("Truth table (marked: this message)", (*names, "the whole", "such a message"), rows, marked)
    passing = sum(signature[-1] == "true" for signature in lines)
    alt = f"{len(lines)} cases of {len(names)} conditions, {passing} of them true as a whole. This message: {own[-1]}."
    return Picture(svg, title=f"Truth table of {_cut(expression)}", alt=alt, table=table)


def _conditions(node: Node) -> Iterator[Node]:
    """The conditions as the author wrote them: BETWEEN is one, and so is IS NOT NULL."""
    if isinstance(node, And | Or) and not is_between(node):
        for operand in node.operands:
            yield from _conditions(operand)
    elif isinstance(node, Not) and isinstance(node.operand, And | Or) and not is_between(node.operand):
        yield from _conditions(node.operand)
    else:
        yield node


def _lines(
    root: Node, conditions: Sequence[Node], properties: Mapping[str, str]
) -> dict[tuple[str, ...], Mapping[str, str]]:
    """Each combination of outcomes that was found, with the message that has it; this message's own comes first."""
    found = {_signature(root, conditions, properties): properties}
    values = candidates(root)
    each = max(3, int(MOST_COMBINATIONS ** (1 / max(len(values), 1))))
    columns = [[*tried[: each - 1], None] for tried in values.values()]
    for row in islice(product(*columns), MOST_COMBINATIONS):
        message = {name: value for name, value in zip(values, row, strict=True) if value is not None}
        found.setdefault(_signature(root, conditions, message), message)
    order = list(KINDS)
    ranked = sorted(found, key=lambda signature: [order.index(kind) for kind in (signature[-1], *signature[:-1])])
    own = next(iter(found))
    kept = [signature for signature in ranked[:MOST_ROWS] if signature != own]
    return {own: properties} | {signature: found[signature] for signature in kept}


def _signature(root: Node, conditions: Sequence[Node], message: Mapping[str, str]) -> tuple[str, ...]:
    kinds = [kind_of(evaluate_in_steps(node, message).root) for node in conditions]
    return (*kinds, kind_of(evaluate_in_steps(root, message).root))


def _shown(message: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in message.items()) or "without properties"


def _cut(text: str) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
