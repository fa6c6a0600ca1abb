"""Bits of a message's `sysFlag` (`MessageSysFlag`), and the bodies of which one of them says that they are compressed.

Bodies are compressed with zlib, as `UtilAll.compress` and `UtilAll.uncompress` do.
"""

from __future__ import annotations

import zlib

from rmqlab.errors import BadInput

COMPRESSED_FLAG = 0x1
MULTI_TAGS_FLAG = 0x1 << 1
TRANSACTION_NOT_TYPE = 0
TRANSACTION_PREPARED_TYPE = 0x1 << 2
TRANSACTION_COMMIT_TYPE = 0x2 << 2
TRANSACTION_ROLLBACK_TYPE = 0x3 << 2
TRANSACTION_MASK = 0x3 << 2
QUEUED_TYPES = frozenset({TRANSACTION_NOT_TYPE, TRANSACTION_COMMIT_TYPE})
"""What stands in a queue: messages prepared or rolled back do not."""
BORNHOST_V6_FLAG = 0x1 << 4
STOREHOST_V6_FLAG = 0x1 << 5  # STOREHOSTADDRESS_V6_FLAG in Java

SINGLE_TAG = "SINGLE_TAG"
MULTI_TAG = "MULTI_TAG"


def reset_transaction_value(flag: int, kind: int) -> int:
    """`flag` with its two transaction bits replaced by `kind` (a `TRANSACTION_*` value)."""
    return (flag & ~TRANSACTION_MASK) | kind


COMPRESS_LEVEL = 5
_NEEDS_DICTIONARY = "Error 2 "


class CompressionError(BadInput, ValueError):
    """A body that says it is compressed and cannot be restored."""


def compress(body: bytes, level: int = COMPRESS_LEVEL) -> bytes:
    """`body` compressed. Which bytes come out depends on the zlib build; `uncompress` restores any."""
    return zlib.compress(body, level)


def uncompress(data: bytes) -> bytes:
    """The restored body; bytes after the end of the stream are ignored.

    A stream that asks for a preset dictionary gives b"", as Java's `InflaterInputStream` reports the end there.

    Raises:
        CompressionError: a broken or truncated stream.
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
