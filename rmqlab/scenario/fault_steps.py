"""Faults as steps of a scenario: what breaks, for whom, for how long, and within which span its moment is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeAlias, get_args

import msgspec

from rmqlab.language import _
from rmqlab.message.java import camel_case

if TYPE_CHECKING:
    from collections.abc import Iterator

BROKER = "broker"  # what the broker is called where a step or a fact may be of a client or of the broker
FAULT = _("fault")  # the kind of the lane, with open orders, in which a fault waits for its turn
MOMENTS = 9  # how many moments of its span a fault may choose among, both ends included
LONGEST_FAULT_MS = 24 * 3_600_000


class ScenarioStep(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do", rename="camel"
):
    """A step: `at` is ms after the topics exist."""

    at: int


class FaultStep(ScenarioStep, frozen=True, kw_only=True):
    """A fault. With `within` (ms) its moment is a choice among `MOMENTS` from `at` to `at + within`.

    Its words: `noun`; `sentence`, once it happened to `who`, with a `number` where it has one; `befalls`, what it does
    to a member of a group.
    """

    noun: ClassVar[str] = ""
    sentence: ClassVar[str] = ""
    befalls: ClassVar[str] = ""
    within: int = 0


class Cut(FaultStep, frozen=True, tag="cut", kw_only=True):
    """Reset `who`'s connection to the broker; it will connect again."""

    noun: ClassVar = _("the cut")
    sentence: ClassVar = _("the connection of {who} was cut")
    befalls: ClassVar = _("is cut off")
    who: str


class Freeze(FaultStep, frozen=True, tag="freeze", kw_only=True):
    """Swallow everything on `who`'s connection to the broker from now on, both ways; with `forMs` hold it so long.

    For good, as the recordings did it: frames are lost, and when one side closes the connection the other learns of it,
    and may make a new one. A link that comes back delivers what was under way, as TCP sends again what was not
    confirmed.
    """

    noun: ClassVar = _("the freeze")
    sentence: ClassVar = _("the link of {who} froze")
    befalls: ClassVar = _("is frozen")
    who: str
    for_ms: int | None = None


class Kill(FaultStep, frozen=True, tag="kill", kw_only=True):
    """End the process of `who` without a goodbye; its connections close at once, if `silent` no client is notified."""

    noun: ClassVar = _("the end")
    sentence: ClassVar = _("{who} was killed")
    befalls: ClassVar = _("is killed")
    silently: ClassVar = _("falls silent")
    who: str
    silent: bool = False


class Pause(FaultStep, frozen=True, tag="pause", kw_only=True):
    """Stop `who` (a client, or "broker") for `forMs`, as a long garbage collection does: connections stay open."""

    noun: ClassVar = _("the pause")
    sentence: ClassVar = _("{who} stood still for {number} ms")
    befalls: ClassVar = _("pauses")
    who: str
    for_ms: int


class Slow(FaultStep, frozen=True, tag="slow", kw_only=True):
    """Every frame of `who`'s links takes `ms` more, both ways, for `forMs` (without it: from now on)."""

    noun: ClassVar = _("the slow link")
    sentence: ClassVar = _("the links of {who} took {number} ms more")
    who: str
    ms: int
    for_ms: int | None = None


class SetClock(FaultStep, frozen=True, tag="clock", kw_only=True):
    """Move the clock of `who` (a client, or "broker") by `byMs`; below 0 it is set back. Timers do not notice."""

    noun: ClassVar = _("the change of the clock")
    sentence: ClassVar = _("the clock of {who} was moved by {number} ms")
    who: str
    by_ms: int


class LoseHeartbeat(FaultStep, frozen=True, tag="loseHeartbeat", kw_only=True):
    """The next `times` heartbeats of `who` get lost on their way; each one costs it its timeout of 3 s."""

    noun: ClassVar = _("the lost heartbeat")
    sentence: ClassVar = _("heartbeats of {who} got lost ({number})")
    who: str
    times: int = 1


