"""The verb `lint`: do the members of a consumer group subscribe the same, and which message shows that they do not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TextIO

from rmqlab.commands.output import text_stream, write_json
from rmqlab.errors import BadInput
from rmqlab.filter.expression_type import SQL92, TAG
from rmqlab.lab.lint.meaning import LintVerdict, lint
from rmqlab.lab.lint.members import group_of, read_groups
from rmqlab.message.properties import PROPERTY_TAGS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from fractions import Fraction

    from rmqlab.lab.lint.loss import Loss, Properties
    from rmqlab.lab.lint.meaning import Difference, GroupLint, TopicLint, WitnessLoss

MARKS = {LintVerdict.CONSISTENT: "ok", LintVerdict.UNDECIDED: "??", LintVerdict.INCONSISTENT: "NO"}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="members or heartbeats as JSON, a scenario (FILE#ID), or the folder of a recording",
    )
    for name, kind, what in (("--member", TAG, "tag expression"), ("--sql92", SQL92, "SQL92 condition")):
        parser.add_argument(
            name,
            action="append",
            dest="given",
            type=partial(_subscription, kind),
            metavar="CLIENT:TOPIC=EXPR",
            help=f"a member's {what}; the client named last was heard last",
        )
    parser.add_argument("--group", metavar="NAME", help="only this group of the file (what --member makes is this one)")
    parser.add_argument(
        "--queues", type=int, metavar="N", help="queues of a topic, where the file does not say; else even shares"
    )


def _subscription(kind: str, text: str) -> tuple[str, str]:
    return kind, text


def run(args: Namespace) -> int:
    """Print what was found for each group; return 1 if one is inconsistent, else 0.

    Raise `BadInput` for a file or an argument that cannot be used.
    """
    if args.queues is not None and args.queues < 1:
        raise BadInput(f"--queues is {args.queues}; a topic has 1 queue or more")
    if bool(args.given) == (args.file is not None):
        raise BadInput("give either a FILE or members, such as --member A:TopicTest=tagA --member B:TopicTest=tagB")
    if args.given:
        made = group_of(args.given, args.group or "group")
        groups = {made.name: made}
    else:
        groups = read_groups(args.file)
        if args.group is not None:
            if args.group not in groups:
                raise BadInput(f"--group {args.group}: {args.file} has {', '.join(sorted(groups)[:8]) or 'no group'}")
            groups = {args.group: groups[args.group]}
    if not any(member.subscriptions for group in groups.values() for member in group.members):
        raise BadInput(f"{args.file}: no member of a consumer group subscribes anything in it: nothing to compare")
    if args.queues is not None:
        for group in groups.values():
            for topic in {topic for member in group.members for topic in member.subscriptions}:
                group.queues.setdefault(topic, args.queues)
    found = [lint(groups[name]) for name in sorted(groups)]
    out = text_stream(args)
    for one in found:
        _print(one, out)
    worst = max((one.verdict for one in found), key=list(LintVerdict).index, default=LintVerdict.CONSISTENT)
    write_json({"verdict": str(worst), "groups": [one.as_json() for one in found]}, args.json)
    return 1 if worst is LintVerdict.INCONSISTENT else 0


def _print(found: GroupLint, out: TextIO) -> None:
    count = len(found.members)
    print(f"{found.group}: {found.verdict}, {count} member{'s' if count != 1 else ''}", file=out)
    for topic in found.topics:
        _print_topic(topic, out)
    for note in found.notes:
        print(f"  note: {note}", file=out)
    if found.tool != (found.verdict is LintVerdict.CONSISTENT):
        said = "the same" if found.tool else "not the same"
        print(f"  note: the admin tool compares texts, and would call these subscriptions {said}", file=out)


def _print_topic(topic: TopicLint, out: TextIO) -> None:
    print(f"  {MARKS[topic.verdict]} {topic.topic}", file=out)
    for wish in topic.wishes:
        print(f"     {wish}: {', '.join(wish.members)}", file=out)
    for one in topic.differences:
        print(f"     {_told(one)}", file=out)
    for witness in topic.witnesses:
        _print_witness(witness, topic, out)


def _told(one: Difference) -> str:
    first, second, apart = str(one.first), str(one.second), one.apart
    if one.second.data is None:
        return f"{first} and nothing: queues given to {', '.join(one.second.members)} are pulled by nobody"
    if apart is None:
        return f"{first} and {second}: not decided, a class filter cannot be looked into"
    if one.verdict is LintVerdict.CONSISTENT:
        return f"{first} and {second} let the same messages pass: proven"
    if one.verdict is LintVerdict.UNDECIDED:
        return f"{first} and {second}: not decided; no message among {apart.tried} cases tells them apart"
    if apart.only_first is not None and apart.only_second is not None:
        return f"{first} and {second} differ both ways"
    if apart.only_first is not None:
        wider, narrower, missing = first, second, apart.only_second is None
    else:
        wider, narrower, missing = second, first, apart.only_first is None
    sure = "" if apart.proven or not missing else " (nothing the other way round was found)"
    return f"{wider} lets more pass than {narrower}{sure}"


def _print_witness(witness: WitnessLoss, topic: TopicLint, out: TextIO) -> None:
    print(f"     message with {shown(witness.message)}: asked for by {', '.join(witness.asked)}", file=out)
    by_fates: dict[tuple[tuple[str, str], ...], list[Loss]] = {}
    for one in witness.losses:
        by_fates.setdefault(tuple((client, str(fate)) for client, fate in one.fates.items()), []).append(one)
    for fates, losses in by_fates.items():
        holders = ", ".join(f"{one.holder}'s" for one in losses)
        told = ", ".join(f"{client} {fate}" for client, fate in fates)
        unasked = f"; not asked for by {', '.join(losses[0].unasked)}" if losses[0].unasked else ""
        lost, stuck = losses[0].lost, losses[0].stuck
        waits = f", waits in {_share(stuck, topic.queues)}" if stuck else ""
        print(f"       slot {holders}: lost in {_share(lost, topic.queues)}{waits}: {told}{unasked}", file=out)


def _share(part: Fraction, queues: int | None) -> str:
    if queues is not None and (part * queues).denominator == 1:
        return f"{part * queues} of {queues} queue{'s' if queues != 1 else ''}"
    return "no queue" if part == 0 else "all queues" if part == 1 else f"{part} of the queues"


def shown(message: Properties) -> str:
    """A message in words."""
    tag = message.get(PROPERTY_TAGS)
    others = [f"{name}={value!r}" for name, value in message.items() if name != PROPERTY_TAGS]
    return ", ".join(["no tag" if tag is None else f"tag {tag!r}", *others])
