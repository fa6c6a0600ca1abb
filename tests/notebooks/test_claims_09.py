"""What notebook 09 and its tasks say, sentence by sentence."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.events import Rebalance, Restamp
from rmqlab.run.recorded_events import GroupViewed
from rmqlab.scenario.scenario import Send, Start, Stop
from rmqlab_tools.course.checks_09 import begin, traffic
from rmqlab_tools.search.plan.planner import plan
from rmqlab_tools.search.plan.procedures import Producers, Setting

LESSON = "09_changing_a_tag"
SETTING = (
    "How many messages does each way lose, while producers send both tags? One by one:",
    "Stop all: stop everybody, then start everybody with NEW.",
    "Widen: restart one by one with a subscription that takes both, then one by one with NEW.",
    "So let the producers wait: first they send OLD alone, then NEW alone.",
    "Here is the rule of 4.8.0, and a rule that keeps the union of all wishes in the slot:",
    "Below the slot stands what became of each message.",
    "In the tasks you write rules that lose nothing, and see their price.",
    "Things worth finding: a NEW that takes all that OLD takes; two texts with one meaning; the pause that loses least.",
    "A change can also take the topic from one member only.",
    "Who gets the messages of queue 0?",
    "A team cannot stop: at every moment a member must run, and messages come into both queues at every half second, also while a member is away.",
    "Write the steps to tagB in change(lab), so that nothing is lost.",
    'You say when producers go over from tagA to tagB: traffic(lab, ["tagA"], 0.5) sends for half a second.',
    "At least 8 messages of each tag must be sent.",
    "Now the producers send both tags all the time, also while a member is away, and the members restart one by one with tagB.",
    "Write rules with which nothing is lost, and nobody gets what it did not ask for.",
    "A message may come twice: the reply names that price.",
    "All members agree.",
)


def widen_and_wait(lab):
    """As the lesson does."""
    for wanted, tag in (("tagA||tagB", "tagA"), ("tagB", "tagB")):
        for who in "AB":
            lab.stop(who)
            lab.run(ms=400)
            lab.consumer(who, group="G", subscribe={"T": wanted})
            traffic(lab, [tag])


@pytest.fixture(scope="module")
def rolling():
    """The rolling restart of the lesson."""
    lab = begin()
    for who in "AB":
        lab.stop(who)
        lab.run(ms=400)
        lab.consumer(who, group="G", subscribe={"T": "tagB"})
        traffic(lab)
    lab.run(seconds=30)
    return lab


def lost(text):
    """The bars as committed: what each way lost."""
    rows = [line.rpartition(" ") for line in text.splitlines()]
    return {name.strip(): int(count) for name, _, count in rows if count.isdigit()}


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim("Producers send one message of each tag to each queue, twice a second.")
def test_the_traffic():
    lab = begin()
    before = len(lab.messages())
    traffic(lab)
    rows = list(lab.messages())[before:]
    assert sorted((row.tag, row.queue) for row in rows) == sorted(
        [(tag, n) for tag in ("tagA", "tagB") for n in (0, 1)] * 2
    )


@pytest.mark.claim(
    "A message is lost if a member asks for it, then or later, and the offset has passed the message, but no listener of the group got it. A rolling restart loses messages. Widening loses messages too.",
    "Widening first loses nothing if the producers wait for it.",
)
def test_which_ways_lose(shown, rolling):
    found = lost(shown["run"])
    assert found["stop all"] == 0 < min(found["one by one"], found["widen"])
    assert sum(fate.lost for fate in rolling.fates()) == found["one by one"]
    assert all(fate.lost == (fate.asked and "dropped" in fate.fate) for fate in rolling.fates())
    lab = begin()
    widen_and_wait(lab)
    lab.run(seconds=30)
    assert not any(fate.lost for fate in lab.fates())


@pytest.mark.row("S-07", "S-82", "S-83", "S-84", "S-85")
@pytest.mark.claim(
    "Look at the bar of the rolling restart: the slot changes hands.",
    "A comes back with NEW and takes the slot. But A's return starts a rebalance, in which the members share out the queues anew. B loses a queue, so B stamps its own subscription anew, and takes the slot back. The broker drops the messages that the slot does not let pass. A client drops the messages that it does not ask for itself. The offset passes both.",
)
def test_the_rolling_restart(rolling):
    run = rolling.finish().run
    back = [event["t"] for event in run.events if event["ev"] == "starting"][2]
    ends = [event["t"] for event in run.events if event["ev"] == "stopping"][1]
    between = [fact for fact in run.facts.of(Rebalance) if fact.source == "B" and back < fact.t < ends]
    assert [1] in [fact.event.queues for fact in between if fact.event.topic == "T"]
    assert any(fact.source == "B" and back < fact.t < ends for fact in run.facts.of(Restamp))
    gone = [fate for fate in run.fates if fate.lost]
    assert gone
    for fate in gone:
        assert (fate.fate == "dropped_by_client") == (fate.subscription == fate.tag)
    committed = [row for row in rolling.offsets() if row.topic == "T"]
    assert all(row.committed == row.max for row in committed[-2:])


@pytest.mark.claim(
    "While members differ, send only what all of them let pass.",
    "Why. First members have OLD or both, and tagA alone is sent. Then they have both or NEW, and tagB alone is sent. What is sent passes each slot of that time.",
)
def test_producers_that_wait_send_what_all_let_pass():
    lab = begin()
    widen_and_wait(lab)
    running, checked = {}, 0
    for step in lab.scenario().steps:
        match step:
            case Start():
                running[step.who] = step.subscribe["T"].expr
            case Stop():
                del running[step.who]
            case Send():
                assert all(message.tag in text for message in step.messages for text in running.values())
                checked += 1
    assert checked > 8


@pytest.mark.claim("Going slowly makes it worse. The members disagree for as long as the rollout lasts.")
def test_the_loss_by_pause(shown):
    rows = [line.split() for line in shown["slow"].splitlines()]
    losses = [int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()]
    assert len(losses) == 4
    assert losses == sorted(set(losses))


@pytest.mark.claim(
    "The broker drops less. The clients drop the rest: a queue has one owner, and the owner does not want everything.",
    "A rule of the broker alone cannot help: the clients check too.",
    "The rule of 4.8.0 asks whether the tag is in the set.",
)
def test_a_union_in_the_slot_loses_as_much(shown):
    """That one place alone does not help is in test_checks_09."""
    real, union = (list(map(int, line.split()[-3:])) for line in shown["mine"].splitlines()[2:])
    assert real[0] == union[0]
    assert real[1] > union[1]
    assert union[2] > real[2]
    assert "tag in subscription.tags_set" in str(rmqlab.RULES["4.8.0"].source("client_keeps"))


@pytest.mark.row("S-88")
@pytest.mark.claim(
    "rmqlab.plan plays five ways in several orders each, and says in how many.",
    "But some schedules do not prove that a way loses none: the last column says False. A larger budget can look at every order where the space is small.",
)
def test_what_every_order_means(shown):
    rows = [line.split() for line in shown["plan"].splitlines()[2:]]
    assert [(int(row[-2]) > 1, row[-1]) for row in rows] == [(True, "False")] * 5
    small = plan(
        "tagA", "tagB", setting=Setting(1, 1, every_ms=1_000), budget=50, procedures=["stop-all"],
        producers=[Producers.KEEP],
    )  # fmt: skip
    assert small.tried[0].exhausted
    assert small.tried[0].lossless


@pytest.mark.row("S-08")
def test_from_a_tag_to_a_condition():
    found = plan("tagA", "SQL92:a > 3", setting=Setting(2, 2), budget=1, producers=[Producers.WAIT])
    assert found.change.union.expr == "(TAGS IN ('tagA')) OR (a > 3)"
    assert found.of("widen-then-narrow", Producers.WAIT).lossless


@pytest.mark.row("S-79", "S-93")
@pytest.mark.claim(
    "Nobody gets them. A is still a member of the group, so A's share of the queues is still A's, and A does not pull it: these queues have no owner. And A's heartbeats lack the topic. Each of them takes the topic from the group's one table, for B too, until B's own heartbeat brings the topic back. Let all members leave a topic, or give the member that leaves a group of its own. A recording of a real broker shows the same.",
)
def test_one_member_leaves_a_topic(shown, golden):
    text = shown["leave"]
    assert int(text.split("no subscription of T: ")[1].split()[0]) > 0
    assert [row.split() for row in text.splitlines() if row.strip() and row.split()[0] in {"0", "1"}] == [
        ["0", "no", "owner", "2"],
        ["1", "delivered", "2"],
    ]
    recorded = rmqlab.Lab.from_recording(golden / "broker-4.8.0" / "life", "l-unsub-beside-000")
    held = [
        view["subs"].keys() for view in (one.event.view for one in recorded.run.recorded(GroupViewed)) if "subs" in view
    ]
    assert {"T"} <= set(held[2])
    assert not all("T" in one for one in held)
    assert {str(fate.fate) for fate in recorded.fates() if fate.queue < 2} == {"delivered", "no_owner"}


@pytest.mark.claim(
    "So each member reads every queue, the broker lets everything pass, and each client says no for itself.",
    "The group has one offset for each queue, and others have moved it: a member that starts again must read from the beginning.",
    "The price: messages come again, and the broker sends each of them to everybody.",
    "To switch off both checks instead would lose nothing too, but listeners would get what nobody asked them to take.",
)
def test_the_rules_of_the_solution():
    """What the judge says of each of these rules is in tests/course/test_checks_09."""
    from rmqlab_tools.course.checks_09 import _loses_nothing, rolling_restart
    from tests.course.test_checks_09 import SAFE

    price = _loses_nothing(rolling_restart, SAFE)
    assert price.twice
    assert price.carried > 2 * price.sent
