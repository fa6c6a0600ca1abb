"""A scenario that asks nothing at its end runs on until nothing more can change what was delivered or lost."""

from __future__ import annotations

import pytest

from rmqlab.run.run import Run
from rmqlab.scenario.scenario import Scenario, convert_scenario
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.timings import RACE_TIMING, RaceChooser

pytestmark = pytest.mark.slow


def start(who: str, at: int = 0, tag: str = "*", **more: object) -> dict[str, object]:
    wants = {"T": {"type": "TAG", "expr": tag}}
    return {"do": "start", "at": at, "who": who, "group": "G", "subscribe": wants} | more


def send(at: int, *bodies: str, tag: str | None = None, queue: int | None = None) -> dict[str, object]:
    messages = [{"body": body, "tag": tag, "queue": queue} for body in bodies]
    return {"do": "send", "at": at, "topic": "T", "messages": messages}


def scenario(*steps: dict[str, object], queues: int = 2, **topics: int) -> Scenario:
    return convert_scenario({"id": "rest", "topics": {"T": queues} | topics, "steps": list(steps)})


def run(*steps: dict[str, object], **topics: int) -> Run:
    return simulate(scenario(*steps, **topics), cluster=default_settings())


def fates(result: Run) -> dict[str, str]:
    return {fate.body: fate.fate.value for fate in result.fates}


PAIR = (
    start("A", tag="tagA"),
    start("B", 2_000, "tagB"),
    {
        "do": "send", "at": 10_500, "topic": "T",
        "messages": [
            {"body": "M0", "tag": "tagA", "queue": 2}, {"body": "M1", "tag": "tagA", "queue": 3},
            {"body": "M4", "tag": "tagB", "queue": 2}, {"body": "M5", "tag": "tagB", "queue": 1},
        ],
    },
)  # fmt: skip


def test_a_scenario_that_ends_with_its_last_send_says_what_becomes_of_every_message():
    result = run(*PAIR, queues=4)
    assert fates(result) == {
        "M0": "dropped_by_broker_tag", "M1": "dropped_by_broker_tag", "M4": "delivered", "M5": "dropped_by_client",
    }  # fmt: skip
    assert sum(fate.lost for fate in result.fates) == 3
    asked = run(*PAIR, {"do": "offsets", "at": 70_000}, queues=4)
    assert fates(asked) == fates(result)


def test_a_question_at_the_end_ends_the_run_with_it():
    assert fates(run(*PAIR, {"do": "alloc", "at": 10_500}, queues=4))["M5"] == "waiting"


def test_the_explorer_finds_the_outcomes_that_a_later_question_would_show():
    sent = {"do": "send", "at": 10_500, "topic": "T", "messages": [{"body": "M0", "tag": "tagA"}]}
    steps = (start("A", tag="tagA"), start("B", 2_000, "tagB"), sent)
    short = Explorer(scenario(*steps, queues=1), cluster=default_settings(), samples=8).explore()
    long = Explorer(
        scenario(*steps, {"do": "offsets", "at": 70_000}, queues=1), cluster=default_settings(), samples=8
    ).explore()
    assert short.exhausted
    assert long.exhausted
    assert {one.outcome.consumed for one in short.outcomes} == {one.outcome.consumed for one in long.outcomes}
    assert [one.lost for one in short.outcomes] == [one.lost for one in long.outcomes] == [["M0"]]


@pytest.mark.parametrize("seed", range(6))
def test_however_late_frames_are_nothing_waits_at_the_end(seed):
    result = simulate(
        scenario(*PAIR, queues=4), chooser=RaceChooser(seed), timing=RACE_TIMING, cluster=default_settings()
    )
    assert not {"waiting", "retrying"} & set(fates(result).values())
    assert result.under_way is None


def test_a_message_that_is_to_come_again_has_come():
    result = run(start("A", laterTimes=2), send(3_000, "M0", "M1"))
    assert fates(result) == {"M0": "delivered", "M1": "delivered"}
    assert result.outcome().consumed == (("A", "M0", 3), ("A", "M1", 3))


def test_what_a_dead_member_held_has_gone_over_to_another():
    steps = (start("A"), start("B", 1_000), {"do": "kill", "at": 5_000, "who": "A", "silent": True})
    result = run(*steps, send(6_000, "M0", "M1"))
    assert fates(result) == {"M0": "delivered", "M1": "delivered"}
    assert result.events[-1]["t"] > 120_000  # so long the broker keeps a silent member


def test_a_fault_whose_moment_is_open_has_happened():
    cut = {"do": "cut", "at": 5_000, "who": "A", "within": 1_000}
    result = run(start("A"), cut, send(6_000, "M0"))
    assert any(event["ev"] == "control" for event in result.events)
    assert fates(result) == {"M0": "delivered"}


def test_a_member_that_starts_last_has_its_messages():
    result = run(send(0, "M0", "M1"), start("A", 500, **{"from": "first"}))
    assert fates(result) == {"M0": "delivered", "M1": "delivered"}


def test_a_queue_that_nobody_pulls_keeps_its_message_and_the_run_ends():
    other = {"U": {"type": "TAG", "expr": "*"}}
    result = run(start("A"), start("B", 1_000, subscribe=other), send(9_000, "M0", "M1", "M2", "M3"), U=2)
    assert sorted(set(fates(result).values())) == ["delivered", "no_owner"]
    assert result.under_way is None


@pytest.mark.parametrize("more", [{"mode": "broadcasting"}, {"orderly": True}, {"kind": "lite"}, {"post": True}])
def test_consumers_of_every_kind_come_to_rest(more):
    result = run(start("A", **more), start("B", 1_000, **more), send(12_000, "M0", "M1", "M2", "M3"))
    assert set(fates(result).values()) == {"delivered"}
    assert result.under_way is None


def test_without_members_everything_waits_for_somebody():
    result = run(start("A"), {"do": "stop", "at": 3_000, "who": "A"}, send(4_000, "M0"))
    assert fates(result) == {"M0": "no_owner"}
    assert result.events[-1]["t"] < 10_000


def test_what_does_not_come_to_rest_is_said():
    refused = start("A", subscribe={"T": {"type": "SQL92", "expr": "a > 3"}})
    result = simulate(scenario(start("B", 0), refused | {"at": 1_000}, send(9_000, "M0", "M1")))
    assert result.under_way is not None
    assert [event["what"] for event in result.events if event["ev"] == "underWay"] == [result.under_way]
