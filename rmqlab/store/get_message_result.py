"""What a queue answered (4.8.0 `GetMessageResult`, `GetMessageStatus`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

SIZE_PER_COUNT = 64 * 1024


class GetMessageStatus(Enum):
    """Why there are messages, or none (4.8.0 `GetMessageStatus`)."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"


@dataclass(slots=True)
class GetMessageResult:
    """Messages of a queue as records (commit log bytes), and where to go on.

    Offsets count messages; `buffer_total_size` is in bytes; `msg_count_4_commercial` counts each message once for
    every begun 64 KiB.
    """

    status: GetMessageStatus = GetMessageStatus.NO_MESSAGE_IN_QUEUE
    next_begin_offset: int = 0
    min_offset: int = 0
    max_offset: int = 0
    messages: list[bytes] = field(default_factory=list)
    buffer_total_size: int = 0
    suggest_pulling_from_slave: bool = False
    msg_count_4_commercial: int = 0

    @property
    def message_count(self) -> int:
        """Number of records."""
        return len(self.messages)

    def add_message(self, record: bytes) -> None:
        """Take one more record."""
        size = len(record)
        self.messages.append(record)
        self.buffer_total_size += size
        self.msg_count_4_commercial += -(-size // SIZE_PER_COUNT)
