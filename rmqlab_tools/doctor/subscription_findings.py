"""Do a group's members ask for the same, by meaning; does what the brokers hold agree with them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import DEFAULT_RULES
from rmqlab.run.fates import LOSING
from rmqlab_tools.doctor.finding import Certainty, State, counted, found
from rmqlab_tools.doctor.group_context import same_text, unique
from rmqlab_tools.search.consistency import CannotTellError, tell_apart
from rmqlab_tools.search.expressions.examine import looks_like_sql92
from rmqlab_tools.search.lint.findings import LintVerdict, TopicLint, Wish
from rmqlab_tools.search.lint.lint_text import message_words
from rmqlab_tools.search.lint.meaning import fate
from rmqlab_tools.search.lint.members import as_meant
from rmqlab_tools.search.plan.change import parse_subscription

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.group_context import GroupCase
    from rmqlab_tools.search.lint.findings import ExampleLoss

PLAN_MEMBERS, PLAN_QUEUES = 16, 64  # as many as `rmqlab plan` takes
_NAMED = 3  # clients named in a line


def subscription_findings(case: GroupCase) -> Iterator[Finding]:
    """Everything about who asks for what."""
    for topic in case.lint.topics:
        if case.is_popped(topic.topic):  # no slot filters pops: `pop_findings`
            continue
        asking = [wish for wish in topic.wishes if wish.data is not None]
        differences = [difference for difference in topic.differences if difference.second.data is not None]
        verdicts = {difference.verdict for difference in differences}
        if LintVerdict.INCONSISTENT in verdicts:
            yield _different_subscriptions(case, topic, asking)
        elif LintVerdict.UNDECIDED in verdicts:
            texts = joined(" and ", (str(wish) for wish in asking))
            says = _(
                "{topic}: whether {texts} let the same pass is not decided; no message told them apart",
                topic=topic.topic,
                texts=texts,
            )
            evidence = {"lint": topic.as_json()}
            yield found("undecided_subscriptions", State.UNKNOWN, Certainty.UNKNOWN, says, topic.topic, evidence)
        yield from _different_topics(case, topic)
    for name in case.topics:
        yield from _slots(case, name)


def _different_subscriptions(case: GroupCase, topic: TopicLint, texts_asked: list[Wish]) -> Finding:
    sentences = [
        ngettext(
            "{members} asks for {wish}",
            "{members} ask for {wish}",
            len(wish.members),
            members=named(wish.members),
            wish=wish,
        )
        for wish in texts_asked
    ]
    examples = [example(case, topic.topic, message) for message in topic.witnesses]
    slots = slots_now(case, topic.topic, texts_asked)
    flips = case.history.flips(case.group.name, topic.topic)
    for example_message in examples[:1]:
        asking = ngettext(
            "{asked} wants a message with {shown}",
            "{asked} want a message with {shown}",
            len(example_message["asked"]),
            asked=named(example_message["asked"]),
            shown=example_message["shown"],
        )
        of = ngettext(
            "{lost} of {count} queue",
            "{lost} of {count} queues",
            example_message["queues"],
            lost=example_message["lost"],
        )
        sentences.append(
            _("{wants}, which is now lost in {of}", wants=asking, of=of) if example_message["queues"] else asking
        )
    for broker, slot in slots.items():
        filters = _(
            "{broker} filters by {type} {expr}", broker=broker, type=slot["type"] or "TAG", expr=f"{slot['expr']!r}"
        )
        sentences.append(
            _("{filters}, as {of} asked", filters=filters, of=named(slot["of"])) if slot["of"] else filters
        )
    if flips.seen:
        sentences.append(
            _("that changed at least {times} in {looks} looks", times=counted(flips.seen, "time"), looks=flips.looks)
        )
    plan = plan_of(case, topic.topic, texts_asked)
    change = plan["command"] if plan else ""
    harmless = case.broadcasting and all(case.posts(client) for client in case.told)
    state = State.NOTE if harmless else State.AT_RISK
    evidence = {"lint": topic.as_json(), "slot": slots, "examples": examples, "flips": flips._asdict(), "plan": plan}
    says = joined(": ", (topic.topic, joined("; ", sentences)))
    return found("different_subscriptions", state, Certainty.PROVED, says, topic.topic, evidence, change)


def _different_topics(case: GroupCase, topic: TopicLint) -> Iterator[Finding]:
    without = [client for wish in topic.wishes if wish.data is None for client in wish.members]
    if not without:
        return
    queues = case.queues(topic.topic)
    free = [queue for queue in queues if queue not in case.owners]
    waiting = (
        _("; nobody pulls {free} of its {queues}", free=len(free), queues=counted(len(queues), "queue"))
        if case.owners_known and free
        else ""
    )
    says = ngettext(
        "{topic}: {without} does not subscribe to it; each heartbeat from there makes the broker "
        "forget this topic for the whole group, and pulls of it are refused for a while{waiting}",
        "{topic}: {without} do not subscribe to it; each heartbeat from there makes the broker "
        "forget this topic for the whole group, and pulls of it are refused for a while{waiting}",
        len(without),
        topic=topic.topic,
        without=named(without),
        waiting=waiting,
    )
    evidence = {"without": without, "unowned": len(free) if case.owners_known else None, "queues": len(queues)}
    yield found("different_topics", State.AT_RISK, Certainty.PROVED, says, topic.topic, evidence)


def example(case: GroupCase, topic: str, witness: ExampleLoss) -> dict[str, Any]:
    """What becomes of a message on which members differ, by the slots and owners of this look."""
    lost = waits = queues = 0
    for queue in case.queues(topic):
        owner = case.sole_owner(queue)
        slot = case.in_force(owner, topic, queue.broker_name)
        if slot is None or owner not in case.told:
            continue
        own = case.told[owner].get(topic)
        queues += 1
        lost += fate(None if own is None else as_meant(own), slot, witness.message) in LOSING
        waits += own is None
    return {
        "message": dict(witness.message), "shown": message_words(witness.message), "asked": list(witness.asked),
        "lost": lost, "waits": waits, "queues": queues,
    }  # fmt: skip


def slots_now(case: GroupCase, topic: str, texts_asked: Iterable[Wish]) -> dict[str, dict[str, Any]]:
    """Who has the slot at each broker: the member with the slot's version, else those that ask for the same text."""
    slots = {}
    for broker, broker_subscription in sorted(case.slots(topic).items()):
        same = [
            client
            for wish in texts_asked
            if wish.data and same_text(wish.data, broker_subscription)
            for client in wish.members
        ]
        stamped = [client for client in same if case.told[client][topic].sub_version == broker_subscription.sub_version]
        slots[broker] = {
            "type": broker_subscription.expression_type,
            "expr": broker_subscription.sub_string,
            "version": broker_subscription.sub_version,
            "of": stamped or same,
        }
    return slots


