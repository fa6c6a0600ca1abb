"""How fast the core runs in virtual time: events, whole runs of the eight messages, and a long quiet group."""

from __future__ import annotations

import gc
from time import process_time
from typing import TYPE_CHECKING

from rmqlab.scenario.scenario import Offsets, OutgoingMessage, Scenario, Send, Start, Step, Subscription
from rmqlab.sim.scheduler import Scheduler, Sleep
from rmqlab.sim.simulate import Simulation
from rmqlab_tools.course.articles.eight_messages import EightMessages
from tests.proof.bench.benchmark import Benchmark, Measurement

if TYPE_CHECKING:
    from collections.abc import Callable

LONG_MS = 30 * 60_000
LONG_MEMBERS = 4
BARE_STEPS = 20_000
BARE_TASKS = 20
EIGHT_RUNS = 10


def long_group(minutes_ms: int = LONG_MS, members: int = LONG_MEMBERS) -> Scenario:
    """A group of four that agrees, one message a queue at its beginning and one at its end, and quiet in between."""
    subscribe = {"T": Subscription(type="TAG", expr="tagA")}
    steps: list[Step] = [Start(i * 1_000, who="ABCDEFGH"[i], group="G", subscribe=subscribe) for i in range(members)]
    messages = [[OutgoingMessage(f"{when}{i}", "tagA", queue=i) for i in range(4)] for when in ("first", "last")]
    steps += [Send(10_000, topic="T", messages=messages[0]), Send(minutes_ms - 30_000, topic="T", messages=messages[1])]
    return Scenario("long-group", {"T": 4}, [*steps, Offsets(minutes_ms)])


def timed(work: Callable[[], float]) -> Measurement:
    """How much ``work`` says it did, and the CPU seconds it took, without pauses of the garbage collector.

    CPU seconds, since what else the machine does is not the question.
    """
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        begin = process_time()
        done = work()
        return done, process_time() - begin
    finally:
        if enabled:
            gc.enable()


def bare_scheduler() -> Measurement:
    """Coroutines that only sleep, on the same heap: what a step costs before it does anything."""

    def work() -> float:
        scheduler = Scheduler()

        async def sleeper(period_us: int) -> None:
            while True:
                await Sleep(scheduler, period_us)

        for number in range(BARE_TASKS):
            scheduler.spawn(sleeper(1_000 + number), "sleeper")
        while scheduler.steps < BARE_STEPS:
            scheduler.step()
        return scheduler.steps

    return timed(work)


def _steps(simulation: Simulation) -> float:
    return simulation.run().steps


def _events() -> Measurement:
    return timed(lambda: _steps(Simulation(long_group())))


def _eight() -> Measurement:
    scenario = EightMessages()

    def work() -> float:
        for _ in range(EIGHT_RUNS):
            scenario.run()
        return EIGHT_RUNS

    return timed(work)


def _bare_eight() -> Measurement:
    """As many bare steps as a run of the eight messages has, counted as runs."""
    steps, seconds = bare_scheduler()
    return steps / EightMessages().run().steps, seconds


BENCHMARKS = (
    Benchmark(
        "events", f"simulated events: {LONG_MEMBERS} consumers, {LONG_MS // 60_000} minutes", "events/s",
        "steps of a bare scheduler", _events, bare_scheduler,
    ),
    Benchmark(
        "eight", "whole runs of the article's eight messages", "runs/s",
        "as many steps of a bare scheduler", _eight, _bare_eight,
    ),
)  # fmt: skip
