"""Rules that every run obeys, as functions that find where a run breaks one, with the facts that prove it.

The hunt of lesson 01 rests on them: each of its broken brokers breaks exactly the one named for it. They look at facts
only. They hold for TAG subscriptions and listeners that take every message at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.filter.filter import Filter
from rmqlab.lab.facts import BROKER, Fact
from rmqlab.lab.scenario import Start, Subscribe
from rmqlab.message.java import utf16_key
from rmqlab.protocol.codes import ResponseCode
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rmqlab.lab.run_view import RunView


class RuleViolation(NamedTuple):
    """Where a run breaks a rule: what is wrong, and the facts that prove it."""

    text: str
    facts: list[Fact]


def replacements(reading: RunView) -> Iterator[Fact]:
    """The facts that another subscription took the slot."""
    return (fact for fact in reading.facts("subscription") if fact["old"] is not None and fact["new"] is not None)


def starts(reading: RunView) -> list[Start]:
    """The consumers of the group, as the scenario starts them."""
    return [step for step in reading.run.scenario.steps if isinstance(step, Start) and step.group == reading.group]


def older_version(reading: RunView) -> Iterator[RuleViolation]:
    """A heartbeat with a lower version than the slot's is ignored in silence (S-78)."""
    for fact in replacements(reading):
        if fact["new"].sub_version < fact["old"].sub_version:
            yield RuleViolation("a heartbeat with an older version took the slot", [fact])


def client_check(reading: RunView) -> Iterator[RuleViolation]:
    """A consumer drops what its own subscription does not name, whatever the broker returned (S-82)."""
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


def ownership(reading: RunView) -> Iterator[RuleViolation]:
    """Queues go to the members in ranges, in the order of their client ids, whoever started first (S-32)."""
    # Judged where that is all there is to it: the average strategy, one topic, every start and connection sound.
    steps = starts(reading)
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
    everybody = sorted(ids.values(), key=utf16_key)
    for who, client_id in sorted(ids.items()):
        mine = DEFAULT_RULES.allocate(client_id, range(reading.queues), everybody)
        owned = sorted(queue for queue, owner in reading.owners.items() if owner == who)
        if mine != owned:
            changes = [fact for fact in reading.facts("rebalance") if fact.source == who][-1:]
            order = ", ".join(f"{name} {one}" for name, one in sorted(ids.items(), key=lambda pair: utf16_key(pair[1])))
            yield RuleViolation(
                f"{who} owns {owned}, by the order of client ids ({order}) it should be {mine}", changes
            )


def corrected(reading: RunView) -> Iterator[RuleViolation]:
    """A consumer that holds nothing moves its offset to where it goes on, consumed or not (S-83)."""
    moved = {(fact.source, fact.t, fact["queue"], fact["offset"]) for fact in reading.facts("correct_offset")}
    for fact in reading.facts("pull_result"):
        if fact["status"] not in {"NO_NEW_MSG", "NO_MATCHED_MSG"}:
            continue
        if (fact.source, fact.t, fact["queue"], fact["next"]) not in moved:
            did = f"{fact.source} holds no message of queue {fact['queue']}"
            yield RuleViolation(f"{did}, yet did not move its offset to {fact['next']}", [fact])
            return


def served(reading: RunView) -> Iterator[RuleViolation]:
    """A pull is refused only when the slot is older than the puller's version, not when it is newer (S-66)."""
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


INVARIANTS: Mapping[str, Callable[[RunView], Iterator[RuleViolation]]] = {
    "older-version-is-ignored": older_version,
    "client-checks-its-own-tags": client_check,
    "client-ids-decide-ownership": ownership,
    "offsets-move-past-dropped-messages": corrected,
    "newer-slot-serves-everybody": served,
}


def violations(
    reading: RunView, rules: Mapping[str, Callable[[RunView], Iterator[RuleViolation]]] = INVARIANTS
) -> dict[str, list[RuleViolation]]:
    """What the run breaks: name of the rule to its violations; empty when it obeys them all."""
    found = {name: list(find(reading)) for name, find in rules.items()}
    return {name: broken for name, broken in found.items() if broken}
