"""Members that do not answer, are not everywhere, differ in mode or version, or have another clock."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab.protocol.codes import RequestCode
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.doctor.finding import Certainty, State, counted, found
from rmqlab_tools.doctor.proxy_findings import lives_elsewhere, nobody_at_brokers
from rmqlab_tools.doctor.subscription_findings import named, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.group_context import GroupCase
    from rmqlab_tools.doctor.snapshot import MemberSeen

CLOCK_MS = 2_000
"""Clocks closer than that are called the same: answers take time, and a broker's time is known to the second."""
FORGOTTEN_MS = DEFAULT_RULES.channel_expired_ms + DEFAULT_RULES.scan_period_ms


def member_findings(case: GroupCase) -> Iterator[Finding]:
    """Everything about single members."""
    yield from _membership(case)
    yield from twin_findings(case)
    yield from _silent(case)
    yield from _not_everywhere(case)
    yield from setting_findings(case)
    for member in case.group.members.values():
        yield from _clock(case, member)
    for topic in case.topics:
        if not case.is_popped(topic):
            yield from _versions(case, topic)


def _membership(case: GroupCase) -> Iterator[Finding]:
    dumb = _without_answer(case)
    if dumb and not (case.group.slots or case.group.offsets):
        says = _("nothing is known of it: {dumb} did not answer", dumb=named(dumb))
        yield found("group_unknown", State.UNKNOWN, Certainty.UNKNOWN, says, evidence={"brokers": dumb})
    if case.group.members or case.group.proxied or dumb or not case.group.offsets:
        return
    if lives_elsewhere(case):
        return
    behind = sum(seen.raw_lag for seen in case.group.offsets.values())
    before = list(case.members_before)
    gone = (
        _("; at the look before there were {before} ({before2})", before=len(before), before2=named(before))
        if before
        else ""
    )
    state = State.AT_RISK if before else State.NOTE
    messages = counted(behind, "message")
    says = _("no member is online{gone}; {messages} not consumed", gone=gone, messages=messages)
    sure = Certainty.PROVED
    if any(broker.knows_pop for broker in case.look.brokers.values()):  # a 5.x proxy's clients are in no broker's table
        sure, says = Certainty.IMPLIED, nobody_at_brokers(case, gone, messages)
    yield found("no_members", state, sure, says, evidence={"waiting": behind, "before": before})


def _without_answer(case: GroupCase) -> list[str]:
    """The brokers that did not tell the group's members (203), by name."""
    addrs = {
        question.addr
        for question in case.look.unanswered
        if not question.code
        or (question.code == RequestCode.GET_CONSUMER_CONNECTION_LIST and question.about == case.group.name)
    }
    return sorted(broker.name for broker in case.look.brokers.values() if broker.addr in addrs or "" in addrs)


def twin_findings(case: GroupCase) -> Iterator[Finding]:
    """One client id on two connections: each process takes the id's share of the queues, and the rest has no owner.

    A broker lists the ids of its connections, not of its clients (4.8.0 `ConsumerGroupInfo.getAllClientId`).
    """
    twins, before = _shared_ids(case), {} if case.before is None else _shared_ids(case.before)
    for client, addrs in twins.items():
        sure = Certainty.of(before.get(client) == addrs)
        says = _(
            "{client} is listed twice ({addrs}): two processes have one client id, or a connection "
            "broke; queues are divided wrongly, and some may stay without an owner",
            client=client,
            addrs=joined(", ", addrs),
        )
        yield found("same_client_id", State.AT_RISK, sure, says, evidence={"member": client, "addresses": addrs})


def _shared_ids(case: GroupCase) -> dict[str, list[str]]:
    addrs: dict[str, set[str]] = {}
    for slot in case.group.slots.values():
        for client, times in Counter(connection.client_id for connection in slot.connection_set).items():
            if times > 1:
                addresses = (
                    connection.client_addr for connection in slot.connection_set if connection.client_id == client
                )
                addrs.setdefault(client, set()).update(addresses)
    return {client: sorted(addresses) for client, addresses in sorted(addrs.items())}


