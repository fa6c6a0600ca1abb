"""What notebook 05 and its tasks say, sentence by sentence. What was measured is judged by its intervals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.lab.bloom.map import stored_map
from tests.proof.bloom.measure import PROCESSES
from rmqlab.lab.bloom.stages import (
    ARTICLE_BUILD,
    ARTICLE_RATIO,
    ARTICLE_WITH,
    ARTICLE_WITHOUT,
    DISPATCH,
    PULL,
    Stages,
    counted,
    counted_calls,
)
from rmqlab.lab.bloom.workload import ARTICLE, TOPIC, BloomBroker, Workload
from rmqlab.lessons.checks_05 import COUNTED, TEAMS
from rmqlab.show.bloom import tables
from rmqlab.show.bloom.false_hits import bloom_false_hits

LESSON = "05_bloom_profile"
SETTING = (
    "The article's own conclusion: the speed of producing and consuming barely differs;",
    "So percentages cannot be had again, but ratios can",
    "Below 1 it is cheaper, above 1 it is dearer.",
    "First a small measurement, now, in this notebook",
    "Two workloads: the article's, and one in which many groups match nothing.",
    "Times differ from run to run, so the stored page keeps what comes out the same",
    "That takes minutes, so it was measured once and stored",
    "Each pair of bars is in units of its own layer 2 without the switch.",
    "Three things to see.",
    "Now the same test twice:",
    "A ratio without the message that it was measured on says little; the article gives none.",
    "The first row has the article's own figures; the other rows ask",
    "This is counted now, on the broker in this notebook",
    "A percentage of all CPU is a share of something that changed as well.",
    "All cells were measured in the same processes, one after the other in each round.",
    "The frame is the article's case: one group, everything matches.",
    "That is told as far as the five processes agree.",
    '"50% to 75%" means:',
    "In between they disagree, or nothing was measured.",
    '"below 10%?" means:',
    "They were counted in the same cells.",
    "Any cell of the map.",
    "What the switch did in each of the five processes of the real classes",
    "Set expectConsumerNumUseFilter to the groups that match one message, not to all groups there are.",
    "What was not measured: a disk that is busy",
    "Now the tasks: count before you run",
    "100 messages, 8 groups.",
    "Once no group matches any message, once every group matches every message.",
    "How many expressions does the broker evaluate in all",
    "Halved: a topic of all events of a company",
    "Four teams ask whether to switch it on for their topic.",
    "Each has nothing else on it.",
)


@pytest.fixture(scope="module")
def found():
    return stored_map()


@pytest.fixture(scope="module")
def case(found):
    return found.cell(1.0, 1, "128 tags")


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


def turns(found):
    """Where the real classes' gain turns into a loss, by expression and groups."""
    return {
        (name, many): found.turn(many, name, "java") for name in found.axis("expression") for many in found.axis("groups")
    }  # fmt: skip


@pytest.mark.row("F-90", "F-91")
@pytest.mark.claim(
    "The filter is TAGS in ('TAG1', …, 'TAG128'), the tag of the messages is TAG128.",
    "Without the bloom filter layer 2 takes some of all CPU (5.28 %).",
    "With it, more goes (4.2 %) into building the index and the rest (2.66 %) into layer 2.",
    "The article's two statements seem to quarrel: filtering costs 1.30 times as much, and the speed barely differs.",
    "By its own figures the switch takes 1.58 of 100 parts of all CPU more",
    "The article shows layer 2 halved by the switch: from 5.28 % to 2.66 %.",
)
def test_the_articles_figures():
    assert (ARTICLE_WITHOUT, ARTICLE_BUILD, ARTICLE_WITH) == (5.28, 4.2, 2.66)
    assert {one["TAGS"] for one in ARTICLE.properties()} == {"TAG128"}
    assert round(ARTICLE_RATIO, 2) == 1.30
    assert round(ARTICLE_BUILD + ARTICLE_WITH - ARTICLE_WITHOUT, 2) == 1.58
    assert pytest.approx(0.5, abs=0.005) == ARTICLE_WITH / ARTICLE_WITHOUT


@pytest.mark.claim(
    "A figure is the median of five processes.",
    "In brackets stand the lowest process and the highest.",
    "Each number below is a cell, its messages with 8 properties.",
    "with messages that carry 8 properties, five of them the user's, and with messages that carry 3.",
)
def test_how_it_was_measured(found, case):
    assert PROCESSES == 5
    assert {len(each) for one in found.cells for each in one.processes.values()} == {5}
    assert {tables.properties_of(one.workload) for one in found.cells} == {8}
    assert tables.properties_of(found.bare.workload) == 3
    assert replace(case.workload, user_properties=False, seed=ARTICLE.seed) == found.bare.workload == ARTICLE


