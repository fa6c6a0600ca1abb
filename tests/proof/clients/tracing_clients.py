"""Clients over sockets that write what they do to the trace topic (`AsyncTraceDispatcher` of each)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_config import ProducerConfig
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from tests.proof.clients.message_trace import GROUP_PREFIX, INSTANCE_NAME, MAX_MESSAGE_SIZE, TraceDispatcher
from tests.proof.clients.socket_clients import SocketClients

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
    from rmqlab.client.mq_client_instance import MQClientInstance

    Subscriptions = Mapping[str, str | tuple[str, str]]


class TracingClients(SocketClients):
    """As `SocketClients`; its producers and push consumers are traced from their start."""

    def __init__(self, namesrv_addr: str) -> None:
        super().__init__(namesrv_addr)
        self._traces: list[TraceDispatcher] = []
        self._tracing: MQClientInstance | None = None

    async def producer(self, group: str, config: ProducerConfig | None = None) -> DefaultMQProducer:
        """Start a producer that writes what it sent to the trace topic."""
        producer = await super().producer(group, config)
        (await self._trace(group, "PRODUCE", producer.instance.client_id)).trace_producer(producer)
        return producer

    async def shutdown(self) -> None:
        """Shut all clients down, then the traces, which send what is left."""
        await self._shutdown_clients()
        for trace in self._traces:
            await trace.shutdown()
        await super().shutdown()

    async def _start(
        self, consumer: DefaultMQPushConsumer | DefaultLitePullConsumer, subscriptions: Subscriptions
    ) -> None:
        if isinstance(consumer, DefaultMQPushConsumer):
            trace = await self._trace(consumer.group_name, "CONSUME", consumer.instance.client_id)
            trace.trace_consumer(consumer)
        await super()._start(consumer, subscriptions)

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
