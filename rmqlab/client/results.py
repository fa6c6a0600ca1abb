"""What a send and a pull brought (`SendResult`, `SendStatus`, `PullResultExt`, `PullStatus`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from rmqlab.message.message import MessageExt
from rmqlab.message.topics import MessageQueue

DEFAULT_REGION = "DefaultRegion"


class SendStatus(Enum):
    """How a send went; all but SEND_OK mean that the message is stored, but not as safely as asked."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


@dataclass(slots=True)
class SendResult:
    """`msg_id` is the UNIQ_KEY the client made, `offset_msg_id` the broker's id (of a batch several, with commas)."""

    send_status: SendStatus
    msg_id: str | None
    offset_msg_id: str | None
    message_queue: MessageQueue
    queue_offset: int
    transaction_id: str | None = None
    region_id: str = DEFAULT_REGION
    trace_on: bool = True


class PullStatus(Enum):
    """How a pull went, as the client sees it."""

    FOUND = "FOUND"
    NO_NEW_MSG = "NO_NEW_MSG"
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


@dataclass(slots=True, eq=False)
class PullResult:
    """Offsets are queue offsets; `message_binary` is the answer's body until `msg_found_list` is made of it."""

    pull_status: PullStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    suggest_which_broker_id: int
    message_binary: bytes | None
    msg_found_list: list[MessageExt] = field(default_factory=list)
