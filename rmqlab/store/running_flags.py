"""What the store is still able to do (4.8.0 `RunningFlags`)."""

from __future__ import annotations

NOT_READABLE_BIT = 1
NOT_WRITEABLE_BIT = 1 << 1
WRITE_LOGICS_QUEUE_ERROR_BIT = 1 << 2
WRITE_INDEX_FILE_ERROR_BIT = 1 << 3
DISK_FULL_BIT = 1 << 4

_WRITE_BITS = NOT_WRITEABLE_BIT | WRITE_LOGICS_QUEUE_ERROR_BIT | WRITE_INDEX_FILE_ERROR_BIT | DISK_FULL_BIT


class RunningFlags:
    """Five bits; a full disk forbids new messages but not the consume queues of those already there."""

    __slots__ = ("flag_bits",)

    def __init__(self) -> None:
        self.flag_bits = 0

    @property
    def is_readable(self) -> bool:
        """Whether messages may be read."""
        return not self.flag_bits & NOT_READABLE_BIT

    @property
    def is_writeable(self) -> bool:
        """Whether messages may be put."""
        return not self.flag_bits & _WRITE_BITS

    def set(self, bit: int) -> None:
        """Raise one of the `*_BIT` flags."""
        self.flag_bits |= bit

    def clear(self, bit: int) -> None:
        """Take one of the `*_BIT` flags down."""
        self.flag_bits &= ~bit
