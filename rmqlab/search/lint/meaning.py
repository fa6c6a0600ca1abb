"""Do the members of a group want the same, by meaning: proven, or shown to be wrong by a message, or not decided.

Members with the same tags in another order want the same; so do two conditions that are true for the same messages.
Each difference comes with a message that one member's subscription lets pass and another's does not, and with what
becomes of that message: by which member owns its queue, and by whose slot.

The broker keeps one subscription a group and topic: that of the highest version, which is the last one stamped. Its
filter comes first, the owner's own check of the tag second; a member that does not subscribe the topic is given
queues all the same (queues are allocated among all members of the group), and pulls none of them.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rmqlab.filter.consistency import (
    TOOL_WAITS_MS,
    Apart,
    CannotTellError,
    RunningConsumer,
    analyze_subscription,
    lets_pass,
    tell_apart,
)
from rmqlab.filter.filter import Filter, compile_expression, twin_of
from rmqlab.filter.sql92.doctor import looks_like_sql92
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.lab.fates import OF_STAGE, Fate
from rmqlab.language import _, joined
from rmqlab.message.java import string_hash, utf16_key
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import allocate
from rmqlab.search.lint.findings import (
    ExampleLoss,
    GroupLint,
    Loss,
    Properties,
    SharedId,
    TopicLint,
    Wish,
    WishDifference,
)
from rmqlab.search.lint.members import SETTINGS, text_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.search.lint.members import LintGroup, LintMember


def lint(group: LintGroup) -> GroupLint:
    """Compare what the members of a group subscribe; the group's members are in the order in which they were heard."""
    members = group.members
    topics = sorted({topic for member in members for topic in member.subscriptions})
    found = tuple(_topic(topic, members, group.queues.get(topic)) for topic in topics)
    return GroupLint(
        group.name, tuple(one.client for one in members), found, tuple(_notes(members, found)), _tool(members),
        tuple(_shared_ids(members, group.queues)),
    )  # fmt: skip


def _shared_ids(members: Sequence[LintMember], queues: Mapping[str, int]) -> Iterable[SharedId]:
    """Client ids that more than one member has, with the queues that they all read, and those that nobody reads.

    4.8.0 `ConsumerGroupInfo.getAllClientId`, `AllocateMessageQueueAveragely.allocate`.
    """
    if all(one.settings.get("messageModel") == "BROADCASTING" for one in members):
        return  # nothing is allocated: each reads all queues
    ids = sorted((one.client_id for one in members), key=utf16_key)
    for client_id, count in Counter(ids).items():
        if count < 2:
            continue
        topics = {}
        for topic, number in sorted(queues.items()):
            read = {one: allocate(one, range(number), ids) for one in set(ids)}
            owned = {queue for shares_of in read.values() for queue in shares_of}
            topics[topic] = (tuple(read[client_id]), tuple(queue for queue in range(number) if queue not in owned))
        yield SharedId(client_id, count, len(members), topics)


def _topic(topic: str, members: Sequence[LintMember], queues: int | None) -> TopicLint:
    alike: dict[Any, list[LintMember]] = {}
    for member in members:
        data = member.subscriptions.get(topic)
        alike.setdefault(None if data is None else text_key(data), []).append(member)
    wishes = [
        Wish(them[-1].subscriptions.get(topic), tuple(member.client for member in them)) for them in alike.values()
    ]
    wishes.sort(key=lambda wish: wish.data is None)
    first, *others = wishes
    differences = tuple(WishDifference(first, other, _apart(first, other)) for other in others)
    messages: list[Properties] = []
    for one in differences:
        for message in () if one.apart is None else (one.apart.only_first, one.apart.only_second):
            if message is not None and message not in messages:
                messages.append(message)
        if one.second.data is None and not messages:
            # one that somebody asks for, to show what is lost where others do not subscribe the topic
            apart = _apart(first, Wish(build_subscription(topic, " || ", "TAG"), ()))
            messages += [] if apart is None or apart.only_first is None else [apart.only_first]
    if any(wish.data is not None and wish.data.class_filter_mode for wish in wishes):
        messages = []  # who asks for them, and what becomes of them, nobody can tell
    witnesses = [_witness(topic, message, members, wishes, queues) for message in messages]
    return TopicLint(topic, tuple(wishes), differences, tuple(witnesses), queues)


