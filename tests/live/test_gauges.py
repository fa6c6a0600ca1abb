"""Gauges: age of heartbeats, raw and filtered lag, flips; over virtual time and as events."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.events import SubscriptionChanged
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.run.recorded_events import Gauge
from rmqlab.scenario.scenario import parse_scenario
from rmqlab.sim.cluster import ClusterConfig
from rmqlab.sim.simulate import Simulation
from rmqlab_tools.live.gauges import Flips, GaugeSampler, gauges
from tests.proof.virtual_clock import run_until_ms

SETTLE = 2_504


def start(who, at=0, expr="*", kind="TAG", **more):
    return {"at": at, "do": "start", "who": who, "group": "G", "subscribe": {"T": {"type": kind, "expr": expr}}, **more}


def send(at, *tags, queue=0, props=None):
    messages = [{"body": f"{at}.{i}", "tag": tag, "queue": queue, "props": props or {}} for i, tag in enumerate(tags)]
    return {"at": at, "do": "send", "topic": "T", "messages": messages}


def made(*steps, last=60_000, every=1_000, queues=1):
    text = {"id": "x", "topics": {"T": queues}, "steps": [*steps, {"at": last, "do": "offsets"}]}
    cluster = ClusterConfig(broker=BrokerConfig(enable_property_filter=True))
    return Simulation(
        parse_scenario(json.dumps(text)), cluster=cluster, observers=[partial(GaugeSampler, every_ms=every)]
    )


def simulated(*steps, **settings):
    simulation = made(*steps, **settings)
    return simulation, simulation.run()


def at(simulation, ms):
    """The group's gauge at ms after the first step."""
    return min(simulation.cluster.facts.of(Gauge), key=lambda fact: abs(fact.t - SETTLE - ms)).event


@pytest.mark.row("H-49")
def test_the_age_grows_between_beats_and_beyond_them_when_a_client_falls_silent():
    simulation, _ = simulated(start("A"), {"at": 5_000, "do": "freeze", "who": "A"}, last=140_000)
    ages = [at(simulation, ms).age_ms for ms in range(2_000, 140_000, 1_000)]
    assert max(age for age in ages if age is not None) in range(119_000, 131_000)
    assert all(later == earlier + 1_000 for earlier, later in pairwise(ages[:110]))
    alive, _ = simulated(start("A"), last=140_000)
    assert max(at(alive, ms).age_ms for ms in range(2_000, 140_000, 1_000)) <= 30_000
    gauge = at(alive, 20_000)
    assert gauge.members == {"192.0.2.2@A": gauge.age_ms}


@pytest.mark.row("H-31", "S-52", "S-55")
def test_the_filtered_lag_counts_what_comes_through_both_looks():
    # nobody consumes: the only member is frozen before the messages come
    simulation, _ = simulated(
        start("A", expr="Aa || c"),
        {"at": 5_000, "do": "freeze", "who": "A"},
        send(8_000, "Aa", "BB", "c", "d", "Aa"),
        last=30_000,
    )
    gauge = at(simulation, 20_000)
    assert gauge.raw_lag == 5
    assert gauge.filtered_lag == 3  # BB has Aa's hash code: the broker would send it, the client would drop it


def test_the_filtered_lag_of_sql92():
    steps = [start("A", expr="a > 3", kind="SQL92"), {"at": 5_000, "do": "freeze", "who": "A"}]
    steps += [send(8_000 + n, "t", props={"a": str(n)}) for n in range(1, 7)]
    gauge = at(simulated(*steps, last=30_000)[0], 20_000)
    assert (gauge.raw_lag, gauge.filtered_lag) == (6, 3)


def test_the_second_look_is_the_owners_if_the_owner_is_known():
    steps = [start("A", expr="a"), start("B", 2_000, expr="b")]
    steps += [{"at": 6_000, "do": "freeze", "who": who} for who in "AB"]
    steps += [send(8_000, "a", "b", queue=0), send(8_010, "a", "b", queue=1)]
    simulation, _ = simulated(*steps, queues=2, last=30_000)
    # B's tag is in the slot: of A's queue nothing comes through, of B's the message with b
    assert at(simulation, 20_000).filtered_lag == 1
    other = made(*steps, queues=2, last=30_000)
    run_until_ms(other.world, SETTLE + 20_000)
    # seen from the broker alone, which knows no owners, one message of each queue looks as if it would be consumed
    assert gauges(other.cluster.broker, other.cluster.broker_server.now(), Flips())[0].filtered_lag == 2
    other.world.scheduler.close()


@pytest.mark.row("S-45")
def test_flips_are_other_expressions_not_other_stamps():
    same, _ = simulated(start("A", expr="a||b"), start("B", 2_000, expr="b || a"))
    assert at(same, 30_000).flips_per_minute == {}
    other, _ = simulated(start("A", expr="a"), start("B", 2_000, expr="b"), last=100_000)
    assert at(other, 10_000).flips_per_minute["T"] >= 1
    assert at(other, 99_000).flips_per_minute == {}  # a minute later it is forgotten
    flapping = [
        {"at": 5_000 + 1_000 * n, "do": "subscribe", "who": "A", "topic": "T", "expr": "ab"[n % 2]} for n in range(6)
    ]
    assert at(simulated(start("A", expr="x"), *flapping)[0], 20_000).flips_per_minute == {"T": 6}


def test_a_topic_that_the_group_left_counts_no_lag():
    both = {name: {"type": "TAG", "expr": "*"} for name in "TU"}
    steps = [start("A") | {"subscribe": both}, send(3_000, "a", "b") | {"topic": "U"}]
    steps += [{"at": 15_000, "do": "stop", "who": "A"}, start("B", 20_000), {"at": 60_000, "do": "offsets"}]
    text = json.dumps({"id": "x", "topics": {"T": 1, "U": 1}, "steps": steps})
    simulation = Simulation(parse_scenario(text), observers=[partial(GaugeSampler, every_ms=1_000)])
    simulation.run()
    assert simulation.cluster.broker.consumer_offset_manager.query_offset("G_x", "U_x", 0) == 2
    # the admin tool passes over what a group that is online does not subscribe
    assert at(simulation, 50_000).raw_lag == 0


def test_a_broadcasting_group_claims_no_filtered_lag():
    """Its members keep their offsets to themselves, so every message ever sent looked as if it were to come."""
    simulation, run = simulated(start("A", mode="broadcasting"), send(8_000, "a", "b"), last=30_000)
    assert [fate.fate for fate in run.fates] == ["delivered"] * 2
    assert at(simulation, 20_000).filtered_lag is None


def test_a_topic_that_comes_or_goes_is_no_flip():
    flips, data = Flips(), SubscriptionData("T", "a", tags_set={"a"})
    flips.saw(0, SubscriptionChanged("G", "T", "A", None, data))
    flips.saw(0, SubscriptionChanged("G", "T", "A", data, None))
    assert flips.a_minute("G", 1) == {}


def test_the_events_carry_the_scenarios_names_and_change_nothing_else():
    steps = [start("A", expr="a"), send(8_000, "a", "b")]
    _, watched = simulated(*steps, every=10_000)
    _, alone = simulated(*steps, every=1_000_000)
    gauge = next(event for event in watched.events if event["ev"] == "gauge" and event["members"])
    assert gauge["group"] == "G"
    assert list(gauge["members"]) == ["192.0.2.2@A"]
    assert {"ageMs", "rawLag", "filteredLag", "flipsPerMinute"} <= set(gauge)
    assert [event for event in watched.events if event["ev"] != "gauge"] == alone.events
