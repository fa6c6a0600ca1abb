"""Do the members of a group want the same, by meaning: proven, or shown to be wrong by a message, or not decided.

Members with the same tags in another order want the same; so do two conditions that are true for the same messages.
Each difference comes with a message that one member's subscription lets pass and another's does not, and with what
becomes of that message in 4.8.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from rmqlab.filter.consistency import TOOL_WAITS_MS, RunningConsumer, analyze_subscription
from rmqlab.filter.distinguishing_message import Apart, CannotTellError, tell_apart
from rmqlab.filter.filter_api import build
from rmqlab.filter.filter_factory import compile_expression
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.filter.tags import twin_of
from rmqlab.message.java import string_hash
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.search.lint.loss import Loss, Properties, asks, loss
from rmqlab.search.lint.members import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from rmqlab.search.lint.members import LintGroup, LintMember


class LintVerdict(StrEnum):
    """What can be said of a group or a topic; the worst of its parts."""

    CONSISTENT = "consistent"
    UNDECIDED = "not decided"
    INCONSISTENT = "inconsistent"


_ORDER = list(LintVerdict)


@dataclass(frozen=True, slots=True)
class Wish:
    """One way to subscribe a topic, and who does so; ``data`` None: these members do not subscribe it at all."""

    data: SubscriptionData | None
    members: tuple[str, ...]

    def __str__(self) -> str:
        """Type and text."""
        return "nothing" if self.data is None else f"{self.data.expression_type or 'TAG'} {self.data.sub_string!r}"

    def as_json(self) -> dict[str, Any]:
        """Type, text and members."""
        told = None if self.data is None else {"type": self.data.expression_type, "expr": self.data.sub_string}
        return {"subscription": told, "members": list(self.members)}


@dataclass(frozen=True, slots=True)
class Difference:
    """Two wishes compared. ``apart`` None: one of them is a class filter, which nobody can look into."""

    first: Wish
    second: Wish
    apart: Apart | None

    @property
    def verdict(self) -> LintVerdict:
        """Same, different, or not known."""
        if self.first.data is None or self.second.data is None:
            return LintVerdict.INCONSISTENT
        if self.apart is None:
            return LintVerdict.UNDECIDED
        if self.apart.only_first is not None or self.apart.only_second is not None:
            return LintVerdict.INCONSISTENT
        return LintVerdict.CONSISTENT if self.apart.proven else LintVerdict.UNDECIDED

    def as_json(self) -> dict[str, Any]:
        """Both wishes, the messages between them, and what was tried."""
        apart = self.apart
        return {
            "first": self.first.as_json(),
            "second": self.second.as_json(),
            "verdict": str(self.verdict),
            "only_first": None if apart is None else _message(apart.only_first),
            "only_second": None if apart is None else _message(apart.only_second),
            "proven": apart is not None and apart.proven,
            "tried": 0 if apart is None else apart.tried,
        }


@dataclass(frozen=True, slots=True)
class WitnessLoss:
    """A message on which members differ: who asks for it, and what becomes of it by who holds the slot.

    ``losses``: one for each wish that may be in the slot; the first is that of the highest version, or heard last.
    """

    message: Properties
    asked: tuple[str, ...]
    losses: tuple[Loss, ...]

    @property
    def expected(self) -> Fraction:
        """The share lost while the slot is that of the highest version, or of the member heard last."""
        return self.losses[0].lost

    def as_json(self) -> dict[str, Any]:
        """The message, who asks for it, and the losses."""
        return {
            "message": _message(self.message),
            "asked": list(self.asked),
            "losses": [
                {
                    "slot": one.holder,
                    "lost": float(one.lost),
                    "lost_of": [one.lost.numerator, one.lost.denominator],
                    "stuck": float(one.stuck),
                    "fates": {client: str(fate) for client, fate in one.fates.items()},
                    "unasked": list(one.unasked),
                }
                for one in self.losses
            ],
        }


@dataclass(frozen=True, slots=True)
class TopicLint:
    """One topic: the different texts (the first member's first), how they differ, and what is lost by it."""

    topic: str
    wishes: tuple[Wish, ...]
    differences: tuple[Difference, ...]
    witnesses: tuple[WitnessLoss, ...]
    queues: int | None

    @property
    def verdict(self) -> LintVerdict:
        """The worst of its differences."""
        return _worst(one.verdict for one in self.differences)

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "topic": self.topic,
            "verdict": str(self.verdict),
            "queues": self.queues,
            "wishes": [one.as_json() for one in self.wishes],
            "differences": [one.as_json() for one in self.differences],
            "witnesses": [one.as_json() for one in self.witnesses],
        }


