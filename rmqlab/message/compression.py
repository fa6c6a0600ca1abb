"""Compressed bodies: zlib, as `UtilAll.compress` and `UtilAll.uncompress` of 4.8.0."""

from __future__ import annotations

import zlib

from rmqlab.errors import BadInput

COMPRESS_LEVEL = 5
_NEEDS_DICTIONARY = "Error 2 "


class CompressionError(BadInput, ValueError):
    """A body that says it is compressed and cannot be restored."""


def compress(body: bytes, level: int = COMPRESS_LEVEL) -> bytes:
    """Return `body` compressed. Which bytes come out depends on the zlib build; `uncompress` restores any."""
    return zlib.compress(body, level)


def uncompress(data: bytes) -> bytes:
    """Return the restored body; bytes after the end of the stream are ignored.

    Raise `CompressionError` for a broken or truncated stream. A stream that asks for a preset dictionary gives b"", as
    Java's `InflaterInputStream` reports the end there.
    """
    stream = zlib.decompressobj()
    try:
        body = stream.decompress(data)
    except zlib.error as error:
        if str(error).startswith(_NEEDS_DICTIONARY):
            return b""
        raise CompressionError(f"compressed body of {len(data)} bytes: {error}") from error
    if not stream.eof:
        raise CompressionError(f"compressed body of {len(data)} bytes: it ends too early")
    return body
