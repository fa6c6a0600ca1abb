"""Rules that every run obeys; each broken laboratory breaks exactly the one named for it."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmqlab.errors import BadInput
from rmqlab.events import (
    CorrectOffset,
    Filtered,
    Heartbeat,
    Notify,
    Pull,
    PullAnswered,
    Rebalance,
    Restamp,
    SubscriptionChanged,
)
from rmqlab.filter.filter import Filter
from rmqlab.message.java import utf16_key
from rmqlab.protocol.codes import ResponseCode
from rmqlab.rules import DEFAULT_RULES, is_notified, tags_code, update_subscription
from rmqlab.run.facts import Fact
from rmqlab.run.recorded_events import Consumed
from rmqlab.run.run_view import RunView
from rmqlab.scenario.fault_steps import BROKER
from rmqlab.scenario.scenario import Start, Subscribe, read_scenarios
from rmqlab.sim.simulate import simulate
from rmqlab_tools.course.articles.eight_messages import CLIENT_IP, EightMessages
from rmqlab_tools.course.checks_01 import hunted
from rmqlab_tools.course.mutants import WRONG_RULES
from rmqlab_tools.course.mutants import broken as broken_rules

pytestmark = pytest.mark.slow

PIDS = st.lists(st.integers(1, 99_999), min_size=2, max_size=2, unique=True)
TAGS = st.sampled_from(["tagA", "tagB", "tagA || tagB", "tagB||tagA", "*", "tagC", "Aa"])
GROUP_CHANGES = frozenset({"register", "unregister", "expired"})


# They look at facts only, and hold for TAG subscriptions and listeners that take every message at once.


class RuleViolation(NamedTuple):
    """Where a run breaks a rule: what is wrong, and the facts that prove it."""

    text: str
    facts: list[Fact]


def replacements(reading):
    """The facts that another subscription took the slot."""
    return (
        fact for fact in reading.facts(SubscriptionChanged) if fact.event.old is not None and fact.event.new is not None
    )


def starts(reading):
    """The consumers of the group, as the scenario starts them."""
    return [step for step in reading.run.scenario.steps if isinstance(step, Start) and step.group == reading.group]


def older_version(reading):
    """A heartbeat with a lower version than the slot's is ignored in silence (S-78)."""
    for fact in replacements(reading):
        if fact.event.new.sub_version < fact.event.old.sub_version:
            yield RuleViolation("a heartbeat with an older version took the slot", [fact])


def client_check(reading):
    """A consumer drops what its own subscription does not name, whatever the broker returned (S-82)."""
    for fact in reading.facts(Consumed):
        asked = [Filter.of(reading.topic, expression, kind) for kind, expression in _asked(reading, fact.source)]
        if asked and not any(own.client_keeps(fact.event.tag) for own in asked):
            own = " or ".join(str(one.subscription.sub_string) for one in asked)
            yield RuleViolation(f"{fact.source} consumed a message whose tag it never asked for ({own})", [fact])


def _asked(reading, who):
    """Type and expression of everything that a consumer asked of the topic."""
    for step in reading.run.scenario.steps:
        if isinstance(step, Start) and step.who == who and reading.topic in step.subscribe:
            yield step.subscribe[reading.topic].type, step.subscribe[reading.topic].expr
        elif isinstance(step, Subscribe) and (step.who, step.topic) == (who, reading.topic):
            yield step.type, step.expr


def ownership(reading):
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
    ids = {}
    for event in events[:last]:
        if event["ev"] == "started" and event["who"] in reading.asked:
            ids[event["who"]] = event["clientId"]
        elif event["ev"] == "stopped":
            ids.pop(event["who"], None)
    everybody = sorted(ids.values(), key=utf16_key)
    for who, client_id in sorted(ids.items()):
        mine = DEFAULT_RULES.allocate(client_id, range(reading.queues), everybody)
        owned = sorted(queue for queue, owners in reading.owners.items() if owners == [who])
        if mine != owned:
            changes = [fact for fact in reading.facts(Rebalance) if fact.source == who][-1:]
            order = ", ".join(f"{name} {one}" for name, one in sorted(ids.items(), key=lambda pair: utf16_key(pair[1])))
            yield RuleViolation(
                f"{who} owns {owned}, by the order of client ids ({order}) it should be {mine}", changes
            )


