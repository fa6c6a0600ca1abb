"""The verb `plan`: the ways to change a group's subscription, and what each can lose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab_tools import verbs
from rmqlab_tools.cli.arguments import add_parameters
from rmqlab_tools.cli.check_files import add_check_files, check_targets, give_checks
from rmqlab_tools.cli.doubts import print_doubts
from rmqlab_tools.cli.output import Progress, make_folder, replace_file, write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.search.expressions.remarks import told
from rmqlab_tools.search.lint.modes import rules_of_kind
from rmqlab_tools.search.plan.checklist import checklist
from rmqlab_tools.search.plan.checks import checks_of_plan
from rmqlab_tools.search.plan.plan_text import plan_lines
from rmqlab_tools.search.plan.planner import plan
from rmqlab_tools.search.plan.procedures import PLANNED_KINDS, PROCEDURES, Producers, Setting

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab_tools.search.plan.results import Plan


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    names = joined(", ", (procedure.name for procedure in PROCEDURES))
    add_parameters(
        parser, verbs.plan, "old", "new", "version", "kind", "members", "queues", "pause_ms", "every_ms", "among",
        "procedures", "producers", "budget", "seconds", "seed",
        kind={"choices": PLANNED_KINDS, "metavar": None},
        procedures={"help": _("only this one (may be given several times): {name}", name=names)},
        producers={
            "flags": ("--producers",), "action": "store", "metavar": None,
            "choices": [*map(str, Producers), "both"], "default": "both",
        },
    )  # fmt: skip
    parser.add_argument(
        "-v", "--verbose", action="store_true", help=_("show what each way lost, and the schedule of its worst run")
    )
    add_check_files(parser)
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
    rules = rules_of_kind(args.kind, args.version)
    queues = args.members if args.queues is None else args.queues
    setting = Setting(args.members, queues, args.pause, args.every, args.among, args.kind)
    producers = tuple(Producers) if args.producers == "both" else (Producers(args.producers),)
    check_targets(args)
    make_folder(args.schedules, "--schedules")
    with Progress("plan") as progress:
        planned = plan(
            args.old, args.new, setting=setting, budget=args.budget, seed=args.seed, procedures=args.procedure,
            producers=producers, progress=progress.now, seconds=args.seconds, rules=rules,
        )  # fmt: skip
    saved = None if args.schedules is None else _save(planned, args.schedules)
    subscriptions = (planned.change.old, planned.change.new)
    print_doubts(
        "plan",
        (text for subscription in subscriptions for text in told(subscription.type, subscription.expr, rules.sql92)),
    )
    printer(args).say(*plan_lines(planned, saved, verbose=args.verbose))
    write_json(planned.as_json() | {"checklists": _checklists(planned)}, args.json)
    give_checks(args, checks_of_plan(planned), "plan")
    return 0 if planned.safe else 1


def _checklists(planned: Plan) -> dict[str, list[str]]:
    kind = planned.setting.kind
    return {trial.procedure.name: checklist(trial.procedure, planned.change, kind) for trial in planned.lossless}


def _save(planned: Plan, folder: Path) -> dict[str, Path]:
    saved = {}
    for trial in planned.tried:
        replace_file(folder / f"{trial.name}.jsonl", trial.course.scenario.to_json() + "\n")
        saved[trial.name] = folder / f"{trial.name}.schedule.json"
        replace_file(saved[trial.name], trial.schedule.to_json() + "\n")
    return saved
