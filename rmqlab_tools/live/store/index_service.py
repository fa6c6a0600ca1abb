"""Messages by key (`IndexService`): a key is found by its hash code alone. On disk see `index_file`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.message.java import INT_MAX, INT_MIN, hash_of_varied_end, split
from rmqlab.message.properties import KEY_SEPARATOR
from rmqlab.message.sysflag import TRANSACTION_MASK, TRANSACTION_ROLLBACK_TYPE
from rmqlab_tools.live.store.log_scan import LogScan

if TYPE_CHECKING:
    from rmqlab.store.commit_log import CommitLog
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.message_store import MessageStore

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


def keys_of(request: DispatchRequest) -> list[Key]:
    """What a message is found by: its unique key and each of its keys, nothing for a rollback."""
    if request.sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK_TYPE:
        return []
    texts = [] if request.uniq_key is None else [request.uniq_key]
    if request.keys:
        texts += filter(None, split(request.keys, KEY_SEPARATOR))
    topic, offset, stored = request.topic, request.commit_log_offset, request.store_timestamp
    return [Key(key_hash(topic, text), offset, stored) for text in texts]


def query_log(commit_log: CommitLog, topic: str, key: str, max_num: int, begin: int, end: int) -> QueryOffsetResult:
    """At most `max_num` offsets of messages stored from `begin` to `end` (epoch ms), of a store in memory.

    No index is kept there, since few ask: the log is read. Store times count in whole seconds since the first message,
    as an index file keeps them.
    """
    requests = LogScan(commit_log, check_crc=False).records() if commit_log.config.message_index_enable else ()
    keys = [key for request in requests for key in keys_of(request)]
    if not keys:
        return QueryOffsetResult()
    first, last = keys[0].store_timestamp, keys[-1]
    result = QueryOffsetResult([], last.store_timestamp, last.phy_offset)
    wanted = key_hash(topic, key)
    for indexed in reversed(keys) if overlaps(first, last.store_timestamp, begin, end) else ():
        stored = first + seconds_since(first, indexed.store_timestamp) * 1000
        if indexed.hashed == wanted and begin <= stored <= end and len(result.phy_offsets) < max_num:
            result.phy_offsets.append(indexed.phy_offset)
    return result


def seconds_since(begin_timestamp: int, store_timestamp: int) -> int:
    """Whole seconds between two times (epoch ms), as an entry keeps them; 0 if the first is not known."""
    seconds = (store_timestamp - begin_timestamp) // 1000 if begin_timestamp > 0 else 0
    return min(max(seconds, 0), INT_MAX)


def overlaps(first: int, last: int, begin: int, end: int) -> bool:
    """Whether messages stored from `first` to `last` may be asked for by `begin` and `end` (`isTimeMatched`)."""
    return (begin < first and end > last) or first <= begin <= last or first <= end <= last


def key_hash(topic: str, key: str) -> int:
    """What a key is known by: the hash code of "topic#key" without its sign."""
    hashed = hash_of_varied_end(f"{topic}#{key}")
    return 0 if hashed == INT_MIN else abs(hashed)


@dataclass(slots=True)
class QueryMessageResult:
    """Records found, in the order of the commit log; where the index ends (epoch ms, commit log offset)."""

    messages: list[bytes] = field(default_factory=list)
    index_last_update_timestamp: int = 0
    index_last_update_phyoffset: int = 0


def query_message(store: MessageStore, topic: str, key: str, max_num: int, begin: int, end: int) -> QueryMessageResult:
    """Find at most `max_num` (and `maxMsgsNumBatch`) messages by key or unique key, stored from `begin` to `end`.

    Times are epoch ms. Keys are compared by hash code only, so messages of other keys and topics can be among them
    (`DefaultMessageStore.queryMessage`).
    """
    commit_log, index = store.commit_log, store.index_service
    query_offset = partial(query_log, commit_log) if index is None else index.query_offset
    result = QueryMessageResult()
    last_query_time = end
    max_num = min(max_num, commit_log.config.max_msgs_num_batch)
    for _ in range(_TIMES):
        hits = query_offset(topic, key, max_num, begin, last_query_time)
        if not hits.phy_offsets:
            break
        result.index_last_update_phyoffset = hits.index_last_update_phyoffset
        result.index_last_update_timestamp = hits.index_last_update_timestamp
        for number, offset in enumerate(sorted(hits.phy_offsets)):
            record = commit_log.select_one_message_by_offset(offset)
            if record is None or offset < commit_log.min_offset:
                continue
            if number == 0:
                last_query_time = commit_log.pickup_store_timestamp(offset, len(record))
            result.messages.append(record)
        if result.messages or last_query_time < begin:
            break
    return result
