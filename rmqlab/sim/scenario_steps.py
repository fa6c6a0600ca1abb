"""What the steps of a scenario do: who starts, stops, subscribes and sends, what breaks, what is asked.

Real names carry the scenario's id on the wire (topic `T_<id>`, group `G_<id>`, client `<host>@A_<id>`), as in
the recordings, so that what depends on names (order of client ids, consistent hashing) comes out as it did there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from msgspec import UNSET

from rmqlab.client.client_config import ProducerConfig
from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
from rmqlab.client.mq_client_manager import MQClientManager
from rmqlab.language import _
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.message.message import UserPropertyError
from rmqlab.message.topics import AUTO_CREATE_TOPIC_KEY_TOPIC, MessageQueue
from rmqlab.run.fates import NOTHING_SUBSCRIBED, GroupMember
from rmqlab.run.recorded_events import (
    Assigned,
    GroupCreated,
    GroupDeleted,
    OffsetAsked,
    OffsetReset,
    Owned,
    Resized,
    Started,
    StartFailed,
    Starting,
    StepFailed,
    Stopped,
    Stopping,
    Subscribed,
    TopicDeleted,
    Unsubscribed,
)
from rmqlab.scenario.fault_steps import FaultStep
from rmqlab.scenario.life_steps import Assign, CreateGroup, DeleteGroup, DeleteTopic, LifeStep, Unsubscribe
from rmqlab.scenario.scenario import (
    PRODUCER_NAME,
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
)
from rmqlab.sim.consumers import Consumer, client_of, config_of, poll_for_ever
from rmqlab.sim.faults import Faults
from rmqlab.sim.mqadmin import (
    AT_THE_END,
    consume_stats,
    create_subscription_group,
    delete_subscription_group,
    delete_topic,
    reset_offset_by_time,
)
from rmqlab.sim.run_recorder import RunRecorder
from rmqlab.sim.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rmqlab.client.client_config import ClientConfig
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.sim.cluster import Cluster
    from rmqlab.sim.consumers import Client
    from rmqlab.sim.virtual import VirtualNode


ALL_QUEUES = -1  # every member pops from every queue (`popShareQueueNum`)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Who the clients are: address, process id, class loader hash (UNIQ_KEY), clock skews (ms) by name.

    `unique_id_ip` is the address in UNIQ_KEY (default: `client_ip`), `zone` the time zone whose months count
    there. `client_ids` gives a client, by name, an id "ip@instance" of its own. With `plain_names` topics and
    groups go on the wire as the scenario writes them. `producer_group` and `send_timeout_ms` are the producer's.
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


class ScenarioSteps:
    """Takes steps on a cluster: `consumers` are those that run, by name, `members` all that ever started.

    `began_us`: when the topics were ready, time 0 of the steps.
    """

    producer: DefaultMQProducer

    def __init__(self, scenario: Scenario, cluster: Cluster, settings: ClientSettings) -> None:
        self.scenario = scenario
        self.cluster = cluster
        self.world = cluster.world
        self.settings = settings
        plain = scenario.plain_names or settings.plain_names
        self.recorder = RunRecorder(scenario, cluster, settings.client_ids, plain=plain)
        self.faults = Faults(cluster, self.recorder, self._killed)
        self.members: list[GroupMember] = []
        self.consumers: dict[str, Consumer] = {}
        self.began_us = 0
        self._unique_ids = UniqueIdMaker(
            settings.unique_id_ip or settings.client_ip, settings.pid, settings.class_loader_hash, zone=settings.zone
        )

    def _node(self, name: str) -> VirtualNode:
        settings = self.settings
        return self.world.node(
            name, ip=settings.client_ip, port=settings.ports.get(name), skew_ms=settings.skew_ms.get(name, 0),
        )  # fmt: skip

    def _instance(self, node: VirtualNode, name: str, config: ClientConfig | None = None) -> MQClientInstance:
        config = config or ProducerConfig()
        config.namesrv_addr = self.cluster.config.namesrv_address
        config.heartbeat_broker_interval = self.cluster.config.rules.heartbeat_period_ms
        config.rebalance_wait_interval = self.cluster.config.rules.rebalance_period_ms
        config.client_ip, config.instance_name = self.settings.client_ip, self.recorder.wire_name(name)
        if name in self.settings.client_ids:
            config.client_ip, _ignored, config.instance_name = self.settings.client_ids[name].partition("@")
        observer = self.recorder.observer(name)
        return MQClientManager(node, self._unique_ids, observer, self.cluster.config.rules).get_or_create(config)

    async def _take(self, step: Step) -> None:
        """Do a step; one that fails is noted, and the scenario goes on."""
        try:
            match step:
                case Start():
                    await self._start(step)
                case Stop(who=client):
                    await self._stop(client)
                case Subscribe():
                    await self._subscribe(step)
                case Send():
                    await self._send(step)
                case FaultStep():
                    self.faults.happen(step, self.world.nodes[PRODUCER_NAME])
                case Alloc() | Offsets():
                    self._ask(step)
                case Resize(topic=topic, queues=queues):
                    await self._create(topic, queues)
                    self.recorder.event(Resized(topic, queues))
                case ResetOffset():
                    await self._reset_offset(step)
                case Unsubscribe() | Assign() | DeleteTopic() | CreateGroup() | DeleteGroup():
                    await self._live(step)
        except (*CALL_ERRORS, UserPropertyError, _NotRunningError) as error:
            self.recorder.event(StepFailed(type(step).__name__.lower(), *_thrown(error)))

    async def _stop(self, name: str) -> None:
        self.recorder.event(Stopping(name))
        consumer = self._running(name)
        await self._awake(name)
        del self.consumers[name]
        await self._shutdown(consumer)
        consumer.member.until = self.world.now_ms()
        self.recorder.event(Stopped(name))

    async def _subscribe(self, step: Subscribe) -> None:
        consumer = self._running(step.who)
        await self._awake(step.who)
        since = self.world.now_ms()
        await consumer.client.subscribe(self.recorder.wire_name(step.topic), step.expr, step.type)
        consumer.member.asked.append((since, step.topic, step.type, step.expr))
        self.recorder.event(Subscribed(step.who, step.expr))

    async def _live(self, step: LifeStep) -> None:
        tool, wire_name = self.producer.instance, self.recorder.wire_name
        match step:
            case Unsubscribe(who=name, topic=topic):
                consumer = self._running(name)
                await self._awake(name)
                await self._between_polls(consumer, lambda: consumer.client.unsubscribe(wire_name(topic)))
                consumer.member.asked.append((self.world.now_ms(), topic, NOTHING_SUBSCRIBED, ""))
                self.recorder.event(Unsubscribed(name, topic))
            case Assign(who=name, queues=queues):
                consumer = self._running(name)
                await self._awake(name)
                await self._between_polls(consumer, lambda: self._assign(consumer.client, consumer.member, queues))
                self.recorder.event(Assigned(name, queues))
            case DeleteTopic(topic=topic):
                await delete_topic(tool, wire_name(topic))
                self.recorder.event(TopicDeleted(topic))
            case CreateGroup(group=group):
                await create_subscription_group(tool, wire_name(group))
                self.recorder.event(GroupCreated(group))
            case DeleteGroup(group=group):
                await delete_subscription_group(tool, wire_name(group))
                self.recorder.event(GroupDeleted(group))

    async def _between_polls(self, consumer: Consumer, job: Callable[[], None]) -> None:
        """Let the application do something; one that polls does it when its poll is over."""
        if consumer.application is None:
            job()
            return
        done = consumer.node.event()
        consumer.between_polls.append((job, done))
        await done.wait()

    def _assign(
        self,
        client: Client,
        member: GroupMember,
        queues: Mapping[str, Sequence[int]],
    ) -> None:
        """Let a lite pull consumer read these queues; it asks for everything in their topics."""
        if not isinstance(client, DefaultLitePullConsumer):
            raise TypeError(f"{member.who} is no lite pull consumer")
        name, now = self.cluster.config.broker.broker_name, self.world.now_ms()
        client.assign(
            [MessageQueue(self.recorder.wire_name(topic), name, n) for topic in queues for n in queues[topic]]
        )
        member.assign(queues, now, client.instance.rules.assigned_expression(None))

    async def _create(self, topic: str, queues: int) -> None:
        broker = self.cluster.config.broker
        known = AUTO_CREATE_TOPIC_KEY_TOPIC if broker.auto_create_topic_enable else broker.broker_cluster_name
        await self.producer.create_topic(known, self.recorder.wire_name(topic), queues)

    async def _reset_offset(self, step: ResetOffset) -> None:
        at_us = self.began_us + step.to * US_PER_MS
        timestamp = step.to if step.to == AT_THE_END else self.cluster.config.epoch_ms + at_us // US_PER_MS
        group, topic = self.recorder.wire_name(step.group), self.recorder.wire_name(step.topic)
        offsets = await reset_offset_by_time(self.producer.instance, group, topic, timestamp, direct=step.direct)
        by_queue = {str(queue): offset for queue, offset in offsets.items()}
        self.recorder.event(OffsetReset(step.group, step.topic, by_queue))

    def _killed(self, name: str) -> None:
        consumer = self.consumers.pop(name, None)
        if consumer is not None:
            for _ignored, done in consumer.between_polls:  # nobody does it any more
                done.set()
            consumer.member.until = self.world.now_ms()

    async def _awake(self, name: str) -> None:
        """Wait until a client that is paused goes on: its application is paused with it."""
        node = self.world.nodes[name]
        while node.hold is not None and node.hold.active:
            await node.sleep_us(node.hold.until_us - self.world.scheduler.now_us)

    def _chosen(self, node: VirtualNode, label: str, options: tuple[int, ...]) -> int:
        return self.world.chooser.among(f"{node.name}: {label}", options)

    def _running(self, name: str) -> Consumer:
        consumer = self.consumers.get(name)
        if consumer is None:
            raise _NotRunningError(_("{who} did not start", who=name))
        return consumer

    async def _shutdown(self, consumer: Consumer) -> None:
        if consumer.application is not None:
            consumer.application.cancel()
        await consumer.client.shutdown()
        await consumer.node.sleep(self._chosen(consumer.node, "shutdown", self.world.timing.shutdown_ms))

    async def _start(self, step: Start) -> None:
        config = config_of(step, self.cluster.config.rules)
        node = self._node(step.who)
        if step.via == "proxy":
            node.is_behind_proxy = True
            self.cluster.put_proxy_before_broker()
        instance = self._instance(node, step.who, config)
        client = client_of(step, instance, config, self.recorder)
        member = GroupMember(step.who, step.group, step.broadcasts, pops=step.pops)
        for topic, subscription in step.subscribe.items():
            await client.subscribe(self.recorder.wire_name(topic), subscription.expr, subscription.type)
            member.asked.append((self.world.now_ms(), topic, subscription.type, subscription.expr))
        if step.assign is not None:
            self._assign(client, member, step.assign)
        self.members.append(member)
        consumer = Consumer(step, node, client, member)
        self.recorder.event(Starting(step.who, UNSET if consumer.pushes else step.kind))
        if step.kind == "pop":
            self._assign_to_pop(step)
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
            if step.asks_as != "grpc":
                consumer.application = node.spawn(poll_for_ever(consumer, self.recorder), "application")

    def _assign_to_pop(self, step: Start) -> None:
        """Let the broker give this group the queues of its topics to pop, as mqadmin's setConsumeMode does."""
        from rmqlab.broker.pop.pop_services import pop_of
        from rmqlab.protocol.assignment import MessageRequestMode, SetMessageRequestModeRequestBody

        modes, group = pop_of(self.cluster.broker).modes, self.recorder.wire_name(step.group)
        for topic in step.subscribe:
            mode = SetMessageRequestModeRequestBody(
                self.recorder.wire_name(topic), group, MessageRequestMode.POP, ALL_QUEUES
            )
            modes.set_mode(mode)

    async def _send(self, step: Send) -> None:
        topic = self.recorder.wire_name(step.topic)
        for number, outgoing in enumerate(step.messages):
            message = outgoing.message(topic)
            queue = (
                None
                if outgoing.queue is None
                else MessageQueue(topic, self.cluster.config.broker.broker_name, outgoing.queue)
            )
            await self._awake(PRODUCER_NAME)
            result = await self.producer.send(message, queue)
            self.recorder.sends(number, step.topic, outgoing, message, result)

    # What is asked: it changes nothing.

    def _ask(self, step: Step) -> None:
        if isinstance(step, Offsets):
            self._offsets()
            return
        for name, consumer in self.consumers.items():
            if consumer.pushes:
                self.recorder.event(Owned(name, consumer.owned(self.recorder)))

    def _offsets(self) -> None:
        broker = self.cluster.broker
        for group in self.scenario.groups():
            for topic, queues in self.scenario.topics.items():
                stats = consume_stats(broker, self.recorder.wire_name(group), self.recorder.wire_name(topic))
                is_told = bool(stats) or self._tells_empty_stats(group)
                for queue in range(queues):
                    committed = stats.get(queue) if is_told else "MQClientException"
                    maximum = broker.message_store.get_max_offset_in_queue(self.recorder.wire_name(topic), queue)
                    self.recorder.event(OffsetAsked(group, topic, queue, committed, maximum))

    def _tells_empty_stats(self, group: str) -> bool:
        info = self.cluster.broker.consumer_manager.get_consumer_group_info(self.recorder.wire_name(group))
        online = info is not None and not info.is_broadcasting
        return online and self.cluster.config.rules.wire.tells_empty_stats


class _NotRunningError(Exception):
    """A step wants something of a consumer whose start failed; the recorder has no such object either."""

    java_name = "NullPointerException"


def _thrown(error: Exception) -> tuple[str, str]:
    """The name Java has for an exception, and what it says."""
    name = getattr(error, "java_name", type(error).__name__.replace("Error", "Exception"))
    return name, first_line(error)


def first_line(error: Exception) -> str:
    """The first line of what an exception says."""
    return str(error).split("\n")[0]
