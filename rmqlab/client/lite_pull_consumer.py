"""DefaultLitePullConsumer: pulls by itself, hands out by `poll` (`DefaultLitePullConsumerImpl`; row S-90).

Its pulls carry their own expression, so the group's slot in the broker does not matter to it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.client.client_config import LitePullConsumerConfig, ServiceState
from rmqlab.client.client_error import CALL_ERRORS, IllegalStateError, MQClientError, suggest_todo
from rmqlab.client.consumer import MQConsumer, PullAPIWrapper
from rmqlab.client.executor import Lock, ThreadPool
from rmqlab.client.offset_store import UNKNOWN_OFFSET, ReadOffsetType
from rmqlab.client.process_queue import ProcessQueue
from rmqlab.client.rebalance_impl import RebalanceLitePullImpl
from rmqlab.client.results import PullStatus
from rmqlab.filter import filter_api
from rmqlab.message.message import MessageExt, MessageQueue
from rmqlab.protocol.consumer_headers import FLAG_LITE_PULL_MESSAGE, FLAG_SUBSCRIPTION, FLAG_SUSPEND
from rmqlab.protocol.heartbeat import ConsumeType, MessageModel
from rmqlab.protocol.serializable import message_queue_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.offset_store import Disk

PULL_TIME_DELAY_WHEN_FLOW_CONTROL = 50
PULL_TIME_DELAY_WHEN_PAUSE = 1_000
NOT_SET = -1
MIB = 1024 * 1024
SYS_FLAG = FLAG_SUSPEND | FLAG_SUBSCRIPTION | FLAG_LITE_PULL_MESSAGE


@dataclass(slots=True, eq=False)
class AssignedQueue:
    """A queue that is pulled: offsets are -1 until known; `seek_offset` is where the application wants to go."""

    process_queue: ProcessQueue
    paused: bool = False
    cancelled: bool = False
    pull_offset: int = NOT_SET
    consume_offset: int = NOT_SET
    seek_offset: int = NOT_SET

    def ended(self) -> bool:
        """Nobody pulls it any more."""
        return self.cancelled or self.process_queue.dropped


class _ConsumeRequest(NamedTuple):
    messages: list[MessageExt]
    queue: MessageQueue
    process_queue: ProcessQueue


class DefaultLitePullConsumer(MQConsumer):
    """A lite pull consumer: either subscribes, and shares queues with its group, or assigns itself queues."""

    kind = "PullConsumer"
    consume_type = ConsumeType.CONSUME_ACTIVELY

    def __init__(
        self,
        group: str,
        instance: MQClientInstance,
        config: LitePullConsumerConfig | None = None,
        disk: Disk | None = None,
    ) -> None:
        """A consumer that has not started."""
        self.config = config or LitePullConsumerConfig()
        super().__init__(group, instance, self.config, disk)
        self.rebalance_impl = RebalanceLitePullImpl(self, self.assign_topic)
        self.assigned: dict[MessageQueue, AssignedQueue] = {}
        self._pull_api = PullAPIWrapper(instance, group)
        self._pool = ThreadPool(instance.runtime, self.config.pull_thread_nums, "PullMsgThread")
        self._requests: deque[_ConsumeRequest] = deque()
        self._arrived = instance.runtime.event()
        self._subscribes: bool | None = None
        self._next_auto_commit = NOT_SET

    # ---- life

    async def start(self) -> None:
        """Register, start the timers, ask for routes, check expressions; raises `MQClientError`.

        The first heartbeat comes with its timer, after 1 s.
        """
        self.begin_start()
        if self.config.consumer_timeout_when_suspend < self.config.broker_suspend_max_time:
            raise MQClientError(
                "Long polling mode, the consumer consumerTimeoutMillisWhenSuspend must greater than "
                f"brokerSuspendMaxTimeMillis{suggest_todo()}"
            )
        if not self.instance.register_consumer(self.group_name, self):
            raise self.group_taken()
        self.offset_store.load()
        await self.instance.start()
        self.state = ServiceState.RUNNING
        if self._subscribes:
            await self.update_routes()
        else:
            self._start_pull_tasks(self.assigned)
        await self.instance.check_client_in_broker()

    async def shutdown(self) -> None:
        """Commit, unregister at the brokers, stop the instance when nobody else uses it."""
        if self.state is not ServiceState.RUNNING:
            return
        await self.persist_consumer_offset()
        await self.instance.unregister_consumer(self.group_name)
        self._pool.shutdown_now()
        await self.instance.shutdown()
        self.state = ServiceState.SHUTDOWN_ALREADY

    def _check_running(self) -> None:
        if self.state is not ServiceState.RUNNING:
            raise IllegalStateError("The consumer not running, please start it first.")

    # ---- what to read

    async def subscribe(self, topic: str, expression: str | None = "*", expression_type: str | None = None) -> None:
        """Share a topic with the group; a running consumer sends a heartbeat. Raises `MQClientError`."""
        self._set_type(subscribes=True)
        self.put_subscription(topic, expression, expression_type)
        if self.state is ServiceState.RUNNING:
            await self.instance.send_heartbeat_to_all_broker_with_lock()
            await self.update_routes()

    def assign(self, queues: Collection[MessageQueue]) -> None:
        """Read these queues and no others, whatever the group's other members do."""
        if not queues:
            raise ValueError("Message queues can not be null or empty.")
        self._set_type(subscribes=False)
        self._update_assigned(queues, [queue for queue in self.assigned if queue not in queues])

    def assign_topic(self, topic: str, queues: Collection[MessageQueue]) -> None:
        """Take what a rebalance gave this consumer of a topic."""
        lost = [queue for queue in self.assigned if queue.topic == topic and queue not in queues]
        self._update_assigned(queues, lost)

    def unsubscribe(self, topic: str) -> None:
        """Forget a topic; brokers learn it with the next heartbeat."""
        self.subscription_inner.pop(topic, None)
        for queue in [queue for queue in self.assigned if queue.topic == topic]:
            self.assigned.pop(queue).cancelled = True

    def _set_type(self, *, subscribes: bool) -> None:
        if self._subscribes is not None and self._subscribes is not subscribes:
            raise IllegalStateError("Subscribe and assign are mutually exclusive.")
        self._subscribes = subscribes

    def _update_assigned(self, queues: Collection[MessageQueue], lost: list[MessageQueue]) -> None:
        for queue in lost:
            gone = self.assigned.pop(queue)
            gone.process_queue.dropped = gone.cancelled = True
        new = [queue for queue in message_queue_order(queues) if queue not in self.assigned]
        for queue in new:
            runtime, held = self.instance.runtime, self.process_queue_table.get(queue)
            self.assigned[queue] = AssignedQueue(held or ProcessQueue(runtime.now(), Lock(runtime)))
        if self.state is ServiceState.RUNNING:
            self._start_pull_tasks(new)

    # ---- pulling

    def _start_pull_tasks(self, queues: Iterable[MessageQueue]) -> None:
        for queue in queues:
            self._pool.submit(partial(self._pull_task, queue, self.assigned[queue]))

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
                await self._pull(queue, assigned)
            except CALL_ERRORS:
                delay = self.config.pull_time_delay_when_exception
        if assigned.ended():
            return
        if delay == 0:
            self._pool.submit(partial(self._pull_task, queue, assigned))
        else:
            self.instance.runtime.spawn(self._again(queue, assigned, delay), "PullMsgThread")

    def _reason_to_wait(self, assigned: AssignedQueue) -> int:
        config, held = self.config, assigned.process_queue
        if assigned.paused:
            return PULL_TIME_DELAY_WHEN_PAUSE
        full = (
            len(self._requests) * config.pull_batch_size > config.pull_threshold_for_all
            or held.msg_count > config.pull_threshold_for_queue
            or held.msg_size // MIB > config.pull_threshold_size_for_queue
            or held.max_span() > config.consume_max_span
        )
        return PULL_TIME_DELAY_WHEN_FLOW_CONTROL if full else 0

    async def _pull(self, queue: MessageQueue, assigned: AssignedQueue) -> None:
        offset = await self._next_pull_offset(queue, assigned)
        subscription = self.subscription_inner.get(queue.topic)
        if not self._subscribes:
            subscription = filter_api.build_subscription_data(
                self.group_name, queue.topic, "*", self.instance.runtime.now()
            )
        if subscription is None or offset < 0:
            raise MQClientError("offset < 0" if offset < 0 else "subscriptionData is null")
        config, tags = self.config, subscription.is_tag
        addr, header = await self._pull_api.prepare_pull(
            queue,
            subscription,
            subscription.sub_string,
            0 if tags else subscription.sub_version,
            offset,
            config.pull_batch_size,
            SYS_FLAG,
            0,
            config.broker_suspend_max_time,
        )
        result = await self.instance.api.pull_message(addr, header, config.consumer_timeout_when_suspend)
        self._pull_api.process_pull_result(queue, result, subscription)
        found = result.msg_found_list
        if result.pull_status is PullStatus.FOUND and found and assigned.seek_offset == NOT_SET:
            assigned.process_queue.put_message(found)
            self._requests.append(_ConsumeRequest(found, queue, assigned.process_queue))
            self._arrived.set()
        if assigned.seek_offset == NOT_SET:
            assigned.pull_offset = result.next_begin_offset

    async def _next_pull_offset(self, queue: MessageQueue, assigned: AssignedQueue) -> int:
        if assigned.seek_offset != NOT_SET:
            assigned.consume_offset, assigned.seek_offset = assigned.seek_offset, NOT_SET
            return assigned.consume_offset
        if assigned.pull_offset != NOT_SET:
            return assigned.pull_offset
        return await self.rebalance_impl.compute_pull_from_where(queue)

    # ---- what the application calls

    async def poll(self, timeout_ms: int | None = None) -> list[MessageExt]:
        """The messages of one pull, at the latest after `timeout_ms` (none then); commits every 5 s if so set."""
        self._check_running()
        runtime = self.instance.runtime
        if self.config.auto_commit and runtime.now() >= self._next_auto_commit:
            await self.commit_all()
            self._next_auto_commit = runtime.now() + self.config.auto_commit_interval
        end = runtime.now() + (self.config.poll_timeout if timeout_ms is None else timeout_ms)
        request = await self._take(end - runtime.now())
        while request is not None and request.process_queue.dropped and end > runtime.now():
            request = await self._take(end - runtime.now())
        if request is None or request.process_queue.dropped:
            return []
        offset = request.process_queue.remove_message(request.messages, runtime.now())
        if request.queue in self.assigned:
            self.assigned[request.queue].consume_offset = offset
        return request.messages

    def to_hand_out(self) -> bool:
        """Whether messages were pulled that nobody has polled."""
        return bool(self._requests)

    async def _take(self, timeout_ms: int) -> _ConsumeRequest | None:
        if not self._requests and timeout_ms > 0:
            self._arrived.clear()
            await self._arrived.wait(timeout_ms)
        return self._requests.popleft() if self._requests else None

    async def commit_all(self) -> None:
        """Note how far each queue was handed out; the instance's timer commits it (broadcasting: written at once)."""
        for queue, assigned in self.assigned.items():
            if assigned.consume_offset != NOT_SET and not assigned.process_queue.dropped:
                self.offset_store.update_offset(queue, assigned.consume_offset, increase_only=False)
        if self.message_model is MessageModel.BROADCASTING:
            await self.offset_store.persist_all(list(self.assigned))

    async def committed(self, queue: MessageQueue) -> int:
        """The committed offset, -1 when there is none; raises `MQClientError` when nobody can be asked."""
        self._check_running()
        offset = await self.offset_store.read_offset(queue, ReadOffsetType.MEMORY_FIRST_THEN_STORE)
        if offset == UNKNOWN_OFFSET:
            raise MQClientError("Fetch consume offset from broker exception")
        return offset

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Go on at `offset`; what was pulled and not handed out is forgotten. Raises `MQClientError`."""
        assigned = self.assigned.get(queue)
        if assigned is None:
            reason = ", may be rebalancing" if self._subscribes else ""
            raise MQClientError(f"The message queue is not in assigned list{reason}, message queue: {queue}")
        low, high = await self.instance.admin.min_offset(queue), await self.instance.admin.max_offset(queue)
        if not low <= offset <= high:
            raise MQClientError(f"Seek offset illegal, seek offset = {offset}, min offset = {low}, max offset = {high}")
        assigned.seek_offset = offset
        assigned.process_queue.clear()
        self._requests = deque(request for request in self._requests if request.queue != queue)

    def pause(self, queues: Iterable[MessageQueue], *, paused: bool = True) -> None:
        """Stop pulling these queues, or go on with `paused=False`."""
        for queue in queues:
            if queue in self.assigned:
                self.assigned[queue].paused = paused

    # ---- what the instance's threads call

    async def do_rebalance(self) -> None:
        """Look again which queues are ours."""
        await self.rebalance_impl.do_rebalance(is_order=False)

    async def persist_consumer_offset(self) -> None:
        """Commit what `commit_all` noted."""
        if self.state is ServiceState.RUNNING:
            held = self.process_queue_table if self._subscribes else self.assigned
            await self.offset_store.persist_all(set(held))
