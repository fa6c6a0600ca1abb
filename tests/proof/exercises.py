"""Exercises, generated: the notebook with the solutions is the truth, the learner's one is made from it.

In a cell of the solution

    # begin solution
    answer = {"A": 0, "B": 2}
    # otherwise
    # answer = {"A": ..., "B": ...}
    # end solution

the lines up to `otherwise` are the solution, and those after it, without their "# ", what the learner finds in their
place. Cells tagged `solution` are left out of the exercise. It has no outputs. Cells keep their ids.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from tests.proof.notebook_files import Notebook, clean, read, tags, write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BEGIN, OTHERWISE, END = "# begin solution", "# otherwise", "# end solution"
SOLUTION = "solution"
TODO = "# Your turn."
TASK = re.compile(r'rmqlab\.check\("([\w-]+)"')
IS_CODE = re.compile(r"\bdef |SELECT|\.replace\(")


def exercise_of(solution: Notebook, where: str = "notebook") -> Notebook:
    """The exercise that belongs to a solution notebook.

    Raises:
        BadInput: markers that do not match, or a notebook without any; the text names the cell.
    """
    exercise = clean(solution)
    exercise["cells"] = [cell for cell in exercise["cells"] if SOLUTION not in tags(cell)]
    changed = len(exercise["cells"]) < len(solution["cells"])
    for cell in exercise["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = stub(cell["source"], f"{where}, cell {cell.get('id', '?')}")
        changed = changed or source != cell["source"]
        cell["source"], cell["outputs"], cell["execution_count"] = source, [], None
    if not changed:
        raise BadInput(f'{where}: nothing in it is a solution; mark lines with "{BEGIN}" or tag cells {SOLUTION!r}')
    return exercise


def stub(source: str, where: str = "cell") -> str:
    """The source of a cell with every solution replaced.

    Raises:
        BadInput: markers in another order than begin, otherwise, end.
    """
    lines: list[str] = []
    state = END
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if text in {BEGIN, OTHERWISE, END}:
            expected = {END: BEGIN, BEGIN: OTHERWISE, OTHERWISE: END}[state]
            if text != expected:
                raise BadInput(f'{where}, line {number}: "{text}" where "{expected}" should come next')
            if text == BEGIN:
                lines.append(line.replace(BEGIN, TODO))
            state = text
        elif state == END:
            lines.append(line)
        elif state == OTHERWISE:
            head, mark, rest = f"{line} ".partition("# ")
            if head.strip() or not mark:
                raise BadInput(f'{where}, line {number}: what stands for the solution must be comments, "# ..."')
            lines.append((head + rest).rstrip())
    if state != END:
        raise BadInput(f'{where}: no "{END}" after "{state}"')
    return "\n".join(lines)


def sizes(solutions: Iterable[Notebook]) -> dict[str, int]:
    """How many lines the solution of each task takes, where it is code: without comments and lines that say nothing."""
    counted = {}
    for notebook in solutions:
        for cell in notebook["cells"]:
            task = TASK.search(cell["source"])
            inner = cell["source"].partition(BEGIN)[2].partition(OTHERWISE)[0].splitlines()
            lines = [line for line in inner if line.strip() and not line.lstrip().startswith("#")]
            if task and lines and (IS_CODE.search("\n".join(lines)) or "def " in cell["source"].partition(BEGIN)[0]):
                counted[task[1]] = len(lines)
    return counted


def sizes_text(notebooks: Path) -> str:
    """What data/tasks/sizes.json holds."""
    counted = sizes(read(solution) for solution in sorted((notebooks / "solutions").glob("*.ipynb")))
    return json.dumps(counted, indent=1) + "\n"


def exercise_path(solution: Path) -> Path:
    """Where the exercise of a solution notebook lies: notebooks/exercises/ beside notebooks/solutions/."""
    return solution.parent.parent / "exercises" / solution.name


def generate(notebooks: Path) -> list[Path]:
    """Write the exercise of every solution in ``notebooks``/solutions; return the files written."""
    written = []
    for solution in sorted((notebooks / "solutions").glob("*.ipynb")):
        path = exercise_path(solution)
        write(path, exercise_of(read(solution), solution.name))
        written.append(path)
    tasks = notebooks.parent / "data" / "tasks"
    if tasks.is_dir():
        (tasks / "sizes.json").write_text(sizes_text(notebooks), encoding="utf-8")
    return written
