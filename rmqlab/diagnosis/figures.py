"""A group's numbers at one look, for tables and gauges; None is "not known"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.diagnosis.diagnosis import Diagnosis
    from rmqlab.diagnosis.finding import GroupDiagnosis
    from rmqlab.diagnosis.history import LookHistory

DIFFERENT = "different_subscriptions"


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """What `--watch` and `--metrics` show of a group.

    Lags are messages; `flips_per_minute` is a lower bound; `lost` are messages that were passed since the look before
    (at a first look: in the window) though a member asks for them. `silent_s` is how long the member that is silent
    longest has not answered; heartbeats themselves are not told by a broker of 4.8.0.
    """

    members: int
    raw_lag: int
    filtered_lag: int | None
    flips_per_minute: float | None
    disagreeing_topics: int
    lost: int | None
    silent_s: float | None


def figures(diagnosis: Diagnosis, group: GroupDiagnosis, history: LookHistory) -> GroupFigures:
    """The numbers of one group of a diagnosis."""
    seen = diagnosis.look.groups[group.group]
    topics = {str(topic) for slot in seen.slots.values() for topic in slot.subscription_table}
    rates = [rate for topic in topics if (rate := history.flips(group.group, topic).per_minute) is not None]
    now = diagnosis.look.at + diagnosis.look.took_ms
    answered = [history.answered_at(group.group, client) for client in seen.members]
    silent = [(now - at) / 1000 for at in answered if at is not None]
    return GroupFigures(
        members=group.members,
        raw_lag=sum(queue.raw_lag for queue in seen.offsets.values()),
        filtered_lag=group.filtered_lag,
        flips_per_minute=sum(rates) if rates else None,
        disagreeing_topics=len({finding.topic for finding in group.findings if finding.kind == DIFFERENT}),
        lost=group.lost,
        silent_s=max(silent, default=None),
    )
