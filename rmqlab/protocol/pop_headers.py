"""Headers of POP: pop, ack, change of invisibility. Of 5.x only; a 4.8.0 broker does not answer them.

A client pops (200050) with its own expression, gets messages for `invisible_time` ms, and acks each (200051), or says
how long it is still to be invisible (200053), each with the message's receipt handle (`rmqlab.protocol.extra_info`).
Times are ms, moments epoch ms.

Source: `PopMessageRequestHeader`, `AckMessageRequestHeader`, `ChangeInvisibleTimeRequestHeader` and their answers.
"""

from __future__ import annotations

from enum import IntEnum, unique
from typing import Final

from rmqlab.message.java import Long
from rmqlab.protocol.header import NULL, CommandHeader

MAX_MSG_NUMS: Final = 32
"""More messages at once are refused (`PopMessageProcessor.processRequest`)."""
ANY_QUEUE: Final = -1
"""The queue id of a pop that takes from all queues of its topic."""


@unique
class PopResponseCode(IntEnum):
    """Answers to a pop; 4.8.0 has other meanings for these numbers (`ResponseCode`)."""

    POLLING_FULL = 209
    POLLING_TIMEOUT = 210


@unique
class ConsumeInitMode(IntEnum):
    """Where a group without an offset begins: at the first message, or at the last one (`ConsumeInitMode`)."""

    MIN = 0
    MAX = 1


class _Rpc(CommandHeader):
    """What 5.x clients add: the broker's name (`RpcRequestHeader`)."""

    bname: str | None = None


class PopMessageRequestHeader(_Rpc):
    """POP_MESSAGE 200050.

    `born_time` is when the client asked, and the poll lasts `poll_time` from then on; 0 or none: the broker's moment.
    `exp` is the popper's own expression, none or an empty one is everything.
    """

    consumer_group: str = NULL
    topic: str = NULL
    queue_id: int = NULL
    max_msg_nums: int = NULL
    invisible_time: Long = NULL
    poll_time: Long = NULL
    born_time: Long = 0
    init_mode: int = NULL
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None

    def is_timeout_too_much(self, now: int) -> bool:
        """Whether the poll had ended more than half a second before it was looked at (`isTimeoutTooMuch`)."""
        return now - self.born_time - self.poll_time > 500


class PopMessageResponseHeader(CommandHeader):
    """Answer to 200050.

    `start_offset_info` and `msg_offset_info` say of each queue where its check point begins and what was popped
    (`rmqlab.protocol.extra_info`); `rest_num` is how many more messages there were to look at. All numbers are 0
    when the pop was refused.
    """

    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: int = 0
    rest_num: Long = 0
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class OfMessage(_Rpc):
    """What is said of one message that was popped: `extra_info` is its receipt handle, `offset` its place."""

    consumer_group: str = NULL
    topic: str = NULL
    queue_id: int = NULL
    extra_info: str = NULL
    offset: Long = NULL


class AckMessageRequestHeader(OfMessage):
    """ACK_MESSAGE 200051: the message is done with."""


class ChangeInvisibleTimeRequestHeader(OfMessage):
    """CHANGE_MESSAGE_INVISIBLETIME 200053: the message becomes visible `invisible_time` ms from now.

    `suspend`, of 5.5.0: when it comes again, that does not count as another time.
    """

    invisible_time: Long = NULL
    suspend: bool | None = None


class ChangeInvisibleTimeResponseHeader(CommandHeader):
    """Answer to 200053: pop time, invisibility and revive queue of the message's new receipt handle."""

    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: int = 0
