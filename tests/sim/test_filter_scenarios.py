"""The article's tag and SQL92 examples in virtual time, and the SQL92 scenarios that were recorded on a real broker."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

import rmqlab
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.errors import BadInput
from rmqlab.message.message import Message
from rmqlab.run.fates import Fate
from rmqlab.run.run import Outcome
from rmqlab.scenario.scenario import read_scenarios
from rmqlab.sim.cluster import ClusterConfig, settings_beside
from rmqlab.sim.simulate import simulate
from rmqlab.store.config import CQ_STORE_UNIT_SIZE, MessageStoreConfig


def one_consumer_each(groups, tags, **settings):
    """A group for each subscription, then a message for each tag; who got what in the end."""
    lab = rmqlab.Lab(topics={"TagFilterTest": 4}, **settings)
    for group, expression in groups.items():
        lab.consumer(group, group=group, subscribe={"TagFilterTest": expression})
    lab.run(seconds=30)
    lab.send("TagFilterTest", tags)
    lab.run(seconds=30)
    return lab


@pytest.mark.row("F-01", "F-03", "F-04", "F-05")
def test_sixty_messages_with_three_tags():
    groups = {"Consumer4x": "TagA || TagC", "Consumer5x": "TagA||TagB||TagC", "Everything": "*"}
    fates = one_consumer_each(groups, ["TagA", "TagB", "TagC"] * 20).fates()
    assert Counter(fate.tag for fate in fates.where(group="Everything")) == {"TagA": 20, "TagB": 20, "TagC": 20}
    arrived = Counter(fate.group for fate in fates.where(fate="delivered"))
    assert arrived == {"Consumer4x": 40, "Consumer5x": 60, "Everything": 60}
    assert {fate.tag for fate in fates.where(group="Consumer4x", fate="dropped_by_broker_tag")} == {"TagB"}


@pytest.mark.row("F-52", "F-53", "F-56", "F-95")
def test_colliding_tags_pass_the_broker_and_die_at_the_client():
    lab = one_consumer_each({"G": "Aa"}, ["Aa", "BB", None])
    assert [fate.fate for fate in lab.fates()] == ["delivered", "dropped_by_client", "dropped_by_broker_tag"]
    assert sum(pull.found for pull in lab.pulls().where(topic="TagFilterTest")) == 2


@pytest.mark.row("F-31", "F-51")
def test_the_broker_holds_the_codes_that_the_client_computed():
    lab = one_consumer_each({"G": "TagA || TagC"}, [])
    held = lab.broker.consumer_manager.find_subscription_data("G", "TagFilterTest")
    assert (held.code_set, held.tags_set) == ({2598919, 2598921}, {"TagA", "TagC"})


@pytest.mark.row("F-02")
def test_a_tag_is_one_property_however_it_is_set():
    made, later, twice = Message.of("T", b"x", "TagA"), Message.of("T", b"x"), Message.of("T", b"x", "Other")
    later.tags = twice.tags = "TagA"
    assert made.properties == later.properties == twice.properties
    assert made.properties["TAGS"] == "TagA"


@pytest.mark.row("F-70")
def test_an_entry_has_twenty_bytes_whatever_the_tag_is():
    lab = one_consumer_each({"G": "*"}, ["a", "a" * 100])
    queue = lab.broker.message_store.find_consume_queue("TagFilterTest", 0)
    assert len(queue.get_index_buffer(0, 20)) == CQ_STORE_UNIT_SIZE == 20
    assert MessageStoreConfig().mapped_file_size_consume_queue == 300_000 * 20


@pytest.mark.row("S-10")
@pytest.mark.parametrize(("second", "loses"), [("TagC || TagA", False), ("TagA", True)])
def test_the_order_of_tags_loses_nothing(second, loses):
    lab = rmqlab.Lab(topics={"T": 4})
    lab.consumer("A", group="G", subscribe={"T": "TagA || TagC"})
    lab.consumer("B", group="G", subscribe={"T": second})
    lab.run(seconds=60)
    lab.send("T", ["TagA", "TagB", "TagC"] * 20)
    lab.run(seconds=30)
    assert any(fate.lost for fate in lab.fates()) == loses
    assert loses or len(lab.fates().where(fate="delivered")) == 40
    told = rmqlab.lint({"A": {"T": "TagA || TagC"}, "B": {"T": second}})
    assert str(told.verdict) == ("inconsistent" if loses else "consistent")


FROM_5X = "TAGS is not null and TAGS in ('TagA', 'TagB')"
FROM_4X = f"({FROM_5X})and (a is not null and a between 0 and 3)"


@pytest.mark.row("F-07", "F-10", "F-11", "F-12")
def test_ten_messages_and_two_expressions():
    lab = rmqlab.Lab(topics={"SqlFilterTest": 4})
    for group, condition in {"Consumer4x": FROM_4X, "Consumer5x": FROM_5X}.items():
        lab.consumer(group, group=group, sql92={"SqlFilterTest": condition})
    lab.run(seconds=30)
    tags = [f"Tag{'ABC'[number % 3]}" for number in range(10)]
    bodies = [f"Hello RocketMQ {number}" for number in range(10)]
    lab.send("SqlFilterTest", tags, bodies=bodies, properties=[{"a": str(number)} for number in range(10)])
    lab.run(seconds=30)
    found = {
        group: sorted(int(fate.body.split()[-1]) for fate in lab.fates().where(group=group, fate="delivered"))
        for group in ("Consumer4x", "Consumer5x")
    }
    assert found == {"Consumer4x": [0, 1, 3], "Consumer5x": [0, 1, 3, 4, 6, 7, 9]}
    assert {fate.fate for fate in lab.fates()} == {"delivered", "dropped_by_broker_sql"}


@pytest.mark.row("F-08", "F-98")
def test_without_the_switch_the_start_fails_and_the_consumer_goes_on_asking():
    lab = rmqlab.Lab(topics={"T": 4}, enablePropertyFilter=False)
    with pytest.raises(BadInput, match="CODE: 1  DESC: The broker does not support"):
        lab.consumer("A", group="G", sql92={"T": FROM_4X})
    lab.run(seconds=60)
    lab.send("T", properties=[{"a": "1"}])
    lab.run(seconds=60)
    assert lab.broker.consumer_manager.find_subscription_data("G", "T").sub_string == FROM_4X
    assert len(lab.heartbeats().where(topic="T")) > 3
    assert {pull.code for pull in lab.pulls().where(topic="T")} == {1}
    assert not lab.consumed()


# The article's table of the grammar: cases, and what its words lead one to expect.
REFUSED, GUARD = "refused", "a IS NOT NULL AND"
BRACKETS = f"{GUARD} (a > 100) OR (b IS NULL)"
CASES = (
    ("a IS NULL", {}, True), ("a IS NULL", {"a": "1"}, False),
    ("a IS NOT NULL", {"a": "1"}, True), ("a IS NOT NULL", {}, False),
    (f"{GUARD} a > 100", {"a": "101"}, True), (f"{GUARD} a > 100", {"a": "100"}, False),
    (f"{GUARD} a > 100", {}, False), (f"{GUARD} a > 'abc'", {"a": "101"}, REFUSED),
    ("a > '100'", {"a": "101"}, True), ("a > 100", {"a": "100.5"}, True), ("a > 100.0", {"a": "100.5"}, True),
    ("a > 100", {"a": "3000000000"}, True),
    *((f"{GUARD} (a BETWEEN 10 AND 100)", {"a": a}, a in {"10", "100"}) for a in ("10", "100", "9", "101")),
    *((f"{GUARD} (a NOT BETWEEN 10 AND 100)", {"a": a}, a in {"9", "101"}) for a in ("10", "100", "9", "101")),
    ("a NOT BETWEEN 10 AND 100", {}, False),
    (f"{GUARD} (a IN ('abc', 'def'))", {"a": "abc"}, True), (f"{GUARD} (a IN ('abc', 'def'))", {"a": "x"}, False),
    ("a IN (1, 2)", {"a": "1"}, REFUSED), ("a NOT IN ('abc')", {"a": "x"}, True),
    *((f"{GUARD} (a = 'abc' OR a<>'def')", {"a": a}, a != "def") for a in ("abc", "xyz", "def")),
    (f"{GUARD} (a = 'abc' OR a<>'def')", {}, False), ("a = 100", {"a": "100.0"}, True),
    (BRACKETS, {}, True), (BRACKETS, {"a": "50", "b": "1"}, False), (BRACKETS, {"a": "101", "b": "1"}, True),
    ("a > 100 OR b IS NULL AND a < 0", {"a": "101"}, True),
)  # fmt: skip


@pytest.mark.row("F-13", "F-14", "F-15", "F-16", "F-17", "F-18", "F-19", "F-20", "F-21", "F-22", "F-23", "F-24")
def test_cases_of_the_articles_table():
    answers = [(rmqlab.sql92(text, message), message, expected) for text, message, expected in CASES]
    differing = {
        (one.expression, message.get("a"))
        for one, message, expected in answers
        if expected != (one.matches if one.accepted else REFUSED)
    }
    assert len(CASES) >= 33
    assert differing == {("a > '100'", "101"), ("a > 100", "100.5"), ("a > 100", "3000000000"), ("a = 100", "100.0")}


@pytest.mark.row("F-16", "F-28")
def test_the_literal_decides_how_a_value_is_read():
    cases = {
        ("a > 100", "101"): "true", ("a > 100", "100.5"): "NumberFormatException", ("a > 100.0", "100.5"): "true",
        ("a > 100", "3000000000"): "NumberFormatException", ("a > 2147483648", "3000000000"): "true",
        ("a = 100", "100.0"): "NumberFormatException", ("a = 100", " 100"): "NumberFormatException",
        ("a > 100.0", "1e3"): "true", ("a > 0", "٣"): "true",
    }  # fmt: skip
    assert {case: rmqlab.sql92(case[0], {"a": case[1]}).value for case in cases} == cases
    found = {text: rmqlab.sql92(text) for text in ("a > 100", "a like 'x'", "a != 3")}
    assert [one.read_as for one in found.values()] == ["(a > 100)", "a", ""]
    assert [one.accepted for one in found.values()] == [True, True, False]
    assert "warning" in {finding.severity for finding in found["a like 'x'"].findings}


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
