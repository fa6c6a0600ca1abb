"""A program of its own that counts on Spark as `rmqlab match --spark` does, with the session that this verb opens.

The other benchmarks have rows go through their JVM, which pays for its better compiler; this one only hands out work.
"""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from typing import TYPE_CHECKING, Any, Final

from rmqlab_tools.spark.session import PACKAGE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

_WARM_JOBS: Final = 40


class SparkJob:
    """The program, started and warm. It is gone with this object.

    A JVM that has just started compiles its own scheduler for tens of jobs: more work than a filter is.
    """

    def __init__(self, paths: Sequence[str], topic: str, expression: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.proof.bench.spark_job"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, cwd=PACKAGE_FOLDER.parent,
        )  # fmt: skip
        weakref.finalize(self, _end, self._process)
        self.pid = self._process.pid
        self._topic = topic
        self.matched(paths, expression)
        for _ in range(_WARM_JOBS):
            self.matched(paths[:2], expression)

    def matched(self, paths: Sequence[str], expression: str) -> tuple[int, int]:
        """How many messages the files have, and how many match.

        Raises:
            RuntimeError: the program has ended.
        """
        sends, answers = self._process.stdin, self._process.stdout
        line = ""
        if sends is not None and answers is not None:
            sends.write(json.dumps([[*paths], self._topic, expression]) + "\n")
            sends.flush()
            line = answers.readline()
        if not line:
            raise RuntimeError(f"the program of the job ended with status {self._process.wait()}")
        messages, matched = json.loads(line)
        return messages, matched


def _end(process: subprocess.Popen[str]) -> None:
    """End the program in good order: with its input it closes Spark."""
    if process.stdin is not None:
        process.stdin.close()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def matched(session: Any, paths: Sequence[str], topic: str, expression: str) -> tuple[int, int]:
    """Count on Spark, or without a session in this process."""
    from rmqlab_tools.spark.archived.matching import Part, Wanted, counted
    from tests.proof.bench.messages import IN_A_FILE

    parts = [Part(path, topic, 0, 1, messages=IN_A_FILE) for path in paths]
    table = counted(parts, Wanted(expression, "SQL92"), session=session)
    return sum(table["messages"].to_pylist()), sum(table["matched"].to_pylist())


def main() -> None:
    """Answer questions, a line each, until the input ends."""
    from rmqlab_tools.spark.session import open_session

    session = open_session("local[*]", quick=True)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(matched(session, *json.loads(line))) + "\n")
        sys.stdout.flush()
    session.stop()


if __name__ == "__main__":
    main()
