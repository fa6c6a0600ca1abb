"""The checks of notebook 11: the lost messages found by SQL, a plan to send again, a group repaired.

What is right is read from the frames that real clients and the broker exchanged, which no audit looks at; the repair
is run in a lab.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.lab.lab import Lab
from rmqlab.language import _, ngettext
from rmqlab.protocol.subscription_data import SUB_ALL, build_subscription
from rmqlab.rules import DEFAULT_RULES
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import MessageSent, Subscribed, TapSent
from rmqlab_tools.course.answers import needs_keys, recorded
from rmqlab_tools.course.check import OF_TASK, CheckFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.run.facts import Fact
    from rmqlab.run.results import LabResult
    from rmqlab.run.run import Run

SEARCHED: Final = "G_p-audit-000"
PLANNED: Final = "H_p-audit-010"
SPLIT: Final = {"A": "tagA", "B": "tagB"}
ORDER_TAGS: Final = ("tagA", "tagB")
MESSAGES: Final = 120


def lost(answer: Any) -> str:
    """The messages that `SEARCHED` lost, and where: {"ids": [offsetMsgId...], "by": "broker" or "client"}."""
    form = _('Give {"ids": a list of offsetMsgId, "by": "broker" or "client"}.')
    needs_keys(answer, ("ids", "by"), form)
    if answer["by"] not in {"broker", "client"}:
        raise CheckFailed(form)
    given, known = _texts(answer["ids"]), _ids(SEARCHED)
    right = {known[fate.queue, fate.offset] for fate in _lost(SEARCHED)}
    if given - set(known.values()):
        raise CheckFailed(case="topic")
    if right - given:
        problem = _("{given} of your messages are lost ones, and there are more.", given=len(given & right))
        raise CheckFailed(case="missing", problem=problem)
    if given - right:
        raise CheckFailed(
            case="arrived",
            problem=ngettext(
                "{count} of your {given2} messages is not lost.",
                "{count} of your {given2} messages are not lost.",
                len(given - right),
                given2=len(given),
            ),
        )
    stages = {"client" if fate.fate is Fate.DROPPED_BY_CLIENT else "broker" for fate in _lost(SEARCHED)}
    if answer["by"] not in stages:
        changes = recorded("audit", SEARCHED.partition("_")[2]).subscriptions().where(group="G", topic="T")
        problem = _(
            "The broker held {expression} for the group while the messages came.",
            expression=f"{changes[-1].expression!r}",
        )
        raise CheckFailed(case="by", problem=problem)
    return ngettext(
        "{count} message, dropped by the {by}.",
        "{count} messages, all dropped by the {by}.",
        len(right),
        by=answer["by"],
    )


def plan(answer: Any) -> str:
    """What `PLANNED` must get again, and what that costs: {"messages": [offsetMsgId...], "duplicates": number}."""
    needs_keys(
        answer, ("messages", "duplicates"), _('Give {"messages": a list of offsetMsgId, "duplicates": a number}.')
    )
    account, ids = _account(PLANNED), _ids(PLANNED)
    gone = {ids[fate.queue, fate.offset]: fate for fate in _lost(PLANNED)}
    given = _texts(answer["messages"])
    for case, wrong in (("missing", set(gone) - given), ("arrived", given - set(gone))):
        if wrong:
            raise CheckFailed(
                case=case,
                problem=ngettext("That is so for {count} message.", "That is so for {count} messages.", len(wrong)),
            )
    places = {(fate.queue, fate.offset) for fate in gone.values()}
    group = PLANNED.partition("_")[0]
    twice = sum(
        (fate.queue, fate.offset) in places and fate.group != group and fate.fate is Fate.DELIVERED
        for fate in account.fates
    )
    if answer["duplicates"] != twice:
        raise CheckFailed(
            case="twice", problem=_("{duplicates} is not that number.", duplicates=f"{answer['duplicates']!r}")
        )
    return _(
        "{gone} messages to send again; sent to the topic, {twice} of them reach another group twice.",
        gone=len(gone),
        twice=twice,
    )


def split_group(change: Mapping[str, str]) -> LabResult:
    """A group whose members ask for `SPLIT`; half way through the messages some ask for something else."""
    lab = Lab(topics={"orders": 4})
    for name, tag in SPLIT.items():
        lab.consumer(name, group="SHOP", subscribe={"orders": tag})
    lab.run(seconds=30)
    for number in range(MESSAGES):
        if number == MESSAGES // 2:
            for name, expression in change.items():
                lab.subscribe(name, "orders", expression)
        lab.send("orders", ORDER_TAGS[number % len(ORDER_TAGS)])
        lab.run(ms=500)
    lab.run(seconds=30)
    return lab.finish()


def repair(answer: Any) -> str:
    """What A and B of a group that is `SPLIT` must ask for anew, so that nothing is lost: {"A": ..., "B": ...}."""
    if not isinstance(answer, Mapping) or not set(answer) <= set(SPLIT):
        raise CheckFailed(_('Give {"A": "...", "B": "..."}, or one of the two.'))
    try:
        result = split_group(answer)
    except (BadInput, AttributeError, TypeError) as error:
        raise CheckFailed(_("No client can subscribe that."), problem=str(error)) from None
    texts = {**SPLIT, **answer}
    for tag in ORDER_TAGS:
        subscriptions = [build_subscription("orders", text, "TAG") for text in texts.values()]
        if not any(
            subscription.sub_string == SUB_ALL or tag in subscription.tags_set for subscription in subscriptions
        ):
            raise CheckFailed(
                _("Nobody asks for {tag} any more: its messages are not lost, they are given up.", tag=tag),
                rule=OF_TASK,
            )
    sent = {fact.event.body: fact.t for fact in result.run.recorded(MessageSent)}
    changed = [fact.t for fact in result.run.recorded(Subscribed)]
    begun = min(changed, default=sorted(sent.values())[len(sent) // 2])
    late = [fate for fate in result.run.fates if fate.lost and sent[fate.body] > begun + DEFAULT_RULES.longest_hold_ms]
    if late:
        lines = [
            _(
                "{body} ({tag}, queue {queue}): {told}",
                body=fate.body,
                tag=fate.tag,
                queue=fate.queue,
                told=fate.sentence,
            )
            for fate in late[:3]
        ]
        raise CheckFailed(problem=_("A asks for {a}, B for {b}.", a=texts["A"], b=texts["B"]), lines=lines)
    soon = sum(fate.lost and sent[fate.body] >= begun for fate in result.fates())
    return _("Nothing is lost any more; {soon} were, just after the change.", soon=soon)


def _texts(given: Any) -> set[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise CheckFailed(_("The ids are a list of texts."))
    return set(map(str, given))


def _account(group: str) -> Run:
    return recorded("audit", group.partition("_")[2]).run


def _lost(group: str) -> list[Any]:
    return [fate for fate in _account(group).fates if fate.group == group.partition("_")[0] and fate.lost]


def _ids(group: str) -> dict[tuple[int, int], str]:
    sent: Iterator[Fact[MessageSent | TapSent]] = _account(group).recorded(MessageSent, TapSent)
    return {(fact.event.queue, fact.event.offset): str(fact.event.offset_msg_id) for fact in sent}


CHECKS = {"11-lost": lost, "11-plan": plan, "11-repair": repair}
