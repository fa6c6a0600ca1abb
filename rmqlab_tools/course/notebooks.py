"""Notebooks as data: read, cleaned of what differs between machines, written as Jupyter writes them. JSON alone."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import atomic_write, json_value, read_text
from rmqlab.language import _

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
NOTEBOOK_FORMAT = 4

Notebook = dict[str, Any]


def read(path: Path) -> Notebook:
    """A notebook in format 4, the lines of its texts joined.

    Raises:
        BadInput: the file is none; the text says why.
    """
    try:
        notebook: Notebook = json_value(read_text(path, _("a notebook")))
        if notebook["nbformat"] != NOTEBOOK_FORMAT:
            raise BadInput(
                _(
                    "{path}: not a notebook of format {format} but {nbformat}",
                    path=path,
                    format=NOTEBOOK_FORMAT,
                    nbformat=notebook["nbformat"],
                )
            )
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            for output in cell.get("outputs", []):
                if "text" in output:
                    output["text"] = "".join(output["text"])
                shown = output.get("data", {})
                for kind, text in shown.items():
                    shown[kind] = "".join(text) if isinstance(text, list) else text
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(_("{path}: not a notebook ({error})", path=path, error=error)) from error
    return notebook


def write(path: Path, notebook: Notebook) -> None:
    """Write it with its texts as lists of lines; a reader never sees half of it."""
    copied = copy.deepcopy(notebook)
    for cell in copied["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = output["text"].splitlines(keepends=True)
            for kind, text in output.get("data", {}).items():
                if isinstance(text, str):
                    output["data"][kind] = text.splitlines(keepends=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        part.write_text(json.dumps(copied, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def tags(cell: Mapping[str, Any]) -> list[str]:
    """The tags of a cell."""
    names: list[str] = cell.get("metadata", {}).get("tags", [])
    return names


def clean(notebook: Notebook) -> Notebook:
    """A copy without times, widget state, versions and random ids; where a widget was, its text stays."""
    notebook = copy.deepcopy(notebook)
    notebook["metadata"] = {"kernelspec": dict(KERNEL), "language_info": {"name": "python"}}
    for cell in notebook["cells"]:
        cell["metadata"] = {"tags": tags(cell)} if tags(cell) else {}
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_MIME, None)
            if "metadata" in output:
                output["metadata"] = {}
    return notebook


def text_cell(name: str, source: str) -> dict[str, Any]:
    """A cell of text, with `name` as its id."""
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def code_cell(name: str, source: str) -> dict[str, Any]:
    """A cell of code that has not been run, with `name` as its id."""
    return {
        "cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": [], "source": source,
    }  # fmt: skip


def made_of(*cells: dict[str, Any]) -> Notebook:
    """A notebook of these cells."""
    return {"cells": list(cells), "metadata": {}, "nbformat": NOTEBOOK_FORMAT, "nbformat_minor": 5}
