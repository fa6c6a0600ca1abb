"""What `workshop --check` of a class costs: seconds and memory of one checkout's checker, or of several to compare.

    python -m tests.proof.workshop.class_cost LEARNERS NOTEBOOK CHECKOUT...

Each learner of the class hands in the solutions of NOTEBOOK ("02_tags_tasks"). Prints a line of JSON for each checkout;
`load` is the machine's load average (1 minute) before and after, since other work makes all of it slower.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Final

import psutil

from rmqlab.checkout import checkout_path

LOOK_S: Final = 0.1
MEGABYTE: Final = 1_000_000


def class_cost(learners: int, notebook: str, checkout: Path) -> dict[str, Any]:
    """Check a class of so many with the code of a checkout.

    `seconds` of the clock and of processors (the checker's and all that it began), and the most memory in MB that the
    checker had itself, that one notebook's processes had together (sandbox and judge), and that one of them had.
    """
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        room = Path(scratch)
        for number in range(learners):
            (room / f"learner{number:02}").mkdir()
            solution = checkout_path("notebooks") / "solutions" / f"{notebook}.ipynb"
            shutil.copy(solution, room / f"learner{number:02}" / solution.name)
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        command = [sys.executable, "-P", "-m", "rmqlab", "workshop", "--check", str(room)]
        began = perf_counter()
        before = os.times()
        process = subprocess.Popen(  # noqa: S603 - a checkout of ours
            command, cwd=checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        most = {"checker": 0.0, "notebook": 0.0, "process": 0.0}
        while process.poll() is None:
            _look(process.pid, most)
            sleep(LOOK_S)
        after = os.times()
    said = process.stdout.read() if process.stdout else ""
    return {
        "checkout": str(checkout), "learners": learners, "notebook": notebook, "status": process.returncode,
        "right": said.count("+ +"), "seconds": round(perf_counter() - began, 1),
        "processor_seconds": round(after[2] + after[3] - before[2] - before[3], 1),
        **{f"{name}_mb": round(value / MEGABYTE) for name, value in most.items()},
        "load": [round(load, 1), round(os.getloadavg()[0], 1)], "last": said.splitlines()[-2:],
    }  # fmt: skip


def _look(pid: int, most: dict[str, float]) -> None:
    try:
        checker = psutil.Process(pid)
        others = [_resident(child) for child in checker.children(recursive=True)]
        most["checker"] = max(most["checker"], _resident(checker))
    except psutil.NoSuchProcess:
        return
    most["notebook"] = max(most["notebook"], sum(others))
    most["process"] = max(most["process"], *others, 0.0)


def _resident(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss)
    except psutil.Error:
        return 0.0


if __name__ == "__main__":
    for root in sys.argv[3:]:
        print(json.dumps(class_cost(int(sys.argv[1]), sys.argv[2], Path(root).resolve())), flush=True)  # noqa: T201
