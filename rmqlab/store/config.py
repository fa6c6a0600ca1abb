"""The settings of a store: `MessageStoreConfig`, names and defaults; the delay levels in one of them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Self

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab.message.java import (
    NumberFormatError,
    boolean_text,
    camel_case,
    parse_boolean,
    parse_int,
    parse_long,
    split,
    to_int64,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

CQ_STORE_UNIT_SIZE = 20
_HOME = "~"


class BrokerRole(Enum):
    """What a broker is in its group (`BrokerRole`)."""

    ASYNC_MASTER = "ASYNC_MASTER"
    SYNC_MASTER = "SYNC_MASTER"
    SLAVE = "SLAVE"


class FlushDiskType(Enum):
    """Whether a put waits until the disk has it (`FlushDiskType`)."""

    SYNC_FLUSH = "SYNC_FLUSH"
    ASYNC_FLUSH = "ASYNC_FLUSH"


class Settings:
    """Settings that are read from Java's properties and shown as such; the fields of a dataclass with defaults.

    Java ignores a value it cannot read in silence; here it raises `BadInput`, which says where it came from (`origin`).
    """

    __slots__ = ()
    origin: ClassVar[str] = _("store properties")

    @staticmethod
    def read_number(text: str) -> int:
        """Read a whole number.

        Raises:
            NumberFormatError: a text that is no whole number.
        """
        return parse_int(text)

    @classmethod
    @cache
    def property_names(cls) -> dict[str, str]:
        """The fields that Java has: their names here, and Java's. `name` of a field's metadata: None is ours."""
        known = ((item.name, item.metadata.get("name", camel_case(item.name))) for item in fields(cls))  # type: ignore[arg-type]
        return {name: java for name, java in known if java is not None}

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], *, where: str = "") -> Self:
        """Build one from Java's property names; names of other settings are passed over."""
        config = cls()
        config.update(properties, where=where)
        return config

    def update(self, properties: Mapping[str, str], *, where: str = "") -> None:
        """Set what `properties` names (`MixAll.properties2Object`).

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        for name, java in self.property_names().items():
            if java in properties:
                place = f"{where or self.origin}: {java}"
                setattr(self, name, self._parse(getattr(self, name), place, properties[java]))

    def properties(self) -> dict[str, str]:
        """Every setting that is not None under its Java name (`MixAll.object2Properties`)."""
        values = {java: getattr(self, name) for name, java in self.property_names().items()}
        return {java: _text(value) for java, value in values.items() if value is not None}

    def _parse(self, current: object, name: str, text: str) -> object:
        """Read `text` as a value of the kind that `current` is of."""
        if isinstance(current, bool):
            if text.lower() not in {"true", "false"}:
                raise BadInput(_("{name} must be true or false, not {text}", name=name, text=f"{text!r}"))
            return parse_boolean(text)
        if isinstance(current, int):
            try:
                return self.read_number(text)
            except NumberFormatError:
                raise BadInput(_("{name} must be a whole number, not {text}", name=name, text=f"{text!r}")) from None
        if isinstance(current, Enum):
            words = [str(member.value) for member in type(current)]
            if text not in words:
                raise BadInput(
                    _("{name} must be {words}, not {text}", name=name, words=joined(" or ", words), text=f"{text!r}")
                )
            return type(current)(text)
        return text


@dataclass(slots=True)
class MessageStoreConfig(Settings):
    """Sizes in bytes, times in ms, ratios in percent, `file_reserved_time` in hours.

    `properties()` and `from_properties()` use Java's names. What concerns disks and slaves is kept as given and has no
    effect in memory; what has none anywhere is in `broker_config.INERT`.
    """

    store_path_root_dir: str = f"{_HOME}/store"
    store_path_commit_log: str = f"{_HOME}/store/commitlog"
    mapped_file_size_commit_log: int = 1024 * 1024 * 1024
    mapped_file_size_consume_queue: int = 300_000 * CQ_STORE_UNIT_SIZE
    enable_consume_queue_ext: bool = False
    mapped_file_size_consume_queue_ext: int = 48 * 1024 * 1024
    bit_map_length_consume_queue_ext: int = 64
    flush_interval_commit_log: int = 500
    flush_interval_consume_queue: int = 1000
    clean_resource_interval: int = 10_000
    delete_when: str = "04"
    disk_max_used_space_ratio: int = 75
    file_reserved_time: int = 72
    max_message_size: int = 4 * 1024 * 1024
    check_crc_on_recover: bool = field(default=True, metadata={"name": "checkCRCOnRecover"})
    flush_commit_log_least_pages: int = 4
    flush_consume_queue_least_pages: int = 2
    flush_commit_log_thorough_interval: int = 10_000
    flush_consume_queue_thorough_interval: int = 60_000
    max_transfer_bytes_on_message_in_memory: int = 256 * 1024
    max_transfer_count_on_message_in_memory: int = 32
    max_transfer_bytes_on_message_in_disk: int = 64 * 1024
    max_transfer_count_on_message_in_disk: int = 8
    access_message_in_memory_max_ratio: int = 40
    message_index_enable: bool = True
    max_hash_slot_num: int = 5_000_000
    max_index_num: int = 20_000_000
    max_msgs_num_batch: int = 64
    broker_role: BrokerRole = BrokerRole.ASYNC_MASTER
    flush_disk_type: FlushDiskType = FlushDiskType.ASYNC_FLUSH
    sync_flush_timeout: int = 5000
    message_delay_level: str = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
    flush_delay_offset_interval: int = 10_000
    clean_file_forcibly_enable: bool = True
    offset_check_in_slave: bool = False
    disk_fall_recorded: bool = True
    default_query_max_num: int = 32

    @property
    def consume_queue_file_size(self) -> int:
        """Bytes of one consume queue file: `mapped_file_size_consume_queue` rounded up to whole 20-byte entries."""
        return -(-self.mapped_file_size_consume_queue // CQ_STORE_UNIT_SIZE) * CQ_STORE_UNIT_SIZE


def _text(value: object) -> str:
    if isinstance(value, bool):
        return boolean_text(value)
    return str(value.value) if isinstance(value, Enum) else str(value)


_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class DelayLevels:
    """`messageDelayLevel`: levels 1..`max_delay_level` and the ms each waits; `parse_ok`: the whole text was read.

    Java reads level by level and stops at the first it cannot read, keeping those before it; the level it failed
    on counts for `max_delay_level` when its unit could be looked up at all.
    """

    def __init__(self, text: str) -> None:
        self.table: dict[int, int] = {}
        self.max_delay_level = 0
        self.parse_ok = self._parse(text)

    def _parse(self, text: str) -> bool:
        for level, value in enumerate(split(text, " "), start=1):
            if not value:
                return False
            self.max_delay_level = level
            unit = _UNIT_MS.get(value[-1])
            try:
                number = parse_long(value[:-1])
            except ValueError:
                return False
            if unit is None:
                return False
            self.table[level] = to_int64(unit * number)
        return True

    def compute_deliver_timestamp(self, delay_level: int, store_timestamp: int) -> int:
        """Epoch ms at which a message stored at `store_timestamp` is due; an unknown level waits one second."""
        return to_int64(store_timestamp + self.table.get(delay_level, 1000))


def delay_level_to_queue_id(delay_level: int) -> int:
    """Queue of `SCHEDULE_TOPIC_XXXX` that holds this level."""
    return delay_level - 1


def queue_id_to_delay_level(queue_id: int) -> int:
    """Level that this queue of `SCHEDULE_TOPIC_XXXX` holds."""
    return queue_id + 1
