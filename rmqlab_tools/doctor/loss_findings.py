"""What a group loses: entries of the consume queues that its offsets passed, by tag code, slot and owner.

An entry is lost when a member asks for it and it was dropped: by the broker, which filters by the slot, or by the
queue's owner, which looks at its own tags. What no member asks for is no loss. A loss is proved where the slot and the
owner were the same at both looks (the same versions: a change always comes with a new one), the entries came after the
look before, and tag codes decide; else it is implied. An offset that was set forward by hand looks the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rmqlab.language import _, joined, ngettext
from rmqlab.message.topics import MessageQueue
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.doctor.finding import Certainty, State, counted, found
from rmqlab_tools.doctor.group_context import same_text, unique
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.search.lint.members import as_meant, text_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab_tools.doctor.finding import Finding
    from rmqlab_tools.doctor.group_context import GroupCase
    from rmqlab_tools.doctor.snapshot import PassedEntries

BY_BROKER: Final = "dropped by the broker"
BY_OWNER: Final = "dropped by the owner"
UNDECIDED: Final = "undecided"
_TAGS_SHOWN = 4


@dataclass
class TopicLoss:
    """What was found of a topic, in entries: `lost` by tag code and where; `proved` of them at least.

    `unasked`: no member asks for them. `undecided`: tag codes do not tell, or the slot is SQL92.
    """

    lost: Counter[tuple[int, str]] = field(default_factory=Counter)
    by_queue: dict[MessageQueue, int] = field(default_factory=dict)
    proved: int = 0
    passed: int = 0
    read: int = 0
    unasked: int = 0
    undecided: int = 0


def loss_findings(case: GroupCase) -> Iterator[Finding]:
    """What was lost, topic by topic."""
    undecided = {
        topic_lint.topic for topic_lint in case.lint.topics if topic_lint.verdict is not LintVerdict.CONSISTENT
    }
    for topic in case.topics:
        loss = loss_of(case, topic)
        if loss.lost:
            yield _losing(case, topic, loss)
        elif loss.undecided and topic in undecided and not case.is_popped(topic):  # of those the POP finding speaks
            says = _(
                "{topic}: members ask for different things, and whether {undecided} of the last "
                "{messages} were dropped is not known: queues show tags, not properties",
                topic=topic,
                undecided=loss.undecided,
                messages=counted(loss.read, "message"),
            )
            yield found("unknown_losses", State.UNKNOWN, Certainty.UNKNOWN, says, topic, _evidence(case, topic, loss))


def _losing(case: GroupCase, topic: str, loss: TopicLoss) -> Finding:
    lost, evidence = loss.lost.total(), _evidence(case, topic, loss)
    parts = [_said(row["lost"], row["code"], row["tags"], row["where"]) for row in evidence["by_tag"]]
    sure = Certainty.PROVED if loss.proved else Certainty.IMPLIED
    surely, probably = loss.proved, lost - loss.proved
    if surely and probably:
        numbers = _("{surely} surely lost and {probably} probably lost", surely=surely, probably=probably)
    elif surely:
        numbers = _("{surely} surely lost", surely=surely)
    else:
        numbers = _("{probably} probably lost", probably=probably)
    passed = (
        _(
            "{topic}: {numbers} of the {messages} that passed since the last look ({lost})",
            topic=topic,
            numbers=numbers,
            messages=counted(loss.read, "message"),
            lost=f"{lost / loss.read:.0%}",
        )
        if _since(case)
        else _(
            "{topic}: {numbers} of the {messages} that passed last ({lost})",
            topic=topic,
            numbers=numbers,
            messages=counted(loss.read, "message"),
            lost=f"{lost / loss.read:.0%}",
        )
    )
    says = [passed, _("members ask for them: {parts}", parts=joined(", ", parts[:_TAGS_SHOWN]))]
    raw, filtered = evidence["raw_lag"], evidence["filtered_lag"]
    if raw:
        waiting = ngettext("{messages} waits", "{messages} wait", raw, messages=counted(raw, "message"))
        says.append(
            waiting
            if filtered is None
            else _("{waiting}, and the broker lets {filtered} of them pass", waiting=waiting, filtered=filtered)
        )
    return found("losing_messages", State.LOSING, sure, joined("; ", says), topic, evidence)


def _evidence(case: GroupCase, topic: str, loss: TopicLoss) -> dict[str, Any]:
    names, (raw_lag, filtered_lag) = tag_names(case, topic), _lag(case, topic)
    lost = loss.lost.total()
    since = case.since_ms if _since(case) else None
    by_tag = [
        {"code": code, "tags": sorted(names.get(code, ())), "where": where, "lost": count}
        for (code, where), count in loss.lost.most_common()
    ]
    by_queue = {f"{queue.broker_name}/{queue.queue_id}": count for queue, count in loss.by_queue.items() if count}
    read = max(loss.read, 1)
    return {
        "lost": lost, "proved": loss.proved, "passed": loss.passed, "read": loss.read, "share": lost / read,
        "unasked": loss.unasked, "unasked_share": loss.unasked / read, "undecided": loss.undecided,
        "by_tag": by_tag, "by_queue": by_queue, "since_ms": since, "raw_lag": raw_lag, "filtered_lag": filtered_lag,
    }  # fmt: skip


def _since(case: GroupCase) -> bool:
    return case.before is not None and case.look.since is not None


def loss_of(case: GroupCase, topic: str) -> TopicLoss:
    """What the group's offsets passed of a topic, judged by the slots, owners and subscriptions of this look."""
    loss = TopicLoss()
    subscriptions = [as_meant(subscription) for subscription in unique(case.client_subscriptions(topic).values())]
    if case.silent:  # somebody asked for what the brokers hold
        subscriptions = unique([*subscriptions, *map(as_meant, case.slots(topic).values())])
    names = tag_names(case, topic)
    for queue, passed in case.group.passed.items() if subscriptions else ():
        if queue.topic == topic:
            _judge(case, queue, passed, subscriptions, names, loss)
    return loss


