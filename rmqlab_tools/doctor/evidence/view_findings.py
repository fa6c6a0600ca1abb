"""What offsets and messages say of losses: offsets outside their queues, messages that were passed and filtered."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import known_keys, unknown_keys
from rmqlab.errors import did_you_mean
from rmqlab.filter.filter import Filter
from rmqlab.language import _
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.message.topics import MessageQueue, is_retry_topic
from rmqlab_tools.doctor.broker_findings import broker_setting_findings
from rmqlab_tools.doctor.finding import Certainty, State, found
from rmqlab_tools.doctor.snapshot import BrokerSeen
from rmqlab_tools.doctor.subscription_findings import named, text_of
from rmqlab_tools.search.lint.members import as_meant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab_tools.doctor.evidence.piece import StoredMessage
    from rmqlab_tools.doctor.evidence.room import EvidenceRoom, GroupEvidence
    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.group_context import GroupCase


_SHOWN = 4  # lines of a kind


def tool_findings(group: GroupEvidence) -> Iterator[Finding]:
    """What mqadmin consumerStatus found itself (`ConsumerRunningInfo.analyzeSubscription`, `analyzeProcessQueue`)."""
    for table in group.statuses:
        if table.same is False:
            says = _("mqadmin consumerStatus found different subscriptions: it compares texts of members that answered")
            yield found("tool_found_difference", State.AT_RISK, Certainty.PROVED, says)
        for line in table.blocked[:_SHOWN]:
            says = _("mqadmin consumerStatus found: {line}", line=line)
            yield found("tool_found_blocked", State.AT_RISK, Certainty.IMPLIED, says)


def settings_findings(room: EvidenceRoom) -> Iterator[Finding]:
    """What the settings of brokers bear on losses, and names that no broker of 4.8.0 has."""
    for table in room.settings:
        name = table.values.get("brokerName") or table.addr or "broker.conf"
        sql92 = Counter(
            (name, str(topic))
            for group in room.groups.values()
            for slot in group.slots.values()
            for topic, subscription in slot.subscription_table.items()
            if not subscription.is_tag
        )
        yield from broker_setting_findings(BrokerSeen(name, "", table.addr, settings=table.values), sql92)
        for setting in unknown_keys(table.values)[:_SHOWN] if not table.addr else ():
            says = _("{broker}: a broker of 4.8.0 has no setting {name}", broker=name, name=setting)
            yield found("unknown_setting", State.NOTE, Certainty.PROVED, says + did_you_mean(setting, known_keys()))


def offset_findings(room: EvidenceRoom, group: GroupEvidence) -> Iterator[Finding]:
    """Committed offsets outside their queue (4.8.0 `DefaultMessageStore.getMessage`)."""
    for queue, seen in sorted(group.offsets.items()):
        least, most = room.ends.get(queue, (None, None))
        most = seen.max_offset if seen.max_offset >= 0 else most
        where = f"{queue.topic}/{queue.queue_id}" + (f" ({queue.broker_name})" if queue.broker_name else "")
        values = {"where": where, "offset": seen.committed, "end": most, "start": least}
        if most is not None and seen.committed > most:
            if least is None:
                says = _(
                    "{where}: the group's offset {offset} is beyond the queue's end {end}; the next pull goes on at 0, "
                    "and all is consumed again, if the lowest offset is 0, else at the end",
                    **values,
                )
            elif least == 0:
                says = _(
                    "{where}: the group's offset {offset} is beyond the queue's end {end}, and the lowest offset is 0: "
                    "the next pull goes on at 0, and all is consumed again",
                    **values,
                )
            else:
                says = _(
                    "{where}: the group's offset {offset} is beyond the queue's end {end}, and the lowest offset is "
                    "{start}: the next pull goes on at the end",
                    **values,
                )
            yield found("offset_beyond_end", State.AT_RISK, Certainty.PROVED, says, queue.topic)
        elif least is not None and 0 <= seen.committed < least:
            says = _(
                "{where}: the group's offset {offset} is below the queue's lowest offset {start}: what lies between "
                "was deleted before an offset passed it",
                **values,
            )
            yield found("offset_below_start", State.LOSING, Certainty.IMPLIED, says, queue.topic)


def message_findings(room: EvidenceRoom, group: GroupEvidence, case: GroupCase) -> Iterator[Finding]:
    """What became of each message in the group: by the tool's word, or by offset and subscriptions."""
    for message in room.messages:
        for track in message.tracks:
            if track.group == group.name and track.type == "CONSUMED_BUT_FILTERED":
                yield _by_the_tool(message, case)
        committed = _committed(group, message)
        if committed is None or committed <= message.offset or is_retry_topic(message.topic):
            continue
        if any(
            in_group.group == group.name and in_group.type == "CONSUMED_BUT_FILTERED" for in_group in message.tracks
        ):
            continue
        yield from _by_subscriptions(message, case)


