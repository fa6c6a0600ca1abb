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

from rmqlab.filter.filter import Filter, colliding_tag
from rmqlab.language import _, joined
from rmqlab.message.java import string_hash, utf16_key
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import DEFAULT_RULES, Rules, allocate
from rmqlab.run.fates import OF_STAGE, Fate
from rmqlab.scenario.scenario import POPPING
from rmqlab_tools.search.consistency import (
    TOOL_WAITS_MS,
    Apart,
    CannotTellError,
    RunningConsumer,
    analyze_subscription,
    lets_pass,
    tell_apart,
)
from rmqlab_tools.search.expressions.remarks import REFUSED_CODE, doubts, sentence
from rmqlab_tools.search.expressions.satisfiability import EVALUATION_BUDGET
from rmqlab_tools.search.lint.findings import (
    ExampleLoss,
    FirstInLine,
    GroupLint,
    Loss,
    Properties,
    SharedId,
    TopicLint,
    Wish,
    WishDifference,
)
from rmqlab_tools.search.lint.limits import MOST_COMPARED, MOST_EXAMINED, MOST_FATES, MOST_MESSAGES, MOST_SLOTS, named
from rmqlab_tools.search.lint.members import MEMBER_SETTINGS, text_key
from rmqlab_tools.search.lint.modes import AT_A_PROXY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab_tools.search.lint.members import LintGroup, LintMember


FEW_COMPARED = 8
"""Different subscriptions of a topic, each of which is compared with the whole budget of `tell_apart`."""


def lint(group: LintGroup, rules: Rules = DEFAULT_RULES) -> GroupLint:
    """Compare what the members of a group subscribe, in the order in which they were heard, by the broker's rules."""
    members = group.members
    topics = sorted({topic for member in members for topic in member.subscriptions})
    compared = tuple(
        _topic(topic, [member for member in members if member.tells(topic)], group.queues.get(topic), rules)
        for topic in topics
    )
    return GroupLint(
        group.name, tuple(heard.client for heard in members), compared, tuple(_notes(members, compared, rules)),
        _tool(members),
        tuple(_shared_ids(members, group.queues)), rules=rules, kinds=kinds_of(members),
    )  # fmt: skip


def kinds_of(members: Iterable[LintMember]) -> dict[str, tuple[str, ...]]:
    """Members by how they fetch."""
    by_kind: dict[str, list[str]] = {}
    for member in members:
        by_kind.setdefault(member.kind, []).append(member.client)
    return {kind: tuple(clients) for kind, clients in by_kind.items()}


def _shared_ids(members: Sequence[LintMember], queues: Mapping[str, int]) -> Iterable[SharedId]:
    """Client ids that more than one member has, with the queues that they all read, and those that no process reads.

    4.8.0 `ConsumerGroupInfo.getAllClientId`, `AllocateMessageQueueAveragely.allocate`.
    """
    if all(member.settings.get("messageModel") == "BROADCASTING" or member.pops for member in members):
        return  # nothing is allocated: each reads all queues
    ids = sorted((member.client_id for member in members), key=utf16_key)
    twice = {client_id: count for client_id, count in Counter(ids).items() if count > 1}
    # an id that stands behind as many as there are queues is given none
    read_by = {
        topic: {shared_id: allocate(shared_id, range(number), ids) for shared_id in {*ids[:number], *twice}}
        for topic, number in sorted(queues.items())
        if twice
    }
    for client_id, count in twice.items():
        topics = {}
        for topic, read in read_by.items():
            number = queues[topic]
            owned = {queue for shares_of in read.values() for queue in shares_of}
            topics[topic] = (tuple(read[client_id]), tuple(queue for queue in range(number) if queue not in owned))
        yield SharedId(client_id, count, len(members), topics)


def _topic(topic: str, members: Sequence[LintMember], queues: int | None, rules: Rules) -> TopicLint:
    alike: dict[Any, list[LintMember]] = {}
    for member in members:
        data = member.subscriptions.get(topic)
        alike.setdefault(None if data is None else text_key(data), []).append(member)
    wishes = [
        Wish(them[-1].subscriptions.get(topic), tuple(member.client for member in them)) for them in alike.values()
    ]
    wishes.sort(key=lambda wish: wish.data is None)
    first, *others = wishes
    kinds = tuple(kinds_of(member for member in members if topic in member.subscriptions))
    popped = POPPING.issuperset(kinds)
    # who does not subscribe the topic at all stands last, and counts most
    compared = others if len(others) <= MOST_COMPARED else [*others[: MOST_COMPARED - 1], others[-1]]
    budget = EVALUATION_BUDGET if len(compared) <= FEW_COMPARED else EVALUATION_BUDGET // FEW_COMPARED
    differences = tuple(WishDifference(first, other, _apart(first, other, budget, rules), popped) for other in compared)
    messages: list[Properties] = []
    for difference in differences:
        for message in () if difference.apart is None else (difference.apart.only_first, difference.apart.only_second):
            if message is not None and message not in messages:
                messages.append(message)
        if difference.second.data is None and not messages and not popped:
            # one that somebody asks for, to show what is lost where others do not subscribe the topic
            apart = _apart(first, Wish(build_subscription(topic, " || ", "TAG"), ()), budget, rules)
            messages += [] if apart is None or apart.only_first is None else [apart.only_first]
    if any(wish.data is not None and wish.data.class_filter_mode for wish in wishes):
        messages = []  # who asks for them, and what becomes of them, nobody can tell
    owners = _Owners(topic, members, wishes, queues, rules) if messages and not POPPING.intersection(kinds) else None
    witnesses = [
        _popped_witness(message, members, wishes, rules, popped=popped) if owners is None else owners.witness(message)
        for message in messages[:MOST_MESSAGES]
    ]
    left_out = len(others) - len(compared)
    return TopicLint(topic, tuple(wishes), differences, tuple(witnesses), queues, left_out, kinds)


