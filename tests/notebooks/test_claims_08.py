"""What notebook 08 and its tasks say, sentence by sentence."""

from __future__ import annotations

import json
import re

import pytest

import rmqlab
from rmqlab.events import Commit, Filtered, Notify, Rebalance, Restamp
from rmqlab.run.recorded_events import Consumed
from rmqlab.scenario.scenario import Send, Start
from rmqlab_tools.course.articles.e1_expected import printed
from rmqlab_tools.course.checks_08 import meet
from tests.proof.rare_outcomes import delivered, eight, stored
from tests.search.recorded_races import recorded_races

LESSON = "08_every_schedule"
SETTING = (
    "In your my_rules.py the rule takes the place of that of lesson 01, which is kept in my_rules_earlier.py.)",
    "Over all orders of all frames: in how many ways can the eight messages end?",
    "The real broker was recorded with two such consumers.",
    "In how many percent of the recordings did the last starter get messages, and the first one none?",
    "You can give each option of each choice the same weight, or each order.",
    "Four queues, and A starts 12 s before B.",
    "The same two outcomes as in the tree, each option of each choice alike and each order alike:",
    "They are different texts, somebody gets a message, and no message of tagA or tagB is lost in any order.",
    "Write update_subscription so that the outcome does not depend on the order: every order ends alike, whoever starts",
    "The judge starts both members at once, once with A first, once with B first, and looks at every order.",
    "A subscription has topic, sub_string, tags_set, sub_version;",
)
HOUR_MS = 3_600_000


def of_topic(run, kind):
    return [fact for fact in run.facts.of(kind) if fact.event.topic == "T"]


@pytest.fixture(scope="module")
def some():
    """As the lesson begins."""
    return meet().explore(budget=60)


@pytest.fixture(scope="module")
def rare():
    return {one.name: one for one in stored()}


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "Both are in one consumer group. Eight messages come, two are delivered.",
    "60 runs found two outcomes. The line above the bars says that the explorer did not try every order.",
    "With the group at rest its experiment has two outcomes. Six messages are lost in both.",
)
def test_two_outcomes_and_six_lost(some, shown):
    assert not some.exhausted
    assert some.searched + some.sampled == 60
    assert "2 outcomes (not exhausted" in shown["explore"]
    assert {one.words for one in some.outcomes} == {"B gets MsgStr6 MsgStr7", "A gets MsgStr0 MsgStr1"}
    assert all(len(one.lost) == 6 for one in some.outcomes)
    assert "runs, every order: True" in shown["guessed"]


@pytest.mark.claim(
    "The whole search takes several hundred runs. A smaller lab is quicker: two queues and four messages. The explorer tries each option of each choice.",
    "Nobody was unlucky: three of the four messages are lost in each order. Only the winner is open.",
)
def test_every_order_of_half_the_group(shown):
    """The cell asserts that the search came to its end and that each outcome loses three."""
    assert "2 outcomes (all there are)" in shown["whole"]
    schedules, runs = re.search(r"([\d,]+) schedules, (\d+) runs", shown["table"]).groups()
    assert int(schedules.replace(",", "")) > 1_000 * int(runs) > 0
    whole = int(re.search(r"messages: (\d+) runs", shown["guessed"])[1])
    assert int(runs) < whole < 1_000


@pytest.mark.claim(
    "The list of all choices is a schedule.",
    "You can send a schedule to a colleague, and the run is the same, byte for byte:",
)
def test_a_schedule_repeats_its_run(some):
    a_wins = next(one for one in some.outcomes if one.outcome.bodies_of("A"))
    again = rmqlab.simulate(json.loads(meet().scenario().to_json()), schedule=a_wins.schedule)
    assert again.lines() == a_wins.run.lines() != rmqlab.simulate(meet().scenario()).lines()


