"""Our producers and consumers on real connections: each with an instance, a runtime and a client id of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rmqlab.client.client_config import LitePullConsumerConfig, ProducerConfig, PushConsumerConfig
from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.protocol.command import SerializeType
from rmqlab_tools.live.socket_consumers import SocketConsumers
from rmqlab_tools.live.sockets import SocketRuntime

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from rmqlab.client.listener import MessageListenerConcurrently, MessageListenerOrderly
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab_tools.live.sockets import Hook

    Subscriptions = Mapping[str, str | tuple[str, str]]


class SocketClients(SocketConsumers):
    """Makes clients of one name server ("ip:port;ip:port"), started; `async with` shuts them all down.

    `hook` sees each request before it is sent (access control signs it there).
    """

    def __init__(
        self,
        namesrv_addr: str,
        *,
        serialize_type: SerializeType = SerializeType.JSON,
        hook: Hook | None = None,
    ) -> None:
        super().__init__(namesrv_addr)
        self._serialize_type = serialize_type
        self._hook = hook
        self._pulling: list[DefaultLitePullConsumer] = []
        self._producers: list[DefaultMQProducer] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shutdown()

    async def shutdown(self) -> None:
        """Shut all clients down, consumers first, and close their connections."""
        await self._shutdown_clients()
        await super().shutdown()

    async def _shutdown_clients(self) -> None:
        consumers, lites, producers = self._consumers, self._pulling, self._producers
        self._consumers, self._pulling, self._producers = [], [], []
        for consumer in consumers:
            await consumer.shutdown()
        for lite in lites:
            await lite.shutdown()
        for producer in producers:
            await producer.shutdown()

    def runtime(self) -> SocketRuntime:
        """Return a new node of this machine."""
        return SocketRuntime(serialize_type=self._serialize_type, hook=self._hook)

    async def producer(self, group: str, config: ProducerConfig | None = None) -> DefaultMQProducer:
        """Start a producer."""
        config = config or ProducerConfig()
        producer = DefaultMQProducer(group, self.instance(config), config)
        await producer.start()
        self._producers.append(producer)
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
        self._consumers.append(consumer)
        await self._start(consumer, subscriptions)
        return consumer

    async def lite_pull_consumer(
        self, group: str, subscriptions: Subscriptions, config: LitePullConsumerConfig | None = None
    ) -> DefaultLitePullConsumer:
        """Start a lite pull consumer; the application polls it."""
        config = config or LitePullConsumerConfig()
        consumer = DefaultLitePullConsumer(group, self.instance(config), config)
        self._pulling.append(consumer)
        await self._start(consumer, subscriptions)
        return consumer

    async def _start(
        self, consumer: DefaultMQPushConsumer | DefaultLitePullConsumer, subscriptions: Subscriptions
    ) -> None:
        for topic, expression in subscriptions.items():
            kind, text = (None, expression) if isinstance(expression, str) else expression
            await consumer.subscribe(topic, text, kind)
        await consumer.start()

    async def invoke(self, address: str, command: RemotingCommand, timeout_ms: int = 3_000) -> RemotingCommand:
        """Send one request outside of all clients and return its answer."""
        if not self._runtimes:
            self._runtimes.append(self.runtime())
        return await self._runtimes[0].invoke(address, command, timeout_ms)
