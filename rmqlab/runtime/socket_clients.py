"""Our producers and consumers on real connections: each with an instance, a runtime and a client id of its own."""

from __future__ import annotations

import os
import socket
from itertools import count
from typing import TYPE_CHECKING, Self

from rmqlab.client.client_config import LitePullConsumerConfig, ProducerConfig, PushConsumerConfig
from rmqlab.client.extra.message_trace import GROUP_PREFIX, INSTANCE_NAME, MAX_MESSAGE_SIZE, TraceDispatcher
from rmqlab.client.extra.running_info import ClientAnswers
from rmqlab.client.extra.transaction_producer import TransactionMQProducer
from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
from rmqlab.client.mq_client_manager import MQClientManager
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.runtime.sockets import SocketRuntime

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from rmqlab.client.client_config import ClientConfig
    from rmqlab.client.extra.transaction_producer import TransactionListener
    from rmqlab.client.listener import MessageListenerConcurrently, MessageListenerOrderly
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.events import Observer
    from rmqlab.protocol.command import RemotingCommand, SerializeType
    from rmqlab.runtime.sockets import Hook

    Subscriptions = Mapping[str, str | tuple[str, str]]

_numbers = count()


class SocketClients:
    """Makes clients of one name server ("ip:port;ip:port"), started; `async with` shuts them all down.

    Client ids are this machine's address, the process id and a running number. `hook` sees each request before it is
    sent (access control signs it there).
    """

    def __init__(
        self,
        namesrv_addr: str,
        *,
        serialize_type: SerializeType | None = None,
        hook: Hook | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.namesrv_addr = namesrv_addr
        self._serialize_type = serialize_type
        self._hook = hook
        self._observe = observe
        self._ip = _own_address(namesrv_addr)
        self._unique_ids = UniqueIdMaker(self._ip, os.getpid(), id(self) & 0xFFFFFFFF)
        self._runtimes: list[SocketRuntime] = []
        self._traces: list[TraceDispatcher] = []
        self._tracing: MQClientInstance | None = None
        self._clients: list[DefaultMQProducer | DefaultMQPushConsumer | DefaultLitePullConsumer] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shutdown()

    async def shutdown(self) -> None:
        """Shut all clients down, consumers first, and close their connections."""
        clients, self._clients = self._clients, []
        for client in sorted(clients, key=lambda client: isinstance(client, DefaultMQProducer)):
            await client.shutdown()
        traces, self._traces, self._tracing = self._traces, [], None
        for trace in traces:
            await trace.shutdown()
        for runtime in self._runtimes:
            await runtime.aclose()
        self._runtimes.clear()

    def instance(self, config: ClientConfig) -> MQClientInstance:
        """Return a new instance, not started, with connections of its own."""
        config.namesrv_addr = self.namesrv_addr
        config.client_ip = self._ip
        config.pid = os.getpid()
        if config.instance_name == "DEFAULT":
            config.instance_name = f"{os.getpid()}#{next(_numbers)}"
        runtime = SocketRuntime(hook=self._hook)
        if self._serialize_type is not None:
            runtime.serialize_type = self._serialize_type
        self._runtimes.append(runtime)
        instance = MQClientManager(runtime, self._unique_ids, self._observe).get_or_create(config)
        ClientAnswers(instance)
        return instance

    async def _trace(self, group: str, kind: str, client_id: str) -> TraceDispatcher:
        """Start a trace's producer; all of them share one instance, as in 4.8.0."""
        name = f"{INSTANCE_NAME}_{self.namesrv_addr}"
        config = ProducerConfig(instance_name=name, max_message_size=MAX_MESSAGE_SIZE)
        if self._tracing is None:
            self._tracing = self.instance(config)
        producer = DefaultMQProducer(f"{GROUP_PREFIX}-{group}-{kind}", self._tracing, config)
        await producer.start()
        trace = TraceDispatcher(producer, client_id)
        self._traces.append(trace)
        return trace

    async def producer(
        self, group: str, config: ProducerConfig | None = None, *, trace: bool = False
    ) -> DefaultMQProducer:
        """Start a producer; with `trace` it writes what it sent to the trace topic."""
        config = config or ProducerConfig()
        producer = DefaultMQProducer(group, self.instance(config), config)
        await producer.start()
        if trace:
            (await self._trace(group, "PRODUCE", producer.instance.client_id)).trace_producer(producer)
        self._clients.append(producer)
        return producer

    async def transaction_producer(
        self, group: str, listener: TransactionListener, config: ProducerConfig | None = None
    ) -> TransactionMQProducer:
        """Start a producer of transactional messages."""
        config = config or ProducerConfig()
        producer = TransactionMQProducer(group, self.instance(config), listener, config)
        await producer.start()
        self._clients.append(producer)
        return producer

    async def push_consumer(
        self,
        group: str,
        subscriptions: Subscriptions,
        listener: MessageListenerConcurrently | MessageListenerOrderly,
        config: PushConsumerConfig | None = None,
        *,
        trace: bool = False,
    ) -> DefaultMQPushConsumer:
        """Start a push consumer; a subscription is a tag expression, or (type, expression).

        With `trace` it writes what its listener got, and how that ended, to the trace topic.
        """
        config = config or PushConsumerConfig()
        consumer = DefaultMQPushConsumer(group, self.instance(config), listener, config)
        if trace:
            (await self._trace(group, "CONSUME", consumer.instance.client_id)).trace_consumer(consumer)
        await self._start(consumer, subscriptions)
        return consumer

    async def lite_pull_consumer(
        self, group: str, subscriptions: Subscriptions, config: LitePullConsumerConfig | None = None
    ) -> DefaultLitePullConsumer:
        """Start a lite pull consumer; the application polls it."""
        config = config or LitePullConsumerConfig()
        consumer = DefaultLitePullConsumer(group, self.instance(config), config)
        await self._start(consumer, subscriptions)
        return consumer

    async def _start(
        self, consumer: DefaultMQPushConsumer | DefaultLitePullConsumer, subscriptions: Subscriptions
    ) -> None:
        for topic, expression in subscriptions.items():
            kind, text = (None, expression) if isinstance(expression, str) else expression
            await consumer.subscribe(topic, text, kind)
        self._clients.append(consumer)
        await consumer.start()

    async def invoke(self, address: str, command: RemotingCommand, timeout_ms: int = 3_000) -> RemotingCommand:
        """Send one request outside of all clients and return its answer."""
        if not self._runtimes:
            self._runtimes.append(SocketRuntime(hook=self._hook))
        return await self._runtimes[0].invoke(address, command, timeout_ms)


def _own_address(namesrv_addr: str) -> str:
    """Return the address under which the name server sees us."""
    host, _, port = namesrv_addr.split(";", maxsplit=1)[0].rpartition(":")
    host = host.strip("[]")
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, int(port)))  # a datagram socket: nothing is sent
            return str(probe.getsockname()[0])
    except (OSError, ValueError):
        return "127.0.0.1"
