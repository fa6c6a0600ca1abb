"""Delayed messages: each level's queue is watched and due messages go to their real topic.

Source: `ScheduleMessageService` (it lives in Java's store; the timers are the broker's here).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from rmqlab.broker.config_manager import ConfigManager
from rmqlab.message.java import Long, in_number_map_order
from rmqlab.message.message import MessageExtBrokerInner
from rmqlab.message.properties import PROPERTY_DELAY_TIME_LEVEL, PROPERTY_REAL_QUEUE_ID, PROPERTY_REAL_TOPIC
from rmqlab.message.topics import SCHEDULE_TOPIC, TRANS_HALF_TOPIC
from rmqlab.protocol.serializable import RemotingSerializable
from rmqlab.protocol.wire import DEFAULT_WIRE, Wire
from rmqlab.store.config import delay_level_to_queue_id, queue_id_to_delay_level
from rmqlab.store.consume_queue import ENTRY
from rmqlab.store.consume_queue_ext import is_ext_addr
from rmqlab.store.dispatch_request import PutMessageStatus

if TYPE_CHECKING:
    from rmqlab.broker.processor import Timers
    from rmqlab.message.message import MessageExt
    from rmqlab.store.consume_queue import ConsumeQueue
    from rmqlab.store.message_store import MessageStore

FIRST_DELAY_MS = 1_000
DELAY_FOR_A_WHILE_MS = 100
DELAY_FOR_A_PERIOD_MS = 10_000


class DelayOffsetSerializeWrapper(RemotingSerializable):
    """delayOffset.json: the next offset to deliver of each delay level."""

    offset_table: dict[int, Long] = msgspec.field(default_factory=dict)


class ScheduleMessageService(ConfigManager):
    """Moves delayed messages on. `offset_table` is what Java persists: level to the next offset in its queue.

    Java looks at every level every 100 ms from one second after the start. A level whose queue holds nothing new is
    not looked at here: it sleeps, and a message that arrives wakes it at the next moment Java would have looked.
    """

    file_name = "delayOffset.json"

    def __init__(self, store: MessageStore, timers: Timers) -> None:
        self._store = store
        self._timers = timers
        self._levels = store.delay_levels
        self.offset_table: dict[int, Long] = {}
        # Levels asleep, each with the time at which Java would look next.
        self._asleep: dict[int, int] = {}
        self._started = False

    def body(self) -> DelayOffsetSerializeWrapper:
        """How far each delay level has been delivered."""
        return DelayOffsetSerializeWrapper(in_number_map_order(self.offset_table))

    def decode(self, text: str) -> None:
        """Take in the offsets of a file."""
        self.offset_table.update(DelayOffsetSerializeWrapper.decode(text.encode()).offset_table)

    def start(self, now: int) -> None:
        """Watch every level from now on, each from its offset in `offset_table`; once is enough."""
        if not self._started:
            self._started = True
            self._asleep = dict.fromkeys(self._levels.table, now + FIRST_DELAY_MS)
            for level in self._levels.table:
                if self._has_entry(level):
                    self._wake(level)

    def shutdown(self) -> None:
        """Deliver nothing more."""
        self._started = False

    def holds_back(self) -> bool:
        """Whether a message waits in some level for its time."""
        return any(self._has_entry(level) for level in self._levels.table)

    def arriving(self, queue_id: int) -> None:
        """Hear that a message has come to a queue of SCHEDULE_TOPIC_XXXX."""
        self._wake(queue_id_to_delay_level(queue_id))

    def _wake(self, level: int) -> None:
        """Look at a sleeping level at the next point of its 100 ms grid."""
        due = self._asleep.pop(level, None)
        if due is None:
            return
        late = self._timers.now - due
        if late > 0:
            due += -(-late // DELAY_FOR_A_WHILE_MS) * DELAY_FOR_A_WHILE_MS
        self._schedule(level, due)

    def _schedule(self, level: int, due: int) -> None:
        self._timers.once(f"delay level {level}", due, partial(self._on_time_up, level))

    def _queue(self, level: int) -> ConsumeQueue | None:
        return self._store.get_consume_queue(SCHEDULE_TOPIC, delay_level_to_queue_id(level))

    def _has_entry(self, level: int) -> bool:
        queue = self._queue(level)
        return queue is not None and queue.get_index_buffer(self.offset_table.get(level, 0)) is not None

    def _on_time_up(self, level: int, now: int) -> None:
        """Deliver what is due at a level, and come back when the next message is."""
        if not self._started:
            return
        offset = self.offset_table.get(level, 0)
        queue = self._queue(level)
        entries = None if queue is None else queue.get_index_buffer(offset)
        if queue is None or entries is None:
            if queue is not None and offset < queue.min_offset_in_queue:
                self.offset_table[level] = queue.min_offset_in_queue
            self._asleep[level] = now + DELAY_FOR_A_WHILE_MS
            if self._has_entry(level):
                self._wake(level)
            return
        for position, (commit_log_offset, size, due) in enumerate(ENTRY.iter_unpack(entries)):
            next_offset = offset + position
            countdown = self._deliver_timestamp(queue, level, due, commit_log_offset, size, now) - now
            if countdown > 0:
                self.offset_table[level] = next_offset
                self._schedule(level, now + countdown)
                return
            if not self._deliver(commit_log_offset, size, now):
                self.offset_table[level] = next_offset
                self._schedule(level, now + DELAY_FOR_A_PERIOD_MS)
                return
        self.offset_table[level] = offset + len(entries) // ENTRY.size
        self._asleep[level] = now + DELAY_FOR_A_WHILE_MS
        if self._has_entry(level):
            self._wake(level)

    def _deliver_timestamp(
        self, queue: ConsumeQueue, level: int, tags_code: int, commit_log_offset: int, size: int, now: int
    ) -> int:
        """When a message is due: its tags code is that time, but never more than the level's delay from now.

        An entry of the extension is looked up; when it is lost, the time is computed from the record's store time.
        """
        if is_ext_addr(tags_code):
            unit = queue.get_ext(tags_code)
            if unit is not None:
                tags_code = unit.tags_code
            else:
                store_time = self._store.commit_log.pickup_store_timestamp(commit_log_offset, size)
                tags_code = self._levels.compute_deliver_timestamp(level, store_time)
        return now if tags_code > now + self._levels.table[level] else tags_code

    def _deliver(self, commit_log_offset: int, size: int, now: int) -> bool:
        """Store a due message under its real topic; False when the store refuses it. A lost record is passed over."""
        message = self._store.look_message_by_offset(commit_log_offset, size)
        if message is None:
            return True
        inner = message_time_up(message, self._store.rules.wire)
        if inner is None or inner.topic == TRANS_HALF_TOPIC:
            return True
        return self._store.put_message(inner, now).status is PutMessageStatus.PUT_OK


def message_time_up(message: MessageExt, wire: Wire = DEFAULT_WIRE) -> MessageExtBrokerInner | None:
    """A delayed message as it goes to its real topic, None when it does not know its topic and queue.

    Its property text still names the delay level, as in 4.8.0, which writes the text before it clears the property;
    only the property decides whether the store delays a message.
    """
    topic = message.properties.get(PROPERTY_REAL_TOPIC)
    queue_id = message.properties.get(PROPERTY_REAL_QUEUE_ID, "")
    if topic is None or not queue_id.lstrip("+-").isdecimal():
        return None
    inner = MessageExtBrokerInner.again(message, topic, int(queue_id), wire.property_capacity)
    inner.properties.pop(PROPERTY_DELAY_TIME_LEVEL, None)
    # WAIT is set to false after the text was written, too.
    inner.wait_store_msg_ok = False
    return inner
