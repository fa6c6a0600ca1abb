"""The sources of the site in one folder: the pages of docs/, the lessons as they ran, and pages made from code."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from rmqlab.language import spoken
from rmqlab_tools.course.articles.eight_messages import EightMessages
from rmqlab_tools.course.in_language import translated
from rmqlab_tools.show.by_night import letters_marked
from rmqlab_tools.show.fate_grid import fate_grid
from tests.proof import notebook_files
from tests.proof.notebook_files import write
from tests.proof.site import (
    api_page,
    dark_pictures,
    decoder_page,
    home_page,
    lesson_cards,
    quiz_page,
    reading_page,
    rooms_page,
    rules_page,
    verbs_page,
    versions_page,
)
from tests.proof.workshop.times import shown as shown_times

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
NOT_PAGES = ("playgrounds", "locale")
SVG = "image/svg+xml"
_HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
_HEADING_LINE = re.compile(r"^(##+ .+)$", re.MULTILINE)
_EIGHT = re.compile(r"^!\[[^\]]+\]\([./]+/data/pictures/eight_messages\.svg\)$", re.MULTILINE)
_LINK = re.compile(r"(?P<before>\]\()(?P<path>(?:\.\./|playgrounds/)[^)#\s]*)")


def lay_out(target: Path, language: str, *, lessons: bool = True) -> None:
    """Write all sources for a language into the folder ``target``, which Sphinx then reads.

    The pages of docs/ come to its top, notebooks/ and data/ keep their places. ``lessons``: the notebooks, too.
    """
    for path in sorted(DOCS.rglob("*")):
        inner = path.relative_to(DOCS)
        if path.is_file() and inner.parts[0] not in NOT_PAGES and "__pycache__" not in inner.parts:
            _copy(path, target / inner)
    for path in sorted((ROOT / "notebooks").glob("**/[0-9]*.ipynb")) if lessons else ():
        if ".ipynb_checkpoints" not in path.parts:
            lesson = notebook_files.read(path)
            notebook = translated(lesson, path.stem.removesuffix("_tasks"), language)
            write(target / path.relative_to(ROOT), shown(with_places(notebook, lesson)))
    for path in (ROOT / "notebooks" / "glossary.md", ROOT / "data" / "articles" / "README.md"):
        _copy(path, target / path.relative_to(ROOT))
    for path in sorted((ROOT / "data" / "formats").glob("*.md")):
        _copy(path, target / path.relative_to(ROOT))
    index = target / "notebooks" / "index.md"
    index.write_text(lesson_cards.with_cards(index.read_text(encoding="utf-8"), language), encoding="utf-8")
    dark_pictures.write(target / "_static" / "pictures.css")
    decoder_page.write(target / "reference" / "decoder.md", language)
    for picture in sorted((ROOT / "data" / "pictures").glob("*.svg")):
        place = target / picture.relative_to(ROOT)
        _copy(picture, place)
    with spoken(language):  # the picture of README, as tests/show/test_readme_picture.py has it
        drawn, running = fate_grid(EightMessages().run()).svg, home_page.film().html(autoplay=True)
    (target / "data" / "pictures" / "eight_messages.svg").write_text(drawn, encoding="utf-8")
    start = target / "start" / "index.md"
    inside = f"```{{raw}} html\n<figure>{letters_marked(drawn)}</figure>\n```"  # as a file it has no night
    start.write_text(_EIGHT.sub(lambda _: inside, start.read_text(encoding="utf-8")), encoding="utf-8")
    (target / home_page.FILM).write_text(running, encoding="utf-8")
    times = target / "data" / "workshop" / "times.txt"  # docs/instructors/times.md shows it
    times.parent.mkdir(parents=True, exist_ok=True)
    measured = json.loads((ROOT / "data" / "workshop" / "times.json").read_text(encoding="utf-8"))
    times.write_text(shown_times(measured) + "\n", encoding="utf-8")
    api_page.write(target / "reference" / "api.md", language)
    verbs_page.write(target / "reference" / "verbs.md", language)
    quiz_page.write(target / "notebooks" / "quiz.md", language)
    rules_page.write(target / "explanation" / "rules.md", language)
    rooms_page.write(target / "explanation" / "architecture.md", language)
    reading_page.write(target / "explanation" / "reading.md", language)
    versions_page.write(target / "explanation" / "versions.md", language)
    if (DOCS / "locale" / "zh").is_dir() and language == "zh":
        shutil.copytree(DOCS / "locale" / "zh", target / "locale" / "zh_CN", dirs_exist_ok=True)


def shown(notebook: notebook_files.Notebook) -> notebook_files.Notebook:
    """A notebook whose pictures are part of its page: as files, nobody could read or select what they say.

    A rule that a cell shows is code, and has its colours.
    """
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if SVG in data:
                output["data"] = {"text/html": letters_marked("".join(data[SVG]))}
            elif set(data) == {"text/plain"} and is_rule(text := "".join(data["text/plain"])):
                output["data"] = {"text/markdown": f"```python\n{text.rstrip()}\n```"}
            elif output.get("name") == "stdout" and is_rule(text := "".join(output["text"])):
                shown_rule = {"text/markdown": f"```python\n{text.rstrip()}\n```"}
                output.pop("name"), output.pop("text")
                output.update(output_type="display_data", metadata={}, data=shown_rule)
    return notebook


def is_rule(text: str) -> bool:
    """Whether an output is the source of rules: functions, and constants with where they come from.

    Example:
        >>> is_rule("def tags_code(tag): ..."), is_rule("{'lost': 6}")
        (True, False)
    """
    try:
        parts = ast.parse(text).body
    except SyntaxError:
        return False
    return bool(parts) and all(
        isinstance(part, ast.FunctionDef) or (isinstance(part, ast.Assign) and "  # " in text) for part in parts
    )


def with_places(notebook: notebook_files.Notebook, lesson: notebook_files.Notebook) -> notebook_files.Notebook:
    """A translated notebook whose headings can be reached by the places that they have in English."""
    if notebook == lesson:
        return notebook
    for cell, original in zip(notebook["cells"], lesson["cells"], strict=True):
        if cell["cell_type"] == "markdown" and cell["source"] != original["source"]:
            places = map(_place, _HEADING.findall(original["source"]))
            parts = _HEADING_LINE.split(cell["source"])
            heads = "".join(
                f'<a id="{next(places, "")}"></a>\n\n{head}{rest}'
                for head, rest in zip(parts[1::2], parts[2::2], strict=True)
            )
            cell["source"] = parts[0] + heads
    return notebook


def _place(heading: str) -> str:
    """The name of a heading's place, as MyST and code hosts make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".md" and path.is_relative_to(DOCS):
        target.write_text(moved(path.read_text(encoding="utf-8"), path), encoding="utf-8")
    else:
        shutil.copyfile(path, target)


def moved(text: str, path: Path) -> str:
    """A page of docs/ whose links to files outside of docs/ hold after it moved one folder up."""

    def aimed(link: re.Match[str]) -> str:
        there = (path.parent / link["path"]).resolve()
        if there.is_relative_to(DOCS / "playgrounds"):
            up = len(path.relative_to(DOCS).parts) - 1
            return f"{link['before']}playgrounds{up}:{there.relative_to(DOCS / 'playgrounds')}"
        if there.is_relative_to(DOCS):
            return link[0]
        new_home = ROOT / path.parent.relative_to(DOCS)
        return link["before"] + os.path.relpath(there, new_home)

    return _LINK.sub(aimed, text)
