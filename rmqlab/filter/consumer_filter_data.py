"""What the broker keeps of one group's SQL92 subscription to one topic (4.8.0 `ConsumerFilterData`, row F-45)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rmqlab.filter.bloom import BloomFilterData

if TYPE_CHECKING:
    from collections.abc import Mapping


class CompiledExpression(Protocol):
    """An expression ready to be evaluated on a message's properties."""

    def evaluate(self, properties: Mapping[str, str] | None, /) -> object:
        """Give the value: for 4.8.0 a bool, or None for unknown. Raises what the evaluation raises."""
        ...


@dataclass(slots=True)
class ConsumerFilterData:
    """Filter data of one (group, topic). Times are epoch ms; `dead_time` 0 means alive.

    `compiled_expression` is never persisted. Data made for one request has no `bloom_filter_data`.
    """

    consumer_group: str | None = None
    topic: str | None = None
    expression: str | None = None
    expression_type: str | None = None
    compiled_expression: CompiledExpression | None = None
    born_time: int = 0
    dead_time: int = 0
    bloom_filter_data: BloomFilterData | None = None
    client_version: int = 0

    def is_dead(self) -> bool:
        """Tell whether the group has left since it was born."""
        return self.dead_time >= self.born_time

    def how_long_after_death(self, now: int) -> int:
        """Give the ms since death, -1 for the living."""
        return now - self.dead_time if self.is_dead() else -1

    def is_msg_in_live(self, msg_store_time: int) -> bool:
        """Tell whether a message was stored strictly after this data was born, so that its bitmap knows the group."""
        return msg_store_time > self.born_time