def plan_of(case: GroupCase, topic: str, texts_asked: list[Wish]) -> dict[str, Any] | None:
    """The planner's arguments, from the oldest wish to the newest; None if it does not take them.

    The newest is that of the member that started last: a rebalance stamps old members' subscriptions anew
    (4.8.0 `RebalancePushImpl.messageQueueChanged`). Numbers of members and queues are the group's own, as far as the
    planner takes as many.
    """

    def age(client: str) -> tuple[int, int]:
        started = case.setting(client, "PROP_CONSUMER_START_TIMESTAMP") or ""
        return int(started) if started.isdecimal() else 0, case.told[client][topic].sub_version

    aged = sorted(texts_asked, key=lambda wish: max(map(age, wish.members)))
    texts = [plan_text(wish.data) for wish in (aged[0], aged[-1]) if wish.data is not None]
    try:
        for text in texts:
            parse_subscription(text, _("the group's"))
    except BadInput:
        return None
    members = min(len(case.group.members), PLAN_MEMBERS)
    queues = max(1, min(len(case.queues(topic)), PLAN_QUEUES))
    command = shlex.join(["rmqlab", "plan", *texts, "--members", str(members), "--queues", str(queues)])
    return {"old": texts[0], "new": texts[1], "members": members, "queues": queues, "command": command}


def plan_text(data: SubscriptionData) -> str:
    """A subscription as `rmqlab plan` reads it."""
    text = data.sub_string or ""
    if not data.is_tag:
        return f"{data.expression_type}:{text}"
    return f"TAG:{text}" if looks_like_sql92(text) else text


