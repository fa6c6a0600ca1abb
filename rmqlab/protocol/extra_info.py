"""Receipt handles of POP, and the texts in an answer to a pop that clients make them from (`ExtraInfoUtil`).

The broker answers a pop with `start_offset_info` and `msg_offset_info`: for each queue that gave messages one item,
`mark queue offset` and `mark queue offset,offset,...`, joined by `;`. The client gives each message its handle
(property POP_CK) and sends it back with the ack. A message of the retry topic has its handle already when it comes.

>>> handle = ReceiptHandle(0, 1795693030143, 60_000, 1, NORMAL, "broker-a", 3, 1)
>>> handle.encode()
'0 1795693030143 60000 1 0 broker-a 3 1'
>>> ReceiptHandle.parse(handle.encode()) == handle
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

from rmqlab.errors import BadInput
from rmqlab.message.java import NumberFormatError, parse_int, parse_long
from rmqlab.message.properties import KEY_SEPARATOR
from rmqlab.message.topics import is_retry_topic

if TYPE_CHECKING:
    from collections.abc import Iterable

NORMAL: Final = "0"
RETRY: Final = "1"
RETRY_V2: Final = "2"
"""The mark of a topic: an ordinary one, POP's retry topic, that of version 2 (with a + in its name)."""
ORDER_REVIVE_QUEUE: Final = 999
"""The revive queue in the handle of an orderly pop (`KeyBuilder.POP_ORDER_REVIVE_QUEUE`)."""
_LEAST, _MOST = 7, 8


class ReceiptHandleError(BadInput, ValueError):
    """A text that is no receipt handle."""


class ReceiptHandle(NamedTuple):
    """What a message was popped with; a handle without a `queue_offset` is one of a whole check point.

    `start_offset` is where the check point begins, `pop_time` when it was popped (epoch ms), `invisible_time` for how
    long (ms), `revive_qid` the queue of the revive log that has the check point, `retry` the topic's mark.
    """

    start_offset: int
    pop_time: int
    invisible_time: int
    revive_qid: int
    retry: str
    broker_name: str
    queue_id: int
    queue_offset: int | None = None

    def encode(self) -> str:
        """The handle as a text: its fields, a space between two."""
        return KEY_SEPARATOR.join(str(field) for field in self if field is not None)

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """Read a handle.

        Raises:
            ReceiptHandleError: it has other fields; Java throws the one or other exception.
        """
        parts = [] if text is None else text.split(KEY_SEPARATOR)
        if not _LEAST <= len(parts) <= _MOST:
            raise ReceiptHandleError(f"receipt handle {text!r}: right would be 0 1795693030143 60000 1 0 broker-a 3 1")
        try:
            return cls(
                parse_long(parts[0]),
                parse_long(parts[1]),
                parse_long(parts[2]),
                parse_int(parts[3]),
                parts[4],
                parts[5],
                parse_int(parts[6]),
                parse_long(parts[7]) if len(parts) == _MOST else None,
            )
        except NumberFormatError as error:
            raise ReceiptHandleError(f"receipt handle {text!r}: {error}") from error

    @property
    def visible_at(self) -> int:
        """When the message may come again (epoch ms)."""
        return self.pop_time + self.invisible_time


def mark_of(topic: str) -> str:
    """The mark of a topic in handles and answers.

    >>> mark_of("T"), mark_of("%RETRY%G_T"), mark_of("%RETRY%G+T")
    ('0', '1', '2')
    """
    if not is_retry_topic(topic):
        return NORMAL
    return RETRY_V2 if "+" in topic else RETRY


def build_start_offset_info(starts: Iterable[tuple[str, int, int]]) -> str:
    """Mark, queue and first offset of each check point of a pop as text.

    >>> build_start_offset_info([("0", 3, 0), ("1", 0, 7)])
    '0 3 0;1 0 7'
    """
    return ";".join(f"{mark} {queue} {offset}" for mark, queue, offset in starts)


def build_msg_offset_info(popped: Iterable[tuple[str, int, Iterable[int]]]) -> str:
    """Mark, queue and offsets of the messages of each check point of a pop as text.

    >>> build_msg_offset_info([("0", 3, [1, 2]), ("1", 0, [7])])
    '0 3 1,2;1 0 7'
    """
    return ";".join(f"{mark} {queue} {','.join(map(str, offsets))}" for mark, queue, offsets in popped)


def parse_start_offset_info(text: str | None) -> dict[tuple[str, int], int]:
    """The first offset of the check point of each (mark, queue); {} for no text.

    Raises:
        ReceiptHandleError: an item has not three parts, or a queue stands there twice.
    """
    return {key: _number(offset, text) for key, offset in _items(text)}


def parse_msg_offset_info(text: str | None) -> dict[tuple[str, int], list[int]]:
    """The offsets of the messages that each (mark, queue) gave; {} for no text.

    Raises:
        ReceiptHandleError: an item has not three parts, or a queue stands there twice.
    """
    return {key: [_number(offset, text) for offset in offsets.split(",")] for key, offsets in _items(text)}


def _items(text: str | None) -> list[tuple[tuple[str, int], str]]:
    items: dict[tuple[str, int], str] = {}
    for item in text.split(";") if text else ():
        parts = item.split(KEY_SEPARATOR)
        if len(parts) != 3:
            raise ReceiptHandleError(f"offsets {text!r}: right would be 0 3 1,2;1 0 7")
        key = parts[0], _number(parts[1], text)
        if key in items:
            raise ReceiptHandleError(f"offsets {text!r}: queue {parts[1]} stands there twice")
        items[key] = parts[2]
    return list(items.items())


def _number(part: str, text: str | None) -> int:
    try:
        return parse_long(part)
    except NumberFormatError as error:
        raise ReceiptHandleError(f"offsets {text!r}: {error}") from error
