"""The table of attacks tried and held, by surface: counted, from the tests that there are and the logs of long runs.

    python -m tests.proof.stress.attacks [LOG...]

Counts the tests of each surface (pytest's own collection), sums up the logs of `./lab stress readers --log` that are
named, or keeps what the page has of earlier ones, and writes the tables into docs/reference/attacks.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rmqlab.checkout import ROOT
from tests.proof.stress.fuzzing import Batch, batch_table
from tests.proof.workshop.submissions import table

PAGE: Final = ROOT / "docs" / "reference" / "attacks.md"
RUNS: Final = ROOT / "data" / "hostile" / "batches.json"
SURFACES: Final = {
    "Sandbox of `workshop --check`, and its judge": ("tests/proof/workshop/test_workshop.py",),
    "Modules in the current folder": ("tests/test_shadow_modules.py",),
    "Texts from outside, on terminals and in pages": ("tests/test_visible.py", "tests/cli/test_outside_text.py"),
    "Bounds of work and memory": ("tests/test_limits.py", "tests/test_file_reads.py"),
    "Archives and folders of stores": ("tests/recordings/test_recorded_store.py",),
    "Links": ("tests/show/test_link.py",),
    "Readers of files, frames and texts": ("tests/hostile/test_readers.py", "tests/hostile/test_odd_values.py"),
    "Damaged stores": ("tests/hostile/test_damaged_stores.py", "tests/spark/test_audit_of_damaged_config.py"),
    "Full disks, and what may not be read": (
        "tests/hostile/test_full_disk.py", "tests/hostile/test_without_permission.py",
    ),
    "Frames and connections of a running broker": (
        "tests/proof/stress/test_frame_fuzz.py", "tests/proof/stress/test_stress.py", "tests/live/test_frames.py",
        "tests/live/test_socket_server.py",
    ),
    "SIGTERM, kill -9, loss of power": (
        "tests/test_processes.py", "tests/live/test_durable_store.py", "tests/live/test_power_loss.py",
    ),
    "Executors, workers and JVMs of Spark": ("tests/spark/test_spark_ended.py", "tests/hostile/test_executors.py"),
    "Clocks that are set": ("tests/hostile/test_clock_jumps.py",),
}  # fmt: skip
"""What is attacked, and the modules of tests that attack it."""
_COUNT: Final = re.compile(r"^(tests/\S+?\.py)::", re.MULTILINE)


def counted() -> dict[str, int]:
    """How many tests each surface has, each value of a parameter being one."""
    modules = [module for modules in SURFACES.values() for module in modules]
    command = [sys.executable, "-P", "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *modules]
    usual = {name: value for name, value in os.environ.items() if name != "RMQLAB_HOSTILE_INPUTS"}
    ran = subprocess.run(command, cwd=ROOT, env=usual, capture_output=True, text=True, check=True)  # noqa: S603
    tests = Counter(_COUNT.findall(ran.stdout))
    return {surface: sum(tests[module] for module in modules) for surface, modules in SURFACES.items()}


def table_of_tests(tests: dict[str, int]) -> list[str]:
    """The lines of the table of tests."""
    rows = [(surface, f"{tests[surface]:,}", modules[0]) for surface, modules in SURFACES.items()]
    return table(rows, ("what is attacked", "tests", "first of its modules")).splitlines()


def table_of_runs(rows: list[Batch]) -> list[str]:
    """The lines of the table of long runs."""
    lines = [
        (row.reader, f"{row.inputs:,}", f"{row.refused:,}", f"{sum(finding[0] for finding in row.wrong.values())}",
         f"{row.peak_mb:.0f}", f"{row.slowest_ms:.0f}")
        for row in rows
    ]  # fmt: skip
    return table(lines, ("reader", "inputs", "refused", "open findings", "most MB", "slowest ms")).splitlines()


def runs() -> list[Batch]:
    """What the long runs came to, a row for each reader."""
    return [Batch(**row) for row in json.loads(RUNS.read_text("utf-8"))]


def keep(logs: list[Path]) -> None:
    """Sum up logs; a batch that stands in several counts as the last one says."""
    batches = {}
    for log in logs:
        for line in log.read_text("utf-8").splitlines():
            fields = json.loads(line)
            count = fields.pop("asked")
            batches[fields["reader"], fields["seed"], count] = Batch(**fields)
    RUNS.parent.mkdir(exist_ok=True)
    rows = [asdict(row) for row in batch_table(batches.values())]
    RUNS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def put(text: str, name: str, lines: list[str]) -> str:
    """Return the page with these lines between the marks of a table."""
    mark = f"<!-- {name} -->"
    before, _, rest = text.partition(mark)
    _, _, after = rest.partition(mark)
    return "\n".join([f"{before}{mark}", "", "```text", *lines, "```", "", f"{mark}{after}"])


def main() -> None:
    """Write the page."""
    if sys.argv[1:]:
        keep([Path(name) for name in sys.argv[1:]])
    text = put(PAGE.read_text("utf-8"), "tests", table_of_tests(counted()))
    PAGE.write_text(put(text, "runs", table_of_runs(runs())), encoding="utf-8")


if __name__ == "__main__":
    main()
