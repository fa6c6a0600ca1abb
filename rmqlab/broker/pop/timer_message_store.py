"""The timer: messages that wait for their time lie in rmq_sys_wheel_timer, and are stored again when it has come.

Here for the messages of the revive log, and for their places in the commit log: each stands there twice.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.message.java import in_hash_map_order
from rmqlab.message.message import MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TIMER_DELIVER_MS,
    PROPERTY_TIMER_OUT_MS,
    properties_to_string,
)
from rmqlab.message.topics import SYSTEM_TOPIC_PREFIX
from rmqlab.store.dispatch_request import PutMessageResult, PutMessageStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.pop.pop_config import PopConfig
    from rmqlab.broker.processor import Timers
    from rmqlab.message.message import MessageExt
    from rmqlab.store.message_store import MessageStore

    Deliver = Callable[[int], object]

TIMER_TOPIC = f"{SYSTEM_TOPIC_PREFIX}wheel_timer"
PROPERTY_TIMER_ENQUEUE_MS, PROPERTY_TIMER_DEQUEUE_MS = "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS"
MS_PER_S = 1_000


def timer_out_ms(deliver_ms: int, precision_ms: int) -> int:
    """The slot of a message: the last multiple of the precision before its time (`HookUtils.transformTimerMessage`).

    >>> timer_out_ms(1795699202192, 1000), timer_out_ms(1795699202000, 1000)
    (1795699202000, 1795699201000)
    """
    return (deliver_ms - 1) // precision_ms * precision_ms


class TimerMessageStore:
    """Keeps messages until their slot has passed: its `timer_precision_ms` later they go to their topic (epoch ms).

    `hold(commit log offset, due, deliver)` has `deliver(now)` called when one is due.

    Java's threads look every 100 ms, so that it is up to 100 ms later there, and three of them store what is due, in
    any order. Here each has a timer, and they go in the order they came.
    """

    def __init__(self, config: PopConfig, store: MessageStore, timers: Timers) -> None:
        self._config = config
        self._store = store
        self._timers = timers
        self.waiting = 0
        self.hold: Callable[[int, int, Deliver], object] = self._hold

    def _hold(self, _commit_log_offset: int, due: int, deliver: Deliver) -> None:
        self._timers.once("timer wheel", due, deliver)

    def put(self, message: MessageExtBrokerInner, now: int) -> PutMessageResult:
        """Store a message until the time in TIMER_DELIVER_MS, or at once for good if that is over.

        A time further away than `timerMaxDelaySec` is refused (`HookUtils.handleScheduleMessage`).
        """
        deliver_ms = int(message.properties[PROPERTY_TIMER_DELIVER_MS])
        if deliver_ms <= now:
            return self._store.put_message(message, now)
        if deliver_ms - now > self._config.timer_max_delay_sec * MS_PER_S:
            return PutMessageResult(PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL)
        precision_ms = self._config.timer_precision_ms
        out_ms = timer_out_ms(deliver_ms, precision_ms)
        message.properties = in_hash_map_order(
            message.properties
            | {
                PROPERTY_TIMER_OUT_MS: str(out_ms),
                PROPERTY_REAL_TOPIC: message.topic,
                PROPERTY_REAL_QUEUE_ID: str(message.queue_id),
            }
        )
        message.properties_string = properties_to_string(message.properties)
        message.topic, message.queue_id = TIMER_TOPIC, 0
        result = self._store.put_message(message, now)
        if result.status is PutMessageStatus.PUT_OK:
            self.waiting += 1
            enqueue_ms = result.store_timestamp // precision_ms * precision_ms
            deliver = partial(self._dequeue, result.wrote_offset, result.wrote_bytes, enqueue_ms)
            self.hold(result.wrote_offset, out_ms + precision_ms, deliver)
        return result

    def _dequeue(self, commit_log_offset: int, size: int, enqueue_ms: int, now: int) -> None:
        """Store a message whose slot has passed under its topic; a lost record is passed over."""
        self.waiting -= 1
        message = self._store.look_message_by_offset(commit_log_offset, size)
        if message is not None:
            self._store.put_message(self.convert(message, enqueue_ms, now), now)

    def convert(self, message: MessageExt, enqueue_ms: int, now: int) -> MessageExtBrokerInner:
        """A message of the timer as it goes to its topic: its text still names topic and queue, as in Java."""
        times = {PROPERTY_TIMER_ENQUEUE_MS: str(enqueue_ms), PROPERTY_TIMER_DEQUEUE_MS: str(now)}
        message.properties = message.properties | times
        topic, queue_id = message.properties[PROPERTY_REAL_TOPIC], int(message.properties[PROPERTY_REAL_QUEUE_ID])
        inner = MessageExtBrokerInner.again(message, topic, queue_id, self._store.rules.wire.property_capacity)
        inner.wait_store_msg_ok = False
        return inner
