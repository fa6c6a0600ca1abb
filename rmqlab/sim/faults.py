"""Faults as they happen to a simulation: each step of `fault_steps` does its harm, at its moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from rmqlab.run.recorded_events import Control
from rmqlab.scenario.fault_steps import (
    BROKER,
    FAULT,
    MOMENTS,
    Cut,
    FaultStep,
    Freeze,
    Kill,
    LoseHeartbeat,
    NamesrvDown,
    NamesrvUp,
    Pause,
    RestartBroker,
    SetClock,
    Slow,
)
from rmqlab.sim.network import LinkFaults
from rmqlab.sim.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.sim.cluster import Cluster
    from rmqlab.sim.run_recorder import RunRecorder
    from rmqlab.sim.virtual import VirtualNode


class Faults:
    """Does faults to a cluster. `on_kill(who)` hears whose process ended."""

    def __init__(self, cluster: Cluster, recorder: RunRecorder, on_kill: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._on_kill = on_kill
        self._world = cluster.world
        self._waiting = 0
        self.to_come = 0  # faults whose moment is chosen and not there yet

    def happen(self, step: FaultStep, driver: VirtualNode) -> None:
        """Do a fault now, or at a moment of its span that is a choice; `driver` runs the coroutine that waits."""
        if not step.within:
            self._do(step)
            return
        moment = self._world.chooser.choose(label_of(step), MOMENTS)
        driver.spawn(self._later(step, moment, driver), f"fault {self._waiting}")
        self._waiting += 1
        self.to_come += 1

    async def _later(self, step: FaultStep, moment: int, driver: VirtualNode) -> None:
        await driver.sleep_us(step.within * US_PER_MS * moment // (MOMENTS - 1))
        lanes = self._world.lanes
        if lanes is not None:
            # with open orders it may come before or after any frame of this instant
            now = driver.event()
            lanes.post((label_of(step), FAULT), f"{FAULT} {kind_of(step)}", now.set)
            await now.wait()
        self.to_come -= 1
        self._do(step)

    def _do(self, step: FaultStep) -> None:
        cluster, scheduler = self._cluster, self._world.scheduler
        match step:
            case Cut(who=client):
                self._tell(f"cut @{client}", self._world.nodes[client].cut(cluster.broker_address))
            case Freeze(who=client, for_ms=for_ms):
                for_us = None if for_ms is None else for_ms * US_PER_MS
                self._tell(f"freeze @{client}", self._world.nodes[client].freeze(cluster.broker_address, for_us))
            case Kill(who=client, silent=silent):
                self._tell(f"kill @{client}", self._world.nodes[client].kill(silent=silent))
                self._on_kill(client)
            case Pause(who=client, for_ms=for_ms):
                self._tell(f"pause @{client} {for_ms}")
                target = cluster.broker_server if client == BROKER else self._world.nodes[client]
                target.pause(for_ms * US_PER_MS)
            case Slow(who=client, ms=ms, for_ms=for_ms):
                self._tell(f"slow @{client} {ms}")
                faults = self._faults_of(client)
                faults.slow_us += ms * US_PER_MS
                if for_ms is not None:
                    scheduler.at(scheduler.now_us + for_ms * US_PER_MS, self._no_longer_slow, client, ms)
            case SetClock(who=client, by_ms=by_ms):
                self._tell(f"clock @{client} {by_ms:+d}")
                if client == BROKER:
                    cluster.set_broker_clock(by_ms)
                else:
                    self._world.nodes[client].set_clock(by_ms)
            case LoseHeartbeat(who=client, times=times):
                self._tell(f"loseHeartbeat @{client} {times}")
                self._faults_of(client).heartbeats_to_lose += times
            case RestartBroker(down_ms=down_ms, crash=crash):
                self._tell("broker down", len(cluster.broker_server.connections))
                cluster.stop_broker(crash=crash)
                scheduler.at(scheduler.now_us + down_ms * US_PER_MS, self._broker_up)
            case NamesrvDown():
                self._tell("name server down", len(cluster.namesrv_server.connections))
                cluster.stop_namesrv()
            case NamesrvUp():
                self._tell("name server up")
                cluster.start_namesrv()
            case _:
                raise TypeError(f"{type(step).__name__} is no fault that can be done")

    def _tell(self, line: str, connections: int | None = None) -> None:
        self._recorder.event(Control(line, UNSET if connections is None else str(connections)))

    def _faults_of(self, client: str) -> LinkFaults:
        node = self._world.nodes[client]
        if node.faults is None:
            node.faults = LinkFaults()
        return node.faults

    def _no_longer_slow(self, client: str, ms: int) -> None:
        self._tell(f"no longer slow @{client} {ms}")
        self._faults_of(client).slow_us -= ms * US_PER_MS

    def _broker_up(self) -> None:
        self._cluster.start_broker()
        self._tell("broker up")
        self._recorder.look()


def kind_of(step: FaultStep) -> str:
    """What a step is called in a scenario, and whom it hits."""
    return " ".join(filter(None, (str(step.__struct_config__.tag), getattr(step, "who", ""))))


def label_of(step: FaultStep) -> str:
    """The choice of a fault's moment."""
    return f"moment of {kind_of(step)} at {step.at}"
