"""What a push consumer tells the admin tool (221, 307), and a message consumed at once (309).

Source: `ClientRemotingProcessor`, `DefaultMQPushConsumerImpl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.client.consume_message_service import reset_retry_topic
from rmqlab.client.listener import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.message.java import is_blank
from rmqlab.message.message import MessageQueue
from rmqlab.message.record import decode_record
from rmqlab.protocol.admin_bodies import ConsumeMessageDirectlyResult, ConsumerRunningInfo, ProcessQueueInfo
from rmqlab.protocol.admin_headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
)
from rmqlab.protocol.bodies import GetConsumerStatusBody
from rmqlab.protocol.codes import VERSION_4_8_0, RequestCode, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.process_queue import ProcessQueue
    from rmqlab.message.message import MessageExt

MIB = 1024 * 1024
MINUTE_MS = 60_000
RESULTS = {
    ConsumeConcurrentlyStatus.CONSUME_SUCCESS: "CR_SUCCESS",
    ConsumeConcurrentlyStatus.RECONSUME_LATER: "CR_LATER",
    ConsumeOrderlyStatus.SUCCESS: "CR_SUCCESS",
    ConsumeOrderlyStatus.COMMIT: "CR_COMMIT",
    ConsumeOrderlyStatus.ROLLBACK: "CR_ROLLBACK",
    ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT: "CR_LATER",
}


class ClientAnswers:
    """The answers of one instance to questions that a broker hands on."""

    def __init__(self, instance: MQClientInstance) -> None:
        """Registers for 221, 307 and 309."""
        self._instance = instance
        instance.processors[RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT] = self._consumer_status
        instance.processors[RequestCode.GET_CONSUMER_RUNNING_INFO] = self._running_info
        instance.processors[RequestCode.CONSUME_MESSAGE_DIRECTLY] = self._consume_directly

    def _consumer(self, group: str) -> DefaultMQPushConsumer | None:
        consumer = self._instance.consumer_table.get(group)
        return consumer if isinstance(consumer, DefaultMQPushConsumer) else None

    def _consumer_status(self, addr: str, request: RemotingCommand) -> RemotingCommand:
        header = request.decode_header(GetConsumerStatusRequestHeader)
        consumer = self._consumer(header.group)
        held = {} if consumer is None else consumer.offset_store.offset_table
        offsets = {
            queue: offset for queue, offset in held.items() if is_blank(header.topic) or queue.topic == header.topic
        }
        body = GetConsumerStatusBody(message_queue_table=offsets)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())

    def _running_info(self, addr: str, request: RemotingCommand) -> RemotingCommand:
        """Java adds its threads' stacks when asked; a coroutine has no such list, so there is none."""
        header = request.decode_header(GetConsumerRunningInfoRequestHeader)
        consumer = self._consumer(header.consumer_group)
        if consumer is None:
            return _no_group(header.consumer_group)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=running_info(consumer).encode())

    def _consume_directly(self, addr: str, request: RemotingCommand) -> RemotingCommand:
        header = request.decode_header(ConsumeMessageDirectlyResultRequestHeader)
        message, consumer = decode_record(request.body or b""), self._consumer(header.consumer_group)
        if message is None or consumer is None:
            return _no_group(header.consumer_group)
        result = consume_directly(consumer, message, header.broker_name)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=result.encode())


def _no_group(group: str) -> RemotingCommand:
    return RemotingCommand.response(
        ResponseCode.SYSTEM_ERROR, f"The Consumer Group <{group}> not exist in this consumer"
    )


