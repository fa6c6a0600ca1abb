"""A learner's copy of the lessons: without outputs, guesses still open, in a folder of its own that git does not see.

One picture is there before a cell is run: that of a cell tagged `setting` stands below the lesson's question.
Of what comes out it says nothing.

What a learner has there is never written over. An index lesson, 00_index.ipynb, leads to the lessons. Each language has
a folder, my-lessons and my-lessons-zh, side by side. The first cell of a lesson leads to the same lesson in the other
one. What lessons link to, the glossary and the page of the articles, lies in the copy. Code cells are the same; the
kernel of a copy speaks the copy's language.
"""

from __future__ import annotations

import ast
import hashlib
import html
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from rmqlab.checkout import data_path
from rmqlab.errors import BadInput
from rmqlab.language import ENGLISH, LANGUAGES, SETTING, _, ngettext, spoken, translate
from rmqlab_tools.course.in_language import translated
from rmqlab_tools.course.notebooks import KERNEL, Notebook, clean, code_cell, made_of, read, tags, text_cell, write
from rmqlab_tools.show.figure import SVG_MIME

COPY_FOLDER = "my-lessons"
INDEX_NOTEBOOK = "00_index.ipynb"
IGNORED = "*\n"
GUESS, SETTING_CELL = "guess", "setting"
LANGUAGE_NAMES = {ENGLISH: "English", "zh": "中文"}
STATE = "import rmqlab\n\nrmqlab.progress()"
ABOUT_COPY = (
    _(
        "# Lessons on RocketMQ's subscriptions, filters and heartbeats · 课程目录\n\nBegin with "
        "[01](01_eight_messages.ipynb). Each lesson asks for a guess first: enter it where `...` "
        "stands, then run on.\nChange what you like: this folder is your own copy, and it is "
        "never written over. To get a lesson anew, rename your file\nor delete it, and start "
        "`./lab notebook` again. `./lab notebook --read` opens the lessons as they ran here. The "
        "list of\nfiles is folded, so that pictures have room: Ctrl+B shows it.\n\n| lesson | "
        "question | minutes | tasks | done |\n|---|---|---|---|---|"
    )
    + "\n"
)
ARTICLES_LINK = "articles.md"
_TO_ARTICLES = re.compile(r"\]\((?:\.\./)+data/articles/README\.md")
_ROW = re.compile(r"^\| \S.*? \| (.+) \|$", re.MULTILINE)
OLDER_MARK = "\\*"
OLDER = "\n" + _("{older_mark} The lesson has changed since this copy was made.", older_mark=OLDER_MARK) + "\n"
HOW = _("A task counts when it was right once, a question by its first answer. Run this cell to see how far you are.")


class Copied(NamedTuple):
    """The folder, and the files written into it now."""

    folder: Path
    written: list[Path]


def learner_folder(root: Path, name: str | Path = COPY_FOLDER) -> Path:
    """Where a learner's copy lies: `name`, below `root` or elsewhere.

    Raises:
        BadInput: the folder holds something else.
    """
    path = (root / name).resolve()
    mark = path / ".gitignore"  # written first, the index last: a copy that was interrupted is gone on with
    ours = (path / INDEX_NOTEBOOK).exists() or (mark.is_file() and mark.read_text(encoding="utf-8") == IGNORED)
    if path.exists() and not ours and (not path.is_dir() or any(path.iterdir())):
        raise BadInput(
            _(
                "{path} holds something else than a learner's copy: name a new folder, such as {folder}",
                path=path,
                folder=COPY_FOLDER,
            )
        )
    return path


def folder_in(language: str, folder: Path) -> Path:
    """The folder of a copy in another language than English, beside the English one."""
    return folder if language == ENGLISH else folder.with_name(f"{folder.name}-{language}")


