"""What lint found in words: the command line, `repr` and the playground "My group" all say it with these.

The answer comes first, then what to do, then what shows it. A condition that no broker accepts is said before all else:
its member does not start, so nothing that follows would happen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.filter import compile_expression
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.language import N_, _, joined, ngettext
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.run.fates import Fate, fate_words
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.search.lint.limits import MOST_COMPARED, named
from rmqlab_tools.search.lint.modes import mixed_words, rule_lines
from rmqlab_tools.styled import BAD, GOOD, HEAD, SOFT, WARN, Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from rmqlab.rules import Rules
    from rmqlab_tools.search.lint.findings import ExampleLoss, GroupLint, Loss, TopicLint, Wish, WishDifference

VERDICT_WORDS = {
    LintVerdict.CONSISTENT: N_("Consistent: all members want the same messages."),
    LintVerdict.INCONSISTENT: N_("Inconsistent: the members want different messages."),
    LintVerdict.UNDECIDED: N_("Not decided: it is not known whether the members want the same messages."),
}
ADVICE = {
    LintVerdict.CONSISTENT: N_("Nothing: every member may get every message of the group."),
    LintVerdict.INCONSISTENT: N_(
        "Give all members of the group the same subscription. Members that want other messages go into a group of their"
        " own."
    ),
    LintVerdict.UNDECIDED: N_("Give all members the same text: then it is certain that they want the same."),
}
POP_ADVICE = N_(
    "Give all members of the group the same subscription, or * and choose in the listener. Members that want other "
    "messages go into a group of their own."
)
STYLES = {LintVerdict.CONSISTENT: GOOD, LintVerdict.INCONSISTENT: BAD, LintVerdict.UNDECIDED: WARN}


def verdict_words(verdict: LintVerdict) -> str:
    """Whether the members agree, in a sentence."""
    return _(VERDICT_WORDS[verdict])


def advice(result: GroupLint) -> str:
    """What to do about it, in a sentence or two."""
    if refusals(result):
        return _("Repair the condition first: until then its members do not start.")
    if result.shared_ids:
        return _("Give each process a client id of its own.")
    if result.verdict is LintVerdict.INCONSISTENT and any(topic.pops for topic in result.topics):
        return _(POP_ADVICE)
    return _(ADVICE[result.verdict])


def refusals(result: GroupLint) -> list[str]:
    """A sentence for each condition that no broker accepts: who gives it, and why it is refused."""
    return [sentence for _members, sentence in refused(result)]


def refused(result: GroupLint) -> list[tuple[tuple[str, ...], str]]:
    """Who gives a condition that no broker accepts, and that in a sentence."""
    said: list[tuple[tuple[str, ...], str]] = []
    for topic in result.topics:
        for wish in topic.wishes:
            why = _refusal(wish, result.rules)
            if why is not None:
                values = {"wish": str(wish), "members": named(wish.members), "why": why}
                said.append((wish.members, _("No broker accepts {wish} of {members}: {why}", **values)))
    return said


def _refusal(wish: Wish, rules: Rules) -> str | None:
    data = wish.data
    if data is None or data.is_tag or data.class_filter_mode:
        return None
    try:
        compile_expression(data.expression_type, data.sub_string, rules.sql92)
    except ExpressionRefused as refusal:
        return str(refusal)
    return None


def tool_words(result: GroupLint) -> str:
    """What the admin tool would say, where it is wrong; else nothing."""
    if result.shared_ids or result.missing or result.tool == (result.verdict is LintVerdict.CONSISTENT):
        return ""
    if result.tool:
        return _("The admin tool compares texts only, and calls these subscriptions the same.")
    return _("The admin tool compares texts only, and calls these subscriptions different.")


def difference_words(difference: WishDifference) -> str:
    """How two wishes differ, in a sentence or two."""
    values = {
        "first": str(difference.first),
        "second": str(difference.second),
        "members": named(difference.second.members),
    }
    apart = difference.apart
    if difference.second.data is None and difference.popped:
        return _(
            "{members} does not subscribe this topic, and pops none of it; the others pop from all its queues.",
            members=values["members"],
        )
    if difference.second.data is None:
        return _(
            "{members} does not subscribe this topic, and is given queues of it all the same. Nobody reads them.",
            members=values["members"],
        )
    if apart is None:
        return _("{first} and {second}: not decided, a class filter cannot be looked into.", **values)
    if difference.verdict is LintVerdict.CONSISTENT:
        return _("{first} and {second} let the same messages pass. This is proved.", **values)
    if difference.verdict is LintVerdict.UNDECIDED:
        return ngettext(
            "{first} and {second}: no message was found that tells them apart ({tried} case tried). That "
            "there is none is not proved.",
            "{first} and {second}: no message was found that tells them apart ({tried} cases tried). "
            "That there is none is not proved.",
            apart.tried,
            tried=apart.tried,
            **values,
        )
    if apart.only_first is not None and apart.only_second is not None:
        return _("{first} and {second} differ both ways.", **values)
    if apart.only_first is None:
        values |= {"first": str(difference.second), "second": str(difference.first)}
    if apart.proven:
        return _("{first} lets more messages pass than {second}.", **values)
    return _("{first} lets more messages pass than {second}; the other way round none was found.", **values)


def message_words(message: Mapping[str, str]) -> str:
    """A message by its tag and its other properties.

    >>> message_words({"TAGS": "tagA", "a": "5"})
    "the tag tagA, a = '5'"
    """
    tag = message.get(PROPERTY_TAGS)
    others = [f"{name} = {value!r}" for name, value in message.items() if name != PROPERTY_TAGS]
    return joined(", ", [_("no tag") if tag is None else _("the tag {tag}", tag=tag), *others])


def witness_words(example: ExampleLoss) -> str:
    """A message that shows the difference, and who asks for it."""
    return _(
        "A message with {message}; {asked} asked for it",
        message=message_words(example.message),
        asked=named(example.asked),
    )


def holder_words(holders: Sequence[str]) -> str:
    """Whose subscription the broker holds."""
    return _("The broker holds the subscription of {holder}", holder=joined(" or ", holders))


def share_words(part: Fraction, queues: int | None) -> str:
    """In how many of the queues it is lost, or waits.

    >>> from fractions import Fraction
    >>> share_words(Fraction(1, 2), 4), share_words(Fraction(1, 2), None)
    ('2 of 4 queues', '1/2 of the queues')
    """
    if queues is not None and (part * queues).denominator == 1:
        return ngettext("{lost} of {count} queue", "{lost} of {count} queues", queues, lost=int(part * queues))
    if part == 0:
        return _("no queue")
    return _("all queues") if part == 1 else _("{part} of the queues", part=str(part))


def lint_lines(result: GroupLint) -> Iterator[str]:
    """What was found of a group, line by line: the answer, what to do, then each topic with what shows it, notes."""
    count = len(result.members)
    for refusal in refusals(result):
        yield Line((refusal, BAD))
    members = ngettext("{count} member", "{count} members", count)
    head = _(
        "{group}: {verdict} ({members})", group=result.group, verdict=verdict_words(result.verdict), members=members
    )
    yield Line((head, STYLES[result.verdict]))
    yield Line("  ", (_("What to do:"), HEAD), " ", advice(result))
    if mixed := mixed_words(result.kinds):
        yield Line(("  " + mixed, WARN))
    for shared in result.shared_ids:
        first, *others = shared.lines()
        yield Line(("  " + first, BAD))
        yield from ("     " + line for line in others)
    for topic in result.topics:
        yield from _topic_lines(topic)
    for text in result.missing:
        yield Line(("  " + text, WARN))
    above = tuple(
        why for topic in result.topics for wish in topic.wishes if (why := _refusal(wish, result.rules)) is not None
    )
    for note in result.notes:
        if not (above and note.endswith(above)):  # a refusal stands before all else already
            yield _("  note: {note}", note=note)
    tool = tool_words(result)
    if tool:
        yield _("  note: {note}", note=tool)


def _topic_lines(topic: TopicLint) -> Iterator[str]:
    yield Line("  ", (_("Topic {topic}", topic=topic.topic), HEAD))
    for wish in topic.wishes[: MOST_COMPARED + 1]:
        members = named(wish.members)
        yield f"     {wish}: {members}"
    for difference in topic.differences:
        yield f"     {difference_words(difference)}"
    if topic.pops and topic.verdict is not LintVerdict.CONSISTENT:
        yield from (f"     {line}" for line in rule_lines(topic))
    if topic.left_out:
        yield "     " + _(
            "{left_out} more subscriptions, which are different texts, were not compared: at most {most} are",
            left_out=topic.left_out,
            most=MOST_COMPARED,
        )
    for witness in topic.witnesses:
        yield from _witness_lines(witness, topic)


def _witness_lines(witness: ExampleLoss, topic: TopicLint) -> Iterator[str]:
    yield f"     {witness_words(witness)}"
    for waiter in witness.waiters:
        bad = waiter.fate is not Fate.DELIVERED
        says = (
            _("it wakes no member, and the next pop of {first} goes past it, unless one that asks pops before",
              first=waiter.first)
            if bad
            else _("it is given to {first}", first=waiter.first)
        )  # fmt: skip
        head = _("       {first} first in line: ", first=waiter.first)
        yield Line(head, (says, BAD if bad else GOOD))
    if not witness.losses and not witness.waiters:
        yield "       " + _("what becomes of it where some pull and some pop is not worked out")
    by_fates: dict[tuple[tuple[str, str], ...], list[Loss]] = {}
    for loss in witness.losses:
        by_fates.setdefault(tuple((owner, str(fate)) for owner, fate in loss.fates.items()), []).append(loss)
    for fates, losses in by_fates.items():
        first = losses[0]
        text = named(f"{owner} {fate_words(fate)}" for owner, fate in fates)
        where = [_("lost in {share}", share=share_words(first.lost, topic.queues))]
        if first.stuck:
            where.append(_("waits in {share}", share=share_words(first.stuck, topic.queues)))
        parts = [text]
        if first.unasked:
            parts.append(_("{members} did not ask for it", members=named(first.unasked)))
        head = _("       {holder}: ", holder=holder_words([loss.holder for loss in losses]))
        text = _(" ({fates})", fates=joined("; ", parts))
        yield Line(head, (joined(", ", where), BAD if first.lost else GOOD), (text, SOFT))
