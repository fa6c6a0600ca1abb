"""The ways to change a group's subscription, each as a scenario while messages flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab.scenario.scenario import (
    POPPING,
    PYTHON,
    Offsets,
    OutgoingMessage,
    ResetOffset,
    Scenario,
    Send,
    Start,
    Step,
    Stop,
    Subscription,
)
from rmqlab_tools.search.defaults import EVERY_MS, PAUSE_MS, PLANNED_MEMBERS
from rmqlab_tools.search.plan.change import PLANNED_TOPIC, Change, MessageKind

if TYPE_CHECKING:
    from rmqlab.scenario.scenario import Kind

PLAN_NAME = "change"  # one for all: names on the wire carry it, and orders depend on names
PLANNED_GROUP, NEW_GROUP, NEW_TOPIC = "G", "GNEW", "TNEW"
APART_MS = 200  # between starts or stops of one and the same wave
BEFORE_FIRST_MESSAGE_MS = 3_000  # from the last first start to the first message
LEAD_MS = 600  # from the first message to the first step of the change
DOWN_MS = 400  # how long a member is away when it restarts
PLAN_ENDS_MS = 25_000  # a hold of 15 s, a rebalance every 20 s, a commit every 5 s
POP_PLAN_ENDS_MS = 100_000  # a poll of 20 s, an invisibility of 60 s, a rest for the timer and the revive
PLANNED_KINDS = ("push", *sorted(POPPING - PYTHON.keys()))
OFF_BEAT_MS = 50  # rounds of messages come between the steps
EVERY_MESSAGE = Subscription(type="TAG", expr="*")


class Producers(StrEnum):
    """Whether the producers care: `keep` sends all kinds all the time.

    `wait` begins with what only NEW takes, and ends with what only OLD takes, when the procedure says so.
    """

    KEEP = "keep"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Setting:
    """`members` of a group on a topic of `queues` queues; times in ms of virtual time.

    `pause_ms`: between two restarts, or two waves. `every_ms`: between two rounds of messages; a round has one
    message of each kind for each queue. `among`: each start of the change has messages among its own frames, so that
    where they fall is open too; the space is then many times as large. `kind`: how all members fetch, as scenarios name
    it.
    """

    members: int = PLANNED_MEMBERS
    queues: int = PLANNED_MEMBERS
    pause_ms: int = PAUSE_MS
    every_ms: int = EVERY_MS
    among: bool = False
    kind: str = "push"

    @property
    def pops(self) -> bool:
        """Whether the members pop: each request carries its own expression, and what failed or hangs comes again."""
        return self.kind in POPPING

    def __post_init__(self) -> None:
        """Raise `BadInput` for a number or a kind that cannot be; the text names the range."""
        if self.kind not in PLANNED_KINDS:
            raise BadInput(
                _("kind is {kind}; it is one of {kinds}", kind=f"{self.kind!r}", kinds=joined(", ", PLANNED_KINDS))
            )
        limits = (
            ("members", 1, 16), ("queues", 1, 64), ("pause_ms", 0, 600_000), ("every_ms", 50, 60_000),
        )  # fmt: skip
        for name, low, high in limits:
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise BadInput(
                    _(
                        "{name} is {value}; it is a whole number from {low} to {high}",
                        name=name,
                        value=f"{value!r}",
                        low=low,
                        high=high,
                    )
                )


@dataclass(frozen=True, slots=True)
class Course:
    """A procedure written out: its scenario, and when the first step of the change is (ms after the topics exist)."""

    scenario: Scenario
    change_at: int


@dataclass(slots=True)
class _Timeline:
    """A scenario as it is written: steps in order, and messages that flow meanwhile."""

    change: Change
    setting: Setting
    producers: Producers
    now: int = 0
    steps: list[Step] = field(default_factory=list)
    flowing: set[MessageKind] = field(default_factory=set)
    routed: bool = False
    next_round: int = 0
    sent: int = 0
    change_at: int = 0

    def begin(self) -> None:
        """All members start with OLD; then messages flow."""
        self.wave(lambda number: self.start(number, self.change.old))
        self.now += BEFORE_FIRST_MESSAGE_MS
        kinds = set(self.change.kinds)
        self.flowing = kinds - {MessageKind.NEW} if self.producers is Producers.WAIT else kinds
        self.next_round = self.now + OFF_BEAT_MS
        self.advance(LEAD_MS)
        self.change_at = self.now

    def switch(self) -> None:
        """The moment for which producers that wait have waited."""
        if self.producers is Producers.WAIT:
            self.flowing = set(self.change.kinds) - {MessageKind.OLD}

    def advance(self, ms: int) -> None:
        """Let time pass, and messages flow."""
        end = self.now + ms
        while self.next_round < end:
            self._round(self.next_round)
            self.next_round += self.setting.every_ms
        self.now = end

    def pause(self) -> None:
        """Wait as long as the setting says."""
        self.advance(self.setting.pause_ms)

    def _round(self, at: int) -> None:
        by_topic: dict[str, list[OutgoingMessage]] = {}
        for kind in MessageKind:
            if kind not in self.flowing:
                continue
            for queue in range(self.setting.queues):
                topic, message = self._message(kind, queue)
                by_topic.setdefault(topic, []).append(message)
        self.steps += [Send(at, topic=topic, messages=messages) for topic, messages in by_topic.items()]

    def _message(self, kind: MessageKind, queue: int) -> tuple[str, OutgoingMessage]:
        self.sent += 1
        topic = NEW_TOPIC if self.routed and kind is not MessageKind.OLD else PLANNED_TOPIC
        return topic, self.change.message(kind, self.sent, queue)

    def _among(self, number: int) -> None:
        """A message of each kind among the frames of a start."""
        for kind in MessageKind:
            if kind in self.flowing:
                topic, message = self._message(kind, number % self.setting.queues)
                self.steps.append(Send(self.now, topic=topic, messages=[message]))

    def wave(self, step: Callable[[int], None]) -> None:
        """One step for each member, shortly after one another."""
        for number in range(self.setting.members):
            step(number)
            self.advance(APART_MS)

    def start(
        self,
        number: int,
        subscription: Subscription,
        group: str = PLANNED_GROUP,
        topic: str = PLANNED_TOPIC,
        name: str = "C",
    ) -> None:
        """A member starts."""
        who, kind = f"{name}{number + 1}", cast("Kind", self.setting.kind)
        self.steps.append(Start(self.now, who=who, group=group, subscribe={topic: subscription}, kind=kind))
        if self.change_at and self.setting.among:
            self._among(number)

    def stop(self, number: int) -> None:
        """A member of the group stops."""
        self.steps.append(Stop(self.now, who=f"C{number + 1}"))

    def rollout(self, subscription: Subscription) -> None:
        """Restart the members one by one."""
        for number in range(self.setting.members):
            self.stop(number)
            self.advance(DOWN_MS)
            self.start(number, subscription)
            self.pause()

    def end(self) -> Course:
        """Messages flow a little longer; then everything comes to rest."""
        self.advance(max(LEAD_MS, self.setting.every_ms))
        self.steps.append(Offsets(self.now + (POP_PLAN_ENDS_MS if self.setting.pops else PLAN_ENDS_MS)))
        topics = {PLANNED_TOPIC: self.setting.queues} | ({NEW_TOPIC: self.setting.queues} if self.routed else {})
        return Course(Scenario(PLAN_NAME, topics, self.steps), self.change_at)


def _stop_all(line: _Timeline) -> None:
    line.wave(line.stop)
    line.switch()
    line.pause()
    line.wave(lambda number: line.start(number, line.change.new))


def _one_by_one(line: _Timeline) -> None:
    line.rollout(line.change.new)
    line.switch()


def _new_group(line: _Timeline) -> None:
    line.steps.append(ResetOffset(line.now, group=NEW_GROUP, topic=PLANNED_TOPIC, to=-1, direct=True))
    line.advance(APART_MS)
    line.wave(lambda number: line.start(number, line.change.new, NEW_GROUP, name="N"))
    line.switch()
    line.pause()
    line.wave(line.stop)


def _widen_then_narrow(line: _Timeline) -> None:
    *widening, narrow = line.change.rollouts
    for subscription in widening:
        line.rollout(subscription)
    if line.change.union in {line.change.new, None}:
        line.rollout(narrow)
        line.switch()
        return
    # all members take what NEW takes: now the producers may go over to it
    line.switch()
    line.pause()
    line.rollout(narrow)


def _new_topic(line: _Timeline) -> None:
    line.wave(lambda number: line.start(number, EVERY_MESSAGE, NEW_GROUP, NEW_TOPIC, name="N"))
    line.routed = True
    line.switch()
    line.pause()
    line.wave(line.stop)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way to change a group's subscription."""

    name: str
    title: str
    write: Callable[[_Timeline], None]


PROCEDURES = (
    Procedure("stop-all", _("stop every member, then start every one"), _stop_all),
    Procedure("one-by-one", _("restart the members one by one"), _one_by_one),
    Procedure("new-group", _("a new group beside the old one, its offsets set first"), _new_group),
    Procedure("widen-then-narrow", _("first roll out OLD or NEW, then NEW"), _widen_then_narrow),
    Procedure("new-topic", _("producers send what NEW takes to a new topic"), _new_topic),
)


def course(procedure: Procedure, change: Change, setting: Setting, producers: Producers) -> Course:
    """A procedure written out."""
    line = _Timeline(change, setting, producers)
    line.begin()
    procedure.write(line)
    return line.end()
