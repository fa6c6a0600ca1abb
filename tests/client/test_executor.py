from __future__ import annotations

import pytest

from rmqlab.client.executor import ScheduledExecutor
from rmqlab.client.lock import Lock
from rmqlab.message.java import hash_map_order
from rmqlab.message.topics import MessageQueue, message_queue_order


@pytest.fixture
def node(world):
    return world.time.node("N")


def test_a_fixed_rate_keeps_its_beat_and_catches_up_after_a_long_job(world, node):
    timer, ran = ScheduledExecutor(node, "t"), []

    async def job():
        ran.append(round(world.time.now_ms()))
        if len(ran) == 2:
            await node.sleep(250)

    timer.schedule_at_fixed_rate(job, 10, 100)
    world.run(620)
    assert ran == [10, 110, 360, 360, 410, 510, 610]


def test_jobs_of_one_thread_wait_for_each_other_and_an_earlier_one_goes_first(world, node):
    timer, ran = ScheduledExecutor(node, "t"), []

    def job(name, ms=0):
        async def run():
            ran.append((name, round(world.time.now_ms())))
            await node.sleep(ms)

        return run

    timer.schedule(job("late"), 100)
    world.run(20)
    timer.schedule(job("early", 200), 10)
    world.run(400)
    assert ran == [("early", 30), ("late", 230)]


def test_after_the_shutdown_nothing_runs(world, node):
    timer, ran = ScheduledExecutor(node, "t"), []

    async def job():
        ran.append(1)

    timer.schedule_at_fixed_rate(job, 10, 10)
    world.run(25)
    timer.shutdown()
    timer.schedule(job, 1)
    world.run(100)
    assert len(ran) == 2


def test_a_shutdown_in_the_very_instant_of_a_job_is_one(world, node):
    """The wait has ended, and the thread has not gone on yet, when somebody shuts it down."""
    timer, ran = ScheduledExecutor(node, "t"), []

    async def job():
        ran.append(1)

    async def stopper():
        await node.sleep(10)
        timer.shutdown()

    world.time.scheduler.spawn(stopper(), "stopper")
    timer.schedule(job, 10)
    world.run(100)
    assert ran == []


def test_a_lock_is_handed_on_in_order_and_waiting_can_end(world, node):
    lock, got = Lock(node), []

    async def holder(name, patience, keep):
        ok = await lock.acquire(patience)
        got.append((name, ok, round(world.time.now_ms())))
        if ok:
            await node.sleep(keep)
            lock.release()

    for name, patience, keep in (("a", None, 100), ("b", 50, 0), ("c", None, 10), ("d", 200, 40)):
        world.time.scheduler.spawn(holder(name, patience, keep), name)
    world.run(120)
    assert got == [("a", True, 0), ("b", False, 50), ("c", True, 100), ("d", True, 110)]
    assert not lock.try_acquire()
    # the lock becomes free in the instant in which the waiting ends: it is taken, not lost
    world.time.scheduler.spawn(holder("e", 30, 0), "e")
    world.run(100)
    assert got[4:] == [("e", True, 150)]
    assert lock.try_acquire()


@pytest.mark.row("S-84")
def test_queues_come_in_the_order_of_javas_hash_table():
    # the orders in which the recorded clients asked (T_p-article-000) and the real one listed its topics
    queues = [MessageQueue("T_p-article-000", "broker-a", i) for i in range(4)]
    assert [q.queue_id for q in message_queue_order(queues)] == [1, 0, 3, 2]
    assert [q.queue_id for q in message_queue_order(reversed(queues))] == [1, 0, 3, 2]
    assert hash_map_order(["T_p-article-000", "%RETRY%G_p-article-000"])[0].startswith("%RETRY%")
    assert message_queue_order([]) == []
