"""Delay levels: the table behind `messageDelayLevel` (4.8.0 `ScheduleMessageService`, its part without timers)."""

from __future__ import annotations

from rmqlab.message.java import parse_long, split, to_int64

_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class DelayLevels:
    """Levels 1..`max_delay_level` and the ms each of them waits; `parse_ok` tells whether the whole text was read.

    4.8.0 reads level by level and stops at the first it cannot read, keeping those before it; the level it failed
    on counts for `max_delay_level` when its unit could be looked up at all.
    """

    __slots__ = ("max_delay_level", "parse_ok", "table")

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
