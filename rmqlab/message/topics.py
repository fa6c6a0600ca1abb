"""Topics and their queues: names with a meaning, checks of names, the order of queues (`TopicValidator`, `MixAll`)."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.message.java import hash_set_order, is_blank, string_hash, to_int32, utf16_length

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

logger = logging.getLogger(__name__)

MAX_QUEUES: Final = 65_536
"""Ours: 4.8.0 makes a topic of two thousand million queues and has no memory for them when somebody asks."""
RETRY_GROUP_TOPIC_PREFIX = "%RETRY%"
DLQ_GROUP_TOPIC_PREFIX = "%DLQ%"
REPLY_TOPIC_POSTFIX = "REPLY_TOPIC"
SYSTEM_TOPIC_PREFIX = "rmq_sys_"
CID_RMQ_SYS_PREFIX = "CID_RMQ_SYS_"

AUTO_CREATE_TOPIC_KEY_TOPIC = "TBW102"
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC = "BenchmarkTest"
TRANS_HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
TRANS_OP_HALF_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRANS_CHECK_MAX_TIME_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
OFFSET_MOVED_EVENT = "OFFSET_MOVED_EVENT"

# a broker holds its own name, its cluster's name and the reply topic as system topics too (`TopicConfigManager`)
SYSTEM_TOPICS_IN_ORDER = (
    AUTO_CREATE_TOPIC_KEY_TOPIC,
    SCHEDULE_TOPIC,
    BENCHMARK_TOPIC,
    TRANS_HALF_TOPIC,
    TRACE_TOPIC,
    TRANS_OP_HALF_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    SELF_TEST_TOPIC,
    OFFSET_MOVED_EVENT,
)
"""RocketMQ's own topics as Java puts them into their set (`TopicValidator`)."""
SYSTEM_TOPICS = frozenset(SYSTEM_TOPICS_IN_ORDER)
NOT_ALLOWED_SEND_TOPICS = frozenset({SCHEDULE_TOPIC})

DEFAULT_PRODUCER_GROUP = "DEFAULT_PRODUCER"
DEFAULT_CONSUMER_GROUP = "DEFAULT_CONSUMER"
TOOLS_CONSUMER_GROUP = "TOOLS_CONSUMER"
FILTERSRV_CONSUMER_GROUP = "FILTERSRV_CONSUMER"
CLIENT_INNER_PRODUCER_GROUP = "CLIENT_INNER_PRODUCER"
SELF_TEST_CONSUMER_GROUP = "SELF_TEST_C_GROUP"
ONS_HTTP_PROXY_GROUP = "CID_ONS-HTTP-PROXY"
CID_ONSAPI_PERMISSION_GROUP = "CID_ONSAPI_PERMISSION"
CID_ONSAPI_OWNER_GROUP = "CID_ONSAPI_OWNER"
CID_ONSAPI_PULL_GROUP = "CID_ONSAPI_PULL"

VALID_NAME_PATTERN = "^[%|a-zA-Z0-9_-]+$"
TOPIC_MAX_LENGTH = 127
_NAME = re.compile(VALID_NAME_PATTERN)
_TOPIC = re.compile(rf"[%|a-zA-Z0-9_-]{{1,{TOPIC_MAX_LENGTH}}}")  # what passes at one look


def retry_topic(group: str) -> str:
    """The topic to which messages that `group` failed to consume are sent back."""
    return RETRY_GROUP_TOPIC_PREFIX + group


def dlq_topic(group: str) -> str:
    """The topic that holds messages which `group` failed to consume too often."""
    return DLQ_GROUP_TOPIC_PREFIX + group


def reply_topic(cluster: str) -> str:
    """The topic over which replies to request messages go in `cluster`."""
    return f"{cluster}_{REPLY_TOPIC_POSTFIX}"


def is_retry_topic(topic: str) -> bool:
    """Whether `topic` is some group's retry topic."""
    return topic.startswith(RETRY_GROUP_TOPIC_PREFIX)


