"""ProcessQueue: what a consumer holds of one queue, between the pull and the commit (same name)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from rmqlab.client.lock import Lock
from rmqlab.message.message import MessageExt
from rmqlab.message.topics import MessageQueue

if TYPE_CHECKING:
    from collections.abc import Iterable


REBALANCE_LOCK_MAX_LIVE_TIME = 30_000
REBALANCE_LOCK_INTERVAL = 20_000
PULL_MAX_IDLE_TIME = 120_000


class MessageRequest(Protocol):
    """What waits for a client's pull thread: the next pull of a queue, or the next pop."""

    consumer_group: str


@dataclass(slots=True, eq=False)
class PullRequest:
    """The next pull of one queue: it goes round and round until its process queue is dropped."""

    consumer_group: str
    message_queue: MessageQueue
    process_queue: ProcessQueue
    next_offset: int
    locked_first: bool = False


@dataclass(slots=True, eq=False)
class ProcessQueue:
    """Messages of one queue that wait for their consumption, by queue offset. Times are epoch ms, sizes bytes.

    `messages` holds those that wait, by ascending offset, `consuming_orderly` those taken for orderly consumption and
    not yet committed.
    """

    last_pull_timestamp: int
    lock_consume: Lock
    messages: dict[int, MessageExt] = field(default_factory=dict)
    consuming_orderly: dict[int, MessageExt] = field(default_factory=dict)
    msg_count: int = 0
    msg_size: int = 0
    queue_offset_max: int = 0
    dropped: bool = False
    locked: bool = False
    consuming: bool = False
    try_unlock_times: int = 0
    last_consume_timestamp: int = field(init=False)
    last_lock_timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.last_consume_timestamp = self.last_lock_timestamp = self.last_pull_timestamp

    @property
    def msg_size_mib(self) -> int:
        """Whole MiB of bodies, of which a consumer's flow control knows."""
        return self.msg_size >> 20

    def is_lock_expired(self, now: int) -> bool:
        """More than 30 s since the broker confirmed the lock."""
        return now - self.last_lock_timestamp > REBALANCE_LOCK_MAX_LIVE_TIME

    def is_pull_expired(self, now: int) -> bool:
        """More than 120 s since the last pull was made: rebalance takes the queue for stuck."""
        return now - self.last_pull_timestamp > PULL_MAX_IDLE_TIME

    def put_message(self, messages: list[MessageExt]) -> bool:
        """Add pulled messages; True when no listener consumes the queue (orderly) and a request should be submitted."""
        added = 0
        for message in messages:
            if self._put(message) is None:
                added += 1
                self.queue_offset_max = message.queue_offset
                self.msg_size += len(message.body or b"")
        self.msg_count += added
        dispatch = bool(self.messages) and not self.consuming
        self.consuming = self.consuming or dispatch
        return dispatch

    def max_span(self) -> int:
        """Distance between the lowest and the highest offset that wait."""
        return next(reversed(self.messages)) - next(iter(self.messages)) if self.messages else 0

    def remove_message(self, messages: Iterable[MessageExt], now: int) -> int:
        """Take consumed messages out; the offset that may be committed now, -1 when nothing was held."""
        self.last_consume_timestamp = now
        if not self.messages:
            return -1
        for message in messages:
            if self.messages.pop(message.queue_offset, None) is not None:
                self.msg_count -= 1
                self.msg_size -= len(message.body or b"")
        return next(iter(self.messages)) if self.messages else self.queue_offset_max + 1

    def take_messages(self, batch_size: int, now: int) -> list[MessageExt]:
        """Take up to `batch_size` of the lowest offsets for orderly consumption."""
        self.last_consume_timestamp = now
        offsets = list(self.messages)[:batch_size]
        taken = [self.messages.pop(offset) for offset in offsets]
        self.consuming_orderly.update(zip(offsets, taken, strict=True))
        if not taken:
            self.consuming = False
        return taken

    def commit(self) -> int:
        """Forget the messages taken; the offset after the highest of them, -1 when there was none."""
        # Java asks an empty TreeMap for its last key here and throws; an orderly listener never gets that far
        if not self.consuming_orderly:
            return -1
        self.msg_count -= len(self.consuming_orderly)
        self.msg_size -= sum(len(message.body or b"") for message in self.consuming_orderly.values())
        offset = max(self.consuming_orderly)
        self.consuming_orderly.clear()
        return offset + 1

    def make_message_to_consume_again(self, messages: list[MessageExt]) -> None:
        """Put messages that were taken back, to be taken again."""
        for message in messages:
            self.consuming_orderly.pop(message.queue_offset, None)
            self._put(message)

    def clear(self) -> None:
        """Forget everything held."""
        self.messages.clear()
        self.consuming_orderly.clear()
        self.msg_count = self.msg_size = self.queue_offset_max = 0

    def _put(self, message: MessageExt) -> MessageExt | None:
        messages = self.messages
        old = messages.get(message.queue_offset)
        in_order = old is not None or not messages or next(reversed(messages)) < message.queue_offset
        messages[message.queue_offset] = message
        if not in_order:
            self.messages = dict(sorted(messages.items()))
        return old
