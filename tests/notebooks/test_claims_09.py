"""What notebook 09 and its tasks say, sentence by sentence."""

from __future__ import annotations

import re

import pytest

from rmqlab.filter.consistency import lets_pass, tell_apart
from rmqlab.search.explorer.recorded_outcomes import default_settings
from rmqlab.lessons.checks_09 import CHANGES, NEW, OLD
from rmqlab.search.plan.change import MessageKind, change_between, data_of, parse_subscription, text_of
from rmqlab.search.plan.planner import loss_by_pause
from rmqlab.search.plan.planner import plan
from rmqlab.search.plan.procedures import NEW_TOPIC, PROCEDURES, Producers, Setting, course, rollouts, rollouts_of
from rmqlab.search.plan.change import TOPIC
from rmqlab.search.plan.run_cost import cost_of
from rmqlab.lab.scenario import Send, Start, Stop
from rmqlab.lab.simulate import TOPICS_SETTLE_MS, simulate
from rmqlab.runtime.schedule import Schedule, ScheduledChooser

LESSON = "09_changing_a_tag"
SETTING = (
    "You know from notebook 01 what happens while members disagree.",
    "Which of them lose nothing, and ask nothing of the producers for that?",
    "For a way that loses nothing, many schedules are only many.",  # what is not claimed
    "Look at it with producers that keep sending, and then with producers that wait until everybody takes both.",
    "Things worth finding: a NEW that takes all that OLD takes; two texts with one meaning;",
    # By the source of 4.8.0's tools (CloneGroupOffsetCommand.execute takes getBrokerOffset); no recording has it.
    "In 4.8.0 mqadmin cloneGroupOffset does not copy the group's offsets: it writes the end of each queue.",
    "Two members restart one by one, from the first subscription to the second, and producers send everything all the time.",
    'Say for each change whether it loses "nothing" or "something".',
    "Find OLD, NEW and a pause of at most MOST_PAUSE_MS ms, with which MEMBERS members that restart one by one lose at least",
    "A team cannot stop: at every moment a member must run.",
    "Its producers can switch once, from what only OLD takes to what only NEW takes; messages that both take flow all the time.",
)
KEEP, WAIT = Producers.KEEP, Producers.WAIT
BY_NAME = {one.name: one for one in PROCEDURES}
TWO = Setting(2, 2)


def between(old, new):
    return change_between(parse_subscription(old, "OLD"), parse_subscription(new, "NEW"))


def steps_of(name, producers=KEEP, change=None):
    procedure = BY_NAME[name] if isinstance(name, str) else name
    return course(procedure, change or between("tagA", "tagB"), TWO, producers)


def kinds_sent(scenario):
    """When a message of which kind is sent to which topic."""
    return [
        (step.at, MessageKind(message.body.partition("-")[0]), step.topic)
        for step in scenario.steps
        if isinstance(step, Send)
        for message in step.messages
    ]


def members_at(scenario):
    """For each message sent: its kind, and what the members that run then subscribe of its topic."""
    running, found = {}, []
    for step in scenario.steps:
        match step:
            case Start():
                running[step.who] = step.subscribe
            case Stop():
                del running[step.who]
            case Send():
                held = [wants[step.topic] for wants in running.values() if step.topic in wants]
                found += [(MessageKind(message.body.partition("-")[0]), held) for message in step.messages]
    return found


@pytest.fixture(scope="module")
def few():
    """As the lesson plans, with few schedules: a loss is shown by one."""
    return plan("tagA", "tagB", setting=TWO, budget=2)


@pytest.fixture(scope="module")
def rolling(shown):
    """The worst run of the rolling restart, from the schedule that the lesson prints."""
    schedule = Schedule.from_json(shown["paste"])
    one = steps_of("one-by-one")
    run = simulate(one.scenario, chooser=ScheduledChooser(schedule), timing=schedule.timing, cluster=default_settings())
    return run, cost_of(run, between("tagA", "tagB"), TOPICS_SETTLE_MS + one.change_at)


