"""What an audit said, as plain rows: for pictures and checks, which know no Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rmqlab.errors import BadInput

CERTAINTIES = ("proved", "implied", "unknown")


class Slot(NamedTuple):
    """What the broker held for a group from `since` (epoch ms) on."""

    since: int
    text: str


@dataclass(frozen=True)
class Audited:
    """One audit of one store.

    ``summary`` is the audit's, by group and topic. ``lost`` has one row a lost message and group. ``stored`` has, by
    topic, the store time (epoch ms) of each message; ``slots`` what the broker held, where that was given; ``lag`` the
    messages behind the committed offsets.
    """

    name: str
    summary: dict[str, dict[str, dict[str, Any]]]
    lost: list[dict[str, Any]]
    stored: dict[str, list[int]]
    slots: dict[tuple[str, str], list[Slot]] = field(default_factory=dict)
    lag: dict[tuple[str, str], int] = field(default_factory=dict)

    def topic_of(self, group: str) -> str:
        """The group's topic, of several the one in which most was lost.

        Raises:
            BadInput: the audit knows no such group.
        """
        if group not in self.summary:
            raise BadInput(f"group {group!r} is not in this audit; there are {', '.join(sorted(self.summary))}")
        topics = self.summary[group]
        return max(topics, key=lambda topic: (int(topics[topic]["lost"]), topic))

    def rows(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Group, topic and figures, the most lost first."""
        found = [(group, topic, one) for group, topics in self.summary.items() for topic, one in topics.items()]
        return sorted(found, key=lambda row: (-int(row[2]["lost"]), row[0], row[1]))

    def total(self, name: str) -> int:
        """A figure of the summary (sent, delivered, lost) over all groups."""
        return sum(int(one[name]) for _, _, one in self.rows())

    def lost_of(self, group: str, certainties: tuple[str, ...] = CERTAINTIES) -> list[dict[str, Any]]:
        """The lost messages of a group, of these certainties."""
        return [row for row in self.lost if row["group"] == group and row["certainty"] in certainties]


def plain(name: str) -> str:
    """A name on the wire for people: G_p-audit-006 is group G of scenario 6."""
    head, found, rest = name.partition("_")
    number = rest.rpartition("-")[2]
    return f"{head} {int(number)}" if found and number.isdecimal() else head
