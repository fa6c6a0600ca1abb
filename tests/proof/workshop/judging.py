"""Judges a submission: the learner's process in a sandbox, the judge in a process of its own, and both held to limits.

A task is *right*, *not yet* (with the check's hint), *no answer*, *out of time*, or *stopped* (a limit, an exit).
What a cell breaks costs that cell: the notebook is run again without it, ``RUNS`` times its time at the most.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from socket import socketpair
from threading import Thread
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.checkout import ROOT
from tests.proof.workshop.sandbox import (
    COURSE,
    SLACK_S,
    Limits,
    SandboxClosed,
    Watch,
    command,
    environment,
    hold,
    kill,
    seccomp_filter,
)
from tests.proof.workshop.submissions import cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.proof.workshop.submissions import Cell, Submission

RIGHT, NOT_YET, NO_ANSWER, OUT_OF_TIME, STOPPED = "right", "not yet", "no answer", "out of time", "stopped"
RUNS: Final = 3
"""Times its time that a notebook may take with all that is run again."""
KEPT_OF_ERRORS: Final = 4_096
LONGEST_LINE: Final = 100_000


class Verdict(NamedTuple):
    """What a task is, and what is said of it."""

    state: str
    says: str = ""


class Guard(NamedTuple):
    """How the sandbox is closed: limits, and the promises that it lacks here."""

    limits: Limits = Limits()
    lacking: Mapping[str, str] = MappingProxyType({})


class _Ended(NamedTuple):
    """How a run ended: at which cell it broke, and why; both None for the end of the notebook."""

    at: str | None
    why: Verdict | None
    seconds: float


def judged(submission: Submission, guard: Guard) -> dict[str, Verdict]:
    """A verdict for each task of the exercise.

    Raises:
        BadInput: the file is no notebook.
        SandboxClosed: the sandbox did not open.
    """
    todo = cells(submission)
    tasks = [cell.task for cell in todo if cell.task]
    verdicts: dict[str, Verdict] = {}
    skipped: set[str] = set()
    left_s = float(guard.limits.clock_s * RUNS)
    while len(verdicts) < len(tasks) and left_s > 0:
        ended = _run([cell for cell in todo if cell.id not in skipped], verdicts, guard, left_s)
        left_s -= ended.seconds
        broken = next((cell for cell in todo if cell.id == ended.at), None)
        if ended.why is None or broken is None:
            break
        skipped.add(broken.id)  # its task fails, the others get their turn
        if broken.task:
            verdicts.setdefault(broken.task, ended.why)
    late = left_s <= 0
    for task in tasks:
        over = Verdict(OUT_OF_TIME, f"the notebook took {RUNS} times its time before its cell was reached")
        verdicts.setdefault(task, over if late else Verdict(NO_ANSWER, "its cell was not reached"))
    return {task: verdicts[task] for task in tasks}


def _run(todo: list[Cell], verdicts: dict[str, Verdict], guard: Guard, left_s: float) -> _Ended:
    """One run of these cells; fills `verdicts` with what was judged."""
    from time import monotonic

    began = monotonic()
    limits = guard.limits._replace(clock_s=min(guard.limits.clock_s, max(1, int(left_s))))
    with contextlib.ExitStack() as stack:
        home = COURSE
        if "files" in guard.lacking:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rmqlab-workshop-")))
            (home / "notebooks" / "exercises").mkdir(parents=True)
            (home / "data").symlink_to(ROOT / "data")
        mine, theirs = socketpair()
        stack.callback(mine.close)
        learner = _learner(todo, verdicts, limits, guard.lacking, home, theirs.fileno())
        theirs.close()
        stack.callback(_end, learner)
        errors = _Tail(learner.stderr)
        watch = Watch(learner, limits)
        stack.callback(watch.stop)
        judge = _judge(todo, verdicts, mine.fileno())
        stack.callback(_end, judge)
        mine.close()
        late = Thread(target=_kill_when_over, args=(judge, limits.clock_s + SLACK_S), daemon=True)
        late.start()
        at, done, broken = None, False, ""
        for line in _lines(judge.stdout):
            at, done, broken = line.get("at", at), done or "done" in line, line.get("broken", broken)
            if "error" in line:
                verdicts[line["task"]] = Verdict(NO_ANSWER, line["error"])
            elif "right" in line:
                verdicts[line["task"]] = Verdict(RIGHT if line["right"] else NOT_YET, line["says"])
        seconds = monotonic() - began
        if done:
            return _Ended(None, None, seconds)
        kill(learner)
        if at is None and not broken and not watch.why:
            raise SandboxClosed(f"the sandbox did not open: {errors.text() or 'no word from it'}")
        if watch.late or seconds >= limits.clock_s:
            return _Ended(at, Verdict(OUT_OF_TIME, f"it ran into the limit of {limits.clock_s} s"), seconds)
        return _Ended(at, Verdict(STOPPED, watch.why or broken or "its process ended: memory, or an exit"), seconds)


def _learner(
    todo: list[Cell],
    verdicts: Mapping[str, Verdict],
    limits: Limits,
    lacking: Mapping[str, str],
    home: Path,
    connection: int,
) -> subprocess.Popen[str]:
    """The process that runs the cells, in the sandbox."""
    sent = [{**cell._asdict(), "known": cell.task in verdicts} for cell in todo]
    job = {"cells": sent, "folder": str(home / "notebooks" / "exercises"), "connection": connection}
    seccomp = seccomp_filter() if not lacking else None
    descriptors = [connection, *([seccomp] if seccomp is not None else ())]
    process = subprocess.Popen(  # noqa: S603
        command(["-P", "-m", "tests.proof.workshop.inside"], limits, lacking, seccomp),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=descriptors,
        cwd="/", env=environment(home), start_new_session=True, text=True, errors="replace",
        preexec_fn=lambda: hold(limits),  # noqa: PLW1509 - no threads of ours hold locks that it takes
    )  # fmt: skip
    if seccomp is not None:
        os.close(seccomp)
    _give(process, job)
    return process


def _judge(todo: list[Cell], verdicts: Mapping[str, Verdict], connection: int) -> subprocess.Popen[str]:
    """The process that asks and judges: our own interpreter, and no code of a learner."""
    job = {
        "connection": connection, "cells": [cell.id for cell in todo],
        "tasks": [cell.task for cell in todo if cell.task and cell.task not in verdicts],
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.proof.workshop.judge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        pass_fds=[connection], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True, text=True,
    )  # fmt: skip
    _give(process, job)
    return process


def _give(process: subprocess.Popen[str], job: dict[str, Any]) -> None:
    """Hand a job over; a process that has ended by then is told by what it leaves."""
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.close()


def _lines(out: IO[str] | None) -> Iterator[dict[str, Any]]:
    while out is not None and (line := out.readline(LONGEST_LINE)):
        yield json.loads(line)


def _kill_when_over(process: subprocess.Popen[str], seconds: float) -> None:
    """A judge that a learner's function keeps waiting ends with the time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        kill(process)


def _end(process: subprocess.Popen[str]) -> None:
    kill(process)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()


class _Tail:
    """The end of what a process says on standard error; the rest is read and thrown away."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._kept = ""
        self._thread = Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[str] | None) -> None:
        with contextlib.suppress(ValueError, OSError):  # closed meanwhile
            while stream is not None and (text := stream.read(KEPT_OF_ERRORS)):
                self._kept = (self._kept + text)[-KEPT_OF_ERRORS:]

    def text(self) -> str:
        """Its last line."""
        self._thread.join(1)
        lines = self._kept.strip().splitlines()
        return lines[-1] if lines else ""
