from __future__ import annotations

import itertools

import pytest

from rmqlab.client.allocate import AllocateMessageQueueAveragelyByCircle
from rmqlab.client.runtime import RemotingTimeoutError
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.heartbeat import ConsumeFromWhere, MessageModel
from rmqlab.rules import RULES
from rmqlab.scenario.schedule import SeededChooser, Timing

QUERY_OFFSET = RequestCode.QUERY_CONSUMER_OFFSET
GET_CLIENTS = RequestCode.GET_CONSUMER_LIST_BY_GROUP


def join(world, who, tag="tagA", **settings):
    world.topic("T") if "T" not in world.broker.topic_config_manager.topic_config_table else None
    consumer = world.consumer(who, **settings)
    world.do(consumer.subscribe("T", tag))
    world.do(consumer.start())
    return consumer


def held(consumer, topic="T"):
    return sorted(q.queue_id for q in consumer.rebalance_impl.process_queue_table if q.topic == topic)


def in_force(world, topic="T"):
    return world.broker.consumer_manager.get_consumer_group_info("G").subscription_table[topic]


@pytest.mark.row("S-32")
def test_the_lower_client_id_gets_the_first_queues_whoever_started_first(world):
    late_low = [join(world, who) for who in ("B", "A")]
    world.run(1_000)
    assert [held(c) for c in late_low] == [[2, 3], [0, 1]]


@pytest.mark.row("H-46")
def test_rebalance_every_twenty_seconds_and_at_once_when_woken(world):
    a = join(world, "A")
    world.run(1_000)
    world.frames.clear()
    world.run(41_000)
    rounds = sorted({round(t / 1000) for t, _ in world.requests("A", GET_CLIENTS)})
    assert rounds == [20, 40]
    a.instance.rebalance_service.wakeup()
    world.frames.clear()
    world.run(100)
    assert len(world.requests("A", GET_CLIENTS)) == 2  # one for each topic
    world.frames.clear()
    world.run(20_500)
    assert [round(t / 1000) for t, _ in world.requests("A", GET_CLIENTS)][:1] == [62]


@pytest.mark.row("H-46")
def test_the_wait_can_be_set_and_wakes_during_a_round_count_as_one(world):
    a = join(world, "A", rebalance_wait_interval=7_000)
    world.run(1_000)
    world.frames.clear()
    for _ in range(3):
        a.instance.rebalance_service.wakeup()
    world.run(1)
    for _ in range(3):
        a.instance.rebalance_service.wakeup()
    world.run(100)
    assert len(world.requests("A", GET_CLIENTS)) == 4
    world.frames.clear()
    world.run(8_000)
    assert len(world.requests("A", GET_CLIENTS)) == 2


@pytest.mark.row("H-47")
def test_a_topic_is_skipped_when_the_client_list_cannot_be_had(world):
    a, b = join(world, "A"), join(world, "B")
    world.run(1_000)
    world.time.servers["10.0.1.1:10911"].up = False
    world.run(60_000)
    assert [held(a), held(b)] == [[0, 1], [2, 3]]


@pytest.mark.row("H-48")
def test_survivors_take_over_at_once_when_the_connection_is_seen_to_close(world):
    a = join(world, "A")
    join(world, "B")
    world.run(1_000)
    assert held(a) == [0, 1]
    world.time.nodes["B"].kill()
    world.run(100)
    assert held(a) == [0, 1, 2, 3]


@pytest.mark.row("H-48", "H-49")
def test_a_silent_client_keeps_its_queues_for_two_minutes_and_more(world):
    a = join(world, "A")
    join(world, "B")
    world.run(3_000)
    world.time.nodes["B"].freeze()
    frozen = world.time.now_ms()
    while held(a) != [0, 1, 2, 3] and world.time.now_ms() < frozen + 200_000:
        world.run(1_000)
    # 120 s without a heartbeat, up to 10 s until the broker looks, up to 20 s until the survivor rebalances
    assert 117_000 <= world.time.now_ms() - frozen <= 151_000


@pytest.mark.row("S-84", "S-85")
def test_between_the_split_and_the_stamp_lies_one_question_for_each_new_queue(world):
    join(world, "A")
    world.run(1_000)
    world.frames.clear()
    world.facts.clear()
    join(world, "B", "tagB")
    world.run(100)
    codes = [c.code for _, c in world.requests("B")][:5]
    assert codes == [RequestCode.HEART_BEAT, GET_CLIENTS, QUERY_OFFSET, QUERY_OFFSET, RequestCode.HEART_BEAT]
    a_stamp, b_stamp = [fields["version"] for _, kind, fields in world.kinds("restamp") if fields["topic"] == "T"]
    # A gives up two queues and asks nothing: its stamp is older by B's two questions
    assert b_stamp > a_stamp
    assert in_force(world).sub_string == "tagB"


