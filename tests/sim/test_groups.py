"""What a group is for: sharing, taking over, and the other model."""

from __future__ import annotations

import pytest

from rmqlab.scenario.scenario import Alloc, Offsets, OutgoingMessage, Scenario, Send, Start, Stop, Subscription
from rmqlab.sim.simulate import simulate

ALL = {"T": Subscription(type="TAG", expr="*")}
BODIES = [f"m{number}" for number in range(8)]


def send(at):
    return Send(at, topic="T", messages=[OutgoingMessage(body) for body in BODIES])


def owned(run):
    """Queues of T by consumer, each time the scenario asked."""
    return [(event["who"], event["queues"].get("T", [])) for event in run.events if event["ev"] == "alloc"]


@pytest.mark.row("S-02", "S-88")
def test_survivors_take_over_the_queues_of_one_that_stops():
    starts = [Start(0, who=who, group="G", subscribe=ALL) for who in "AB"]
    run = simulate(
        Scenario("stop", {"T": 4}, [*starts, Alloc(5_000), Stop(6_000, "B"), Alloc(7_000), send(7_000), Offsets(9_000)])
    )
    assert owned(run) == [("A", [0, 1]), ("B", [2, 3]), ("A", [0, 1, 2, 3])]
    assert run.outcome().bodies_of("A") == BODIES
    assert run.outcome().bodies_of("B") == []


@pytest.mark.row("S-04", "S-05", "S-06")
@pytest.mark.parametrize(("mode", "share"), [("clustering", 4), ("broadcasting", 8)])
def test_two_models(mode, share):
    starts = [Start(0, who=who, group="G", subscribe=ALL, mode=mode) for who in "AB"]
    run = simulate(Scenario("modes", {"T": 4}, [*starts, send(5_000), Alloc(7_000)]))
    got = {who: run.outcome().bodies_of(who) for who in "AB"}
    assert [len(bodies) for bodies in got.values()] == [share, share]
    assert sorted({*got["A"], *got["B"]}) == BODIES
