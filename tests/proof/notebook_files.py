"""Notebooks as files of the tree: written, and cleaned of what differs from one machine or moment to the next."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from rmqlab.lessons.notebooks import execute, read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rmqlab.lessons.notebooks import Notebook

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
WIDGET = "application/vnd.jupyter.widget-view+json"


def write(path: Path, notebook: Notebook) -> None:
    """Write it as Jupyter does."""
    import nbformat

    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.from_dict(notebook), path)


def tags(cell: Mapping[str, Any]) -> list[str]:
    """The tags of a cell."""
    found: list[str] = cell.get("metadata", {}).get("tags", [])
    return found


def clean(notebook: Notebook) -> Notebook:
    """A copy without times, widget state, versions and random ids; where a widget was, its text stays."""
    notebook = copy.deepcopy(notebook)
    notebook["metadata"] = {"kernelspec": dict(KERNEL), "language_info": {"name": "python"}}
    for cell in notebook["cells"]:
        cell["metadata"] = {"tags": tags(cell)} if tags(cell) else {}
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
            if "metadata" in output:
                output["metadata"] = {}
    return notebook


def renew(path: Path) -> None:
    """Run a notebook where it lies and write it back, clean."""
    write(path, clean(execute(read(path), path.parent)))
