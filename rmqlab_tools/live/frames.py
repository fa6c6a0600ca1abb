"""Frames out of a stream of bytes (`NettyDecoder`), with bounds on what a peer can make us keep.

A frame is a 4-byte length, a 4-byte word (serialisation and header length), the header, the body.
"""

from __future__ import annotations

from struct import Struct

FRAME_MAX_LENGTH = 16 * 1024 * 1024
"""4.8.0 `com.rocketmq.remoting.frameMaxLength`, in bytes, the length itself included."""
HEADER_MAX_LENGTH = 256 * 1024
"""Ours: 4.8.0 reads headers as long as frames. The longest honest one holds 32 KiB of properties, all escaped."""
UNREAD_MAX_BYTES = 512 * 1024 * 1024
"""Ours: bytes of unfinished frames that all connections of a server may hold together."""

_WORD = 4
_HEAD = Struct(">iI")


class BadFrame(Exception):
    """Bytes after which the stream makes no sense; the text says which bound they broke."""


class UnreadBudget:
    """Bytes of unfinished frames held for all connections of one server."""

    def __init__(self, limit: int = UNREAD_MAX_BYTES) -> None:
        self.limit = limit
        self.used = 0


class FrameDecoder:
    """Collects bytes and hands out frames without their length. `close` gives the budget back."""

    def __init__(self, budget: UnreadBudget | None = None, header_max: int = HEADER_MAX_LENGTH) -> None:
        self._budget = budget or UnreadBudget()
        self._header_max = header_max
        self._data = bytearray()
        self._at = 0

    def feed(self, data: bytes) -> None:
        """Take what was received.

        Raises:
            BadFrame: when the server holds too much for all its connections.
        """
        if self._at:
            del self._data[: self._at]
            self._budget.used -= self._at
            self._at = 0
        if self._data:
            self._data += data
        else:
            self._data = bytearray(data)
        self._budget.used += len(data)
        if self._budget.used > self._budget.limit:
            raise BadFrame(
                f"{self._budget.used} bytes of unfinished frames on all connections, the limit is {self._budget.limit}"
            )

    def next(self) -> bytes | None:
        """The next frame without its length, None when more bytes must come first.

        Raises:
            BadFrame: as soon as a length cannot be right: the frame is never waited for.
        """
        data, at = self._data, self._at
        available, begin = len(data) - at, at + _WORD
        if available < _WORD:
            return None
        if available >= 2 * _WORD:  # a whole frame, as most are, is looked at once
            length, word = _HEAD.unpack_from(data, at)
            if _WORD <= length <= available - _WORD and length + _WORD <= FRAME_MAX_LENGTH:
                header_length = word & 0xFFFFFF
                if header_length <= length - _WORD and header_length <= self._header_max:
                    self._at = begin + length
                    return bytes(data[begin : self._at])
        length = int.from_bytes(data[at:begin], signed=True)
        if length < 0:
            raise BadFrame(f"a frame of {length} bytes: lengths are not negative")
        if length + _WORD > FRAME_MAX_LENGTH:
            raise BadFrame(f"a frame of {length} bytes, at most {FRAME_MAX_LENGTH - _WORD} are taken")
        if length >= _WORD and available >= 2 * _WORD:
            header_length = int.from_bytes(data[begin + 1 : begin + _WORD])
            if header_length > min(length - _WORD, self._header_max):
                raise BadFrame(
                    f"a header of {header_length} bytes in a frame of {length}; at most {self._header_max} are taken"
                )
        if available < _WORD + length:
            return None
        self._at = begin + length
        return bytes(data[begin : self._at])

    def rest(self) -> bytes:
        """What no frame was made of."""
        return bytes(self._data[self._at :])

    def close(self) -> None:
        """Forget everything."""
        self._budget.used -= len(self._data)
        self._data = bytearray()
        self._at = 0
