"""Our producers and consumers on real connections: each with an instance, a runtime and a client id of its own."""

from __future__ import annotations

import os
import socket
from itertools import count
from typing import TYPE_CHECKING, Self

from rmqlab.client.client_config import LitePullConsumerConfig, ProducerConfig, PushConsumerConfig
from rmqlab.client.extra.running_info import ClientAnswers
from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
from rmqlab.client.mq_client_manager import MQClientManager
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.protocol.command import SerializeType
from rmqlab.runtime.sockets import SocketRuntime

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from rmqlab.client.client_config import ClientConfig
    from rmqlab.client.listener import MessageListenerConcurrently, MessageListenerOrderly
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.protocol.command import RemotingCommand
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
        serialize_type: SerializeType = SerializeType.JSON,
        hook: Hook | None = None,
    ) -> None:
        self.namesrv_addr = namesrv_addr
        self._serialize_type = serialize_type
        self._hook = hook
        self._ip = _own_address(namesrv_addr)
        self._unique_ids = UniqueIdMaker(self._ip, os.getpid(), id(self) & 0xFFFFFFFF)
        self._runtimes: list[SocketRuntime] = []
        self._clients: list[DefaultMQProducer | DefaultMQPushConsumer | DefaultLitePullConsumer] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shutdown()

    async def shutdown(self) -> None:
        """Shut all clients down, consumers first, and close their connections."""
        await self._shutdown_clients()
        for runtime in self._runtimes:
            await runtime.aclose()
        self._runtimes.clear()

    async def _shutdown_clients(self) -> None:
        clients, self._clients = self._clients, []
        for client in sorted(clients, key=lambda client: isinstance(client, DefaultMQProducer)):
            await client.shutdown()

    def instance(self, config: ClientConfig) -> MQClientInstance:
        """Return a new instance, not started, with connections of its own."""
        config.namesrv_addr = self.namesrv_addr
        config.client_ip = self._ip
        config.pid = os.getpid()
        if config.instance_name == "DEFAULT":
            config.instance_name = f"{os.getpid()}#{next(_numbers)}"
        runtime = SocketRuntime(serialize_type=self._serialize_type, hook=self._hook)
        self._runtimes.append(runtime)
        instance = MQClientManager(runtime, self._unique_ids).get_or_create(config)
        ClientAnswers(instance)
        return instance

    async def producer(self, group: str, config: ProducerConfig | None = None) -> DefaultMQProducer:
        """Start a producer."""
        config = config or ProducerConfig()
        producer = DefaultMQProducer(group, self.instance(config), config)
        await producer.start()
        self._clients.append(producer)
        return producer

    async def push_consumer(
        self,
        group: str,
        subscriptions: Subscriptions,
        listener: MessageListenerConcurrently | MessageListenerOrderly,
        config: PushConsumerConfig | None = None,
    ) -> DefaultMQPushConsumer:
        """Start a push consumer; a subscription is a tag expression, or (type, expression)."""
        config = config or PushConsumerConfig()
        consumer = DefaultMQPushConsumer(group, self.instance(config), listener, config)
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