def running_info(consumer: DefaultMQPushConsumer) -> ConsumerRunningInfo:
    """Settings, subscriptions and queues. Committed offsets are those in memory (-1: none); no rates are kept here."""
    config, instance = consumer.config, consumer.instance
    properties = {
        "consumerGroup": consumer.group_name,
        "messageModel": consumer.message_model.name,
        "consumeFromWhere": config.consume_from_where.name,
        "consumeThreadMin": config.consume_thread_min,
        "consumeThreadMax": config.consume_thread_max,
        "consumeConcurrentlyMaxSpan": config.consume_concurrently_max_span,
        "pullThresholdForQueue": config.pull_threshold_for_queue,
        "pullThresholdSizeForQueue": config.pull_threshold_size_for_queue,
        "pullThresholdForTopic": config.pull_threshold_for_topic,
        "pullThresholdSizeForTopic": config.pull_threshold_size_for_topic,
        "pullInterval": config.pull_interval,
        "pullBatchSize": config.pull_batch_size,
        "consumeMessageBatchMaxSize": config.consume_message_batch_max_size,
        "postSubscriptionWhenPull": config.post_subscription_when_pull,
        "unitMode": config.unit_mode,
        "maxReconsumeTimes": config.max_reconsume_times,
        "suspendCurrentQueueTimeMillis": config.suspend_current_queue_time_millis,
        "consumeTimeout": config.consume_timeout // MINUTE_MS,
        "PROP_NAMESERVER_ADDR": "".join(f"{address};" for address in instance.api.name_servers),
        "PROP_CONSUME_TYPE": consumer.consume_type.name,
        "PROP_CLIENT_VERSION": version_desc(VERSION_4_8_0),
        "PROP_CONSUMEORDERLY": config.orderly,
        "PROP_THREADPOOL_CORE_SIZE": config.consume_thread_min,
        "PROP_CONSUMER_START_TIMESTAMP": consumer.start_timestamp,
    }
    table = consumer.rebalance_impl.process_queue_table
    offsets = consumer.offset_store.offset_table
    return ConsumerRunningInfo(
        properties={name: _text(value) for name, value in properties.items()},
        subscription_set=sorted(consumer.subscriptions(), key=lambda one: f"{one.topic}@{one.sub_string}"),
        mq_table={queue: _queue_info(held, offsets.get(queue, -1)) for queue, held in table.items()},
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _queue_info(held: ProcessQueue, committed: int) -> ProcessQueueInfo:
    info = ProcessQueueInfo(
        commit_offset=committed,
        locked=held.locked,
        try_unlock_times=held.try_unlock_times,
        last_lock_timestamp=held.last_lock_timestamp,
        droped=held.dropped,
        last_pull_timestamp=held.last_pull_timestamp,
        last_consume_timestamp=held.last_consume_timestamp,
    )
    if held.messages:
        info.cached_msg_min_offset, info.cached_msg_max_offset = min(held.messages), max(held.messages)
        info.cached_msg_count, info.cached_msg_size_in_mi_b = len(held.messages), held.msg_size // MIB
    if held.consuming_orderly:
        taken = held.consuming_orderly
        info.transaction_msg_min_offset, info.transaction_msg_max_offset = min(taken), max(taken)
        info.transaction_msg_count = len(taken)
    return info


def consume_directly(
    consumer: DefaultMQPushConsumer, message: MessageExt, broker_name: str | None
) -> ConsumeMessageDirectlyResult:
    """Give the listener one message, past all queues and offsets, and tell what it said."""
    config, queue = consumer.config, MessageQueue(message.topic, broker_name or "", message.queue_id)
    messages, runtime = [message], consumer.instance.runtime
    reset_retry_topic(messages, consumer.group_name)
    result = ConsumeMessageDirectlyResult(order=config.orderly, auto_commit=True)
    context: Any = ConsumeOrderlyContext(queue, 0) if config.orderly else ConsumeConcurrentlyContext(queue, 0)
    began = runtime.now()
    try:
        status = None if consumer.listener is None else consumer.listener(messages, context)
        result.consume_result = "CR_RETURN_NULL" if status is None else RESULTS.get(status)
    except Exception as error:  # noqa: BLE001 - it is what the asker wants to know
        result.consume_result = "CR_THROW_EXCEPTION"
        result.remark = f"{type(error).__name__}: {error}"
    if config.orderly:
        result.auto_commit = context.auto_commit
    result.spent_time_mills = runtime.now() - began
    return result
