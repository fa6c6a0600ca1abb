"""Properties by name, and what speaks for or against each in a run."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.run.recorded_events import Consumed
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.properties import BUILT_IN, PropertyKind, duplicates, property_named, usual_properties
from tests.search.explored_models import TWO_ON_TWO_QUEUES, model, start


def says(name, run):
    return property_named(name, run.scenario).says(run)


def test_the_three_kinds():
    kinds = {name: one.kind for name, one in BUILT_IN.items()}
    assert kinds == {
        "no-loss": PropertyKind.ALWAYS, "no-duplicates": PropertyKind.ALWAYS,
        "every-queue-owned": PropertyKind.EVENTUALLY, "one-owner": PropertyKind.EVENTUALLY,
    }  # fmt: skip
    usual = usual_properties(TWO_ON_TWO_QUEUES)
    assert [one.name for one in usual if one.kind is PropertyKind.SOMETIMES] == [
        "A receives a message",
        "B receives a message",
    ]


@pytest.mark.row("S-03")
def test_what_speaks_against_a_run_names_the_messages_and_the_culprits():
    run = simulate(TWO_ON_TWO_QUEUES)
    told = says("no-loss", run)
    assert told.startswith("3 lost: ")
    assert "dropped by the broker when B pulled" in told
    assert "dropped by the client: A" in told
    same = simulate(model(2, start("A", 0, "a || b"), start("B", 2_000, "b || a")))
    assert says("no-loss", same) is None


def test_queues_without_an_owner_and_with_two():
    stopped = model(2, start("A", 0, "a"), start("B", 2_000, "a"), {"at": 6_000, "do": "freeze", "who": "A"})
    run = simulate(stopped)
    assert says("every-queue-owned", run) is None
    run.owners[("G", "T", 1)] = {}
    assert says("every-queue-owned", run) == "without an owner: G: T/1"
    run.owners[("G", "T", 1)] = {"A": 0, "B": 0}
    assert says("one-owner", run) == "with two owners: G: T/1 (A, B)"


def test_queues_of_those_who_run_at_the_end_need_an_owner():
    killed = simulate(model(2, start("A", 0, "a"), {"at": 4_000, "do": "kill", "who": "A"}))
    assert killed.owners == {}
    assert says("every-queue-owned", killed) is None
    later = {"at": 4_000, "do": "subscribe", "who": "A", "topic": "U", "expr": "*"}
    run = simulate(model(2, start("A", 0, "a"), later, also={"U": 1}))
    assert says("every-queue-owned", run) is None
    lite = simulate(model(1, start("A", 0, "a", kind="lite", mode="broadcasting")))
    lite.owners.clear()
    assert says("every-queue-owned", lite) == "without an owner: G: T/0", "a lite consumer divides queues"
    run.owners.pop(("G", "U", 0), None)
    assert says("every-queue-owned", run) == "without an owner: G: U/0"


def test_a_message_taken_twice_in_a_group_counts_and_in_two_groups_does_not():
    run = simulate(model(1, start("A", 0, "a || b")))
    assert duplicates(run) == []
    run.facts.extend([fact for fact in run.facts.of(Consumed) if fact.event.body == "m0"])
    assert duplicates(run) == ["m0"]
    assert says("no-duplicates", run) == "taken more than once: m0"
    groups = simulate(model(1, start("A", 0, "a"), start("B", 2_000, "a", group="H")))
    assert groups.outcome().bodies_of("A") == groups.outcome().bodies_of("B") == ["m0"]
    assert duplicates(groups) == []


def test_a_name_that_is_none_is_answered_with_those_there_are():
    with pytest.raises(BadInput, match=r"no property 'loss'.*no-loss.*receives:A, receives:B"):
        property_named("loss", TWO_ON_TWO_QUEUES)
    assert says("receives:B", simulate(TWO_ON_TWO_QUEUES)) == "B gets m3"
    assert says("receives:A", simulate(TWO_ON_TWO_QUEUES)) is None
