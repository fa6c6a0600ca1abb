"""How long the lessons take to run: wall clock and processor time of each, and the cells for which a room waits."""

from __future__ import annotations

import os
import platform
import resource
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

    Returns what data/workshop/times.json holds: `machine` with its `load` before and after, and `lessons`, each with
    `seconds` of the wall clock, `cpu` (seconds of a processor that the kernel took), `start` (what the kernel needs
    besides the cells) and `slow` (cell id: seconds of the wall clock). On a busy machine `cpu` is what holds.
    """
    before = os.getloadavg()[0]
    lessons = {}
    for path in sorted(notebooks.glob("[0-9]*.ipynb")):
        lessons[path.stem] = times = _run(path)
        tell(f"{path.stem}: {times['seconds']} s, {times['cpu']} s of a processor, slow: {times['slow'] or 'none'}")
    machine = {
        "processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(),
        "load": [round(load, 1) for load in (before, os.getloadavg()[0])],
    }  # fmt: skip
    return {"machine": machine, "lessons": lessons}


def shown(record: dict[str, Any]) -> str:
    """The table of what was measured: a line for each lesson, and what machine it was."""
    rows = [
        (
            name,
            f"{lesson['seconds']:.0f}",
            f"{lesson['cpu']:.0f}",
            ", ".join(f"{cell} {s:.0f}" for cell, s in lesson["slow"].items()) or "-",
        )
        for name, lesson in record["lessons"].items()
    ]
    machine = "{processor}, {cores} cores, Python {python}, load {load[0]} before, {load[1]} after".format_map(
        record["machine"]
    )
    headers = ("lesson", "seconds", "of a processor", "cells to wait for, seconds")
    return f"{table(rows, headers)}\n{machine}"


def _run(path: Path) -> dict[str, Any]:
    from time import monotonic

    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.from_dict(read(path))
    client = NotebookClient(
        notebook, kernel_name=KERNEL["name"], timeout=TIMEOUT_S, resources={"metadata": {"path": str(path.parent)}}
    )
    began, used = monotonic(), _processor_seconds()
    run_all(client)
    whole, cpu = monotonic() - began, _processor_seconds() - used
    cells = {cell["id"]: _seconds(cell["metadata"].get("execution", {})) for cell in notebook["cells"]}
    slow = {name: round(seconds, 1) for name, seconds in cells.items() if seconds > SLOW_S}
    return {
        "seconds": round(whole, 1),
        "cpu": round(cpu, 1),
        "start": round(whole - sum(cells.values()), 1),
        "slow": slow,
    }


def _processor_seconds() -> float:
    """What ended children took of the processors: kernels, and what these waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _seconds(execution: dict[str, str]) -> float:
    """From when the kernel began the cell until it answered."""
    begin, end = (execution.get(name) for name in ("iopub.execute_input", "shell.execute_reply"))
    if not begin or not end:
        return 0.0
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
