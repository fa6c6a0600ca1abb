"""DefaultLitePullConsumer: pulls by itself, hands out by `poll` (`DefaultLitePullConsumerImpl`; row S-90).

Its pulls carry their own expression, so the group's slot in the broker does not matter to it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.client.client_config import LitePullConsumerConfig, ServiceState
from rmqlab.client.client_error import CALL_ERRORS, IllegalArgumentError, IllegalStateError, MQClientError
from rmqlab.client.consumer import CONSUMER_TIMEOUT_WHEN_SUSPEND, PULL_TIME_DELAY_WHEN_FLOW_CONTROL, MQConsumer
from rmqlab.client.executor import ThreadPool
from rmqlab.client.lock import Lock
from rmqlab.client.mq_client_api import PullStatus
from rmqlab.client.process_queue import ProcessQueue
from rmqlab.client.rebalance_impl import RebalanceImpl
from rmqlab.message.message import MessageExt
from rmqlab.message.topics import MessageQueue, message_queue_order
from rmqlab.protocol.consumer_headers import (
    FLAG_LITE_PULL_MESSAGE,
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PullMessageRequestHeader,
)
from rmqlab.protocol.heartbeat import ConsumeType, MessageModel
from rmqlab.protocol.subscription_data import build_subscription

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.protocol.subscription_data import SubscriptionData

BROKER_SUSPEND_MAX_TIME = 20_000
NO_OFFSET_SET = -1
MODES_ARE_EXCLUSIVE = "Subscribe and assign are mutually exclusive."
SYS_FLAG = FLAG_SUSPEND | FLAG_SUBSCRIPTION | FLAG_LITE_PULL_MESSAGE


@dataclass(slots=True, eq=False)
class AssignedQueue:
    """A queue that is pulled: offsets are -1 until known."""

    process_queue: ProcessQueue
    pull_offset: int = NO_OFFSET_SET
    consume_offset: int = NO_OFFSET_SET
    cancelled: bool = False

    def ended(self) -> bool:
        """No client pulls it any more: it was given up, or its topic unsubscribed."""
        return self.cancelled or self.process_queue.dropped


class _ConsumeRequest(NamedTuple):
    messages: list[MessageExt]
    queue: MessageQueue
    process_queue: ProcessQueue


class RebalanceLitePullImpl(RebalanceImpl):
    """Rebalance of a lite pull consumer: hands queues to its pull tasks, which find their queues themselves."""

    consumer: DefaultLitePullConsumer
    memory_first = True

    async def message_queue_changed(self, topic: str, all_queues: list[MessageQueue], ours: list[MessageQueue]) -> None:
        """Pull what is ours; the subscription keeps its stamp and brokers hear nothing."""
        broadcasting = self.consumer.message_model is MessageModel.BROADCASTING
        self.consumer.assign_topic(topic, all_queues if broadcasting else ours)


class DefaultLitePullConsumer(MQConsumer):
    """A lite pull consumer; its first heartbeat comes after 1 s.

    It subscribes and shares queues with its group, or it assigns itself queues: then it has no subscription, and its
    heartbeats take all topics from the group's table, while the others still leave it a share of their queues.
    In Java it may also seek in its queues and pause them.
    """

    kind = "PullConsumer"
    consume_type = ConsumeType.CONSUME_ACTIVELY

    def __init__(self, group: str, instance: MQClientInstance, config: LitePullConsumerConfig | None = None) -> None:
        """A consumer that has not started."""
        self.config = config or LitePullConsumerConfig()
        super().__init__(group, instance, self.config)
        self.rebalance_impl = RebalanceLitePullImpl(self)
        self.assigned: dict[MessageQueue, AssignedQueue] = {}
        self.assigns = False
        threads = instance.rules.lite_pull_threads(self.config.pull_thread_nums)
        self._pool = ThreadPool(instance.runtime, threads, "PullMsgThread")
        self._requests: deque[_ConsumeRequest] = deque()
        self._arrived = instance.runtime.event()
        self._next_auto_commit = NO_OFFSET_SET

    # ---- life

    async def start(self) -> None:
        """Start as every consumer does, and pull the queues that were assigned before."""
        await super().start()
        if self.assigns:
            self._pull(message_queue_order(self.assigned))

    async def stop_consuming(self) -> None:
        """Begin no more pulls."""
        self._pool.shutdown_now()

    async def persist_consumer_offset(self) -> None:
        """Commit the offsets of the queues that it reads."""
        if self.state is ServiceState.RUNNING:
            await self.offset_store.persist_all(set(self.queues))

    # ---- what to read

    async def subscribe(self, topic: str, expression: str | None = "*", expression_type: str | None = None) -> None:
        """Share a topic with the group; a running consumer asks for its route at once.

        Raises:
            MQClientError: the client is not ready for it, or no broker takes it.
        """
        if self.assigns:
            raise MQClientError("subscribe exception") from IllegalStateError(MODES_ARE_EXCLUSIVE)
        await super().subscribe(topic, expression, expression_type)
        if self.state is ServiceState.RUNNING:
            await self.update_routes()

    def unsubscribe(self, topic: str) -> None:
        """Forget a topic and pull it no more; what a pull under way brings is still handed out, and never committed."""
        super().unsubscribe(topic)
        for queue in [queue for queue in self.assigned if queue.topic == topic]:
            self.assigned.pop(queue).cancelled = True

    def assign(self, queues: Collection[MessageQueue]) -> None:
        """Read these queues and no others, whoever else reads them; every message of theirs comes (row S-90).

        Raises:
            IllegalArgumentError: there is none.
            IllegalStateError: it subscribed before.
        """
        if not queues:
            raise IllegalArgumentError("Message queues can not be null or empty.")
        if self.subscription_inner:
            raise IllegalStateError(MODES_ARE_EXCLUSIVE)
        self.assigns = True
        self._take(list(self.assigned), list(queues))

    def assign_topic(self, topic: str, queues: Collection[MessageQueue]) -> None:
        """Take what a rebalance gave this consumer of a topic."""
        self._take([queue for queue in self.assigned if queue.topic == topic], message_queue_order(queues))

    @property
    def queues(self) -> Collection[MessageQueue]:
        """The queues it reads now: those it assigned itself, or its share of the group's."""
        return self.assigned if self.assigns else self.process_queue_table

    def _take(self, before: Iterable[MessageQueue], queues: Collection[MessageQueue]) -> None:
        for queue in [queue for queue in before if queue not in queues]:
            self.assigned.pop(queue).process_queue.dropped = True
        new = [queue for queue in queues if queue not in self.assigned]
        for queue in new:
            runtime, process_queue = self.instance.runtime, self.process_queue_table.get(queue)
            self.assigned[queue] = AssignedQueue(process_queue or ProcessQueue(runtime.now(), Lock(runtime)))
        if self.state is ServiceState.RUNNING:
            self._pull(new)

    def _pull(self, queues: Iterable[MessageQueue]) -> None:
        """Begin to pull these queues."""
        for queue in queues:
            self._pool.submit(partial(self._pull_task, queue, self.assigned[queue]))

    # ---- pulling

    async def _again(self, queue: MessageQueue, assigned: AssignedQueue, delay_ms: int) -> None:
        await self.instance.runtime.sleep(delay_ms)
        self._pool.submit(partial(self._pull_task, queue, assigned))

    async def _pull_task(self, queue: MessageQueue, assigned: AssignedQueue) -> None:
        # it holds its thread while the broker holds the pull: with few threads queues wait for each other
        if assigned.ended():
            return
        delay = self._reason_to_wait(assigned)
        if delay == 0:
            try:
                await self._pull_once(queue, assigned)
            except CALL_ERRORS:
                delay = self.config.pull_time_delay_when_exception
        if assigned.ended():
            return
        if delay == 0:
            self._pool.submit(partial(self._pull_task, queue, assigned))
        else:
            self.instance.runtime.spawn(self._again(queue, assigned, delay), "PullMsgThread")

    def _reason_to_wait(self, assigned: AssignedQueue) -> int:
        config, process_queue = self.config, assigned.process_queue
        full = (
            len(self._requests) * config.pull_batch_size > config.pull_threshold_for_all
            or process_queue.msg_count > config.pull_threshold_for_queue
            or process_queue.msg_size_mib > config.pull_threshold_size_for_queue
            or process_queue.max_span() > config.consume_max_span
        )
        return PULL_TIME_DELAY_WHEN_FLOW_CONTROL if full else 0

    async def _pull_once(self, queue: MessageQueue, assigned: AssignedQueue) -> None:
        offset = assigned.pull_offset
        if offset == NO_OFFSET_SET:
            offset = await self.rebalance_impl.compute_pull_from_where(queue)
        subscription = self._subscription_of(queue.topic)
        if subscription is None or offset < 0:
            raise MQClientError("offset < 0" if offset < 0 else "subscriptionData is null")
        config = self.config
        header = PullMessageRequestHeader(
            self.group_name,
            queue.topic,
            queue.queue_id,
            offset,
            config.pull_batch_size,
            SYS_FLAG,
            0,
            BROKER_SUSPEND_MAX_TIME,
            subscription.sub_string,
            0 if subscription.is_tag else subscription.sub_version,
            subscription.expression_type,
        )
        addr = await self.find_pull_address(queue, subscription, header)
        result = await self.instance.api.pull_message(addr, header, CONSUMER_TIMEOUT_WHEN_SUSPEND)
        self.process_pull_result(queue, result, subscription)
        messages = result.msg_found_list
        if result.pull_status is PullStatus.FOUND and messages:
            assigned.process_queue.put_message(messages)
            self._requests.append(_ConsumeRequest(messages, queue, assigned.process_queue))
            self._arrived.set()
        assigned.pull_offset = result.next_begin_offset

    def _subscription_of(self, topic: str) -> SubscriptionData | None:
        if not self.assigns:
            return self.subscription_inner.get(topic)
        expression = self.instance.rules.assigned_expression(None)
        return build_subscription(topic, expression, None, self.instance.runtime.now())

    # ---- what the application calls

    async def poll(self, timeout_ms: int | None = None) -> list[MessageExt]:
        """The messages of one pull, at the latest after `timeout_ms` (none then); commits every 5 s."""
        if self.state is not ServiceState.RUNNING:
            raise IllegalStateError("The consumer not running, please start it first.")
        runtime = self.instance.runtime
        if runtime.now() >= self._next_auto_commit:
            await self.commit_all()
            self._next_auto_commit = runtime.now() + self.config.auto_commit_interval
        end = runtime.now() + (self.config.poll_timeout if timeout_ms is None else timeout_ms)
        request = await self._next_request(end - runtime.now())
        while request is not None and request.process_queue.dropped and end > runtime.now():
            request = await self._next_request(end - runtime.now())
        if request is None or request.process_queue.dropped:
            return []
        offset = request.process_queue.remove_message(request.messages, runtime.now())
        if request.queue in self.assigned:
            self.assigned[request.queue].consume_offset = offset
        return request.messages

    def to_hand_out(self) -> bool:
        """Whether messages were pulled that no poll has taken."""
        return bool(self._requests)

    async def _next_request(self, timeout_ms: int) -> _ConsumeRequest | None:
        if not self._requests and timeout_ms > 0:
            self._arrived.clear()
            await self._arrived.wait(timeout_ms)
        return self._requests.popleft() if self._requests else None

    async def commit_all(self) -> None:
        """Note how far each queue was handed out; the instance's timer commits it (broadcasting: written at once)."""
        for queue, assigned in self.assigned.items():
            if assigned.consume_offset != NO_OFFSET_SET and not assigned.process_queue.dropped:
                self.offset_store.update_offset(queue, assigned.consume_offset, increase_only=False)
        if self.message_model is MessageModel.BROADCASTING:
            await self.offset_store.persist_all(list(self.assigned))
