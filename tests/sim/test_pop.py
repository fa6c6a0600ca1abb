"""Groups that pop, in virtual time: what the line of waiters loses, who gets what, and what each kind refuses."""

from __future__ import annotations

import json

import pytest

from rmqlab import RULES, Lab
from rmqlab.errors import BadInput
from rmqlab.events import NotWoken, Popped, Waits
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import Received, ReceiveFailed, StartFailed, StepFailed
from rmqlab.scenario.scenario import parse_scenario
from rmqlab.sim.cluster import cluster_of
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.timings import RaceChooser, race_timing

RULES_5 = RULES["5.5.0"]
EVERY_MS = 2_500
POLL_MS = 20_000
TOO_SHORT = "[response-code=40011] the invisibleTime is too small. min is 10000"
KINDS = ("pop", "grpc", "simple")


def ask_everyone(waiters, wants):
    return next(filter(wants, waiters), None)


def group(kind, tags, *, asks=("tagA", "tagB"), every=EVERY_MS, first=9_700, rest=45_000, later=0, **more):
    """Members A and B of one group, and messages with these tags, one at a time, round four queues."""
    steps = [
        {"at": 200 * number, "do": "start", "who": who, "group": "G", "kind": kind, "laterTimes": later,
         "subscribe": {"T": ask if isinstance(ask, dict) else {"expr": ask}}, **more}
        for number, (who, ask) in enumerate(zip("AB", asks, strict=True))
    ]  # fmt: skip
    steps += [
        {"at": first + number * every, "do": "send", "topic": "T",
         "messages": [{"tag": f"tag{tag}", "body": f"{number}", "queue": number % 4}]}
        for number, tag in enumerate(tags)
    ]  # fmt: skip
    steps.append({"at": steps[-1]["at"] + rest, "do": "offsets"})
    return parse_scenario(json.dumps({"id": "x", "topics": {"T": 4}, "steps": steps}))


def run(scenario, rules=RULES_5, seed=None, **settings):
    drawn = {} if seed is None else {"chooser": RaceChooser(seed), "timing": race_timing(scenario)}
    return simulate(scenario, cluster=cluster_of(settings, rules), **drawn)


def lost(result):
    return sum(fate.lost for fate in result.fates)


@pytest.mark.parametrize(("kind", "possible"), [("pop", {5, 6, 7}), ("grpc", {5, 6, 7}), ("simple", {3, 4, 5, 6, 7})])
def test_a_slow_stream_in_blocks_loses_most_and_asking_everyone_loses_none(kind, possible):
    """Real ones: POP push 5 to 7 of 8 in 8 runs, gRPC 6 or 7 in 16, SimpleConsumer 4 to 6 in 6."""
    scenario = group(kind, "AAAABBBB")
    numbers = {lost(run(scenario, seed=seed)) for seed in range(8)}
    assert numbers <= possible
    mended = RULES_5.replace(waiter_to_wake=ask_everyone)
    assert {lost(run(scenario, mended, seed)) for seed in range(8)} == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_stream_in_turn_hides_it(kind):
    assert {lost(run(group(kind, "ABABABAB"), seed=seed)) for seed in range(6)} <= {0, 1, 2}


@pytest.mark.parametrize("kind", KINDS)
def test_members_that_ask_for_the_same_lose_nothing(kind):
    same = "tagA || tagB"
    for every in (0, EVERY_MS):
        result = run(group(kind, "AAAABBBB", asks=(same, same), every=every), seed=3)
        assert {fate.fate for fate in result.fates} == {Fate.DELIVERED}


def test_a_message_that_the_first_in_line_does_not_want_wakes_nobody_and_his_pop_skips_it():
    result = run(group("pop", "AA"))
    first, second = result.fates
    assert (first.fate, first.culprit) == (Fate.DELIVERED, "A")
    assert [(fact.event.client, fact.event.offset) for fact in result.facts.of(NotWoken)] == [("B", 0)]
    assert (second.fate, second.culprit, second.subscription) == (Fate.SKIPPED_BY_POP, "B", "tagB")
    assert second.lost


def test_whose_poll_ends_first_is_first_in_line():
    result = run(group("grpc", "", first=2_000, rest=2_000))
    waits = [fact.event for fact in result.facts.of(Waits)]
    assert [event.client for event in waits] == ["A", "B"]
    assert waits[0].until < waits[1].until


def test_what_waits_in_line_for_nobody_is_not_lost_yet():
    result = run(group("pop", "AA", rest=1_000))
    assert [fate.fate for fate in result.fates] == [Fate.DELIVERED, Fate.WAITING]


@pytest.mark.parametrize(("kind", "comes_again_ms"), [("pop", 10_000), ("grpc", 1_000), ("simple", 15_000)])
def test_what_a_listener_refused_comes_again_for_the_same_expression(kind, comes_again_ms):
    same = "tagA || tagB"
    result = run(group(kind, "A", asks=(same, same), later=1))
    times = [fact.t for fact in result.recorded(Received)]
    assert {fate.fate for fate in result.fates} == {Fate.DELIVERED}
    assert len(times) >= 2
    assert comes_again_ms <= times[1] - times[0] < comes_again_ms + 20_000


