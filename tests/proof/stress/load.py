"""A producer that keeps a broker busy and remembers what it was told: the load under which others break things."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab.protocol.producer_headers import (
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    SendMessageResponseHeader,
)
from rmqlab_tools.live.frames import FrameDecoder
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

if TYPE_CHECKING:
    from collections.abc import Callable

QUEUES: Final = 4
TOPIC: Final = "Stress"


class Stored(NamedTuple):
    """Where a broker says that it stored a message."""

    queue_id: int
    queue_offset: int
    msg_id: str


class Producer(asyncio.Protocol):
    """Keeps `window` sends under way on one connection; the seed decides what they are.

    `sent`: body of every message that left, by its number; `acknowledged`: where those are that were acknowledged;
    `took`: seconds from each send to its answer.
    """

    def __init__(self, name: str, seed: int, window: int, longest_body: int = 1_500) -> None:
        """Nothing is sent before the connection is made."""
        self._choose = random.Random(seed)
        self._window = window
        self._longest_body = longest_body
        self._decoder = FrameDecoder()
        self._begun: dict[int, float] = {}
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self.name = name
        self.serialize_type = SerializeType(self._choose.randrange(2))
        self.sent: dict[int, bytes] = {}
        self.acknowledged: dict[int, Stored] = {}
        self.refused: list[tuple[int, str | None]] = []
        self.took: list[float] = []
        self.on_answer: Callable[[], None] = lambda: None
        self.is_sending = True
        self.is_lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to send."""
        self._transport = cast("asyncio.Transport", transport)
        for _ in range(self._window):
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """The broker has gone."""
        self._transport = None
        self.is_lost.set()

    def data_received(self, data: bytes) -> None:
        """Take answers, and send as many messages again."""
        self._decoder.feed(data)
        while (frame := self._decoder.next()) is not None:
            self._answered(decode_frame(frame))
            if self.is_sending:
                self._send()
        self.on_answer()

    def close(self) -> None:
        """Send nothing more and close the connection."""
        self.is_sending = False
        if self._transport is not None:
            self._transport.close()

    def _answered(self, answer: RemotingCommand) -> None:
        self.took.append(self._loop.time() - self._begun.pop(answer.opaque))
        if answer.code != ResponseCode.SUCCESS:
            self.refused.append((answer.code, answer.remark))
            return
        header = answer.decode_header(SendMessageResponseHeader)
        self.acknowledged[answer.opaque] = Stored(header.queue_id, header.queue_offset, header.msg_id)

    def _send(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        number = len(self.sent)
        head = f"{self.name}/{number}:".encode()
        self.sent[number] = (
            head + self._choose.randbytes(self._choose.randrange(self._longest_body) // 2).hex().encode()
        )
        header = SendMessageRequestHeader(
            producer_group="StressP", topic=TOPIC, default_topic="TBW102", default_topic_queue_nums=QUEUES,
            queue_id=self._choose.randrange(QUEUES), sys_flag=0, born_timestamp=1_700_000_000_000, flag=0,
            properties=f"KEYS\x01{key(self.name, number)}\x02TAGS\x01t{number % 5}\x02",
        )  # fmt: skip
        command = RemotingCommand.request(RequestCode.SEND_MESSAGE, header, self.sent[number])
        if number % 3:
            command = RemotingCommand.request(
                RequestCode.SEND_MESSAGE_V2, SendMessageRequestHeaderV2.of(header), self.sent[number]
            )
        command.opaque, command.serialize_type = number, self.serialize_type
        self._begun[number] = self._loop.time()
        self._transport.write(encode_frame(command))


def key(name: str, number: int) -> str:
    """Return the key under which a message can be found."""
    return f"{name}-{number}"


async def connected(address: str, producer: Producer) -> Producer:
    """Connect a producer to a broker, "ip:port"."""
    host, _, port = address.rpartition(":")
    await asyncio.get_running_loop().create_connection(lambda: producer, host, int(port))
    return producer
