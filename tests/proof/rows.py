"""The matrix of mission rows: which test or notebook cell shows each behaviour on the checklist.

A test says it with `@pytest.mark.row("S-45")` (on a function, a class, a parameter, or as `pytestmark`), a notebook
cell with the tag `row:S-45`. Both are read from the source, so nothing has to run.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Chapters (the letter of an id) in which every row must be shown by now.
REQUIRED = "S,F,H"

TAG = "row:"
_ID = re.compile(r"([SFH])-(\d+)\Z")
_RANGE = re.compile(r"([SFH])-(\d+)\.\.(?:\1-)?(\d+)\Z")


class RowError(BadInput):
    """A row id that is malformed or not on the checklist, or a file that cannot be read for its rows."""


def read_rows(path: Path) -> dict[str, str]:
    """Read the checklist, a table with the columns id and text: id -> short text, in the file's order."""
    rows: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row, _, text = line.partition("\t")
        if number == 1:
            continue
        if not _ID.match(row) or not text or row in rows:
            raise RowError(f"{path}:{number}: {line!r}; want an id such as S-45, used once, a tab, and a text")
        rows[row] = text
    return rows


def select(rows: dict[str, str], which: str) -> list[str]:
    """Return the ids that `which` names: chapters, ids and ranges with commas between, as in `S,H-01..H-24,F-03`."""
    chosen: set[str] = set()
    for part in filter(None, (part.strip() for part in which.split(","))):
        if match := _RANGE.match(part):
            low, high = int(match[2]), int(match[3])
            named = {row for row in rows if row[0] == match[1] and low <= int(row[2:]) <= high}
        else:
            named = {row for row in rows if part in (row, row[0])}
        if not named:
            raise RowError(f"--only {part}: no such row; want a chapter (S), an id (S-45) or a range (S-40..S-55)")
        chosen |= named
    return [row for row in rows if row in chosen]


class _Marks(ast.NodeVisitor):
    """Finds `pytest.mark.row(...)`: pairs of row id and the name of the function or class it stands on."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.names: list[str] = []
        self.found: list[tuple[str, str]] = []

    def visit(self, node: ast.AST) -> None:
        """Walk down, with the names of the definitions on the way."""
        name = getattr(node, "name", None) if isinstance(node, ast.stmt) else None
        if name is not None:
            self.names.append(name)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.row":
            self._add(node)
        self.generic_visit(node)
        if name is not None:
            self.names.pop()

    def _add(self, call: ast.Call) -> None:
        for argument in call.args:
            if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                raise RowError(f"{self.where}:{call.lineno}: name rows by literals: pytest.mark.row('S-45')")
            self.found.append((argument.value, "::".join([self.where, *self.names])))


def _rows_of_test(path: Path, where: str) -> list[tuple[str, str]]:
    marks = _Marks(where)
    marks.visit(ast.parse(path.read_text(encoding="utf-8"), where))
    return marks.found


def _rows_of_notebook(path: Path, where: str) -> Iterator[tuple[str, str]]:
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError) as error:
        raise RowError(f"{where}: not a notebook in format 4 ({error!r})") from error
    for number, cell in enumerate(cells):
        for tag in cell.get("metadata", {}).get("tags", ()):
            if tag.startswith(TAG):
                yield tag.removeprefix(TAG), f"{where}#{cell.get('id', number)}"


def collect(root: Path, rows: dict[str, str]) -> dict[str, list[str]]:
    """Return what shows each row: id -> places such as `tests/filter/test_tags.py::test_any`, sorted.

    Raise `RowError` for a mark or tag whose id is not in `rows`.
    """
    shown: dict[str, list[str]] = {row: [] for row in rows}
    for path in sorted([*root.glob("tests/**/*.py"), *root.glob("notebooks/**/*.ipynb")]):
        if ".ipynb_checkpoints" in path.parts:
            continue
        where = path.relative_to(root).as_posix()
        for row, place in _rows_of_test(path, where) if path.suffix == ".py" else _rows_of_notebook(path, where):
            if row not in shown:
                raise RowError(f"{place}: row {row!r} is not on the checklist")
            if place not in shown[row]:
                shown[row].append(place)
    return shown
