"""What a pull brought (4.8.0 `PullResult`, `PullResultExt`, `PullStatus`)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.message.message import MessageExt


class PullStatus(Enum):
    """How a pull went, as the client sees it."""

    FOUND = "FOUND"
    NO_NEW_MSG = "NO_NEW_MSG"
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


class PullResult:
    """Offsets are queue offsets; `message_binary` is the answer's body until `msg_found_list` is made of it."""

    __slots__ = (
        "max_offset", "message_binary", "min_offset", "msg_found_list", "next_begin_offset", "pull_status",
        "suggest_which_broker_id",
    )  # fmt: skip

    def __init__(
        self,
        pull_status: PullStatus,
        next_begin_offset: int,
        min_offset: int,
        max_offset: int,
        suggest_which_broker_id: int,
        message_binary: bytes | None,
    ) -> None:
        """A result whose messages are not decoded yet."""
        self.pull_status = pull_status
        self.next_begin_offset = next_begin_offset
        self.min_offset = min_offset
        self.max_offset = max_offset
        self.suggest_which_broker_id = suggest_which_broker_id
        self.message_binary = message_binary
        self.msg_found_list: list[MessageExt] = []

    def __str__(self) -> str:
        return (
            f"PullResult [pullStatus={self.pull_status.value}, nextBeginOffset={self.next_begin_offset}, "
            f"minOffset={self.min_offset}, maxOffset={self.max_offset}, msgFoundList={len(self.msg_found_list)}]"
        )
