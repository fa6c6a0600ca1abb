"""The class filter of 4.x before 4.3 as an experiment: filter servers beside the broker, a class uploaded, pulls.

What plays the uploaded class is a Python function, registered here under the class's name; the text that travels is
text and stays text. All in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.client.client_config import ProducerConfig, PushConsumerConfig
from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.client.mq_client_manager import MQClientManager
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.errors import BadInput
from rmqlab.events import Event, PullFailed, set_kinds
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.message.java import from_utf8, parse_int
from rmqlab.message.message import Message
from rmqlab.run.facts import Fact, FactLog
from rmqlab.run.recorded_events import Consumed
from rmqlab.scenario.fault_steps import BROKER
from rmqlab.sim.cluster import Cluster, ClusterConfig
from rmqlab_tools.live.extra.registration import register_filter_servers
from tests.proof.clients.filter_class import subscribe_class
from tests.proof.clients.filter_server import FilterServer, FilterServerUp
from tests.proof.virtual_clock import run_until_ms

if TYPE_CHECKING:
    from rmqlab.client.client_config import ClientConfig
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.events import Observer
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.sim.virtual import VirtualNode
    from tests.proof.clients.filter_server import FilterClass, FilterContext

TOPIC = "ClassFilterTest"
GROUP = "ClassFilterGroup"
SEQUENCE_ID = "SequenceId"
START_MS = 1_000  # how long a filter server's process takes to come up
SETTLE_MS = 3_000
RUN_MS = 180_000
MAX_MESSAGES = 2_000


class MainClassNotFound(Event, frozen=True):
    """The filter server that was started ends at once: its class is not there."""


set_kinds()


def every_tenth_above_100(message: MessageExt, _context: FilterContext) -> bool:
    """The rule of 4.8.0's sample class: `SequenceId` is a multiple of ten, and above 100 (experiment E10)."""
    text = message.properties.get(SEQUENCE_ID)
    if text is None:
        return False
    number = parse_int(text)
    return number % 10 == 0 and number > 100


def below_ten(message: MessageExt, _context: FilterContext) -> bool:
    """A second class, for a group that does not agree: `SequenceId` is below ten."""
    text = message.properties.get(SEQUENCE_ID)
    return text is not None and parse_int(text) < 10


CLASSES: Mapping[str, FilterClass] = {
    "org.example.EveryTenthAbove100": every_tenth_above_100,
    "org.example.BelowTen": below_ten,
}


def source_of(class_name: str) -> str:
    """A text to upload for a class: it has the right name, and nothing ever runs it."""
    package, _, simple = class_name.rpartition(".")
    return f"package {package};\n\npublic class {simple} implements MessageFilter {{ /* never compiled here */ }}\n"


@dataclass(frozen=True, slots=True)
class ClassFilter:
    """The experiment's settings; ``run`` runs it.

    ``consumers``: the class that each consumer of the one group uploads. ``filter_servers``: `filterServerNums`.
    ``removed``: the broker is as 4.8.0 is: it starts the script, and the script's program is gone. ``sequence``: the
    `SequenceId` of each message; a number, or any text. ``run_ms``: how long it is watched.
    """

    consumers: Mapping[str, str] = field(default_factory=lambda: {"A": "org.example.EveryTenthAbove100"})
    filter_servers: int = 1
    removed: bool = False
    sequence: Sequence[int | str] = range(201)
    queues: int = 4
    run_ms: int = RUN_MS

    def run(self) -> ClassFilterRun:
        """Run it in virtual time.

        Raises:
            BadInput: a setting that cannot be; the text names it and says what would be right.
        """
        unknown = sorted(set(self.consumers.values()) - set(CLASSES))
        if unknown:
            raise BadInput(f"no function plays the class {', '.join(unknown)}; there are: {', '.join(CLASSES)}")
        if not self.consumers:
            raise BadInput("consumers is empty; name at least one consumer and its class")
        if not 0 <= self.filter_servers <= 8:
            raise BadInput(f"filter_servers is {self.filter_servers}; it must lie between 0 and 8")
        if self.queues < 1 or len(self.sequence) > MAX_MESSAGES:
            raise BadInput(f"queues is {self.queues} and there are {len(self.sequence)} messages; 1 queue or more, "
                           f"{MAX_MESSAGES} messages at most")  # fmt: skip
        return _World(self).run()


@dataclass(frozen=True, slots=True)
class ClassFilterRun:
    """What came of it: `SequenceId` of what each consumer got, in order of arrival, and all facts; times in ms."""

    settings: ClassFilter
    delivered: dict[str, list[str]]
    facts: FactLog

    def errors(self) -> dict[str, int]:
        """Why pulls failed, and how often."""
        counts: dict[str, int] = {}
        for fact in self.facts.of(PullFailed):
            counts[fact.event.error] = counts.get(fact.event.error, 0) + 1
        return counts


