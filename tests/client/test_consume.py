from __future__ import annotations

from itertools import pairwise

import pytest

from rmqlab.client.client_error import MQClientError
from rmqlab.client.listener import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from rmqlab.message.message import Message
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.heartbeat import MessageModel
from tests.proof.clients.batch_send import send_batch

SUCCESS, LATER = ConsumeConcurrentlyStatus.CONSUME_SUCCESS, ConsumeConcurrentlyStatus.RECONSUME_LATER
OK, SUSPEND = ConsumeOrderlyStatus.SUCCESS, ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
QUEUE = MessageQueue("T", "broker-a", 0)


@pytest.fixture
def run(world):
    """Start a consumer with a listener on one queue, send bodies, and let time pass."""

    def go(listener, bodies, ms=1_000, **settings):
        world.topic("T", 1)
        consumer = world.consumer("A", listener=listener, **settings)
        world.do(consumer.subscribe("T", "*"))
        world.do(consumer.start())
        world.run(2_500)
        producer = world.producer()
        world.do(producer.start())
        world.do(send_batch(producer, [Message.of("T", body.encode()) for body in bodies], QUEUE))
        world.run(ms)
        return consumer

    return go


def bodies(messages):
    return [m.body.decode() for m in messages]


def test_batches_of_the_size_set_and_the_part_that_failed_goes_back(world, run):
    seen = []

    def listener(messages, context):
        seen.append(bodies(messages))
        context.ack_index = 0
        return SUCCESS

    consumer = run(listener, "abcde", consume_message_batch_max_size=2)
    assert seen == [["a", "b"], ["c", "d"], ["e"]]
    back = [c.header.origin_topic for _, c in world.requests("A", RequestCode.CONSUMER_SEND_MSG_BACK)]
    assert back == ["T", "T"]
    assert consumer.offset_store.offset_table[QUEUE] == 5


def test_the_listener_sets_the_delay_level(world, run):
    def listener(messages, context):
        context.delay_level_when_next_consume = 5
        return LATER

    run(listener, "a")
    ((_, command),) = world.requests("A", RequestCode.CONSUMER_SEND_MSG_BACK)
    header = command.header
    assert (header.delay_level, header.group, header.max_reconsume_times, header.offset) == (5, "G", 16, 0)
    assert header.origin_msg_id.startswith("0A000001")  # UNIQ_KEY, as MessageClientExt.getMsgId gives it


def test_broadcasting_drops_what_failed(world, run):
    consumer = run(lambda *_: LATER, "ab", message_model=MessageModel.BROADCASTING)
    assert world.requests("A", RequestCode.CONSUMER_SEND_MSG_BACK) == []
    assert consumer.offset_store.offset_table[QUEUE] == 2


def test_what_cannot_be_sent_back_is_consumed_again_after_five_seconds(world, run):
    seen = []

    def listener(messages, context):
        seen.append((round(world.time.now_ms()), messages[0].reconsume_times))
        return LATER if len(seen) == 1 else SUCCESS

    async def refused(*arguments):
        raise MQClientError("no")

    instance = world.instance("A")
    world.refuse(instance, RequestCode.CONSUMER_SEND_MSG_BACK, lambda *_: MQClientError("no"))
    instance.default_producer.send = refused
    consumer = run(listener, "a", ms=6_000)
    (first, zero), (second, one) = seen
    assert (second - first, zero, one) == (5_000, 0, 1)
    assert consumer.offset_store.offset_table[QUEUE] == 1


def test_a_dropped_queue_is_not_consumed_and_not_committed(world, run):
    seen = []

    def listener(messages, context):
        seen.append(bodies(messages))
        consumer_queue = consumer_of(world).rebalance_impl.process_queue_table[QUEUE]
        consumer_queue.dropped = True
        return SUCCESS

    def consumer_of(world):
        return world.instance("A").consumer_table["G"]

    consumer = run(listener, "ab", consume_thread_min=1)
    assert seen == [["a"]]
    assert consumer.offset_store.offset_table.get(QUEUE, 0) == 0


# ---- orderly


def test_a_queue_is_consumed_in_order_once_the_lock_is_confirmed(world, run):
    seen = []

    def listener(messages, context):
        context.consume_ms = 10
        seen.append((round(world.time.now_ms()), *bodies(messages)))
        return OK

    consumer = run(listener, "abc", orderly=True)
    assert [body for _, body in seen] == ["a", "b", "c"]
    assert [t - seen[0][0] for t, _ in seen] == [0, 10, 20]
    assert consumer.offset_store.offset_table[QUEUE] == 3
    # the lock got in the rebalance counts only from the first renewal, after a second; the pull had been put off
    first_pull = next(t for t, c in world.requests("A", RequestCode.PULL_MESSAGE) if c.header.topic == "T")
    lock_at = [t for t, _ in world.requests("A", RequestCode.LOCK_BATCH_MQ)]
    assert lock_at[0] < 10
    assert lock_at[1] == pytest.approx(1_000, abs=5)
    assert first_pull > lock_at[1]


def test_locks_are_renewed_every_twenty_seconds_and_given_back_at_the_end(world, run):
    consumer = run(lambda *_: OK, "a", ms=45_000, orderly=True)
    renewals = [round(t / 1_000) for t, c in world.requests("A", RequestCode.LOCK_BATCH_MQ) if t > 900]
    assert sorted(set(renewals)) == [1, 20, 21, 41]  # at 20 s the rebalance locks the retry topic's queue
    world.do(consumer.shutdown())
    unlock = world.requests("A", RequestCode.UNLOCK_BATCH_MQ)
    assert [c.is_oneway for _, c in unlock] == [False]


def test_suspend_tries_the_same_message_again_after_a_moment(world, run):
    seen = []

    def listener(messages, context):
        seen.append((round(world.time.now_ms()), messages[0].reconsume_times, *bodies(messages)))
        return SUSPEND if len(seen) < 3 else OK

    consumer = run(listener, "ab", ms=4_000, orderly=True)
    assert [(again, body) for _, again, body in seen] == [(0, "a"), (1, "a"), (2, "a"), (0, "b")]
    assert [b[0] - a[0] for a, b in pairwise(seen)] == [1_000, 1_000, 0]
    assert consumer.offset_store.offset_table[QUEUE] == 2


def test_an_orderly_owner_that_is_gone_leaves_the_queue_to_the_next(world, run):
    first = run(lambda *_: OK, "abc", orderly=True)
    world.do(first.shutdown())
    seen = []
    second = world.consumer("B", listener=lambda messages, _: seen.append(bodies(messages)), orderly=True)
    world.do(second.subscribe("T", "*"))
    world.do(second.start())
    world.run(3_000)
    assert seen == []  # it goes on at the offset the first one committed
    assert second.offset_store.offset_table[QUEUE] == 3


def test_a_queue_being_consumed_is_not_given_up_at_once(world, run):
    def slow(messages, context):
        context.consume_ms = 5_000
        return OK

    first = run(slow, "a", ms=500, orderly=True)
    held = first.rebalance_impl.process_queue_table[QUEUE]
    world.time.nodes["A"].manager  # noqa: B018 - same client, other id below takes the queue by its lower id
    other = world.consumer("0", orderly=True)
    world.do(other.subscribe("T", "*"))
    world.do(other.start())
    world.run(1_500)
    assert (held.dropped, held.try_unlock_times, QUEUE in first.rebalance_impl.process_queue_table) == (True, 1, True)
    world.run(45_000)
    assert QUEUE not in first.rebalance_impl.process_queue_table
    assert QUEUE in other.rebalance_impl.process_queue_table