def _apart(first: Wish, second: Wish) -> Apart | None:
    if first.data is None or second.data is None:
        return None
    try:
        return tell_apart(first.data, second.data)
    except CannotTellError:
        return None


def _witness(
    topic: str, message: Properties, members: Sequence[LintMember], wishes: Sequence[Wish], queues: int | None
) -> ExampleLoss:
    by_name = {one.client: one for one in members}
    places = {client: place for place, client in enumerate(by_name)}

    def latest(client: str) -> tuple[int, int]:
        """The higher version has it, of equal ones the first heard (row S-77); where none is told, the last heard."""
        version = by_name[client].subscriptions[topic].sub_version
        return version, -places[client] if version else places[client]

    holders = [max(wish.members, key=latest) for wish in wishes if wish.data is not None]
    holders.sort(key=latest, reverse=True)
    asking = [one.client for one in members if topic in one.subscriptions]
    asked = tuple(client for client in asking if lets_pass(by_name[client].subscriptions[topic], message))
    slots = {holder: by_name[holder].subscriptions[topic] for holder in holders}
    losses = tuple(_loss(holder, topic, slot, message, asked, members, queues) for holder, slot in slots.items())
    return ExampleLoss(message, asked, losses)


def _notes(members: Sequence[LintMember], topics: Sequence[TopicLint]) -> Iterable[str]:
    for name in SETTINGS:
        told: dict[str, list[str]] = {}
        for member in members:
            if name in member.settings:
                told.setdefault(member.settings[name], []).append(member.client)
        if len(told) > 1:
            texts = joined("; ", (f"{value}: {', '.join(clients)}" for value, clients in told.items()))
            yield _("{name} differs ({texts}): the broker keeps the last one heard", name=name, texts=texts)
    for topic in topics:
        data = [wish.data for wish in topic.wishes if wish.data is not None]
        kinds = {one.is_tag for one in data}
        if len(kinds) > 1:
            tags = sorted({tag for one in data if one.is_tag for tag in one.tags_set})
            same = next(((tag, twin) for tag in tags if (twin := twin_of(tag)) is not None), None)
            such = "" if same is None else _(", such as {same} for {same2}", same=f"{same[1]!r}", same2=f"{same[0]!r}")
            yield (
                _(
                    "{topic}: TAG and SQL92 in one group: under a TAG slot members with SQL92 get every "
                    "message whose tag has the same hash code{such}, for only members with TAG look at the "
                    "text again",
                    topic=topic.topic,
                    such=such,
                )
            )
        if False in kinds:
            yield _(
                "{topic}: SQL92 needs enablePropertyFilter=true at the broker; else these members do not start",
                topic=topic.topic,
            )
        without = [client for wish in topic.wishes if wish.data is None for client in wish.members]
        if without:
            yield (
                _(
                    "{topic}: each heartbeat of {without} takes the topic out of the broker's table, and "
                    "pulls are refused until another member's next heartbeat",
                    topic=topic.topic,
                    without=joined(", ", without),
                )
            )
        yield from _refusals(topic)
        yield from _wrong_codes(topic.topic, members)


def _refusals(topic: TopicLint) -> Iterable[str]:
    for wish in topic.wishes:
        if wish.data is None or wish.data.class_filter_mode:
            continue
        if wish.data.is_tag:
            if looks_like_sql92(str(wish.data.sub_string)):
                who = joined(", ", wish.members)
                yield _(
                    "{topic}: {wish} ({who}) looks like SQL92; as a tag it takes only this very tag",
                    topic=topic.topic,
                    wish=wish,
                    who=who,
                )
            continue
        try:
            compile_expression(wish.data.expression_type, wish.data.sub_string)
        except ExpressionRefused as refusal:
            yield _(
                "{topic}: {wish} ({members}) is refused and lets nothing pass: {refusal}",
                topic=topic.topic,
                wish=wish,
                members=joined(", ", wish.members),
                refusal=refusal,
            )


