"""The scheduler: total order, sleeping, events, cancelling."""

from __future__ import annotations

import gc
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.sim.scheduler import OBJECTS, Scheduler, Sleep, VirtualEvent
from tests.proof.virtual_clock import run_until


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), max_size=40))
def test_order_is_time_then_priority_then_arrival(entries: list[tuple[int, int]]) -> None:
    scheduler = Scheduler()
    ran: list[int] = []
    for index, (time_us, priority) in enumerate(entries):
        scheduler.at(time_us, ran.append, index, priority=priority)
    while scheduler.step():
        pass
    assert ran == [i for _, _, i in sorted((t, p, i) for i, (t, p) in enumerate(entries))]
    assert scheduler.steps == len(entries)


def test_nothing_happens_before_the_present() -> None:
    scheduler = Scheduler()
    run_until(scheduler, 100)
    times: list[int] = []
    scheduler.at(5, lambda: times.append(scheduler.now_us))
    assert scheduler.step()
    assert times == [100]
    assert not scheduler.step()


def test_sleeping_coroutines_interleave_by_time() -> None:
    scheduler = Scheduler()
    log: list[tuple[str, int]] = []

    async def beat(name: str, period: int) -> None:
        for _ in range(3):
            await Sleep(scheduler, period)
            log.append((name, scheduler.now_us))

    scheduler.spawn(beat("a", 20), "a")
    scheduler.spawn(beat("b", 30), "b")
    run_until(scheduler, 1000)
    assert log == [("a", 20), ("b", 30), ("a", 40), ("b", 60), ("a", 60), ("b", 90)]
    assert scheduler.now_us == 1000


def test_event_wakes_its_waiters_or_times_out() -> None:
    scheduler = Scheduler()
    event = VirtualEvent(scheduler)
    log: list[tuple[str, bool, int]] = []

    async def waiter(name: str, timeout_ms: int | None) -> None:
        woken = await event.wait(timeout_ms)
        log.append((name, woken, scheduler.now_us))

    scheduler.spawn(waiter("short", 1), "short")
    scheduler.spawn(waiter("long", 10), "long")
    scheduler.spawn(waiter("for ever", None), "for ever")
    scheduler.at(5_000, event.set)
    run_until(scheduler, 20_000)
    assert log == [("short", False, 1_000), ("long", True, 5_000), ("for ever", True, 5_000)]
    scheduler.spawn(waiter("late", None), "late")
    run_until(scheduler, 30_000)
    assert log[-1] == ("late", True, 20_000)


def test_cancel_runs_finally_and_leaves_stale_wakeups_harmless() -> None:
    scheduler = Scheduler()
    log: list[str] = []

    async def work() -> None:
        try:
            await Sleep(scheduler, 100)
            log.append("not reached")
        finally:
            log.append("cleaned")

    task = scheduler.spawn(work(), "work")
    run_until(scheduler, 50)
    task.cancel()
    task.cancel()
    run_until(scheduler, 200)
    assert log == ["cleaned"]
    assert task.done


def test_a_failing_task_stops_the_run_and_is_named() -> None:
    scheduler = Scheduler()

    async def broken() -> None:
        await Sleep(scheduler, 7_000)
        raise ValueError("no")

    scheduler.spawn(broken(), "broken one")
    with pytest.raises(ValueError, match="no") as caught:
        run_until(scheduler, 10_000)
    assert "broken one" in caught.value.__notes__[0]
    assert "7.000 ms" in caught.value.__notes__[0]


def test_python_looks_for_garbage_less_often_in_a_run_and_afterwards_as_before() -> None:
    before = gc.get_threshold()
    seen: list[int] = []

    def look(*, fails: bool = False) -> None:
        seen.append(gc.get_threshold()[0])
        if fails:
            raise ValueError

    scheduler = Scheduler()
    scheduler.at(1, look)
    scheduler.run()
    scheduler.at(2, partial(look, fails=True))
    with pytest.raises(ValueError, match=""):
        scheduler.run()
    scheduler.at(3, look)
    scheduler.step()
    assert seen == [OBJECTS, OBJECTS, before[0]]
    gc.set_threshold(0)  # whoever has switched the collector off finds it off
    try:
        scheduler.at(4, look)
        scheduler.run()
        assert (seen[-1], gc.get_threshold()[0]) == (0, 0)
    finally:
        gc.set_threshold(*before)
    assert gc.get_threshold() == before
