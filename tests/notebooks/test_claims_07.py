"""What notebook 07 and its tasks say, sentence by sentence."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from rmqlab.broker.admin_broker_processor import RebalanceLockManager
from rmqlab.lab.groups.allotment import STRATEGIES, Division, fewest_moves, joined
from rmqlab.lab.groups.group_life import JOINING, GroupLife, Happening
from rmqlab.lab.groups.handover import HANDOVERS, handover
from rmqlab.lessons.checks_07 import CASES, ids_of
from rmqlab.message.message import MessageQueue
from rmqlab.protocol.heartbeat import ConsumerData, HeartbeatData
from rmqlab.show.play.rebalance import LIVE, members
from rmqlab.show.rebalance import rebalance_tables

LESSON = "07_rebalance"
SETTING = (
    "When all three are there, how many queues has each?",
    "And how many of the five changed hands when C came?",
    "Messages flow all the while.",
    "The same story with notifyConsumerIdsChangedEnable=false at the broker.",
    '"By config" has lists that somebody once wrote by hand, "machine room" was told to use the east only.',
    "How long did a queue have two owners, how long none?",
    "How many queues change hands when one of eight restarts?",
    "Now the tasks:",
    '"two owners", "nobody", "both", or "neither"?',
    "Find a strategy, ids for the members, and an id for the newcomer",
    "Every move is a chance for a message to come twice, and for the slot of the group to flip.",
    "That is how a rebalance can flip the slot of notebook 01.",
)
FEW_MS = 50
EVEN = ("averagely", "averagely by circle", "consistent hash")
NEWCOMERS = ("10.0.0.10@N", "10.0.0.25@N", "10.0.0.99@N")


@pytest.fixture(scope="module")
def life():
    return GroupLife(queues=5, per_s=10)


@pytest.fixture(scope="module")
def told(life):
    return life.run()


@pytest.fixture(scope="module")
def untold(life):
    return replace(life, notify=False).run()


@pytest.fixture(scope="module")
def handovers():
    return {name: handover(name) for name in HANDOVERS}


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


def moves(newcomer, strategy, queues=8):
    before, after = joined(Division(queues, members(3)), newcomer, strategy)
    return len(before.moved(after))


@pytest.mark.claim(
    "Consumers A, B and C join one after the other, on a topic of five queues.",
    "Nobody decided. For consumers like these the broker has no table of owners.",
    "(It keeps locks for orderly listeners.)",
    "It tells the members that something changed (notification), and no more.",
    "Two queues changed hands when C came, though C took only one of them: the blocks of the others shifted.",
    "Each member whose queues changed stamped its subscription anew.",
    "It knows members, not owners.",
    "The broker cannot tell you who owns a queue, unless listeners are orderly.",
)
def test_who_decided(told):
    assert told.queues == 5
    spans = [span for span in told.spans if 20_000 <= span.since < 30_000]
    assert sorted((span.queue, span.who) for span in spans) == [(2, "B"), (4, "C")]
    row = rebalance_tables.guessed(told, {}, 30, 1).rows[-1]
    assert (row[0], row[2]) == ("changed hands when C came", 2)
    facts = told.run.facts
    assert {(one.source, one.t) for one in facts.of("rebalance")} == {
        (one.source, one.t) for one in facts.of("restamp")
    }
    locks, queue = RebalanceLockManager(), MessageQueue("T", "broker-a", 0)
    assert [locks.try_lock("G", queue, who, 0) for who in "AB"] == [True, False]
    assert {"queue", "queues"}.isdisjoint({*ConsumerData.__struct_fields__, *HeartbeatData.__struct_fields__})


@pytest.mark.claim(
    "The shares of the default strategy fit together if all members see the same lists and use it.",
    "Nobody is in charge. The shares of a group fit together because all members compute the same from the same lists.",
)
def test_shares_fit_together():
    for count in range(1, 9):
        for queues in range(1, 20):
            assert Division(queues, ids_of(6)[: min(count, 6)]).allot("averagely").whole
    assert not Division(8, members(3)).allot("machine room").whole


@pytest.mark.claim(
    "Each member finds out by its own timer.",
    "Two owners and no owner, at the same time. B takes queues as soon as it starts; A gives them up when its timer rings.",
    "Until then both pull, and every message that comes to those queues is consumed twice.",
    "A's timer rings just then, and A gives one queue up, for it is B's turn now.",
    "B looks ten seconds later, and until then nobody reads the queue.",
    "No message is lost.",
    "Without a notification a queue can have two owners or none until a timer rings; with different strategies it stays so.",
)
def test_nobody_is_told(told, untold):
    assert untold.told == []
    assert told.told
    double = [one for one in untold.doubles if one.owners == ("A", "B")]
    assert {one.queue for one in double} == {3, 4}
    twice = set(untold.duplicates)
    for one in double:
        sent = [
            event["body"] for event in untold.run.events
            if event["ev"] == "sent" and event["queue"] == one.queue
            and one.since + FEW_MS < event["t"] - untold.zero < one.until - FEW_MS
        ]  # fmt: skip
        assert len(sent) > 15
        assert set(sent) <= twice
    (gap,) = [one for one in untold.gaps if one.queue == 2 and one.since < 40_000]
    assert gap.since - 20_000 < FEW_MS
    assert gap.ms == pytest.approx(10_000, abs=FEW_MS)
    assert not [fate for fate in untold.run.fates if fate.lost]
    assert untold.consumed == untold.sent


def test_what_the_articles_do_not_print_is_not_counted(told, untold):
    killed = GroupLife((*JOINING, Happening(45, "B", "is killed"))).run()
    table = rebalance_tables.article(told, untold, killed)
    assert table.caption.endswith(": 3 of 3 equal; not printed there and not counted: 4")
    assert [row[-1] for row in table.rows] == ["=", "=", "", "follows", "", "=", ""]


@pytest.mark.claim(
    "Two members with the default strategy and one with another.",
    "No timer mends this.",
    "Each member keeps the share it computed, and the broker cannot compare strategies: they are not in the heartbeat.",
    "Queues without an owner grow, and their lag shows it.",
)
def test_strategies_that_differ(life):
    mixed = replace(life, strategies={"B": "circle"}, happenings=JOINING, seconds=120).run()
    assert any(one.ms > 90_000 and one.until == mixed.end for one in mixed.doubles)
    assert any(one.ms > 90_000 and one.until == mixed.end for one in mixed.gaps)
    lag = {e["queue"]: e["max"] - e["committed"] for e in mixed.run.events if e["ev"] == "offset" and e["topic"] == "T"}
    assert all(lag[one.queue] > 50 for one in mixed.gaps if one.until == mixed.end)
    assert not [name for name in ConsumerData.__struct_fields__ if "strategy" in name]


@pytest.mark.claim(
    "The same group asked under each strategy of 4.8.0, before and after a member comes or goes.",
    "Half of the queues lie on a broker in the east, half in the west; members stand in the east and in the west in turn.",
    "Averagely, by circle and consistent hash see sorted ids and sorted queues, and nothing else.",
)
def test_six_strategies():
    assert len(STRATEGIES) == 6
    rooms = [queue.broker_name.partition("@")[0] for queue in Division(8, members(3)).message_queues()]
    assert rooms == ["east"] * 4 + ["west"] * 4
    swapped = dict.fromkeys(members(3), "west")
    for strategy in EVEN:
        assert Division(8, members(3), swapped).allot(strategy).owners == Division(8, members(3)).allot(strategy).owners


@pytest.mark.claim(
    "Here a newcomer between A and B moves as few queues as can be, and one that sorts last moves most.",
    "Here 5 or 7 or all 8 of the queues move, by where the newcomer sorts.",
    "Consistent hash moves only what the newcomer takes. The price: here the shares are not even",
    "It depends on where its id sorts.",
    "Under the default strategy the order of client ids decides what a newcomer costs.",
)
def test_what_a_newcomer_costs():
    first, between, last = (moves(one, "averagely") for one in NEWCOMERS)
    assert between == fewest_moves(8, 3, 4) < first < last
    assert [moves(one, "averagely by circle") for one in NEWCOMERS] == [8, 7, 5]
    for newcomer in NEWCOMERS:
        before, after = joined(Division(8, members(3)), newcomer, "consistent hash")
        assert {who for queue in before.moved(after) for who in after.owners[queue]} == {newcomer}
        assert not after.even


@pytest.mark.claim(
    "By config moves nothing.",
    "The newcomer has no list and gets no queue; when a member goes, nobody reads its queues.",
    "Machine room reads only the rooms it was told of.",
    "Machine room nearby gives a room's queues to the members there, and only those of a deserted room to all.",
)
def test_rooms_and_lists():
    ids = members(3)
    before, after = joined(Division(8, ids), NEWCOMERS[2], "by config")
    assert before.moved(after) == []
    assert after.shares[NEWCOMERS[2]] == ()
    left = Division(8, ids[:2], fixed=ids).allot("by config")
    assert {who for who in left.owners.values() if not who} == {()}
    east = Division(8, ids).allot("machine room").owners
    assert all(bool(owners) == queue.broker_name.startswith("east") for queue, owners in east.items())
    rooms = dict(zip(ids, ("east", "west", "east"), strict=True))
    for queue, (owner,) in Division(8, ids).allot("machine room nearby").owners.items():
        assert queue.broker_name.startswith(rooms[owner])
    deserted = Division(8, ids, dict.fromkeys(ids, "east")).allot("machine room nearby")
    west = {owner for queue, owners in deserted.owners.items() for owner in owners if queue.broker_name[0] == "w"}
    assert west == set(ids)


@pytest.mark.claim(
    "Each happens at the same moment, with messages flowing and a listener that takes a while.",
    "Each handover happens at the same moment; A, B and C were there before.",
    "A handover of which every member is told takes milliseconds, as long as all have one strategy.",
    "A member that pauses for a minute keeps its queues, and nobody reads them for that minute.",
    "One that pauses for longer than the expiry comes back and believes for a while that they are still its own.",
    "the others take over at once and B does not know, but its pulls hang on the dead connection.",
    "So fifteen seconds with two owners cost one message consumed twice.",
    "In half of the rows messages are consumed twice, and in no row is one lost: consumers must be able to bear a message twice.",
    "In the last row messages wait in queues that nobody owns.",
    "Who is told acts at once.",
    "Who is not told keeps what it has (two owners) or takes nothing up (nobody) until its timer rings.",
    "A pause that is shorter than the expiry changes no owner at all; a longer one lets the others take over while the sleeper still believes.",
)
def test_ten_handovers(handovers):
    assert len(handovers) == 10
    for name in ("D joins", "B leaves", "B is killed"):
        assert max(handovers[name].double_ms, handovers[name].gap_ms) < FEW_MS
    short, long = handovers["B pauses for 60 s"], handovers["B pauses for 150 s"]
    assert (short.double_ms, short.gap_ms, short.told) == (0, 0, 0)
    mine = [queue for queue, owners in short.life.owners_at(60_000).items() if owners == ("B",)]
    consumed = [
        event["t"] - short.life.zero for event in short.life.run.events
        if event["ev"] == "consume" and event["queue"] in mine
    ]  # fmt: skip
    assert not [t for t in consumed if 46_000 < t < 105_000]
    assert long.double_ms > 10_000
    assert any(owners and "B" not in owners for owners in long.life.owners_at(190_000).values())
    cut = handovers["B's connection is cut"]
    assert cut.double_ms == pytest.approx(15_000, abs=FEW_MS)
    assert cut.gap_ms < FEW_MS
    assert cut.duplicates == 1
    assert sum(one.duplicates > 0 for one in handovers.values()) == len(handovers) / 2
    assert not [fate for one in handovers.values() for fate in one.life.run.fates if fate.lost]
    waits = {name for name, one in handovers.items() if any(fate.fate == "no_owner" for fate in one.life.run.fates)}
    assert waits == {list(handovers)[-1]}
    assert handovers["B leaves, nobody is told"].verdict == "nobody"
    assert handovers["D joins, nobody is told"].verdict == "both"


@pytest.mark.claim(
    "When a member comes, all are told.",
    "With twice the members there are three to four times the notifications.",
    "When one member restarts (comes online again), every other member is told twice.",
)
def test_storms():
    rows = rebalance_tables.storms(16).rows
    told = [row[1] for row in rows]
    assert all(3 <= later / earlier <= 4 for earlier, later in pairwise(told))
    assert [row[3] for row in rows] == [2 * (row[0] - 1) + 1 for row in rows]


@pytest.mark.claim(
    "Consistent hash moves the restarting member's own queues and no other.",
    "The default moves others' queues too, more or fewer of them by where the id sorts.",
    "Under by circle there are 18 to 32 changes, 4 of them its own.",
)
def test_flaps():
    rows = rebalance_tables.flaps(LIVE, 16, 8).rows
    by = {strategy: [(row[2], row[3]) for row in rows if row[0] == strategy] for strategy in EVEN}
    assert all(moved == own for moved, own in by["consistent hash"])
    assert all(moved > own for moved, own in by["averagely"])
    assert len({moved for moved, _ in by["averagely"]}) > 1
    assert (min(by["averagely by circle"]), max(by["averagely by circle"])) == ((18, 4), (32, 4))


@pytest.mark.claim(
    'With rooms, half of the queues are in the east, and members stand in the east and in the west in turn; "machine room" was told to use the east only.',
    "Blocks or turns, the first ones get the remainder.",
    "More members than queues: the last ones idle.",
    "With rooms, the one member in the west reads all queues there, and the two in the east share theirs.",
    "The newcomer needs two queues, so two must move.",
    "of random ids a few in a hundred do.",
)
def test_shares_of_the_tasks():
    found = [[len(one) for one in Division(n, ids_of(k)).allot(s).shares.values()] for s, k, n in CASES]
    assert found == [[2, 2, 1], [2, 2, 1], [1, 1, 1, 0, 0], [2, 1, 1], [2, 4, 2]]
    assert fewest_moves(8, 3, 4) == 2
    chance = random.Random(1)
    ids = [[f"10.0.0.{chance.randrange(256)}@{chance.randrange(30_000)}" for _ in range(4)] for _ in range(500)]
    pairs = [joined(Division(8, tuple(three)), newcomer, "consistent hash") for *three, newcomer in ids]
    good = [all((one.even, two.even, two.whole)) and len(one.moved(two)) == 2 for one, two in pairs]
    assert 0.01 < sum(good) / len(good) < 0.06
