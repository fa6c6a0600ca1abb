"""Runs beside a lesson in the browser: a cell that needs what is not there says so, and shows what came out elsewhere.

The first cell of each lesson there calls `begin`. Such a cell has not failed, so "Run all cells" goes on; and a cell
that uses what it would have made says the same. This file goes into the browser as it is, under its own name.
"""

from __future__ import annotations

import ast
import hashlib
import html
import json
import os
from pathlib import Path
from typing import Any

FOLDER = "browser_cells_data"  # what lies beside this file there: shown.json, and an empty notebooks/
PLACES = ("notebooks", "notebooks/exercises")


class NotHere(Exception):
    """A package was asked for that has no build for the Python of a browser; the text is its name."""


def begin(language: str, place: str = PLACES[0]) -> None:
    """Let the cells of this kernel speak `language` and answer for what is not there."""
    from IPython import get_ipython

    folder = Path(__file__).with_name(FOLDER)
    os.environ["RMQLAB_LANG"] = language
    os.chdir(folder / place)
    record = json.loads((folder / "shown.json").read_text(encoding="utf-8"))[language]
    cells = Cells(record["words"], record["shown"])
    shell = get_ipython()
    shell.events.register("pre_run_cell", cells.begins)
    shell.set_custom_exc((Exception,), cells.failed)


class Cells:
    """What is known of the cells that ran: the names that could not be made, and what each cell shows elsewhere."""

    def __init__(self, words: dict[str, str], shown: dict[str, list[dict[str, Any]]]) -> None:
        """`shown` has the outputs of a lesson's cells (MIME type to text) by the digest of their source."""
        self._words, self._shown = words, shown
        self._missing: set[str] = set()
        self._source = ""

    def begins(self, info: Any) -> None:
        """Called by IPython before each cell."""
        self._source = info.raw_cell

    def failed(self, shell: Any, kind: type, error: Exception, traceback: Any, tb_offset: int | None = None) -> None:
        """Called by IPython with what a cell raised."""
        why = self.reason(error)
        if why is None:
            shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
            return
        from IPython.display import clear_output, display

        self._missing |= names_made(self._source)
        shown = self._shown.get(digest(self._source))
        then = self._words["changed" if shown is None else "came_out" if shown else "nothing_shown"]
        clear_output()
        display(
            {"text/html": f"<p><em>{html.escape(f'{why} {then}')}</em></p>", "text/plain": f"{why} {then}"}, raw=True
        )
        for data in shown or ():
            display(data, raw=True)

    def reason(self, error: BaseException) -> str | None:
        """Why a cell cannot run here, in words; None for an error of its own."""
        match error:
            case NotHere():
                return self._words["no_package"].format(name=error)
            case ModuleNotFoundError() if error.name:
                return self._words["no_package"].format(name=error.name.partition(".")[0])
            case NameError() if error.name in self._missing:
                return self._words["no_name"].format(name=error.name)
            case RuntimeError() if "start new thread" in str(error):
                return self._words["no_network"]
            case FileNotFoundError() if "/data/" in str(error.filename):
                return self._words["no_file"]
        return None


def digest(source: str) -> str:
    """A short name for the source of a cell."""
    return hashlib.sha256(source.strip().encode()).hexdigest()[:16]


def names_made(source: str) -> set[str]:
    """The names that a cell assigns, defines or imports.

    >>> sorted(names_made("import json; table = 3"))
    ['json', 'table']
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a line for IPython alone
        return set()
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias():
                names.add(node.asname or node.name.partition(".")[0])
    return names
