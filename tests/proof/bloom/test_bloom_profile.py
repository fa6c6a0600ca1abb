"""The bloom profile: the workload, exact counts on the real code path, stages, ratios, the one measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmqlab.errors import BadInput
from tests.proof.bloom.measure import map_workloads, measure, messages_for
from tests.proof.bloom.stages import (
    ARTICLE_RATIO,
    DISPATCH,
    PULL,
    STAGES,
    OurStages,
    Stages,
    counted,
    counted_calls,
    timed_stages,
)
from tests.proof.bloom.workload import ARTICLE, TOPIC, BloomBroker, Workload
from tests.proof.interval import Interval
from tests.proof.real.filter import RealFilterMissingError

pytestmark = pytest.mark.slow

SMALL = Workload(messages=60)


@pytest.mark.row("F-90")
def test_the_articles_load_test():
    assert ARTICLE.expressions() == [f"TAGS in ({', '.join(repr(f'TAG{number}') for number in range(1, 129))})"]
    assert {values["TAGS"] for values in ARTICLE.properties()} == {"TAG128"}


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
def test_selectivity_is_the_share_of_pairs_that_match(share):
    workload = Workload(messages=400, groups=10, selectivity=share, expression="8 tags", user_properties=True)
    counts = counted(workload)
    assert counts.matched / 4_000 == pytest.approx(share, abs=0.03)
    broker = BloomBroker(workload, switch=True)
    broker.dispatch()
    assert sum(broker.pull(group) for group in workload.group_names()) == counts.matched


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
    calls = counted_calls(Workload(messages=60, groups=groups, selectivity=share))
    evaluated = {key: counts["CompiledSql92.evaluate"] for key, counts in calls.items()}
    assert evaluated == {
        (DISPATCH, False): 0,
        (PULL, False): groups,
        (DISPATCH, True): groups,
        (PULL, True): on_pull,
    }
    on, off = calls[PULL, True], calls[PULL, False]
    assert (on["string_to_properties"], off["string_to_properties"]) == (on_pull, groups)
    assert (on["BloomFilter.is_hit"], off["BloomFilter.is_hit"]) == (groups, 0)
    # dispatch decodes in any case, so the bitmap gets the properties for nothing
    assert {calls[DISPATCH, switch]["string_to_properties"] for switch in (True, False)} == {1}
    assert calls[DISPATCH, True]["ConsumeQueueExt.put"] == 1


def test_forgetting_a_dispatch_leaves_everything_as_it_was():
    broker = BloomBroker(SMALL, switch=True)
    for _ in range(2):
        assert (broker.dispatch(), broker.pull("CID_BLOOM_000")) == (60, 60)
        assert len(broker.records()) == 60
        broker.forget()
    assert broker.store.get_max_offset_in_queue(TOPIC, 0) == 0


@pytest.mark.row("F-91")
def test_ratios_are_of_the_stages_that_they_name():
    stages = Stages(decode=40, build=30, write_extension=15, read_extension=10, check=5, layer_2=100, layer_2_passed=60)
    assert stages.as_the_article() == 0.9
    assert stages.ratio() == 1.2
    assert stages.ratio_charged() == 1.6
    assert stages.layer_2_ratio() == 0.6
    assert Stages(*stages.as_json()) == stages
    assert round(ARTICLE_RATIO, 3) == round(6.86 / 5.28, 3)


def test_stages_are_the_medians_of_their_rounds_for_a_message():
    rounds = [[10.0 * number] * len(STAGES) for number in (1, 9, 2)]
    assert Stages.of_rounds(rounds, 10) == Stages(*[2.0] * len(STAGES))


@pytest.mark.row("F-76", "F-77", "F-82")
@pytest.mark.parametrize("expected", [8, 32])
def test_false_hits_are_as_theory_has_them(expected):
    workload = Workload(messages=60, groups=64, selectivity=0.5, expression="8 tags", expected=expected)
    counts = counted(workload)
    assert counts.passed >= counts.matched
    rate = (counts.passed - counts.matched) / (60 * 64 - counts.matched)
    assert rate == pytest.approx(counts.theory_rate, abs=0.06)
    assert (counts.theory_rate > 0.8) == (expected == 8)
    assert counted(SMALL).theory_rate is None


def test_rounds_go_through_all_workloads_and_count_the_same_each_time():
    workloads = [SMALL, replace(SMALL, groups=3, selectivity=0.5)]
    (counts, first), (other, second) = timed_stages(workloads, 2)
    assert (counts, other) == tuple(map(counted, workloads))
    assert all(len(spent) == 2 and len(each) == len(STAGES) for spent in (first, second) for each in spent)
    assert all(ns >= 0 for spent in (first, second) for each in spent for ns in each)


def test_a_round_measures_what_is_there_each_time_anew():
    stages = OurStages(SMALL)
    for number in range(3):
        stages.round(number)
        # one unit that makes the file, and one a message: a round leaves nothing to the next
        assert stages._extension.mapped_file_queue.max_offset == 61 * 34


@pytest.mark.row("F-91", "F-92")
def test_the_map_has_the_articles_case_with_properties_and_without():
    workloads = map_workloads()
    assert workloads[-1] == ARTICLE
    grid = {(workload.selectivity, workload.groups, workload.expression) for workload in workloads[:-1]}
    assert len(grid) == len(workloads) - 1 == len({workload.seed for workload in workloads[:-1]})
    assert (1.0, 1, "128 tags") in grid
    assert {workload.user_properties for workload in workloads[:-1]} == {True}
    assert [messages_for(groups) for groups in (1, 30, 1_000)] == [2_000, 100, 60]


def test_our_classes_alone_in_a_process_of_their_own():
    lines = []
    (cell,) = measure([SMALL], 1, real=False, announce=lines.append)
    assert lines == ["process 1 of 1: our classes"]
    assert cell.sides == ["ours"]
    assert cell.counts == counted(SMALL)
    assert cell.interval("ours") == Interval(*[cell.middle("ours").ratio()] * 3)
    with pytest.raises(BadInput, match="without the real jars"):
        cell.interval("java")


@pytest.mark.row("F-62", "F-91")
def test_the_real_classes_match_and_pass_the_same_pairs(monkeypatch):
    """`measure` compares both sides and refuses what differs."""
    monkeypatch.setattr("tests.proof.bloom.measure.WARM_PAIRS", 1)
    workload = Workload(messages=60, groups=64, selectivity=0.5, expression="128 tags and 6 conditions",
                        user_properties=True)  # fmt: skip
    try:
        cell, other = measure([workload, SMALL], 1)
    except RealFilterMissingError as error:
        pytest.skip(str(error))
    assert cell.counts.passed > cell.counts.matched
    assert other.counts.passed == other.counts.matched == 60
    assert cell.middle("java").layer_2 > 0
