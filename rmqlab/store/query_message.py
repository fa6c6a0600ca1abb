"""Messages by key (4.8.0 `DefaultMessageStore.queryMessage`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.store.message_store import MessageStore

_TIMES = 3


@dataclass(slots=True)
class QueryMessageResult:
    """Records found, in the order of the commit log; where the index ends (epoch ms, commit log offset)."""

    messages: list[bytes] = field(default_factory=list)
    buffer_total_size: int = 0
    index_last_update_timestamp: int = 0
    index_last_update_phyoffset: int = 0


def query_message(store: MessageStore, topic: str, key: str, max_num: int, begin: int, end: int) -> QueryMessageResult:
    """Find at most `max_num` (and `maxMsgsNumBatch`) messages stored from `begin` to `end` (epoch ms).

    Keys are compared by hash code only, so messages of other keys and topics can be among them, as in 4.8.0.
    """
    result = QueryMessageResult()
    last_query_time = end
    max_num = min(max_num, store.config.max_msgs_num_batch)
    for _ in range(_TIMES):
        found = store.index_service.query_offset(topic, key, max_num, begin, last_query_time)
        if not found.phy_offsets:
            break
        result.index_last_update_phyoffset = found.index_last_update_phyoffset
        result.index_last_update_timestamp = found.index_last_update_timestamp
        for number, offset in enumerate(sorted(found.phy_offsets)):
            record = store.select_one_message_by_offset(offset)
            if record is None or offset < store.min_phy_offset:
                continue
            if number == 0:
                last_query_time = store.pickup_store_timestamp(offset, len(record))
            result.messages.append(record)
            result.buffer_total_size += len(record)
        if result.buffer_total_size > 0 or last_query_time < begin:
            break
    return result
