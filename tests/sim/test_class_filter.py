"""The class filter as an experiment: E10, one slot again, and what is left of it in 4.8.0."""

from __future__ import annotations

import itertools

import pytest

from rmqlab.errors import BadInput
from rmqlab.events import Pull, StartFilterServer
from rmqlab.run.recorded_events import Consumed
from tests.proof.class_filter import ClassFilter, MainClassNotFound, source_of
from tests.proof.clients.filter_server import ClassAsked, FilterClassUploaded, FilterServerUp


def numbers(texts):
    return sorted(map(int, texts))


def first(run, kind):
    return next(run.facts.of(kind))


@pytest.mark.row("F-67", "F-99")
def test_e10_of_201_messages_ten_pass_the_class():
    run = ClassFilter().run()
    assert numbers(run.delivered["A"]) == list(range(110, 201, 10))
    times = [first(run, kind).t for kind in (StartFilterServer, FilterServerUp, FilterClassUploaded, Consumed)]
    assert times == sorted(times)
    (started,) = run.facts.of(StartFilterServer)
    assert first(run, FilterServerUp).t - started.t == pytest.approx(4_000, abs=10)
    assert len(list(run.facts.of(ClassAsked))) == 201


@pytest.mark.row("F-99")
@pytest.mark.parametrize("settings", [{"filter_servers": 0}, {"removed": True}])
def test_without_a_filter_server_no_pull_is_made(settings):
    run = ClassFilter(run_ms=60_000, **settings).run()
    assert run.delivered == {"A": []}
    (error,) = run.errors()
    assert error.startswith("Find Filter Server Failed, Broker Addr: 127.0.0.1:10911 topic: ClassFilterTest")
    assert {fact.event.topic for fact in run.facts.of(Pull)} == {"%RETRY%ClassFilterGroup"}


@pytest.mark.row("F-99")
def test_4_8_0_goes_on_starting_a_program_that_is_gone():
    run = ClassFilter(removed=True, run_ms=100_000).run()
    times = [fact.t for fact in run.facts.of(MainClassNotFound)]
    assert len(times) == 4
    assert {later - earlier for earlier, later in itertools.pairwise(times)} == {30_000}


@pytest.mark.row("F-99")
def test_pulls_are_spread_over_all_filter_servers_of_the_broker(monkeypatch):
    from rmqlab.scenario.schedule import SeededChooser
    from tests.proof import class_filter

    cluster = class_filter.Cluster
    monkeypatch.setattr(class_filter, "Cluster", lambda config: cluster(config, SeededChooser(3, 1.0)))
    run = ClassFilter(filter_servers=3).run()
    assert numbers(run.delivered["A"]) == list(range(110, 201, 10))
    assert {fact.source for fact in run.facts.of(ClassAsked)} == {f"filter server {n}" for n in (1, 2, 3)}
    assert {fact.source for fact in run.facts.of(FilterClassUploaded)} == {f"filter server {n}" for n in (1, 2, 3)}


@pytest.mark.row("F-55", "F-99")
def test_two_classes_in_one_group_share_one_slot_and_no_client_looks_again():
    consumers = {"A": "org.example.EveryTenthAbove100", "B": "org.example.BelowTen"}
    run = ClassFilter(consumers=consumers).run()
    assert all(fact.event.stored for fact in run.facts.of(FilterClassUploaded))
    assert {fact.event.class_name for fact in run.facts.of(FilterClassUploaded)} == set(consumers.values())
    # B's class was the last to arrive: A is given what A's own class would have dropped
    assert run.delivered["A"]
    assert max(numbers(run.delivered["A"] + run.delivered["B"])) < 10


@pytest.mark.row("F-99")
def test_one_message_that_makes_the_class_throw_stops_its_queue():
    run = ClassFilter(sequence=[110, "abc", 120], queues=1).run()
    assert run.delivered == {"A": []}
    assert any("do Message Filter Exception" in error for error in run.errors())


def test_a_source_names_its_class():
    assert "public class Some implements" in source_of("org.example.Some")
    assert source_of("org.example.Some").startswith("package org.example;")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"consumers": {"A": "x.Y"}}, "no function plays the class x.Y; there are: org.example"),
        ({"consumers": {}}, "consumers is empty"),
        ({"filter_servers": 9}, "filter_servers is 9"),
        ({"queues": 0}, "queues is 0"),
        ({"sequence": range(3_000)}, "3000 messages"),
    ],
)
def test_settings_that_cannot_be(settings, problem):
    with pytest.raises(BadInput, match=problem):
        ClassFilter(**settings).run()
