"""Rules that every run obeys, as functions that find where a run breaks one, with the facts that prove it.

Tests run them over many scenarios, the checks of the exercises explain with them, and the bug hunt rests on them: each
broken broker of ``rmqlab.lessons.mutants`` breaks exactly the rule named for it. They look at facts only. They hold
for TAG subscriptions and listeners that take every message at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rmqlab.client.allocate import AllocateMessageQueueAveragely
from rmqlab.filter.filter import Filter
from rmqlab.lab.facts import BROKER, Fact
from rmqlab.lab.run_view import RunView
from rmqlab.lab.scenario import Start, Subscribe
from rmqlab.message.java import utf16_key
from rmqlab.message.message import MessageQueue
from rmqlab.protocol.codes import ResponseCode
from rmqlab.rules import tags_code

GROUP_CHANGES = frozenset({"register", "unregister", "expired"})


class RuleViolation(NamedTuple):
    """Where a run breaks a rule: what is wrong, and the facts that prove it."""

    text: str
    facts: list[Fact]


class Invariant(NamedTuple):
    """A rule: its short name, the rule in one sentence, its row, and how to find what breaks it."""

    name: str
    rule: str
    row: str
    find: Callable[[RunView], Iterator[RuleViolation]]


INVARIANTS: dict[str, Invariant] = {}


def _invariant(name: str, row: str) -> Callable[[Callable[[RunView], Iterator[RuleViolation]]], None]:
    """Enter what finds a rule's violations under a name and a row; the rule is the function's docstring."""

    def enter(find: Callable[[RunView], Iterator[RuleViolation]]) -> None:
        INVARIANTS[name] = Invariant(name, find.__doc__ or "", row, find)

    return enter


def _replacements(reading: RunView) -> Iterator[Fact]:
    return (fact for fact in reading.facts("subscription") if fact["old"] is not None and fact["new"] is not None)


@_invariant("equal-version-keeps-the-slot", "S-77")
def _equal_version(reading: RunView) -> Iterator[RuleViolation]:
    """A heartbeat with the version that the slot has already changes nothing."""
    for fact in _replacements(reading):
        if fact["new"].sub_version == fact["old"].sub_version:
            yield RuleViolation("a heartbeat with the same version took the slot", [fact])


@_invariant("older-version-is-ignored", "S-78")
def _older_version(reading: RunView) -> Iterator[RuleViolation]:
    """A heartbeat with a lower version than the slot's is ignored in silence."""
    for fact in _replacements(reading):
        if fact["new"].sub_version < fact["old"].sub_version:
            yield RuleViolation("a heartbeat with an older version took the slot", [fact])


@_invariant("new-tags-notify-nobody", "S-77")
def _notified(reading: RunView) -> Iterator[RuleViolation]:
    """Members are notified when a member or a topic comes or goes, never because tags changed."""
    # A notification has a cause at the same moment: a member or a topic came or went.
    causes = {
        fact.t
        for fact in reading.run.facts
        if fact.get("group") == reading.group
        and (
            fact.kind in GROUP_CHANGES or (fact.kind == "subscription" and (fact["old"] is None or fact["new"] is None))
        )
    }
    for fact in reading.facts("notify"):
        if fact.t not in causes:
            changed = [one for one in _replacements(reading) if one.t == fact.t]
            yield RuleViolation("members were notified though none came or went, and no topic either", [*changed, fact])


@_invariant("broker-compares-tag-codes", "S-51")
def _codes(reading: RunView) -> Iterator[RuleViolation]:
    """The broker drops a message exactly when its tag's hash code is not among those of the group's slot."""
    sent = {(fate.queue, fate.offset): fate for fate in reading.fates}
    dropped = {(fact.t, fact["queue"], fact["offset"]): fact for fact in reading.facts("filtered")}
    own = {step.who for step in _starts(reading) if step.post}  # their pulls bring a subscription of their own
    for pull in reading.facts("pull"):
        if pull["status"] not in {"FOUND", "NO_MATCHED_MESSAGE"} or pull["client"] in own:
            continue
        slot = next((one for one in reversed(reading.slots) if one.t <= pull.t - reading.zero), None)
        if slot is None:
            continue
        held = Filter.of(reading.topic, slot.expression, slot.kind)
        if not held.by_tag:
            continue
        for offset in range(pull["offset"], max(pull["next"], pull["offset"] + 1)):
            fate = sent.get((pull["queue"], offset))
            if fate is None:
                continue
            fact = dropped.get((pull.t, pull["queue"], offset))
            if held.passes_layer_1(tags_code(fate.tag), None) == (fact is not None):
                did = "dropped" if fact else "returned"
                text = f"the broker {did} {fate.body} ({fate.tag}) under the subscription {slot.expression}"
                yield RuleViolation(text, [fact, pull] if fact else [pull])


def _starts(reading: RunView) -> list[Start]:
    return [step for step in reading.run.scenario.steps if isinstance(step, Start) and step.group == reading.group]


@_invariant("next-offset-passes-dropped-entries", "S-55")
def _passed(reading: RunView) -> Iterator[RuleViolation]:
    """A pull that finds only unwanted entries goes on behind them."""
    for pull in reading.facts("pull"):
        if pull["status"] == "NO_MATCHED_MESSAGE" and pull["next"] <= pull["offset"]:
            dropped = [one for one in reading.facts("filtered") if (one.t, one["queue"]) == (pull.t, pull["queue"])]
            yield RuleViolation(
                "a pull that dropped entries was told to begin again at the same offset", [*dropped, pull]
            )
            return  # it repeats for ever: once is enough


