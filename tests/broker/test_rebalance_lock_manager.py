"""Locks of queues: one holder at a time, 60 s without a word."""

from __future__ import annotations

import pytest

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import LockBatchRequestBody, LockBatchResponseBody, UnlockBatchRequestBody
from rmqlab.protocol.codes import RequestCode, ResponseCode

QUEUES = [MessageQueue("T", "broker-a", number) for number in range(4)]


@pytest.fixture
def locks(bench):
    return bench.broker.rebalance_lock_manager


def test_a_free_queue_is_given_and_a_held_one_is_not(locks):
    assert locks.try_lock("G", QUEUES[0], "A", 0)
    assert not locks.try_lock("G", QUEUES[0], "B", 60_000)
    assert locks.try_lock("H", QUEUES[0], "B", 0)
    assert locks.try_lock("G", QUEUES[1], "B", 0)


def test_a_lock_is_anybodys_after_more_than_60_s_of_silence(locks):
    locks.try_lock("G", QUEUES[0], "A", 0)
    assert not locks.try_lock("G", QUEUES[0], "B", 60_000)
    assert locks.try_lock("G", QUEUES[0], "B", 60_001)
    assert not locks.try_lock("G", QUEUES[0], "A", 60_002)


def test_a_holder_renews_by_asking_again_even_after_expiry(locks):
    locks.try_lock("G", QUEUES[0], "A", 0)
    assert locks.try_lock("G", QUEUES[0], "A", 50_000)
    assert not locks.try_lock("G", QUEUES[0], "B", 110_000)
    assert locks.try_lock("G", QUEUES[0], "A", 200_000)
    assert not locks.try_lock("G", QUEUES[0], "B", 200_001)


def test_a_batch_gets_what_is_free_or_its_own(locks):
    locks.try_lock("G", QUEUES[0], "A", 0)
    locks.try_lock("G", QUEUES[1], "B", 0)
    assert locks.try_lock_batch("G", QUEUES, "B", 5) == QUEUES[1:]


def test_locked_queues_come_in_the_order_of_a_set_made_for_as_many_as_were_asked_for(bench):
    """Recorded from 4.8.0: a set made for three orders its items by the lowest two bits of their hash."""
    retry = MessageQueue("%RETRY%G_n-orderly-061", "broker-a", 0)
    asked = [MessageQueue("T_n-orderly-061", "broker-a", number) for number in (1, 0)] + [retry]
    body = LockBatchRequestBody(consumer_group="G_n-orderly-061", client_id="A", mq_set=asked)
    answer = bench.ask(bench.channel(), RequestCode.LOCK_BATCH_MQ, None, body.encode())
    locked = LockBatchResponseBody.decode(answer.body).lock_ok_mq_set
    assert [(queue.topic[0], queue.queue_id) for queue in locked] == [("%", 0), ("T", 0), ("T", 1)]


def test_only_the_holder_gives_up_a_lock(locks):
    locks.try_lock_batch("G", QUEUES[:2], "A", 0)
    locks.unlock_batch("G", QUEUES, "B")
    assert not locks.try_lock("G", QUEUES[0], "B", 1)
    locks.unlock_batch("G", QUEUES[:1], "A")
    assert locks.try_lock("G", QUEUES[0], "B", 1)
    assert not locks.try_lock("G", QUEUES[1], "B", 1)
    locks.unlock_batch("unknown", QUEUES, "A")


def test_the_requests_answer_with_the_queues_that_are_held_now(bench):
    def lock(client):
        body = LockBatchRequestBody(consumer_group="G", client_id=client, mq_set=QUEUES)
        answer = bench.ask(bench.channel(), RequestCode.LOCK_BATCH_MQ, None, body.encode())
        assert (answer.code, answer.remark, answer.all_ext_fields()) == (ResponseCode.SUCCESS, None, None)
        return set(LockBatchResponseBody.decode(answer.body).lock_ok_mq_set)

    assert lock("A") == set(QUEUES)
    assert lock("B") == set()
    body = UnlockBatchRequestBody(consumer_group="G", client_id="A", mq_set=QUEUES[:1])
    assert bench.ask(bench.channel(), RequestCode.UNLOCK_BATCH_MQ, None, body.encode()).code == ResponseCode.SUCCESS
    assert lock("B") == {QUEUES[0]}
    bench.pass_time(60_001)
    assert lock("A") == set(QUEUES)
