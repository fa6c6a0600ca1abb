"""`rmqlab.guess(...)`, which is entered before anything is shown, and `rmqlab.progress()`: what a learner did so far.

`guess`, `check` and `quiz` write a line each into progress.jsonl of a learner's copy (the folder with 00_index.ipynb).
Elsewhere nothing is written, and what they show is the same in either place. Lines are only added, each in one write,
so two notebooks at once do no harm; a file that cannot be written or a broken line stops no lesson.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.files import json_value, read_bytes
from rmqlab.language import _, joined, translate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.show.tables import Table

INDEX_NAME, FILE = "00_index.ipynb", "progress.jsonl"
# How a kernel knows its notebook: JupyterLab sets a variable of the environment, VS Code a name of the cells.
SESSION, VS_CODE = "JPY_SESSION_NAME", "__vsc_ipynb_file__"
LESSON = re.compile(r"^\d\d_")
TASK = re.compile(r'rmqlab\.check\("(\d\d-[a-z0-9-]+)"')


def note(kind: str, lesson: str, name: str, *, right: bool) -> None:
    """Remember that a guess was entered, a task judged or a question answered; only in a learner's copy."""
    folder = learners_folder()
    if folder is None:
        return
    record = json.dumps({"kind": kind, "lesson": lesson, "name": name, "right": right})
    with contextlib.suppress(OSError), (folder / FILE).open("ab", buffering=0) as file:
        file.write(f"\n{record}\n".encode())  # on a line of its own, also behind one that was cut short


def _notebook() -> Path:
    """The notebook that runs, as far as the program that shows it says so; else an empty path."""
    path_given = os.environ.get(SESSION)
    shell = None if path_given else getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return Path(str(path_given or (shell and shell.user_ns.get(VS_CODE)) or ""))


def learners_folder() -> Path | None:
    """The learner's copy in which this runs: the current folder, or the one above for its exercises.

    VS Code can be set to run notebooks elsewhere; then the notebook's own folder counts.
    """
    places = [here for here in (Path.cwd(), _notebook().parent) if here.is_absolute()]
    return next((folder for here in places for folder in (here, here.parent) if (folder / INDEX_NAME).is_file()), None)


def progress() -> Table:
    """A table: for each lesson of this copy whether the guess was entered, tasks solved, questions answered right.

    The column of `my_rules.py` says how many rules of the lesson stand in it as their tasks found them right. A task
    counts when it was right once, here or in the saved notebook. Of a question the first answer counts.

    Raises:
        BadInput: this is not a learner's copy.
    """
    from rmqlab_tools.course.my_rules import rungs_of
    from rmqlab_tools.show.tables import Table

    folder = learners_folder()
    if folder is None:
        raise BadInput(_("progress is kept in your own copy of the lessons: ./lab notebook makes one, run this there"))
    guessed, solved, first = set(), set(), dict[tuple[str, str], bool]()
    for record in _lines(folder / FILE):
        match record:
            case {"kind": "guess", "lesson": str(lesson)}:
                guessed.add(lesson)
            case {"kind": "task", "name": str(name), "right": True}:
                solved.add(name)
            case {"kind": "quiz", "lesson": str(lesson), "name": str(name), "right": bool(right)}:
                first.setdefault((lesson, name), right)
    rows = []
    for path in sorted(path for path in folder.glob("[0-9][0-9]_*.ipynb") if path.name != INDEX_NAME):
        number = path.name[:2]
        tasks = _tasks(folder / "exercises", number)
        done = sum(saved or name in solved for name, saved in tasks.items())
        answers = [right for (lesson, _), right in first.items() if lesson == number]
        quiz = _("{answers} of {answers2} right", answers=sum(answers), answers2=len(answers)) if answers else None
        rungs, all_rungs = rungs_of(number)
        rules = _("{done} of {rules}", done=rungs, rules=all_rungs) if all_rungs else None
        guess_entered = "✓" if number in guessed else None
        rows.append((path.stem, guess_entered, _("{done} of {tasks}", done=done, tasks=len(tasks)), rules, quiz))
    headers = (_("lesson"), _("guess"), _("tasks solved"), "my_rules.py", _("quiz"))
    return Table(_("Your progress in this copy"), headers, rows)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with contextlib.suppress(OSError):
        for line in read_bytes(path).decode("utf-8", "replace").splitlines():
            with contextlib.suppress(ValueError):
                record = json_value(line)
                if isinstance(record, dict):
                    yield record


def _tasks(exercises: Path, number: str) -> dict[str, bool]:
    """A lesson's tasks by name, as they stand in its notebook of tasks, and whether the saved output says right."""
    solved = {}
    for path in exercises.glob(f"{number}_*.ipynb"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            for cell in json_value(read_bytes(path).decode())["cells"]:
                for name in TASK.findall("".join(cell["source"])):
                    solved[name] = f"{name}: right. " in json.dumps(cell.get("outputs"))
    return solved


class GuessFirst(Exception):
    """The guess is still open; a notebook shows one line of it, and runs no cell below."""

    def _render_traceback_(self) -> list[str]:
        """The line alone."""
        return [translate(str(self))]


class Guess(dict[str, object]):
    """What a reader expects, name to value."""

    def __repr__(self) -> str:
        """On one line."""
        return translate(
            _("your guess: {name}", name=joined(", ", (f"{name} {value}" for name, value in self.items())))
        )

    def beside(self, **actual: object) -> Table:
        """A table: what was guessed, what came out, and whether it is the same; numbers may differ by rounding.

        Raises:
            BadInput: something was found that was not guessed; the text names what was.
        """
        from rmqlab_tools.show.tables import Table

        for name in actual:
            if name not in self:
                raise BadInput(
                    _(
                        "{name} was not guessed{near}; guessed: {value}",
                        name=f"{name!r}",
                        near=did_you_mean(name, self),
                        value=joined(", ", self),
                    )
                )
        rows = [
            (name, self[name], value, _("right") if _same(self[name], value) else _("no"))
            for name, value in actual.items()
        ]
        wrong = frozenset(number for number, row in enumerate(rows) if row[-1] == "no")
        right = len(rows) - len(wrong)
        return Table(
            _("Your guess: {right} of {rows} right", right=right, rows=len(rows)),
            ("", _("guessed"), _("came out"), ""),
            rows,
            marked=wrong,
        )


def guess(**values: object) -> Guess:
    """What you expect, before it is shown; `...` stands for a value that is not entered yet.

    >>> mine = guess(A=4, B=4)
    >>> mine
    your guess: A 4, B 4
    >>> mine.beside(A=2, B=4)
    Your guess: 1 of 2 right
       guessed  came out
    A  4        2         no  <
    B  4        4         right

    Raises:
        GuessFirst: a value is `...`; the text names which.
    """
    missing = [name for name, value in values.items() if value is ...]
    if missing:
        raise GuessFirst(
            _(
                "Enter your guess first: {missing}. Then run this cell again, and go on below.",
                missing=joined(", ", missing),
            )
        )
    notebook = _notebook().name
    if LESSON.match(notebook):
        note("guess", notebook.partition("_")[0], "guess", right=True)
    return Guess(values)


def _same(guessed: object, actual: object) -> bool:
    if isinstance(guessed, float) or isinstance(actual, float):
        return isinstance(guessed, Real) and isinstance(actual, Real) and abs(float(guessed) - float(actual)) < 0.005
    if isinstance(guessed, str) and isinstance(actual, str):
        return guessed.strip().lower() == actual.strip().lower()
    return guessed == actual