def _silent(case: GroupCase) -> Iterator[Finding]:
    silent = case.silent
    java = [member for member in silent if member.language == "JAVA"]
    if java:
        before = case.members_before
        still = [
            silent_member.client_id
            for silent_member in java
            if silent_member.client_id in before and before[silent_member.client_id].running is None
        ]
        clients, why, since = (
            named(silent_member.client_id for silent_member in java),
            java[0].unanswered,
            case.since_ms,
        )
        says = (
            _(
                "not answering: {who} ({why}), nor {since} s ago, and still listed: its heartbeats come, "
                "but it does not answer",
                who=clients,
                why=why,
                since=since // 1000,
            )
            if still and since > FORGOTTEN_MS
            else _(
                "not answering: {who} ({why}): it hangs or is gone; brokers forget it at most "
                "{forgotten_ms} s after its last heartbeat",
                who=clients,
                why=why,
                forgotten_ms=FORGOTTEN_MS // 1000,
            )
        )
        evidence = {
            "members": {silent_member.client_id: silent_member.unanswered for silent_member in java},
            "listed_again": still,
        }
        yield found("silent_member", State.AT_RISK, Certainty.IMPLIED, says, evidence=evidence)
    others = [silent_member for silent_member in silent if silent_member.language != "JAVA"]
    if others and len(case.group.members) == 1:
        says = _(
            "the only member, {client_id} ({language}), does not say what it runs: what the brokers "
            "hold is taken for its subscription",
            client_id=others[0].client_id,
            language=others[0].language or _("language unknown"),
        )
        yield found("heartbeat_table_only", State.NOTE, Certainty.IMPLIED, says)
    elif silent and len(case.group.members) > 1:
        slot_texts = sorted({text_of(data) for topic in case.topics for data in case.slots(topic).values()})
        says = ngettext(
            "what {client_id} asks for is not known; brokers filter by {held}, which one member asked for last",
            "what {client_id} ask for is not known; brokers filter by {held}, which one member asked for last",
            len(silent),
            client_id=named(silent_member.client_id for silent_member in silent),
            held=joined(", ", slot_texts) or _("nothing"),
        )
        evidence = {
            "members": {
                silent_member.client_id: [silent_member.language, silent_member.unanswered] for silent_member in silent
            },
            "slots": slot_texts,
        }
        yield found("unknown_subscriptions", State.UNKNOWN, Certainty.UNKNOWN, says, evidence=evidence)


def _not_everywhere(case: GroupCase) -> Iterator[Finding]:
    """Members that a broker with queues of their group does not list."""
    hosts = {queue.broker_name for topic in case.topics for queue in case.queues(topic)}
    answering = {name for name in hosts if name in case.look.brokers}.difference(_without_answer(case))
    for broker in sorted(answering):
        missing = [client for client, member in case.group.members.items() if broker not in member.brokers]
        if not missing:
            continue
        before = case.members_before
        twice = all(client in before and broker not in before[client].brokers for client in missing)
        says = _(
            "{broker} has queues of the group but does not list {missing}: they may be divided wrongly",
            broker=broker,
            missing=named(missing),
        )
        evidence = {"broker": broker, "missing": missing}
        yield found("not_at_every_broker", State.AT_RISK, Certainty.of(twice), says, evidence=evidence)


_SETTINGS = {
    "messageModel": ("different_models", _("clustering members leave a share of the queues to the broadcasting one")),
    "PROP_CONSUME_TYPE": (
        "different_consume_types", _("queues are divided among all members, also those that do not pull"),
    ),
    "consumeFromWhere": ("different_start", _("a queue without an offset starts where its owner says")),
}  # fmt: skip