@_invariant("client-checks-its-own-tags", "S-82")
def _client_check(reading: RunView) -> Iterator[RuleViolation]:
    """A consumer drops what its own subscription does not name, whatever the broker returned."""
    for fact in reading.facts("consume"):
        asked = [Filter.of(reading.topic, expression, kind) for kind, expression in _asked(reading, fact.source)]
        if asked and not any(own.client_keeps(fact["tag"]) for own in asked):
            own = " or ".join(str(one.subscription.sub_string) for one in asked)
            yield RuleViolation(f"{fact.source} consumed a message whose tag it never asked for ({own})", [fact])


def _asked(reading: RunView, who: str) -> Iterator[tuple[str, str]]:
    """Type and expression of everything that a consumer asked of the topic."""
    for step in reading.run.scenario.steps:
        if isinstance(step, Start) and step.who == who and reading.topic in step.subscribe:
            yield step.subscribe[reading.topic].type, step.subscribe[reading.topic].expr
        elif isinstance(step, Subscribe) and (step.who, step.topic) == (who, reading.topic):
            yield step.type, step.expr


@_invariant("client-ids-decide-ownership", "S-32")
def _ownership(reading: RunView) -> Iterator[RuleViolation]:
    """Queues go to the members in ranges, in the order of their client ids; who started first does not matter."""
    # Judged where that is all there is to it: the average strategy, one topic, every start and connection sound.
    steps = _starts(reading)
    events = reading.run.events
    if (
        any(
            step.strategy != "avg" or step.mode != "clustering" or set(step.subscribe) != {reading.topic}
            for step in steps
        )
        or any(event["ev"] in {"startFailed", "control"} for event in events)
        or not reading.owners
    ):
        return
    last = max(index for index, event in enumerate(events) if event["ev"] == "alloc")
    ids: dict[str, str] = {}
    for event in events[:last]:
        if event["ev"] == "started" and event["who"] in reading.asked:
            ids[event["who"]] = event["clientId"]
        elif event["ev"] == "stopped":
            ids.pop(event["who"], None)
    queues = [MessageQueue(reading.topic, "broker", number) for number in range(reading.queues)]
    strategy, everybody = AllocateMessageQueueAveragely(), sorted(ids.values(), key=utf16_key)
    for who, client_id in sorted(ids.items()):
        mine = [queue.queue_id for queue in strategy.allocate(reading.group, client_id, queues, everybody)]
        owned = sorted(queue for queue, owner in reading.owners.items() if owner == who)
        if mine != owned:
            changes = [fact for fact in reading.facts("rebalance") if fact.source == who][-1:]
            order = ", ".join(f"{name} {one}" for name, one in sorted(ids.items(), key=lambda pair: utf16_key(pair[1])))
            yield RuleViolation(
                f"{who} owns {owned}, by the order of client ids ({order}) it should be {mine}", changes
            )


@_invariant("offsets-move-past-dropped-messages", "S-83")
def _corrected(reading: RunView) -> Iterator[RuleViolation]:
    """A consumer that holds nothing moves its offset to where it goes on, consumed or not."""
    moved = {(fact.source, fact.t, fact["queue"], fact["offset"]) for fact in reading.facts("correct_offset")}
    for fact in reading.facts("pull_result"):
        if fact["status"] not in {"NO_NEW_MSG", "NO_MATCHED_MSG"}:
            continue
        if (fact.source, fact.t, fact["queue"], fact["next"]) not in moved:
            did = f"{fact.source} holds no message of queue {fact['queue']}"
            yield RuleViolation(f"{did}, yet did not move its offset to {fact['next']}", [fact])
            return


@_invariant("queue-change-stamps-anew", "S-84")
def _restamped(reading: RunView) -> Iterator[RuleViolation]:
    """A consumer whose queues changed stamps its subscription with its clock and sends a heartbeat."""
    stamps = {(fact.source, fact.t): fact for fact in reading.facts("restamp")}
    for fact in reading.facts("rebalance"):
        stamp = stamps.get((fact.source, fact.t))
        if stamp is None or stamp["version"] <= stamp["old"]:
            yield RuleViolation(
                f"{fact.source}'s queues changed, its version did not", [fact, *([stamp] if stamp else [])]
            )


@_invariant("newer-slot-serves-everybody", "S-66")
def _served(reading: RunView) -> Iterator[RuleViolation]:
    """A pull is refused only when the slot is older than the puller's version, not when it is newer."""
    versions: dict[str, float] = {}
    slot: float | None = None
    for fact in reading.facts("heartbeat", "restamp", "subscription", "pull"):
        if fact.kind == "restamp":
            versions[fact.source] = reading.version(fact["version"])
        elif fact.kind == "heartbeat" and fact.source == BROKER:
            versions |= {beat.who: beat.version for beat in reading.beats if beat.t == fact.t - reading.zero}
        elif fact.kind == "subscription" and fact["new"] is not None:
            slot = reading.version(fact["new"].sub_version)
        elif fact.kind == "pull" and fact["code"] == ResponseCode.SUBSCRIPTION_NOT_LATEST and slot is not None:
            own = versions.get(fact["client"])
            if own is not None and slot >= own:
                yield RuleViolation(
                    "the broker refused a pull although its slot is newer than the puller's version", [fact]
                )
                return


def violations(reading: RunView) -> dict[str, list[RuleViolation]]:
    """What the run breaks: name of the rule to its violations; empty when it obeys them all."""
    found = {name: list(one.find(reading)) for name, one in INVARIANTS.items()}
    return {name: broken for name, broken in found.items() if broken}
