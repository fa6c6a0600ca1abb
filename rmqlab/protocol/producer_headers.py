"""Headers of what producers ask: sends, replies, transactions.

Source: `org.apache.rocketmq.common.protocol.header`; the numbers are request codes.
"""

from __future__ import annotations

import msgspec

from rmqlab.message.java import Long
from rmqlab.message.sysflag import TRANSACTION_COMMIT_TYPE, TRANSACTION_NOT_TYPE, TRANSACTION_ROLLBACK_TYPE
from rmqlab.protocol.header import NULL, CommandHeader, NullFieldError, RemotingCommandException


class _SentMessage(CommandHeader):
    """What a producer says of a message, and what a broker that hands a reply on repeats."""

    producer_group: str = NULL
    topic: str = NULL
    default_topic: str = NULL
    default_topic_queue_nums: int = NULL
    queue_id: int = NULL
    sys_flag: int = NULL
    born_timestamp: Long = NULL
    flag: int = NULL
    properties: str | None = None
    reconsume_times: int | None = None
    unit_mode: bool = False


class SendMessageRequestHeader(_SentMessage):
    """SEND_MESSAGE 10; `batch` is true for SEND_BATCH_MESSAGE 320 (which travels as V2)."""

    batch: bool = False
    max_reconsume_times: int | None = None


class SendMessageRequestHeaderV2(CommandHeader):
    """SEND_MESSAGE_V2 310 and SEND_BATCH_MESSAGE 320: the fields of V1 under one-letter names."""

    producer_group: str = msgspec.field(default=NULL, name="a")
    topic: str = msgspec.field(default=NULL, name="b")
    default_topic: str = msgspec.field(default=NULL, name="c")
    default_topic_queue_nums: int = msgspec.field(default=NULL, name="d")
    queue_id: int = msgspec.field(default=NULL, name="e")
    sys_flag: int = msgspec.field(default=NULL, name="f")
    born_timestamp: Long = msgspec.field(default=NULL, name="g")
    flag: int = msgspec.field(default=NULL, name="h")
    properties: str | None = msgspec.field(default=None, name="i")
    reconsume_times: int | None = msgspec.field(default=None, name="j")
    unit_mode: bool = msgspec.field(default=False, name="k")
    max_reconsume_times: int | None = msgspec.field(default=None, name="l")
    batch: bool = msgspec.field(default=False, name="m")

    @classmethod
    def of(cls, header: SendMessageRequestHeader) -> SendMessageRequestHeaderV2:
        """The same fields under their short names."""
        return cls(**{name: getattr(header, name) for name in cls.__struct_fields__})

    def v1(self) -> SendMessageRequestHeader:
        """The same fields under their full names."""
        return SendMessageRequestHeader(**{name: getattr(self, name) for name in self.__struct_fields__})


class ReplyMessageRequestHeader(_SentMessage):
    """PUSH_REPLY_MESSAGE_TO_CLIENT 326: the fields of a send, and when and where the broker got it."""

    born_host: str = NULL
    store_host: str = NULL
    store_timestamp: Long = NULL

    @classmethod
    def of(
        cls, header: SendMessageRequestHeader, properties: str, born_host: str, store_host: str, store_timestamp: int
    ) -> ReplyMessageRequestHeader:
        """What `header` says, with the properties as they are pushed, and when (epoch ms) and where it came."""
        fields = {name: getattr(header, name) for name in _SentMessage.__struct_fields__} | {"properties": properties}
        return cls(**fields, born_host=born_host, store_host=store_host, store_timestamp=store_timestamp)


class SendMessageResponseHeader(CommandHeader):
    """Answer to 10, 310, 320 and 36; `msg_id` is the offsetMsgId, of a batch several with commas."""

    msg_id: str = NULL
    queue_id: int = NULL
    queue_offset: Long = NULL
    transaction_id: str | None = None


class EndTransactionRequestHeader(CommandHeader):
    """END_TRANSACTION 37; `commit_or_rollback` is a transaction type of MessageSysFlag."""

    producer_group: str = NULL
    tran_state_table_offset: Long = NULL
    commit_log_offset: Long = NULL
    commit_or_rollback: int = NULL
    from_transaction_check: bool = False
    msg_id: str = NULL
    transaction_id: str | None = None

    def check_fields(self) -> None:
        """Refuse anything but not-a-transaction, commit and rollback."""
        if self.commit_or_rollback is None:
            # the words of OpenJDK 17
            raise NullFieldError('Cannot invoke "java.lang.Integer.intValue()" because "this.commitOrRollback" is null')
        if self.commit_or_rollback not in {TRANSACTION_NOT_TYPE, TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE}:
            raise RemotingCommandException("commitOrRollback field wrong")


class CheckTransactionStateRequestHeader(CommandHeader):
    """CHECK_TRANSACTION_STATE 39, from broker to producer."""

    tran_state_table_offset: Long = NULL
    commit_log_offset: Long = NULL
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None
