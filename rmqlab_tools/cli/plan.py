"""The verb `plan`: the ways to change a group's subscription, and what each can lose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.rules import rules_of
from rmqlab_tools.cli.arguments import add_version
from rmqlab_tools.cli.doubts import print_doubts
from rmqlab_tools.cli.output import Progress, make_folder, replace_file, write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.search.expressions.remarks import told
from rmqlab_tools.search.plan.checklist import checklist
from rmqlab_tools.search.plan.plan_text import plan_lines
from rmqlab_tools.search.plan.planner import SCHEDULE_BUDGET, plan
from rmqlab_tools.search.plan.procedures import PROCEDURES, Producers, Setting

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab_tools.search.plan.results import Plan

USUAL_SETTING = Setting()


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("old", metavar="OLD", help=_("what the group subscribes now: tagA, tagA||tagB, *, SQL92:a > 3"))
    parser.add_argument("new", metavar="NEW", help=_("what it shall subscribe"))
    add_version(parser)
    parser.add_argument(
        "--members", type=int, default=USUAL_SETTING.members, metavar="N", help=f"({USUAL_SETTING.members})"
    )
    parser.add_argument("--queues", type=int, metavar="N", help=_("of the topic (as many as members)"))
    parser.add_argument(
        "--pause",
        type=int,
        default=USUAL_SETTING.pause_ms,
        metavar="MS",
        help=_("between two restarts ({pause_ms})", pause_ms=USUAL_SETTING.pause_ms),
    )
    parser.add_argument(
        "--every",
        type=int,
        default=USUAL_SETTING.every_ms,
        metavar="MS",
        help=_(
            "between two rounds of messages, one of each kind for each queue ({every_ms})",
            every_ms=USUAL_SETTING.every_ms,
        ),
    )
    parser.add_argument(
        "--among", action="store_true", help=_("send messages among the frames of each start too; a far larger space")
    )
    parser.add_argument(
        "--procedure",
        action="append",
        metavar="NAME",
        help=_(
            "only this one (may be given several times): {name}",
            name=joined(", ", (procedure.name for procedure in PROCEDURES)),
        ),
    )
    parser.add_argument(
        "--producers",
        choices=[*(producer.value for producer in Producers), "both"],
        default="both",
        help=_(
            "keep: they send everything all the time; wait: what only NEW takes comes, and what only "
            "OLD takes ends, when the procedure says so (both)"
        ),
    )
    parser.add_argument(
        "--budget",
        type=int,
        default=SCHEDULE_BUDGET,
        metavar="N",
        help=_(
            "runs of the search at most for each ({budget}); runs drawn by chance and to shorten come on top",
            budget=SCHEDULE_BUDGET,
        ),
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help=_("stop the search after about S seconds (the budget alone ends it)"),
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help=_("the first seed of those drawn by chance (0)")
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help=_("show what each way lost, and the schedule of its worst run")
    )
    parser.add_argument(
        "--schedules",
        type=Path,
        metavar="DIR",
        help=_("write each procedure's scenario and the schedule of its worst run there, for simulate --schedule"),
    )


def run(args: Namespace) -> int:
    """Compare the procedures and print what was found; return 1 if none of them is safe.

    One that asks something of the producers is not called safe.

    Raises:
        BadInput: a subscription that would be refused, or a setting that cannot be.
    """
    rules = rules_of(args.version)
    queues = args.members if args.queues is None else args.queues
    setting = Setting(args.members, queues, args.pause, args.every, args.among)
    producers = tuple(Producers) if args.producers == "both" else (Producers(args.producers),)
    make_folder(args.schedules, "--schedules")
    with Progress("plan") as progress:
        planned = plan(
            args.old, args.new, setting=setting, budget=args.budget, seed=args.seed, procedures=args.procedure,
            producers=producers, progress=progress.now, seconds=args.seconds, rules=rules,
        )  # fmt: skip
    saved = None if args.schedules is None else _save(planned, args.schedules)
    wishes = (planned.change.old, planned.change.new)
    print_doubts(
        "plan", (text for subscription in wishes for text in told(subscription.type, subscription.expr, rules.sql92))
    )
    printer(args).say(*plan_lines(planned, saved, verbose=args.verbose))
    write_json(planned.as_json() | {"checklists": _checklists(planned)}, args.json)
    return 0 if planned.safe else 1


def _checklists(planned: Plan) -> dict[str, list[str]]:
    return {trial.procedure.name: checklist(trial.procedure, planned.change) for trial in planned.lossless}


def _save(planned: Plan, folder: Path) -> dict[str, Path]:
    saved = {}
    for trial in planned.tried:
        replace_file(folder / f"{trial.name}.jsonl", trial.course.scenario.to_json() + "\n")
        saved[trial.name] = folder / f"{trial.name}.schedule.json"
        replace_file(saved[trial.name], trial.schedule.to_json() + "\n")
    return saved
