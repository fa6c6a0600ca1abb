"""RebalanceImpl: which queues are ours, and what happens to those that come and go (same name).

`RebalancePushImpl`, and `RebalanceLitePullImpl` beside its consumer, fill in what differs. Rows S-84..S-87, H-47, H-53.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol

from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.lock import Lock
from rmqlab.client.offset_store import NO_OFFSET
from rmqlab.client.process_queue import ProcessQueue, PullRequest
from rmqlab.events import Rebalance, Restamp
from rmqlab.message.java import hash_map_order, utf16_key
from rmqlab.message.topics import is_retry_topic, message_queue_order
from rmqlab.protocol.bodies import (
    GetConsumerListByGroupResponseBody,
    LockBatchRequestBody,
    LockBatchResponseBody,
    UnlockBatchRequestBody,
)
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import GetConsumerListByGroupRequestHeader
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from rmqlab.client.allocate import AllocateMessageQueueStrategy
    from rmqlab.client.client_config import PushConsumerConfig
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.offset_store import OffsetStore
    from rmqlab.message.topics import MessageQueue
    from rmqlab.protocol.heartbeat import ConsumeFromWhere
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import StartsAt

QUEUE_LOCK_TIMEOUT = 1_000
UNLOCK_DELAY_TIME = 20_000
PROCESS_QUEUE_TABLE_LENGTH = 128
"""Table length of a `ConcurrentHashMap(64)`, which holds the process queues."""


class RebalancedConsumer(Protocol):
    """What a rebalance knows of its consumer."""

    instance: MQClientInstance
    group_name: str
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere
    subscription_inner: dict[str, SubscriptionData]
    topic_subscribe_info_table: dict[str, list[MessageQueue]]
    process_queue_table: dict[MessageQueue, ProcessQueue]
    offset_store: OffsetStore
    allocate_strategy: AllocateMessageQueueStrategy
    consume_timestamp: int


class RebalanceImpl(ABC):
    """Decides on the queues of one consumer; `process_queue_table` is the consumer's."""

    gives_up_stuck_queues = False
    memory_first: bool
    is_order = False

    def __init__(self, consumer: RebalancedConsumer) -> None:
        """Works on the consumer's subscriptions, queues and offsets."""
        self.consumer = consumer
        self.instance = consumer.instance
        self.group = consumer.group_name
        self.process_queue_table = consumer.process_queue_table
        self._sorted: dict[str, tuple[list[MessageQueue], list[MessageQueue]]] = {}

    @abstractmethod
    async def message_queue_changed(self, topic: str, all_queues: list[MessageQueue], ours: list[MessageQueue]) -> None:
        """Called after the set of our queues of a topic has changed."""

    async def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Give a queue up: commit and forget its offset; False when it cannot be given up now."""
        await self.consumer.offset_store.persist(queue)
        self.consumer.offset_store.remove_offset(queue)
        return True

    def dispatch_pull_request(self, requests: list[PullRequest]) -> None:  # noqa: B027 - not every kind does
        """Begin to pull the queues that became ours."""

    async def compute_pull_from_where(self, queue: MessageQueue) -> int:
        """The committed offset; without one what `consume_from_where` says (row S-96); -1 when it cannot be known."""
        committed = await self.consumer.offset_store.read_offset(queue, memory_first=self.memory_first)
        where = self.consumer.consume_from_where.name
        begin = self.instance.rules.compute_pull_from_where(committed, where, is_retry_topic(queue.topic))
        return committed if begin == "committed" else await self._begin(queue, begin)

    async def _begin(self, queue: MessageQueue, begin: StartsAt) -> int:
        with suppress(*CALL_ERRORS):
            match begin:
                case "first":
                    return 0
                case "timestamp":
                    return await self.instance.search_offset(queue, self.consumer.consume_timestamp)
                case "end":
                    return await self.instance.max_offset(queue)
        return NO_OFFSET  # a question failed: the queue waits for the next rebalance

    # ---- rebalancing

    async def do_rebalance(self) -> bool:
        """Go over all topics in hash table order, then drop the queues of topics no longer subscribed.

        Return whether we hold all the queues that we want.
        """
        balanced = True
        for topic in hash_map_order(self.consumer.subscription_inner):
            if topic in self.consumer.subscription_inner:
                balanced &= await self._rebalance_by_topic(topic)
        for queue in list(self.process_queue_table):
            if queue.topic not in self.consumer.subscription_inner:
                self.process_queue_table.pop(queue).dropped = True
        return balanced

    async def _rebalance_by_topic(self, topic: str) -> bool:
        # taken before the group's clients are asked for: queues learnt meanwhile wait for the next rebalance (as Java)
        all_queues, rules = self.consumer.topic_subscribe_info_table.get(topic), self.instance.rules
        broadcasting = self.consumer.message_model is MessageModel.BROADCASTING
        if not rules.asks_members_first and not broadcasting:
            all_queues = all_queues or None
        if broadcasting:
            ours = all_queues
        else:
            ours = await self._allocate(topic, all_queues) if all_queues or rules.asks_members_first else None
        if all_queues is None and rules.stamps_without_queues and (broadcasting or not is_retry_topic(topic)):
            await self.message_queue_changed(topic, [], [])
        if all_queues is None or ours is None:
            return True  # nothing is known, so nothing is missing
        changed = await self._update_process_queue_table(topic, message_queue_order(ours))
        if changed:
            queue_ids = sorted(queue.queue_id for queue in self.process_queue_table if queue.topic == topic)
            self.instance.observe(Rebalance(self.instance.client_id, self.group, topic, queue_ids))
            await self.message_queue_changed(topic, all_queues, ours)
        working = {
            queue
            for queue, process_queue in self.process_queue_table.items()
            if queue.topic == topic and not process_queue.dropped
        }
        return set(ours) == working

    async def _allocate(self, topic: str, all_queues: list[MessageQueue] | None) -> list[MessageQueue] | None:
        """Our share of the queues; None when no broker of the topic says who is in the group (rows S-93, H-47)."""
        instance, header = self.instance, GetConsumerListByGroupRequestHeader(self.group)
        try:
            addr = instance.find_broker_addr_by_topic(topic)
            if addr is None:
                await instance.update_topic_route_info_from_name_server(topic)
                addr = instance.find_broker_addr_by_topic(topic)
            if addr is None:
                return None
            answer = await instance.api.call(addr, RequestCode.GET_CONSUMER_LIST_BY_GROUP, header, 3_000)
        except CALL_ERRORS:
            return None
        if all_queues is None or answer.body is None:
            return None
        client_ids, queues = list(_consumer_ids_of(answer.body)), self._in_order(topic, all_queues)
        strategy, client_id = self.consumer.allocate_strategy, instance.client_id
        try:
            return strategy.allocate(self.group, client_id, queues, client_ids) or []
        except Exception:
            if instance.rules.allocate is not DEFAULT_RULES.allocate:  # whoever writes a rule is told
                raise
            return None

    def _in_order(self, topic: str, queues: list[MessageQueue]) -> list[MessageQueue]:
        """All queues of a topic sorted, as a new list; a list of a route never changes, so each is sorted once."""
        known = self._sorted.get(topic)
        if known is None or known[0] is not queues:
            known = self._sorted[topic] = (queues, sorted(queues))
        return list(known[1])

    async def _update_process_queue_table(self, topic: str, ours: list[MessageQueue]) -> bool:
        changed, now = False, self.instance.runtime.now()
        for queue in message_queue_order(self.process_queue_table, PROCESS_QUEUE_TABLE_LENGTH):
            process_queue = self.process_queue_table.get(queue)
            if queue.topic != topic or process_queue is None:
                continue
            lost = queue not in ours
            stuck = self.gives_up_stuck_queues and process_queue.is_pull_expired(now)
            if lost or stuck:
                process_queue.dropped = True
                if await self.remove_unnecessary_message_queue(queue, process_queue):
                    self.process_queue_table.pop(queue, None)
                    changed = True
        requests: list[PullRequest] = []
        all_locked = True
        for queue in ours:
            if queue in self.process_queue_table:
                continue
            if self.is_order and not await self.lock(queue):
                all_locked = False
                continue
            self.consumer.offset_store.remove_offset(queue)
            process_queue = ProcessQueue(self.instance.runtime.now(), Lock(self.instance.runtime))
            # one question to the broker for each new queue, one after the other: they delay the stamp (row S-84)
            next_offset = await self.compute_pull_from_where(queue)
            if next_offset >= 0 and queue not in self.process_queue_table:
                self.process_queue_table[queue] = process_queue
                requests.append(PullRequest(self.group, queue, process_queue, next_offset))
                changed = True
        lock_again_ms = self.instance.rules.lock_again_ms
        if not all_locked and lock_again_ms:
            self.instance.rebalance_later(lock_again_ms)
        self.dispatch_pull_request(requests)
        return changed

    # ---- locks of orderly consumption

    async def lock(self, queue: MessageQueue) -> bool:
        """Ask the broker for the lock of one queue."""
        return queue in await self._lock_at_broker(queue.broker_name, [queue], only_gains=True)

    async def lock_all(self) -> None:
        """Renew the locks of all our queues; what the broker does not confirm is unlocked."""
        for broker_name, queues in self._queues_by_broker().items():
            await self._lock_at_broker(broker_name, queues, only_gains=False)

    async def unlock(self, queue: MessageQueue) -> None:
        """Give the lock of one queue back, and wait for no answer."""
        addr = self.instance.find_broker_address_in_publish(queue.broker_name)
        if addr is None:
            return
        body = UnlockBatchRequestBody(self.group, self.instance.client_id, [queue]).encode()
        request = self.instance.api.request(RequestCode.UNLOCK_BATCH_MQ, None, body)
        with suppress(*CALL_ERRORS):
            await self.instance.runtime.invoke_oneway(addr, request)

    async def unlock_all(self) -> None:
        """Give all locks back."""
        instance = self.instance
        for broker_name, queues in self._queues_by_broker().items():
            addr = instance.find_broker_address_in_publish(broker_name)
            if addr is None:
                continue
            body = UnlockBatchRequestBody(self.group, instance.client_id, queues).encode()
            try:
                await instance.api.call(addr, RequestCode.UNLOCK_BATCH_MQ, None, QUEUE_LOCK_TIMEOUT, body)
            except CALL_ERRORS:
                continue
            for queue in queues:
                if queue in self.process_queue_table:
                    self.process_queue_table[queue].locked = False

    async def _lock_at_broker(
        self, broker_name: str, queues: list[MessageQueue], *, only_gains: bool
    ) -> set[MessageQueue]:
        instance = self.instance
        addr = instance.find_broker_address_in_publish(broker_name)
        if addr is None:
            return set()
        body = LockBatchRequestBody(self.group, instance.client_id, queues).encode()
        try:
            answer = await instance.api.call(addr, RequestCode.LOCK_BATCH_MQ, None, QUEUE_LOCK_TIMEOUT, body)
        except CALL_ERRORS:
            return set()
        locked = set(LockBatchResponseBody.decode(answer.body or b"{}").lock_ok_mq_set)
        now = instance.runtime.now()
        for queue in queues:
            process_queue = self.process_queue_table.get(queue)
            if process_queue is None:
                continue
            if queue in locked:
                process_queue.locked = True
                process_queue.last_lock_timestamp = now
            elif not only_gains:
                process_queue.locked = False
        return locked

    def _queues_by_broker(self) -> dict[str, list[MessageQueue]]:
        result: dict[str, list[MessageQueue]] = {}
        for queue in message_queue_order(self.process_queue_table, PROCESS_QUEUE_TABLE_LENGTH):
            result.setdefault(queue.broker_name, []).append(queue)
        return result


class RebalancePushImpl(RebalanceImpl):
    """Rebalance of a push consumer: a new stamp on the subscription when queues come or go (rows S-84..S-87)."""

    gives_up_stuck_queues = True
    memory_first = False

    def __init__(self, consumer: RebalancedConsumer, config: PushConsumerConfig) -> None:
        """`config` is the consumer's."""
        super().__init__(consumer)
        self.is_order = config.orderly

    async def message_queue_changed(self, topic: str, all_queues: list[MessageQueue], ours: list[MessageQueue]) -> None:
        """Stamp the topic's subscription with the client's clock and send a heartbeat (rows S-84..S-86).

        The higher stamp wins the group's slot in the broker, whoever started first.
        """
        subscription = self.consumer.subscription_inner.get(topic)
        if subscription is None:
            return  # unsubscribed meanwhile: Java runs into a null here
        old, runtime = subscription.sub_version, self.instance.runtime
        # The pull thread may be faster than this one: then it pulls the new queues with the old stamp, or with one that
        # the broker does not know yet.
        await runtime.late("RebalanceService")
        subscription.sub_version = self.instance.rules.stamp_sub_version(old, runtime.now())
        self.instance.observe(Restamp(self.instance.client_id, self.group, topic, old, subscription.sub_version))
        await runtime.late("RebalanceService heartbeat")
        await self.instance.send_heartbeat_to_all_broker_with_lock()

    async def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Commit and forget the offset; an orderly consumer gives the lock back, if its listener lets go within 1 s."""
        await super().remove_unnecessary_message_queue(queue, process_queue)
        if not self.is_order or self.consumer.message_model is not MessageModel.CLUSTERING:
            return True
        return await self._give_lock_back(queue, process_queue)

    async def _give_lock_back(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        lock = process_queue.lock_consume
        if not await lock.acquire(1_000):
            process_queue.try_unlock_times += 1
            return False
        try:
            if process_queue.messages:
                self.instance.scheduled.schedule(partial(self.unlock, queue), UNLOCK_DELAY_TIME)
            else:
                await self.unlock(queue)
        finally:
            lock.release()
        return True

    def dispatch_pull_request(self, requests: list[PullRequest]) -> None:
        """Hand them to the pull thread, in order, or after a while."""
        service, delay_ms = self.instance.pull_message_service, self.instance.rules.first_pull_delay_ms
        for request in requests:
            if delay_ms:
                service.execute_pull_request_later(request, delay_ms)
            else:
                service.execute_pull_request_immediately(request)


# Every member asks for the same, again and again.
@lru_cache(maxsize=256)
def _consumer_ids_of(body: bytes) -> tuple[str, ...]:
    """The members in Java's order of texts."""
    return tuple(sorted(GetConsumerListByGroupResponseBody.decode(body).consumer_id_list, key=utf16_key))
