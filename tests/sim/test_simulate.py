"""Runs of scenarios: determinism, what clients throw, every fate, steps of all kinds."""

from __future__ import annotations

import json

import pytest

from rmqlab.errors import BadInput
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import Consumed
from rmqlab.scenario.scenario import parse_scenario
from rmqlab.scenario.schedule import Schedule, ScheduledChooser
from rmqlab.sim.cluster import ClusterConfig, default_settings
from rmqlab.sim.scenario_steps import ClientSettings
from rmqlab.sim.simulate import Simulation, simulate
from rmqlab_tools.search.explorer.timings import RACE_TIMING, RaceChooser


def start(who="A", at=0, expr="*", kind="TAG", **more):
    return {"at": at, "do": "start", "who": who, "group": "G", "subscribe": {"T": {"type": kind, "expr": expr}}, **more}


def send(*messages, at=5000):
    return {"at": at, "do": "send", "topic": "T", "messages": [{"queue": 0, **message} for message in messages]}


def run(*steps, queues=1, last=30_000, **settings):
    text = json.dumps({"id": "x", "topics": {"T": queues}, "steps": [*steps, {"at": last, "do": "offsets"}]})
    return simulate(parse_scenario(text), **settings)


def events(result, *kinds):
    return [{k: v for k, v in e.items() if k not in {"id", "t"}} for e in result.events if e["ev"] in kinds]


def fate_of(result, body):
    return next(fate for fate in result.fates if fate.body == body)


def test_the_same_seed_gives_the_same_bytes_and_its_schedule_repeats_it():
    steps = [start("A", expr="tagA"), start("B", 1500, "tagB"), send({"body": "m", "tag": "tagA"}, at=9000)]
    first = run(*steps, queues=4, timing=RACE_TIMING, chooser=RaceChooser(4))
    again = run(*steps, queues=4, timing=RACE_TIMING, chooser=RaceChooser(4))
    assert first.lines() == again.lines()
    schedule = Schedule.from_json(first.schedule.to_json())
    assert schedule.taken
    repeated = run(*steps, queues=4, timing=schedule.timing, chooser=ScheduledChooser(schedule))
    assert repeated.lines() == first.lines()
    assert repeated.choices == first.choices
    assert repeated.steps == first.steps
    other = run(*steps, queues=4, timing=RACE_TIMING, chooser=RaceChooser(5))
    assert other.lines() != first.lines()


def test_a_world_can_be_stepped_by_hand():
    steps = [start(), send({"body": "m"}), {"at": 9000, "do": "offsets"}]
    scenario = parse_scenario(json.dumps({"id": "x", "topics": {"T": 1}, "steps": steps}))
    simulation = Simulation(scenario)
    count = 0
    while not simulation.done:
        assert simulation.world.scheduler.step()
        count += 1
    assert simulation.finish().lines() == simulate(scenario).lines()
    assert count == simulate(scenario).steps


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"body": ""}, ("MQClientException", "CODE: 13  DESC: the message body length is zero")),
        (
            {"body": "x" * (4 * 1024 * 1024 + 1)},
            ("MQClientException", "CODE: 13  DESC: the message body size over max value, MAX: 4194304"),
        ),
        (
            {"body": "m", "props": {"TAGS": "x"}},
            ("RuntimeException", "The Property<TAGS> is used by system, input another please"),
        ),
        (
            {"body": "m", "props": {"a": " "}},
            ("RuntimeException", "The name or value of property can not be null or blank string!"),
        ),
    ],
)
def test_a_message_that_4_8_0_refuses_is_an_error_event_with_javas_names(message, error):
    result = run(start(), send(message))
    assert events(result, "error") == [{"ev": "error", "do": "send", "error": error[0], "message": error[1]}]
    assert result.outcome().consumed == ()


@pytest.mark.parametrize(
    ("message", "body", "tag"),
    [
        ({"body": "\ud83d x"}, "? x", None),
        ({"body": "\U0001f600"}, "\U0001f600", None),
        ({"body": "m", "tag": ""}, "m", None),
        ({"body": "m", "tag": None}, "m", None),
        ({"body": "m", "props": {"unknown": "y"}}, "m", None),
        ({"body": "m", "tag": "\u6807"}, "m", "\u6807"),
    ],
)
def test_odd_messages_arrive_as_they_do_in_java(message, body, tag):
    consumed = events(run(start(), send(message)), "consume")
    assert [(event["body"], event["tag"]) for event in consumed] == [(body, tag)]