def is_users_topic(topic: str) -> bool:
    """Whether `topic` has messages as producers sent them: no system topic, no group's retries or dead letters.

    5.x counts every name that begins with `rmq_sys_` among the system's (`TopicValidator.isSystemTopic`).

    >>> [topic for topic in ("Orders", "%RETRY%g", "TBW102", "rmq_sys_wheel_timer") if is_users_topic(topic)]
    ['Orders']
    """
    prefixes = (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX, SYSTEM_TOPIC_PREFIX)
    return topic not in SYSTEM_TOPICS and not topic.startswith(prefixes)


def is_system_group(group: str) -> bool:
    """Whether `group` is one of RocketMQ's own consumer groups (`MixAll.isSysConsumerGroup`)."""
    return group.startswith(CID_RMQ_SYS_PREFIX)


def is_system_topic(topic: str, system_topics: Collection[str] = SYSTEM_TOPICS) -> bool:
    """Whether `topic` is one of RocketMQ's own; a broker has more `system_topics`."""
    return topic in system_topics or topic.startswith(SYSTEM_TOPIC_PREFIX)


def is_valid_name(name: str) -> bool:
    """Whether `name` has only the characters that Java allows in the names of topics and groups."""
    return _NAME.fullmatch(name) is not None


def validate_topic(topic: str | None) -> str | None:
    """The remark with which a broker refuses `topic` (code SYSTEM_ERROR), or None if the name is good."""
    if topic is None or _TOPIC.fullmatch(topic):
        return "The specified topic is blank." if topic is None else None
    if is_blank(topic):
        return "The specified topic is blank."
    if not is_valid_name(topic):
        return f"The specified topic contains illegal characters, allowing only {VALID_NAME_PATTERN}"
    if utf16_length(topic) > TOPIC_MAX_LENGTH:
        return "The specified topic is longer than topic max length."
    return None


def validate_not_system_topic(topic: str, system_topics: Collection[str] = SYSTEM_TOPICS) -> str | None:
    """The remark with which a broker refuses to send to or create the system topic `topic`, or None."""
    return f"The topic[{topic}] is conflict with system topic." if is_system_topic(topic, system_topics) else None


def validate_send_topic(topic: str) -> str | None:
    """The remark with which a broker forbids sending to `topic` (code NO_PERMISSION), or None."""
    return f"Sending message to topic[{topic}] is forbidden." if topic in NOT_ALLOWED_SEND_TOPICS else None


class MessageQueue(NamedTuple):
    """One queue of a topic on one broker. The order is that of Java's `compareTo`: topic, broker name, number."""

    topic: str
    broker_name: str
    queue_id: int

    def __str__(self) -> str:
        """The queue as Java prints it."""
        return f"MessageQueue [topic={self.topic}, brokerName={self.broker_name}, queueId={self.queue_id}]"


def queues_of(topic: str, broker_name: str, count: int) -> list[MessageQueue]:
    """The queues 0, 1, ... of a topic on a broker; of more than `MAX_QUEUES` the first ones, and a warning says so.

    >>> queues_of("T", "broker-a", 2)[1]
    MessageQueue(topic='T', broker_name='broker-a', queue_id=1)
    """
    return [MessageQueue(topic, broker_name, number) for number in range(listed_queues(topic, count))]


def listed_queues(topic: str, count: int) -> int:
    """How many queues of a topic are looked at: `count`, or `MAX_QUEUES` and a warning."""
    if count > MAX_QUEUES:
        logger.warning("topic %r: %s queues; the first %s are looked at", topic, count, MAX_QUEUES)
    return min(count, MAX_QUEUES)


def message_queue_order(queues: Iterable[MessageQueue], capacity: int = 16) -> list[MessageQueue]:
    """Queues in the order of a java.util.HashSet, made for `capacity` items, that they were put into."""
    placed = tuple(queues)
    return list(placed) if len(placed) < 2 else list(_queue_order(placed, capacity))


@lru_cache(maxsize=1024)
def _queue_order(queues: tuple[MessageQueue, ...], capacity: int) -> tuple[MessageQueue, ...]:
    return tuple(hash_set_order(queues, _message_queue_hash, capacity))


@lru_cache(maxsize=65536)
def _message_queue_hash(queue: MessageQueue) -> int:
    broker = 31 + string_hash(queue.broker_name or "")  # null counts 0, as an empty text does
    return to_int32(31 * (31 * broker + queue.queue_id) + string_hash(queue.topic or ""))
