"""Queues: without an owner, with two, without an offset, or no longer pulled; groups that may not consume."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.heartbeat import ConsumeFromWhere
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.doctor.finding import Certainty, State, counted, found
from rmqlab_tools.doctor.subscription_findings import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.message.topics import MessageQueue
    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.group_context import GroupCase

PULL_IDLE_MS = 120_000
"""A member gives a queue back that it has not pulled for so long: `ProcessQueue.PULL_MAX_IDLE_TIME`."""
_REBALANCE_S = DEFAULT_RULES.rebalance_period_ms // 1000


def queue_findings(case: GroupCase) -> Iterator[Finding]:
    """Everything about who holds which queue, and about what waits in retry topics."""
    for topic in sorted({topic for subscriptions in case.told.values() for topic in subscriptions}):
        if not case.queues(topic):
            says = _("{topic}: no broker has a readable queue of it", topic=topic)
            yield found("no_readable_queues", State.NOTE, Certainty.IMPLIED, says, topic)
        elif case.owners_known:
            yield from owner_findings(case, topic)
        yield from start_findings(case, topic)
        yield from _stopped(case, topic)
    yield from _idle(case)
    yield from forbidden_findings(case)
    yield from retry_findings(case)


def owner_findings(case: GroupCase, topic: str) -> Iterator[Finding]:
    """Queues without an owner, and queues of two members; only where `case.owners_known`."""
    before = case.before if case.before is not None and case.before.owners_known else None
    # Looks that are closer may see one and the same rebalance.
    settled = before is not None and case.since_ms >= DEFAULT_RULES.rebalance_period_ms
    usual = State.NOTE if _is_young(case) else State.AT_RISK
    free = [queue for queue in case.queues(topic) if queue not in case.owners and not _moves(case, queue)]
    if free:
        twice = before is not None and all(
            queue in before.queues(topic) and queue not in before.owners for queue in free
        )
        waiting = _waiting(case, free)
        which, behind = _numbers(free), counted(waiting, "message")
        says = (
            _("{topic}: nobody pulls {which}; not consumed there: {behind}", topic=topic, which=which, behind=behind)
            if twice and settled
            else _(
                "{topic}: nobody pulls {which}; not consumed there: {behind} (a rebalance may be under "
                "way, which takes up to {rebalance_s} s)",
                topic=topic,
                which=which,
                behind=behind,
                rebalance_s=_REBALANCE_S,
            )
        )
        evidence = {"queues": [list(queue) for queue in free], "waiting": waiting}
        state = usual if not twice else State.LOSING if waiting else State.AT_RISK
        yield found("no_owner", state, Certainty.of(twice and settled), says, topic, evidence)
    shared = [queue for queue in case.queues(topic) if len(case.owners.get(queue, ())) > 1]
    if shared and not case.broadcasting:
        twice = before is not None and all(before.owners.get(queue) == case.owners[queue] for queue in shared)
        which, clients = _numbers(shared), named(case.owners[shared[0]])
        says = (
            _("{topic}: {which} pulled twice, by {who}", topic=topic, which=which, who=clients)
            if twice and settled
            else _(
                "{topic}: {which} pulled twice, by {who} (a rebalance may be under way, which takes up "
                "to {rebalance_s} s)",
                topic=topic,
                which=which,
                who=clients,
                rebalance_s=_REBALANCE_S,
            )
        )
        evidence = {"queues": [[*queue, case.owners[queue]] for queue in shared]}
        state = State.AT_RISK if twice else usual
        yield found("two_owners", state, Certainty.of(twice and settled), says, topic, evidence)


def _moves(case: GroupCase, queue: MessageQueue) -> bool:
    """Whether somebody commits offsets of a queue: then it has an owner that cannot be seen."""
    now = case.group.offsets.get(queue)
    was = None if case.before is None else case.before.group.offsets.get(queue)
    return now is not None and was is not None and now.committed > was.committed


def _is_young(case: GroupCase) -> bool:
    """Whether a rebalance may be under way: a member came, went, or began to run within a rebalance period."""
    if case.before is not None and case.before.group.members.keys() != case.group.members.keys():
        return True
    began = (case.setting(client, "PROP_CONSUMER_START_TIMESTAMP") or "" for client in case.told)
    return any(text.isdecimal() and 0 <= case.now - int(text) < DEFAULT_RULES.rebalance_period_ms for text in began)


def _waiting(case: GroupCase, queues: Iterable[MessageQueue]) -> int:
    return sum(case.group.offsets[queue].raw_lag for queue in queues if queue in case.group.offsets)


def _numbers(queues: list[MessageQueue]) -> str:
    """Queues in words: their numbers by broker."""
    by_broker: dict[str, list[str]] = {}
    for queue in queues:
        by_broker.setdefault(queue.broker_name, []).append(str(queue.queue_id))
    return joined(
        ", ",
        (
            ngettext("queue {ids} of {one}", "queues {ids} of {one}", len(ids), ids=joined(", ", ids), one=broker)
            for broker, ids in by_broker.items()
        ),
    )


def _idle(case: GroupCase) -> Iterator[Finding]:
    if not case.owners_known or case.broadcasting:
        return
    busy = {client for owners in case.owners.values() for client in owners}
    idle = [client for client, subscriptions in case.told.items() if subscriptions and client not in busy]
    queues = sum(len(case.queues(topic)) for topic in case.topics)
    if idle and queues and len(case.told) > max(len(case.queues(topic)) for topic in case.topics):
        says = _(
            "no queue for {idle}: {queues} for {members}",
            idle=named(idle),
            queues=counted(queues, "queue"),
            members=counted(len(case.told), "member"),
        )
        yield found("idle_members", State.NOTE, Certainty.PROVED, says, evidence={"idle": idle, "queues": queues})


def start_findings(case: GroupCase, topic: str) -> Iterator[Finding]:
    """Queues without a committed offset, and where a member begins there."""
    if case.broadcasting:
        return
    new = [queue for queue in case.queues(topic) if (seen := case.group.offsets.get(queue)) and seen.committed < 0]
    if not new:
        return
    places = {case.setting(client, "consumeFromWhere") or "" for client in case.told}
    starts = sorted(
        {
            DEFAULT_RULES.compute_pull_from_where(-1, place, False)
            for place in places
            if place in ConsumeFromWhere.__members__
        }
    )
    start = joined(" or ", starts) or _("an unknown place")
    says = _(
        "{topic}: no offset is committed for {numbers}; a member begins there at: {start}",
        topic=topic,
        numbers=_numbers(new),
        start=start,
    )
    yield found("no_committed_offset", State.NOTE, Certainty.PROVED, says, topic, {"queues": len(new)})


def _stopped(case: GroupCase, topic: str) -> Iterator[Finding]:
    """Queues that a member holds and pulls no longer, by its own clock: it pulls others of its queues."""
    for client, member in case.group.members.items():
        queues = {} if member.running is None else member.running.mq_table
        newest = max((state.last_pull_timestamp for state in queues.values()), default=0)
        old = [
            queue
            for queue, state in queues.items()
            if queue.topic == topic and not state.droped and 0 < state.last_pull_timestamp < newest - PULL_IDLE_MS
        ]
        if old and _waiting(case, old):
            says = _(
                "{topic}: {client} pulls others, but not {numbers} for {pull_idle_ms} s and more",
                topic=topic,
                client=client,
                numbers=_numbers(old),
                pull_idle_ms=PULL_IDLE_MS // 1000,
            )
            yield found("pulls_stopped", State.AT_RISK, Certainty.IMPLIED, says, topic, {"member": client})


def forbidden_findings(case: GroupCase) -> Iterator[Finding]:
    """Groups that may not consume, or not broadcast, by their configuration."""
    waiting = _waiting(case, case.group.offsets)
    state = State.LOSING if waiting else State.AT_RISK
    off = sorted(broker for broker, config in case.group.configs.items() if not config.consume_enable)
    if off and case.group.members:
        says = _("consumeEnable is false at {off}: pulls are refused (code 16)", off=named(off))
        says += _("; not consumed: {messages}", messages=counted(waiting, "message"))
        yield found("consume_disabled", state, Certainty.PROVED, says, evidence={"brokers": off, "waiting": waiting})
    off = sorted(broker for broker, config in case.group.configs.items() if not config.consume_broadcast_enable)
    if off and case.broadcasting and case.group.members:
        says = _(
            "the group may not broadcast at {off} (consumeBroadcastEnable=false): pulls are refused (code 16)",
            off=named(off),
        )
        yield found("broadcast_disabled", state, Certainty.PROVED, says, evidence={"brokers": off})


def retry_findings(case: GroupCase) -> Iterator[Finding]:
    """Messages that came to the retry and dead letter topics since the look before; at a first look, those waiting."""
    before, grown = case.before, Counter[str]()
    for queue, seen in case.group.offsets.items():
        if is_retry_topic(queue.topic):
            was = None if before is None else before.group.offsets.get(queue)
            grown[queue.topic] += seen.raw_lag if was is None else seen.max_offset - was.max_offset
    for queue, letters in case.group.dead_letters.items():
        grown[queue.topic] += letters.max_offset
        grown[queue.topic] -= (
            before.group.dead_letters[queue].max_offset
            if before and queue in before.group.dead_letters
            else letters.min_offset
        )
    waiting = {topic: count for topic, count in sorted(grown.items()) if count > 0}
    if waiting:
        says = joined(
            "; ",
            (
                (
                    _("{messages} in {one}", messages=counted(count, "message"), one=retry_topic)
                    if before is None
                    else _("{messages} came to {one}", messages=counted(count, "message"), one=retry_topic)
                )
                for retry_topic, count in waiting.items()
            ),
        )
        yield found("retries", State.NOTE, Certainty.PROVED, says, evidence={"messages": waiting})