@dataclass(frozen=True, slots=True, repr=False)
class GroupLint:
    """One group. ``notes``: what else differs or will surprise. ``tool``: what the admin tool would say, later on."""

    group: str
    members: tuple[str, ...]
    topics: tuple[TopicLint, ...]
    notes: tuple[str, ...] = field(default=())
    tool: bool = True

    def __repr__(self) -> str:
        """What the verb prints."""
        from rmqlab.search.lint.in_words import lint_lines

        return "\n".join(lint_lines(self))

    @property
    def verdict(self) -> LintVerdict:
        """The worst of its topics."""
        return _worst(one.verdict for one in self.topics)

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "group": self.group,
            "verdict": str(self.verdict),
            "members": list(self.members),
            "topics": [one.as_json() for one in self.topics],
            "notes": list(self.notes),
            "admin_tool_says_same": self.tool,
        }


def lint(group: LintGroup) -> GroupLint:
    """Compare what the members of a group subscribe; the group's members are in the order in which they were heard."""
    members = group.members
    topics = sorted({topic for member in members for topic in member.subscriptions})
    found = tuple(_topic(topic, members, group.queues.get(topic)) for topic in topics)
    return GroupLint(
        group.name, tuple(one.client for one in members), found, tuple(_notes(members, found)), _tool(members)
    )


def _topic(topic: str, members: Sequence[LintMember], queues: int | None) -> TopicLint:
    by_text: dict[Any, list[str]] = {}
    data: dict[Any, SubscriptionData | None] = {}
    for member in members:
        mine = member.subscriptions.get(topic)
        key = None if mine is None else (mine.expression_type or "TAG", mine.sub_string, mine.class_filter_mode)
        by_text.setdefault(key, []).append(member.client)
        data[key] = mine
    wishes = [Wish(data[key], tuple(clients)) for key, clients in by_text.items()]
    wishes.sort(key=lambda wish: wish.data is None)
    first, *others = wishes
    differences = tuple(Difference(first, other, _apart(first, other)) for other in others)
    messages: list[Properties] = []
    for one in differences:
        for message in () if one.apart is None else (one.apart.only_first, one.apart.only_second):
            if message is not None and message not in messages:
                messages.append(message)
        if one.second.data is None and not messages:
            messages += _any_message(first)
    witnesses = [_witness(topic, message, members, wishes, queues) for message in messages]
    return TopicLint(topic, tuple(wishes), differences, tuple(witnesses), queues)


def _apart(first: Wish, second: Wish) -> Apart | None:
    if first.data is None or second.data is None:
        return None
    try:
        return tell_apart(first.data, second.data)
    except CannotTellError:
        return None


def _any_message(wish: Wish) -> list[Properties]:
    """A message that somebody asks for, for the loss where others do not subscribe the topic."""
    try:
        found = None if wish.data is None else tell_apart(wish.data, build(wish.data.topic, " || ", "TAG")).only_first
    except CannotTellError:
        found = None
    return [] if found is None else [found]


def _witness(
    topic: str, message: Properties, members: Sequence[LintMember], wishes: Sequence[Wish], queues: int | None
) -> WitnessLoss:
    by_name = {one.client: one for one in members}
    places = {client: place for place, client in enumerate(by_name)}

    def latest(client: str) -> tuple[int, int]:
        """The higher version has the slot (row S-77); where versions are not told, whoever was heard last."""
        return by_name[client].subscriptions[topic].sub_version, places[client]

    holders = [max(wish.members, key=latest) for wish in wishes if wish.data is not None]
    holders.sort(key=latest, reverse=True)
    asked = tuple(one.client for one in members if asks(one, topic, message))
    return WitnessLoss(
        message, asked, tuple(loss(topic, message, members, by_name[holder], queues) for holder in holders)
    )


