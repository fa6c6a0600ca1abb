"""What a push consumer tells of itself (307), a message consumed at once (309): 4.8.0 `DefaultMQPushConsumerImpl`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.client.listener import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from rmqlab.client.retry import reset_retry_topic
from rmqlab.message.message import MessageQueue
from rmqlab.protocol.admin_bodies import ConsumeMessageDirectlyResult, ConsumerRunningInfo, ProcessQueueInfo
from rmqlab.protocol.codes import VERSION_4_8_0, version_desc

if TYPE_CHECKING:
    from rmqlab.client.process_queue import ProcessQueue
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
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
        "PROP_CONSUMEORDERLY": consumer.consume_orderly,
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
    queue = MessageQueue(message.topic, broker_name or "", message.queue_id)
    messages, runtime = [message], consumer.instance.runtime
    reset_retry_topic(messages, consumer.group_name)
    result = ConsumeMessageDirectlyResult(order=consumer.consume_orderly, auto_commit=True)
    context: Any = ConsumeOrderlyContext(queue, 0) if consumer.consume_orderly else ConsumeConcurrentlyContext(queue, 0)
    began = runtime.now()
    try:
        status = consumer.call_listener(messages, context)
        result.consume_result = "CR_RETURN_NULL" if status is None else RESULTS.get(status)
    except Exception as error:  # noqa: BLE001 - it is what the asker wants to know
        result.consume_result = "CR_THROW_EXCEPTION"
        result.remark = f"{type(error).__name__}: {error}"
    if consumer.consume_orderly:
        result.auto_commit = context.auto_commit
    result.spent_time_mills = runtime.now() - began
    return result
