"""Asks producers about half messages that were not ended.

Source: `TransactionalMessageCheckService`, `TransactionalMessageServiceImpl.check`, its check listener.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.message.java import in_hash_map_order, parse_int, parse_long
from rmqlab.message.message import MessageExt
from rmqlab.message.properties import (
    PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
    properties_to_string,
)
from rmqlab.message.record import decode_record, encode_record
from rmqlab.message.topics import CID_RMQ_SYS_PREFIX, TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import CheckTransactionStateRequestHeader
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE
from rmqlab.store.dispatch_request import PutMessageStatus
from rmqlab.store.queue_reader import GetMessageStatus
from rmqlab_tools.live.extra.transactions import REMOVE_TAG, renewed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab_tools.live.extra.broker_stats_manager import BrokerStatsManager

CHECK_GROUP = f"{CID_RMQ_SYS_PREFIX}TRANS"
OP_BATCH = 32
_HOUR_MS = 3_600_000
_NO_NEW = {GetMessageStatus.NO_MESSAGE_IN_QUEUE, GetMessageStatus.OFFSET_OVERFLOW_ONE}


class _Pulled(NamedTuple):
    """Messages read (None: there were none), where to go on, and whether the queue simply ends there."""

    messages: list[MessageExt] | None
    next_begin_offset: int
    no_new: bool


class TransactionalMessageCheckService:
    """Runs every `transactionCheckInterval`.

    A half message old enough, and without a note in the op topic, is stored anew at the end of the half topic and a
    producer of its group is asked. After `transactionCheckMax` times it goes to `TRANS_CHECK_MAX_TIME_TOPIC`.
    """

    def __init__(self, broker: Broker, stats: BrokerStatsManager) -> None:
        self._broker = broker
        self._stats = stats

    def check(self, now: int) -> None:
        """Look after every queue of the half topic; the timer calls it."""
        for queue_id in range(self._broker.topic_config_manager.create_half_topic().read_queue_nums):
            _QueueCheck(self._broker, self._stats, queue_id, now).run()


class _QueueCheck:
    """One pass over the half messages of one queue.

    `_removed` maps the half offset an op note names to the note's own offset; `_done` are notes not needed any more.
    """

    def __init__(self, broker: Broker, stats: BrokerStatsManager, queue_id: int, now: int) -> None:
        self._broker = broker
        self._stats = stats
        self._config = broker.config
        self._store = broker.message_store
        self._capacity = broker.rules.wire.property_capacity
        self._queue_id = queue_id
        self._now = now
        self._removed: dict[int, int] = {}
        self._done: list[int] = []

    def run(self) -> None:
        half_offset = self._consume_offset(TRANS_HALF_TOPIC)
        op_offset = self._consume_offset(TRANS_OP_HALF_TOPIC)
        if half_offset < 0 or op_offset < 0:
            return
        notes = self._fill_removed(op_offset, half_offset)
        if notes is None:
            return
        new_offset = self._pass_over(half_offset, notes)
        if new_offset != half_offset:
            self._commit(TRANS_HALF_TOPIC, new_offset)
        new_op_offset = op_offset
        for done in sorted(self._done):
            if done != new_op_offset:
                break
            new_op_offset += 1
        if new_op_offset != op_offset:
            self._commit(TRANS_OP_HALF_TOPIC, new_op_offset)

    def _pass_over(self, half_offset: int, notes: _Pulled) -> int:
        """Go from half message to half message and return the offset of the first that has to be seen again."""
        offset, misses = half_offset, 0
        while True:
            if offset in self._removed:
                self._done.append(self._removed.pop(offset))
                offset += 1
                continue
            half = self._pull(TRANS_HALF_TOPIC, offset, 1)
            if half is None:
                return offset
            if half.messages is None:
                misses += 1
                if misses > 1 or half.no_new:
                    return offset
                offset = half.next_begin_offset
                continue
            message = half.messages[0]
            if self._is_given_up(message):
                self._discard(message)
                offset += 1
                continue
            if message.store_timestamp >= self._now:
                return offset
            age = self._now - message.born_timestamp
            immunity = self._config.transaction_time_out
            text = message.properties.get(PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS)
            if text is not None:
                seconds = _number(text, parse_long)
                immunity = immunity if seconds == -1 else seconds * 1000
                if age < immunity and self._is_waiting(message):
                    offset += 1
                    continue
            elif 0 <= age < immunity:
                return offset
            if self._is_to_be_asked(notes, age, immunity):
                if not self._put_back(message):
                    return offset  # Java tries again for a minute
                self._ask_producer(message)
                offset += 1
                continue
            more = self._fill_removed(notes.next_begin_offset, half_offset)
            if more is None or (more.messages is None and notes.messages is None):
                return offset  # Java looks again until the message's time is over, here the next run does
            notes = more

    def _is_to_be_asked(self, notes: _Pulled, age: int, immunity: int) -> bool:
        if notes.messages is None:
            return age > immunity or age <= -1
        youngest = notes.messages[-1].born_timestamp
        return youngest - self._now > self._config.transaction_time_out or age <= -1

    def _is_given_up(self, message: MessageExt) -> bool:
        """Whether a message was asked about too often, or is older than files are kept; count this time."""
        times = 1
        text = message.properties.get(PROPERTY_TRANSACTION_CHECK_TIMES)
        if text is not None:
            times = _number(text, parse_int) + 1
            if times > self._config.transaction_check_max:
                return True
        message.properties[PROPERTY_TRANSACTION_CHECK_TIMES] = str(times)
        message.properties = in_hash_map_order(message.properties, self._capacity)
        reserved = self._store.config.file_reserved_time * _HOUR_MS
        return self._now - message.born_timestamp > reserved

    def _is_waiting(self, message: MessageExt) -> bool:
        """Put a message that has time of its own back to the queue's end; True when the pass may go on."""
        text = message.properties.get(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET)
        if text is not None:
            first_offset = _number(text, parse_long)
            if first_offset == -1:
                return False
            if first_offset in self._removed:
                self._done.append(self._removed.pop(first_offset))
                return True
        inner = renewed(message, self._capacity)
        inner.properties.setdefault(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET, str(message.queue_offset))
        inner.properties = in_hash_map_order(inner.properties, self._capacity)
        inner.properties_string = properties_to_string(inner.properties)
        return self._store.put_message(inner, self._now).status is PutMessageStatus.PUT_OK

    def _put_back(self, message: MessageExt) -> bool:
        """Store a message anew, so that the queue's offset can move on; the message is now that copy."""
        inner = renewed(message, self._capacity)
        result = self._store.put_message(inner, self._now)
        if result.status is not PutMessageStatus.PUT_OK:
            return False
        message.queue_offset, message.commit_log_offset = result.logics_offset, result.wrote_offset
        message.msg_id = result.msg_id
        message.properties = inner.properties
        return True

    def _ask_producer(self, message: MessageExt) -> None:
        """Send CHECK_TRANSACTION_STATE (39) to a producer of the group; nothing happens when none is online."""
        properties = message.properties
        header = CheckTransactionStateRequestHeader(
            tran_state_table_offset=message.queue_offset,
            commit_log_offset=message.commit_log_offset,
            msg_id=message.unique_id,
            transaction_id=message.unique_id,
            offset_msg_id=message.msg_id,
        )
        topic, queue_id = properties.get(PROPERTY_REAL_TOPIC), properties.get(PROPERTY_REAL_QUEUE_ID, "")
        channel = self._broker.producer_manager.get_available_channel(properties.get(PROPERTY_PRODUCER_GROUP))
        if topic is None or not queue_id.lstrip("-").isdecimal() or channel is None:
            return
        message.topic, message.queue_id, message.store_size = topic, int(queue_id), 0
        request = RemotingCommand.request(RequestCode.CHECK_TRANSACTION_STATE, header, encode_record(message))
        self._broker.broker2client.send_oneway(channel, request)

    def _discard(self, message: MessageExt) -> None:
        """Move a message to TRANS_CHECK_MAX_TIME_TOPIC, where people find it."""
        config = self._broker.topic_config_manager.create_topic_in_send_message_back_method(
            TRANS_CHECK_MAX_TIME_TOPIC, 1, PERM_READ | PERM_WRITE, 0
        )
        inner = renewed(message, self._capacity)
        inner.topic, inner.queue_id, inner.reconsume_times = config.topic_name, 0, message.reconsume_times
        self._store.put_message(inner, self._now)

    def _fill_removed(self, op_offset: int, half_offset: int) -> _Pulled | None:
        """Read notes of the op topic: those of half messages before `half_offset` are done with."""
        pulled = self._pull(TRANS_OP_HALF_TOPIC, op_offset, OP_BATCH)
        if pulled is None or pulled.messages is None:
            if pulled is not None and not pulled.no_new:
                self._commit(TRANS_OP_HALF_TOPIC, pulled.next_begin_offset)
            return pulled
        for note in pulled.messages:
            if note.tags != REMOVE_TAG:
                continue
            noted = _number((note.body or b"").decode("utf-8", "replace"), parse_long)
            if noted < half_offset:
                self._done.append(note.queue_offset)
            else:
                self._removed[noted] = note.queue_offset
        return pulled

    def _pull(self, topic: str, offset: int, count: int) -> _Pulled | None:
        """Read messages; None when the store must not be read."""
        result = self._store.get_message(CHECK_GROUP, topic, self._queue_id, offset, count, None)
        if result is None:
            return None
        messages = None
        if result.status is GetMessageStatus.FOUND:
            size = sum(map(len, result.messages))
            self._stats.get(CHECK_GROUP, topic, None, len(result.messages), size, self._now)
            decoded = (decode_record(record, decompress_body=False) for record in result.messages)
            messages = [message for message in decoded if message is not None] or None
        return _Pulled(messages, result.next_begin_offset, result.status in _NO_NEW)

    def _consume_offset(self, topic: str) -> int:
        offset = self._broker.consumer_offset_manager.query_offset(CHECK_GROUP, topic, self._queue_id)
        if offset == -1:
            offset = self._store.get_min_offset_in_queue(topic, self._queue_id)
        return offset

    def _commit(self, topic: str, offset: int) -> None:
        host = self._config.store_host.text
        self._broker.consumer_offset_manager.commit_offset(host, CHECK_GROUP, topic, self._queue_id, offset)


def _number(text: str, parse: Callable[[str], int]) -> int:
    """The number of a text, -1 when it is none."""
    try:
        return parse(text)
    except ValueError:
        return -1
