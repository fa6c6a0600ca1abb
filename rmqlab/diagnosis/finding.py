"""What the doctor finds: findings with evidence and certainty, and what they come to for each group."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from rmqlab.language import translate


class Certainty(StrEnum):
    """How sure a finding is. The words are those of an audit."""

    PROVED = "proved"
    IMPLIED = "implied"
    UNKNOWN = "unknown"


class State(IntEnum):
    """What a group's findings come to; the highest number is the worst."""

    HEALTHY = 0
    NOTE = 1
    """Something to know, which loses nothing."""
    UNKNOWN = 2
    """Not enough is known to call it healthy."""
    AT_RISK = 3
    """Messages will be lost, or stand still, when the next ones come."""
    LOSING = 4
    """Messages were lost between two looks, or no member can get them."""

    def __str__(self) -> str:
        """`at risk`, in words."""
        return ("healthy", "note", "unknown", "at risk", "losing")[self]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or that cannot be known.

    `kind` is a stable short name such as "different_subscriptions"; `says` is one plain line with the group's own
    numbers; `advice` is the fix in one line; `evidence` is JSON; `rows` are mission rows or the article's ("S-45").
    """

    kind: str
    state: State
    certainty: Certainty
    says: str
    advice: str = ""
    topic: str | None = None
    rows: tuple[str, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "kind": self.kind,
            "state": str(self.state),
            "certainty": str(self.certainty),
            "says": self.says,
            "advice": self.advice,
            "topic": self.topic,
            "rows": list(self.rows),
            "evidence": self.evidence,
        }

    def lines(self) -> list[str]:
        """What it says, how certain that is, and what to do, in the reader's language."""
        rows = f" ({', '.join(self.rows)})" if self.rows else ""
        says = f"  {translate(self.says)} [{translate(self.certainty)}]{rows}"
        return [says, *([f"    {translate(self.advice)}"] if self.advice else [])]


@dataclass(frozen=True, slots=True)
class GroupDiagnosis:
    """A group and its findings, worst first.

    `lost` are messages that were passed since the look before (at a first look: in the window read) though a member
    asks for them; `filtered_lag` are those behind the offset that the group will be given. None: not known.
    """

    group: str
    members: int
    findings: tuple[Finding, ...]
    lost: int | None = None
    filtered_lag: int | None = None

    @property
    def state(self) -> State:
        """The worst of its findings; healthy without one."""
        return max((finding.state for finding in self.findings), default=State.HEALTHY)

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "group": self.group,
            "state": str(self.state),
            "members": self.members,
            "lost": self.lost,
            "filtered_lag": self.filtered_lag,
            "findings": [finding.as_json() for finding in self.findings],
        }