def rows(text):
    """The rows of a table as committed: its further cells by procedure and producers."""
    cells = [re.split(r"\s{2,}", line) for line in text.splitlines()]
    return {(one[0], one[1]): one[2:] for one in cells if one[0] in BY_NAME and len(one) > 5}


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "A message counts as wanted if a member that runs when it is sent asks for it, or if both OLD and NEW take it.",
    "It is lost if it was wanted and nobody has taken it once everything is at rest.",
)
def test_what_counts_as_lost(rolling):
    run, cost = rolling
    running, wanted = set(), set()
    asks = {"old": "tagA", "new": "tagB"}
    restarted = set()
    for event in run.events:
        if event["ev"] == "started":
            running.add((event["who"], "tagB" if event["who"] in restarted else "tagA"))
        elif event["ev"] == "stopping":
            restarted.add(event["who"])
            running -= {(event["who"], tag) for tag in ("tagA", "tagB")}
        elif event["ev"] == "sent" and asks[event["body"].partition("-")[0]] in {tag for _, tag in running}:
            wanted.add(event["body"])
    taken = {event["body"] for event in run.events if event["ev"] == "consume"}
    assert set(cost.lost) == wanted - taken != set()
    both = between("tagA||tagB", "tagB||tagA")
    assert set(both.kinds) == {MessageKind.BOTH}


@pytest.mark.claim(
    "Five ways to do it.",
    "stop-all: stop every member, then start every one with NEW.",
    "widen-then-narrow: roll out a subscription that takes both, then roll out NEW.",
    "First let every member subscribe both, then narrow.",
)
def test_five_ways():
    assert len(PROCEDURES) == 5
    moves = {
        name: [
            (type(step).__name__, step.who, text_of(step.subscribe[TOPIC]) if isinstance(step, Start) else "")
            for step in steps_of(name).scenario.steps
            if isinstance(step, Start | Stop)
        ][2:]  # the first two start with OLD
        for name in ("stop-all", "widen-then-narrow")
    }
    away, back = [("Stop", who, "") for who in ("C1", "C2")], ("tagB", "tagA||tagB")
    assert moves["stop-all"] == [*away, ("Start", "C1", "tagB"), ("Start", "C2", "tagB")]
    assert moves["widen-then-narrow"] == [
        move for text in reversed(back) for who in ("C1", "C2") for move in (("Stop", who, ""), ("Start", who, text))
    ]
    assert [text_of(one) for one in rollouts(between("tagA", "tagB"))] == ["tagA||tagB", "tagB"]


@pytest.mark.claim(
    "Producers either keep sending both kinds all the time, or wait: they begin with what only NEW takes, and end with "
    "what only OLD takes, at the one moment that suits the procedure."
)
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_how_producers_send(name):
    by_time = {}
    for at, kind, _ in kinds_sent(steps_of(name).scenario):
        by_time.setdefault(at, set()).add(kind)
    assert set(map(frozenset, by_time.values())) == {frozenset({MessageKind.OLD, MessageKind.NEW})}
    kinds = [kind for _, kind, _ in kinds_sent(steps_of(name, WAIT).scenario)]
    assert kinds == sorted(kinds, key=[MessageKind.OLD, MessageKind.NEW].index)
    assert set(kinds) == {MessageKind.OLD, MessageKind.NEW}


@pytest.mark.claim(
    'So a worst loss below is the worst that was found, unless the table says "all".',
    "In the other three no loss was found.",
    "But none of them is safe by itself: look at the last column of the table.",
    "So plan calls them safe only if the producers do their part.",
    "Widening first loses nothing only if the producers wait for it.",
    "A new group lost nothing here.",
)
def test_which_ways_lose(shown, few):
    table = rows(shown["bars"])
    assert {cells[3] for cells in table.values()} == {"32 tried"}
    losing = {name for name, cells in table.items() if int(cells[2])}
    assert losing == {("one-by-one", "keep sending"), ("one-by-one", "wait"), ("widen-then-narrow", "keep sending")}
    assert len(table) == 10
    assert {one.procedure.name for one in few.tried if one.producers is KEEP and not one.lossless} == {
        "one-by-one", "widen-then-narrow",
    }  # fmt: skip
    assert few.safe == []
    assert all(one.conditions for one in few.lossless)


@pytest.mark.claim(
    "Each asks something of the producers, and so does its checklist: what only OLD takes has to end before the last "
    "member with OLD goes, or what NEW takes has to go elsewhere.",
    "In our runs nothing was left over at that moment; what is left over then, no member with NEW takes.",
    "What only OLD takes has to end before the old group stops, and the application must bear to take a message twice.",
)
def test_what_is_left_over_when_old_ends(few, shown):
    asked = {one.procedure.name: " ".join(one.conditions) for one in few.lossless if one.producers is KEEP}
    assert asked.pop("new-topic") == (
        "Have the producers send what tagB takes to NEWTOPIC, and everything else as before."
    )
    assert asked == dict.fromkeys(("stop-all", "new-group"), "Producers stop sending what only tagA takes.")
    assert {topic for _, kind, topic in kinds_sent(steps_of("new-topic").scenario) if kind is MessageKind.OLD} == {TOPIC}
    assert kinds_sent(steps_of("new-topic").scenario)[-1][1:] == (MessageKind.NEW, NEW_TOPIC)
    for name in ("stop-all", "new-group"):
        run = few.of(name).worst
        gone = max(e["t"] for e in run.events if e["ev"] == "stopping")
        late = {e["body"] for e in run.events if e["ev"] == "sent" and e["body"].startswith("old") and e["t"] > gone}
        assert late
        assert late.isdisjoint(e["body"] for e in run.events if e["ev"] == "consume")
    assert "may take a message twice" in shown["steps-group"]
    assert int(rows(shown["bars"])["new-group", "keep sending"][4]) > 0


