"""Texts that count a thing and say only its plural: "1 messages". A thing is what some `ngettext` counts already.

Three kinds of number stay: a size in a unit (bytes, bits: written as ms is), a limit (a constant, or a value named for
one), and the cases that a check of the lessons holds itself.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COUNTED = re.compile(r"\{(?P<name>\w+)[^}]*\} (?:(?:more|new|other|lost|damaged) )?(?P<noun>[a-z]{2,}s)\b")
UNITS = {"bytes", "bits"}
VERBS = {"names"}  # "{expression} names no tag"
LIMITS = re.compile(r"most|longest|max_\w+")
CONSTANT = re.compile(r"(f'\{)?[A-Z][A-Z_]+(:,\}')?")
CHECKS = "checks_"  # modules of the course: how many cases they hold is written beside them


def nouns(trees: Iterable[ast.AST]) -> set[str]:
    """The plurals that `ngettext` counts somewhere, without units and what is a verb elsewhere."""
    plurals = set()
    for call in (call for tree in trees for call in _calls(tree, "ngettext")):
        singular, plural = (_text(argument) for argument in call.args[:2])
        words = set(re.findall(r"\w+", singular))
        plurals |= {match["noun"] for match in COUNTED.finditer(plural)} - words
    return plurals - UNITS - VERBS


def without_singular(tree: ast.AST, counted: set[str]) -> Iterator[tuple[int, str]]:
    """Line and text of each `_` or `N_` that counts one of these things in the plural only."""
    for call in (*_calls(tree, "_"), *_calls(tree, "N_")):
        text = _text(call.args[0])
        for match in COUNTED.finditer(text):
            if match["noun"] in counted and not _is_limit(call, match["name"]):
                yield call.lineno, text


def _is_limit(call: ast.Call, name: str) -> bool:
    values = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == name]
    return bool(LIMITS.fullmatch(name) or any(map(CONSTANT.fullmatch, values)))


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name and node.args:
            yield node


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