@pytest.mark.row("S-84", "S-86")
@pytest.mark.claim(
    "B has started, so both members divide the queues again. Each member asks who is there, takes its queues and stamps its subscription anew. The member that stamps first has the lower stamp. So the other member wins.",
    "Nobody decides who wins. A few frames race, and with clocks that agree the member that stamps first loses.",
)
def test_who_is_ahead_loses(some):
    winners = set()
    drawn = [rmqlab.simulate(meet().scenario(), seed=seed).run for seed in range(6)]
    for run in (*(one.run for one in some.outcomes), *drawn):
        b_began = next(event["t"] for event in run.events if event["ev"] == "starting" and event["who"] == "B")
        race = [fact for fact in of_topic(run, Restamp) if b_began <= fact.t < b_began + 5_000]
        assert {fact.event.client for fact in run.facts.of(Notify) if fact.t >= b_began} == {"A", "B"}
        ahead, behind = race
        assert ahead.event.version < behind.event.version
        assert run.outcome().bodies_of(behind.source)
        assert not run.outcome().bodies_of(ahead.source)
        winners.add(behind.source)
    assert winners == {"A", "B"}


@pytest.mark.claim(
    "So the article's picture is the likely one, and not the only one. p-article-000 has the article's tags, messages and number of queues. In that recording A won. In the article's print B won.",
    "The article's printed run is the likelier one on a network. The real broker has done both.",
)
def test_the_recording_of_the_articles_group(shown):
    recorded = rmqlab.Lab.from_recording("data/golden/broker-4.8.0/base", "p-article-000")
    (send,) = [step for step in recorded.scenario.steps if isinstance(step, Send)]
    articles = [(one["body"], one["tag"], one["queueId"]) for one in printed()["sent"]]
    assert [(one.body, one.tag, one.queue) for one in send.messages] == articles
    assert recorded.scenario.topics == {"T": len({queue for *_, queue in articles})}
    assert recorded.outcome().bodies_of("A")
    assert not recorded.outcome().bodies_of("B")
    assert printed()["printed"]["A"] == []
    assert len(printed()["printed"]["B"]) == 2
    count, percent = map(int, re.search(r"(\d+) recordings, the last starter won in (\d+) %", shown["races"]).groups())
    races = recorded_races()
    assert (count, percent) == (37, 84)
    assert (len(races), round(100 * sum(race.won_by_last for race in races) / len(races))) == (37, 84)
    assert "first starter won: p-article-000" in shown["races"]


@pytest.mark.row("S-86")
@pytest.mark.claim("Nothing in RocketMQ makes two clocks agree.")
def test_a_clock_an_hour_ahead(rare, shown):
    lab = rmqlab.Lab(topics={"T": 4})
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": f"tag{who}"})
        if who == "A":
            lab.clock("A", HOUR_MS)
        lab.run(seconds=60)
    run = lab.finish().run
    stamps = {who: {f.event.version for f in of_topic(run, Restamp) if f.source == who} for who in "AB"}
    assert max(stamps["A"]) - max(stamps["B"]) > HOUR_MS - 120_000  # nobody corrected either
    assert [one.consumed for one in rare["A's clock is an hour ahead"].outcomes] == [{"A": ["MsgStr2", "MsgStr3"]}]
    rows = dict(line.rsplit(maxsplit=1) for line in shown["clocks"].splitlines() if line[-1:].isdigit())
    assert rows["an hour ahead"] == "8"


@pytest.mark.claim(
    "The race is gone: one outcome is left. But three of the four are still lost. The order was never the fault."
)
def test_a_counter_ends_the_race(shown):
    rows = [line.split() for line in shown["mine-table"].splitlines()[2:]]
    assert [(row[:2], row[2], row[-1]) for row in rows] == [(["the", "clock"], "2", "3"), (["a", "counter"], "1", "3")]


@pytest.mark.claim(
    "So far the group was at rest before the messages came. What if the group is not at rest? The eight messages were explored under eight circumstances, with a limited number of runs.",
    "The list of two outcomes holds only for a group at rest. While B starts, a message may find no filter that lets it pass, and nobody gets anything.",
    "All eight arrive in none of these outcomes.",
)
def test_rarer_outcomes(rare):
    assert len(rare) == 8
    assert all(one.searched + one.sampled <= 900 and one.exhausted == (name == "usual") for name, one in rare.items())
    assert len(rare["usual"].outcomes) == 2
    counts = [delivered(one.consumed) for each in rare.values() for one in each.outcomes]
    assert (min(counts), max(counts)) == (0, 6)
    (nothing,) = [one for one in rare["sent while B starts"].outcomes if not one.consumed]
    assert {fate.lost for fate in nothing.told().fates} == {True}
    sent = {name: [s.at for s in eight(name).steps if isinstance(s, Send)] for name in ("usual", "sent while B starts")}
    assert sent["sent while B starts"] < sent["usual"]
    run = meet().finish().run
    first = min(event["t"] for event in run.events if event["ev"] == "sent")
    assert max(fact.t for fact in of_topic(run, Restamp) if fact.t < first + 5_000) < first