def corrected(reading):
    """A consumer that holds nothing moves its offset to where it goes on, consumed or not (S-83)."""
    moved = {(fact.source, fact.t, fact.event.queue, fact.event.offset) for fact in reading.facts(CorrectOffset)}
    for fact in reading.facts(PullAnswered):
        if fact.event.status not in {"NO_NEW_MSG", "NO_MATCHED_MSG"}:
            continue
        if (fact.source, fact.t, fact.event.queue, fact.event.next) not in moved:
            did = f"{fact.source} holds no message of queue {fact.event.queue}"
            yield RuleViolation(f"{did}, yet did not move its offset to {fact.event.next}", [fact])
            return


def served(reading):
    """A pull is refused only when the slot is older than the puller's version, not when it is newer (S-66)."""
    versions = {}
    slot = None
    for fact in reading.facts(Heartbeat, Restamp, SubscriptionChanged, Pull):
        if fact.event.kind == "restamp":
            versions[fact.source] = reading.version(fact.event.version)
        elif fact.event.kind == "heartbeat" and fact.source == BROKER:
            versions |= {beat.who: beat.version for beat in reading.beats if beat.t == fact.t - reading.zero}
        elif fact.event.kind == "subscription" and fact.event.new is not None:
            slot = reading.version(fact.event.new.sub_version)
        elif fact.event.kind == "pull" and fact.event.code == ResponseCode.SUBSCRIPTION_NOT_LATEST and slot is not None:
            own = versions.get(fact.event.client)
            if own is not None and slot >= own:
                yield RuleViolation(
                    "the broker refused a pull although its slot is newer than the puller's version", [fact]
                )
                return


def equal_version(reading):
    """A heartbeat with the version that the slot has already changes nothing (S-77)."""
    for fact in replacements(reading):
        if fact.event.new.sub_version == fact.event.old.sub_version:
            yield RuleViolation("a heartbeat with the same version took the slot", [fact])


def notified(reading):
    """Members are notified when a member or a topic comes or goes, never because tags changed (S-77)."""
    # A notification has a cause at the same moment: a member or a topic came or went.
    causes = {
        fact.t
        for fact in reading.run.facts
        if getattr(fact.event, "group", None) == reading.group
        and (
            fact.event.kind in GROUP_CHANGES
            or (fact.event.kind == "subscription" and (fact.event.old is None or fact.event.new is None))
        )
    }
    for fact in reading.facts(Notify):
        if fact.t not in causes:
            changed = [one for one in replacements(reading) if one.t == fact.t]
            yield RuleViolation("members were notified though none came or went, and no topic either", [*changed, fact])


def codes(reading):
    """The broker drops a message exactly when its tag's hash code is not among those of the group's slot (S-51)."""
    sent = {(fate.queue, fate.offset): fate for fate in reading.fates}
    dropped = {(fact.t, fact.event.queue, fact.event.offset): fact for fact in reading.facts(Filtered)}
    own = {step.who for step in starts(reading) if step.post}  # their pulls bring a subscription of their own
    for pull in reading.facts(Pull):
        if pull.event.status not in {"FOUND", "NO_MATCHED_MESSAGE"} or pull.event.client in own:
            continue
        slot = next((one for one in reversed(reading.slots) if one.t <= pull.t - reading.zero), None)
        if slot is None:
            continue
        held = Filter.of(reading.topic, slot.expression, slot.kind)
        if not held.by_tag:
            continue
        for offset in range(pull.event.offset, max(pull.event.next, pull.event.offset + 1)):
            fate = sent.get((pull.event.queue, offset))
            if fate is None:
                continue
            fact = dropped.get((pull.t, pull.event.queue, offset))
            if held.passes_layer_1(tags_code(fate.tag), None) == (fact is not None):
                did = "dropped" if fact else "returned"
                text = f"the broker {did} {fate.body} ({fate.tag}) under the subscription {slot.expression}"
                yield RuleViolation(text, [fact, pull] if fact else [pull])


def passed(reading):
    """A pull that finds only unwanted entries goes on behind them (S-55)."""
    for pull in reading.facts(Pull):
        if pull.event.status == "NO_MATCHED_MESSAGE" and pull.event.next <= pull.event.offset:
            dropped = [one for one in reading.facts(Filtered) if (one.t, one.event.queue) == (pull.t, pull.event.queue)]
            yield RuleViolation(
                "a pull that dropped entries was told to begin again at the same offset", [*dropped, pull]
            )
            return  # it repeats for ever: once is enough


def restamped(reading):
    """A consumer whose queues changed stamps its subscription with its clock and sends a heartbeat (S-84)."""
    stamps = {(fact.source, fact.t): fact for fact in reading.facts(Restamp)}
    for fact in reading.facts(Rebalance):
        stamp = stamps.get((fact.source, fact.t))
        if stamp is None or stamp.event.version <= stamp.event.old:
            yield RuleViolation(
                f"{fact.source}'s queues changed, its version did not", [fact, *([stamp] if stamp else [])]
            )