@pytest.mark.row("S-84")
def test_either_may_win_the_race(make_world):
    wins = {"tagA": 0, "tagB": 0}
    for seed in range(60):
        world = make_world(SeededChooser(seed), Timing((300, 20_000)))
        join(world, "A")
        world.run(2_000)
        join(world, "B", "tagB")
        world.run(800)
        wins[in_force(world).sub_string] += 1
    # B, that has two more questions to ask, usually stamps last
    assert 0 < wins["tagA"] < wins["tagB"]


@pytest.mark.row("S-85")
def test_no_new_stamp_while_the_own_queues_stay_the_same(world):
    join(world, "A")
    world.run(21_000)
    before = len(world.kinds("restamp"))
    world.run(65_000)
    assert len(world.kinds("restamp")) == before


@pytest.mark.row("S-86")
def test_a_fast_clock_wins_whoever_starts_first(world):
    join(world, "A", node={"skew_ms": 3_600_000})
    world.run(1_000)
    join(world, "B", "tagB")
    world.run(61_000)
    assert in_force(world).sub_string == "tagA"


@pytest.mark.row("S-87")
def test_a_consumer_without_queues_takes_the_slot(world):
    members = [join(world, who) for who in "ABCD"]
    world.run(2_000)
    assert in_force(world).sub_string == "tagA"
    world.facts.clear()
    fifth = join(world, "E", "tagE")
    world.run(61_000)
    assert (held(fifth), [held(m) for m in members]) == ([], [[0], [1], [2], [3]])
    assert in_force(world).sub_string == "tagE"
    assert [f for _, _, f in world.kinds("restamp") if f["topic"] == "T"] == []


@pytest.mark.row("S-17", "S-35")
def test_the_later_start_usually_takes_the_groups_slot(world):
    join(world, "A")
    world.run(2_000)
    assert in_force(world).tags_set == {"tagA"}
    join(world, "B", "tagB")
    world.run(100)
    assert in_force(world).tags_set == {"tagB"}


@pytest.mark.row("S-88")
def test_when_the_winner_leaves_the_other_stamps_anew(world):
    join(world, "A")
    world.run(2_000)
    b = join(world, "B", "tagB")
    world.run(2_000)
    assert in_force(world).sub_string == "tagB"
    world.do(b.shutdown(), 1_000)
    world.run(100)
    assert in_force(world).sub_string == "tagA"


@pytest.mark.row("S-85")
def test_more_queues_change_the_share_and_the_stamp(world):
    a = join(world, "A")
    world.run(1_000)
    world.facts.clear()
    world.topic("T", 8)
    world.run(52_000)
    assert held(a) == list(range(8))
    assert [f["topic"] for _, _, f in world.kinds("restamp")].count("T") == 1


def test_a_queue_that_is_not_pulled_for_two_minutes_is_given_up_and_taken_again(world):
    a = join(world, "A")
    world.run(1_000)
    queue = MessageQueue("T", "broker-a", 0)
    stuck = a.rebalance_impl.process_queue_table[queue]
    stuck.last_pull_timestamp = a.instance.runtime.now() - 120_001
    world.facts.clear()
    a.instance.rebalance_service.wakeup()
    world.run(100)
    assert stuck.dropped
    assert a.rebalance_impl.process_queue_table[queue] is not stuck
    assert [f["topic"] for _, _, f in world.kinds("restamp")] == ["T", "%RETRY%G"]  # the latter's queue is new


def test_queues_of_a_topic_no_longer_subscribed_are_dropped(world):
    a = join(world, "A")
    world.topic("T2")
    world.do(a.subscribe("T2", "*"))
    world.run(21_000)
    assert held(a, "T2") == [0, 1, 2, 3]
    gone = [p for q, p in a.rebalance_impl.process_queue_table.items() if q.topic == "T2"]
    a.unsubscribe("T2")
    world.run(21_000)
    assert (held(a, "T2"), held(a)) == ([], [0, 1, 2, 3])
    assert all(p.dropped for p in gone)


@pytest.mark.row("S-96")
def test_where_a_group_without_offsets_begins(make_world):
    def first_offset(where, sent_before, **settings):
        world = make_world()
        world.topic("T", 1)
        producer = world.producer()
        world.do(producer.start())
        queue = MessageQueue("T", "broker-a", 0)
        from rmqlab.message.message import Message

        for i in range(sent_before):
            world.do(producer.send(Message.of("T", b"%d" % i, "tagA"), queue))
        world.run(1_000)
        consumer = world.consumer("A", consume_from_where=where, **settings)
        world.do(consumer.subscribe("T", "tagA"))
        world.do(consumer.start())
        world.run(500)
        return sorted(message.queue_offset for _, message in world.consumed)

    last = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    assert first_offset(last, 2) == [0, 1]  # a small topic is read from 0: the broker answers 0
    assert first_offset(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, 2) == [0, 1]
    broadcasting = {"message_model": MessageModel.BROADCASTING}
    assert first_offset(last, 2, **broadcasting) == []  # nothing on disk: the end of the queue
    assert first_offset(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, 2, **broadcasting) == [0, 1]
    assert first_offset(ConsumeFromWhere.CONSUME_FROM_TIMESTAMP, 2, **broadcasting) == [0, 1]