def make_copy(notebooks: Path, folder: Path, language: str = ENGLISH) -> Copied:
    """Copy the lessons and tasks that `folder` does not have yet, in `language`, and write its index anew."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text(IGNORED, encoding="utf-8")
    for source in [*sorted(notebooks.glob("*.ipynb")), *sorted((notebooks / "exercises").glob("*.ipynb"))]:
        path = folder / source.relative_to(notebooks)
        if not path.exists():
            lesson = in_language(source, language)
            mine = linked(learners(lesson), len(source.relative_to(notebooks).parts))
            begin_with_setting(mine, lesson, path)
            write(path, switchable(mine, path, folder, language))
            written.append(path)
    for source, name in (
        (notebooks / "glossary.md", "glossary.md"),
        (data_path("articles") / "README.md", ARTICLES_LINK),
    ):
        if source.is_file():
            shutil.copyfile(source, folder / name)
    index = folder / INDEX_NOTEBOOK
    if not index.exists() or _untouched(read(index)):
        mine = switchable(index_lesson(notebooks, folder, language), index, folder, language)
        mine["metadata"]["rmqlab"] = {"made_of": digest(mine)}
        write(index, mine)
    return Copied(folder, written)


def first_to_open(folder: Path) -> Path:
    """The first lesson of a copy until it is begun (a cell of it was run), from then on the index."""
    lessons = (path for path in sorted(folder.glob("*.ipynb")) if path.name != INDEX_NOTEBOOK)
    index = folder / INDEX_NOTEBOOK
    first = next(lessons, index)
    return index if any(cell.get("execution_count") for cell in read(first)["cells"]) else first


def begin_with_setting(mine: Notebook, lesson: Notebook, path: Path) -> None:
    """Show the picture of the lesson's setting, if it has one, between the question and the table of its first cell."""
    cells = (cell for cell in lesson["cells"] if cell["cell_type"] == "code" and SETTING_CELL in tags(cell))
    drawn = ("".join(out.get("data", {}).get(SVG_MIME, "")) for cell in cells for out in cell["outputs"])
    svg = next(filter(None, drawn), None)
    if svg is not None:
        file = path.with_suffix(".svg")
        file.write_bytes(svg.encode("ascii", "xmlcharrefreplace"))  # JupyterLite reads a text file as Latin-1
        words = re.sub(r"[][]", "", html.unescape(_first(r"<desc[^>]*>([^<]*)</desc>", svg)))
        question, line, table = mine["cells"][0]["source"].partition("\n\n|")
        mine["cells"][0]["source"] = f"{question}\n\n![{words}]({quote(file.name)}){line}{table}"


def linked(mine: Notebook, depth: int) -> Notebook:
    """The copy with links to the page of the articles leading to the one that lies in it."""
    for cell in mine["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = _TO_ARTICLES.sub(f"]({'../' * (depth - 1)}{ARTICLES_LINK}", cell["source"])
    return mine


def in_language(source: Path, language: str) -> Notebook:
    """A lesson or its tasks as a reader of `language` gets it."""
    return translated(read(source), source.stem.removesuffix("_tasks"), language)


def switchable(mine: Notebook, path: Path, folder: Path, language: str) -> Notebook:
    """The copy with links to the other languages at the end of its first cell, and the kernel of its language."""
    english = folder if language == ENGLISH else folder.with_name(folder.name.removesuffix(f"-{language}"))
    inner = path.relative_to(folder)
    links = {
        other: quote((folder_in(other, english) / inner).relative_to(folder.parent).as_posix()) for other in LANGUAGES
    }
    up = "../" * len(inner.parts)
    names = [
        LANGUAGE_NAMES[other] if other == language else f"[{LANGUAGE_NAMES[other]}]({up}{links[other]})"
        for other in LANGUAGES
    ]
    first = mine["cells"][0]
    if first["cell_type"] == "markdown":
        first["source"] = f"{first['source'].rstrip()}\n\n{' · '.join(names)}"
    mine["metadata"]["kernelspec"] = kernel(language)
    return mine


def kernel(language: str) -> dict[str, str]:
    """What a notebook says of the kernel that it wants: Python, speaking `language`."""
    if language == ENGLISH:
        return dict(KERNEL)
    return KERNEL | {
        "name": f"rmqlab-{language}",
        "display_name": f"{KERNEL['display_name']} ({LANGUAGE_NAMES[language]})",
    }


def install_kernels(prefix: Path) -> list[Path]:
    """Write the kernels of the languages that are not English below `prefix`, where Jupyter finds them."""
    written = []
    for language in LANGUAGES[1:]:
        spec = kernel(language)
        path = prefix / "share" / "jupyter" / "kernels" / spec["name"] / "kernel.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec_written = {
            "argv": argv,
            "display_name": spec["display_name"],
            "language": "python",
            "env": {SETTING: language},
        }
        path.write_text(json.dumps(spec_written, indent=1, ensure_ascii=False), encoding="utf-8")
        written.append(path)
    return written