def _committed(group: GroupEvidence, message: StoredMessage) -> int | None:
    """The group's offset in the message's queue, where only one broker can be meant."""
    if message.queue_id < 0 or message.offset < 0:
        return None
    found_in = {
        queue.broker_name: seen.committed
        for queue, seen in group.offsets.items()
        if (queue.topic, queue.queue_id) == (message.topic, message.queue_id)
    }
    return next(iter(found_in.values())) if len(found_in) == 1 else None


def _properties(message: StoredMessage) -> Mapping[str, str]:
    known = {name: value for name, value in message.properties.items() if name != PROPERTY_TAGS}
    return known if message.tag is None else known | {PROPERTY_TAGS: message.tag}


def _who_asks(message: StoredMessage, case: GroupCase) -> list[str]:
    return [
        client
        for client, data in case.client_subscriptions(message.topic).items()
        if not data.class_filter_mode and Filter(as_meant(data)).wants(_properties(message))
    ]


def _place(message: StoredMessage) -> str:
    queue = MessageQueue(message.topic, "", message.queue_id)
    name = message.msg_id or f"{queue.topic}/{queue.queue_id}/{message.offset}"
    return _("message {name} (no tag)", name=name) if message.tag is None else _(
        "message {name} (tag {tag})", name=name, tag=repr(message.tag)
    )  # fmt: skip


def _by_the_tool(message: StoredMessage, case: GroupCase) -> Finding:
    """The tool compares the group's offset and the tags of what the broker holds, at the moment when it was asked."""
    asking = _who_asks(message, case)
    values = {"message": _place(message), "who": named(asking)}
    if asking:
        says = _(
            "{message}: an offset passed it and the broker's subscription does not name its tag, as the admin tool "
            "says; asked for by {who}: lost, if the broker held the same when it was passed",
            **values,
        )
        return found("passed_and_filtered", State.LOSING, Certainty.IMPLIED, says, message.topic)
    says = _(
        "{message}: an offset passed it and the broker's subscription does not name its tag, as the admin tool says; "
        "whether a member asked for it is not known here",
        **values,
    )
    return found("passed_and_filtered", State.UNKNOWN, Certainty.UNKNOWN, says, message.topic)


def _by_subscriptions(message: StoredMessage, case: GroupCase) -> Iterator[Finding]:
    broker_subscriptions = list(case.slots(message.topic).values())
    asking = _who_asks(message, case)
    if not broker_subscriptions or not asking or any(map(_passes_unknown, broker_subscriptions)):
        return
    if any(_broker_passes(as_meant(subscription), _properties(message)) for subscription in broker_subscriptions):
        return
    says = _(
        "{message}: an offset passed it, {who} asks for it, and the broker's {held} lets it not pass: lost, if the "
        "broker held the same when it was passed",
        message=_place(message), who=named(asking), held=text_of(broker_subscriptions[0]),
    )  # fmt: skip
    yield found("passed_and_filtered", State.LOSING, Certainty.IMPLIED, says, message.topic)


def _broker_passes(broker_subscription: SubscriptionData, properties: Mapping[str, str]) -> bool:
    return Filter(broker_subscription).fate(properties, Filter(broker_subscription)) in {None, "client"}


def _passes_unknown(broker_subscription: SubscriptionData) -> bool:
    return broker_subscription.class_filter_mode