class RestartBroker(FaultStep, frozen=True, tag="restartBroker", kw_only=True):
    """Stop the broker for `downMs`: files stay, memory goes. With `crash` offsets not written yet are gone too."""

    noun: ClassVar = _("the broker's restart")
    down_ms: int
    crash: bool = False


class NamesrvDown(FaultStep, frozen=True, tag="namesrvDown"):
    """Stop the name server."""


class NamesrvUp(FaultStep, frozen=True, tag="namesrvUp"):
    """Start the name server again: it knows nothing until the broker registers, every 30 s."""


Fault: TypeAlias = (
    Cut | Freeze | Kill | Pause | Slow | SetClock | LoseHeartbeat | RestartBroker | NamesrvDown | NamesrvUp
)
FAULTS: dict[str, type[FaultStep]] = {str(step.__struct_config__.tag): step for step in get_args(Fault)}
"""The kinds of faults by their names in scenarios."""
MAY_BE_BROKER = (Pause, SetClock)
MAY_BE_PRODUCER = (Cut, Freeze, Pause, Slow, SetClock)


class FaultOrder:
    """Looks at the faults of a scenario in their order. `end`: the time (ms) of its last step."""

    def __init__(self, end: int) -> None:
        self._end = end
        self._broker_back = 0
        self._namesrv_down = False
        self._killed: dict[str, int] = {}

    def problems(self, step: FaultStep, field: str) -> Iterator[str]:
        """What is wrong with a fault and its numbers; `field` is where it stands."""
        yield from _out_of_range(step, field)
        last = step.at + step.within
        if step.within and last > self._end:
            yield _(
                "{field}.within ends at {last} ms, after the last step of the scenario at {end}",
                field=field,
                last=last,
                end=self._end,
            )
        match step:
            case Kill(who=client):
                self._killed[client] = last
            case RestartBroker(down_ms=down_ms):
                if step.at < self._broker_back:
                    yield _(
                        "{field}.at is {at}, but the broker is down until {broker_back}; restart it later",
                        field=field,
                        at=step.at,
                        broker_back=self._broker_back,
                    )
                self._broker_back = last + down_ms
            case NamesrvDown() | NamesrvUp():
                if isinstance(step, NamesrvDown) == self._namesrv_down:
                    yield (
                        _("{field}: the name server is down already", field=field)
                        if self._namesrv_down
                        else _("{field}: the name server is up already", field=field)
                    )
                self._namesrv_down = isinstance(step, NamesrvDown)
                if step.within:
                    yield _(
                        "{field}.within is {within}; the name server's steps have no span",
                        field=field,
                        within=step.within,
                    )
            case _:
                pass

    def starts(self, client: str, at: int, field: str) -> Iterator[str]:
        """A consumer starts: not before the span of its last kill is over."""
        killed = self._killed.pop(client, at)
        if at < killed:
            yield _(
                "{field}.at is {at}, but {who} may live until {killed}; start it later",
                field=field,
                at=at,
                who=f"{client!r}",
                killed=killed,
            )


def _out_of_range(step: FaultStep, field: str) -> Iterator[str]:
    least = {"within": 0, "for_ms": 1, "ms": 0, "times": 1, "down_ms": 1}
    for name, low in least.items():
        value = getattr(step, name, None)
        if value is not None and not low <= value <= LONGEST_FAULT_MS:
            yield _(
                "{field}.{camel_case} is {value}; it must lie between {low} and {longest_fault_ms}",
                field=field,
                camel_case=camel_case(name),
                value=value,
                low=low,
                longest_fault_ms=LONGEST_FAULT_MS,
            )
    if isinstance(step, SetClock) and not 0 < abs(step.by_ms) <= LONGEST_FAULT_MS:
        yield _(
            "{field}.byMs is {by_ms}; give 1 to {longest_fault_ms}, or as much below 0 to set the clock back",
            field=field,
            by_ms=step.by_ms,
            longest_fault_ms=LONGEST_FAULT_MS,
        )
