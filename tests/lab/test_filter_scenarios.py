"""The article's tag and SQL92 examples in virtual time, and the SQL92 scenarios that were recorded on a real broker."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.errors import BadInput
from rmqlab.lab.articles.sql_filter import FROM_4X, REFUSED, RULES, SURPRISES, SqlFilter, outcome_of
from rmqlab.lab.articles.tag_filter import COLLIDING, GROUPS, TagFilter, one_group, subscribed
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.fates import Fate
from rmqlab.lab.filter_funnel import passage_of
from rmqlab.lab.run import Outcome
from rmqlab.lab.scenario import read_scenarios
from rmqlab.lab.simulate import simulate
from rmqlab.search.explorer.recorded_outcomes import settings_beside


def bodies(names):
    return [int(name.split()[-1]) for name in names]


@pytest.mark.row("F-01", "F-03", "F-04", "F-05")
def test_sixty_messages_with_three_tags():
    run = TagFilter().run()
    tags = Counter(fate.tag for fate in run.fates if fate.group == "Everything")
    assert tags == {"TagA": 20, "TagB": 20, "TagC": 20}
    assert {group: len(passage_of(run, group).delivered) for group in GROUPS} == {
        "Consumer4x": 40,
        "Consumer5x": 60,
        "Everything": 60,
    }
    first = passage_of(run, "Consumer4x")
    assert {step.detail for step in first.steps if step.fate is Fate.DROPPED_BY_BROKER_TAG} == {"TagB"}


@pytest.mark.row("F-52", "F-53", "F-56", "F-95")
def test_colliding_tags_pass_the_broker_and_die_at_the_client():
    run = TagFilter(groups={"G": COLLIDING[0]}, tags=(*COLLIDING, None), messages=3).run()
    passage = passage_of(run, "G")
    fates = [Fate.DELIVERED, Fate.DROPPED_BY_CLIENT, Fate.DROPPED_BY_BROKER_TAG]
    assert [step.fate for step in passage.steps] == fates
    assert [step.fate for step in subscribed(COLLIDING[0], [*COLLIDING, None]).passage("G").steps] == fates


@pytest.mark.row("S-10")
def test_the_order_of_tags_loses_nothing():
    run = one_group("TagA || TagC", "TagC || TagA")
    assert len(passage_of(run, "G").delivered) == 40
    assert not [fate for fate in run.fates if fate.lost]
    run = one_group("TagA || TagC", "TagA")
    assert [fate for fate in run.fates if fate.lost]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"groups": {}}, "must not be empty"),
        ({"tags": ()}, "must not be empty"),
        ({"messages": 0}, "messages is 0"),
        ({"messages": 3_000}, "messages is 3000"),
        ({"queues": 0}, "queues is 0"),
    ],
)
def test_settings_that_cannot_be(settings, problem):
    with pytest.raises(BadInput, match=problem):
        TagFilter(**settings).scenario()


@pytest.mark.row("F-07", "F-10", "F-11", "F-12")
def test_ten_messages_and_two_expressions():
    run = SqlFilter().run()
    found = {group: bodies(passage_of(run, group).delivered) for group in run.scenario.groups()}
    assert found == {"Consumer4x": [0, 1, 3], "Consumer5x": [0, 1, 3, 4, 6, 7, 9]}
    assert [fate.tag for fate in run.fates if fate.group == "Consumer4x"] == [f"Tag{'ABC'[i % 3]}" for i in range(10)]


@pytest.mark.row("F-08", "F-98")
def test_without_the_switch_the_start_fails_and_the_consumer_goes_on_asking():
    run = SqlFilter(groups={"G": FROM_4X}, property_filter=False).run()
    (failed,) = [event for event in run.events if event["ev"] == "startFailed"]
    assert failed["message"].startswith("CODE: 1  DESC: The broker does not support")
    assert [fact for fact in run.facts.of("subscription") if fact["topic"] == "SqlFilterTest"]
    assert {fact["code"] for fact in run.facts.of("pull") if fact["topic"] == "SqlFilterTest"} == {1}
    with pytest.raises(BadInput, match="no filter has judged it"):
        passage_of(run, "G")


@pytest.mark.row("F-13", "F-14", "F-15", "F-16", "F-17", "F-18", "F-19", "F-20", "F-21", "F-22", "F-23", "F-24")
def test_cases_of_the_articles_table():
    differing = {
        (expression, properties.get("a"))
        for rule in RULES
        for expression, properties, expected in rule.cases
        if expected != (REFUSED if (found := outcome_of(expression, properties)) == REFUSED else found == "true")
    }
    assert differing == {("a > '100'", "101"), ("a > 100", "100.5"), ("a > 100", "3000000000"), ("a = 100", "100.0")}


@pytest.mark.row("F-16", "F-25", "F-27")
def test_surprises():
    found = [outcome_of(one.expression, one.properties) for one in SURPRISES]
    assert found[:5] == ["false", "null", "true", "false", "true"]
    assert found[5:] == ["NumberFormatException", "true", "null", "false", "ClassCastException"]


@pytest.fixture(scope="module")
def recorded(golden):
    """Every SQL92 scenario of the three sets, run once with the settings beside it: run and recorded events by id."""
    found = {}
    for name in ("base", "bitmap", "noprop"):
        folder = golden / "broker-4.8.0" / name
        events = {}
        for line in gzip.decompress((folder / "events.jsonl.gz").read_bytes()).splitlines():
            event = json.loads(line)
            events.setdefault(event["id"], []).append(event)
        for scenario in read_scenarios(folder / "scenarios.jsonl"):
            if "SQL92" in scenario.to_json():
                found[scenario.id] = simulate(scenario, cluster=settings_beside(folder)), events[scenario.id]
    return found


def fates(run, group):
    return Counter(fate.fate for fate in run.fates if fate.group == group)


@pytest.mark.row("F-49", "F-62")
def test_with_the_bitmap_layer_1_drops_what_layer_2_drops_without_it(recorded):
    run, events = recorded["p-bmsql-003"]
    assert run.outcome() == Outcome.of_events(events)
    assert fates(run, "G") == {Fate.DROPPED_BY_BROKER_BITMAP: 8, Fate.DELIVERED: 4}
    assert fates(run, "H") == {Fate.DROPPED_BY_BROKER_BITMAP: 5, Fate.DELIVERED: 7}
    without = simulate(run.scenario, cluster=ClusterConfig(broker=BrokerConfig(enable_property_filter=True)))
    assert fates(without, "G") == {Fate.DROPPED_BY_BROKER_SQL: 8, Fate.DELIVERED: 4}
    assert without.outcome() == run.outcome()


@pytest.mark.row("F-60")
def test_a_late_group_leaves_old_messages_to_layer_2(recorded):
    run, events = recorded["p-bmlater-005"]
    assert run.outcome() == Outcome.of_events(events)
    assert fates(run, "H")[Fate.DROPPED_BY_BROKER_SQL] == 4
    assert fates(run, "H")[Fate.DROPPED_BY_BROKER_BITMAP] == 4
    old = {fate.body for fate in run.fates if fate.group == "H" and fate.fate is Fate.DROPPED_BY_BROKER_SQL}
    later = {fate.body for fate in run.fates if fate.group == "H" and fate.fate is Fate.DROPPED_BY_BROKER_BITMAP}
    stored = {event["body"]: event["t"] for event in run.events if event["ev"] == "sent"}
    (start,) = [event["t"] for event in run.events if event["ev"] == "starting" and event["who"] == "C"]
    assert max(stored[body] for body in old) < start < min(stored[body] for body in later)


@pytest.mark.row("F-08", "F-15", "F-98")
@pytest.mark.parametrize("name", ["p-npsql-000", "p-npmix-001", "p-badsql-070", "p-badsql-071", "p-badsql-072"])
def test_a_start_fails_with_the_words_of_the_real_broker(recorded, name):
    run, events = recorded[name]
    told = [(event["who"], event["message"]) for event in run.events if event["ev"] == "startFailed"]
    assert told == [(event["who"], event["message"]) for event in events if event["ev"] == "startFailed"]
    assert bool(told) == (name != "p-badsql-072")
