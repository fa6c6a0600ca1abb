"""Findings that belong to no group: servers that did not answer, and brokers' settings that bear on losses."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rmqlab.filter.bloom import BloomFilter, BloomFilterError
from rmqlab.language import _, joined
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.topic_config import is_readable
from rmqlab_tools.doctor.finding import Certainty, State, found
from rmqlab_tools.doctor.member_findings import CLOCK_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.snapshot import BrokerSeen, ClusterSnapshot


def broker_findings(look: ClusterSnapshot, previous: ClusterSnapshot | None = None) -> Iterator[Finding]:
    """Everything about servers."""
    yield from _unanswered(look)
    gone = [] if previous is None else sorted(previous.brokers.keys() - look.brokers.keys())
    if gone or not look.brokers:
        reason = (
            _("the name server no longer lists {gone}", gone=joined(", ", gone))
            if gone
            else _("the name server lists no broker")
        )
        yield found("no_broker", State.UNKNOWN, Certainty.PROVED, _("{told}: its groups are not known", told=reason))
    sql92 = _sql92_groups(look)
    for broker in look.brokers.values():
        if broker.settings is not None:
            yield from broker_setting_findings(broker, sql92)
        yield from _clock(look, broker)
    yield from _client_versions(look)
    hosts = sorted({host for broker in look.brokers.values() for host in broker.proxies})
    if hosts and not look.proxies:
        says = _(
            "proxies are connected from {hosts}: brokers list none of the members that come through them",
            hosts=joined(", ", hosts),
        )
        yield found("proxies_not_asked", State.NOTE, Certainty.PROVED, says, evidence={"hosts": hosts})


def _unanswered(look: ClusterSnapshot) -> Iterator[Finding]:
    """One line a server; a member's silence (307) is said of its group."""
    by_server: dict[str, list[tuple[int, str]]] = {}
    for question in look.unanswered:
        if question.code != RequestCode.GET_CONSUMER_RUNNING_INFO:
            by_server.setdefault(question.addr or question.about, []).append((question.code, question.reason))
    for server, failures in sorted(by_server.items()):
        codes = Counter(code for code, _ in failures if code)
        answer_codes = joined(
            ", ", (_("{code} ({count} times)", code=code, count=count) for code, count in sorted(codes.items()))
        )
        says = (
            _("no answer to {told}: {asked}", told=answer_codes, asked=failures[0][1])
            if answer_codes
            else failures[0][1]
        )
        says = joined(": ", (server, says)) if server else says
        evidence = {"server": server, "codes": dict(codes)}
        yield found("unanswered", State.UNKNOWN, Certainty.PROVED, says, evidence=evidence)


def _sql92_groups(look: ClusterSnapshot) -> Counter[tuple[str, str]]:
    """How many groups filter each topic by SQL92, broker by broker."""
    counted: Counter[tuple[str, str]] = Counter()
    for group in look.groups.values():
        for broker, slot in group.slots.items():
            counted.update(
                (broker, topic)
                for topic, subscription in slot.subscription_table.items()
                if not subscription.is_tag and not is_retry_topic(topic)
            )
    return counted


def broker_setting_findings(broker: BrokerSeen, sql92: Counter[tuple[str, str]]) -> Iterator[Finding]:
    """What a broker's settings bear on losses; `sql92` counts its SQL92 groups by broker and topic."""
    settings = broker.settings or {}
    uses_sql92 = any(name == broker.name for name, _ in sql92)
    permission = settings.get("brokerPermission", "")
    if permission.isdecimal() and not is_readable(int(permission)):
        says = _(
            "{name}: brokerPermission is {permission}, so every pull is refused (code 16)",
            name=broker.name,
            permission=permission,
        )
        yield found("not_readable", State.AT_RISK, Certainty.PROVED, says)
    if settings.get("notifyConsumerIdsChangedEnable") == "false":
        says = _(
            "{name}: members are not told when others come or go; they notice within 20 s by themselves",
            name=broker.name,
        )
        yield found("notify_off", State.NOTE, Certainty.PROVED, says)
    if settings.get("filterSupportRetry") == "true" and uses_sql92:
        says = _("{name}: filterSupportRetry is on: retries of SQL92 groups are filtered again", name=broker.name)
        yield found("retry_filtered", State.NOTE, Certainty.PROVED, says)
    yield from _bitmap(broker, sql92)


