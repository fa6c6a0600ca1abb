"""What a film consists of: the messages, and frames that say where each message is and what broker and members hold."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from rmqlab.run.fates import Fate

BROKER, PRODUCER = "broker", "P"  # who takes part besides the members


class Station(StrEnum):
    """Where a message is before it has a fate; in its queue it is `Fate.WAITING`."""

    UNSENT = "unsent"
    PASSED = "let_through"


class Step(StrEnum):
    """What sort of thing a frame shows."""

    BEGIN = "begin"
    START = "start"
    STOP = "stop"
    SLOT = "slot"
    IGNORED = "ignored"
    NOTIFY = "notify"
    REBALANCE = "rebalance"
    WAIT = "wait"
    SEND = "send"
    LINE = "line"
    DROP = "drop"
    LET = "let"
    CLIENT = "client"
    TAKE = "take"
    RETRY = "retry"
    SKIP = "skip"
    COMMIT = "commit"
    FAULT = "fault"
    END = "end"


class Place(NamedTuple):
    """Where a message is: not sent, let through to `member`, or where a fate leaves it (by whose pull or listener)."""

    what: Station | Fate
    member: str | None = None


class FilmMessage(NamedTuple):
    """A message of the film; of a broadcasting group, the copy for `member`. `asked`: some member asks for it."""

    body: str
    tag: str | None
    queue: int
    offset: int
    fate: Fate
    member: str | None = None
    asked: bool = True


class FilmSlot(NamedTuple):
    """The group's subscription in the broker, who wrote it, and its version (ms since the topics were ready)."""

    expression: str
    client: str
    version: float


class Frame(NamedTuple):
    """One step of the film, at `t` ms since the topics were ready, and all that stands after it.

    `text` says what happens, `actors` take part in it (members, `BROKER`, `PRODUCER`), `messages` are those it is about
    (indexes). `places` has a place for each message, `members` what each that runs asks for, `owners` the queues of
    each, `waits` the held pulls (member, queue), `line` the pops that wait (the first is asked first), `offsets` the
    committed offset of each queue. All of it is of one group and one topic.
    """

    t: float
    step: Step
    text: str
    actors: tuple[str, ...]
    messages: tuple[int, ...]
    places: tuple[Place, ...]
    members: dict[str, str]
    slot: FilmSlot | None
    owners: dict[str, tuple[int, ...]]
    waits: frozenset[tuple[str, int]]
    line: tuple[str, ...]
    offsets: dict[int, int]