class _World:
    """One run: cluster, producer, consumers, and filter servers as the broker asks for them."""

    def __init__(self, settings: ClassFilter) -> None:
        self.settings = settings
        config = BrokerConfig(filter_server_nums=settings.filter_servers)
        self.cluster = Cluster(ClusterConfig(broker=config))
        self.delivered: dict[str, list[str]] = {client: [] for client in sorted(settings.consumers)}
        self._servers = 0
        self._unique_ids = UniqueIdMaker("127.0.0.1", 4242, 0x18B4AAC2)
        broker = self.cluster.broker
        broker.observe = self._observer(BROKER)
        register_filter_servers(broker).start_filter_server = self._start_filter_server

    def run(self) -> ClassFilterRun:
        """Start everybody, send, and watch."""
        node = self.cluster.world.node("P")
        producer = DefaultMQProducer("P", self._instance(node, "P", ProducerConfig()), ProducerConfig())
        node.spawn(self._drive(producer), "experiment")
        run_until_ms(self.cluster.world, self.settings.run_ms)
        return ClassFilterRun(self.settings, self.delivered, self.cluster.facts)

    async def _drive(self, producer: DefaultMQProducer) -> None:
        node = self.cluster.world.nodes["P"]
        await producer.start()
        await producer.create_topic("TBW102", TOPIC, self.settings.queues)
        await node.sleep(SETTLE_MS)
        for client, class_name in self.settings.consumers.items():
            await self._start_consumer(client, class_name)
        await node.sleep(SETTLE_MS)
        for number in self.settings.sequence:
            message = Message.of(TOPIC, str(number).encode())
            message.put_user_property(SEQUENCE_ID, str(number))
            await producer.send(message)

    async def _start_consumer(self, client: str, class_name: str) -> None:
        config = PushConsumerConfig()
        instance = self._instance(self.cluster.world.node(client), client, config)

        def listen(messages: list[MessageExt], _context: object) -> ConsumeConcurrentlyStatus:
            for message in messages:
                self.delivered[client].append(message.properties[SEQUENCE_ID])
                self._fact(
                    client,
                    Consumed(
                        client, message.topic, message.tags, message.queue_id, message.queue_offset,
                        from_utf8(message.body or b""), message.reconsume_times, message.unique_id, GROUP, success=True,
                    ),
                )  # fmt: skip
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer = DefaultMQPushConsumer(GROUP, instance, listen, config)
        await subscribe_class(consumer, TOPIC, class_name, source_of(class_name))
        await consumer.start()

    def _instance(self, node: VirtualNode, client: str, config: ClientConfig) -> MQClientInstance:
        config.namesrv_addr = self.cluster.config.namesrv_address
        config.client_ip, config.instance_name = "127.0.0.1", client
        return MQClientManager(node, self._unique_ids, self._observer(client)).get_or_create(config)

    # ---- filter servers

    def _start_filter_server(self) -> None:
        """What stands for `startfsrv.sh`: a process that comes up after a while; with 4.8.0, one that ends at once."""
        if self.settings.removed:
            self._fact(BROKER, MainClassNotFound())
            return
        self._servers += 1
        number = self._servers
        scheduler = self.cluster.world.scheduler
        scheduler.at(scheduler.now_us + START_MS * 1_000, self._filter_server_is_up, number)

    def _filter_server_is_up(self, number: int) -> None:
        world, broker = self.cluster.world, self.cluster.broker_address
        name, address = f"filter server {number}", f"127.0.0.1:{30_000 + number}"
        node = self.cluster.world.node(name)
        observe = self._observer(name)

        async def call(
            request: RemotingCommand, timeout_ms: int, answered: Callable[[RemotingCommand | None], None]
        ) -> None:
            try:
                answer = await node.invoke(broker, request, timeout_ms)
            except CALL_ERRORS:
                answered(None)
                return
            if not server.registered:
                observe(FilterServerUp(address))
            answered(answer)

        def ask(request: RemotingCommand, timeout_ms: int, answered: Callable[[RemotingCommand | None], None]) -> None:
            node.spawn(call(request, timeout_ms, answered), "ask broker")

        def leave() -> None:
            world.servers[address].up = False

        server = FilterServer(
            address, CLASSES, now=world.epoch_now(), ask_broker=ask, on_exit=leave, observe=observe,
        )  # fmt: skip
        world.serve(address, server)

    # ---- facts

    def _observer(self, client: str) -> Observer:
        return partial(self._fact, client)

    def _fact(self, client: str, event: Event) -> None:
        self.cluster.facts.append(Fact(self.cluster.world.now_ms(), client, event))