def setting_findings(case: GroupCase) -> Iterator[Finding]:
    """Members that differ in model, consume type, start or version."""
    for name, (kind, meaning) in _SETTINGS.items():
        state = State.NOTE if name == "consumeFromWhere" else State.AT_RISK
        clients_of: dict[str, list[str]] = {}
        for client in case.told:
            clients_of.setdefault(case.setting(client, name) or "", []).append(client)
        clients_of.pop("", None)
        if len(clients_of) > 1:
            values = joined("; ", (joined(": ", (value, named(clients))) for value, clients in clients_of.items()))
            says = _("{values}; {meaning}; a broker shows only what came last", values=values, meaning=meaning)
            yield found(kind, state, Certainty.PROVED, says, evidence={"told": clients_of})
    versions: dict[str, list[str]] = {}
    for client, member in case.group.members.items():
        versions.setdefault(member.version, []).append(client)
    if len(versions) > 1:
        says = joined("; ", (joined(": ", (version, named(clients))) for version, clients in versions.items()))
        yield found("versions_differ", State.NOTE, Certainty.PROVED, says, evidence={"versions": versions})


def _clock(case: GroupCase, member: MemberSeen) -> Iterator[Finding]:
    """A member's clock, by when it pulled last: a pull is never in the future, and a busy member pulls all the time."""
    if member.running is None or member.language != "JAVA":  # a C++ client sends what was never set
        return
    queues = member.running.mq_table.values()
    newest = max((max(queue.last_pull_timestamp, queue.last_consume_timestamp) for queue in queues), default=0)
    if not newest:
        return
    ahead, behind = newest - member.answered_at, member.asked_at - newest
    interval = case.setting(member.client_id, "pullInterval") or "0"
    quiet = 2 * DEFAULT_RULES.suspend_ms + (int(interval) if interval.isdecimal() else 0)
    period = DEFAULT_RULES.heartbeat_period_ms
    evidence = {"member": member.client_id, "ahead_ms": ahead}
    if ahead > CLOCK_MS:
        says = _(
            "the clock of {client_id} is at least {seconds} ahead of this machine's",
            client_id=member.client_id,
            seconds=_seconds(ahead),
        )
        state = State.AT_RISK if ahead > period else State.NOTE
        yield found("clock_differs", state, Certainty.PROVED, says, evidence=evidence)
    elif behind > quiet:
        says = _(
            "{client_id} last pulled {seconds} ago: its clock is behind, or it no longer pulls",
            client_id=member.client_id,
            seconds=_seconds(behind),
        )
        yield found("clock_or_pulls", State.AT_RISK, Certainty.IMPLIED, says, evidence=evidence)


def _versions(case: GroupCase, topic: str) -> Iterator[Finding]:
    """A slot with a version of the future: by this machine's clock, and by its broker's where that is known."""
    for broker, broker_subscription in sorted(case.slots(topic).items()):
        ahead = broker_subscription.sub_version - case.now
        if ahead <= CLOCK_MS:
            continue
        seen = case.look.brokers.get(broker)
        theirs = None if seen is None else seen.clock
        sure = (
            Certainty.PROVED
            if theirs is not None and broker_subscription.sub_version > theirs + CLOCK_MS
            else Certainty.IMPLIED
        )
        of = [
            client
            for client, subscriptions in case.told.items()
            if topic in subscriptions and subscriptions[topic].sub_version == broker_subscription.sub_version
        ]
        says = _(
            "{topic}: the subscription that {broker} filters by{of} is stamped {seconds} in the "
            "future: until then the broker ignores what other members ask for",
            topic=topic,
            broker=broker,
            of=" " + _("(of {of})", of=named(of)) if of else "",
            seconds=_seconds(ahead),
        )
        evidence = {"broker": broker, "version": broker_subscription.sub_version, "ahead_ms": ahead, "of": of}
        yield found("version_in_future", State.AT_RISK, sure, says, topic, evidence)


def _seconds(ms: int) -> str:
    return f"{ms / 1000:g} s"