@pytest.mark.row("F-91")
@pytest.mark.claim(
    "So the article's case is clearly dearer, and the other is not.",
    "The direction is the article's: with the switch filtering was dearer, in each process, by our classes and by the real "
    "ones.",
    "The article's two parts are not all there is.",
    "In the real classes storing a unit means two calls into the system, and that is the longest bar.",
    "Storing and reading the bits is part of the price.",
    "Measured, layer 2 costs about the same with the switch and without it: 1 lies within the brackets.",
    "With all stages counted the real classes come to 9.5 to 16.5 parts",
)
def test_the_articles_case(case):
    for side in case.sides:
        for figure in (Stages.as_the_article, Stages.ratio):
            assert case.interval(side, figure).above(1)
        layer_2 = case.interval(side, Stages.layer_2_ratio)
        assert layer_2.low <= 1 <= layer_2.high
    middle = case.middle("java")
    assert middle.write_extension > max(middle.build, middle.check, middle.read_extension, middle.layer_2_passed)
    more = case.interval("java").scaled(ARTICLE_WITHOUT).plus(-ARTICLE_WITHOUT)
    assert (round(more.low, 1), round(more.high, 1)) == (9.5, 16.5)


@pytest.mark.claim(
    "One test, two answers, and both are right.",
    "Layer 2 decodes all properties of a message, so it costs more the more there are.",
    "What storing a bitmap costs does not depend on them.",
    "So the fewer properties, the worse the switch looks.",
    "How much a message carries changes the ratio, and the article does not say it.",
)
def test_fewer_properties_make_the_switch_look_worse(found, case):
    few, many = found.bare, case
    for side in found.sides:
        assert few.interval(side).low > many.interval(side).high, side
        layer_2 = [one.interval(side, lambda stages: stages.layer_2).median for one in (few, many)]
        assert layer_2[0] < 0.7 * layer_2[1]
        writes = [one.interval(side, lambda stages: stages.write_extension) for one in (few, many)]
        assert max(one.low for one in writes) <= min(one.high for one in writes)


@pytest.mark.row("F-62", "F-82", "F-87", "F-91")
@pytest.mark.claim(
    "4.8.0 decodes them there in any case, to find tag and keys, so the bitmap gets them for nothing.",
    "Whoever charges them to the switch gets a worse verdict.",
    "The last two lines are the point.",
    "Every message has TAG128, and TAG128 is in the list.",
    "So every message has the group's bits, layer 1 rejects nothing, and layer 2 decodes and evaluates exactly as often as "
    "before.",
    "With one group and everything matching, layer 1 cannot reject anything: the test shows the price and not the gain.",
    "The switch does not halve layer 2 there.",
    "Calls are equal; the cause lies elsewhere.",
    "and it is the same on every machine.",
)
def test_calls_of_the_articles_case(case):
    calls = counted_calls(replace(ARTICLE, messages=60))
    assert calls == counted_calls(replace(ARTICLE, messages=60))
    assert calls[DISPATCH, False]["string_to_properties"] == calls[DISPATCH, True]["string_to_properties"] == 1
    for name in ("string_to_properties", "CompiledSql92.evaluate"):
        assert calls[PULL, False][name] == calls[PULL, True][name] == 1
    assert counted(replace(ARTICLE, messages=60)).passed == 60
    assert all(one.ratio_charged() > one.ratio() for side in case.sides for one in case.processes[side])
    assert all(case.interval(side, Stages.layer_2_ratio).above(0.6) for side in case.sides)


@pytest.mark.row("F-92")
@pytest.mark.claim(
    "Layer 1 pays when it rejects.",
    "By the real classes one group paid in no process, at no share that was measured.",
    "From 4 groups on, a share of 5 % or less paid in each process, whatever the expression.",
    "With one group there is nobody to share the cost with.",
    "By our classes no cell paid in each process.",
    "Leave it off for one group or two: no cell of theirs paid in each process.",
    "And for groups that want most of what is sent: at 75 % and more no cell paid.",
    "Consider it from 4 groups on, if they filter one topic by SQL92 and each wants little of it: 5 % or less paid here in "
    "each process.",
    "More groups bring a gain, a larger share of matches takes it away.",
)
def test_where_it_pays(found):
    for cell in found.cells:
        one, ratio = cell.workload, cell.interval("java")
        if one.groups == 1:
            assert ratio.above(1)
        if one.groups <= 2:
            assert not ratio.below(1)
        if one.groups >= 4 and one.selectivity <= 0.05:
            assert ratio.below(1), one
        if one.selectivity >= 0.75:
            assert not ratio.below(1)
        assert not cell.interval("ours").below(1)
    medians = {groups: found.cell(0.05, groups, "128 tags").interval("java").median for groups in (1, 2, 4, 8)}
    assert list(medians.values()) == sorted(medians.values(), reverse=True)
    row = [one.interval("java").median for one in found.row(8, "128 tags")]
    assert row == sorted(row)


