"""PushConsumer and SimpleConsumer of rocketmq-client-java: each receive carries the consumer's own expression.

They send the broker no heartbeat and own no queue: what a member asks for says nothing of another's.
Source: rocketmq-client-java 5.2.0 `PushConsumerImpl`, `ProcessQueueImpl`, `StandardConsumeService`,
`SimpleConsumerImpl`.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.client_config import ServiceState
from rmqlab.client.client_error import CALL_ERRORS, IllegalStateError
from rmqlab.client.executor import ThreadPool
from rmqlab.client.grpc.proxy import Proxy
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel
from rmqlab.protocol.subscription_data import TAG, build_subscription

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.runtime import Task
    from rmqlab.message.message import MessageExt
    from rmqlab.message.topics import MessageQueue
    from rmqlab.protocol.subscription_data import SubscriptionData

FIRST_SCAN_ASSIGNMENTS = 1_000
RECEIVE_BATCH_SIZE = 32
LONG_POLLING_TIMEOUT = 30_000
RECEIVING_LATER = 1_000
MAX_CACHE_MESSAGE_COUNT = 1_024
BACKOFF = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200)
"""How long (s) a message that the listener refused stays invisible, by how often it came (`GroupRetryPolicy`)."""


class GrpcConsumer:
    """A consumer of a proxy. `expressions`: {topic: (expression type, expression)}."""

    consume_type = ConsumeType.CONSUME_PASSIVELY
    message_model = MessageModel.CLUSTERING
    consume_from_where = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET

    def __init__(self, group: str, instance: MQClientInstance) -> None:
        """Not started, on an instance that has its connections to name server and broker: the proxy's."""
        self.group_name = group
        self.instance = instance
        self.state = ServiceState.CREATE_JUST
        self.subscription_inner: dict[str, SubscriptionData] = {}
        self.proxy = Proxy(instance, group)
        self.receiving = 0

    def __repr__(self) -> str:
        """Who it is and what it asks for."""
        wanted = "; ".join(
            f"{topic} {data.expression_type} {data.sub_string}" for topic, data in self.subscription_inner.items()
        )
        name = self.instance.client_id.partition("@")[2] or self.instance.client_id
        return f"<{type(self).__name__} {name} of group {self.group_name}: {wanted or 'nothing'}>"

    @property
    def queues(self) -> list[MessageQueue]:
        """It owns none."""
        return []

    async def subscribe(self, topic: str, expression: str | None = "*", expression_type: str | None = None) -> None:
        """Ask for something else from the next receive on.

        An expression that is no SQL92 is taken without a word: the broker refuses each pop.
        """
        now = self.instance.runtime.now()
        self.subscription_inner[topic] = build_subscription(topic, expression, expression_type, now)

    def unsubscribe(self, topic: str) -> None:
        """Receive nothing more of a topic."""
        self.subscription_inner.pop(topic, None)

    async def start(self) -> None:
        """Learn the routes of the topics.

        Raises:
            MQClientError: no name server answers.
        """
        self.instance.api.started_at = self.instance.runtime.now()
        for topic in self.subscription_inner:
            await self.instance.update_topic_route_info_from_name_server(topic)
        self.state = ServiceState.RUNNING

    async def shutdown(self) -> None:
        """Receive nothing more; the proxy goes on holding what it has asked."""
        self.state = ServiceState.SHUTDOWN_ALREADY
        self.instance.runtime.close_connections()

    @abstractmethod
    def at_hand(self) -> int:
        """How many messages were received and not taken yet."""

    async def _receive(self, topic: str, batch: int, polling_ms: int, invisible_ms: int | None) -> list[MessageExt]:
        data = self.subscription_inner[topic]
        wish = data.expression_type or TAG, data.sub_string or ""
        self.receiving += 1
        try:
            return await self.proxy.receive(topic, wish, batch, polling_ms, invisible_ms)
        finally:
            self.receiving -= 1


