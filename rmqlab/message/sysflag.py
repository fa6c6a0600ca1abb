"""Bits of a message's `sysFlag` (4.8.0 `MessageSysFlag`): what the broker must know without reading the properties."""

from __future__ import annotations

COMPRESSED_FLAG = 0x1
MULTI_TAGS_FLAG = 0x1 << 1
TRANSACTION_NOT_TYPE = 0
TRANSACTION_PREPARED_TYPE = 0x1 << 2
TRANSACTION_COMMIT_TYPE = 0x2 << 2
TRANSACTION_ROLLBACK_TYPE = 0x3 << 2
BORNHOST_V6_FLAG = 0x1 << 4
STOREHOST_V6_FLAG = 0x1 << 5
STOREHOSTADDRESS_V6_FLAG = STOREHOST_V6_FLAG  # the name in 4.8.0

SINGLE_TAG = "SINGLE_TAG"
MULTI_TAG = "MULTI_TAG"


def transaction_value(flag: int) -> int:
    """Return the two transaction bits of `flag`, one of the four `TRANSACTION_*` values."""
    return flag & TRANSACTION_ROLLBACK_TYPE


def reset_transaction_value(flag: int, kind: int) -> int:
    """Return `flag` with its two transaction bits replaced by `kind` (a `TRANSACTION_*` value)."""
    return (flag & ~TRANSACTION_ROLLBACK_TYPE) | kind


def clear_compressed_flag(flag: int) -> int:
    """Return `flag` without the bit that says the body is compressed."""
    return flag & ~COMPRESSED_FLAG


def topic_filter_type(sys_flag: int) -> str:
    """Return `MULTI_TAG` or `SINGLE_TAG` (4.8.0 `MessageExt.parseTopicFilterType`)."""
    return MULTI_TAG if sys_flag & MULTI_TAGS_FLAG else SINGLE_TAG
