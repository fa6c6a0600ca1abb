"""Settings of a push consumer, and the checks before it starts (4.8.0 `DefaultMQPushConsumer`, `checkConfig`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from rmqlab.client.client_error import MQClientError, suggest_todo
from rmqlab.client.consumer import ConsumerConfig
from rmqlab.client.validators import check_range


@dataclass(kw_only=True)
class PushConsumerConfig(ConsumerConfig):
    """Times in ms, sizes of cached messages in MiB, thresholds in messages; -1 means not set.

    `orderly` says what kind of listener it is, `consume_ms` how long a listener takes.
    """

    subscription: dict[str, str] = field(default_factory=dict)
    orderly: bool = False
    consume_ms: int = 0
    consume_thread_min: int = 20
    consume_thread_max: int = 20
    consume_concurrently_max_span: int = 2_000
    pull_threshold_for_queue: int = 1_000
    pull_threshold_size_for_queue: int = 100
    pull_threshold_for_topic: int = -1
    pull_threshold_size_for_topic: int = -1
    pull_interval: int = 0
    consume_message_batch_max_size: int = 1
    pull_batch_size: int = 32
    post_subscription_when_pull: bool = False
    max_reconsume_times: int = -1
    suspend_current_queue_time_millis: int = 1_000
    consume_timeout: int = 15 * 60 * 1_000

    def check(self) -> None:
        """Raise `MQClientError` for a setting that 4.8.0 refuses to start with, in its order."""
        check_range("consumeThreadMin", self.consume_thread_min, 1, 1_000)
        check_range("consumeThreadMax", self.consume_thread_max, 1, 1_000)
        if self.consume_thread_min > self.consume_thread_max:
            raise MQClientError(
                f"consumeThreadMin ({self.consume_thread_min}) is larger than consumeThreadMax "
                f"({self.consume_thread_max})"
            )
        check_range("consumeConcurrentlyMaxSpan", self.consume_concurrently_max_span, 1, 65_535)
        check_range("pullThresholdForQueue", self.pull_threshold_for_queue, 1, 65_535)
        if self.pull_threshold_for_topic != -1:
            check_range("pullThresholdForTopic", self.pull_threshold_for_topic, 1, 6_553_500)
        check_range("pullThresholdSizeForQueue", self.pull_threshold_size_for_queue, 1, 1_024)
        if self.pull_threshold_size_for_topic != -1:
            check_range("pullThresholdSizeForTopic", self.pull_threshold_size_for_topic, 1, 102_400)
        check_range("pullInterval", self.pull_interval, 0, 65_535)
        check_range("consumeMessageBatchMaxSize", self.consume_message_batch_max_size, 1, 1_024)
        check_range("pullBatchSize", self.pull_batch_size, 1, 1_024)


def missing_listener() -> MQClientError:
    """The error of a consumer that starts without a listener."""
    return MQClientError(f"messageListener is null{suggest_todo()}")
