"""What became of a put (4.8.0 `PutMessageResult`, `AppendMessageResult` and their status enums)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class AppendMessageStatus(Enum):
    """What the commit log says (4.8.0 `AppendMessageStatus`)."""

    PUT_OK = "PUT_OK"
    END_OF_FILE = "END_OF_FILE"
    MESSAGE_SIZE_EXCEEDED = "MESSAGE_SIZE_EXCEEDED"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


class PutMessageStatus(Enum):
    """What the store says (4.8.0 `PutMessageStatus`)."""

    PUT_OK = "PUT_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPEDFILE_FAILED = "CREATE_MAPEDFILE_FAILED"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    OS_PAGECACHE_BUSY = "OS_PAGECACHE_BUSY"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


@dataclass(slots=True)
class AppendMessageResult:
    """Where a record (or a batch of `msg_num` records) went.

    `wrote_offset` is its commit log offset, `wrote_bytes` its size, `logics_offset` its queue offset, `msg_id` its
    offsetMsgId (for a batch: all of them, separated by commas), `store_timestamp` epoch ms.
    """

    status: AppendMessageStatus
    wrote_offset: int = 0
    wrote_bytes: int = 0
    msg_id: str = ""
    store_timestamp: int = 0
    logics_offset: int = 0
    msg_num: int = 1

    @property
    def is_ok(self) -> bool:
        """Whether the bytes are in the log."""
        return self.status is AppendMessageStatus.PUT_OK


@dataclass(slots=True)
class PutMessageResult:
    """The store's status, and the commit log's when the message got that far."""

    status: PutMessageStatus
    append_result: AppendMessageResult | None = None

    @property
    def is_ok(self) -> bool:
        """Whether the message is in the log, whatever the disk or the slave said."""
        return self.append_result is not None and self.append_result.is_ok
