"""The reference `my_rules.py`: what the ladder's tasks write when each is answered with our solution.

`python -m tests.proof.reference_rules` writes data/tasks/my_rules.py anew; a test climbs the ladder and compares.
"""

from __future__ import annotations

import linecache
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab_tools.course import check as judging
from rmqlab_tools.course.my_rules import FILE, LADDER
from rmqlab_tools.course.progress import INDEX_NAME
from tests.proof.exercises import BEGIN, OTHERWISE
from tests.proof.notebook_files import read

if TYPE_CHECKING:
    from collections.abc import Iterator

SOLUTIONS = ROOT / "notebooks" / "solutions"
REFERENCE = ROOT / "data" / "tasks" / FILE
# Tasks whose judge looks at very many orders; their own tests judge the same solutions.
LONG = {"01-rule", "08-rule"}
_CHECK = re.compile(r'^rmqlab\.check\("([\w-]+)", (\w+)\)', re.MULTILINE)


def rungs() -> Iterator[tuple[str, Any]]:
    """Each task of the ladder, in the order of the lessons, with our solution: its cell is run as in a notebook."""
    for path in sorted(SOLUTIONS.glob("*.ipynb")):
        if not any(name.startswith(path.name[:2]) for name in LADDER):
            continue
        names: dict[str, Any] = {"__name__": "__main__"}
        for cell in read(path)["cells"]:
            if cell["cell_type"] == "code":
                task = _CHECK.search(cell["source"])
                is_rung = task is not None and task[1] in LADDER
                if is_rung or cell["source"].startswith("import "):
                    _run(cell["source"][: task.start() if task else None], f"<{path.name} {cell['id']}>", names)
                if task is not None and is_rung:
                    yield task[1], names[task[2]]


def _run(source: str, name: str, names: dict[str, Any]) -> None:
    """Run the lines of a cell, so that their functions have a source."""
    lines = "\n".join(line for line in source.splitlines() if not line.strip().startswith((BEGIN, OTHERWISE, "# ")))
    linecache.cache[name] = (len(lines), None, lines.splitlines(keepends=True), name)
    exec(compile(lines, name, "exec"), names)  # noqa: S102 - our own solutions


def climb(folder: Path, *, judge_all: bool = False) -> Path:
    """Answer each rung in a learner's copy in `folder`; the learner's file."""
    (folder / "exercises").mkdir(parents=True, exist_ok=True)
    (folder / INDEX_NAME).write_text("{}", encoding="utf-8")
    before, real = Path.cwd(), judging.judge
    os.chdir(folder / "exercises")
    try:
        for name, answer in rungs():
            if name in LONG and not judge_all:
                judging.judge = lambda *_: "judged elsewhere"
            if not (reply := rmqlab.check(name, answer)):
                raise ValueError(repr(reply))
            judging.judge = real
    finally:
        judging.judge = real
        os.chdir(before)
    return folder / "exercises" / FILE


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        REFERENCE.write_bytes(climb(Path(folder)).read_bytes())
