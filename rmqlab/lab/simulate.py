"""Runs a scenario in virtual time, step by step as the recorded scenarios were driven.

Real names carry the scenario's id on the wire (topic ``T_<id>``, group ``G_<id>``, client ``<host>@A_<id>``), as in
the recordings, so that what depends on names (order of client ids, consistent hashing) comes out as it did there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from rmqlab.client.client_config import ProducerConfig
from rmqlab.client.client_error import CALL_ERRORS, MQClientError
from rmqlab.client.mq_client_manager import MQClientManager
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.errors import BadInput
from rmqlab.lab.cluster import Cluster, ClusterConfig
from rmqlab.lab.consumers import Consumer, client_of, config_of, final_state, poll_for_ever
from rmqlab.lab.fates import FateClassifier, FinalState, GroupMember
from rmqlab.lab.fault_steps import FaultStep, RestartBroker
from rmqlab.lab.faults import Faults
from rmqlab.lab.gauges import GaugeSampler
from rmqlab.lab.mqadmin import AT_THE_END, consume_stats, reset_offset_by_time
from rmqlab.lab.partial_order_reduction import STEP, PartialOrderReduction
from rmqlab.lab.quiescence import Quiescence
from rmqlab.lab.recorded_events import (
    OffsetAsked,
    OffsetReset,
    Owned,
    Resized,
    ScenarioBegins,
    Started,
    StartFailed,
    Starting,
    StepFailed,
    Stopped,
    Stopping,
    Subscribed,
    UnderWay,
)
from rmqlab.lab.run import Run
from rmqlab.lab.run_recorder import RunRecorder
from rmqlab.lab.scenario import (
    PRODUCER,
    Alloc,
    Offsets,
    ResetOffset,
    Resize,
    Scenario,
    Send,
    Start,
    Step,
    Stop,
    Subscribe,
    refusal_of,
)
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.message.java import to_utf8
from rmqlab.message.message import Message, MessageQueue, UserPropertyError
from rmqlab.runtime.schedule import Schedule
from rmqlab.runtime.scheduler import US_PER_MS

if TYPE_CHECKING:
    from rmqlab.client.client_config import ClientConfig
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.runtime.schedule import Chooser, Timing
    from rmqlab.runtime.virtual import VirtualNode

TOPICS_SETTLE_MS = 2_500  # between the creation of the topics and the first step, as the recordings were driven
LOOK_MS = 500  # between two looks whether a scenario that asks nothing at its end stands still
LONGEST_REST_MS = 240_000  # a client is forgotten after 120 to 130 s, rebalances come every 20 s, pulls are held for 15
OBSERVER_STOPS_MS = 50  # its last look, before the consumers are shut down one after another


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Who the clients are: address, process id, class loader hash (UNIQ_KEY), clock skews (ms) by name.

    ``unique_id_ip`` is the address in UNIQ_KEY (default: ``client_ip``), ``zone`` the time zone whose months count
    there. ``client_ids`` gives a client, by name, an id "ip@instance" of its own. With ``plain_names`` topics and
    groups go on the wire as the scenario writes them. ``producer_group`` and ``send_timeout_ms`` are the producer's.
    """

    client_ip: str = "192.0.2.2"
    pid: int = 4242
    class_loader_hash: int = 0x18B4AAC2
    skew_ms: dict[str, int] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    unique_id_ip: str | None = None
    zone: tzinfo = UTC
    client_ids: dict[str, str] = field(default_factory=dict)
    plain_names: bool = False
    producer_group: str = "PROD"
    send_timeout_ms: int = 3_000


