"""The verb `workshop`: who of a class solved what, judged in a sandbox; and how long the lessons take here."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.files import atomic_write
from rmqlab.language import _, joined
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import Printer, printer
from tests.proof.workshop.judging import RIGHT, Guard, Verdict, judged
from tests.proof.workshop.sandbox import PROMISES, Limits, SandboxClosed, missing
from tests.proof.workshop.submissions import Submission, exercises, submissions, table
from tests.proof.workshop.times import measured, shown

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SHORT = {RIGHT: "+", "not yet": "-", "no answer": ".", "out of time": "T", "stopped": "!", "no notebook": "x"}
KEY = "+ right   - not yet   . no answer   T out of time   ! stopped   x no notebook"
NOT_RUN = "needs Spark: --spark"
SPARK_DISK = 2 << 30
"""Bytes: Spark unpacks archives and spills."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", type=Path, metavar="FOLDER", help="a sub-folder for each learner: who solved what")
    what.add_argument("--times", type=Path, metavar="FILE", help="run every lesson once, write how long each takes")
    parser.add_argument("--seconds", type=int, default=180, metavar="N", help="for one run of a notebook (180)")
    parser.add_argument(
        "--memory", type=int, default=3_072, metavar="MB", help="for one notebook, all its processes (3072)"
    )
    parser.add_argument("--disk", type=int, default=256, metavar="MB", help="for one notebook, all its files (256)")
    parser.add_argument(
        "--spark", action="store_true", help="run the notebooks on Spark too; no limit of memory holds then"
    )
    parser.add_argument("--trust", action="store_true", help="go on where this machine cannot keep a promise below")
    promises = "\n".join(f"  {name:<8} {text}" for name, text in PROMISES.items())
    parser.epilog = (
        f"A notebook runs in a sandbox (bubblewrap, Linux). What it promises:\n{promises}\n\n"
        "Another process judges, and no code of a learner runs in it: it gets data, and calls functions by a socket.\n"
        "A learner's outputs count for nothing, and given cells are the project's. Three times --seconds is the most\n"
        "that a notebook takes with all that is run again because a cell broke it."
    )


def run(args: Namespace) -> int:
    """Print a table, a row for each learner and exercise; return 0 if every task is right, else 1.

    With `--times` measure the lessons instead, and return 0.
    """
    if args.times is not None:
        return _times(args)
    guard = _guard(args)
    known = exercises(checkout_path("notebooks"))
    errors = Printer.on(sys.stderr)
    handed_in, other = submissions(args.check, known)
    for path in other:
        errors.say(f"{path}: no notebook of tasks, left out")
    rows: list[tuple[str, ...]] = []
    report: list[dict[str, Any]] = []
    for submission in handed_in:
        verdicts = _verdicts(submission, guard, spark=args.spark)
        counts = Counter(verdict.state for verdict in verdicts.values())
        marks = " ".join(SHORT.get(verdict.state, " ") for verdict in verdicts.values())
        rows.append((submission.learner, submission.exercise.stem, f"{counts[RIGHT]} of {len(verdicts)}", marks))
        tasks = {name: {"state": verdict.state, "says": verdict.says} for name, verdict in verdicts.items()}
        report.append(
            {
                "learner": submission.learner,
                "exercise": submission.exercise.stem,
                "file": str(submission.path),
                "tasks": tasks,
            }
        )
        errors.say(f"{submission.learner}: {submission.exercise.stem}")
        for name, verdict in verdicts.items():
            if verdict.state != RIGHT:
                errors.say(f"    {name}: {verdict.state}. {verdict.says}")
    printer(args).say(table(rows, ("learner", "exercise", "right", "tasks")), KEY)
    sandbox = {"promises": {name: name not in guard.lacking for name in PROMISES}, **guard.limits._asdict()}
    write_json({"learners": report, "sandbox": sandbox, "left_out": list(map(str, other))}, args.json)
    return 0 if all(task["state"] == RIGHT for entry in report for task in entry["tasks"].values()) else 1


def _times(args: Namespace) -> int:
    times = measured(checkout_path("notebooks"), Printer.on(sys.stderr).say)
    with atomic_write(args.times) as part:
        part.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")
    printer(args).say(shown(times))
    write_json(times, args.json)
    return 0


def _verdicts(submission: Submission, guard: Guard, *, spark: bool) -> dict[str, Verdict]:
    """The verdicts on one notebook; what it may do to ours is its learner's finding, and the next one gets its turn."""
    if submission.exercise.spark and not spark:
        return dict.fromkeys(submission.exercise.tasks, Verdict("not run", NOT_RUN))
    if submission.exercise.spark:
        limits = guard.limits._replace(memory=1 << 40, processes=2_000, disk=max(guard.limits.disk, SPARK_DISK))
        guard = guard._replace(limits=limits)
    try:
        return judged(submission, guard)
    except SandboxClosed:
        raise
    except BadInput as error:
        return dict.fromkeys(submission.exercise.tasks, Verdict("no notebook", str(error)))
    except Exception as error:  # noqa: BLE001 - a file of a stranger never ends the class's run
        says = f"it could not be judged: {type(error).__name__}: {error}"
        return dict.fromkeys(submission.exercise.tasks, Verdict("stopped", says[:300]))


def _guard(args: Namespace) -> Guard:
    if args.seconds < 1 or args.memory < 256 or args.disk < 16:
        raise BadInput(_("--seconds is 1 or more, --memory 256 or more, --disk 16 or more"))
    lacking = missing()
    for name, how in lacking.items():
        Printer.on(sys.stderr).say(f"no promise of {name} here ({PROMISES[name]}): {how}")
    if lacking and not args.trust:
        raise BadInput(
            _(
                "this machine cannot promise: {lacking}. For notebooks of people you trust: --trust",
                lacking=joined(", ", lacking),
            )
        )
    return Guard(Limits(clock_s=args.seconds, memory=args.memory << 20, disk=args.disk << 20), lacking)
