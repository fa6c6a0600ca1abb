"""A simulation that is driven by hand: it waits for its next step, and time passes only when somebody lets it.

Whatever is done has a place in the scenario that these steps make, and a run of that scenario gives the same bytes. So
a step comes where the scenario's own driver would come: at a whole ms, ahead of what was posted for that instant later.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from rmqlab.scenario.scenario import Alloc, Offsets, Scenario, Step
from rmqlab.sim.scheduler import US_PER_MS, Trap
from rmqlab.sim.simulate import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.run.run import Run
    from rmqlab.sim.scheduler import VirtualTask
    from rmqlab.sim.virtual import VirtualNode


class InteractiveSimulation(Simulation):
    """Starts with a scenario's topics and no step; `do` takes steps, `run_ms` and `step` let time pass.

    Raises:
        BadInput: the scenario asks for something that is not simulated.
    """

    def __init__(self, scenario: Scenario, **settings: Any) -> None:
        """`settings` are those of `Simulation`."""
        self._driver: VirtualTask | None = None
        self._place = 0
        self._stepped_us = 0
        self._passed = False
        self.broken_by: str | None = None  # the error that ended it in the midst of a step
        super().__init__(msgspec.structs.replace(scenario, steps=[]), **settings)
        self._until_driver_waits()

    @property
    def at_ms(self) -> float:
        """Ms since the topics had settled: the clock of a scenario's steps."""
        return (self.world.scheduler.now_us - self.began_us) / US_PER_MS

    @property
    def next_at(self) -> int:
        """When (whole ms, the clock of the steps) the next step would be done."""
        elapsed_us = self.world.scheduler.now_us - self.began_us
        if self._passed:  # something of this instant has happened that a scenario's step would come before
            return elapsed_us // US_PER_MS + 1
        at_once = self.world.scheduler.now_us == self._stepped_us  # nobody waits, so it begins within the same ms
        return elapsed_us // US_PER_MS if at_once else -(-elapsed_us // US_PER_MS)

    def do(self, step: Step) -> None:
        """Do one step now; `step.at` is `next_at`. Time passes as far as the step itself takes."""
        self.run_to(step.at)
        self.scenario.steps.append(step)
        driver, self._driver = self._driver, None
        if driver is None:
            raise RuntimeError("the driver is not waiting for a step")
        driver.wake(driver.ticket, step)
        self._until_driver_waits()

    def run_to(self, at: int, until: Callable[[], bool] | None = None) -> bool:
        """Let everything happen that comes before a step at `at` (ms); nothing, if it follows the last step.

        With `until` one thing at a time, and no more once that is true; whether it became true.
        """
        at_us = self.began_us + at * US_PER_MS
        if at_us > self._stepped_us:
            self._passed = True  # also when `until` raises: what came before has happened
            before = (at_us, 0, self._place)
            while self._run(before, once=until is not None):
                if until is not None and until():
                    return True
            self._passed = False
        return self._passed

    def step(self) -> bool:
        """Do exactly the next thing; False when nothing is left to do."""
        self._passed = self._run(once=True)
        return self._passed

    def so_far(self) -> Run:
        """The run as it stands, as if its scenario ended now; nothing changes by looking."""
        facts, steps = self.cluster.facts, self.scenario.steps
        count = len(facts)
        for step in self.closing():
            self._ask(step)
        run = replace(self.finish(), scenario=self.exported())
        run.events[0]["scenario"] = run.scenario.to_builtins()
        del facts[count:]
        self.scenario = msgspec.structs.replace(self.scenario, steps=steps)
        return run

    def closing(self) -> list[Step]:
        """The questions at the end, as recordings have them: who owns what, what is committed; none once it ended."""
        if self._driver is None:
            return []
        last_steps = self.world.scheduler.now_us == self._stepped_us and self.scenario.steps[-1:]
        if last_steps and isinstance(last_steps[0], Offsets):
            return []
        return [Alloc(at=self.next_at), Offsets(at=self.next_at)]

    def exported(self) -> Scenario:
        """The scenario of what was done so far; it ends now."""
        return msgspec.structs.replace(self.scenario, steps=[*self.scenario.steps, *self.closing()])

    def end(self) -> Run:
        """Ask the last questions, shut everybody down; nothing can be done afterwards."""
        for step in self.closing():
            self.do(step)
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.wake(driver.ticket, None)
        try:
            self.world.scheduler.run()
            run = self.finish()
            run.events[0]["scenario"] = self.scenario.to_builtins()
            return run
        finally:
            self.world.scheduler.close()

    async def _drive(self, node: VirtualNode) -> None:
        await self._begin(node)
        next_step = _NextStep(self)
        while (step := await next_step) is not None:
            await self._take(step)
        await self._end(node)

    def _may_crash(self) -> bool:
        return True

    def waits(self, driver: VirtualTask) -> None:
        """Called by the driver's coroutine: it waits for its next step, at the place it has among what is due then."""
        scheduler = self.world.scheduler
        self._driver, self._place, self._stepped_us = driver, scheduler.reserve(), scheduler.now_us
        scheduler.stop()

    def _until_driver_waits(self) -> None:
        if self._driver is None:  # else the step took no time at all
            self._run()

    def _run(self, before: tuple[int, int, int] | None = None, *, once: bool = False) -> bool:
        """Let things happen (`Scheduler.run`). What one of them raises has broken it: nothing can be done any more."""
        try:
            return self.world.scheduler.run(before, once=once)
        except BaseException as error:
            self.broken_by = type(error).__name__
            self.world.scheduler.close()
            raise


class _NextStep(Trap):
    """Waits until somebody gives the driver a step."""

    __slots__ = ("_simulation",)

    def __init__(self, simulation: InteractiveSimulation) -> None:
        self._simulation = simulation

    def arm(self, task: VirtualTask) -> None:
        self._simulation.waits(task)
