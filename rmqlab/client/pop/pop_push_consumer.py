"""DefaultMQPushConsumer with `clientRebalance=false`: the broker says which queues it pops.

Each pop carries the consumer's own expression. Its queue -1 means: all queues of the topic; every member of a group
may have them at once, so no queue has an owner.
Source: `DefaultMQPushConsumerImpl.popMessage`, `processPopResult`, `ackAsync`, `changePopInvisibleTimeAsync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.client.client_config import PushConsumerConfig, ServiceState
from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.consumer import PULL_TIME_DELAY_WHEN_FLOW_CONTROL
from rmqlab.client.pop.assigned_rebalance_impl import AssignedRebalanceImpl
from rmqlab.client.pop.consume_message_pop_service import MAX_RECONSUME_TIMES, ConsumeMessagePopConcurrentlyService
from rmqlab.client.pop.pop_api import (
    POLL_GRACE,
    PopStatus,
    ack_message,
    change_invisible_time,
    handle_of,
    pop_message,
)
from rmqlab.client.pop.pop_process_queue import PopRequest
from rmqlab.client.push_consumer import PULL_TIME_DELAY_WHEN_SUSPEND, DefaultMQPushConsumer
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.pop_headers import MAX_MSG_NUMS, PopMessageRequestHeader

if TYPE_CHECKING:
    from rmqlab.client.listener import MessageListener
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.pop.pop_api import PopResult
    from rmqlab.client.pop.pop_process_queue import PopProcessQueue
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.subscription_data import SubscriptionData

POP_INVISIBLE_TIME = 60_000
POP_THRESHOLD_FOR_QUEUE = 96
"""With more messages than this unacknowledged a queue is not popped for a while."""


class PopPushConsumer(DefaultMQPushConsumer):
    """A push consumer that pops what the broker gives it to pop, and pulls what it gives it to pull."""

    def __init__(
        self,
        group: str,
        instance: MQClientInstance,
        listener: MessageListener | None,
        config: PushConsumerConfig | None = None,
    ) -> None:
        """A consumer that has not started, on the instance of its client id."""
        super().__init__(group, instance, listener, config)
        self.rebalance_impl: AssignedRebalanceImpl = AssignedRebalanceImpl(self, self.config)
        self._pop_service: ConsumeMessagePopConcurrentlyService | None = None

    @property
    def pop_process_queue_table(self) -> dict[MessageQueue, PopProcessQueue]:
        """The queues that it pops."""
        return self.rebalance_impl.pop_process_queue_table

    def at_hand(self) -> int:
        """How many messages it has popped and said nothing about."""
        return sum(process_queue.wait_ack_counter for process_queue in self.pop_process_queue_table.values())

    def register(self) -> None:
        """Join the instance and make what calls the listener; raises as a push consumer does."""
        super().register()
        if self.listener is not None:
            self._pop_service = ConsumeMessagePopConcurrentlyService(
                self, self.config, self.rebalance_impl, self.listener, self._ack, self._change
            )

    async def stop_consuming(self) -> None:
        """Hand nothing more to the listener, and pop no more."""
        await super().stop_consuming()
        if self._pop_service is not None:
            await self._pop_service.shutdown()
        for process_queue in self.pop_process_queue_table.values():
            process_queue.dropped = True

    async def pull_message(self, request: Any) -> None:
        """Make one pull or one pop."""
        if isinstance(request, PopRequest):
            await self._pop_message(request)
        else:
            await super().pull_message(request)

    async def _pop_message(self, request: PopRequest) -> None:
        process_queue = request.process_queue
        if process_queue.dropped:
            return
        process_queue.last_pop_timestamp = self.instance.runtime.now()
        subscription = self.subscription_inner.get(request.message_queue.topic)
        delay = self._reason_not_to_pop(process_queue)
        if delay or subscription is None:
            self._pop_later(request, delay or self.config.pull_time_delay_when_exception)
            return
        self.instance.runtime.spawn(self._pop(request, subscription), "pop")

    def _reason_not_to_pop(self, process_queue: PopProcessQueue) -> int:
        """How long (ms) a pop has to wait, 0: it may be made."""
        if self.state is not ServiceState.RUNNING:
            return self.config.pull_time_delay_when_exception
        if self.paused:
            return PULL_TIME_DELAY_WHEN_SUSPEND
        full = process_queue.wait_ack_counter > POP_THRESHOLD_FOR_QUEUE
        return PULL_TIME_DELAY_WHEN_FLOW_CONTROL if full else 0

    async def _pop(self, request: PopRequest, subscription: SubscriptionData) -> None:
        instance, queue = self.instance, request.message_queue
        poll_ms = instance.rules.suspend_ms
        header = PopMessageRequestHeader(
            bname=queue.broker_name,
            consumer_group=self.group_name,
            topic=queue.topic,
            queue_id=queue.queue_id,
            max_msg_nums=MAX_MSG_NUMS,
            invisible_time=POP_INVISIBLE_TIME,
            poll_time=poll_ms,
            born_time=instance.runtime.now(),
            init_mode=request.init_mode,
            exp_type=subscription.expression_type,
            exp=subscription.sub_string,
        )
        try:
            addr = await self._address(queue.broker_name, queue.topic)
            timeout_ms = instance.api.until_noticed(poll_ms + POLL_GRACE)
            result = await pop_message(instance.api, addr, queue.broker_name, header, timeout_ms)
        except CALL_ERRORS:
            self._pop_later(request, self.config.pull_time_delay_when_exception)
            return
        messages = self._keep(queue, result, subscription)
        if messages and self._pop_service is not None:
            request.process_queue.wait_ack_counter += len(messages)
            self._pop_service.submit_popped(messages, request.process_queue, queue)
        if result.pop_status is PopStatus.POLLING_FULL:
            self._pop_later(request, self.config.pull_time_delay_when_exception)
        else:
            instance.pull_message_service.execute_pull_request_immediately(request)

    async def _address(self, broker_name: str, topic: str) -> str:
        addr = self.instance.find_broker_address_in_publish(broker_name)
        if addr is None:
            await self.instance.update_topic_route_info_from_name_server(topic)
        return addr or self.instance.require_broker_address_in_publish(broker_name)

    def _keep(self, queue: MessageQueue, result: PopResult, subscription: SubscriptionData) -> list[MessageExt]:
        """What the consumer's own tags name and was not refused too often; the rest is acked (`processPopResult`)."""
        kept: list[MessageExt] = []
        for message in result.msg_found_list:
            place = MessageQueue(message.topic, queue.broker_name, message.queue_id)
            if self._filter_again(place, [message], subscription) and message.reconsume_times <= MAX_RECONSUME_TIMES:
                kept.append(message)
            else:
                self._ack(message)
        return kept

    def _ack(self, message: MessageExt) -> None:
        self.instance.runtime.spawn(self._ack_async(message), "ack")

    def _change(self, message: MessageExt, invisible_ms: int) -> None:
        self.instance.runtime.spawn(self._change_async(message, invisible_ms), "change invisible time")

    async def _ack_async(self, message: MessageExt) -> None:
        try:
            handle = handle_of(message)
            addr = await self._address(handle.broker_name, message.topic)
            await ack_message(self.instance.api, addr, self.group_name, message.topic, handle)
        except CALL_ERRORS:
            return  # as Java, which logs it: the message will come again

    async def _change_async(self, message: MessageExt, invisible_ms: int) -> None:
        try:
            handle = handle_of(message)
            addr = await self._address(handle.broker_name, message.topic)
            api, group = self.instance.api, self.group_name
            await change_invisible_time(api, addr, group, message.topic, handle, invisible_ms)
        except CALL_ERRORS:
            return

    def _pop_later(self, request: PopRequest, delay_ms: int) -> None:
        self.instance.pull_message_service.execute_pull_request_later(request, delay_ms)
