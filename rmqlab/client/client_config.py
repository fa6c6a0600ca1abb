"""Settings of clients, by their RocketMQ names (`ClientConfig`, `DefaultMQProducer`, `DefaultMQPushConsumer`, ...).

Times in ms. Sizes of cached messages are in MiB, thresholds in messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from rmqlab.client.allocate import AllocateMessageQueueAveragely, AllocateMessageQueueStrategy
from rmqlab.protocol.heartbeat import ConsumeFromWhere, MessageModel


class ServiceState(StrEnum):
    """Life of a client."""

    CREATE_JUST = "CREATE_JUST"
    RUNNING = "RUNNING"
    SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"
    START_FAILED = "START_FAILED"


@dataclass(kw_only=True)
class ClientConfig:
    """What the clients of one client id share.

    `namesrv_addr` is "ip:port;ip:port" or None; then `fetch_namesrv_addr` is asked, at the start and by a timer.
    `pid` replaces the instance name "DEFAULT" when a producer or a clustering consumer starts.
    """

    namesrv_addr: str | None = None
    fetch_namesrv_addr: Callable[[], str | None] | None = None
    client_ip: str = "127.0.0.1"
    instance_name: str = "DEFAULT"
    pid: int = 1
    poll_name_server_interval: int = 30_000
    heartbeat_broker_interval: int = 30_000
    persist_consumer_offset_interval: int = 5_000
    pull_time_delay_when_exception: int = 1_000
    rebalance_wait_interval: int = 20_000

    def build_mq_client_id(self) -> str:
        """`ip@instance`: the name the broker knows this client by (row S-97).

        Two processes of one host must not share the id `ip@DEFAULT`: there the process id becomes the instance name.
        """
        if self.instance_name == "DEFAULT":
            self.instance_name = str(self.pid)
        return f"{self.client_ip}@{self.instance_name}"


@dataclass(kw_only=True)
class ProducerConfig(ClientConfig):
    """Settings of a producer; sizes in bytes. A body of the compression size or more is compressed."""

    send_msg_timeout: int = 3_000
    compress_msg_body_over_howmuch: int = 4_096
    retry_times_when_send_failed: int = 2
    retry_times_when_send_async_failed: int = 2
    max_message_size: int = 4 * 1024 * 1024


@dataclass(kw_only=True)
class ConsumerConfig(ClientConfig):
    """Settings of every consumer."""

    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    allocate_strategy: AllocateMessageQueueStrategy = field(default_factory=AllocateMessageQueueAveragely)


@dataclass(kw_only=True)
class PushConsumerConfig(ConsumerConfig):
    """`orderly` says what kind of listener it is, `consume_ms` how long a listener takes."""

    orderly: bool = False
    consume_ms: int = 0
    consume_thread_min: int = 20
    consume_concurrently_max_span: int = 2_000
    pull_threshold_for_queue: int = 1_000
    pull_threshold_size_for_queue: int = 100
    consume_message_batch_max_size: int = 1
    pull_batch_size: int = 32
    post_subscription_when_pull: bool = False
    suspend_current_queue_time_millis: int = 1_000


@dataclass(kw_only=True)
class LitePullConsumerConfig(ConsumerConfig):
    """Settings of a lite pull consumer."""

    auto_commit_interval: int = 5_000
    pull_thread_nums: int = 20
    pull_batch_size: int = 10
    pull_threshold_for_all: int = 10_000
    consume_max_span: int = 2_000
    pull_threshold_for_queue: int = 1_000
    pull_threshold_size_for_queue: int = 100
    poll_timeout: int = 5_000