def _wrong_codes(topic: str, members: Sequence[LintMember]) -> Iterable[str]:
    """Heartbeats whose codes are not those of the tags: the broker looks at the codes alone (row F-50)."""
    for member in members:
        sent = member.sent_codes.get(topic)
        if sent is None:
            continue
        mine = member.subscriptions[topic]
        tags = sorted(mine.tags_set)
        right = joined(", ", (f"{tag} {string_hash(tag)}" for tag in tags)) or _("none")
        passing = [tag for tag in tags if string_hash(tag) in sent]
        what = (
            _("of these tags only {passing} passes", passing=joined(", ", passing))
            if passing
            else _("no message with such a tag passes")
        )
        yield (
            _(
                "{topic}: the heartbeat of {client} has the codes {sent} for {expression}, right is: "
                "{right}. A real broker filters by the codes that were sent: while it holds this "
                "subscription {what} in pulls that carry no subscription of their own (the C++ client's "
                "carry it, a Java push consumer's do not)",
                topic=topic,
                client=member.client,
                sent=sorted(sent),
                expression=f"{mine.sub_string!r}",
                right=right,
                what=what,
            )
        )


def _tool(members: Sequence[LintMember]) -> bool:
    running = {
        one.client: RunningConsumer(
            one.settings.get("consumeType", "CONSUME_PASSIVELY") == "CONSUME_PASSIVELY", 0, one.subscriptions.values()
        )
        for one in members
    }
    return analyze_subscription(running, TOOL_WAITS_MS + 1) if running else True


def shares(members: Sequence[LintMember], queues: int | None) -> dict[str, Fraction]:
    """Which share of a topic's queues each member is given: exactly for a number of queues, else evenly.

    With the usual strategy (`AllocateMessageQueueAveragely`), the client ids sorted. Members with one id are given the
    same queues, which are counted for the first of them; the rest of their shares is nobody's.
    """
    ids = sorted((one.client_id for one in members), key=utf16_key)
    seen: set[str] = set()
    found: dict[str, Fraction] = {}
    for one in sorted(members, key=lambda one: utf16_key(one.client_id)):
        part = (
            Fraction(1, len(ids))
            if queues is None
            else Fraction(len(allocate(one.client_id, range(queues), ids)), queues)
        )
        found[one.client] = Fraction(0) if one.client_id in seen else part
        seen.add(one.client_id)
    return found


def _loss(
    holder: str,
    topic: str,
    slot: SubscriptionData,
    message: Properties,
    asked: Sequence[str],
    members: Sequence[LintMember],
    queues: int | None,
) -> Loss:
    """What becomes of ``message`` while the broker holds ``slot``, the subscription of ``holder``."""
    part = shares(members, queues)
    fates = {one.client: fate(one.subscriptions.get(topic), slot, message) for one in members}
    got = {client for client, one in fates.items() if one is Fate.DELIVERED}
    if all(one.settings.get("messageModel") == "BROADCASTING" for one in members):
        part = {client: Fraction(1, len(asked)) for client in asked}
    stuck = sum((share for client, share in part.items() if fates[client] is Fate.NO_OWNER), Fraction(0))
    nobodys = max(Fraction(0), 1 - sum(part.values(), Fraction(0)))
    kept = sum((share for client, share in part.items() if client in got), Fraction(0))
    unasked = tuple(client for client in fates if client in got and client not in asked)
    return Loss(holder, sum(part.values(), Fraction(0)) - kept - stuck, stuck + nobodys, fates, unasked)


def fate(owner: SubscriptionData | None, slot: SubscriptionData, message: Mapping[str, str]) -> Fate:
    """What becomes of a message in a queue of ``owner`` (None: a member without the topic) under ``slot``'s filter."""
    if owner is None:
        return Fate.NO_OWNER
    dropped = Filter(slot).fate(message, Filter(owner))
    return Fate.DELIVERED if dropped is None else OF_STAGE[dropped]
