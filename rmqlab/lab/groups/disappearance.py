"""One of two consumers disappears: when the broker notices, who is told, when the other one takes over.

The third article gives three numbers: a beat every 30 s, forgotten after 120 s, a rebalance every 20 s. 4.8.0 adds a
fourth, a scan every 10 s, and a fifth thing that counts more than all of them: whether a connection was seen to close
(rows H-40..H-48). Here all periods can be set, and the ways to disappear compared. Times are ms since the run began.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.facts import BROKER
from rmqlab.lab.run import Run
from rmqlab.lab.scenario import convert_scenario
from rmqlab.lab.simulate import Simulation
from rmqlab.rules import DEFAULT_RULES
from rmqlab.runtime.schedule import Timing

if TYPE_CHECKING:
    from rmqlab.lab.facts import Fact
    from rmqlab.lab.scenario import Scenario

TOPIC, GROUP, QUEUES = "T", "G", 4
GONE, LEFT = "A", "B"  # who disappears, and who is left
SAMPLE_MS = 1_000
MARGIN_MS = 10_000
SETTLE_MS = 2_504  # before the first step: what a recorded driver waited

# Name, whether the process comes back after a time, and the step.
WAYS: dict[str, tuple[bool, dict[str, Any]]] = {
    "process killed": (False, {"do": "kill"}),
    "connection cut": (False, {"do": "cut"}),
    "machine gone": (False, {"do": "kill", "silent": True}),
    "network frozen": (True, {"do": "freeze"}),
    "long pause": (True, {"do": "pause"}),
    "beats get lost": (False, {"do": "loseHeartbeat"}),
}


@dataclass(frozen=True, slots=True)
class Disappearance:
    """Who goes how, and all periods in ms; ``run`` runs it.

    ``at_ms``: when, since A's start. ``for_ms``: how long, for a way that ends. ``uptime_ms``: how long the broker was
    up, which sets the phase of its scans; ``second_ms``: when B starts, which sets that of its rebalances;
    ``lost_beats``: how many, for the way that loses some.
    """

    way: str = "machine gone"
    at_ms: int = 45_000
    for_ms: int = 60_000
    beat_ms: int = 30_000
    expiry_ms: int = 120_000
    scan_ms: int = 10_000
    rebalance_ms: int = 20_000
    uptime_ms: int = 3_700
    second_ms: int = 500
    lost_beats: int = 8

    def scenario(self) -> Scenario:
        """The scenario, without the periods.

        Raises:
            BadInput: an unknown way, or a number out of its range.
        """
        if self.way not in WAYS:
            raise BadInput(f"way is {self.way!r}; it is one of {', '.join(WAYS)}")
        least = {
            "at_ms": self.second_ms,
            "second_ms": 0,
            "for_ms": 1,
            "beat_ms": 1_000,
            "expiry_ms": 1_000,
            "scan_ms": 1_000,
        }
        for name, low in (least | {"rebalance_ms": 1_000, "uptime_ms": 0}).items():
            if getattr(self, name) < low:
                raise BadInput(f"{name} is {getattr(self, name)}; it must be {low} or more")
        ends, step = WAYS[self.way]
        step = {"at": self.at_ms, "who": GONE, **step} | ({"forMs": self.for_ms} if ends else {})
        if step["do"] == "loseHeartbeat":
            step["times"] = self.lost_beats
        steps = [
            _start(GONE, 0), _start(LEFT, self.second_ms), step,
            {"at": self.at_ms + self.watched_ms, "do": "offsets"},
        ]  # fmt: skip
        return convert_scenario({"id": "gone", "topics": {TOPIC: QUEUES}, "steps": steps}, "disappearance")

    @property
    def watched_ms(self) -> int:
        """How long to watch after the moment: until everything that follows must have happened."""
        silence = self.expiry_ms + self.scan_ms + self.rebalance_ms
        return max(silence, self.for_ms if WAYS[self.way][0] else 0) + self.beat_ms + MARGIN_MS

    def run(self) -> Disappeared:
        """Run it in virtual time."""
        simulation = Simulation(
            self.scenario(),
            timing=Timing(uptime_ms=(self.uptime_ms,)),
            cluster=ClusterConfig(
                rules=DEFAULT_RULES.replace(
                    heartbeat_period_ms=self.beat_ms,
                    channel_expired_ms=self.expiry_ms,
                    scan_period_ms=self.scan_ms,
                    rebalance_period_ms=self.rebalance_ms,
                )
            ),
            gauges_every_ms=SAMPLE_MS,
        )
        return Disappeared(self, simulation.run(), _ages(simulation))


def _start(who: str, at: int) -> dict[str, Any]:
    subscribe = {TOPIC: {"type": "TAG", "expr": "*"}}
    return {"at": at, "do": "start", "who": who, "group": GROUP, "subscribe": subscribe}


def _ages(simulation: Simulation) -> list[tuple[float, int | None]]:
    found: list[tuple[float, int | None]] = []
    for sample in simulation.gauges.samples if simulation.gauges is not None else ():
        members = {simulation.recorder.short(one.client).partition("@")[2]: one for one in sample.groups[0].members}
        found.append((sample.t, members[GONE].age_ms if GONE in members else None))
    return found


@dataclass(slots=True)
class Disappeared:
    """What followed. ``ages``: the age (ms) of A's last heartbeat over time, None while the broker knows no A."""

    settings: Disappearance
    run: Run
    ages: list[tuple[float, int | None]] = field(default_factory=list)

    @property
    def moment(self) -> float:
        """When A disappeared."""
        return float(next(event["t"] for event in self.run.events if event["ev"] == "control"))

    @property
    def sent(self) -> list[float]:
        """When A sent heartbeats."""
        return [fact.t for fact in self._of("heartbeat") if fact.source == GONE]

    @property
    def heard(self) -> list[float]:
        """When the broker heard one."""
        return [fact.t for fact in self._of("heartbeat") if fact.source == BROKER and fact["client"] == GONE]

    @property
    def last_heard(self) -> float:
        """The last heartbeat that the broker heard before it noticed."""
        return [t for t in self.heard if self.noticed is None or t <= self.noticed][-1]

    @property
    def scans(self) -> list[float]:
        """When the broker scanned."""
        one, end = self.settings, self.moment + self.settings.watched_ms
        return [float(t) for t in range(one.scan_ms - one.uptime_ms % one.scan_ms, round(end), one.scan_ms)]

    @property
    def noticed(self) -> float | None:
        """When the broker took A out of the group; None when it never did."""
        gone = [fact.t for fact in self._leaving() if fact["client"] == GONE]
        return gone[0] if gone else None

    @property
    def unknown_before(self) -> bool:
        """Whether the broker had forgotten A already: beats that are rarer than the expiry do that."""
        before = [age for t, age in self.ages if t < self.moment]
        return bool(before) and before[-1] is None

    @property
    def by_scan(self) -> bool:
        """Whether a scan noticed, and not the closing of a connection."""
        return any(fact.kind == "expired" for fact in self._leaving() if fact["client"] == GONE)

    @property
    def told(self) -> list[float]:
        """When B was told to rebalance, from the moment on."""
        return [fact.t for fact in self._of("notify") if fact["client"] == LEFT and fact.t >= self.moment]

    @property
    def taken_over(self) -> float | None:
        """When B owned every queue; None when it never did."""
        return next((t for t, count in self.owned(LEFT) if t >= self.moment and count == QUEUES), None)

    @property
    def back(self) -> float | None:
        """When the broker knew A again."""
        noticed = self.noticed
        return None if noticed is None else next(
            (fact.t for fact in self._of("register") if fact["client"] == GONE and fact.t > noticed), None
        )  # fmt: skip

    def owned(self, who: str) -> list[tuple[float, int]]:
        """From when on a consumer held how many queues."""
        return [
            (fact.t, len(fact["queues"]))
            for fact in self._of("rebalance")
            if fact.source == who and fact["topic"] == TOPIC
        ]

    @property
    def unserved_ms(self) -> float:
        """How long A's queues had nobody that could pull them."""
        begin = self._pulls_until()
        if begin is None:
            return 0.0
        ends = [t for t in (self.taken_over, self._pulls_again(begin)) if t is not None]
        return max(0.0, min(ends, default=self.moment + self.settings.watched_ms) - begin)

    def _pulls_until(self) -> float | None:
        """When A stopped pulling; one whose heartbeats get lost goes on until a rebalance takes its queues away."""
        if self._lives:
            return next((t for t, count in self.owned(GONE) if t >= self.moment and count == 0), None)
        return self.moment

    def _pulls_again(self, begin: float) -> float | None:
        """When A, which was never away or comes back by itself, pulls again."""
        if self._lives:
            return next((t for t, count in self.owned(GONE) if t > begin and count), None)
        return self.moment + self.settings.for_ms if WAYS[self.settings.way][0] else None

    @property
    def _lives(self) -> bool:
        return bool(WAYS[self.settings.way][1]["do"] == "loseHeartbeat")

    def _of(self, kind: str) -> list[Fact]:
        end = self.until
        return [fact for fact in self.run.facts.of(kind) if fact.t < end and fact.get("group", GROUP) == GROUP]

    @property
    def until(self) -> float:
        """When the watching ends; afterwards everybody is shut down."""
        return float(next(event["t"] for event in reversed(self.run.events) if event["ev"] == "offset"))

    def _leaving(self) -> list[Fact]:
        return sorted(
            (fact for kind in ("unregister", "expired") for fact in self._of(kind) if fact.t >= self.moment),
            key=lambda fact: fact.t,
        )


def delays(count: int, **settings: Any) -> list[Disappeared]:
    """The same disappearance at ``count`` moments spread over a beat, with other phases of scans and rebalances."""
    one = Disappearance(**settings)
    found = []
    for number in range(count):
        phases = {
            "at_ms": one.at_ms + one.beat_ms * number // count,
            "uptime_ms": one.uptime_ms + one.scan_ms * (number * 7 % count) // count,
            "second_ms": one.second_ms + one.rebalance_ms * (number * 11 % count) // count,
        }
        found.append(Disappearance(**settings | phases).run())
    return found
