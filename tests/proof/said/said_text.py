"""One text that a program says, and how a template is put together from pieces of its source."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tree_sitter import Node


class Value(NamedTuple):
    """A place in a text where a value stands."""

    name: str


class SaidText(NamedTuple):
    """A text with its place: class (or file) and method, what it is (log, exception, remark, print), level and log.

    Of an exception the level is its class. `file` is the log that has the line, "" where the program does not say.
    """

    place: str
    method: str
    kind: str
    level: str
    file: str
    text: str


def every_node(root: Node) -> Iterator[Node]:
    """A node and everything in it, in the order of the source."""
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        yield node
        open_nodes.extend(reversed(node.children))


def source_of(node: Node) -> str:
    """The node's source."""
    return (node.text or b"").decode("utf-8", "replace")


def field_of(node: Node, name: str) -> Node:
    """A field that the grammar promises."""
    field = node.child_by_field_name(name)
    if field is None:
        raise ValueError(f"{node.type} has no {name}")
    return field


def snake(name: str) -> str:
    """A name in snake_case: `consumerGroup` is consumer_group."""
    word = re.sub(r"\W", "", re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name)).lower().strip("_")
    return word if word and not word[0].isdigit() else "value"


def with_values(pieces: Iterable[str | Value], values: Sequence[str], places: re.Pattern[str]) -> list[str | Value]:
    """The pieces with the places of their texts (`{}`, `%s`) as values, which have these names in turn."""
    rest = iter(values)
    whole: list[str | Value] = []
    for piece in pieces:
        if isinstance(piece, Value):
            whole.append(piece)
            continue
        at = 0
        for place in places.finditer(piece):
            whole.append(piece[at : place.start()])
            at = place.end()
            if place[0] in {"%%", "%n"}:
                whole.append("%" if place[0] == "%%" else "\n")
            else:
                whole.append(Value(next(rest, "value")))
        whole.append(piece[at:])
    return [piece for piece in whole if piece]


def template_of(pieces: Iterable[str | Value]) -> str:
    """The template, each value's name but once: "{mq} {mq_2}"."""
    often: Counter[str] = Counter()
    text = ""
    for piece in pieces:
        if isinstance(piece, Value):
            often[piece.name] += 1
            text += f"{{{piece.name}}}" if often[piece.name] == 1 else f"{{{piece.name}_{often[piece.name]}}}"
        else:
            text += piece
    return re.sub(r"\s*[\n\t]\s*", " ", text).strip()


def has_words(pieces: Iterable[str | Value]) -> bool:
    """Whether some of it is a text."""
    return any(isinstance(piece, str) for piece in pieces)