def test_in_broadcasting_every_consumer_has_all_queues_and_asks_for_no_clients(world):
    members = [join(world, who, message_model=MessageModel.BROADCASTING) for who in "AB"]
    world.run(1_000)
    assert [held(m) for m in members] == [[0, 1, 2, 3]] * 2
    assert world.requests("A", GET_CLIENTS) == []
    assert not any(f["topic"].startswith("%RETRY%") for _, _, f in world.kinds("rebalance"))


def test_another_strategy(world):
    members = [join(world, who, allocate_strategy=AllocateMessageQueueAveragelyByCircle()) for who in "AB"]
    world.run(1_000)
    assert [held(m) for m in members] == [[0, 2], [1, 3]]


def test_a_strategy_that_fails_leaves_the_queues_alone(world):
    a = join(world, "A")
    world.run(1_000)

    class Broken:
        name = "BROKEN"

        def allocate(self, *lists):
            raise ValueError("no")

    a.allocate_strategy = Broken()
    join(world, "B")
    world.run(25_000)
    assert held(a) == [0, 1, 2, 3]


def test_a_failed_question_leaves_the_queue_for_the_next_round(world):
    world.topic("T")
    a = world.consumer("A")
    world.do(a.subscribe("T", "tagA"))

    def sometimes(addr, header):
        return RemotingTimeoutError(addr, 5_000) if header.queue_id == 2 else None

    answer_again = world.refuse(a.instance, RequestCode.QUERY_CONSUMER_OFFSET, sometimes)
    world.do(a.start())
    world.run(1_000)
    assert held(a) == [0, 1, 3]
    answer_again()
    world.run(21_000)
    assert held(a) == [0, 1, 2, 3]


def of_version(make_world, version):
    world = make_world(rules=RULES[version])
    world.topic("T")
    return world


@pytest.mark.parametrize(("version", "wait_ms"), [("4.8.0", 0), ("5.5.0", 500)])
def test_a_new_queue_waits_for_its_first_pull_since_5(make_world, version, wait_ms):
    world = of_version(make_world, version)
    join(world, "A")
    world.run(3_000)
    owned = next(t for t, _, fields in world.kinds("rebalance") if fields["topic"] == "T")
    pulled = min(t for t, _ in world.requests("A", RequestCode.PULL_MESSAGE))
    assert wait_ms <= pulled - owned < wait_ms + 50


@pytest.mark.parametrize(("version", "between"), [("4.8.0", 0), ("5.5.0", 1_000)])
def test_wakes_are_served_once_in_a_second_since_5(make_world, version, between):
    world = of_version(make_world, version)
    a = join(world, "A")
    world.run(5_000)
    world.frames.clear()
    for _ in range(6):
        a.instance.rebalance_service.wakeup()
        world.run(500)
    asked = sorted({round(t / 10) * 10 for t, _ in world.requests("A", GET_CLIENTS)})
    gaps = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert len(asked) == (3 if between else 6)
    assert min(gaps) >= between


@pytest.mark.parametrize(("version", "rounds"), [("4.8.0", 1), ("5.3.3", 10), ("5.5.0", 10)])
def test_who_did_not_get_its_queues_tries_again_each_second_since_5(make_world, version, rounds):
    world = of_version(make_world, version)
    consumer = world.consumer("A")
    asked = []

    def unreachable(addr, header):
        asked.append(world.time.now_ms())
        return RemotingTimeoutError(addr, 3_000)

    world.refuse(consumer.instance, QUERY_OFFSET, unreachable)
    world.do(consumer.subscribe("T", "tagA"))
    world.do(consumer.start())
    world.run(10_500)
    assert len({round(t / 100) for t in asked}) == pytest.approx(rounds, abs=1)
    assert held(consumer) == []


@pytest.mark.parametrize(("version", "number"), [("4.8.0", 373), ("5.3.3", 479), ("5.5.0", 513)])
def test_both_sides_write_the_number_of_their_version(make_world, version, number):
    world = of_version(make_world, version)
    join(world, "A")
    world.run(3_000)
    assert {(direction, command.version) for _, _, direction, command in world.frames} == {
        ("c2s", number), ("s2c", number),
    }  # fmt: skip