def equal_version_wins(held, told):
    table = {one.topic: one for one in told}
    older = update_subscription(held, table.values())
    return {topic: one if one.sub_version == older[topic].sub_version else older[topic] for topic, one in table.items()}


def new_tags_notify(held, updated, joined):
    return is_notified(held, updated, joined) or held != updated


INVARIANTS = {
    "older-version-is-ignored": older_version,
    "client-checks-its-own-tags": client_check,
    "client-ids-decide-ownership": ownership,
    "offsets-move-past-dropped-messages": corrected,
    "newer-slot-serves-everybody": served,
    "equal-version-keeps-the-slot": equal_version,
    "new-tags-notify-nobody": notified,
    "broker-compares-tag-codes": codes,
    "next-offset-passes-dropped-entries": passed,
    "queue-change-stamps-anew": restamped,
}


def violations(reading):
    """What the run breaks: name of the rule to its violations; empty when it obeys them all."""
    found = {name: list(find(reading)) for name, find in INVARIANTS.items()}
    return {name: broken for name, broken in found.items() if broken}


# The rules that are replaced, by the invariant that this breaks.
BREAKS = {
    "client-checks-its-own-tags": WRONG_RULES["amber"],
    "older-version-is-ignored": WRONG_RULES["basalt"],
    "offsets-move-past-dropped-messages": WRONG_RULES["coral"],
    "newer-slot-serves-everybody": WRONG_RULES["dune"],
    "client-ids-decide-ownership": WRONG_RULES["ember"],
    "broker-compares-tag-codes": WRONG_RULES["flint"],
    "queue-change-stamps-anew": {"stamp_sub_version": lambda old, _: old},
    "equal-version-keeps-the-slot": {"update_subscription": equal_version_wins},
    "new-tags-notify-nobody": {"is_notified": new_tags_notify},
    "next-offset-passes-dropped-entries": {
        "next_offset": lambda offset, looked_at, found: offset + (looked_at if found else 0)
    },
}


@settings(max_examples=40)
@given(
    order=st.permutations("AB"),
    gap=st.sampled_from([0, 1, 7, 200, 3_000, 31_000, 60_000]),
    pids=PIDS,
    queues=st.integers(1, 9),
    tags=st.tuples(TAGS, TAGS),
    messages=st.lists(st.sampled_from(["tagA", "tagB", "tagC", "Aa", "BB"]), min_size=1, max_size=12),
    first_queue=st.integers(0, 8),
    skew=st.sampled_from([0, -3_600_000, -5, 5, 3_600_000]),
    seed=st.none() | st.integers(1, 99),
)
@pytest.mark.row("S-32", "S-51", "S-66", "S-77", "S-78", "S-82", "S-83", "S-84")
def test_every_run_obeys_every_rule(order, gap, pids, queues, tags, messages, first_queue, skew, seed):
    experiment = EightMessages(
        start_order=order,
        gap_ms=gap,
        client_ids={who: f"{CLIENT_IP}@{pid}" for who, pid in zip("AB", pids, strict=True)},
        queues=queues,
        tags=dict(zip("AB", tags, strict=True)),
        sending_order=messages,
        first_queue=first_queue,
        skew_ms={"A": skew},
        seed=seed,
    )
    assert violations(RunView(experiment.run())) == {}


def test_every_recorded_scenario_obeys_every_rule(golden):
    scenarios = read_scenarios(golden / "broker-4.8.0" / "base" / "scenarios.jsonl")
    broken = {scenario.id: violations(RunView(simulate(scenario))) for scenario in scenarios}
    assert len(broken) == 73
    assert {name: found for name, found in broken.items() if found} == {}


def test_sound_laboratory_is_sound():
    assert violations(RunView(hunted())) == {}


@pytest.mark.parametrize(("invariant", "wrong"), BREAKS.items())
def test_mutant_is_killed_by_exactly_its_invariant(invariant, wrong):
    broken = violations(RunView(hunted(DEFAULT_RULES.replace(**wrong))))
    assert list(broken) == [invariant]
    assert all(violation.text and violation.facts for violation in broken[invariant])


def test_every_invariant_has_its_mutant():
    assert sorted(BREAKS) == sorted(INVARIANTS)


def test_a_wrong_rule_leaves_the_sound_ones_alone():
    sound = hunted().lines()
    hunted(broken_rules("amber"))
    assert hunted().lines() == sound


def test_unknown_mutant_is_named():
    with pytest.raises(BadInput, match="'mica'; there are: amber, basalt"):
        broken_rules("mica")
