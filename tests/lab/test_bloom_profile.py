"""The bloom profile: the workload, exact counts on the real code path, the sampler, ratios, one cell of the map."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.bloom.cell import KnownFilter, counted_cell, measured_cell, messages_for
from rmqlab.lab.bloom.java import RealBloom
from rmqlab.lab.bloom.profile import ARTICLE_RATIO, DISPATCH, PULL, Phase, Profile, counted_calls, profile
from rmqlab.lab.bloom.sampler import REST, StageSampler, calls, code_of
from rmqlab.lab.bloom.workload import ARTICLE, TOPIC, BloomBroker, Workload
from rmqlab.lab.real.filter import RealFilterMissingError
from rmqlab.message.record import decode_properties

SMALL = Workload(messages=60)


@pytest.mark.row("F-90")
def test_the_articles_load_test():
    assert ARTICLE.expressions() == [f"TAGS in ({', '.join(repr(f'TAG{number}') for number in range(1, 129))})"]
    assert {one["TAGS"] for one in ARTICLE.properties()} == {"TAG128"}


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
def test_selectivity_is_the_share_of_pairs_that_match(share):
    workload = Workload(messages=400, groups=10, selectivity=share, expression="8 tags", user_properties=True)
    broker = BloomBroker(workload, switch=True)
    broker.dispatch()
    figures, answers = counted_cell(broker)
    assert figures["matched"] / 4_000 == pytest.approx(share, abs=0.03)
    assert [sum(broker.pull(group) for group in workload.group_names())] == [figures["matched"]]
    assert sum(map(sum, answers)) == figures["matched"]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"selectivity": 1.5}, "selectivity is 1.5"),
        ({"expression": "9 tags"}, "there are: 8 tags, 128 tags"),
        ({"messages": 0}, "at least one of each"),
        ({"groups": 2_000, "messages": 2_000}, "no more than"),
    ],
)
def test_settings_that_cannot_be(settings, problem):
    with pytest.raises(BadInput, match=problem):
        Workload(**settings)


@pytest.mark.row("F-62", "F-82", "F-87", "F-89", "F-91")
@pytest.mark.parametrize(("share", "groups", "on_pull"), [(1.0, 1, 1), (1.0, 4, 4), (0.0, 4, 0)])
def test_layer_2_works_as_much_with_the_switch_where_everything_matches(share, groups, on_pull):
    found = counted_calls(Workload(messages=60, groups=groups, selectivity=share))
    evaluated = {key: counts["CompiledSql92.evaluate"] for key, counts in found.items()}
    assert evaluated == {
        (DISPATCH, False): 0,
        (PULL, False): groups,
        (DISPATCH, True): groups,
        (PULL, True): on_pull,
    }
    on, off = found[PULL, True], found[PULL, False]
    assert (on["string_to_properties"], off["string_to_properties"]) == (on_pull, groups)
    assert (on["BloomFilter.is_hit"], off["BloomFilter.is_hit"]) == (groups, 0)
    # dispatch decodes in any case, so the bitmap gets the properties for nothing
    assert {found[DISPATCH, switch]["string_to_properties"] for switch in (True, False)} == {1}
    assert found[DISPATCH, True]["ConsumeQueueExt.put"] == 1


def test_forgetting_a_dispatch_leaves_everything_as_it_was():
    broker = BloomBroker(SMALL, switch=True)
    for _ in range(2):
        assert (broker.dispatch(), broker.pull("CID_BLOOM_000"), broker.read("CID_BLOOM_000")) == (60, 60, 60)
        assert len(broker.records()) == 60
        broker.forget()
    assert broker.store.get_max_offset_in_queue(TOPIC, 0) == 0


def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_sampler_sees_where_the_time_goes():
    def twice_as_long():
        busy(0.2)

    def short():
        busy(0.1)

    sampler = StageSampler({code_of(twice_as_long): "long", code_of(short): "short"})
    with sampler.sampling():
        twice_as_long()
        short()
        busy(0.05)
    before = dict(sampler.ticks)
    busy(0.05)
    assert dict(sampler.ticks) == before
    assert before["long"] > before["short"] > 0
    assert before[REST] > 0


def test_calls_are_counted_exactly():
    def inner():
        pass

    def outer():
        for _ in range(7):
            inner()

    assert sorted(calls(outer, [inner, outer]).values()) == [1, 7]


@pytest.mark.row("F-91")
def test_a_profile_has_every_stage_and_survives_a_file():
    workload = replace(ARTICLE, messages=4_000)
    found = profile(workload, runs=1, samplings=4)
    assert set(found.phases) == {(phase, switch) for phase in (DISPATCH, PULL) for switch in (False, True)}
    assert all(0 < one.low <= one.us <= one.high for one in found.phases.values())
    again = Profile.from_json(json.loads(json.dumps(found.as_json())))
    assert again.calls == found.calls
    assert again.workload == workload
    with pytest.raises(BadInput, match="too few: the sampler has not seen layer 2 once"):
        profile(replace(ARTICLE, messages=1), runs=1, samplings=1)


@pytest.mark.row("F-91")
def test_ratios_are_of_the_stages_that_they_name():
    ticks = {
        (DISPATCH, False): {"decode properties": 1, REST: 4},
        (DISPATCH, True): {"decode properties": 1, "evaluate": 1, "set bits": 2, "write extension": 1, REST: 5},
        (PULL, False): {"decode properties": 3, "evaluate": 1, REST: 6},
        (PULL, True): {"read extension": 1, "check bits": 2, "decode properties": 3, "evaluate": 1, REST: 3},
    }
    us = {(DISPATCH, False): 5.0, (DISPATCH, True): 10.0, (PULL, False): 10.0, (PULL, True): 10.0}
    phases = {key: Phase(*key, us[key], us[key], us[key], ticks[key]) for key in us}
    found = Profile(SMALL, phases, {key: {} for key in us}, 1).ratios()
    assert found["article"] == round(6.86 / 5.28, 3) == round(ARTICLE_RATIO, 3)
    assert found["as_the_article"] == (3 + 4) / 4
    assert found["as_the_article_decode_charged"] == (4 + 4) / 4
    assert found["all_stages"] == (3 + 1 + 3 + 4) / 4
    assert found["whole"] == round(20 / 15, 3)


@pytest.mark.row("F-76", "F-77", "F-82")
@pytest.mark.parametrize("expected", [8, 32])
def test_false_hits_of_a_cell_are_as_theory_has_them(expected):
    workload = Workload(messages=60, groups=64, selectivity=0.5, expression="8 tags", expected=expected)
    broker = BloomBroker(workload, switch=True)
    broker.dispatch()
    figures, _ = counted_cell(broker)
    assert figures["passed"] >= figures["matched"]
    assert figures["false_rate"] == pytest.approx(figures["theory_rate"], abs=0.06)
    assert (figures["theory_rate"] > 0.8) == (expected == 8)


def test_a_cell_is_the_same_again_but_for_its_times():
    one, other = (measured_cell(Workload(messages=60, groups=2, selectivity=0.5), turns=1) for _ in range(2))
    counts = ("messages", "matched", "passed", "false_hits", "false_rate", "theory_rate")
    assert {name: one[name] for name in counts} == {name: other[name] for name in counts}
    assert one["floor"] > 0
    assert [messages_for(groups) for groups in (1, 30, 1_000)] == [2_000, 100, 60]


def test_the_floor_gives_what_the_filter_gives():
    broker = BloomBroker(Workload(messages=60, selectivity=0.5), switch=False)
    broker.dispatch()
    one = broker.filter_of("CID_BLOOM_000")
    answers = [one.is_matched_by_commit_log(None, decode_properties(record)) for record in broker.records()]
    assert broker.read("CID_BLOOM_000", KnownFilter(answers)) == broker.read("CID_BLOOM_000") == sum(answers)


@pytest.mark.row("F-62", "F-91")
def test_the_real_classes_match_and_pass_the_same_pairs():
    workload = Workload(messages=60, groups=64, selectivity=0.5, expression="128 tags and 6 conditions",
                        user_properties=True)  # fmt: skip
    broker = BloomBroker(workload, switch=True)
    broker.dispatch()
    figures, _ = counted_cell(broker)
    try:
        with RealBloom() as java:
            found = java.measure(workload, broker.records(), 0, 1)
    except RealFilterMissingError as error:
        pytest.skip(str(error))
    assert (found.matched, found.passed) == (figures["matched"], figures["passed"])
    assert found.passed > found.matched
    assert found.layer_2 > 0
