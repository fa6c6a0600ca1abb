"""The tree of an expression drawn as text, with what each node came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.sql92.evaluation import evaluate_in_steps
from rmqlab.filter.sql92.nodes import And, Constant, Equal, In, Node, Or, Property, chain, is_between
from rmqlab.filter.sql92.values import class_name, java_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rmqlab.filter.sql92.compiler import CompiledSql92
    from rmqlab.filter.sql92.evaluation import StepOutcome

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
        shown = ", ".join(map(repr, node.elements[:_WIDEST_LIST]))
        more = f", ... {len(node.elements)} in all" if len(node.elements) > _WIDEST_LIST else ""
        return f"{node.symbol} ({shown}{more})"
    if isinstance(node, Constant):
        return f"{_cut(node.symbol)} ({class_name(node.value)})"
    return _WORDS.get(node.symbol, node.symbol) or "as a condition"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST_TEXT else f"{text[:_WIDEST_TEXT]}..."


def describe(outcome: StepOutcome) -> str:
    """Tell what a node came to, with the Java class of a value."""
    if outcome.error is not None:
        text = outcome.error.text
        return f"throws {outcome.error.java_name}{'' if text is None else f': {text}'}"
    value = outcome.value
    if value is None or isinstance(value, bool):
        return java_text(value)
    return _cut(repr(value)) if isinstance(value, str) else f"{java_text(value)} ({class_name(value)})"


def operands_drawn(node: Node) -> list[Node]:
    """Give the branches below a node: all terms of a chain side by side, no branch for the NULL of IS NULL."""
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
    return "not asked" if outcome is None else f"= {describe(outcome)}"


def _rows(root: Node) -> Iterator[tuple[str, Node]]:
    """Give line and node, depth first; too deep a tree is cut off."""
    waiting: list[tuple[Node, str, str]] = [(root, "", "")]
    while waiting:
        node, lead, indent = waiting.pop()
        cut = len(indent) > 3 * _DEEPEST_DRAWN
        yield f"{lead}{'...' if cut else label(node)}", node
        branches = [] if cut or isinstance(node, Property | Constant) else operands_drawn(node)
        for index, branch in reversed(list(enumerate(branches))):
            last = index == len(branches) - 1
            waiting.append((branch, f"{indent}{'└─ ' if last else '├─ '}", f"{indent}{'   ' if last else '│  '}"))
