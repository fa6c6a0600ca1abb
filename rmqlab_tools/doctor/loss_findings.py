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
    undecided = {one.topic for one in case.lint.topics if one.verdict is not LintVerdict.CONSISTENT}
    for topic in case.topics:
        told = loss_of(case, topic)
        if told.lost:
            yield _losing(case, topic, told)
        elif told.undecided and topic in undecided:
            says = _(
                "{topic}: members ask for different things, and whether {undecided} of the last "
                "{messages} were dropped is not known: queues show tags, not properties",
                topic=topic,
                undecided=told.undecided,
                messages=counted(told.read, "message"),
            )
            yield found("unknown_losses", State.UNKNOWN, Certainty.UNKNOWN, says, topic, _evidence(case, topic, told))


def _losing(case: GroupCase, topic: str, told: TopicLoss) -> Finding:
    lost, evidence = told.lost.total(), _evidence(case, topic, told)
    parts = [_said(one["lost"], one["code"], one["tags"], one["where"]) for one in evidence["by_tag"]]
    sure = Certainty.PROVED if told.proved else Certainty.IMPLIED
    surely, probably = told.proved, lost - told.proved
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
            messages=counted(told.read, "message"),
            lost=f"{lost / told.read:.0%}",
        )
        if _since(case)
        else _(
            "{topic}: {numbers} of the {messages} that passed last ({lost})",
            topic=topic,
            numbers=numbers,
            messages=counted(told.read, "message"),
            lost=f"{lost / told.read:.0%}",
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


def _evidence(case: GroupCase, topic: str, told: TopicLoss) -> dict[str, Any]:
    names, (raw_lag, filtered_lag) = tag_names(case, topic), _lag(case, topic)
    lost = told.lost.total()
    since = case.since_ms if _since(case) else None
    by_tag = [
        {"code": code, "tags": sorted(names.get(code, ())), "where": where, "lost": count}
        for (code, where), count in told.lost.most_common()
    ]
    by_queue = {f"{queue.broker_name}/{queue.queue_id}": count for queue, count in told.by_queue.items() if count}
    read = max(told.read, 1)
    return {
        "lost": lost, "proved": told.proved, "passed": told.passed, "read": told.read, "share": lost / read,
        "unasked": told.unasked, "unasked_share": told.unasked / read, "undecided": told.undecided,
        "by_tag": by_tag, "by_queue": by_queue, "since_ms": since, "raw_lag": raw_lag, "filtered_lag": filtered_lag,
    }  # fmt: skip


def _since(case: GroupCase) -> bool:
    return case.before is not None and case.look.since is not None


def loss_of(case: GroupCase, topic: str) -> TopicLoss:
    """What the group's offsets passed of a topic, judged by the slots, owners and wishes of this look."""
    told = TopicLoss()
    wishes = [as_meant(one) for one in unique(case.wishes(topic).values())]
    if case.silent:  # somebody asked for what the brokers hold
        wishes = unique([*wishes, *map(as_meant, case.slots(topic).values())])
    names = tag_names(case, topic)
    for queue, passed in case.group.passed.items() if wishes else ():
        if queue.topic == topic:
            _judge(case, queue, passed, wishes, names, told)
    return told


def _judge(
    case: GroupCase,
    queue: MessageQueue,
    passed: PassedEntries,
    wishes: Sequence[SubscriptionData],
    names: dict[int, set[str]],
    told: TopicLoss,
) -> None:
    owner = case.sole_owner(queue)
    held = case.in_force(owner, queue.topic, queue.broker_name)
    told.passed += passed.end - passed.start
    told.read += passed.read
    if held is None:
        told.undecided += passed.read
        return
    meant = as_meant(held)
    held = held if held.code_set else meant  # a client that sends no codes is not known
    own = None if owner is None else case.told.get(owner, {}).get(queue.topic)
    own = None if own is None else as_meant(own)
    alike = held.code_set == meant.code_set and all(same_text(one, held) for one in wishes)
    lost = sure = 0
    for code, count in passed.codes.items():
        asked = _asked(wishes, code)
        if asked is False:
            told.unasked += count
        if alike or asked is False:
            continue
        dropped = _dropped(held, own, code, passed)
        if asked is None:
            told.undecided += count if dropped else 0
            continue
        told.undecided += dropped.pop(UNDECIDED, 0)
        told.lost.update({(code, where): number for where, number in dropped.items()})
        lost += dropped.total()
        sure += dropped.total() if held.is_tag and len(names.get(code, ())) < 2 else 0
    told.by_queue[queue] = lost
    if sure:
        told.proved += max(0, sure - _older(case, queue, passed, owner, held))


def _asked(wishes: Sequence[SubscriptionData], code: int) -> bool | None:
    """Whether a member asks for an entry with this code; None when only its properties tell."""
    if any(one.is_tag and DEFAULT_RULES.is_matched_by_consume_queue(one, code) for one in wishes):
        return True
    return None if any(not one.is_tag or one.class_filter_mode for one in wishes) else False


def _dropped(held: SubscriptionData, own: SubscriptionData | None, code: int, passed: PassedEntries) -> Counter[str]:
    """Who drops how many of the entries with this code, and how many are undecided.

    Of an SQL92 slot `kept` is an upper bound: what is not in it was dropped by the bit map (row F-62).
    """
    count = passed.codes[code]
    if held.class_filter_mode or (own is not None and own.class_filter_mode):
        return Counter({UNDECIDED: count})
    kept = count if held.is_tag or passed.slot is None else passed.kept[code]
    if held.is_tag and not DEFAULT_RULES.is_matched_by_consume_queue(held, code):
        kept = 0
    dropped = Counter({BY_BROKER: count - kept})
    if own is not None and own.is_tag and not DEFAULT_RULES.is_matched_by_consume_queue(own, code):
        dropped[BY_OWNER] = kept
    elif not held.is_tag:
        dropped[UNDECIDED] = kept
    return +dropped


def _older(
    case: GroupCase, queue: MessageQueue, passed: PassedEntries, owner: str | None, held: SubscriptionData
) -> int:
    """How many of the entries may have been filtered before the look before, or by another slot or owner."""
    before, seen = case.before, None
    if before is not None and _since(case) and owner is not None and before.sole_owner(queue) == owner:
        was = before.in_force(owner, queue.topic, queue.broker_name)
        mine, theirs = (one.told.get(owner, {}).get(queue.topic) for one in (case, before))
        asked, earlier = (set(map(text_key, one.wishes(queue.topic).values())) for one in (case, before))
        read = held if passed.slot is None or case.posts(owner) else passed.slot  # the slot that was seen last
        unchanged = _is_same(was, held) and _is_same(was, read) and _is_same(mine, theirs) and asked == earlier
        seen = before.group.offsets.get(queue) if unchanged else None
    return passed.read if seen is None else max(0, seen.max_offset - passed.start)


def _is_same(first: SubscriptionData | None, second: SubscriptionData | None) -> bool:
    """Whether a subscription was not replaced in between: its version would be another."""
    if first is None or second is None:
        return False
    return same_text(first, second) and first.sub_version == second.sub_version


def tag_names(case: GroupCase, topic: str) -> dict[int, set[str]]:
    """The tags that are known of each code: those that members name, and those of messages that were read."""
    asked = unique([*case.wishes(topic).values(), *case.slots(topic).values()])
    tags = {tag for one in asked if one.is_tag for tag in as_meant(one).tags_set}
    tags |= {str(one.properties.get("TAGS", "")) for one in case.group.messages if one.queue.topic == topic}
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
    """How far the group is behind in a topic: all messages, and those that the slot's filter lets pass.

    What was not read of a queue is taken to be as what was; None where tag codes do not tell.
    """
    queues = {queue: seen for queue, seen in case.group.offsets.items() if queue.topic == topic}
    raw, filtered = sum(seen.raw_lag for seen in queues.values()), 0.0
    for queue, seen in queues.items():
        behind = case.group.behind.get(queue)
        held = case.in_force(case.sole_owner(queue), topic, queue.broker_name)
        if not seen.raw_lag:
            continue
        if behind is None or not behind.read or held is None or held.class_filter_mode or not held.is_tag:
            return raw, None
        matched = DEFAULT_RULES.is_matched_by_consume_queue
        kept = sum(number for code, number in behind.codes.items() if matched(held, code))
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
