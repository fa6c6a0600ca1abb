"""DefaultMQPushConsumer: subscribes, pulls, filters once more, consumes (`DefaultMQPushConsumerImpl`).

Rows S-16, S-81, S-83, S-90, S-95..S-98, F-93..F-98, H-17.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.client_config import PushConsumerConfig, ServiceState
from rmqlab.client.client_error import CALL_ERRORS, MQClientError
from rmqlab.client.consume_message_service import ConsumeMessageConcurrentlyService, ConsumeMessageOrderlyService
from rmqlab.client.consumer import CONSUMER_TIMEOUT_WHEN_SUSPEND, PULL_TIME_DELAY_WHEN_FLOW_CONTROL, MQConsumer
from rmqlab.client.mq_client_api import PullStatus
from rmqlab.client.offset_store import NO_OFFSET
from rmqlab.client.rebalance_impl import RebalancePushImpl
from rmqlab.events import CorrectOffset, PullAnswered, PullFailed
from rmqlab.protocol.consumer_headers import (
    FLAG_CLASS_FILTER,
    FLAG_COMMIT_OFFSET,
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PullMessageRequestHeader,
)
from rmqlab.protocol.heartbeat import ConsumeType, MessageModel

if TYPE_CHECKING:
    from rmqlab.client.consume_message_service import ConsumeMessageService
    from rmqlab.client.listener import MessageListener
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.process_queue import ProcessQueue, PullRequest
    from rmqlab.message.topics import MessageQueue
    from rmqlab.protocol.subscription_data import SubscriptionData

PULL_TIME_DELAY_WHEN_SUSPEND = 1_000
RESET_OFFSET_WAIT = 10_000


class DefaultMQPushConsumer(MQConsumer):
    """A push consumer of one group; `rebalance_impl` holds its queues, `offset_store` its progress."""

    kind = "PushConsumer"
    consume_type = ConsumeType.CONSUME_PASSIVELY

    def __init__(
        self,
        group: str,
        instance: MQClientInstance,
        listener: MessageListener | None,
        config: PushConsumerConfig | None = None,
    ) -> None:
        """A consumer that has not started, on the instance of its client id."""
        self.config = config or PushConsumerConfig()
        super().__init__(group, instance, self.config)
        self.start_timestamp = instance.runtime.now()
        self.rebalance_impl = RebalancePushImpl(self, self.config)
        self.listener = listener
        self._service: ConsumeMessageService | None = None

    # ---- life

    async def start(self) -> None:
        """Start as every consumer does, then send a heartbeat and rebalance at once."""
        await super().start()
        await self.instance.send_heartbeat_to_all_broker_with_lock()
        self.instance.rebalance_service.wakeup()

    def register(self) -> None:
        """Join the instance, with the group's retry topic, and make what calls the listener.

        Raises:
            MQClientError: the client is not ready for it, or no broker takes it.
        """
        if self.listener is None:
            raise MQClientError(f"messageListener is null{self.instance.rules.wire.suggest_todo}")
        if self.message_model is MessageModel.CLUSTERING:
            self.put_subscription(*self.instance.rules.retry_subscription(self.group_name))
        super().register()
        service = ConsumeMessageOrderlyService if self.config.orderly else ConsumeMessageConcurrentlyService
        self._service = service(self, self.config, self.rebalance_impl, self.listener)
        self._service.start()

    async def stop_consuming(self) -> None:
        """Hand nothing more to the listener, and give locks back."""
        if self._service is not None:
            await self._service.shutdown()

    # ---- what the instance's threads call

    async def pull_message(self, request: PullRequest) -> None:
        """Make one pull, or put it off: not running, suspended, too much cached, not locked, no subscription."""
        process_queue, config = request.process_queue, self.config
        if process_queue.dropped:
            return
        process_queue.last_pull_timestamp = self.instance.runtime.now()
        delay = self._reason_to_wait(process_queue)
        if delay:
            self._later(request, delay)
            return
        if config.orderly and not await self._holds_lock(request):
            self._later(request, config.pull_time_delay_when_exception)
            return
        subscription = self.subscription_inner.get(request.message_queue.topic)
        if subscription is None:
            self._later(request, config.pull_time_delay_when_exception)
            return
        header = self._pull_header(request, subscription)
        try:
            addr = await self.find_pull_address(request.message_queue, subscription, header)
        except CALL_ERRORS as error:
            self._pull_failed(request, error)
            return
        self.instance.runtime.spawn(self._pull(request, subscription, addr, header), "pull")

    async def _holds_lock(self, request: PullRequest) -> bool:
        """Whether an orderly consumer may pull; under a new lock it begins at the committed offset."""
        locked = request.process_queue.locked
        if locked and not request.locked_first:
            # the last owner may have committed more since this client asked without the lock
            request.next_offset = await self.rebalance_impl.compute_pull_from_where(request.message_queue)
            request.locked_first = True
        return locked

    def _reason_to_wait(self, process_queue: ProcessQueue) -> int:
        """How long (ms) a pull has to wait, 0: it may be made."""
        config = self.config
        if self.state is not ServiceState.RUNNING:
            return config.pull_time_delay_when_exception
        if self.paused:
            return PULL_TIME_DELAY_WHEN_SUSPEND
        full = (
            process_queue.msg_count > config.pull_threshold_for_queue
            or process_queue.msg_size_mib > config.pull_threshold_size_for_queue
            or (not config.orderly and process_queue.max_span() > config.consume_concurrently_max_span)
        )
        return PULL_TIME_DELAY_WHEN_FLOW_CONTROL if full else 0

    def _pull_header(self, request: PullRequest, subscription: SubscriptionData) -> PullMessageRequestHeader:
        queue, commit_offset = request.message_queue, 0
        if self.message_model is MessageModel.CLUSTERING:
            commit_offset = self.offset_store.offset_table.get(queue, NO_OFFSET)
        class_filter = subscription.class_filter_mode
        post = self.config.post_subscription_when_pull and not class_filter
        sub_expression = subscription.sub_string if post else None
        sys_flag = (
            FLAG_COMMIT_OFFSET * (commit_offset > 0)
            | FLAG_SUSPEND
            | FLAG_SUBSCRIPTION * (sub_expression is not None)
            | FLAG_CLASS_FILTER * class_filter
        )
        return PullMessageRequestHeader(
            self.group_name,
            queue.topic,
            queue.queue_id,
            request.next_offset,
            self.config.pull_batch_size,
            sys_flag,
            commit_offset,
            self.instance.rules.suspend_ms,
            sub_expression,
            subscription.sub_version,
            subscription.expression_type,
        )

    async def _pull(
        self, request: PullRequest, subscription: SubscriptionData, addr: str, header: PullMessageRequestHeader
    ) -> None:
        try:
            api = self.instance.api
            result = await api.pull_message(addr, header, api.until_noticed(CONSUMER_TIMEOUT_WHEN_SUSPEND))
        except CALL_ERRORS as error:
            self._pull_failed(request, error)
            return
        process_queue, queue = request.process_queue, request.message_queue
        self.process_pull_result(queue, result, subscription)
        self.instance.observe(
            PullAnswered(
                self.instance.client_id, self.group_name, queue.topic, queue.queue_id, request.next_offset,
                result.pull_status.value, result.next_begin_offset, len(result.msg_found_list),
            )
        )  # fmt: skip
        request.next_offset = result.next_begin_offset
        if result.pull_status is PullStatus.OFFSET_ILLEGAL:
            process_queue.dropped = True
            job = partial(self._fix_offset, queue, request.next_offset)
            self.instance.pull_message_service.execute_task_later(job, self.instance.rules.fix_offset_delay_ms)
            return
        if result.pull_status is not PullStatus.FOUND:
            self._correct_tags_offset(request)
        elif result.msg_found_list and self._service is not None:
            dispatch = process_queue.put_message(result.msg_found_list)
            self._service.submit(result.msg_found_list, process_queue, queue, dispatch=dispatch)
        self._now(request)

    async def _fix_offset(self, queue: MessageQueue, offset: int) -> None:
        """Commit where the broker says to go on, and give the queue up: the next rebalance takes it again."""
        self.offset_store.update_offset(queue, offset, increase_only=False)
        await self.offset_store.persist(queue)
        process_queue = self.process_queue_table.pop(queue, None)
        if process_queue is not None:
            process_queue.dropped = True
            await self.rebalance_impl.remove_unnecessary_message_queue(queue, process_queue)
        if not self.instance.rules.fix_offset_delay_ms:
            self.instance.rebalance_service.wakeup()

    def _pull_failed(self, request: PullRequest, error: Exception) -> None:
        queue, client_id = request.message_queue, self.instance.client_id
        at = (queue.topic, queue.queue_id, request.next_offset)
        self.instance.observe(PullFailed(client_id, self.group_name, *at, str(error)))
        self._later(request, self.config.pull_time_delay_when_exception)

    def _correct_tags_offset(self, request: PullRequest) -> None:
        """Progress over filtered messages counts when nothing else is held: this makes a loss permanent (row S-83)."""
        queue, waiting = request.message_queue, request.process_queue.msg_count
        offset = self.instance.rules.offset_after_nothing_kept(request.next_offset, waiting)
        if offset is None:
            return
        self.offset_store.update_offset(queue, offset, increase_only=True)
        client_id = self.instance.client_id
        self.instance.observe(CorrectOffset(client_id, self.group_name, queue.topic, queue.queue_id, offset))

    def _now(self, request: PullRequest) -> None:
        self.instance.pull_message_service.execute_pull_request_immediately(request)

    def _later(self, request: PullRequest, delay_ms: int) -> None:
        self.instance.pull_message_service.execute_pull_request_later(request, delay_ms)

    # ---- resetting

    async def reset_offset(self, topic: str, offsets: dict[MessageQueue, int]) -> None:
        """Begin again at `offsets`: drop the queues, wait 10 s for what is being consumed, commit, rebalance."""
        table = self.process_queue_table
        self.paused = True
        for queue, process_queue in table.items():
            if queue.topic == topic and queue in offsets:
                process_queue.dropped = True
                process_queue.clear()
        await self.instance.runtime.sleep(RESET_OFFSET_WAIT)
        for queue in list(table):
            if queue.topic == topic and queue in offsets:
                self.offset_store.update_offset(queue, offsets[queue], increase_only=False)
                await self.rebalance_impl.remove_unnecessary_message_queue(queue, table[queue])
                table.pop(queue, None)
        self.paused = False
        await self.do_rebalance()