def _judge(
    case: GroupCase,
    queue: MessageQueue,
    passed: PassedEntries,
    subscriptions: Sequence[SubscriptionData],
    names: dict[int, set[str]],
    loss: TopicLoss,
) -> None:
    owner = case.sole_owner(queue)
    filtering = case.in_force(owner, queue.topic, queue.broker_name)
    loss.passed += passed.end - passed.start
    loss.read += passed.read
    if filtering is None:
        loss.undecided += passed.read
        return
    meant = as_meant(filtering)
    filtering = filtering if filtering.code_set else meant  # a client that sends no codes is not known
    own = None if owner is None else case.told.get(owner, {}).get(queue.topic)
    own = None if own is None else as_meant(own)
    alike = filtering.code_set == meant.code_set and all(
        same_text(subscription, filtering) for subscription in subscriptions
    )
    lost = sure = 0
    for code, count in passed.codes.items():
        is_asked = _asked(subscriptions, code)
        if is_asked is False:
            loss.unasked += count
        if alike or is_asked is False:
            continue
        dropped = _dropped(filtering, own, code, passed)
        if is_asked is None:
            loss.undecided += count if dropped else 0
            continue
        loss.undecided += dropped.pop(UNDECIDED, 0)
        loss.lost.update({(code, where): number for where, number in dropped.items()})
        lost += dropped.total()
        sure += dropped.total() if filtering.is_tag and len(names.get(code, ())) < 2 else 0
    loss.by_queue[queue] = lost
    if sure:
        loss.proved += max(0, sure - _older(case, queue, passed, owner, filtering))


def _asked(subscriptions: Sequence[SubscriptionData], code: int) -> bool | None:
    """Whether a member asks for an entry with this code; None when only its properties tell."""
    if any(
        subscription.is_tag and DEFAULT_RULES.is_matched_by_consume_queue(subscription, code)
        for subscription in subscriptions
    ):
        return True
    return (
        None
        if any(not subscription.is_tag or subscription.class_filter_mode for subscription in subscriptions)
        else False
    )


def _dropped(
    filtering: SubscriptionData, own: SubscriptionData | None, code: int, passed: PassedEntries
) -> Counter[str]:
    """Who drops how many of the entries with this code, and how many are undecided.

    Of an SQL92 slot `kept` is an upper bound: what is not in it was dropped by the bit map (row F-62).
    """
    count = passed.codes[code]
    if filtering.class_filter_mode or (own is not None and own.class_filter_mode):
        return Counter({UNDECIDED: count})
    kept = count if filtering.is_tag or passed.slot is None else passed.kept[code]
    if filtering.is_tag and not DEFAULT_RULES.is_matched_by_consume_queue(filtering, code):
        kept = 0
    dropped = Counter({BY_BROKER: count - kept})
    if own is not None and own.is_tag and not DEFAULT_RULES.is_matched_by_consume_queue(own, code):
        dropped[BY_OWNER] = kept
    elif not filtering.is_tag:
        dropped[UNDECIDED] = kept
    return +dropped


