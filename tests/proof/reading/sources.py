"""A function as it stands in its file, and what its docstring, or the next one around it, names in Java."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT

if TYPE_CHECKING:
    from types import CodeType

# A class of Java, with a method or without.
_JAVA = re.compile(r"`(?P<name>(?P<type>[A-Z][A-Za-z0-9]+)(?:\.[A-Za-z]\w*)?)`")
_ROWS = re.compile(r"\b[SFH]-\d+(?:\.\.(?:[SFH]-)?\d+)?")
OURS_ALONE = {"lab", "run", "scenario", "sim"}  # virtual time and what stands on it: nothing of it is Java's
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """An outermost function or method, or a statement of a class that has a lambda; `path` is relative to the tree."""

    path: str
    name: str
    first: int
    last: int

    @property
    def source(self) -> str:
        """Its lines, decorators included, without the indent of its class."""
        return textwrap.dedent("".join(_lines(self.path)[self.first - 1 : self.last])).rstrip()

    @property
    def java(self) -> tuple[str, ...]:
        """Java's class and method that its docstring names, or the class that those around it name as this one's."""
        if self.path.split("/")[1] in OURS_ALONE:
            return ()
        own, *around = _docs(self.path, self.name)
        if methods := [match["name"] for match in _JAVA.finditer(own) if "." in match["name"]]:
            return tuple(dict.fromkeys(methods))
        here = self.name.partition(".")[0]
        names = [match["name"] for doc in (own, *around) for match in _JAVA.finditer(doc)]
        return tuple(dict.fromkeys(name for name in names if name in {here, f"{here}Impl"}))[:1]

    @property
    def rows(self) -> tuple[str, ...]:
        """The mission rows that its own docstring names, as ids and ranges."""
        return tuple(dict.fromkeys(_ROWS.findall(_docs(self.path, self.name)[0])))

    @property
    def rows_around(self) -> tuple[str, ...]:
        """Those of its class, or else of its module."""
        rows = (_ROWS.findall(doc) for doc in _docs(self.path, self.name)[1:])
        return tuple(dict.fromkeys(next(filter(None, rows), ())))


def function_of(code: CodeType) -> Function:
    """The function that a code object is part of: a comprehension or a lambda belongs to the one around it."""
    path = code.co_filename.removeprefix(f"{ROOT}/")
    for name, first, last in _spans(path):
        if first <= code.co_firstlineno <= last:
            return Function(path, name, first, last)
    raise LookupError(f"{path}:{code.co_firstlineno}: {code.co_name} is in no function")


def _lines(path: str) -> list[str]:
    return _text(path).splitlines(keepends=True)


@cache
def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(_text(path), path)


@cache
def _spans(path: str) -> list[tuple[str, int, int]]:
    """Name, first and last line of each outermost function, methods included; then of the classes' statements."""
    functions, statements = [], []
    open_: list[tuple[str, ast.AST]] = [("", _tree(path))]
    while open_:
        prefix, node = open_.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _Definition):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                setter = (
                    ".setter" if any(ast.unparse(mark).endswith(".setter") for mark in child.decorator_list) else ""
                )
                functions.append((f"{prefix}{child.name}{setter}", first, child.end_lineno or child.lineno))
            elif isinstance(child, ast.ClassDef):
                open_.append((f"{prefix}{child.name}.", child))
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                target = child.targets[0] if isinstance(child, ast.Assign) else child.target
                statements.append((prefix + ast.unparse(target), child.lineno, child.end_lineno or child.lineno))
            elif isinstance(child, ast.If | ast.Try | ast.With):
                open_.append((prefix, child))
    return functions + statements


@cache
def _docs(path: str, name: str) -> list[str]:
    """Docstrings from the inside: of the function, its class, its module."""
    docs: list[str] = []
    node: ast.AST = _tree(path)
    for part in ["", *name.split(".")]:
        if part:
            inner = [
                child
                for child in ast.walk(node)
                if isinstance(child, _Definition | ast.ClassDef) and child.name == part
            ]
            if not inner:
                break
            node = inner[0]
        if isinstance(node, ast.Module | ast.ClassDef | _Definition):
            docs.insert(0, " ".join((ast.get_docstring(node) or "").split()))
    return docs
