"""Syntax trees of tree-sitter: grammars by language, and the questions that every reader of a language asks a node."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node, Parser

LANGUAGES: Final = {".java": "java", ".kt": "kotlin", ".kts": "kotlin", ".go": "go", ".py": "python"}
"""Languages by the ends of file names."""
SHOWN: Final = 60
"""Characters of a source that is not followed, as it is shown."""
TOO_DEEP: Final = 300
"""Expressions in one another that are read; what lies deeper was written by no person."""


@cache
def _parser(language: str) -> Parser:
    from tree_sitter import Language, Parser

    return Parser(Language(import_module(f"tree_sitter_{language}").language()))


def parse(source: str, language: str) -> Node:
    """The root of a source's tree; a tree is made of a source with errors too."""
    return _parser(language).parse(source.encode("utf-8", "replace")).root_node


def first_error(root: Node) -> int | None:
    """The line of the first place where the grammar does not fit; None where all does.

    An end of a statement that Kotlin's grammar misses is no node: nothing is lost by it.
    """
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            return line_of(node)
        waiting += [child for child in node.children if child.has_error or child.is_missing][::-1]
    return None


def line_of(node: Node) -> int:
    """The line on which a node begins, the first being 1."""
    return node.start_point[0] + 1


def text_of(node: Node | None) -> str:
    """The source of a node; "" of none."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def shown(node: Node) -> str:
    """The source of a node in one line, not longer than a reader needs to find it."""
    text = " ".join(text_of(node).split())
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def simple_type(node: Node | None) -> str:
    """The name of a type of the JVM's languages without packages, without what it is of, without Kotlin's `?`."""
    return text_of(node).partition("<")[0].strip().rstrip(" ?").rpartition(".")[2]


def summands(node: Node) -> list[Node]:
    """What is joined by `+`, from left to right; none of any other node.

    A loop, for generated sources join thousands.
    """
    parts: list[Node] = []
    left: Node | None = node
    while left is not None and left.type == node.type and text_of(left.child_by_field_name("operator")) == "+":
        right = left.child_by_field_name("right")
        parts += [] if right is None else [right]
        left = left.child_by_field_name("left")
    if left is not None and left != node:
        parts.append(left)
    return parts[::-1]


def named(node: Node | None, *types: str) -> list[Node]:
    """The named children of a node, without comments; only those of some types, where any are given."""
    children = [] if node is None else node.named_children
    return [child for child in children if not child.type.endswith("comment") and (not types or child.type in types)]


def child(node: Node | None, *types: str) -> Node | None:
    """The first named child of one of some types."""
    return next(iter(named(node, *types)), None)


def within(nodes: Iterable[Node], stop: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Nodes and all that lies in them, in the order of the text; what lies in a node of a type of `stop` is left out.

    A loop, for a source may be nested deeper than Python calls.
    """
    waiting = [*nodes][::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if node.type not in stop:
            waiting.extend(node.named_children[::-1])