@pytest.mark.row("S-07", "S-84")
@pytest.mark.claim(
    "C1 comes back with NEW and takes it.",
    "C2 loses a queue, so it stamps its own subscription anew, and OLD may be back in the slot.",
    "Whoever holds it: what only the other one takes, the broker drops; and what it lets pass, a client that pulls drops "
    "if it does not ask for it itself.",
    "The offset moves on, and nobody takes the lost ones any more.",
)
def test_the_worst_rolling_restart(rolling, shown):
    run, cost = rolling
    assert len(cost.lost) == 6
    assert "6 lost" in shown["inside"]
    back = [event["t"] for event in run.events if event["ev"] == "starting"][2]
    ends = [event["t"] for event in run.events if event["ev"] == "stopping"][1]
    (given_up,) = [
        f for f in run.facts.of("rebalance") if f.source == "C2" and back < f.t < ends and f["topic"] == TOPIC
    ]
    assert len(given_up["queues"]) == 1
    assert any(f.source == "C2" and back < f.t < ends and f["topic"] == TOPIC for f in run.facts.of("restamp"))
    assert "tagA, then tagB, then tagA, then tagB" in shown["inside"]
    asks = {"C1": "tagB", "C2": "tagA"}
    lost = [fate for fate in run.fates if fate.body in cost.lost]
    for fate in lost:
        wanted_by = {"old": "tagA", "new": "tagB"}[fate.body.partition("-")[0]]
        if "broker" in fate.fate:
            assert fate.subscription != wanted_by
        else:
            assert fate.fate == "dropped_by_client"
            assert asks[fate.culprit] == fate.subscription != wanted_by
    assert {"dropped_by_client", "dropped_by_broker_tag"} == {str(fate.fate) for fate in lost}
    offsets = [event for event in run.events if event["ev"] == "offset"]
    assert all(event["committed"] == event["max"] for event in offsets)
    assert set(cost.lost).isdisjoint(event["body"] for event in run.events if event["ev"] == "consume")


@pytest.mark.claim(
    "Stopping everybody is such a case.",
    '"All" means: every order of frames that matters, with these members, queues and messages, and under what the cell lists.',
)
def test_what_all_means(shown):
    (cells,) = rows(shown["proof"]).values()
    assert cells[:4] == ["0", "0", "0", "all (150 runs)"]
    small = plan(
        "tagA", "tagB", setting=Setting(1, 1, every_ms=1_000), budget=50, procedures=["stop-all"], producers=[KEEP]
    )
    assert small.tried[0].exhausted
    assert small.as_json()["assumptions"] == [
        line.removeprefix("- ") for line in shown["proof"].splitlines() if line.startswith("- ")
    ]


@pytest.mark.claim(
    "(The figures are the worst that was found with as many schedules as above, so those of 1 s are those of the first picture.)",
)
def test_the_loss_by_pause(shown):
    first = {name: cells[2] for name, cells in rows(shown["bars"]).items()}
    table = rows(shown["slow"])
    assert len(table) == 4
    for name, cells in table.items():
        losses = [int(cell) for cell in cells]
        assert losses[1] == int(first[name])
        assert losses == sorted(losses)
    for one in loss_by_pause("tagA", "tagB", [1_000], setting=TWO, budget=1):
        assert one.worst == plan(
            "tagA", "tagB", setting=TWO, budget=1, procedures=[one.procedure], producers=[one.producers]
        ).tried[0].spread()[2]  # fmt: skip