def _older(
    case: GroupCase, queue: MessageQueue, passed: PassedEntries, owner: str | None, filtering: SubscriptionData
) -> int:
    """How many of the entries may have been filtered before the look before, or by another slot or owner."""
    before, seen = case.before, None
    if before is not None and _since(case) and owner is not None and before.sole_owner(queue) == owner:
        was = before.in_force(owner, queue.topic, queue.broker_name)
        mine, theirs = (moment.told.get(owner, {}).get(queue.topic) for moment in (case, before))
        now, earlier = (
            set(map(text_key, moment.client_subscriptions(queue.topic).values())) for moment in (case, before)
        )
        read = filtering if passed.slot is None or case.posts(owner) else passed.slot  # the slot that was seen last
        unchanged = _is_same(was, filtering) and _is_same(was, read) and _is_same(mine, theirs) and now == earlier
        seen = before.group.offsets.get(queue) if unchanged else None
    return passed.read if seen is None else max(0, seen.max_offset - passed.start)


def _is_same(first: SubscriptionData | None, second: SubscriptionData | None) -> bool:
    """Whether a subscription was not replaced in between: its version would be another."""
    if first is None or second is None:
        return False
    return same_text(first, second) and first.sub_version == second.sub_version


def tag_names(case: GroupCase, topic: str) -> dict[int, set[str]]:
    """The tags that are known of each code: those that members name, and those of messages that were read."""
    subscriptions = unique([*case.client_subscriptions(topic).values(), *case.slots(topic).values()])
    tags = {tag for subscription in subscriptions if subscription.is_tag for tag in as_meant(subscription).tags_set}
    tags |= {str(message.properties.get("TAGS", "")) for message in case.group.messages if message.queue.topic == topic}
    names: dict[int, set[str]] = {}
    for tag in tags - {""}:
        names.setdefault(DEFAULT_RULES.tags_code(tag), set()).add(tag)
    return names


def _said(count: int, code: int, tags: Sequence[str], where: str) -> str:
    if code == 0:
        return (
            _("{count} with no tag dropped by the broker", count=count)
            if where == BY_BROKER
            else _("{count} with no tag dropped by the owner", count=count)
        )
    quoted = joined(" or ", map(repr, tags)) if tags else str(code)
    if where == BY_BROKER:
        return (
            _("{count} with tag {quoted} dropped by the broker", count=count, quoted=quoted)
            if tags
            else _("{count} with tag code {quoted} dropped by the broker", count=count, quoted=quoted)
        )
    return (
        _("{count} with tag {quoted} dropped by the owner", count=count, quoted=quoted)
        if tags
        else _("{count} with tag code {quoted} dropped by the owner", count=count, quoted=quoted)
    )


def _lag(case: GroupCase, topic: str) -> tuple[int, int | None]:
    """The group's lag in a topic: all messages, and those that the slot's filter lets pass.

    What was not read of a queue is taken to be as what was; None where tag codes do not tell.
    """
    queues = {queue: seen for queue, seen in case.group.offsets.items() if queue.topic == topic}
    raw, filtered = sum(seen.raw_lag for seen in queues.values()), 0.0
    for queue, seen in queues.items():
        behind = case.group.behind.get(queue)
        filtering = case.in_force(case.sole_owner(queue), topic, queue.broker_name)
        if not seen.raw_lag:
            continue
        if (
            behind is None
            or not behind.read
            or filtering is None
            or filtering.class_filter_mode
            or not filtering.is_tag
        ):
            return raw, None
        matched = DEFAULT_RULES.is_matched_by_consume_queue
        kept = sum(number for code, number in behind.codes.items() if matched(filtering, code))
        filtered += kept / behind.read * seen.raw_lag
    return raw, round(filtered)


def lost_messages(case: GroupCase, findings: Sequence[Finding]) -> int | None:
    """How many messages were lost by the findings; None where it is not known."""
    lost = sum(finding.evidence["lost"] for finding in findings if finding.kind == "losing_messages")
    unknown = case.broadcasting or any(finding.kind == "unknown_losses" for finding in findings)
    unread = any(passed.end > passed.start and not passed.read for passed in case.group.passed.values())
    return None if not lost and (unknown or unread) else lost


def lags_of(case: GroupCase) -> tuple[int | None, int | None]:
    """The raw and the filtered lag of all topics; None where it is not known.

    Members of a broadcasting group keep their offsets themselves (4.8.0 `LocalFileOffsetStore`).
    """
    if case.broadcasting:
        return None, None
    lags = [_lag(case, topic)[1] for topic in case.topics]
    filtered = [lag for lag in lags if lag is not None]
    raw = sum(seen.raw_lag for seen in case.group.offsets.values())
    return raw, sum(filtered) if len(filtered) == len(lags) else None
