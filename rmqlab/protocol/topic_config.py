"""A topic's queues and permissions on one broker (4.8.0 `TopicConfig`, `PermName`)."""

from __future__ import annotations

from typing import Final

from rmqlab.message.java import parse_int, split
from rmqlab.message.sysflag import MULTI_TAG, SINGLE_TAG
from rmqlab.protocol.serializable import RemotingSerializable

PERM_INHERIT: Final = 1
PERM_WRITE: Final = 2
PERM_READ: Final = 4
PERM_PRIORITY: Final = 8


class TopicConfigError(ValueError):
    """Text that is no topic configuration."""


class PermName:
    """The questions one asks of a permission number."""

    @staticmethod
    def is_readable(perm: int) -> bool:
        """Tell whether messages may be pulled."""
        return perm & PERM_READ == PERM_READ

    @staticmethod
    def is_writeable(perm: int) -> bool:
        """Tell whether messages may be sent."""
        return perm & PERM_WRITE == PERM_WRITE

    @staticmethod
    def is_inherited(perm: int) -> bool:
        """Tell whether other topics may be made after this one."""
        return perm & PERM_INHERIT == PERM_INHERIT

    @staticmethod
    def perm2string(perm: int) -> str:
        """Return `RWX` with `-` for what is not granted."""
        flags = ((PERM_READ, "R"), (PERM_WRITE, "W"), (PERM_INHERIT, "X"))
        return "".join(letter if perm & flag else "-" for flag, letter in flags)


is_readable = PermName.is_readable
is_writeable = PermName.is_writeable
is_inherited = PermName.is_inherited


class TopicConfig(RemotingSerializable):
    """One topic: queue numbers, permissions (`PERM_*`), filter type, unit flags."""

    topic_name: str = ""
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = PERM_READ | PERM_WRITE
    topic_filter_type: str = SINGLE_TAG
    topic_sys_flag: int = 0
    order: bool = False

    def to_text(self) -> str:
        """Return the five words of a compressed registration; `order` and `topic_sys_flag` are lost in it."""
        return f"{self.topic_name} {self.read_queue_nums} {self.write_queue_nums} {self.perm} {self.topic_filter_type}"

    @classmethod
    def of_text(cls, text: str) -> TopicConfig:
        """Read those five words; raises TopicConfigError. Any other number of words gives an unnamed topic (4.8.0)."""
        words = split(text, " ")
        if len(words) != 5:
            return cls()
        name, read, write, perm, filter_type = words
        if filter_type not in {SINGLE_TAG, MULTI_TAG}:
            raise TopicConfigError(f"topic {name}: filter type {filter_type!r} is neither {SINGLE_TAG} nor {MULTI_TAG}")
        return cls(name, parse_int(read), parse_int(write), parse_int(perm), filter_type)

    def __str__(self) -> str:
        return (
            f"TopicConfig [topicName={self.topic_name}, readQueueNums={self.read_queue_nums}, "
            f"writeQueueNums={self.write_queue_nums}, perm={PermName.perm2string(self.perm)}, "
            f"topicFilterType={self.topic_filter_type}, topicSysFlag={self.topic_sys_flag}, "
            f"order={'true' if self.order else 'false'}]"
        )
