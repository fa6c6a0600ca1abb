"""Runs a scenario in virtual time, step by step as the recorded scenarios were driven, and says what became of each message.

Real names carry the scenario's id on the wire (topic ``T_<id>``, group ``G_<id>``, client ``<host>@A_<id>``), as in the
recordings, so that what depends on names (order of client ids, consistent hashing) comes out as it did there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.client.allocate import (
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueConsistentHash,
)
from rmqlab.client.client_error import MQClientError
from rmqlab.client.listener import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from rmqlab.client.mq_client_instance import MQClientInstance
from rmqlab.client.producer import DefaultMQProducer, ProducerConfig
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.client.push_consumer_config import PushConsumerConfig
from rmqlab.errors import BadInput
from rmqlab.lab.cluster import Cluster, ClusterConfig
from rmqlab.lab.facts import BROKER, Fact
from rmqlab.lab.fates import SentMessage
from rmqlab.lab.group_view import GroupView, consume_stats, group_view
from rmqlab.lab.ledger import FinalState, Ledger, Member
from rmqlab.lab.run import Event, Run
from rmqlab.lab.scenario import Alloc, Cut, Freeze, Offsets, Scenario, Send, Start, Step, Stop, Subscribe
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.message.message import Message, MessageQueue
from rmqlab.protocol.heartbeat import ConsumeFromWhere, MessageModel
from rmqlab.runtime.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.client.client_config import Observer
    from rmqlab.client.listener import ConsumeConcurrentlyContext, ConsumeOrderlyContext
    from rmqlab.message.message import MessageExt
    from rmqlab.runtime.network import Link
    from rmqlab.runtime.schedule import Chooser
    from rmqlab.runtime.virtual import VirtualNode

TOPICS_SETTLE_MS = 2_500  # between the creation of the topics and the first step, as the recordings were driven
VIEW_FACTS = frozenset({"register", "unregister", "expired", "subscription"})
STRATEGIES = {
    "avg": AllocateMessageQueueAveragely,
    "circle": AllocateMessageQueueAveragelyByCircle,
    "hash": AllocateMessageQueueConsistentHash,
}


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Who the clients are: address, process id, class loader hash (UNIQ_KEY), clock skews (ms) by name."""

    client_ip: str = "192.0.2.2"
    pid: int = 4242
    class_loader_hash: int = 0x18B4AAC2
    skew_ms: dict[str, int] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Consumer:
    step: Start
    node: VirtualNode
    client: DefaultMQPushConsumer
    member: Member