def _popped_witness(
    message: Properties, members: Sequence[LintMember], wishes: Sequence[Wish], rules: Rules, *, popped: bool
) -> ExampleLoss:
    """Who asks for a message that is popped, and what becomes of it by who stands first in line.

    5.3.3 `PopLongPollingService.notifyMessageArriving`, `PopMessageProcessor.popMsgFromQueue`.
    """
    asks = [(wish, lets_pass(wish.data, message, rules)) for wish in wishes if wish.data is not None]
    asking = {client for wish, passes in asks if passes for client in wish.members}
    waiters = [
        FirstInLine(wish.members[0], Fate.DELIVERED if passes else Fate.SKIPPED_BY_POP)
        for wish, passes in asks[:MOST_SLOTS]
    ]
    asked = tuple(member.client for member in members if member.client in asking)
    return ExampleLoss(message, asked, (), tuple(waiters) if popped else ())


def _apart(first: Wish, second: Wish, budget: int, rules: Rules) -> Apart | None:
    if first.data is None or second.data is None:
        return None
    try:
        return tell_apart(first.data, second.data, budget, rules)
    except CannotTellError:
        return None


def _notes(members: Sequence[LintMember], topics: Sequence[TopicLint], rules: Rules) -> Iterable[str]:
    for name in MEMBER_SETTINGS:
        clients_of: dict[str, list[str]] = {}
        for member in members:
            if name in member.settings:
                clients_of.setdefault(member.settings[name], []).append(member.client)
        if len(clients_of) > 1:
            texts = joined("; ", (f"{value}: {named(clients)}" for value, clients in clients_of.items()))
            yield _("{name} differs ({texts}): the broker keeps the last one heard", name=name, texts=texts)
    for topic in topics:
        data = [wish.data for wish in topic.wishes if wish.data is not None]
        kinds = {subscription.is_tag for subscription in data}
        if len(kinds) > 1 and not topic.pops:
            tags = sorted({tag for subscription in data if subscription.is_tag for tag in subscription.tags_set})
            same = next(((tag, twin) for tag in tags if (twin := colliding_tag(tag)) is not None), None)
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
        if False in kinds and not AT_A_PROXY.issuperset(topic.kinds):  # over gRPC such a broker serves SQL92
            yield _(
                "{topic}: SQL92 needs enablePropertyFilter=true at the broker; else these members do not start",
                topic=topic.topic,
            )
        without = [client for wish in topic.wishes if wish.data is None for client in wish.members]
        if without and not topic.pops:
            yield (
                _(
                    "{topic}: each heartbeat of {without} takes the topic out of the broker's table, and "
                    "pulls are refused until another member's next heartbeat",
                    topic=topic.topic,
                    without=named(without),
                )
            )
        yield from _refusals(topic, rules)
        if not topic.pops:
            yield from _wrong_codes(topic.topic, members)


def _refusals(topic: TopicLint, rules: Rules) -> Iterable[str]:
    for wish in topic.wishes[:MOST_EXAMINED]:
        if wish.data is None or wish.data.class_filter_mode:
            continue
        clients = named(wish.members)
        for doubt in doubts(wish.data.expression_type, wish.data.sub_string, rules.sql92):
            values = {"topic": topic.topic, "wish": wish, "members": clients, "text": sentence(doubt)}
            if doubt.code == REFUSED_CODE:
                yield _("{topic}: {wish} ({members}) is refused and lets nothing pass: {text}", **values)
            else:
                yield _("{topic}: {wish} ({members}): {text}", **values)


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
        member.client: RunningConsumer(
            member.settings.get("consumeType", "CONSUME_PASSIVELY") == "CONSUME_PASSIVELY",
            0,
            member.subscriptions.values(),
        )
        for member in members
    }
    return analyze_subscription(running, TOOL_WAITS_MS + 1) if running else True


