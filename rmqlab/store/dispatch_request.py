"""What a consume queue, an index and a waiting pull need to know of a stored message (4.8.0 `DispatchRequest`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class DispatchRequest:
    """One record of the commit log, read back.

    `msg_size` bytes; 0 with `success` is the end of a file, -1 without `success` bytes that are no record, another
    size without `success` a record whose parts do not add up. Times are epoch ms; `tags_code` is a hash code, or the
    time of delivery on the delay topic. `bit_map` is filled by the dispatcher that computes bitmaps.
    """

    topic: str = ""
    queue_id: int = 0
    commit_log_offset: int = 0
    msg_size: int = 0
    tags_code: int = 0
    store_timestamp: int = 0
    consume_queue_offset: int = 0
    keys: str | None = ""
    uniq_key: str | None = None
    sys_flag: int = 0
    prepared_transaction_offset: int = 0
    properties_map: dict[str, str] | None = None
    success: bool = True
    bit_map: bytes | None = None

    @classmethod
    def nothing(cls, msg_size: int, *, success: bool) -> DispatchRequest:
        """Return what stands for a record that is none."""
        return cls(msg_size=msg_size, success=success)