class Simulation:
    """One scenario on one cluster. ``run`` does it all; ``world`` can be stepped by hand instead."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        chooser: Chooser | None = None,
        link: Link | None = None,
        cluster: ClusterConfig | None = None,
        clients: ClientSettings | None = None,
    ) -> None:
        _refuse(scenario)
        self.scenario = scenario
        self.cluster = Cluster(cluster or ClusterConfig(), chooser, link)
        self.world = self.cluster.world
        self.settings = clients or ClientSettings()
        self.events: list[Event] = []
        self.sent: list[SentMessage] = []
        self.members: list[Member] = []
        self.consumers: dict[str, _Consumer] = {}
        self.done = False
        self._suffix = "_" + scenario.id
        self._views: dict[str, GroupView] = {}
        self._view_pending = False
        self._seen: dict[tuple[str, str], int] = {}
        settings = self.settings
        self._unique_ids = UniqueIdMaker(settings.client_ip, settings.pid, settings.class_loader_hash)
        self.cluster.broker.observe = self._at_broker
        self._record("scenario", scenario=_plain(scenario), epochMs=self.cluster.config.epoch_ms)
        node = self._node("P")
        self.producer = DefaultMQProducer("PROD" + self._suffix, self._instance(node, "P"), ProducerConfig())
        node.spawn(self._drive(node), "scenario")

    def run(self) -> Run:
        """Step until the scenario is over."""
        step = self.world.step
        while not self.done and step():
            pass
        return self.finish()

    def finish(self) -> Run:
        """Decide the fates as things stand now."""
        facts = self.cluster.facts
        ledger = Ledger(facts.facts, self._final_state())
        return Run(
            self.scenario,
            self.events,
            facts,
            ledger.fates(self.sent, self.members),
            Schedule.of(self.world.chooser.made, self.scenario.id),
            self.world.chooser.made,
            self.world.scheduler.steps,
        )

    # What is written down.

    def _strip(self, text: str) -> str:
        return text.replace(self._suffix, "")

    def _record(self, kind: str, **fields: Any) -> None:
        self.events.append({"id": self.scenario.id, "t": round(self.world.now_ms()), "ev": kind, **fields})

    def _fact(self, source: str, kind: str, fields: dict[str, Any]) -> None:
        suffix = self._suffix
        short = {k: v.replace(suffix, "") if isinstance(v, str) else v for k, v in fields.items()}
        self.cluster.facts.facts.append(Fact(self.world.now_ms(), source, kind, short))

    def _at_broker(self, kind: str, fields: dict[str, Any]) -> None:
        if "client" in fields:
            fields = fields | {"client": _who(fields["client"])}
        self._fact(BROKER, kind, fields)
        if kind in VIEW_FACTS and not self._view_pending:
            self._view_pending = True
            self.world.scheduler.at(self.world.scheduler.now_us, self._look, priority=1)

    def _look(self) -> None:
        """What the polling observer of a recording would have seen: each group's clients and subscriptions."""
        self._view_pending = False
        epoch = self.cluster.config.epoch_ms
        for group in self.scenario.groups():
            view = group_view(self.cluster.broker, group + self._suffix, self._strip, epoch)
            if view != self._views.get(group, {"offline": 206}):
                self._views[group] = view
                self._record("broker", group=group, view=view)

    def _observer(self, who: str) -> Observer:
        def observe(kind: str, fields: dict[str, Any]) -> None:
            self._fact(who, kind, {k: v for k, v in fields.items() if k != "who"})

        return observe

    # Clients.

    def _node(self, who: str) -> VirtualNode:
        settings = self.settings
        return self.cluster.node(
            who, ip=settings.client_ip, port=settings.ports.get(who), skew_ms=settings.skew_ms.get(who, 0),
        )  # fmt: skip

    def _instance(self, node: VirtualNode, who: str, config: ProducerConfig | PushConsumerConfig | None = None) -> MQClientInstance:
        config = config or ProducerConfig()
        config.namesrv_addr = self.cluster.config.namesrv_address
        config.client_ip = self.settings.client_ip
        config.instance_name = who + self._suffix
        return MQClientInstance(node, config, config.build_mq_client_id(), self._unique_ids, self._observer(who))

    async def _drive(self, node: VirtualNode) -> None:
        await self.producer.start()
        for topic, queues in self.scenario.topics.items():
            await self.producer.create_topic("TBW102", topic + self._suffix, queues)
        await node.sleep(TOPICS_SETTLE_MS)
        begin = self.world.scheduler.now_us
        for step in self.scenario.steps:
            wait_us = begin + step.at * 1000 - self.world.scheduler.now_us
            if wait_us > 0:
                await node.sleep_us(wait_us)
            try:
                await self._do(step)
            except MQClientError as error:
                self._record("error", do=type(step).__name__.lower(), error="MQClientException", message=_first_line(error))
        self.done = True

    async def _do(self, step: Step) -> None:
        match step:
            case Start():
                await self._start(step)
            case Stop(who=who):
                self._record("stopping", who=who)
                consumer = self.consumers.pop(who)
                await consumer.client.shutdown()
                consumer.member.until = self.world.now_ms()
                self._record("stopped", who=who)
            case Subscribe(who=who, topic=topic, expr=expression, type=kind):
                consumer = self.consumers[who]
                consumer.member.asked.append((self.world.now_ms(), topic, kind, expression))
                await consumer.client.subscribe(topic + self._suffix, expression, kind)
                self._record("subscribed", who=who, expr=expression)
            case Send():
                await self._send(step)
            case Cut(who=who):
                count = self.consumers[who].node.cut(self.cluster.broker_address)
                self._record("control", line=f"cut @{who}", conns=str(count))
            case Freeze(who=who):
                count = self.consumers[who].node.freeze(self.cluster.broker_address)
                self._record("control", line=f"freeze @{who}", conns=str(count))
            case Alloc():
                for who, consumer in self.consumers.items():
                    self._record("alloc", who=who, queues=self._owned(consumer))
            case Offsets():
                self._offsets()

    async def _start(self, step: Start) -> None:
        config = PushConsumerConfig(
            message_model=MessageModel.BROADCASTING if step.mode == "broadcasting" else MessageModel.CLUSTERING,
            allocate_strategy=STRATEGIES[step.strategy](),
            orderly=step.orderly,
            post_subscription_when_pull=step.post,
            consume_thread_min=1,
            consume_thread_max=1,
        )
        if step.from_ == "first":
            config.consume_from_where = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
        node = self._node(step.who)
        instance = self._instance(node, step.who, config)
        client = DefaultMQPushConsumer(step.group + self._suffix, instance, self._listener(step), config)
        member = Member(step.who, step.group, step.mode == "broadcasting")
        self.members.append(member)
        for topic, subscription in step.subscribe.items():
            member.asked.append((self.world.now_ms(), topic, subscription.type, subscription.expr))
            await client.subscribe(topic + self._suffix, subscription.expr, subscription.type)
        self._record("starting", who=step.who)
        consumer = _Consumer(step, node, client, member)
        try:
            await client.start()
        except MQClientError as error:
            # 4.8.0 throws although timers and heartbeats already live (row F-98): the consumer goes on in the background.
            self._record("startFailed", who=step.who, error="MQClientException", message=_first_line(error))
            return
        self.consumers[step.who] = consumer
        self._record("started", who=step.who, clientId=instance.client_id)

    def _listener(self, step: Start) -> Callable[[list[MessageExt], Any], Any]:
        def consume(messages: list[MessageExt]) -> bool:
            later = False
            for message in messages:
                body = (message.body or b"").decode()
                key = (step.who, body)
                self._seen[key] = self._seen.get(key, 0) + 1
                again = self._seen[key] <= step.later_times
                later = later or again
                self._record(
                    "consume", who=step.who, topic=self._strip(message.topic), tag=message.tags, queue=message.queue_id,
                    offset=message.queue_offset, body=body, reconsume=message.reconsume_times, msgId=message.unique_id,
                )  # fmt: skip
                fields = {
                    "group": step.group, "message_id": message.unique_id, "success": not again, "message": message,
                    "topic": message.topic, "queue": message.queue_id, "offset": message.queue_offset, "body": body,
                    "tag": message.tags,
                }  # fmt: skip
                self._fact(step.who, "consumed", fields)
            return later

        def concurrently(messages: list[MessageExt], _: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
            later = consume(messages)
            return ConsumeConcurrentlyStatus.RECONSUME_LATER if later else ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        def orderly(messages: list[MessageExt], _: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
            consume(messages)
            return ConsumeOrderlyStatus.SUCCESS

        return orderly if step.orderly else concurrently

    async def _send(self, step: Send) -> None:
        topic = step.topic + self._suffix
        for number, outgoing in enumerate(step.messages):
            message = Message.of(topic, outgoing.body.encode(), outgoing.tag, outgoing.keys, **(outgoing.props or {}))
            queue = None if outgoing.queue is None else MessageQueue(topic, self.cluster.config.broker.broker_name, outgoing.queue)
            result = await self.producer.send(message, queue)
            owner = result.message_queue
            self._record(
                "sent", i=number, tag=outgoing.tag, body=outgoing.body, queue=owner.queue_id, offset=result.queue_offset,
                msgId=result.msg_id, offsetMsgId=result.offset_msg_id,
            )  # fmt: skip
            self.sent.append(
                SentMessage(
                    step.topic, owner.queue_id, result.queue_offset, outgoing.body, outgoing.tag, str(result.msg_id),
                    self.world.now_ms(), dict(message.properties),
                ),
            )  # fmt: skip

    # What is asked.

    def _owned(self, consumer: _Consumer) -> dict[str, list[int]]:
        owned: dict[str, list[int]] = {}
        for queue in consumer.client.rebalance_impl.process_queue_table:
            owned.setdefault(self._strip(queue.topic), []).append(queue.queue_id)
        return {topic: sorted(owned[topic]) for topic in sorted(owned)}

    def _offsets(self) -> None:
        broker = self.cluster.broker
        for group in self.scenario.groups():
            for topic, queues in self.scenario.topics.items():
                stats = consume_stats(broker, group + self._suffix, topic + self._suffix)
                for queue in range(queues):
                    committed = stats.get(queue) if stats else "MQClientException"
                    maximum = broker.message_store.get_max_offset_in_queue(topic + self._suffix, queue)
                    self._record("offset", group=group, topic=topic, queue=queue, committed=committed, max=maximum)

    def _final_state(self) -> FinalState:
        state = FinalState()
        asked = {
            (fact.source, fact["topic"], fact["queue"]): fact["next"] for fact in self.cluster.facts.of("pull_result")
        }
        for who, consumer in self.consumers.items():
            for queue in consumer.client.rebalance_impl.process_queue_table:
                topic = self._strip(queue.topic)
                owners = state.owners.setdefault((consumer.step.group, topic, queue.queue_id), {})
                owners[who] = asked.get((who, topic, queue.queue_id), 0)
        return state


def simulate(scenario: Scenario, **settings: Any) -> Run:
    """Run one scenario from beginning to end; the settings are those of ``Simulation``.

    Raises:
        BadInput: the scenario asks for something that is not simulated, by name.
    """
    return Simulation(scenario, **settings).run()


def _refuse(scenario: Scenario) -> None:
    for index, step in enumerate(scenario.steps):
        if isinstance(step, Start) and step.kind != "push":
            raise BadInput(f"scenario {scenario.id!r}: steps[{index}].kind is {step.kind!r}; simulated here: push")


def _who(client_id: object) -> object:
    """"host@A_id" -> "A_id": the name a client was started under."""
    return client_id.partition("@")[2] or client_id if isinstance(client_id, str) else client_id


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


def _plain(scenario: Scenario) -> Any:
    import json

    return json.loads(scenario.to_json())
