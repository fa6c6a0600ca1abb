"""Filters that Spark hands over, as what a reader of the commit log can use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from rmqlab.spark.files.record_columns import RecordFilter

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1


class Pushed:
    """The conjunction of the filters taken so far; what it lets pass is at least what they let pass."""

    def __init__(self) -> None:
        self._sets: dict[str, set[Any]] = {}
        self._bounds = {"physicalOffset": [0, _HIGH], "storeTimestamp": [_LOW, _HIGH]}

    def take(self, one: Filter) -> None:
        """Take a filter over if it is one on topic, queue, store time or physical offset."""
        name, value = ".".join(getattr(one, "attribute", ())), getattr(one, "value", None)
        if isinstance(one, EqualTo | In) and name in {"topic", "queueId"}:
            values = {value} if isinstance(one, EqualTo) else set(value or ())
            self._sets[name] = self._sets.get(name, values) & values
        elif name in self._bounds and isinstance(value, int):
            bounds = self._bounds[name]
            if isinstance(one, EqualTo | GreaterThan | GreaterThanOrEqual):
                bounds[0] = max(bounds[0], value + isinstance(one, GreaterThan))
            if isinstance(one, EqualTo | LessThan | LessThanOrEqual):
                bounds[1] = min(bounds[1], value - isinstance(one, LessThan))

    @property
    def low(self) -> int:
        """The first commit log offset wanted."""
        return self._bounds["physicalOffset"][0]

    @property
    def high(self) -> int | None:
        """The offset behind the last one wanted; None for all."""
        end = self._bounds["physicalOffset"][1]
        return None if end == _HIGH else end + 1

    def records(self) -> RecordFilter:
        """Return the filter of the records."""
        topics, queues = self._sets.get("topic"), self._sets.get("queueId")
        since, until = self._bounds["storeTimestamp"]
        if topics == set() or queues == set():
            since, until = 1, 0
        return RecordFilter(tuple(sorted(topics or ())), tuple(sorted(queues or ())), since, until)