def _bitmap(broker: BrokerSeen, sql92: Counter[tuple[str, str]]) -> Iterator[Finding]:
    settings = broker.settings or {}
    made, stored = (settings.get(name) == "true" for name in ("enableCalcFilterBitMap", "enableConsumeQueueExt"))
    if made and not stored:
        says = _(
            "{name}: bitmaps are made and not stored (enableConsumeQueueExt=false), so pulls use none", name=broker.name
        )
        yield found("bitmap_not_stored", State.NOTE, Certainty.PROVED, says)
    if stored and not made:
        says = _("{name}: queues are extended, and no bitmap is made (enableCalcFilterBitMap=false)", name=broker.name)
        yield found("bitmap_never_made", State.NOTE, Certainty.PROVED, says)
    if made and settings.get("enablePropertyFilter") == "false":
        says = _("{name}: bitmaps are made, and no SQL92 pull is served (enablePropertyFilter=false)", name=broker.name)
        yield found("bitmap_without_filter", State.NOTE, Certainty.PROVED, says)
    rate, expected = settings.get("maxErrorRateOfBloomFilter", ""), settings.get("expectConsumerNumUseFilter", "")
    try:
        bloom = BloomFilter.create_by_fn(int(rate), int(expected))
    except BloomFilterError as error:
        says = _(
            "{name}: its bloom filter cannot be made ({error}): it will not start again with these settings",
            name=broker.name,
            error=error,
        )
        yield found("bloom_refused", State.AT_RISK, Certainty.PROVED, says)
        return
    except ValueError:  # this version does not tell them
        return
    length = settings.get("bitMapLengthConsumeQueueExt", "")
    if (made or stored) and length.isdecimal() and int(length) != bloom.m:
        says = _(
            "{name}: bitmaps have {length} bits, its settings give {m}: changed while it ran",
            name=broker.name,
            length=length,
            m=bloom.m,
        )
        yield found("bloom_not_yet", State.NOTE, Certainty.PROVED, says)
    crowded = {topic: count for (name, topic), count in sql92.items() if name == broker.name and count > int(expected)}
    if made and crowded:
        topics = joined(", ", (f"{topic} ({count})" for topic, count in sorted(crowded.items())))
        says = _(
            "{name}: more SQL92 groups than the {expected} that are expected: {topics}; more is read in vain",
            name=broker.name,
            expected=expected,
            topics=topics,
        )
        yield found("bloom_crowded", State.NOTE, Certainty.PROVED, says)


def _clock(look: ClusterSnapshot, broker: BrokerSeen) -> Iterator[Finding]:
    """A broker's own clock, known to the second, against the time of the look."""
    if broker.clock is None:
        return
    late, early = broker.clock - (look.at + look.took_ms), look.at - broker.clock
    if max(late, early) > CLOCK_MS:
        difference = (
            _("{late} s ahead of", late=f"{late / 1000:g}")
            if late > 0
            else _("{early} s behind", early=f"{early / 1000:g}")
        )
        says = _("the clock of {name} is about {told} this machine's", name=broker.name, told=difference)
        yield found("clock_differs", State.NOTE, Certainty.PROVED, says, evidence={"broker": broker.name})


def _client_versions(look: ClusterSnapshot) -> Iterator[Finding]:
    """Clients of another version than the brokers: counted, for they are usual."""
    brokers = {broker.version for broker in look.brokers.values() if broker.version}
    clients = Counter(
        member.version for group in look.groups.values() for member in group.members.values() if member.version
    )
    if (brokers and clients.keys() - brokers) or len(brokers) > 1:
        counted_clients = joined(", ", (f"{count} {version}" for version, count in clients.most_common()))
        says = _(
            "brokers run {brokers}, clients {told}",
            brokers=joined(", ", sorted(brokers)),
            told=counted_clients or _("none"),
        )
        evidence = {"brokers": sorted(brokers), "clients": dict(clients)}
        yield found("client_versions", State.NOTE, Certainty.PROVED, says, evidence=evidence)