class PushConsumer(GrpcConsumer):
    """Receives each topic in a loop and hands what comes to `listener`, which says whether it took the message."""

    def __init__(self, group: str, instance: MQClientInstance, listener: Callable[[MessageExt], bool]) -> None:
        """Not started; one thread calls the listener, as in the recordings."""
        super().__init__(group, instance)
        self._listener = listener
        self._pool = ThreadPool(instance.runtime, 1, "MessageConsumption")
        self._cached = 0
        self._loops: dict[str, Task] = {}

    async def start(self) -> None:
        """Learn the routes; the assignments are looked at a second later."""
        await super().start()
        self.instance.runtime.spawn(self._scan_assignments(), "ScanAssignments")

    async def shutdown(self) -> None:
        """Hand nothing more to the listener."""
        self._pool.shutdown_now()
        for loop in self._loops.values():
            loop.cancel()
        await super().shutdown()

    async def subscribe(self, topic: str, expression: str | None = "*", expression_type: str | None = None) -> None:
        """Ask for something else from the next receive on, and for a new topic at once."""
        await super().subscribe(topic, expression, expression_type)
        if self.state is ServiceState.RUNNING:
            self._receive_for_ever(topic)

    def at_hand(self) -> int:
        """How many messages wait for the listener, or are with it."""
        return self._cached

    async def _scan_assignments(self) -> None:
        await self.instance.runtime.sleep(FIRST_SCAN_ASSIGNMENTS)
        for topic in self.subscription_inner:
            self._receive_for_ever(topic)

    def _receive_for_ever(self, topic: str) -> None:
        if topic not in self._loops:
            self._loops[topic] = self.instance.runtime.spawn(self._loop(topic), "receive")

    async def _loop(self, topic: str) -> None:
        runtime = self.instance.runtime
        while self.state is ServiceState.RUNNING and topic in self.subscription_inner:
            if self._cached >= MAX_CACHE_MESSAGE_COUNT:
                await runtime.sleep(RECEIVING_LATER)
                continue
            try:
                messages = await self._receive(topic, RECEIVE_BATCH_SIZE, LONG_POLLING_TIMEOUT, None)
            except CALL_ERRORS:
                await runtime.sleep(RECEIVING_LATER)
                continue
            for message in messages:
                self._cached += 1
                self._pool.submit(partial(self._consume, message))
        self._loops.pop(topic, None)

    async def _consume(self, message: MessageExt) -> None:
        taken = self._listener(message)
        self._cached -= 1
        attempt = message.reconsume_times + 1
        what = (
            self.proxy.ack(message)
            if taken
            else self.proxy.change_invisible_time(message, BACKOFF[min(attempt, len(BACKOFF)) - 1] * 1_000)
        )
        self.instance.runtime.spawn(what, "AckMessage" if taken else "ChangeInvisibleDuration")


class SimpleConsumer(GrpcConsumer):
    """Receives when it is asked to: `await_ms` is how long a receive waits for messages."""

    def __init__(self, group: str, instance: MQClientInstance, await_ms: int) -> None:
        """Not started."""
        super().__init__(group, instance)
        self._await_ms = await_ms
        self._index = 0
        self._at_hand = 0

    async def receive(self, max_message_num: int, invisible_ms: int) -> list[MessageExt]:
        """Messages of the next topic in turn, at most so many, invisible to others for so long.

        Raises:
            IllegalStateError: it does not run.
            ProxyError: the invisibility is below 10 s.
        """
        if self.state is not ServiceState.RUNNING:
            raise IllegalStateError("Simple consumer is not running now")
        topics = list(self.subscription_inner)
        topic = topics[self._index % len(topics)]
        self._index += 1
        messages = await self._receive(topic, max_message_num, self._await_ms, invisible_ms)
        self._at_hand = len(messages)
        return messages

    def at_hand(self) -> int:
        """How many messages of the last receive were neither acknowledged nor put off."""
        return self._at_hand

    async def ack(self, message: MessageExt) -> bool:
        """Be done with a message; False: its time was over."""
        self._at_hand -= 1
        return await self.proxy.ack(message)

    async def change_invisible_duration(self, message: MessageExt, invisible_ms: int) -> bool:
        """Let a message be invisible for so long from now; False: its time was over."""
        self._at_hand -= 1
        return await self.proxy.change_invisible_time(message, invisible_ms)

    def leave(self) -> None:
        """Do nothing about a message: it comes again when its time is over."""
        self._at_hand -= 1