@pytest.mark.row("F-91", "F-92")
@pytest.mark.claim(
    "Everything matching is the dearest share, or cannot be told from it, in 47 of 48 rows of the map.",
    "Beyond doubt it is so in 6.",
    "that it is the worst, these measurements do not prove.",
)
def test_whether_the_articles_case_is_the_worst(found):
    assert tables.worst(found).caption.endswith("100 % alone in 6 of 48, among those that the intervals leave in 47")
    one = [cell.interval("java") for cell in found.row(1, "128 tags")]
    assert max(each.high for each in one[:-1]) > one[-1].low


@pytest.mark.claim(
    "In Python reading and checking bits costs nearly as much as layer 2 itself, so there is little to win; in Java it "
    "costs a tenth of it.",
    "In Java, on the other hand, the unit's way into the file weighs more than layer 2.",
)
def test_why_the_two_sides_differ(case):
    def bits(stages):
        return (stages.read_extension + stages.check) / stages.layer_2

    assert 0.7 < case.interval("ours", bits).median < 1
    assert case.interval("java", bits).median == pytest.approx(0.1, abs=0.03)
    assert case.interval("java", lambda one: one.write_extension / one.layer_2).above(1)
    assert case.interval("ours", lambda one: one.write_extension / one.layer_2).below(1)


@pytest.mark.row("F-76", "F-77")
@pytest.mark.claim(
    "The broker expects 32 groups unless told otherwise.",
    "Counted and computed agree within 3.8 points.",
    "not many groups, but many groups that match the same message.",
    "At 5 % matching even 128 groups, four times as many as configured, give 0.50 % false hits.",
    "Where 75 % of them match, layer 1 lets 81.62 % of the others pass; but there it had little to reject in any case.",
    "None of these counts has to be believed: a cell carries its seed.",
)
def test_false_hits(found):
    assert BrokerConfig().expect_consumer_num_use_filter == 32 == 128 / 4
    assert "The widest gap between the two is 3.8 points." in bloom_false_hits(found).alt
    rates = {(groups, share): hits / others for groups, share, hits, others, _ in found.false_hits()}
    assert round(100 * rates[128, 0.05], 2) == 0.50
    assert round(100 * rates[128, 0.75], 2) == 81.62
    assert [rates[groups, 0.75] for groups in (1, 2)] == [0, 0]
    one = found.cell(0.5, 64, "128 tags")
    assert counted(one.workload).passed == one.counts.passed


@pytest.mark.claim(
    "the smallest number of groups with which the real classes gain something in each process, and up to which share",
    "a cell in which the processes disagree",
    "what six conditions more change with 8 groups, and what they do not change with one.",
)
def test_what_is_worth_finding_can_be_found(found):
    at = turns(found)
    assert min(many for (_, many), turn in at.items() if turn.pays is not None) == 4
    ratios = [one.interval("java") for one in found.cells]
    assert any(not one.below(1) and not one.above(1) for one in ratios)
    assert at["128 tags", 8] != at["128 tags and 6 conditions", 8]
    assert at["128 tags", 1] == at["128 tags and 6 conditions", 1]
    assert "50% to 75%" in map(str, at.values())


@pytest.mark.row("F-89")
@pytest.mark.claim(
    "It costs at the write, for each message, whether anybody pulls or not.",
    "For tags alone it brings nothing: layer 1 compares hashes in any case.",
    "Units are still written.",
)
def test_units_are_written_whoever_subscribes():
    class NoSqlGroup(BloomBroker):
        def _subscribe(self, group, text, channel):
            """Nobody filters by SQL92."""

    broker = NoSqlGroup(Workload(messages=5), switch=True)
    broker.dispatch()
    extension = broker.store.find_consume_queue(TOPIC, 0).consume_queue_ext
    assert extension.mapped_file_queue.max_offset == 5 * 20  # units without a bitmap


@pytest.mark.row("F-82", "F-91", "F-92")
@pytest.mark.claim(
    "With it each group's expression is evaluated at dispatch, for every message.",
    "If nobody matches, layer 1 rejects all, and the pulls evaluate nothing: as many evaluations, at another place.",
    "If everybody matches, all of them are made twice.",
    "So there is nothing to gain in evaluations here: the gain is in properties decoded once for all groups.",
    "its bits are set, stored, read and checked, and layer 2 evaluates as often as before.",
    "The costlier expression of regions is evaluated once more for everybody at dispatch, and still most decoding is saved.",
)
def test_the_solutions():
    for name, again in (("nobody", 0), ("everybody", 8)):
        calls = counted_calls(COUNTED[name])
        evaluated = {key: each["CompiledSql92.evaluate"] for key, each in calls.items()}
        assert evaluated == {(DISPATCH, False): 0, (PULL, False): 8, (DISPATCH, True): 8, (PULL, True): again}
    assert counted_calls(COUNTED["nobody"])[PULL, True]["string_to_properties"] == 0
    team = TEAMS["regions"]
    few = Workload(20, team.groups, team.selectivity, team.expression, user_properties=True)
    calls = counted_calls(few)
    assert calls[PULL, True]["string_to_properties"] < calls[PULL, False]["string_to_properties"] / 2
    assert calls[DISPATCH, True]["CompiledSql92.evaluate"] == team.groups
