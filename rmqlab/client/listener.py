"""What a listener is given and what it answers (contexts and statuses of both kinds).

A listener is a plain callable: it gets the messages and the context and returns a status. It takes no virtual time
unless it, or the consumer's settings, say how long (`consume_ms`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from rmqlab.message.message import MessageExt
from rmqlab.message.topics import MessageQueue

ALL_ACKNOWLEDGED = 0x7FFFFFFF


class ConsumeConcurrentlyStatus(Enum):
    """The answer of a concurrent listener; None and an exception mean RECONSUME_LATER."""

    CONSUME_SUCCESS = "CONSUME_SUCCESS"
    RECONSUME_LATER = "RECONSUME_LATER"


class ConsumeOrderlyStatus(Enum):
    """The answer of an orderly listener; None and an exception mean SUSPEND_CURRENT_QUEUE_A_MOMENT."""

    SUCCESS = "SUCCESS"
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "SUSPEND_CURRENT_QUEUE_A_MOMENT"


@dataclass(slots=True)
class ConsumeConcurrentlyContext:
    """`ack_index` is the last message of a batch that went well; a retry level of 0 leaves the delay to the broker."""

    message_queue: MessageQueue
    consume_ms: int = 0
    delay_level_when_next_consume: int = 0
    ack_index: int = ALL_ACKNOWLEDGED


@dataclass(slots=True)
class ConsumeOrderlyContext:
    """The queue whose messages these are, and how long (ms) the listener takes."""

    message_queue: MessageQueue
    consume_ms: int = 0


MessageListenerConcurrently = Callable[[list[MessageExt], ConsumeConcurrentlyContext], ConsumeConcurrentlyStatus | None]
MessageListenerOrderly = Callable[[list[MessageExt], ConsumeOrderlyContext], ConsumeOrderlyStatus | None]
MessageListener = MessageListenerConcurrently | MessageListenerOrderly
