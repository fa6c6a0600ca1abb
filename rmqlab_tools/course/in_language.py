"""Lessons in another language: text cells and the texts of code cells by the catalogues, outputs as they were run."""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import PACKAGE, lessons
from rmqlab.files import json_value
from rmqlab.language import ENGLISH, read_catalogue
from rmqlab_tools.course.code_in_language import asked_in, code_in, names_in

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab_tools.course.notebooks import Notebook


def translated(lesson: Notebook, name: str, language: str) -> Notebook:
    """A copy of a lesson, or of its tasks, in `language`: its cells, and what they showed when they ran in it.

    `name` is the lesson's, such as "01_eight_messages", for its tasks and their solutions too. Ids and tags are the
    same, and so is code but for the texts that it shows; a text without an entry stays English, and
    `./lab catalogue --check` names it.

    >>> from rmqlab_tools.course.notebooks import read
    >>> lesson = read(lessons() / "01_eight_messages.ipynb")
    >>> translated(lesson, "01_eight_messages", "en") == lesson
    True
    """
    copied = copy.deepcopy(lesson)
    if language == ENGLISH:
        return copied
    texts = cells_of(name, language)
    words = package_texts(language) | texts
    codes = ["".join(cell["source"]) for cell in copied["cells"] if cell["cell_type"] == "code"]
    names, lookups = names_in(codes, words), asked_in(codes)
    shown = kept_outputs(name, language) | kept_outputs(f"{name}_tasks", language)
    for cell in copied["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            cell["source"] = texts.get(source, source)
        elif cell["cell_type"] == "code":
            cell["source"] = code_in(source, words, names, lookups)
            if cell["outputs"] and cell["id"] in shown:
                cell["outputs"] = copy.deepcopy(shown[cell["id"]]["outputs"])
    return copied


@cache
def cells_of(name: str, language: str) -> dict[str, str]:
    """The text cells of a lesson and its tasks: English to `language`."""
    return read_catalogue(lessons() / "locale" / language / f"{name}.po")


@cache
def package_texts(language: str) -> dict[str, str]:
    """The package's texts: English to `language`."""
    return read_catalogue(PACKAGE / "locale" / f"{language}.po")


def outputs_file(name: str, language: str) -> Path:
    """Where the outputs of a lesson, or of its tasks with their solutions, are kept."""
    return lessons() / "locale" / language / "outputs" / f"{name}.json"


def kept_outputs(name: str, language: str) -> dict[str, dict[str, Any]]:
    """The outputs by cell: `made_for` is the digest of the English ones, `outputs` those in `language`."""
    path = outputs_file(name, language)
    kept: dict[str, dict[str, Any]] = json_value(path.read_text(encoding="utf-8")) if path.exists() else {}
    return kept
