from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rmqlab.client.process_queue import ProcessQueue
from rmqlab.message.message import MessageExt

NOW = 1_000_000


def message(offset, body=b"xy", **properties):
    return MessageExt("T", body, properties=properties, queue_offset=offset)


def held(*offsets):
    queue = ProcessQueue(NOW, None)
    queue.put_message([message(offset) for offset in offsets])
    return queue


def test_counts_follow_puts_and_removals():
    queue = held(3, 4, 5)
    assert (queue.msg_count, queue.msg_size, queue.max_span()) == (3, 6, 2)
    queue.put_message([message(4)])  # the same offset again replaces
    assert (queue.msg_count, queue.msg_size) == (3, 6)
    assert queue.remove_message([message(4)], NOW) == 3
    assert queue.remove_message([message(3)], NOW) == 5
    assert queue.remove_message([message(5)], NOW) == 6
    assert (queue.msg_count, queue.msg_size, queue.max_span()) == (0, 0, 0)
    assert queue.remove_message([message(9)], NOW) == -1


@given(st.permutations(range(12)), st.integers(1, 5))
def test_the_offset_to_commit_is_the_lowest_that_is_not_consumed(order, batch):
    queue = held(*range(12))
    consumed = set()
    for start in range(0, 12, batch):
        part = order[start : start + batch]
        consumed |= set(part)
        left = set(range(12)) - consumed
        assert queue.remove_message([message(offset) for offset in part], NOW) == min(left, default=12)


def test_a_request_is_due_only_when_nobody_consumes():
    queue = ProcessQueue(NOW, None)
    assert queue.put_message([message(1)])
    assert not queue.put_message([message(2)])
    assert [m.queue_offset for m in queue.take_messages(8, NOW)] == [1, 2]
    assert queue.take_messages(8, NOW) == []
    assert queue.put_message([message(3)])
    assert not ProcessQueue(NOW, None).put_message([])


def test_taking_committing_and_putting_back():
    queue = held(1, 2, 3)
    first = queue.take_messages(2, NOW)
    assert queue.msg_count == 3
    queue.make_message_to_consume_again(first)
    assert list(queue.messages) == [1, 2, 3]
    queue.take_messages(2, NOW)
    assert queue.commit() == 3
    assert (queue.msg_count, queue.msg_size, list(queue.messages)) == (1, 2, [3])
    queue.take_messages(2, NOW)
    assert queue.commit() == 4
    assert queue.commit() == -1


def test_a_pull_is_overdue_after_two_minutes_and_a_lock_after_half_a_minute():
    queue = ProcessQueue(NOW, None)
    assert [queue.is_pull_expired(NOW + t) for t in (120_000, 120_001)] == [False, True]
    assert [queue.is_lock_expired(NOW + t) for t in (30_000, 30_001)] == [False, True]


def test_clear_forgets_all():
    queue = held(1, 2)
    queue.take_messages(1, NOW)
    queue.clear()
    assert (queue.msg_count, queue.msg_size, queue.messages, queue.consuming_orderly) == (0, 0, {}, {})
