"""A piece of evidence: what it is, where it stood, what it says in the project's own types."""

from __future__ import annotations

from typing import Any

import msgspec

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import ConsumeStats

WHOLE = 0
"""The lines of a piece that is a file from its beginning to its end."""


class Context(msgspec.Struct, frozen=True):
    """What the command line of mqadmin above a piece names; "" where it names nothing."""

    command: str = ""
    group: str = ""
    topic: str = ""
    client: str = ""
    broker: str = ""
    namesrv: str = ""


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of evidence, as a recogniser read it.

    `kind` is that of its recogniser, `title` what it is in words, `value` what it says. `source` names the file,
    `first` and `last` its lines there (0: the whole file). `notes` say what it does not tell, or what is wrong with it;
    with `damaged` nothing of it is believed.
    """

    kind: str
    title: str
    source: str
    value: Any = None
    first: int = WHOLE
    last: int = WHOLE
    context: Context = Context()
    notes: tuple[str, ...] = ()
    damaged: bool = False

    @property
    def place(self) -> str:
        """The file, and its lines where the piece is a part of it."""
        if not self.first:
            return self.source
        lines = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.source}:{lines}"

    def as_json(self) -> dict[str, Any]:
        """What it is and where it stood."""
        lines = None if not self.first else [self.first, self.last]
        record = {"kind": self.kind, "title": self.title, "source": self.source, "lines": lines}
        context = {name: value for name, value in msgspec.to_builtins(self.context).items() if value}
        return {**record, "context": context, "notes": list(self.notes), "damaged": self.damaged}


class GroupProgress(msgspec.Struct, frozen=True):
    """A line of `consumerProgress` without a group: members, how far all lag; `version` "OFFLINE" of none."""

    group: str
    members: int
    version: str
    type: str
    model: str
    tps: int
    behind: int


class PrintedProgress(msgspec.Struct, frozen=True):
    """`consumerProgress -g`, or the dashboard's: offsets, and the client that pulls each queue as far as known."""

    stats: ConsumeStats
    clients: dict[MessageQueue, str] = msgspec.field(default_factory=dict)


class StatusRow(msgspec.Struct, frozen=True):
    """A member that answered `consumerStatus`, and the file in which its answer was put."""

    client: str
    version: str
    file: str


class StatusTable(msgspec.Struct, frozen=True):
    """`consumerStatus`: who answered, and the tool's own verdict (None: it came to none)."""

    rows: tuple[StatusRow, ...]
    same: bool | None = None
    rebalanced: bool | None = None
    blocked: tuple[str, ...] = ()


class BrokerTable(msgspec.Struct, frozen=True):
    """Names and values of a broker, or of a name server: its settings, or its runtime figures. `addr` may be ""."""

    addr: str
    values: dict[str, str]


class ListedBroker(msgspec.Struct, frozen=True):
    """A line of `clusterList`."""

    cluster: str
    name: str
    broker_id: int
    addr: str
    version: str


class Track(msgspec.Struct, frozen=True):
    """What the admin tool thinks became of a message in a group (`MessageTrack`)."""

    group: str
    type: str
    reason: str


class StoredMessage(msgspec.Struct, frozen=True):
    """A message as `queryMsgById` and its kin print it; `offset` and `queue_id` are -1 where they are not known."""

    topic: str
    tag: str | None
    queue_id: int
    offset: int
    msg_id: str = ""
    store_host: str = ""
    properties: dict[str, str] = msgspec.field(default_factory=dict)
    tracks: tuple[Track, ...] = ()


class TopicGroups(msgspec.Struct, frozen=True):
    """Topics and the groups that have offsets of them, as `statsAll` and `topicList -c` print them."""

    rows: tuple[tuple[str, str], ...]
