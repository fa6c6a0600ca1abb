"""What the cells of a lesson show in another language: they are run in it, and what comes out is kept with the words.

`notebooks/locale/zh/outputs/NAME.json` has the outputs by cell, and of each the digest of the English ones, as
committed, beside which it was made: what is older than its lesson is named by `stale`.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import ROOT
from rmqlab.language import SETTING
from rmqlab_tools.course.in_language import kept_outputs, outputs_file, translated
from rmqlab_tools.course.notebooks import clean, read
from tests.proof.notebook_files import execute

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab_tools.course.notebooks import Notebook

NOTEBOOKS = ROOT / "notebooks"


def source_of(name: str) -> Path:
    """The notebook in English: a lesson, or the solutions of its tasks."""
    return NOTEBOOKS / "solutions" / f"{name}.ipynb" if name.endswith("_tasks") else NOTEBOOKS / f"{name}.ipynb"


def names() -> list[str]:
    """The lessons, and the tasks with their solutions."""
    return [path.stem for folder in (NOTEBOOKS, NOTEBOOKS / "solutions") for path in sorted(folder.glob("*.ipynb"))]


def digest(outputs: list[dict[str, Any]]) -> str:
    """The digest of a cell's outputs."""
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()[:16]


def stale(name: str, language: str) -> list[str]:
    """The cells whose English outputs changed since, or that were never run in ``language``."""
    have = kept_outputs(name, language)
    shown = ((cell["id"], cell["outputs"]) for cell in read(source_of(name))["cells"] if cell.get("outputs"))
    return [cell for cell, outputs in shown if have.get(cell, {}).get("made_for") != digest(outputs)]


def renew(name: str, language: str) -> None:
    """Run a notebook with its code in ``language``, in a kernel that speaks it, and keep what comes out."""
    source = source_of(name)
    english = read(source)
    notebook = translated(english, name.removesuffix("_tasks"), language)
    before = os.environ.get(SETTING)
    os.environ[SETTING] = language
    try:
        done = clean(execute(_plain(notebook), source.parent))
    finally:
        if before is None:
            del os.environ[SETTING]
        else:
            os.environ[SETTING] = before
    kept = {}
    for cell, mine in zip(english["cells"], done["cells"], strict=True):
        if cell.get("outputs"):
            kept[cell["id"]] = {"made_for": digest(cell["outputs"]), "outputs": mine["outputs"]}
    place = outputs_file(name, language)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _plain(notebook: Notebook) -> Notebook:
    """The notebook for a kernel of this environment."""
    notebook["metadata"] = {}
    return notebook
