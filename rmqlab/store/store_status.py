"""What a store says: what became of a put, what it is still able to do (`RunningFlags`), and its counters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum


class AppendMessageStatus(Enum):
    """What the commit log says (`AppendMessageStatus`)."""

    PUT_OK = "PUT_OK"
    END_OF_FILE = "END_OF_FILE"
    MESSAGE_SIZE_EXCEEDED = "MESSAGE_SIZE_EXCEEDED"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"


class PutMessageStatus(Enum):
    """What the store says (`PutMessageStatus`)."""

    PUT_OK = "PUT_OK"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPEDFILE_FAILED = "CREATE_MAPEDFILE_FAILED"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"


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


@dataclass(slots=True)
class RunningFlags:
    """What a store can still do: a full disk forbids new messages, not the consume queues of those already there."""

    is_readable: bool = True
    is_writeable: bool = True


class StoreStatsService:
    """How many messages came and went. The times Java keeps beside them are always 0: no time passes in a call."""

    __slots__ = (
        "disk_fall_behind_size",
        "get_message_times_total_found",
        "get_message_times_total_miss",
        "get_message_transfered_msg_count",
        "single_put_message_topic_size_total",
        "single_put_message_topic_times_total",
    )

    def __init__(self) -> None:
        self.single_put_message_topic_times_total: Counter[str] = Counter()
        self.single_put_message_topic_size_total: Counter[str] = Counter()
        self.get_message_times_total_found = 0
        self.get_message_times_total_miss = 0
        self.get_message_transfered_msg_count = 0
        # (group, topic, queue id) -> bytes of commit log behind the message last looked at
        self.disk_fall_behind_size: dict[tuple[str, str, int], int] = {}
