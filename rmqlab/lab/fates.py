"""The fate of every message in every group, with the culprit, the subscription in force, its version and the time.

A fate is decided from facts, in this order: somebody consumed it; it waits for a retry or died in the dead letter
topic; it was dropped (the last stage that dropped it counts); its offset was skipped without anybody looking at it;
nobody owns its queue; it waits. A message is *lost* for a group when some member asked for it and it was dropped or
skipped. Where nobody tells what listeners got, in an audit or in bare frames, there is a fate more: `passed`, for what
an offset went past and about which nothing else is known.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Fate(StrEnum):
    """What became of a message in one group."""

    DELIVERED = "delivered"
    DROPPED_BY_BROKER_TAG = "dropped_by_broker_tag"
    DROPPED_BY_BROKER_BITMAP = "dropped_by_broker_bitmap"
    DROPPED_BY_BROKER_SQL = "dropped_by_broker_sql"
    DROPPED_BY_CLIENT = "dropped_by_client"
    DROPPED_BY_HOOK = "dropped_by_hook"
    SKIPPED_BY_OFFSET = "skipped_by_offset"
    PASSED = "passed"
    NO_OWNER = "no_owner"
    WAITING = "waiting"
    RETRYING = "retrying"
    DEAD_LETTER = "dead_letter"


LOSING = frozenset({
    Fate.DROPPED_BY_BROKER_TAG, Fate.DROPPED_BY_BROKER_BITMAP, Fate.DROPPED_BY_BROKER_SQL, Fate.DROPPED_BY_CLIENT,
    Fate.DROPPED_BY_HOOK, Fate.SKIPPED_BY_OFFSET,
})  # fmt: skip

OF_STAGE = {
    "tags_code": Fate.DROPPED_BY_BROKER_TAG,
    "bitmap": Fate.DROPPED_BY_BROKER_BITMAP,
    "sql": Fate.DROPPED_BY_BROKER_SQL,
    "client": Fate.DROPPED_BY_CLIENT,
}


@dataclass(frozen=True, slots=True)
class SendRecord:
    """A message as its send result describes it; ``message_id`` is its UNIQ_KEY."""

    topic: str
    queue: int
    offset: int
    body: str
    tag: str | None
    message_id: str
    t: float
    properties: dict[str, str]


@dataclass(frozen=True, slots=True)
class MessageFate:
    """The fate of one message in one group (in one member, when the group is broadcasting: ``member``)."""

    group: str
    topic: str
    queue: int
    offset: int
    body: str
    tag: str | None
    fate: Fate
    culprit: str | None
    subscription: str | None
    version: int | None
    t: float
    asked: bool
    member: str | None = None

    @property
    def lost(self) -> bool:
        """Whether a member asked for the message and the group let it go by."""
        return self.asked and self.fate in LOSING

    def as_event(self, scenario_id: str) -> dict[str, Any]:
        """The fate as an event line."""
        fields = asdict(self)
        if self.member is None:
            del fields["member"]
        return {"id": scenario_id, "t": round(self.t), "ev": "fate"} | fields | {"t": round(self.t), "lost": self.lost}
