"""Faults as steps of a scenario: what breaks, for whom, for how long, and within which span its moment is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

BROKER = "broker"  # what the broker is called where a step may mean a client or the broker
MOMENTS = 9  # how many moments of its span a fault may choose among, both ends included
LONGEST_FAULT_MS = 24 * 3_600_000


class ScenarioStep(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do", rename="camel"
):
    """A step: ``at`` is ms after the topics exist."""

    at: int


class FaultStep(ScenarioStep, frozen=True, kw_only=True):
    """A fault. With ``within`` (ms) its moment is a choice among ``MOMENTS`` from ``at`` to ``at + within``."""

    within: int = 0


class Cut(FaultStep, frozen=True, tag="cut", kw_only=True):
    """Reset ``who``'s connection to the broker; it will connect again."""

    who: str


class Freeze(FaultStep, frozen=True, tag="freeze", kw_only=True):
    """Swallow everything on ``who``'s connection to the broker from now on, both ways; with ``forMs`` hold it so long.

    A link that comes back delivers what was under way, as TCP sends again what was not confirmed.
    """

    who: str
    for_ms: int | None = None


class Kill(FaultStep, frozen=True, tag="kill", kw_only=True):
    """End the process of ``who`` without a goodbye; its connections close at once, if ``silent`` nobody is told."""

    who: str
    silent: bool = False


class Pause(FaultStep, frozen=True, tag="pause", kw_only=True):
    """Stop ``who`` (a client, or "broker") for ``forMs``, as a long garbage collection does: connections stay open."""

    who: str
    for_ms: int


class Slow(FaultStep, frozen=True, tag="slow", kw_only=True):
    """Every frame of ``who``'s links takes ``ms`` more, both ways, for ``forMs`` (without it: from now on)."""

    who: str
    ms: int
    for_ms: int | None = None


class SetClock(FaultStep, frozen=True, tag="clock", kw_only=True):
    """Move the clock of ``who`` (a client, or "broker") by ``byMs``; below 0 it is set back. Timers do not notice."""

    who: str
    by_ms: int


class LoseHeartbeat(FaultStep, frozen=True, tag="loseHeartbeat", kw_only=True):
    """The next ``times`` heartbeats of ``who`` get lost on their way; each one costs it its timeout of 3 s."""

    who: str
    times: int = 1


class RestartBroker(FaultStep, frozen=True, tag="restartBroker", kw_only=True):
    """Stop the broker for ``downMs``: files stay, memory goes. With ``crash`` offsets not written yet are gone too."""

    down_ms: int
    crash: bool = False


class NamesrvDown(FaultStep, frozen=True, tag="namesrvDown"):
    """Stop the name server."""


class NamesrvUp(FaultStep, frozen=True, tag="namesrvUp"):
    """Start the name server again: it knows nothing until the broker registers, every 30 s."""


FAULT_KINDS: dict[str, type[FaultStep]] = {
    "cut": Cut,
    "freeze": Freeze,
    "kill": Kill,
    "pause": Pause,
    "slow": Slow,
    "clock": SetClock,
    "loseHeartbeat": LoseHeartbeat,
    "restartBroker": RestartBroker,
    "namesrvDown": NamesrvDown,
    "namesrvUp": NamesrvUp,
}
MAY_BE_BROKER = (Pause, SetClock)
MAY_BE_PRODUCER = (Cut, Freeze, Pause, Slow, SetClock)


def fault_problems(step: FaultStep, field: str) -> Iterator[str]:
    """What is wrong with the numbers of a fault; ``field`` is where it stands."""
    least = {"within": 0, "for_ms": 1, "ms": 0, "times": 1, "down_ms": 1}
    for name, low in least.items():
        value = getattr(step, name, None)
        if value is not None and not low <= value <= LONGEST_FAULT_MS:
            head, *rest = name.split("_")
            told = head + "".join(map(str.capitalize, rest))
            yield f"{field}.{told} is {value}; it must lie between {low} and {LONGEST_FAULT_MS}"
