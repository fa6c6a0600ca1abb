"""Check points and acks: bodies of the messages in the revive log (`PopCheckPoint`, `AckMsg`).

A check point says what a pop took from a queue; the acks of its messages follow it in the same queue of the revive log.
Both lie in the timer until the messages may come again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rmqlab.message.java import Long
from rmqlab.message.message import Message, MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_TAGS,
    PROPERTY_TIMER_DELIVER_MS,
    PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from rmqlab.message.topics import CID_RMQ_SYS_PREFIX, SYSTEM_TOPIC_PREFIX
from rmqlab.protocol.header import NULL
from rmqlab.protocol.serializable import RemotingSerializable

if TYPE_CHECKING:
    from rmqlab.message.message import Host

REVIVE_GROUP = f"{CID_RMQ_SYS_PREFIX}REVIVE_GROUP"
CK_TAG, ACK_TAG = "ck", "ack"
ACK_TIME_INTERVAL_MS = 1_000
"""How long before its messages become visible a check point leaves the timer, so that acks come after it."""
_SPLIT = "@"

MergeKey = tuple[str, str, int, int, int, str]


def revive_topic(cluster: str) -> str:
    """The topic of the revive log (`PopAckConstants.buildClusterReviveTopic`)."""
    return f"{SYSTEM_TOPIC_PREFIX}REVIVE_LOG_{cluster}"


class PopCheckPoint(RemotingSerializable):
    """What a pop took from a queue: `num` messages, at `start_offset` plus each of `queue_offset_diff`.

    `bit_map` has bit i for an acked message i. `pop_time` and `revive_time` are epoch ms, `invisible_time` ms;
    `revive_offset` is its own offset in the revive log, known when it is read there. `suspend` is of 5.5.0.
    """

    bit_map: int = msgspec.field(default=0, name="bm")
    broker_name: str = msgspec.field(default=NULL, name="bn")
    cid: str = msgspec.field(default=NULL, name="c")
    queue_offset_diff: list[int] = msgspec.field(default_factory=list, name="d")
    invisible_time: Long = msgspec.field(default=0, name="it")
    num: int = msgspec.field(default=0, name="n")
    pop_time: Long = msgspec.field(default=0, name="pt")
    queue_id: int = msgspec.field(default=0, name="q")
    revive_time: Long = 0
    revive_offset: Long = msgspec.field(default=0, name="ro")
    start_offset: Long = msgspec.field(default=0, name="so")
    suspend: bool | None = msgspec.field(default=None, name="sp")
    topic: str = msgspec.field(default=NULL, name="t")

    @property
    def key(self) -> MergeKey:
        """What it has in common with its acks."""
        return self.topic, self.cid, self.queue_id, self.start_offset, self.pop_time, self.broker_name

    def index_of_ack(self, ack_offset: int) -> int:
        """Which of its messages has an offset, -1: none.

        >>> PopCheckPoint(start_offset=5, queue_offset_diff=[0, 3], num=2).index_of_ack(8)
        1
        """
        diff = ack_offset - self.start_offset
        return self.queue_offset_diff.index(diff) if diff in self.queue_offset_diff else -1

    def ack(self, ack_offset: int) -> None:
        """Note that a message was acked; one that is none of its own changes nothing."""
        index = self.index_of_ack(ack_offset)
        if index >= 0:
            self.bit_map |= 1 << index

    def unacked(self) -> list[int]:
        """The queue offsets of its messages that were not acked."""
        return [
            self.start_offset + diff
            for index, diff in enumerate(self.queue_offset_diff)
            if not self.bit_map >> index & 1
        ]

    def unique_key(self) -> str:
        """The UNIQ_KEY of its message (`PopMessageProcessor.genCkUniqueId`)."""
        parts = self.topic, self.queue_id, self.start_offset, self.cid, self.pop_time, self.broker_name, CK_TAG
        return _SPLIT.join(map(str, parts))


class AckMsg(RemotingSerializable):
    """An ack of the message at `ack_offset` of a check point."""

    ack_offset: Long = msgspec.field(default=0, name="ao")
    broker_name: str = msgspec.field(default=NULL, name="bn")
    consumer_group: str = msgspec.field(default=NULL, name="c")
    pop_time: Long = msgspec.field(default=0, name="pt")
    queue_id: int = msgspec.field(default=0, name="q")
    start_offset: Long = msgspec.field(default=0, name="so")
    topic: str = msgspec.field(default=NULL, name="t")

    @property
    def key(self) -> MergeKey:
        """What it has in common with its check point."""
        return self.topic, self.consumer_group, self.queue_id, self.start_offset, self.pop_time, self.broker_name

    def unique_key(self) -> str:
        """The UNIQ_KEY of its message (`PopMessageProcessor.genAckUniqueId`)."""
        parts = (
            self.topic, self.queue_id, self.ack_offset, self.consumer_group, self.pop_time, self.broker_name, ACK_TAG,
        )  # fmt: skip
        return _SPLIT.join(map(str, parts))


def revive_message(
    content: PopCheckPoint | AckMsg, topic: str, queue_id: int, deliver_ms: int, host: Host, now: int
) -> MessageExtBrokerInner:
    """A check point or an ack as a message for a queue of the revive log; it is due at `deliver_ms` (epoch ms)."""
    properties = {
        PROPERTY_TAGS: CK_TAG if isinstance(content, PopCheckPoint) else ACK_TAG,
        PROPERTY_TIMER_DELIVER_MS: str(deliver_ms),
        PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX: content.unique_key(),
    }
    message = Message(topic, content.encode(), properties=properties)
    return MessageExtBrokerInner.of_broker(message, queue_id, host, now)
