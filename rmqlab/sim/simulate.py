"""Runs a scenario in virtual time, step by step as the recorded scenarios were driven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.client.client_config import ProducerConfig
from rmqlab.client.client_error import MQClientError
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.run.fates import FateClassifier
from rmqlab.run.recorded_events import ScenarioBegins, UnderWay
from rmqlab.run.run import Run
from rmqlab.scenario.fault_steps import RestartBroker
from rmqlab.scenario.scenario import PRODUCER_NAME, Scenario, refusal_of
from rmqlab.scenario.schedule import Schedule
from rmqlab.sim.cluster import Cluster, ClusterConfig
from rmqlab.sim.consumers import owners_of
from rmqlab.sim.frame_queues import FIRST_FRAME_US, STEP
from rmqlab.sim.quiescence import Quiescence
from rmqlab.sim.scenario_steps import ClientSettings, ScenarioSteps, first_line
from rmqlab.sim.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.run.fates import Owners
    from rmqlab.scenario.schedule import Chooser, Timing
    from rmqlab.sim.frame_queues import Reduction
    from rmqlab.sim.virtual import VirtualNode

TOPICS_SETTLE_MS = 2_500  # between the creation of the topics and the first step, as the recordings were driven
LOOK_MS = 500  # between two looks whether a scenario that asks nothing at its end stands still
LONGEST_REST_MS = 240_000  # a client is forgotten after 120 to 130 s, rebalances come every 20 s, pulls are held for 15
OBSERVER_STOPS_MS = 50  # its last look, before the consumers are shut down one after another


class Simulation(ScenarioSteps):
    """One scenario on one cluster. `run` does it all; `world` can be stepped by hand instead."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        chooser: Chooser | None = None,
        timing: Timing | None = None,
        cluster: ClusterConfig | None = None,
        clients: ClientSettings | None = None,
        observers: Sequence[Callable[[Simulation], object]] = (),
        reduction: Callable[[Simulation], Reduction] | None = None,
    ) -> None:
        """`observers` are made before the first step, and may look at it whenever its scheduler calls them.

        `reduction` belongs to a timing with open orders, whose schedules number the choices that it leaves open.

        Raises:
            BadInput: the scenario asks for something that is not simulated, by name.
            ValueError: orders are open, and no reduction is given.
        """
        cluster = cluster or ClusterConfig()
        refusal = refusal_of(scenario, cluster.rules)
        if refusal is not None:
            raise BadInput(_("scenario {id}: {refusal}", id=f"{scenario.id!r}", refusal=refusal))
        super().__init__(scenario, Cluster(cluster, chooser, timing), clients or ClientSettings())
        if self._may_crash():
            self.cluster.write_files_now_and_then()
        self.done = False
        self.under_way: str | None = None
        self._owners: Owners | None = None  # when all was done, before the consumers were shut down
        lanes = self.world.lanes
        if lanes is not None:
            if reduction is None:
                raise ValueError("open orders need a reduction, by which their choices are numbered")
            lanes.independent_move = reduction(self).independent_move
        self.recorder.event(ScenarioBegins(scenario.to_builtins(), self.cluster.config.epoch_ms))
        node = self._node(PRODUCER_NAME)
        self.producer = DefaultMQProducer(
            self.recorder.wire_name(self.settings.producer_group),
            self._instance(node, PRODUCER_NAME),
            ProducerConfig(send_msg_timeout=self.settings.send_timeout_ms),
        )
        for observer in observers:
            observer(self)
        node.visitor = node.spawn(self._drive(node), "scenario")
        self.world.chooser.clock = self._moment

    def _moment(self) -> tuple[float, int]:
        return self.world.now_ms(), len(self.cluster.facts)

    def _may_crash(self) -> bool:
        """Whether a crash of the broker may come: then what it has written by then counts."""
        return any(isinstance(step, RestartBroker) and step.crash for step in self.scenario.steps)

    def run(self) -> Run:
        """Step until the scenario is over."""
        try:
            self.world.scheduler.run()
            return self.finish()
        finally:
            self.world.scheduler.close()

    def finish(self) -> Run:
        """Decide the fates as things stand now."""
        facts = self.cluster.facts
        owners = owners_of(self.consumers, facts, self.recorder) if self._owners is None else self._owners
        return Run(
            self.scenario,
            self.recorder.events,
            facts,
            FateClassifier(facts, owners).fates(self.recorder.sent, self.members),
            Schedule.of(self.world.chooser.made, self.scenario.id, self.world.timing),
            self.world.chooser.made,
            self.world.scheduler.steps,
            owners,
            self.queues(),
            self.under_way,
            self.zero,
        )

    @property
    def zero(self) -> int:
        """When the topics were ready (ms since the run began); with open orders the first step is the first move."""
        first_us = 0 if self.world.lanes is None else FIRST_FRAME_US
        return round((self.began_us + first_us) / US_PER_MS)

    async def _drive(self, node: VirtualNode) -> None:
        await self._begin(node)
        for step in self.scenario.steps:
            wait_us = self.began_us + step.at * US_PER_MS - self.world.scheduler.now_us
            if wait_us > 0:
                await node.sleep_us(wait_us)
            else:
                await self._goes_on(node)
            await self._take(step)
        if self.scenario.ends_with_question:
            await self._goes_on(node)
        else:
            await self._comes_to_rest(node)
        await self._end(node)

    async def _begin(self, node: VirtualNode) -> None:
        """Create the topics, as the recordings were driven; time 0 of the steps is when they have settled."""
        await self.producer.start()
        for topic, queues in self.scenario.topics.items():
            try:
                await self._create(topic, queues)
            except MQClientError as error:
                problem = _(
                    "scenario {id}: topics.{topic}: the broker refuses it: {first_line}",
                    id=f"{self.scenario.id!r}",
                    topic=topic,
                    first_line=first_line(error),
                )
                raise BadInput(problem) from error
        await node.sleep(TOPICS_SETTLE_MS)
        self.began_us = self.world.scheduler.now_us

    async def _end(self, node: VirtualNode) -> None:
        """Note how things stand, then shut everybody down."""
        self._owners = owners_of(self.consumers, self.cluster.facts, self.recorder)
        await node.sleep(OBSERVER_STOPS_MS)
        for consumer in sorted(self.consumers.values(), key=lambda consumer: not consumer.pushes):
            await self._awake(consumer.step.who)
            await self._shutdown(consumer)
        await self.producer.shutdown()
        self.done = True
        self.world.scheduler.stop()

    async def _goes_on(self, node: VirtualNode) -> None:
        """With open orders the next step is a move of its own, so that no frame starts or stops anybody."""
        lanes = self.world.lanes
        if lanes is not None:
            now = node.event()
            lanes.post((node.name, STEP), STEP, now.set)
            await now.wait()

    async def _comes_to_rest(self, node: VirtualNode) -> None:
        """Wait until nothing more can change what was delivered, committed or lost, but not for ever.

        Delayed messages are waited for however long they take.
        """
        quiescence, last_us = Quiescence(self.cluster, self.consumers), self.world.scheduler.now_us
        while (under_way := quiescence.under_way(faults=self.faults.to_come)) is not None:
            if self.cluster.broker.schedule_message_service.holds_back():
                last_us = self.world.scheduler.now_us
            elif self.world.scheduler.now_us - last_us > LONGEST_REST_MS * US_PER_MS:
                self.under_way = under_way
                self.recorder.event(UnderWay(under_way))
                return
            await node.sleep(LOOK_MS)

    def queues(self) -> dict[str, int]:
        """The number of queues that each topic has now."""
        table = self.cluster.broker.topic_config_manager.topic_config_table
        known = {topic: table.get(self.recorder.wire_name(topic)) for topic in self.scenario.topics}
        return {topic: config.read_queue_nums for topic, config in known.items() if config is not None}


def simulate(scenario: Scenario, **settings: Any) -> Run:
    """Run one scenario from beginning to end; the settings are those of `Simulation`.

    Raises:
        BadInput: the scenario asks for something that is not simulated, by name.
    """
    return Simulation(scenario, **settings).run()
