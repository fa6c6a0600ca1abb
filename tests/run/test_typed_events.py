"""Recorded events are typed where they are read; each event, and each fault, says itself in one place."""

from __future__ import annotations

import ast
import re

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.events import Event
from rmqlab.run.facts import SCENARIO
from rmqlab.run.recorded_events import (
    Assigned,
    Consumed,
    Control,
    Gauge,
    GroupCreated,
    GroupDeleted,
    GroupViewed,
    MessageSent,
    OfConsumer,
    OffsetAsked,
    OffsetReset,
    Owned,
    Received,
    ReceiveFailed,
    Recorded,
    Refused,
    Resized,
    ScenarioBegins,
    Started,
    StartFailed,
    Starting,
    StepFailed,
    Stopped,
    Stopping,
    Subscribed,
    TapCommit,
    TapSent,
    TopicDeleted,
    UnderWay,
    Unplaced,
    Unsubscribed,
    recorded_event,
    recorded_facts,
)
from rmqlab.scenario.fault_steps import FAULTS, Kill

ONE_OF_EACH = [
    ScenarioBegins({"id": "01"}, 5), Refused("no"), Starting("A"), Starting("A", "lite"), Started("A", "1@A"),
    StartFailed("A", "E", "no"), Stopping("A"), Stopped("A"), Subscribed("A", "a"), Unsubscribed("A", "T"),
    Assigned("A", {"T": [0]}), TopicDeleted("T"), GroupCreated("G"), GroupDeleted("G"), Resized("T", 8),
    OffsetReset("G", "T", {"0": 3}), Control("cut @A", "1"), StepFailed("send", "E", "no"), UnderWay("a pull"),
    MessageSent(0, "a", "b", 1, 2, "7F", "0A"), Received("A", "T", "a", 0, 1, "b", 0, "7F"),
    GroupViewed("G", {"clients": []}), Owned("A", {"T": [0]}), OffsetAsked("G", "T", 0, None, 8),
    ReceiveFailed("A", "E", "no"), Gauge("G", {"A": 1}, None, 0, None, filtered_lag_complete=True, flips_per_minute={}),
    TapSent("T", 0, 1, "b", None, "7F", "0A", "P"), Unplaced("T", None), TapCommit("A", "G", "T", 0, 3),
]  # fmt: skip
# Who reads lines of files as they are: what writes and reads JSON, and audits of recordings of others.
READERS_OF_LINES = {
    "rmqlab/run/recorded_events.py", "rmqlab/run/records.py", "rmqlab/run/run.py",
    "rmqlab_tools/recordings/recording_reader.py", "rmqlab_tools/spark/audit/delivery_evidence.py",
    "rmqlab_tools/spark/audit/event_subscriptions.py", "rmqlab_tools/spark/audit/subscription_file.py",
}  # fmt: skip
MODULES = sorted(path for package in ("rmqlab", "rmqlab_tools") for path in (ROOT / package).rglob("*.py"))


def leaves(event=Event):
    below = event.__subclasses__()
    return [leaf for each in below for leaf in leaves(each)] if below else [event]


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
def test_a_line_comes_back_as_the_event_that_wrote_it(event):
    line = event.as_json("01", 7.4)
    assert recorded_event(line | {"new": "of a later driver"}) == event
    (fact,) = recorded_facts([line], type(event))
    assert (fact.t, fact.source, fact.event) == (7, line.get("who", SCENARIO), event)


def test_every_recorded_event_is_read():
    known = {type(event) for event in ONE_OF_EACH} | {Consumed}
    assert {leaf for leaf in leaves(Recorded) if leaf.__module__.startswith("rmqlab.")} <= known


def test_a_base_class_reads_all_that_it_covers_and_strangers_are_left():
    lines = [event.as_json("01", 1) for event in ONE_OF_EACH]
    lines += [{"id": "01", "t": 1, "ev": "of a stranger"}, {"id": "01", "t": 1, "ev": "started"}]
    assert [fact.event for fact in recorded_facts(lines, OfConsumer)] == [
        event for event in ONE_OF_EACH if isinstance(event, OfConsumer)
    ]
    assert [fact.event for fact in recorded_facts(lines, Recorded)] == ONE_OF_EACH


def test_a_run_s_lines_are_its_facts():
    lab = rmqlab.Lab(topics={"T": 2})
    lab.consumer("A", group="G", subscribe={"T": "a"})
    lab.run(seconds=30)
    lab.send("T", ["a", "b"])
    lab.pause("A", 500)
    lab.run(seconds=30)
    run = lab.finish().run
    facts = [fact for fact in run.facts.of(Recorded) if not isinstance(fact.event, ScenarioBegins)]
    begins, *lines = run.recorded(Recorded)
    assert isinstance(begins.event, ScenarioBegins)
    assert [(round(fact.t), fact.event.record()) for fact in facts] == [(fact.t, fact.event.record()) for fact in lines]
    assert {type(fact.event) for fact in lines} >= {Starting, Control, MessageSent, Received, Owned, OffsetAsked}


def test_events_are_read_by_attributes():
    read = re.compile(r"""\b(event|control|sent)\[["'][a-zA-Z]+["']\]|\bevent\.get\(["']""")
    wrong = [
        f"{name}:{number}"
        for path in MODULES
        if (name := path.relative_to(ROOT).as_posix()) not in READERS_OF_LINES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if read.search(line)
    ]
    assert wrong == []


@pytest.mark.parametrize("leaf", [leaf for leaf in leaves() if leaf.__module__.startswith("rmqlab.")])
def test_each_event_says_itself(leaf):
    """By a sentence of its class, by words of its own, or, of recorded ones, as its record."""
    named = set(re.findall(r"\{(\w+)\}", str(leaf.sentence)))
    assert "values" in vars(leaf) or named <= {*leaf.__struct_fields__, "who", "place"}
    own = any("words" in vars(kind) for kind in leaf.__mro__ if kind not in {Event, Recorded, object})
    assert leaf.sentence or own or issubclass(leaf, Recorded), leaf


# Names of events that a page's script has for its controls: what stands there says no event.
CONTROLS = {"rmqlab_tools/show/film/film.py": {"broker", "offset", "waits"}}


def tables_keyed_by(names):
    """Where a dict of texts, or a match on texts, has several of these names: a second place that says them."""
    for path in MODULES:
        module = path.relative_to(ROOT).as_posix()
        names_here = names - CONTROLS.get(module, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
                says = [value for value in node.values if isinstance(value, ast.Call | ast.Constant)]
                if len(keys & names_here) > 1 and len(says) == len(node.values):
                    yield f"{module}:{node.lineno}"


def test_events_and_faults_have_words_in_one_place():
    kinds = {leaf.kind for leaf in leaves()}
    assert list(tables_keyed_by(frozenset(FAULTS))) == []
    assert list(tables_keyed_by(kinds - set(FAULTS))) == []
    assert {name for name, fault in FAULTS.items() if not fault.noun} == {"namesrvDown", "namesrvUp"}
    assert {name for name, fault in FAULTS.items() if fault.befalls} == {"cut", "freeze", "kill", "pause"}
    assert Kill.silently == "falls silent"