def _slots(case: GroupCase, topic: str) -> Iterator[Finding]:
    """What each broker holds, against what its members ask for whose pulls do not carry their own."""
    client_subscriptions = {
        client: subscriptions[topic] for client, subscriptions in case.told.items() if topic in subscriptions
    }
    before = {} if case.before is None else case.before.slots(topic)
    for broker in sorted(case.group.slots):
        broker_subscription = case.slots(topic).get(broker)
        here = {
            client: data
            for client, data in client_subscriptions.items()
            if broker in case.group.members[client].brokers and not case.posts(client)
        }
        if not here:
            continue
        if broker_subscription is None:
            if any(queue.broker_name == broker for queue in case.queues(topic)):
                twice = case.before is not None and broker in case.before.group.slots and broker not in before
                says = _(
                    "{topic}: {broker} has no subscription of it now, and refuses the pulls of {here} (code 24)",
                    topic=topic,
                    broker=broker,
                    here=named(here),
                )
                yield found("topic_not_held", State.AT_RISK, Certainty.of(twice), says, topic, {"broker": broker})
            continue
        if not any(same_text(data, broker_subscription) for data in client_subscriptions.values()) and _is_of_nobody(
            broker_subscription, client_subscriptions.values()
        ):
            sure = Certainty.IMPLIED if case.silent else Certainty.PROVED
            says = _(
                "{topic}: {broker} filters by {expression}, and no member that answered asks for that",
                topic=topic,
                broker=broker,
                expression=text_of(broker_subscription),
            )
            texts_asked = sorted({text_of(data) for data in client_subscriptions.values()})
            evidence = {
                "broker": broker,
                "slot": text_of(broker_subscription),
                "asked": texts_asked,
                "version": broker_subscription.sub_version,
            }
            yield found(
                "slot_of_nobody",
                State.AT_RISK,
                sure,
                _("{says}; they ask for {asked}", says=says, asked=joined(", ", texts_asked)),
                topic,
                evidence,
            )
        yield from _older(case, topic, broker, broker_subscription, here)


def _older(
    case: GroupCase,
    topic: str,
    broker: str,
    broker_subscription: SubscriptionData,
    here: Mapping[str, SubscriptionData],
) -> Iterator[Finding]:
    """Members whose own version is higher than the broker's for longer than a heartbeat takes: they are refused."""
    period, before = DEFAULT_RULES.heartbeat_period_ms, case.before
    refused = [
        client
        for client, own in here.items()
        if not DEFAULT_RULES.is_latest(broker_subscription.sub_version, own.sub_version)
        and own.sub_version + period < case.group.members[client].asked_at
    ]
    if not refused:
        return
    twice = case.since_ms > period
    for client in refused:
        was = {} if before is None else before.told.get(client, {})
        twice = twice and topic in was and was[topic].sub_version == here[client].sub_version
    says = _(
        "{topic}: {broker} has an older subscription than {refused} sent, and refuses the pulls (code 25)",
        topic=topic,
        broker=broker,
        refused=named(refused),
    )
    evidence = {"broker": broker, "members": refused}
    yield found("slot_older", State.AT_RISK, Certainty.of(twice), says, topic, evidence)


def _is_of_nobody(broker_subscription: SubscriptionData, client_subscriptions: Iterable[SubscriptionData]) -> bool:
    """Whether a slot lets other messages pass than each of the members' own subscriptions, as far as is decided."""
    try:
        aparts = [tell_apart(as_meant(broker_subscription), as_meant(own)) for own in unique(client_subscriptions)]
    except CannotTellError:
        return False
    return all(apart.only_first is not None or apart.only_second is not None for apart in aparts)


def text_of(data: SubscriptionData) -> str:
    """Type and text of a subscription."""
    return f"{'TAG' if data.is_tag else data.expression_type} {data.sub_string!r}"


def named(clients: Iterable[str]) -> str:
    """Clients in a line, the first few by name."""
    names = list(clients)
    rest = len(names) - _NAMED
    return (
        joined(", ", names) if rest < 1 else _("{names} and {rest} more", names=joined(", ", names[:_NAMED]), rest=rest)
    )