@pytest.mark.claim(
    "Members disagree in both rollouts.",
    "With producers that wait it does no harm, since what is sent at any time passes each subscription that a member has then:",
    "OLD and both, then both and NEW.",
    "while members differ, send only what all of them let pass.",
)
@pytest.mark.parametrize(("old", "new"), [("tagA", "tagB"), ("tagA", "SQL92:a > 3"), ("tagA||tagB", "tagB||tagC")])
def test_producers_that_wait_send_what_all_let_pass(old, new):
    change = between(old, new)
    sent = members_at(steps_of("widen-then-narrow", WAIT, change).scenario)
    assert all(change.passes(one, kind) for kind, held in sent for one in held)
    mixed = list(
        dict.fromkeys(tuple(map(text_of, held)) for _, held in members_at(steps_of("widen-then-narrow").scenario))
    )
    assert [set(held) for held in mixed if len(set(held)) > 1] == [{"tagA", "tagA||tagB"}, {"tagA||tagB", "tagB"}]
    harmful = members_at(steps_of("widen-then-narrow", KEEP, change).scenario)
    assert not all(change.passes(one, kind) for kind, held in harmful for one in held)


@pytest.mark.claim(
    "Few schedules for each, so that the picture follows you: a loss that you see is real and may not be the worst, and "
    "where you see none there may still be one."
)
def test_few_schedules_may_miss_the_worst(shown):
    most, fewer = ({name: int(cells[2]) for name, cells in rows(shown[cell]).items()} for cell in ("bars", "play"))
    assert all(lost <= most[name] for name, lost in fewer.items())
    assert any(lost < most[name] for name, lost in fewer.items())


@pytest.mark.claim(
    "Another type changes nothing about the rule.",
    "What takes both can be written too: a tag is a property of the message, called TAGS.",
)
def test_from_a_tag_to_a_condition():
    found = plan("tagA", "SQL92:a > 3", setting=TWO, budget=1, producers=[WAIT])
    assert {one.procedure.name for one in found.tried if not one.lossless} == {"one-by-one"}
    union = found.change.union
    assert text_of(union) == "SQL92:(TAGS IN ('tagA')) OR (a > 3)"
    assert lets_pass(data_of(union), {"TAGS": "tagA"})
    assert lets_pass(data_of(union), {"a": "4"})
    assert not lets_pass(data_of(union), {"TAGS": "tagB", "a": "3"})


@pytest.mark.claim(
    "What counts is the meaning: another order of tags is no change at all.",
    "Why. Only the meaning counts.",
    "A property that is no whole number compares with no whole number, so the two conditions take the same messages; and a "
    "tag is a property.",
    "All else leaves messages that one of the two takes and the other does not, and while members differ those are at risk.",
)
def test_only_the_meaning_counts():
    for name, (old, new) in CHANGES.items():
        tried = plan(old, new, budget=1, procedures=["one-by-one"], producers=[KEEP]).tried[0]
        change = between(old, new)
        same = name in ("another order", "the same condition", "a tag as a condition")
        assert change.same == same == tried.lossless, name
        assert {one.kind for one in tried.lost} <= {MessageKind.OLD, MessageKind.NEW}
    first, second = (data_of(parse_subscription(text, "it")) for text in CHANGES["the same condition"])
    assert tell_apart(first, second).same
    for operator in (">", ">=", "<", "<=", "=", "<>"):
        for value in ("3.5", "x", ""):
            assert not lets_pass(data_of(parse_subscription(f"SQL92:a {operator} 3", "it")), {"a": value})


@pytest.mark.claim(
    "Why. With nothing in common every message is at risk, and the longest pause leaves the most of them.",
)
def test_nothing_in_common(shown):
    assert set(between("tagA", "tagB").kinds) == {MessageKind.OLD, MessageKind.NEW}
    losses = [int(cell) for cell in rows(shown["slow"])["one-by-one", "keep sending"]]
    assert max(losses) == losses[-1]


@pytest.mark.claim(
    "Why. In the first rollout members have OLD or both, and only what OLD takes is sent; in the second they have both or "
    "NEW, and only what NEW takes is sent."
)
def test_a_team_that_cannot_stop():
    union = "SQL92:TAGS = 'tagA' OR region = 'EU'"
    change = between(OLD, NEW)
    own = rollouts_of([parse_subscription(text, "rollout") for text in (union, NEW)], 1)
    scenario = steps_of(own, WAIT, change).scenario
    found = [(kind, frozenset(map(text_of, held))) for kind, held in members_at(scenario)]
    narrowed = next(number for number, (_, held) in enumerate(found) if NEW in held)
    assert {held - {OLD, union} for _, held in found[:narrowed]} == {frozenset()}
    assert {held - {union, NEW} for _, held in found[narrowed:]} == {frozenset()}
    assert {kind for kind, held in found if OLD in held} == {MessageKind.OLD, MessageKind.BOTH}  # OLD takes both of these
    assert {kind for kind, held in found if NEW in held} == {MessageKind.NEW, MessageKind.BOTH}
