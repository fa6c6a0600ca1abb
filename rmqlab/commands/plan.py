"""The verb `plan`: the ways to change a group's subscription, and what each can lose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rmqlab.commands.output import make_folder, replace_file, text_stream, write_json
from rmqlab.commands.progress import Progress
from rmqlab.lab.plan.change import Kind, text_of
from rmqlab.lab.plan.checklist import checklist
from rmqlab.lab.plan.planner import BUDGET, plan
from rmqlab.lab.plan.procedures import PROCEDURES, Producers, Setting

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab.lab.plan.planner import Plan, Tried

USUAL = Setting()
MOST_NAMED = 6


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("old", metavar="OLD", help="what the group subscribes now: tagA, tagA||tagB, *, SQL92:a > 3")
    parser.add_argument("new", metavar="NEW", help="what it shall subscribe")
    parser.add_argument("--members", type=int, default=USUAL.members, metavar="N", help=f"({USUAL.members})")
    parser.add_argument("--queues", type=int, metavar="N", help="of the topic (as many as members)")
    parser.add_argument(
        "--pause", type=int, default=USUAL.pause_ms, metavar="MS", help=f"between two restarts ({USUAL.pause_ms})"
    )
    parser.add_argument(
        "--every",
        type=int,
        default=USUAL.every_ms,
        metavar="MS",
        help=f"between two rounds of messages, one of each kind for each queue ({USUAL.every_ms})",
    )
    parser.add_argument(
        "--among", action="store_true", help="send messages among the frames of each start too; a far larger space"
    )
    parser.add_argument(
        "--procedure",
        action="append",
        metavar="NAME",
        help=f"only this one (may be given several times): {', '.join(one.name for one in PROCEDURES)}",
    )
    parser.add_argument(
        "--producers",
        choices=[*(one.value for one in Producers), "both"],
        default="both",
        help="keep: they send everything all the time; wait: what only NEW takes comes, and what only OLD takes ends,"
        " when the procedure says so (both)",
    )
    parser.add_argument(
        "--budget", type=int, default=BUDGET, metavar="N", help=f"schedules tried at most for each ({BUDGET})"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the first seed of those drawn by chance (0)")
    parser.add_argument(
        "--schedules",
        type=Path,
        metavar="DIR",
        help="write each procedure's scenario and the schedule of its worst run there, for simulate --schedule",
    )


def run(args: Namespace) -> int:
    """Compare the procedures and print what was found; return 1 if none of them is safe.

    One that asks something of the producers is not called safe.

    Raise `BadInput` for a subscription that would be refused, or a setting that cannot be.
    """
    queues = args.members if args.queues is None else args.queues
    setting = Setting(args.members, queues, args.pause, args.every, args.among)
    producers = tuple(Producers) if args.producers == "both" else (Producers(args.producers),)
    make_folder(args.schedules, "--schedules")
    with Progress("plan") as progress:
        found = plan(
            args.old, args.new, setting=setting, budget=args.budget, seed=args.seed, procedures=args.procedure,
            producers=producers, progress=progress.now,
        )  # fmt: skip
    saved = None if args.schedules is None else _save(found, args.schedules)
    _print(found, saved, text_stream(args))
    write_json(found.as_json() | {"checklists": _checklists(found)}, args.json)
    return 0 if found.safe else 1


def _checklists(found: Plan) -> dict[str, list[str]]:
    return {one.procedure.name: checklist(one.procedure, found.change) for one in found.lossless}


def _print(found: Plan, saved: dict[str, Path] | None, out: TextIO) -> None:
    change, setting = found.change, found.setting
    print(
        f"{text_of(change.old)} -> {text_of(change.new)}: {setting.members} members, {setting.queues} queues,"
        f" {setting.pause_ms} ms between restarts, messages every {setting.every_ms} ms",
        file=out,
    )
    if change.same:
        print("Both take the same messages.", file=out)
    names = {Kind.OLD: "only OLD takes", Kind.NEW: "only NEW takes", Kind.BOTH: "both take"}
    for kind, properties in change.kinds.items():
        print(f"  {names[kind]}, sent as {kind}-1, {kind}-2, ...: {properties or 'a message without tag'}", file=out)
    if not change.proven:
        print("  Other kinds of messages were looked for and not found; that there are none is not proven.", file=out)
    for producers, headline in (
        (Producers.KEEP, "Producers send everything all the time:"),
        (Producers.WAIT, "Producers wait: what only NEW takes comes, and what only OLD takes ends, when it is time:"),
    ):
        tried = [one for one in found.tried if one.producers is producers]
        kept = [one.course for one in found.tried if one.producers is Producers.KEEP]
        if producers is Producers.WAIT and [one.course for one in tried] == kept:
            print("There is nothing to wait for: producers that wait do the same.", file=out)
            continue
        if tried:
            print(headline, file=out)
        for one in tried:
            _print_one(one, saved, out)
    print(_verdict(found), file=out)
    if found.lossless:
        best = found.lossless[0]
        print(f"Checklist for {best.procedure.name}:", file=out)
        for number, line in enumerate(checklist(best.procedure, change), 1):
            print(f"  {number}. {line}", file=out)


def _print_one(one: Tried, saved: dict[str, Path] | None, out: TextIO) -> None:
    best, median, worst = one.spread()
    what = "loses nothing" if one.lossless else f"LOSES up to {worst} (at best {best}, median {median})"
    how = "every schedule" if one.exhausted else f"{one.runs} schedules tried"
    print(
        f"  {one.procedure.name:18} {what}: {how}"
        + (f" ({one.runs} runs)" if one.exhausted else "")
        + f"; takes {one.usual.takes_ms} ms, longest wait {one.usual.longest_wait_ms} ms,"
        f" up to {one.duplicates} taken twice",
        file=out,
    )
    if one.lossless and one.conditions:
        print(f"    only if: {' '.join(one.conditions)}", file=out)
    if one.lost:
        for group in dict.fromkeys((lost.fate, lost.culprit, lost.subscription) for lost in one.lost):
            bodies = [lost.body for lost in one.lost if (lost.fate, lost.culprit, lost.subscription) == group]
            more = f" and {len(bodies) - MOST_NAMED} more" if len(bodies) > MOST_NAMED else ""
            fate, culprit, subscription = group
            print(
                f"    {', '.join(bodies[:MOST_NAMED])}{more}: {fate}, {culprit}'s pull, the broker held {subscription}",
                file=out,
            )
        print(f"    {one.schedule.to_json()}", file=out)
    if saved is not None:
        print(f"    {saved[one.name]}", file=out)


def _verdict(found: Plan) -> str:
    if not found.lossless:
        return "Nothing safe was found."
    safe = list(dict.fromkeys(one.procedure.name for one in found.safe))
    others = list(dict.fromkeys(one.procedure.name for one in found.lossless if one.procedure.name not in safe))
    parts = [f"Safe whatever the producers do: {', '.join(safe)}." if safe else "Nothing is safe whatever they do."]
    if others:
        parts.append(f"Safe only if the producers do their part: {', '.join(others)}.")
    if not all(one.exhausted for one in found.lossless):
        parts.append("Where not every schedule was tried, that means: no loss was found.")
    return " ".join(parts)


def _save(found: Plan, folder: Path) -> dict[str, Path]:
    saved = {}
    for one in found.tried:
        replace_file(folder / f"{one.name}.jsonl", one.course.scenario.to_json() + "\n")
        saved[one.name] = folder / f"{one.name}.schedule.json"
        replace_file(saved[one.name], one.schedule.to_json() + "\n")
    return saved