def test_subscriptions_that_cannot_be():
    result = run(start(expr="||"), {"at": 9000, "do": "stop", "who": "A"})
    assert events(result, "error") == [
        {"ev": "error", "do": "start", "error": "MQClientException", "message": "subscription exception"},
        {"ev": "error", "do": "stop", "error": "NullPointerException", "message": "A did not start"},
    ]
    result = run(start(expr="a >", kind="SQL92"), send({"body": "m"}), cluster=default_settings())
    assert events(result, "startFailed")[0]["message"].startswith("CODE: 23  DESC: ")
    assert fate_of(result, "m").fate in {Fate.WAITING, Fate.NO_OWNER}


@pytest.mark.row("S-36", "S-45", "S-82")
def test_dropped_by_broker_and_by_client_with_culprit_and_version():
    result = run(start(expr="Aa"), send({"body": "same code", "tag": "BB"}, {"body": "other", "tag": "x"}))
    client, broker = fate_of(result, "same code"), fate_of(result, "other")
    assert (client.fate, client.culprit, client.subscription) == (Fate.DROPPED_BY_CLIENT, "A", "Aa")
    assert (broker.fate, broker.culprit, broker.subscription) == (Fate.DROPPED_BY_BROKER_TAG, "A", "Aa")
    assert broker.version is not None
    assert not broker.lost
    assert not client.lost


def test_retrying_and_delivered_after_a_retry():
    steps = [start(laterTimes=2), send({"body": "m"})]
    assert fate_of(run(*steps, last=10_000), "m").fate is Fate.RETRYING
    late = run(*steps, last=90_000)
    assert fate_of(late, "m").fate is Fate.DELIVERED
    assert [event["reconsume"] for event in events(late, "consume")] == [0, 1, 2]


def test_waiting_and_without_owner():
    nobody = run(start(), {"at": 4000, "do": "stop", "who": "A"}, send({"body": "m"}))
    assert fate_of(nobody, "m").fate is Fate.NO_OWNER
    frozen = run(start(), {"at": 4000, "do": "freeze", "who": "A"}, send({"body": "m"}))
    assert fate_of(frozen, "m").fate is Fate.WAITING
    assert events(frozen, "control") == [{"ev": "control", "line": "freeze @A", "conns": "1"}]


def test_broadcasting_has_a_fate_for_each_member():
    members = [start("A", mode="broadcasting"), start("B", 1000, "tagB", mode="broadcasting")]
    result = run(*members, send({"body": "m", "tag": "tagB"}))
    assert {(fate.member, fate.fate) for fate in result.fates} == {("A", Fate.DELIVERED), ("B", Fate.DELIVERED)}
    assert all("member" in fate.as_event("x") for fate in result.fates)


def test_a_topic_that_grows_is_noticed_by_route_and_rebalance():
    grow = {"at": 5000, "do": "resize", "topic": "T", "queues": 3}
    result = run(start(), grow, {"at": 70_000, "do": "alloc"}, send({"body": "m", "queue": 2}, at=70_001), last=90_000)
    assert events(result, "resized") == [{"ev": "resized", "topic": "T", "queues": 3}]
    assert events(result, "alloc")[0]["queues"]["T"] == [0, 1, 2]
    assert fate_of(result, "m").fate is Fate.DELIVERED


def test_who_the_clients_are_can_be_set():
    settings = ClientSettings(client_ip="10.0.0.7", client_ids={"A": "10.0.0.8@7"}, plain_names=True, ports={"P": 5000})
    result = run(start(), send({"body": "m"}), clients=settings)
    assert events(result, "started") == [{"ev": "started", "who": "A", "clientId": "10.0.0.8@7"}]
    message = next(result.facts.of(Consumed)).event.message
    assert str(message.born_host) == "/10.0.0.7:5001"
    assert message.topic == "T"


def test_what_is_not_simulated_is_refused_by_name():
    with pytest.raises(BadInput, match=r"scenario 'x': steps\[0\].kind is 'pop': 4.8.0 has no POP"):
        run(start() | {"kind": "pop"})
    with pytest.raises(BadInput, match=r"topics.TBW102: the broker refuses it: .*conflict with system topic"):
        simulate(
            parse_scenario(json.dumps({"id": "x", "topics": {"TBW102": 1}, "steps": []})),
            clients=ClientSettings(plain_names=True),
            cluster=ClusterConfig(),
        )
