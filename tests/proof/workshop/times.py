"""How long the lessons take to run: the wall clock of each, and the cells for which a room waits."""

from __future__ import annotations

import os
import platform
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.proof.notebook_files import KERNEL, TIMEOUT_S, read, run_all
from tests.proof.workshop.submissions import table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SLOW_S = 3.0


def measured(notebooks: Path, tell: Callable[[str], None]) -> dict[str, Any]:
    """Run every lesson once, as committed: its seconds, and the cells that take longer than ``SLOW_S``.

    Returns what data/workshop/times.json holds: `machine`, and `lessons`, each with `seconds`, `start` (what the kernel
    needs besides the cells) and `slow` (cell id: seconds).
    """
    lessons = {}
    for path in sorted(notebooks.glob("[0-9][0-9]_*.ipynb")):
        lessons[path.stem] = times = _run(path)
        tell(f"{path.stem}: {times['seconds']} s, slow: {times['slow'] or 'none'}")
    machine = {
        "processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    return {"machine": machine, "lessons": lessons}


def shown(record: dict[str, Any]) -> str:
    """The table of what was measured: a line for each lesson, and what machine it was."""
    rows = [
        (name, f"{lesson['seconds']:.0f}", ", ".join(f"{cell} {s:.0f}" for cell, s in lesson["slow"].items()) or "-")
        for name, lesson in record["lessons"].items()
    ]
    machine = "{processor}, {cores} cores, Python {python}, load {load}".format_map(record["machine"])
    return f"{table(rows, ('lesson', 'seconds', 'cells to wait for, seconds'))}\n{machine}"


def _run(path: Path) -> dict[str, Any]:
    from time import monotonic

    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.from_dict(read(path))
    client = NotebookClient(
        notebook, kernel_name=KERNEL["name"], timeout=TIMEOUT_S, resources={"metadata": {"path": str(path.parent)}}
    )
    began = monotonic()
    run_all(client)
    whole = monotonic() - began
    cells = {cell["id"]: _seconds(cell["metadata"].get("execution", {})) for cell in notebook["cells"]}
    slow = {name: round(seconds, 1) for name, seconds in cells.items() if seconds > SLOW_S}
    return {"seconds": round(whole, 1), "start": round(whole - sum(cells.values()), 1), "slow": slow}


def _seconds(execution: dict[str, str]) -> float:
    """From when the kernel began the cell until it answered."""
    begin, end = (execution.get(name) for name in ("iopub.execute_input", "shell.execute_reply"))
    if not begin or not end:
        return 0.0
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
