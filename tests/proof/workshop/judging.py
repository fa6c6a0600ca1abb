"""Judges a submission: runs it in the cage, again without a cell that broke it, and says of each task what it is.

A task is *right*, *not yet* (with the check's hint), *no answer*, *out of time*, *stopped* (memory, a limit), or *by
hand*: a right answer of which nothing but a look can say that it did not help itself. See `suspicious`.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import resource
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.checkout import ROOT
from tests.proof.workshop.cage import CageClosed, Limits, command
from tests.proof.workshop.submissions import cells

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.proof.workshop.submissions import Cell, Submission

RIGHT, NOT_YET, NO_ANSWER, OUT_OF_TIME, STOPPED, BY_HAND = (
    "right", "not yet", "no answer", "out of time", "stopped", "by hand",
)  # fmt: skip
# What an honest answer has no use for, and what one needs to reach the judge from within.
MODULES = {
    "rmqlab", "pandas", "numpy", "math", "json", "re", "collections", "itertools", "functools", "dataclasses", "random",
    "statistics", "datetime", "string", "bisect", "heapq", "operator", "gzip", "pathlib", "pyspark", "hashlib", "shlex",
    "tempfile", "tarfile", "time", "typing", "__future__",
}  # fmt: skip
CALLS = {"eval", "exec", "compile", "getattr", "setattr", "delattr", "globals", "locals", "vars", "open", "__import__"}
REACHES = {"os", "sys", "gc", "inspect", "builtins", "modules", "ctypes", "subprocess", "lessons", "judge", "tests"}


class Verdict(NamedTuple):
    """What a task is, and what is said of it; `inside`: a right answer that was judged beside the learner's code."""

    state: str
    says: str = ""
    inside: bool = False


class Guard(NamedTuple):
    """How the cage is closed: limits, and whether network and writes are let through."""

    limits: Limits = Limits()
    network: bool = False
    writes: bool = False


def judged(submission: Submission, guard: Guard) -> dict[str, Verdict]:
    """A verdict for each task of the exercise.

    Raises:
        BadInput: the file is no notebook.
    """
    todo = cells(submission)
    tasks = [cell.task for cell in todo if cell.task]
    found: dict[str, Verdict] = {}
    skip: list[str] = []
    while len(found) < len(tasks):
        plain, at, why = _run(todo, skip, found, guard)
        found |= _judged_outside(plain, guard.limits)
        broken = next((cell for cell in todo if cell.id == at), None)
        if why is None or broken is None:
            break
        skip.append(broken.id)  # its task fails, the others get their turn
        if broken.task:
            found.setdefault(broken.task, why)
    for task in tasks:
        found.setdefault(task, Verdict(NO_ANSWER, "its cell was not reached"))
    odd = suspicious(cell.source for cell in todo if cell.theirs)
    return {task: Verdict(BY_HAND, odd) if odd and found[task].inside else found[task] for task in tasks}


def _run(
    todo: list[Cell], skip: list[str], found: dict[str, Verdict], guard: Guard
) -> tuple[dict[str, str], str | None, Verdict | None]:
    """One run in the cage: plain answers, the cell at which it broke, and how; fills `found` with what was judged."""
    secret, plain, at = secrets.token_hex(16), {}, None
    with tempfile.TemporaryDirectory(prefix="rmqlab-workshop-") as scratch:
        home = Path(scratch) / "notebooks" / "exercises"
        home.mkdir(parents=True)
        (Path(scratch) / "data").symlink_to(ROOT / "data")
        read_end, write_end = os.pipe()
        job = {
            "cells": [cell._asdict() for cell in todo], "skip": skip, "known": list(found), "secret": secret,
            "scratch": scratch, "folder": str(home), "out": write_end, "limits": guard.limits._asdict(),
            "writes": guard.writes, "network": guard.network,
        }  # fmt: skip
        environ = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": scratch, "TMPDIR": scratch, "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": scratch, "NUMBA_CACHE_DIR": scratch,
            **{name: os.environ[name] for name in ("JAVA_HOME", "LANG") if name in os.environ},
        }  # fmt: skip
        began, before = monotonic(), _cpu_s()
        child = subprocess.Popen(  # noqa: S603 - our own interpreter
            command([sys.executable, "-P", "-m", "tests.proof.workshop.inside"], network=guard.network),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[write_end], cwd=scratch,
            env=environ, start_new_session=True, text=True,
        )  # fmt: skip
        os.close(write_end)
        try:
            told, errors = _listen(child, read_end, json.dumps(job) + "\n", began + guard.limits.clock_s)
        finally:
            _end(child)
    done = ready = False
    for line in told:
        if line.get("secret") != secret:
            continue
        ready, done, at = ready or "ready" in line, done or "done" in line, line.get("at", at)
        if "plain" in line:
            plain[line["task"]] = line["plain"]
        elif "error" in line:
            found[line["task"]] = Verdict(NO_ANSWER, line["error"])
        elif "right" in line:
            found[line["task"]] = _inside(line)
    if not ready:
        raise CageClosed(f"the cage did not open: {(errors.strip().splitlines() or ['no word from it'])[-1]}")
    if done:
        return plain, None, None
    # the status of `unshare` does not tell which signal ended its child
    late = monotonic() - began >= guard.limits.clock_s or _cpu_s() - before >= guard.limits.cpu_s - 1
    why = Verdict(OUT_OF_TIME, f"it ran into the limit of {guard.limits.cpu_s} s CPU, {guard.limits.clock_s} s in all")
    return plain, at, why if late else Verdict(STOPPED, f"its process ended ({child.returncode}): memory, or an exit")


