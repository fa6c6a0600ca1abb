"""Delayed messages: when they are looked at, when they are delivered, and as what."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rmqlab.broker.schedule_message_service import message_time_up
from rmqlab.message.message import MessageExt
from rmqlab.message.record import decode_records
from rmqlab.store.config import BrokerRole
from rmqlab.store.dispatch_request import PutMessageResult, PutMessageStatus

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
LEVELS_MS = [
    1_000, 5_000, 10_000, 30_000, 60_000, 120_000, 180_000, 240_000, 300_000, 360_000, 420_000, 480_000, 540_000,
    600_000, 1_200_000, 1_800_000, 3_600_000, 7_200_000,
]  # fmt: skip


def stored(bench, topic, queue=0):
    result = bench.store.get_message("any", topic, queue, 0, 32, None)
    return decode_records(b"".join(result.messages))


@pytest.fixture
def ready(bench):
    bench.topic("T")
    return bench


@pytest.mark.parametrize(("level", "delay"), list(enumerate(LEVELS_MS, start=1)))
def test_eighteen_levels(ready, level, delay):
    ready.pass_time(1_000)
    ready.send("T", b"later", "tagA", queue=2, props={"DELAY": str(level)})
    ready.pass_time(delay - 1)
    assert stored(ready, "T", 2) == []
    ready.pass_time(1)
    (message,) = stored(ready, "T", 2)
    assert (message.body, message.tags, message.store_timestamp) == (b"later", "tagA", ready.now)


def test_a_delivered_message_can_be_matched_by_its_tag_again(ready, bodies):
    member = ready.channel()
    ready.subscribe(member, "G", {"T": "tagA"}, version=1)
    ready.send("T", b"a", "tagA", props={"DELAY": "1"})
    ready.send("T", b"b", "tagB", props={"DELAY": "1"})
    ready.pass_time(1_000)
    assert bodies(ready.pull(member, "G", "T", version=1)) == [b"a"]


def test_nothing_is_delivered_in_the_first_second(ready):
    ready.send("T", props={"DELAY": "1"})
    ready.pass_time(999)
    assert stored(ready, "T") == []
    ready.pass_time(1)
    assert len(stored(ready, "T")) == 1


def test_a_level_is_looked_at_every_tenth_of_a_second(make_bench):
    # A level without delay shows the grid: 100 ms steps from one second after the start.
    bench = make_bench(store_config={"message_delay_level": "0s"})
    bench.topic("T")
    bench.pass_time(1_234)
    bench.send("T", props={"DELAY": "1"})
    assert bench.broker.next_timer() == bench.now + 66
    bench.pass_time(65)
    assert stored(bench, "T") == []
    bench.pass_time(1)
    assert len(stored(bench, "T")) == 1


@given(st.lists(st.integers(0, 700), min_size=1, max_size=8))
def test_waking_a_level_shows_the_same_as_looking_all_the_time(gaps):
    from rmqlab.broker.broker import Broker
    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.message.message import MessageExtBrokerInner
    from rmqlab.store.config import MessageStoreConfig
    from rmqlab.store.message_store import MessageStore

    store = MessageStore(MessageStoreConfig(message_delay_level="0s"))
    broker = Broker(BrokerConfig(), store, now=0)
    now, expected = 0, []
    for gap in gaps:
        now += gap
        assume(now % 100)  # a message that comes on the very ms of a look may be seen by it or by the next one
        broker.timers.run(now)
        broker.now = now
        message = MessageExtBrokerInner(topic="T", body=b"x", properties={"DELAY": "1"})
        store.put_message(message, now)
        expected.append(max(1_000, -(-now // 100) * 100))
    broker.timers.run(now + 2_000)
    result = store.get_message("any", "T", 0, 0, 32, None)
    assert [one.store_timestamp for one in decode_records(b"".join(result.messages))] == expected


def test_messages_of_a_level_are_delivered_in_their_order_each_at_its_time(ready):
    ready.pass_time(2_000)
    for number in range(3):
        ready.send("T", b"%d" % number, props={"DELAY": "2"})
        ready.pass_time(30)
    ready.pass_time(10_000)
    assert [(one.body, one.store_timestamp - ready.now + 10_090) for one in stored(ready, "T")] == [
        (b"0", 5_000),
        (b"1", 5_030),
        (b"2", 5_060),
    ]
    assert ready.broker.schedule_message_service.offset_table == {2: 3}


def test_a_due_time_further_away_than_the_delay_is_now(ready):
    ready.pass_time(2_000)
    ready.send("T", props={"DELAY": "3"})
    # The clock goes back by an hour: the message would be due in an hour and ten seconds.
    service = ready.broker.schedule_message_service
    queue = ready.store.get_consume_queue(SCHEDULE, 2)
    assert service._deliver_timestamp(queue, 3, ready.now + 10_000, 0, 1, ready.now) == ready.now + 10_000
    earlier = ready.now - 3_600_000
    assert service._deliver_timestamp(queue, 3, ready.now + 10_000, 0, 1, earlier) == earlier


def test_a_message_the_store_refuses_is_tried_again_after_ten_seconds(ready):
    ready.send("T", b"a", props={"DELAY": "1"})
    put = ready.store.put_message
    ready.store.put_message = lambda *_: PutMessageResult(PutMessageStatus.CREATE_MAPEDFILE_FAILED)
    ready.pass_time(1_000)
    ready.store.put_message = put
    ready.pass_time(9_999)
    assert stored(ready, "T") == []
    ready.pass_time(1)
    assert [one.body for one in stored(ready, "T")] == [b"a"]


def test_a_slave_delivers_nothing(make_bench):
    bench = make_bench(store_config={"broker_role": BrokerRole.SLAVE})
    bench.pass_time(5_000)
    assert [name for _, name, _ in bench.broker.timers.upcoming()] == [
        "hold service", "client housekeeping", "filter data", "register broker", "broker stats",
    ]  # fmt: skip


def test_a_service_starts_once_goes_on_where_it_was_and_can_be_stopped(ready):
    ready.send("T", b"a", props={"DELAY": "1"})
    service = ready.broker.schedule_message_service
    service.shutdown()
    ready.pass_time(3_000)
    assert stored(ready, "T") == []
    service.start(ready.now)
    service.start(ready.now)
    ready.pass_time(1_000)
    assert [one.body for one in stored(ready, "T")] == [b"a"]


def test_a_message_that_forgot_its_topic_is_dropped():
    assert message_time_up(MessageExt(properties={"DELAY": "1"})) is None
    assert message_time_up(MessageExt(properties={"REAL_TOPIC": "T"})) is None


def test_a_half_message_is_never_delivered(ready):
    ready.send("T", b"half", props={"DELAY": "1", "TRAN_MSG": "true"})
    ready.pass_time(2_000)
    assert stored(ready, "RMQ_SYS_TRANS_HALF_TOPIC") == []
    assert stored(ready, "T") == []