@pytest.mark.row("S-88")
@pytest.mark.claim(
    "When a member goes, the other one takes the member's queues and reads on from the committed offset. Then the group "
    "gets messages again that it had passed by, some even twice."
)
def test_who_takes_queues_over_reads_on_from_the_committed_offset(rare):
    ends = {"A": ["MsgStr0", "MsgStr1"], "B": ["MsgStr4", "MsgStr4", "MsgStr5", "MsgStr5"]}
    (twice,) = [one for one in rare["B is cut off"].outcomes if one.consumed == ends]
    run = twice.told()
    sent = max(event["t"] for event in run.events if event["ev"] == "sent")
    taken = next(
        f for f in of_topic(run, Rebalance) if f.source == "A" and f.t > sent and f.event.queues == [0, 1, 2, 3]
    )
    passed = {
        (f.event.queue, f.event.offset) for f in of_topic(run, Filtered) if f.t < taken.t and f.event.client == "B"
    }
    got = {(f.event.queue, f.event.offset) for f in of_topic(run, Consumed) if f.t > taken.t and f.source == "A"}
    assert got == passed == {(2, 0), (3, 0)}
    assert not [f for f in of_topic(run, Commit) if f.event.queue in (2, 3) and f.event.offset and f.t < taken.t]


@pytest.mark.row("S-84")
@pytest.mark.claim(
    "In one recording the messages came half a second after the two starts began, and the group was not at rest.",
    "Our clients start in no time, so the same steps end otherwise:",
)
def test_a_group_that_was_not_at_rest():
    late = rmqlab.Lab.from_recording("data/golden/broker-4.8.0/base-2", "h-loss-013")
    assert [step.at for step in late.scenario.steps if isinstance(step, Start)] == [0, 0]
    assert [step.at for step in late.scenario.steps if isinstance(step, Send)] == [501]
    events = late.run.events
    sent = [event["t"] for event in events if event["ev"] == "sent"]
    values = [(e["t"], e["view"]["subs"]["T"].partition("@")[0]) for e in events if e["ev"] == "broker"]
    assert values[-1][1] == "TAG:tagB"
    assert {value for t, value in values if t < sent[0]} == {"TAG:tagA"}
    assert sent[0] < values[-1][0] < sent[-1]
    assert sum(fate.lost for fate in late.fates()) == 5
    assert rmqlab.simulate(late.scenario).outcome() != late.outcome()


@pytest.mark.claim(
    "Why. Both ask for the same messages. So it does not matter whose slot it is, nor who owns a queue.",
)
def test_two_texts_with_one_meaning():
    assert str(rmqlab.lint({"A": {"T": "tagA || tagB"}, "B": {"T": "tagB||tagA"}}).verdict) == "consistent"
    assert not any(fate.lost for fate in meet(queues=2, tags=("tagA || tagB", "tagB||tagA")).fates())


@pytest.mark.row("S-66")
@pytest.mark.claim(
    "Now nobody gets a message, whoever starts first. No message is lost: all wait, and the lag grows.",
    "One of these four wrong rules does that.",
    'See rmqlab.RULES["4.8.0"].source("is_latest").',
    "The broker now passes both tags.",
)
def test_rules_of_the_tasks():
    """That the right ones pass and others do not is in test_checks_08."""
    rules = rmqlab.RULES["4.8.0"]
    first = rules.replace(update_subscription=lambda held, told: {new.topic: held.get(new.topic, new) for new in told})
    for order in ("AB", "BA"):
        assert {fate.fate for fate in meet(order, queues=2, rules=first).fates()} == {"waiting"}
    assert "held_version >= pull_version" in str(rules.source("is_latest"))
    union = rmqlab.tags("tagA || tagB")
    assert all(rules.is_matched_by_consume_queue(union, rules.tags_code(tag)) for tag in ("tagA", "tagB"))