def _notes(members: Sequence[LintMember], topics: Sequence[TopicLint]) -> Iterable[str]:
    for name in SETTINGS:
        told: dict[str, list[str]] = {}
        for member in members:
            if name in member.settings:
                told.setdefault(member.settings[name], []).append(member.client)
        if len(told) > 1:
            texts = "; ".join(f"{value}: {', '.join(clients)}" for value, clients in told.items())
            yield f"{name} differs ({texts}): the broker keeps the last one heard"
    for topic in topics:
        data = [wish.data for wish in topic.wishes if wish.data is not None]
        kinds = {one.is_tag for one in data}
        if len(kinds) > 1:
            tags = sorted({tag for one in data if one.is_tag for tag in one.tags_set})
            same = next(((tag, twin) for tag in tags if (twin := twin_of(tag)) is not None), None)
            such = "" if same is None else f", such as {same[1]!r} for {same[0]!r}"
            yield (
                f"{topic.topic}: TAG and SQL92 in one group: under a TAG slot members with SQL92 get every message "
                f"whose tag has the same hash code{such}, for only members with TAG look at the text again"
            )
        if False in kinds:
            yield f"{topic.topic}: SQL92 needs enablePropertyFilter=true at the broker; else these members do not start"
        without = [client for wish in topic.wishes if wish.data is None for client in wish.members]
        if without:
            yield (
                f"{topic.topic}: each heartbeat of {', '.join(without)} takes the topic out of the broker's table, and "
                "pulls are refused until another member's next heartbeat"
            )
        yield from _refusals(topic)
        yield from _wrong_codes(topic.topic, members)


def _refusals(topic: TopicLint) -> Iterable[str]:
    for wish in topic.wishes:
        if wish.data is None or wish.data.is_tag or wish.data.class_filter_mode:
            continue
        try:
            compile_expression(wish.data.expression_type, wish.data.sub_string)
        except ExpressionRefused as refusal:
            yield f"{topic.topic}: {wish} ({', '.join(wish.members)}) is refused and lets nothing pass: {refusal}"


def _wrong_codes(topic: str, members: Sequence[LintMember]) -> Iterable[str]:
    """Heartbeats whose codes are not those of the tags: the broker looks at the codes alone (row F-50)."""
    for member in members:
        sent = member.sent_codes.get(topic)
        if sent is None:
            continue
        mine = member.subscriptions[topic]
        tags = sorted(mine.tags_set)
        right = ", ".join(f"{tag} {string_hash(tag)}" for tag in tags) or "none"
        passing = [tag for tag in tags if string_hash(tag) in sent]
        what = f"of these tags only {', '.join(passing)} passes" if passing else "no message with such a tag passes"
        yield (
            f"{topic}: the heartbeat of {member.client} has the codes {sorted(sent)} for {mine.sub_string!r}, right is:"
            f" {right}. A real broker filters by the codes that were sent: while it holds this subscription {what} in"
            " pulls that carry no subscription of their own (the C++ client's carry it, a Java push consumer's do not)"
        )


def _tool(members: Sequence[LintMember]) -> bool:
    running = {
        one.client: RunningConsumer(
            one.settings.get("consumeType", "CONSUME_PASSIVELY") == "CONSUME_PASSIVELY", 0, one.subscriptions.values()
        )
        for one in members
    }
    return analyze_subscription(running, TOOL_WAITS_MS + 1) if running else True


def _worst(verdicts: Iterable[LintVerdict]) -> LintVerdict:
    return max(verdicts, key=_ORDER.index, default=LintVerdict.CONSISTENT)


def _message(properties: Properties | None) -> dict[str, Any] | None:
    """A message as its tag and its other properties."""
    if properties is None:
        return None
    others = {name: value for name, value in properties.items() if name != PROPERTY_TAGS}
    return {"tag": properties.get(PROPERTY_TAGS), "properties": others}
