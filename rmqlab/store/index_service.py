"""Messages by key (`IndexService` with one `IndexFile`): a key is found by its hash code alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.message.java import INT_MAX, INT_MIN, split, string_hash
from rmqlab.message.properties import KEY_SEPARATOR
from rmqlab.message.sysflag import TRANSACTION_MASK, TRANSACTION_ROLLBACK_TYPE

if TYPE_CHECKING:
    from rmqlab.store.commit_log import CommitLog
    from rmqlab.store.dispatch_request import DispatchRequest

_TIMES = 3


@dataclass(slots=True)
class QueryOffsetResult:
    """Commit log offsets of the messages found, newest first; the end of the index (offset and epoch ms)."""

    phy_offsets: list[int] = field(default_factory=list)
    index_last_update_timestamp: int = 0
    index_last_update_phyoffset: int = 0


class Key(NamedTuple):
    """One key of one message: its hash, the message's commit log offset and store time (epoch ms)."""

    hashed: int
    phy_offset: int
    store_timestamp: int


class MessageIndex(ABC):
    """What a store asks of its index. Keys are hashed when they are needed first: most runs never ask."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str | None, str | None, int, int]] = []

    def build_index(self, request: DispatchRequest) -> None:
        """Enter a message under its unique key and each of its keys; a rollback is not entered."""
        if request.sys_flag & TRANSACTION_MASK != TRANSACTION_ROLLBACK_TYPE:
            offset, store_timestamp = request.commit_log_offset, request.store_timestamp
            self._waiting.append((request.topic, request.uniq_key, request.keys, offset, store_timestamp))

    def _take_waiting(self) -> list[Key]:
        """Return the keys of the messages that were entered since it was asked last."""
        found = [
            Key(key_hash(topic, key), offset, store_timestamp)
            for topic, uniq_key, keys, offset, store_timestamp in self._waiting
            for key in (uniq_key, *(filter(None, split(keys, KEY_SEPARATOR)) if keys else ()))
            if key is not None
        ]
        self._waiting.clear()
        return found

    @abstractmethod
    def query_offset(self, topic: str, key: str, max_num: int, begin: int, end: int) -> QueryOffsetResult:
        """Return at most `max_num` offsets of messages stored from `begin` to `end` (epoch ms)."""

    @abstractmethod
    def delete_expired_file(self, offset: int) -> None:
        """Forget what lies below a commit log offset."""


class IndexService(MessageIndex):
    """In memory: offsets and store times, in whole seconds since the first message, behind the hash of "topic#key"."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[int, list[tuple[int, int]]] = {}
        self.begin_timestamp = 0
        self.end_timestamp = 0
        self.end_phy_offset = 0

    @property
    def entries(self) -> dict[int, list[tuple[int, int]]]:
        """Key hash -> (commit log offset, seconds since the first message) of every message, in their order."""
        for hashed, offset, store_timestamp in self._take_waiting():
            if offset >= self.end_phy_offset:
                if not self._entries:
                    self.begin_timestamp = store_timestamp
                seconds = seconds_since(self.begin_timestamp, store_timestamp)
                self._entries.setdefault(hashed, []).append((offset, seconds))
                self.end_phy_offset, self.end_timestamp = offset, store_timestamp
        return self._entries

    def delete_expired_file(self, offset: int) -> None:
        """Forget what lies below a commit log offset: nothing, here. Messages that are gone are not found anyway."""

    def query_offset(self, topic: str, key: str, max_num: int, begin: int, end: int) -> QueryOffsetResult:
        """Return at most `max_num` offsets of messages stored from `begin` to `end` (epoch ms)."""
        entries = self.entries
        result = QueryOffsetResult([], self.end_timestamp, self.end_phy_offset)
        if not entries or not overlaps(self.begin_timestamp, self.end_timestamp, begin, end):
            return result
        for phy_offset, seconds in reversed(entries.get(key_hash(topic, key), [])):
            stored = self.begin_timestamp + seconds * 1000
            if len(result.phy_offsets) >= max_num:
                break
            if begin <= stored <= end:
                result.phy_offsets.append(phy_offset)
            if stored < begin:
                break
        return result


def seconds_since(begin_timestamp: int, store_timestamp: int) -> int:
    """Whole seconds between two times (epoch ms), as an entry keeps them; 0 if the first is not known."""
    seconds = (store_timestamp - begin_timestamp) // 1000 if begin_timestamp > 0 else 0
    return min(max(seconds, 0), INT_MAX)


def overlaps(first: int, last: int, begin: int, end: int) -> bool:
    """Tell whether messages stored from `first` to `last` may be asked for by `begin` and `end` (`isTimeMatched`)."""
    return (begin < first and end > last) or first <= begin <= last or first <= end <= last


def key_hash(topic: str, key: str) -> int:
    """Return what a key is known by: the hash code of "topic#key" without its sign."""
    hashed = string_hash(f"{topic}#{key}")
    return 0 if hashed == INT_MIN else abs(hashed)


@dataclass(slots=True)
class QueryMessageResult:
    """Records found, in the order of the commit log; where the index ends (epoch ms, commit log offset)."""

    messages: list[bytes] = field(default_factory=list)
    buffer_total_size: int = 0
    index_last_update_timestamp: int = 0
    index_last_update_phyoffset: int = 0


def query_message(
    index: MessageIndex, commit_log: CommitLog, topic: str, key: str, max_num: int, begin: int, end: int
) -> QueryMessageResult:
    """Find at most `max_num` (and `maxMsgsNumBatch`) messages stored from `begin` to `end` (epoch ms).

    Keys are compared by hash code only, so messages of other keys and topics can be among them
    (`DefaultMessageStore.queryMessage`).
    """
    result = QueryMessageResult()
    last_query_time = end
    max_num = min(max_num, commit_log.config.max_msgs_num_batch)
    for _ in range(_TIMES):
        found = index.query_offset(topic, key, max_num, begin, last_query_time)
        if not found.phy_offsets:
            break
        result.index_last_update_phyoffset = found.index_last_update_phyoffset
        result.index_last_update_timestamp = found.index_last_update_timestamp
        for number, offset in enumerate(sorted(found.phy_offsets)):
            record = commit_log.select_one_message_by_offset(offset)
            if record is None or offset < commit_log.min_offset:
                continue
            if number == 0:
                last_query_time = commit_log.pickup_store_timestamp(offset, len(record))
            result.messages.append(record)
            result.buffer_total_size += len(record)
        if result.buffer_total_size > 0 or last_query_time < begin:
            break
    return result
