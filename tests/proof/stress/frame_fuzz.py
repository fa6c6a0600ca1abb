"""Recorded requests with bytes changed by chance, given to a broker and a name server as a socket would give them.

Nothing may raise, and no rule may fail on what a client sends: the answer is an error, or the connection ends with a
reason.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import random
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from rmqlab.checkout import checkout_path
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.socket_server import SocketChannel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab_tools.live.socket_server import SocketServer

SETS: Final = ("bitmap", "admin")
SETTINGS: Final = {
    "diskMaxUsedSpaceRatio": "99", "enablePropertyFilter": "true", "enableConsumeQueueExt": "true",
    "enableCalcFilterBitMap": "true",
}  # fmt: skip
_OF_A_KIND: Final = 30
_KIND: Final = slice(8, 40)
_NUMBERS: Final = (
    b"-1", b"0", b"1", b"x", b"null", b"0.2", b"1e9", b"2147483647", b"-2147483648", b"9223372036854775807",
    b"-9223372036854775808", b"99999999999999999999",
    b"1e1000000000", b"1e-1000000000",
)  # fmt: skip
_DIGITS: Final = re.compile(rb"\d+")
_PAUSE_EVERY: Final = 500


@dataclass(slots=True)
class FuzzResult:
    """Frames given, connections that ended, and what went wrong: message of the log -> how often."""

    frames: int = 0
    ended: int = 0
    wrong: Counter[str] = field(default_factory=Counter)


def recorded_requests(sets: Sequence[str] = SETS) -> list[bytes]:
    """Return frames that real clients sent, at most thirty of those that begin alike."""
    kinds: Counter[bytes] = Counter()
    frames = []
    for name in sets:
        with gzip.open(checkout_path("data") / "golden" / "broker-4.8.0" / name / "frames.jsonl.gz", "rt") as lines:
            for line in map(json.loads, lines):
                frame = bytes.fromhex(line.get("frame", ""))
                if frame and line.get("dir") == "c2s" and kinds[frame[_KIND]] < _OF_A_KIND:
                    kinds[frame[_KIND]] += 1
                    frames.append(frame)
    return frames


def mutated(frame: bytes, choose: random.Random, others: Sequence[bytes]) -> bytes:
    """Return a frame with some bytes changed, taken out, put in or taken from another one; mostly its lengths fit."""
    data = bytearray(frame)
    for _ in range(choose.choice((1, 1, 2, 3, 6))):
        if len(data) > 8:
            _change(data, choose, others)
    if choose.random() < 0.9 and len(data) > 8:
        header = int.from_bytes(frame[5:8]) + len(data) - len(frame)
        data[:4] = (len(data) - 4).to_bytes(4)
        if choose.random() < 0.9:
            data[5:8] = max(0, min(header, len(data) - 8)).to_bytes(3)
    return bytes(data)


def _change(data: bytearray, choose: random.Random, others: Sequence[bytes]) -> None:
    at, kind = choose.randrange(len(data)), choose.randrange(6)
    if kind == 0:
        data[at] = choose.randrange(256)
    elif kind == 1:
        data[at] ^= 1 << choose.randrange(8)
    elif kind == 2:
        del data[at : at + choose.randrange(1, 9)]
    elif kind == 3:
        data[at:at] = choose.randbytes(choose.randrange(1, 5))
    elif kind == 4:
        other = choose.choice(others)
        begin = choose.randrange(len(other))
        data[at : at + choose.randrange(1, 20)] = other[begin : begin + choose.randrange(1, 20)]
    else:
        numbers = list(_DIGITS.finditer(data, 8))
        if numbers:
            number = choose.choice(numbers)
            data[number.start() : number.end()] = choose.choice(_NUMBERS)


def fuzz(frames: int, seed: int) -> FuzzResult:
    """Give so many mutated frames to a broker with a store on disk and to its name server; the seed decides which."""
    result = FuzzResult()
    listener = _Listener(result.wrong)
    logger = logging.getLogger("rmqlab_tools")
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(listener)
    try:
        with tempfile.TemporaryDirectory() as store:
            asyncio.run(_fuzz(result, frames, random.Random(seed), Path(store)))
    finally:
        logger.removeHandler(listener)
        logger.propagate = propagate
    return result


async def _fuzz(result: FuzzResult, frames: int, choose: random.Random, store: Path) -> None:
    startup = BrokerStartup(
        ServeConfig.of(SETTINGS, where="fuzz", listen="127.0.0.1:0", namesrv="127.0.0.1:0", store=store)
    )
    await startup.start()
    requests = recorded_requests()
    started = (startup._broker_server, startup._name_server)  # noqa: SLF001
    servers = [cast("SocketServer", server) for server in started]
    channels = [_connect(server) for server in servers]
    for number in range(frames):
        which = choose.random() < 0.2
        if channels[which].closed_because is not None:
            channels[which].connection_lost(None)
            channels[which] = _connect(servers[which])
            result.ended += 1
        channels[which].data_received(mutated(choose.choice(requests), choose, requests))
        result.frames += 1
        if number % _PAUSE_EVERY == 0:
            await asyncio.sleep(0)  # timers
    for channel in channels:
        channel.connection_lost(None)
    await startup.stop()


class _Listener(logging.Handler):
    """Counts what is logged with an exception or as an error: a rule of ours that failed."""

    def __init__(self, wrong: Counter[str]) -> None:
        super().__init__(logging.ERROR)
        self._wrong = wrong

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._wrong[f"{record.getMessage()}: {error!r}"] += 1


class _Nowhere:
    """A transport whose client reads everything."""

    def get_extra_info(self, _name: str) -> tuple[str, int]:
        return "127.0.0.1", 45_678

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def __getattr__(self, _name: str) -> Any:  # write, close, abort and the like: nothing happens
        return lambda *_, **__: None


def _connect(server: SocketServer) -> SocketChannel:
    channel = SocketChannel(server)
    channel.connection_made(cast("asyncio.BaseTransport", _Nowhere()))
    return channel
