"""The verb `workshop`: who of a class solved what, judged in a cage; and how long the lessons take here."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import folder
from rmqlab.commands.output import write_json
from rmqlab.commands.printing import Printer, printer
from rmqlab.errors import BadInput
from rmqlab.files import atomic_write
from tests.proof.workshop.cage import CageClosed, Limits, landlock_version, no_network
from tests.proof.workshop.judging import RIGHT, Guard, Verdict, judged
from tests.proof.workshop.submissions import Submission, exercises, submissions, table
from tests.proof.workshop.times import measured, shown

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SHORT = {RIGHT: "+", "by hand": "?", "not yet": "-", "no answer": ".", "out of time": "T", "stopped": "!"}
KEY = "+ right   - not yet   . no answer   T out of time   ! stopped   ? look at it yourself"
NOT_RUN = "needs Spark: --spark"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", type=Path, metavar="FOLDER", help="a sub-folder for each learner: who solved what")
    what.add_argument("--times", type=Path, metavar="FILE", help="run every lesson once, write how long each takes")
    parser.add_argument("--seconds", type=int, default=180, metavar="N", help="for one run of a notebook (180)")
    parser.add_argument("--memory", type=int, default=3_072, metavar="MB", help="for one notebook (3072)")
    parser.add_argument(
        "--spark", action="store_true", help="run the notebooks on Spark too; no limit of memory holds then"
    )
    parser.add_argument("--allow-network", action="store_true", help="go on where the network cannot be cut off")
    parser.add_argument("--allow-writes", action="store_true", help="go on where writing cannot be kept to one folder")
    parser.epilog = (
        "Learners' code runs without network, writes into a scratch folder only, and is held to limits. A learner's\n"
        "outputs count for nothing, and given cells are the project's. An answer that is data is judged outside. A\n"
        "function is judged beside the code it came with: one that imports what no answer needs, or that changes the\n"
        "package, is marked ?. Reading files is not prevented, the folder of solutions included."
    )


def run(args: Namespace) -> int:
    """Print a table, a row for each learner and exercise; return 0 if every task is right, else 1.

    With `--times` measure the lessons instead, and return 0.
    """
    if args.times is not None:
        return _times(args)
    guard = _guard(args)
    known = exercises(folder("notebooks"))
    errors = Printer.on(sys.stderr)
    found, other = submissions(args.check, known)
    for path in other:
        errors.say(f"{path}: no notebook of tasks, left out")
    rows: list[tuple[str, ...]] = []
    report: list[dict[str, Any]] = []
    for one in found:
        verdicts = _verdicts(one, guard, spark=args.spark)
        counts = Counter(verdict.state for verdict in verdicts.values())
        marks = " ".join(SHORT.get(verdict.state, " ") for verdict in verdicts.values())
        rows.append((one.learner, one.exercise.stem, f"{counts[RIGHT]} of {len(verdicts)}", marks))
        tasks = {name: {"state": verdict.state, "says": verdict.says} for name, verdict in verdicts.items()}
        report.append({"learner": one.learner, "exercise": one.exercise.stem, "file": str(one.path), "tasks": tasks})
        errors.say(f"{one.learner}: {one.exercise.stem}")
        for name, verdict in verdicts.items():
            if verdict.state != RIGHT:
                errors.say(f"    {name}: {verdict.state}. {verdict.says}")
    printer(args).say(table(rows, ("learner", "exercise", "right", "tasks")), KEY)
    cage = {"network": guard.network, "writes": guard.writes, **guard.limits._asdict()}
    write_json({"learners": report, "cage": cage, "left_out": list(map(str, other))}, args.json)
    return 0 if all(task["state"] == RIGHT for one in report for task in one["tasks"].values()) else 1


def _times(args: Namespace) -> int:
    found = measured(folder("notebooks"), Printer.on(sys.stderr).say)
    with atomic_write(args.times) as part:
        part.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    printer(args).say(shown(found))
    write_json(found, args.json)
    return 0


def _verdicts(one: Submission, guard: Guard, *, spark: bool) -> dict[str, Verdict]:
    if one.exercise.spark and not spark:
        return dict.fromkeys(one.exercise.tasks, Verdict("not run", NOT_RUN))
    if one.exercise.spark:
        guard = guard._replace(limits=guard.limits._replace(memory=1 << 40, processes=2_000))
    try:
        return judged(one, guard)
    except CageClosed:
        raise
    except BadInput as error:
        return dict.fromkeys(one.exercise.tasks, Verdict("no notebook", str(error)))


def _guard(args: Namespace) -> Guard:
    if args.seconds < 1 or args.memory < 256:
        raise BadInput("--seconds is 1 or more, --memory 256 or more")
    network, writes = not no_network(), not landlock_version()
    if network and not args.allow_network:
        raise BadInput("the network cannot be cut off here (unshare -rn fails): --allow-network goes on all the same")
    if writes and not args.allow_writes:
        raise BadInput("writing cannot be kept to one folder here (no Landlock): --allow-writes goes on all the same")
    limits = Limits(cpu_s=args.seconds, clock_s=args.seconds, memory=args.memory << 20)
    return Guard(limits, network=network, writes=writes)
