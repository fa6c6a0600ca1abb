"""What learners handed in: whose notebook it is, which tasks, and the cells that are theirs.

Nothing of a learner's file is trusted but the source of cells: outputs say nothing, and given cells are the project's.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from rmqlab.errors import BadInput
from tests.proof.exercises import BEGIN, exercise_of
from tests.proof.notebook_files import Notebook, read

if TYPE_CHECKING:
    from collections.abc import Iterable

CHECK = re.compile(r'rmqlab\.check\("([^"]+)", (.+)\)$', re.MULTILINE)
SPARK = re.compile(r"rmqlab\.spark\(|rmqlab\.audit\(")
LARGEST = 20_000_000
MOST_CELLS = 1_000


class Cell(NamedTuple):
    """One cell to run: its id and source, and whether a learner wrote it; for a task its name and answer expression."""

    id: str
    source: str
    theirs: bool
    task: str = ""
    answer: str = ""


class Exercise(NamedTuple):
    """The tasks of a lesson: the project's own notebook, and the ids of the cells that a learner fills."""

    stem: str
    notebook: Notebook
    open_cells: frozenset[str]
    spark: bool

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks, in order."""
        return [match[1] for cell in self.notebook["cells"] if (match := _check(cell)) is not None]


class Submission(NamedTuple):
    """A learner's notebook for an exercise."""

    learner: str
    path: Path
    exercise: Exercise


def exercises(notebooks: Path) -> dict[str, Exercise]:
    """Every exercise by its notebook's name, made from its solution."""
    by_stem = {}
    for path in sorted((notebooks / "solutions").glob("*.ipynb")):
        solution = read(path)
        open_cells = frozenset(cell["id"] for cell in solution["cells"] if BEGIN in cell["source"])
        spark = any(SPARK.search(cell["source"]) for cell in solution["cells"] if cell["cell_type"] == "code")
        by_stem[path.stem] = Exercise(path.stem, exercise_of(solution, path.name), open_cells, spark)
    return by_stem


def submissions(folder: Path, known: dict[str, Exercise]) -> tuple[list[Submission], list[Path]]:
    """The notebooks below `folder` that belong to an exercise, and those that do not.

    A sub-folder is a learner; a file beside it is named by learner and exercise (`ann-02_tags_tasks.ipynb`).

    Raises:
        BadInput: there is no such folder, or no notebook in it.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder; name one with a sub-folder for each learner")
    handed_in, other = [], []
    for path in sorted(folder.rglob("*.ipynb")):
        inside = path.relative_to(folder)
        if path.is_symlink() or any(part.startswith(".") for part in inside.parts):
            continue
        stem = next((stem for stem in known if path.stem.endswith(stem) or path.stem.startswith(stem)), None)
        if stem is None:
            other.append(path)
            continue
        rest = path.stem.replace(stem, "").strip("-_ .")
        learner = inside.parts[0] if len(inside.parts) > 1 else rest or folder.resolve().name
        handed_in.append(Submission(learner, path, known[stem]))
    if not handed_in:
        raise BadInput(f"{folder} has no notebook of tasks; their names end as in notebooks/exercises/")
    return handed_in, other


def cells(submission: Submission) -> list[Cell]:
    """The project's exercise with the learner's answers: cells of the project's ids that are open, and new cells.

    Raises:
        BadInput: the file is no notebook.
    """
    own: dict[str, Any] = {cell["id"]: cell for cell in submission.exercise.notebook["cells"]}
    mine = [cell for cell in handed_in(submission.path) if cell.cell_type == "code"]
    theirs = {cell.id: cell.text for cell in mine}
    before: dict[str, list[Cell]] = {}  # a learner's new cells, by the next known cell
    waiting: list[Cell] = []
    for number, cell in enumerate(mine):
        if cell.id in own:
            before.setdefault(cell.id, []).extend(waiting)
            waiting = []
        else:
            waiting.append(Cell(f"new-{number}", cell.text, theirs=True))
    result: list[Cell] = []
    for name, given in own.items():
        result += before.get(name, [])
        if given["cell_type"] == "code":
            task = _check(given)
            source = theirs.get(name, given["source"]) if name in submission.exercise.open_cells else given["source"]
            names = (task[1], task[2]) if task else ("", "")
            result.append(Cell(name, source, name in submission.exercise.open_cells, *names))
    return result


class HandedInCell(msgspec.Struct):
    """What is read of a cell in a learner's file."""

    cell_type: str
    source: str | list[str]
    id: str = ""

    @property
    def text(self) -> str:
        """The source in one piece."""
        return self.source if isinstance(self.source, str) else "".join(self.source)


class HandedIn(msgspec.Struct):
    """What is read of a learner's file."""

    cells: list[HandedInCell]


def handed_in(path: Path) -> list[HandedInCell]:
    """The cells of a learner's file, which may be anything: a pipe, a device, no JSON, other JSON.

    Raises:
        BadInput: it is no notebook that can be read; the text says why, and names the place.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise BadInput(f"{path}: not a notebook (it is no regular file)")
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise BadInput(f"{path}: not a notebook that can be read ({error.strerror})") from error
    if len(data) > LARGEST:
        raise BadInput(f"{path} is larger than {LARGEST // 1_000_000} MB: clear its outputs, save it again")
    try:
        cells = msgspec.json.decode(data, type=HandedIn).cells
        "".join(cell.text for cell in cells).encode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadInput(f"{path}: not a notebook ({error})") from error
    if len(cells) > MOST_CELLS:
        raise BadInput(f"{path} has {len(cells):,} cells; at most {MOST_CELLS:,} are run")
    return cells


def _check(cell: dict[str, Any]) -> re.Match[str] | None:
    return CHECK.search(cell["source"]) if cell["cell_type"] == "code" else None


def table(rows: Iterable[tuple[str, ...]], heads: tuple[str, ...]) -> str:
    """Rows under heads, in columns of plain text."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