def learners(lesson: Notebook) -> Notebook:
    """The lesson without outputs, its guesses open."""
    mine = clean(lesson)
    for cell in mine["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            if GUESS in tags(cell):
                cell["source"] = open_guess(cell["source"])
    mine["metadata"]["rmqlab"] = {"made_of": digest(lesson)}
    return mine


def open_guess(source: str) -> str:
    """The source with `...` for each value that is given to `rmqlab.guess`; comments stay.

    >>> open_guess("mine = rmqlab.guess(A=4, B=[1, 2])  # numbers")
    'mine = rmqlab.guess(A=..., B=...)  # numbers'
    """
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    values: list[Any] = [
        keyword.value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == GUESS
        for keyword in call.keywords
    ]
    for value in sorted(values, key=lambda given: (given.lineno, given.col_offset), reverse=True):
        begin, end = (
            starts[line - 1] + column
            for line, column in ((value.lineno, value.col_offset), (value.end_lineno, value.end_col_offset))
        )
        data = data[:begin] + b"..." + data[end:]
    return data.decode()


def digest(notebook: Notebook) -> str:
    """What stands in its cells, as a short name."""
    sources = [[cell["cell_type"], "".join(cell["source"])] for cell in notebook["cells"]]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()[:16]


def index_lesson(notebooks: Path, folder: Path, language: str = ENGLISH) -> Notebook:
    """The index: each lesson with its question, its minutes, and how many of its tasks are done."""

    def say(text: str) -> str:
        with spoken(language):
            return translate(text)

    rows, changed = [], False
    for source in sorted(notebooks.glob("*.ipynb")):
        english, lesson = read(source), in_language(source, language)
        header = "".join(lesson["cells"][0]["source"])
        older = _is_older(lesson, folder / source.name)
        exercise = next((folder / "exercises").glob(f"{source.stem}*.ipynb"), None)
        done, tasks = (0, 0) if exercise is None else tasks_done(read(exercise))
        counted = ngettext("{count} task", "{count} tasks", tasks)
        link = "" if exercise is None else f"[{say(counted)}](exercises/{exercise.name})"
        title = _first(r"^# (.+)$", header) or source.stem
        question = _first(r"^\*\*[^*]+\*\*[:：]? *(.+)$", header).replace("|", r"\|")
        minutes = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", _minutes("".join(english["cells"][0]["source"]), header))
        shown = f"[{title}]({source.name}){OLDER_MARK if older else ''}"
        rows.append(f"| {shown} | {question} | {minutes} | {link} | {say(_state(done, tasks))} |")
        changed = changed or older
    about = say(ABOUT_COPY) + "\n".join(map(str, rows)) + "\n" + (say(OLDER) if changed else "")
    return clean(made_of(text_cell("lessons", about), text_cell("how", say(HOW)), code_cell("state", STATE)))


def tasks_done(exercise: Notebook) -> tuple[int, int]:
    """How many tasks of a saved exercise are right, and how many there are."""
    tasks = [cell for cell in exercise["cells"] if "rmqlab.check(" in cell["source"] and cell["cell_type"] == "code"]
    return sum(": right. " in json.dumps(cell["outputs"]) for cell in tasks), len(tasks)


def _state(done: int, tasks: int) -> str:
    return "" if not tasks else _("all") if done == tasks else _("{done} of {tasks}", done=done, tasks=tasks)


def _minutes(english: str, header: str) -> str:
    """The row of the header's table that says how long the lesson takes, in the header's language."""
    labels, rows = re.findall(r"^\| (\S.*?) \| ", english, re.MULTILINE), _ROW.findall(header)
    return rows[labels.index("Minutes")] if "Minutes" in labels and len(rows) == len(labels) else ""


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


def _made_of(notebook: Notebook) -> str | None:
    made: str | None = notebook["metadata"].get("rmqlab", {}).get("made_of")
    return made


def _untouched(notebook: Notebook) -> bool:
    return _made_of(notebook) == digest(notebook)


def _is_older(lesson: Notebook, mine: Path) -> bool:
    return mine.exists() and _made_of(read(mine)) not in {None, digest(lesson)}
