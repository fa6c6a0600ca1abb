"""What a push consumer reports of itself to the admin tool and the doctor (307).

Source: `ClientRemotingProcessor`, `DefaultMQPushConsumerImpl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.protocol.bodies import ConsumerRunningInfo, ProcessQueueInfo
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live.extra.admin_headers import GetConsumerRunningInfoRequestHeader

if TYPE_CHECKING:
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.process_queue import ProcessQueue


def answer_running_info(instance: MQClientInstance) -> None:
    """Let an instance answer 307, a question that a broker hands on."""

    def answer(_addr: str, request: RemotingCommand) -> RemotingCommand:
        # Java adds its threads' stacks when asked; a coroutine has no such list, so there is none
        group = request.decode_header(GetConsumerRunningInfoRequestHeader).consumer_group
        consumer = instance.consumer_table.get(group)
        if not isinstance(consumer, DefaultMQPushConsumer):
            remark = f"The Consumer Group <{group}> not exist in this consumer"
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, remark)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=running_info(consumer).encode())

    instance.processors[RequestCode.GET_CONSUMER_RUNNING_INFO] = answer


def running_info(consumer: DefaultMQPushConsumer) -> ConsumerRunningInfo:
    """Settings, subscriptions and queues. Committed offsets are those in memory (-1: none); no rates are kept here."""
    config, instance = consumer.config, consumer.instance
    properties = {
        "consumerGroup": consumer.group_name,
        "messageModel": consumer.message_model.name,
        "consumeFromWhere": config.consume_from_where.name,
        "consumeThreadMin": config.consume_thread_min,
        "consumeThreadMax": config.consume_thread_min,
        "consumeConcurrentlyMaxSpan": config.consume_concurrently_max_span,
        "pullThresholdForQueue": config.pull_threshold_for_queue,
        "pullThresholdSizeForQueue": config.pull_threshold_size_for_queue,
        "pullThresholdForTopic": -1,
        "pullThresholdSizeForTopic": -1,
        "pullInterval": 0,
        "pullBatchSize": config.pull_batch_size,
        "consumeMessageBatchMaxSize": config.consume_message_batch_max_size,
        "postSubscriptionWhenPull": config.post_subscription_when_pull,
        "unitMode": False,
        "maxReconsumeTimes": -1,
        "suspendCurrentQueueTimeMillis": config.suspend_current_queue_time_millis,
        "consumeTimeout": 15,
        "PROP_NAMESERVER_ADDR": "".join(f"{address};" for address in instance.api.name_servers),
        "PROP_CONSUME_TYPE": consumer.consume_type.name,
        "PROP_CLIENT_VERSION": instance.rules.wire.version_name,
        "PROP_CONSUMEORDERLY": config.orderly,
        "PROP_THREADPOOL_CORE_SIZE": config.consume_thread_min,
        "PROP_CONSUMER_START_TIMESTAMP": consumer.start_timestamp,
    }
    table = consumer.rebalance_impl.process_queue_table
    offsets = consumer.offset_store.offset_table
    return ConsumerRunningInfo(
        properties={name: _text(value) for name, value in properties.items()},
        subscription_set=sorted(consumer.subscriptions(), key=lambda data: f"{data.topic}@{data.sub_string}"),
        mq_table={queue: _queue_info(process_queue, offsets.get(queue, -1)) for queue, process_queue in table.items()},
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _queue_info(process_queue: ProcessQueue, committed: int) -> ProcessQueueInfo:
    info = ProcessQueueInfo(
        commit_offset=committed,
        locked=process_queue.locked,
        try_unlock_times=process_queue.try_unlock_times,
        last_lock_timestamp=process_queue.last_lock_timestamp,
        droped=process_queue.dropped,
        last_pull_timestamp=process_queue.last_pull_timestamp,
        last_consume_timestamp=process_queue.last_consume_timestamp,
    )
    if process_queue.messages:
        info.cached_msg_min_offset, info.cached_msg_max_offset = (
            min(process_queue.messages),
            max(process_queue.messages),
        )
        info.cached_msg_count, info.cached_msg_size_in_mi_b = len(process_queue.messages), process_queue.msg_size_mib
    if process_queue.consuming_orderly:
        taken = process_queue.consuming_orderly
        info.transaction_msg_min_offset, info.transaction_msg_max_offset = min(taken), max(taken)
        info.transaction_msg_count = len(taken)
    return info