class Simulation:
    """One scenario on one cluster. ``run`` does it all; ``world`` can be stepped by hand instead."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        chooser: Chooser | None = None,
        timing: Timing | None = None,
        cluster: ClusterConfig | None = None,
        clients: ClientSettings | None = None,
        gauges_every_ms: int | None = None,
    ) -> None:
        """``gauges_every_ms``: read the group's gauges that often, and write them as events.

        Raises:
            BadInput: the scenario asks for something that is not simulated, by name.
        """
        refusal = refusal_of(scenario)
        if refusal is not None:
            raise BadInput(f"scenario {scenario.id!r}: {refusal}")
        self.scenario = scenario
        self.cluster = Cluster(cluster or ClusterConfig(), chooser, timing)
        self.world = self.cluster.world
        self.settings = clients or ClientSettings()
        plain = scenario.plain_names or self.settings.plain_names
        self.recorder = RunRecorder(scenario, self.cluster, self.settings.client_ids, plain=plain)
        self.faults = Faults(self.cluster, self.recorder, self._killed)
        if self._may_crash():
            self.cluster.write_files_now_and_then()
        self.members: list[GroupMember] = []
        self.consumers: dict[str, Consumer] = {}
        self.done = False
        self.under_way: str | None = None
        self._final: FinalState | None = None
        self.began_us = 0  # when the topics were ready: time 0 of the steps
        settings = self.settings
        self._unique_ids = UniqueIdMaker(
            settings.unique_id_ip or settings.client_ip, settings.pid, settings.class_loader_hash, zone=settings.zone
        )
        lanes = self.world.lanes
        if lanes is not None:
            broadcasting = any(isinstance(step, Start) and step.mode == "broadcasting" for step in scenario.steps)
            lanes.free = PartialOrderReduction(self.cluster, self.consumers, lanes, broadcasting=broadcasting).free
        self.recorder.event(ScenarioBegins(scenario.to_builtins(), self.cluster.config.epoch_ms))
        node = self._node(PRODUCER)
        self.producer = DefaultMQProducer(
            self.recorder.long(settings.producer_group),
            self._instance(node, PRODUCER),
            ProducerConfig(send_msg_timeout=settings.send_timeout_ms),
        )
        self.gauges = None
        if gauges_every_ms is not None:
            self.gauges = GaugeSampler(self.cluster, self.consumers, self.recorder, scenario.groups(), gauges_every_ms)
        node.visitor = node.spawn(self._drive(node), "scenario")

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
        facts, state = self.cluster.facts, self._final or final_state(self.consumers, self.cluster.facts, self.recorder)
        ledger = FateClassifier(facts, state)
        return Run(
            self.scenario,
            self.recorder.events,
            facts,
            ledger.fates(self.recorder.sent, self.members),
            Schedule.of(self.world.chooser.made, self.scenario.id, self.world.timing),
            self.world.chooser.made,
            self.world.scheduler.steps,
            state.owners,
            self._queues(),
            self.under_way,
        )

    # Clients.

    def _node(self, who: str) -> VirtualNode:
        settings = self.settings
        return self.cluster.node(
            who, ip=settings.client_ip, port=settings.ports.get(who), skew_ms=settings.skew_ms.get(who, 0),
        )  # fmt: skip

    def _instance(self, node: VirtualNode, who: str, config: ClientConfig | None = None) -> MQClientInstance:
        config = config or ProducerConfig()
        config.namesrv_addr = self.cluster.config.namesrv_address
        config.heartbeat_broker_interval = self.cluster.config.rules.heartbeat_period_ms
        config.rebalance_wait_interval = self.cluster.config.rules.rebalance_period_ms
        config.client_ip, config.instance_name = self.settings.client_ip, self.recorder.long(who)
        if who in self.settings.client_ids:
            config.client_ip, _, config.instance_name = self.settings.client_ids[who].partition("@")
        observer = self.recorder.observer(who)
        return MQClientManager(node, self._unique_ids, observer, self.cluster.config.rules).get_or_create(config)

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
                problem = f"scenario {self.scenario.id!r}: topics.{topic}: the broker refuses it: {_first_line(error)}"
                raise BadInput(problem) from error
        await node.sleep(TOPICS_SETTLE_MS)
        self.began_us = self.world.scheduler.now_us

    async def _take(self, step: Step) -> None:
        try:
            await self._do(step)
        except (*CALL_ERRORS, UserPropertyError, _NotRunningError) as error:
            self.recorder.event(StepFailed(type(step).__name__.lower(), *_thrown(error)))

    async def _end(self, node: VirtualNode) -> None:
        """Note how things stand, then shut everybody down."""
        self._final = final_state(self.consumers, self.cluster.facts, self.recorder)
        await node.sleep(OBSERVER_STOPS_MS)
        for consumer in sorted(self.consumers.values(), key=lambda consumer: not consumer.pushes):
            await self._awake(consumer.step.who)
            await self._shutdown(consumer)
        await self.producer.shutdown()
        self.done = True
        if self.gauges is not None:
            self.gauges.stopped = True
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

    async def _do(self, step: Step) -> None:
        match step:
            case Start():
                await self._start(step)
            case Stop(who=who):
                self.recorder.event(Stopping(who))
                consumer = self._running(who)
                await self._awake(who)
                del self.consumers[who]
                await self._shutdown(consumer)
                consumer.member.until = self.world.now_ms()
                self.recorder.event(Stopped(who))
            case Subscribe(who=who, topic=topic, expr=expression, type=kind):
                consumer = self._running(who)
                await self._awake(who)
                since = self.world.now_ms()
                await consumer.client.subscribe(self.recorder.long(topic), expression, kind)
                consumer.member.asked.append((since, topic, kind, expression))
                self.recorder.event(Subscribed(who, expression))
            case Send():
                await self._send(step)
            case FaultStep():
                self.faults.happen(step, self.world.nodes[PRODUCER])
            case Alloc() | Offsets():
                self._ask(step)
            case Resize(topic=topic, queues=queues):
                await self._create(topic, queues)
                self.recorder.event(Resized(topic, queues))
            case ResetOffset():
                await self._reset_offset(step)

    async def _create(self, topic: str, queues: int) -> None:
        await self.producer.create_topic("TBW102", self.recorder.long(topic), queues)

    async def _reset_offset(self, step: ResetOffset) -> None:
        at_us = self.began_us + step.to * US_PER_MS
        timestamp = step.to if step.to == AT_THE_END else self.cluster.config.epoch_ms + at_us // US_PER_MS
        group, topic = self.recorder.long(step.group), self.recorder.long(step.topic)
        offsets = await reset_offset_by_time(self.producer.instance, group, topic, timestamp, direct=step.direct)
        told = {str(queue): offset for queue, offset in offsets.items()}
        self.recorder.event(OffsetReset(step.group, step.topic, told))

    def _killed(self, who: str) -> None:
        consumer = self.consumers.pop(who, None)
        if consumer is not None:
            consumer.member.until = self.world.now_ms()

    async def _awake(self, who: str) -> None:
        """Wait until a client that is paused goes on: its application is paused with it."""
        node = self.world.nodes[who]
        while node.hold is not None and node.hold.active:
            await node.sleep_us(node.hold.until_us - self.world.scheduler.now_us)

    def _chosen(self, node: VirtualNode, label: str, options: tuple[int, ...]) -> int:
        return self.world.chooser.among(f"{node.name}: {label}", options)

    def _running(self, who: str) -> Consumer:
        consumer = self.consumers.get(who)
        if consumer is None:
            raise _NotRunningError(f"{who} did not start")
        return consumer

    async def _shutdown(self, consumer: Consumer) -> None:
        if consumer.application is not None:
            consumer.application.cancel()
        await consumer.client.shutdown()
        await consumer.node.sleep(self._chosen(consumer.node, "shutdown", self.world.timing.shutdown_ms))

    async def _start(self, step: Start) -> None:
        config = config_of(step, self.cluster.config.rules)
        node = self._node(step.who)
        instance = self._instance(node, step.who, config)
        client = client_of(step, instance, config, self.recorder)
        member = GroupMember(step.who, step.group, step.mode == "broadcasting")
        for topic, subscription in step.subscribe.items():
            await client.subscribe(self.recorder.long(topic), subscription.expr, subscription.type)
            member.asked.append((self.world.now_ms(), topic, subscription.type, subscription.expr))
        self.members.append(member)
        self.recorder.event(Starting(step.who, UNSET if step.kind == "push" else step.kind))
        consumer = Consumer(step, node, client, member)
        starts_after = self._chosen(node, "start", self.world.timing.start_ms)
        if starts_after:
            await node.sleep(starts_after)
        try:
            await client.start()
        except CALL_ERRORS as error:
            # 4.8.0 throws although timers and heartbeats live already (row F-98): the consumer goes on.
            self.recorder.event(StartFailed(step.who, *_thrown(error)))
            return
        self.consumers[step.who] = consumer
        if consumer.pushes:
            self.recorder.event(Started(step.who, instance.client_id))
        else:
            self.recorder.event(Started(step.who))
            consumer.application = node.spawn(poll_for_ever(consumer, self.recorder), "application")

    async def _send(self, step: Send) -> None:
        topic = self.recorder.long(step.topic)
        for number, outgoing in enumerate(step.messages):
            message = Message.of(topic, to_utf8(outgoing.body), outgoing.tag, outgoing.keys)
            for name, value in (outgoing.props or {}).items():
                message.put_user_property(name, value)
            queue = (
                None
                if outgoing.queue is None
                else MessageQueue(topic, self.cluster.config.broker.broker_name, outgoing.queue)
            )
            await self._awake(PRODUCER)
            result = await self.producer.send(message, queue)
            self.recorder.sends(number, step.topic, outgoing, message, result)

    # What is asked: it changes nothing.

    def _ask(self, step: Step) -> None:
        if isinstance(step, Offsets):
            self._offsets()
            return
        for who, consumer in self.consumers.items():
            if consumer.pushes:
                self.recorder.event(Owned(who, consumer.owned(self.recorder)))

    def _offsets(self) -> None:
        broker = self.cluster.broker
        for group in self.scenario.groups():
            for topic, queues in self.scenario.topics.items():
                stats = consume_stats(broker, self.recorder.long(group), self.recorder.long(topic))
                for queue in range(queues):
                    committed = stats.get(queue) if stats else "MQClientException"
                    maximum = broker.message_store.get_max_offset_in_queue(self.recorder.long(topic), queue)
                    self.recorder.event(OffsetAsked(group, topic, queue, committed, maximum))

    def _queues(self) -> dict[str, int]:
        table = self.cluster.broker.topic_config_manager.topic_config_table
        known = {topic: table.get(self.recorder.long(topic)) for topic in self.scenario.topics}
        return {topic: config.read_queue_nums for topic, config in known.items() if config is not None}


def simulate(scenario: Scenario, **settings: Any) -> Run:
    """Run one scenario from beginning to end; the settings are those of ``Simulation``.

    Raises:
        BadInput: the scenario asks for something that is not simulated, by name.
    """
    return Simulation(scenario, **settings).run()


class _NotRunningError(Exception):
    """A step wants something of a consumer whose start failed; the recorder has no such object either."""

    java_name = "NullPointerException"


def _thrown(error: Exception) -> tuple[str, str]:
    """The name Java has for an exception, and what it says."""
    name = getattr(error, "java_name", type(error).__name__.replace("Error", "Exception"))
    return name, _first_line(error)


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]