def shares(members: Sequence[LintMember], queues: int | None) -> dict[str, Fraction]:
    """Which share of a topic's queues each member is given: exactly for a number of queues, else evenly.

    With the usual strategy (`AllocateMessageQueueAveragely`), the client ids sorted. Members with one id are given the
    same queues, which are counted for the first of them; the rest of their shares has no owner.
    """
    by_id = sorted(members, key=lambda member: utf16_key(member.client_id))
    ids = [member.client_id for member in by_id]
    # an id that stands behind as many as there are queues is given none
    part = {
        client_id: Fraction(1, len(ids))
        if queues is None
        else Fraction(len(allocate(client_id, range(queues), ids)), queues)
        for client_id in dict.fromkeys(ids[:queues])
    }
    return {member.client: part.pop(member.client_id, Fraction(0)) for member in by_id}


class _Owners:
    """The members of a topic, those who subscribe it alike together: what is worked out for one holds for all."""

    def __init__(
        self, topic: str, members: Sequence[LintMember], wishes: Sequence[Wish], queues: int | None, rules: Rules
    ) -> None:
        """`wishes` are all ways in which `members` subscribe the topic; its `queues` may be unknown."""
        self.wishes = wishes
        self._rules = rules
        self._members = [member.client for member in members]
        self._wish_of = {client: number for number, wish in enumerate(wishes) for client in wish.members}
        self._broadcasting = all(heard.settings.get("messageModel") == "BROADCASTING" for heard in members)
        part = shares(members, queues)
        self._part = [sum((part[client] for client in wish.members), Fraction(0)) for wish in wishes]
        self._slots = self._by_version(topic, {heard.client: heard for heard in members})
        listed = {*self._members[:MOST_FATES], *(wish.members[0] for wish in wishes)}
        self._listed = [client for client in self._members if client in listed]

    def _by_version(self, topic: str, by_name: Mapping[str, LintMember]) -> dict[str, SubscriptionData]:
        """Which subscriptions the broker may hold, each by the member whose it is; the likeliest first.

        The higher version has it, of equal ones the first heard (row S-77); where none is given, the last heard.
        """
        places = {client: place for place, client in enumerate(by_name)}

        def latest(client: str) -> tuple[int, int]:
            version = by_name[client].subscriptions[topic].sub_version
            return version, -places[client] if version else places[client]

        holders = [max(wish.members, key=latest) for wish in self.wishes if wish.data is not None]
        holders.sort(key=latest, reverse=True)
        return {holder: by_name[holder].subscriptions[topic] for holder in holders[:MOST_SLOTS]}

    def witness(self, message: Properties) -> ExampleLoss:
        """What becomes of a message, by who holds the slot."""
        asking = [wish.data is not None and lets_pass(wish.data, message, self._rules) for wish in self.wishes]
        losses = tuple(self._loss(holder, slot, message, asking) for holder, slot in self._slots.items())
        return ExampleLoss(message, tuple(client for client in self._members if asking[self._wish_of[client]]), losses)

    def _loss(self, holder: str, slot: SubscriptionData, message: Properties, asking: Sequence[bool]) -> Loss:
        """What becomes of `message` while the broker holds `slot`, the subscription of `holder`."""
        fates = [fate(wish.data, slot, message, self._rules) for wish in self.wishes]
        part = self._part
        if self._broadcasting:  # each of those who ask is to get it
            asking_members = sum(len(wish.members) for wish, asks in zip(self.wishes, asking, strict=True) if asks)
            part = [
                Fraction(len(wish.members), asking_members) if asks else Fraction(0)
                for wish, asks in zip(self.wishes, asking, strict=True)
            ]
        of_fate: dict[Fate, Fraction] = {}
        for of_wish, met in zip(part, fates, strict=True):
            of_fate[met] = of_fate.get(met, Fraction(0)) + of_wish
        stuck, kept = of_fate.get(Fate.NO_OWNER, Fraction(0)), of_fate.get(Fate.DELIVERED, Fraction(0))
        everything = sum(part, Fraction(0))
        nobodys = max(Fraction(0), 1 - everything)
        unasked = [met is Fate.DELIVERED and not asks for met, asks in zip(fates, asking, strict=True)]
        return Loss(
            holder,
            everything - kept - stuck,
            stuck + nobodys,
            {client: fates[self._wish_of[client]] for client in self._listed},
            tuple(client for client in self._members if unasked[self._wish_of[client]]),
        )


def fate(
    owner: SubscriptionData | None, slot: SubscriptionData, message: Mapping[str, str], rules: Rules = DEFAULT_RULES
) -> Fate:
    """What becomes of a message in a queue of `owner` (None: a member without the topic) under `slot`'s filter."""
    if owner is None:
        return Fate.NO_OWNER
    dropped = Filter(slot, rules).fate(message, Filter(owner, rules))
    return Fate.DELIVERED if dropped is None else OF_STAGE[dropped]