def _inside(line: dict[str, Any]) -> Verdict:
    if not line["right"]:
        return Verdict(NOT_YET, line["says"])
    if line["changed"]:
        return Verdict(BY_HAND, f"replaced {', '.join(line['changed'])}")
    return Verdict(RIGHT, line["says"], inside=True)


def _listen(child: subprocess.Popen[str], read_end: int, job: str, until: float) -> tuple[list[dict[str, Any]], str]:
    """Give it the job, and hear what it says until it ends or the time is over."""
    from threading import Thread

    said = bytearray()

    def hear() -> None:
        with os.fdopen(read_end, "rb") as file:
            while chunk := file.read1(65_536):
                said.extend(chunk if len(said) < 50_000_000 else b"")

    ear = Thread(target=hear, daemon=True)
    ear.start()
    errors = ""
    try:
        _, errors = child.communicate(job, timeout=max(0.1, until - monotonic()))
    except subprocess.TimeoutExpired:
        _end(child)
    except BrokenPipeError:
        pass
    ear.join(5)
    lines = []
    for line in bytes(said).decode(errors="replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            lines.append(value)
    return lines, errors


def _end(child: subprocess.Popen[str]) -> None:
    """End it and all that it began: they are one session, and in the cage one space of process numbers."""
    import signal

    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=1)  # what ends by itself is waited for: then its CPU time is known
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _cpu_s() -> float:
    """CPU time of all processes that ended below this one, in s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _judged_outside(plain: dict[str, str], limits: Limits) -> dict[str, Verdict]:
    """Judge answers that are data, in a process of ours in which no code of a learner ever ran."""
    if not plain:
        return {}
    program = shutil.which(sys.executable) or sys.executable
    found = {}
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [program, "-P", "-m", "tests.proof.workshop.judging"], input=json.dumps(plain), capture_output=True,
            text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=limits.clock_s, check=False,
        )  # fmt: skip
        lines = done.stdout.splitlines()
    except subprocess.TimeoutExpired as late:
        lines = (late.stdout or b"").decode().splitlines()
    for line in lines:
        task, right, says = json.loads(line)
        found[task] = Verdict(RIGHT if right else NOT_YET, says)
    return {task: found.get(task, Verdict(OUT_OF_TIME, "its check took too long")) for task in plain}


def suspicious(sources: Iterable[str]) -> str:
    """What in the learner's cells could reach the judge, for a person to look at; empty for nothing."""
    for source in sources:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            if source.lstrip().startswith(("%", "!")) or "\n!" in source or "\n%" in source:
                return "a cell runs a command"
            continue
        modules = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                modules |= {alias.asname or alias.name for alias in node.names}
                for name in names:
                    if name.partition(".")[0] not in MODULES or name.startswith("rmqlab."):
                        return f"imports {name}"
            elif isinstance(node, ast.Name) and (node.id in CALLS or node.id.startswith("__")):
                return f"uses {node.id}"
            elif isinstance(node, ast.Attribute) and (node.attr in REACHES or node.attr.startswith("_")):
                return f"uses .{node.attr}"
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                root = node.value
                if isinstance(root, ast.Name) and root.id in {*modules, "rmqlab", "pd"}:
                    return f"sets {root.id}.{node.attr}"
    return ""


def main() -> None:
    """Judge the plain answers on standard input, a line for each."""
    from rmqlab.lessons.check import CheckFailed, judge

    for task, text in json.loads(sys.stdin.read()).items():
        try:
            answer = [task, True, judge(task, ast.literal_eval(text))]
        except CheckFailed as failed:
            answer = [task, False, failed.hint]
        except Exception as problem:  # noqa: BLE001 - odd data may break a check; then it is not right
            answer = [task, False, f"{type(problem).__name__}: {problem}"[:300]]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