def test_a_retry_is_popped_with_the_expression_of_whoever_pops():
    """A was served and stands last in line: the message that comes again wakes B, whatever B asks for."""
    result = run(group("grpc", "A", later=1))
    assert [(fate.fate, fate.culprit, fate.subscription) for fate in result.fates] == [
        (Fate.SKIPPED_BY_POP, "B", "tagB")
    ]
    older = run(group("grpc", "A", later=1), RULES["5.3.3"])  # there a retry wakes nobody
    assert {fate.fate for fate in older.fates} <= {Fate.SKIPPED_BY_POP, Fate.DELIVERED}


def test_a_popped_message_without_an_ack_is_invisible():
    result = run(group("simple", "A", later=9, rest=3_000))
    assert [fate.fate for fate in result.fates] == [Fate.RETRYING]
    assert [fact.event.invisible_ms for fact in result.facts.of(Popped)] == [15_000]


def test_a_tag_with_the_same_hash_code_is_acknowledged_by_the_proxy():
    steps = [
        {"at": 0, "do": "start", "who": "A", "group": "G", "kind": "grpc", "subscribe": {"T": {"expr": "Aa"}}},
        {"at": 200, "do": "start", "who": "B", "group": "G", "kind": "grpc", "subscribe": {"T": {"expr": "BB"}}},
        {"at": 5_000, "do": "send", "topic": "T", "messages": [{"tag": "BB", "body": "m", "queue": 0}]},
        {"at": 9_000, "do": "offsets"},
    ]
    result = run(parse_scenario(json.dumps({"id": "x", "topics": {"T": 1}, "steps": steps})))
    assert [(fate.fate, fate.culprit, fate.lost) for fate in result.fates] == [(Fate.ACKED_BY_PROXY, "A", True)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_version_without_pop_says_so_in_one_line(kind):
    words = rf"steps\[0\].kind is '{kind}': 4.8.0 has no POP; use push or lite, or version 5.3.3 or 5.5.0"
    with pytest.raises(BadInput, match=words):
        simulate(group(kind, "A"))
    with pytest.raises(BadInput, match=r"4\.8\.0 has no POP"):
        Lab(topics={"T": 1}).consumer("A", group="G", subscribe={"T": "*"}, kind=kind)


@pytest.mark.parametrize("kind", ["push", "lite"])
def test_a_version_without_a_proxy_names_those_that_have_it(kind):
    start = {
        "at": 0,
        "do": "start",
        "who": "A",
        "group": "G",
        "kind": kind,
        "via": "proxy",
        "subscribe": {"T": {"expr": "*"}},
    }
    scenario = parse_scenario(json.dumps({"id": "x", "topics": {"T": 1}, "steps": [start]}))
    words = r"steps\[0\].via is 'proxy': 4.8.0 has no proxy; leave it out, or use version 5.3.3 or 5.5.0"
    with pytest.raises(BadInput, match=words):
        simulate(scenario)


def sql(*conditions):
    return tuple({"type": "SQL92", "expr": condition} for condition in conditions)


def test_sql92_without_property_filter_is_refused_at_the_start_over_remoting_and_served_over_grpc():
    asks = sql("TAGS = 'tagA'", "TAGS = 'tagB'")
    refused = run(group("pop", "A", asks=asks), enablePropertyFilter=False)
    assert [fact.event.who for fact in refused.recorded(StartFailed)] == ["A", "B"]
    served = run(group("grpc", "A", asks=asks), enablePropertyFilter=False)
    assert [fate.fate for fate in served.fates] == [Fate.DELIVERED]


def test_an_expression_that_is_none_is_taken_over_grpc_without_a_word_and_gets_nothing():
    result = run(group("grpc", "A", asks=sql("a > ", "a > "), rest=5_000))
    assert not list(result.recorded(StartFailed, StepFailed))
    assert [fate.fate for fate in result.fates] == [Fate.WAITING]


def test_an_invisibility_below_ten_seconds_is_refused():
    result = run(group("simple", "A", invisible=5, rest=3_000))
    refused = next(result.recorded(ReceiveFailed)).event
    assert (refused.error, refused.message) == ("BadRequestException", TOO_SHORT)
    assert [fate.fate for fate in result.fates] == [Fate.WAITING]


def test_a_lab_pops():
    lab = Lab(topics={"T": 4}, version="5.5.0")
    for who, tag in (("A", "tagA"), ("B", "tagB")):
        client = lab.consumer(who, group="G", subscribe={"T": tag}, kind="grpc")
    assert repr(client) == "<PushConsumer B of group G: T TAG tagB>"
    lab.run(ms=3_000)
    for number in range(2):
        lab.send("T", "tagA", queues=number)
        lab.run(ms=EVERY_MS)
    lab.run(ms=POLL_MS)
    assert [(row.fate, row.lost) for row in lab.fates()] == [("delivered", False), ("skipped_by_pop", True)]
