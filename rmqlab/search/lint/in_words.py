"""What lint found, in words: what the verb prints, and what a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.search.lint.meaning import LintVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from rmqlab.search.lint.loss import Loss, Properties
    from rmqlab.search.lint.meaning import Difference, GroupLint, TopicLint, WitnessLoss

MARKS = {LintVerdict.CONSISTENT: "ok", LintVerdict.UNDECIDED: "??", LintVerdict.INCONSISTENT: "NO"}


def lint_lines(found: GroupLint) -> Iterator[str]:
    """What was found of a group, line by line: verdict, topics with their differences, notes."""
    count = len(found.members)
    yield f"{found.group}: {found.verdict}, {count} member{'s' if count != 1 else ''}"
    for topic in found.topics:
        yield from _topic_lines(topic)
    for note in found.notes:
        yield f"  note: {note}"
    if found.tool != (found.verdict is LintVerdict.CONSISTENT):
        said = "the same" if found.tool else "not the same"
        yield f"  note: the admin tool compares texts, and would call these subscriptions {said}"


def _topic_lines(topic: TopicLint) -> Iterator[str]:
    yield f"  {MARKS[topic.verdict]} {topic.topic}"
    for wish in topic.wishes:
        yield f"     {wish}: {', '.join(wish.members)}"
    for one in topic.differences:
        yield f"     {_told(one)}"
    for witness in topic.witnesses:
        yield from _witness_lines(witness, topic)


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


def _witness_lines(witness: WitnessLoss, topic: TopicLint) -> Iterator[str]:
    yield f"     message with {shown(witness.message)}: asked for by {', '.join(witness.asked)}"
    by_fates: dict[tuple[tuple[str, str], ...], list[Loss]] = {}
    for one in witness.losses:
        by_fates.setdefault(tuple((client, str(fate)) for client, fate in one.fates.items()), []).append(one)
    for fates, losses in by_fates.items():
        holders = ", ".join(f"{one.holder}'s" for one in losses)
        told = ", ".join(f"{client} {fate}" for client, fate in fates)
        unasked = f"; not asked for by {', '.join(losses[0].unasked)}" if losses[0].unasked else ""
        lost, stuck = losses[0].lost, losses[0].stuck
        waits = f", waits in {_share(stuck, topic.queues)}" if stuck else ""
        yield f"       slot {holders}: lost in {_share(lost, topic.queues)}{waits}: {told}{unasked}"


def _share(part: Fraction, queues: int | None) -> str:
    if queues is not None and (part * queues).denominator == 1:
        return f"{part * queues} of {queues} queue{'s' if queues != 1 else ''}"
    return "no queue" if part == 0 else "all queues" if part == 1 else f"{part} of the queues"


def shown(message: Properties) -> str:
    """A message in words."""
    tag = message.get(PROPERTY_TAGS)
    others = [f"{name}={value!r}" for name, value in message.items() if name != PROPERTY_TAGS]
    return ", ".join(["no tag" if tag is None else f"tag {tag!r}", *others])
