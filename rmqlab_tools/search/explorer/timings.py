"""What the rules leave open: times that a run draws by chance, what a search varies, what it assumes of the rest.

Open are how long a frame is under way, how long the broker takes to wake a held pull, in which phase its timers are
when a client starts, how long a start, a listener or a shutdown takes, how late a client's threads and the broker's
reput thread are. In a search the clock stands still while frames are under way, so how long a thread is late is an
order too; times that shift whole steps (starts, timers) have a few values each, from the recordings.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined
from rmqlab.scenario.scenario import Start
from rmqlab.scenario.schedule import ScheduledChooser, SeededChooser, Timing
from rmqlab_tools.search.partial_order_reduction import PartialOrderReduction

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rmqlab.scenario.scenario import Scenario
    from rmqlab.scenario.schedule import Schedule


# When the recordings were made a frame took 0.2 to 1 ms, some ms when the machine was busy, and tens of ms when a
# thread or a garbage collection stood in its way. These options reach every recorded outcome with the fewest seeds.
RACE_TIMING = Timing(
    delays_us=(1_000, 200, 3_000, 10_000, 40_000),
    wake_us=(500, 2_000, 10_000),
    uptime_ms=(3_700, 100, 1_200, 2_400, 4_900),
    shutdown_ms=(5, 10, 20),
    consume_ms=(0, 1, 4),
)
# What the recordings under data/golden/broker-4.8.0 show (base, base-2, lite, lite-2, bitmap, noprop), in ms:
# - start, from the event "starting" to "started": 340 push consumers 8 to 358, medians of the sets 22 to 99; 68 lite
#   pull consumers 7 to 159;
# - threads, from a notification (40) to the client's question who is there (38): 822 times, 0.3 to 179, medians 1.4 to
#   6, 95 of 100 below 41;
# - reput and wake-up together, from a send's answer to the answer of a pull that was held for it: medians 2 to 4 (43 in
#   noprop), one in ten above 17 to 53. One message of base-2 was seen 1,400 late; that is left out here.
LATE_TIMING = replace(
    RACE_TIMING,
    start_ms=(0, 20, 100, 200, 350),
    thread_us=(0, 2_000, 15_000, 80_000),
    reput_us=(0, 1_000, 20_000),
)
# How often (per cent) a run takes each of these on a real network, by what its label begins with, or else evenly.
# Measured in the same recordings at the broker's end: a frame and its answer take 0.1 to 1.2 ms in half of all cases,
# 5 to 13 in one of ten; a client goes on 0.2 to 1.2 ms after an answer in half, 6 to 11 in one of ten. How late a
# heartbeat with a new stamp is, against the first pull with that stamp, is set so that as many pulls are refused as
# were recorded (SUBSCRIPTION_NOT_LATEST): at 48 of 100 starts of a group's first member.
NETWORK_TIMING = replace(
    LATE_TIMING,
    thread_us=(0, 300, 1_000, 3_000, 9_000, 30_000),
    start_ms=(0, 10, 20, 40, 80, 200),
    register_us=(1_000, 3_000, 6_000, 20_000, 50_000),
)
NETWORK_SHARES: Final[dict[str, tuple[int, ...]]] = {
    "delay ": (80, 12, 6, 1, 1),
    "wake ": (60, 30, 10),
    "reput ": (60, 30, 10),
    "register broker": (10, 20, 25, 25, 20),
    "thread RebalanceService heartbeat": (58, 34, 5, 2, 1, 0),
    "thread RebalanceService": (80, 8, 6, 3, 2, 1),
    "thread PullMessageService": (70, 22, 5, 2, 1, 0),
    "thread ": (40, 20, 20, 10, 7, 3),
}
# From "starting" to "started" of those that pop (broker-5.5.0: pop, popslow, grpc, simple, slow): 10 to 4,425 ms, the
# medians of the sets 24 to 905.
POPPERS_START_MS = (0, 25, 100, 350, 900, 1_800, 3_000, 4_400)
POPPERS_STARTS_MS = (0, 900, 1_800, 4_400)  # what a search opens: nothing, the usual, the longest
# Their machine was busy: from an assignment to the client's next frame 225 ms (popslow, the first scenario).
POPPERS_THREAD_US = (*LATE_TIMING.thread_us, 300_000)
# From a pop that finds something at once to its answer, in ms: medians 2 to 8, one in ten above 8 (pop) to 188 (grpc).
POP_US = (0, 1_000, 2_500, 6_000, 15_000, 40_000)
REVIVE_MS = (0, 50, 20, 70)  # `PopReviveService` looks every 100 ms, the thread of each queue in a phase of its own
# Those phases go through the broker's round of 5 s. A scan comes every 10 s and finds nobody before 120 s.
SCANNED_MS, SCAN_ROUND_MS = 120_000, 5_000
_KIND = re.compile(r"^(thread )\S+ ")
CHOICE_KINDS = (": start", "thread ", "reput ", "pop ")
MOVED = ("delay ", "wake ", "thread ", "reput ", "pop ")
MOVED_SHARE = 0.3


def race_timing(scenario: Scenario) -> Timing:
    """`LATE_TIMING`, with the phases of a scan as well for a scenario that lasts until a scan may find somebody.

    Where somebody pops, a start may take as long as those that were recorded: it is the phase of all its polls.
    """
    timing = LATE_TIMING
    if any(isinstance(step, Start) and step.pops for step in scenario.steps):
        timing = replace(
            timing, start_ms=POPPERS_START_MS, thread_us=POPPERS_THREAD_US, pop_us=POP_US, revive_ms=REVIVE_MS
        )
    if not scenario.steps or scenario.steps[-1].at < SCANNED_MS:
        return timing
    usual = timing.uptime_ms
    return replace(timing, uptime_ms=(*usual, *(SCAN_ROUND_MS + uptime for uptime in usual)))


class RaceChooser(SeededChooser):
    """Moves a share of the frames, wake-ups and threads away from their nominal times, and draws all else evenly.

    On a real network most frames take their usual time and few a long one, and it is the few that decide races; a
    broker's uptime and a client's start, on the other hand, are anything. Every even seed leaves all kinds of
    `CHOICE_KINDS` out, every odd one half of them on average: what one kind brings about is hidden when all are at work
    ("swarm testing", Groce and others).
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._rates: dict[str, float] = {}  # a label comes thousands of times in one run
        kinds = random.Random(f"kinds of {seed}")  # of its own: what else is drawn does not depend on it
        self._without = tuple(kind for kind in CHOICE_KINDS if seed % 2 == 0 or kinds.random() < 0.5)

    def pick(self, number: int, label: str, n: int) -> int:
        """An option drawn from the seed."""
        rate = self._rates.get(label)
        if rate is None:
            rate = self._rates[label] = self._rate_of(label)
        if rate == 0 or (rate < 1 and self._random.random() >= rate):
            return 0
        return self._random.randrange(n)

    def _rate_of(self, label: str) -> float:
        """The share of the points of this label that leave option 0."""
        if any(kind in label for kind in self._without):
            return 0
        return MOVED_SHARE if label.startswith(MOVED) else 1


class NetworkChooser(SeededChooser):
    """Draws each time as often as the recordings show it (`NETWORK_SHARES`), and what they do not tell evenly.

    For looking at what usually happens. `RaceChooser` is for finding what rarely does.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._shares: dict[str, tuple[int, ...] | None] = {}

    def pick(self, number: int, label: str, n: int) -> int:
        """An option drawn from the seed."""
        if label not in self._shares:
            kind = _KIND.sub(r"\1", label)
            self._shares[label] = next(
                (kind_shares for name, kind_shares in NETWORK_SHARES.items() if kind.startswith(name)), None
            )
        shares = self._shares[label]
        if shares is None or len(shares) != n:
            return self._random.randrange(n)
        return self._random.choices(range(n), shares)[0]


def chosen_times(scenario: Scenario, *, seed: int | None = None, schedule: Schedule | None = None) -> dict[str, Any]:
    """The settings of a `Simulation` that draw times from a `seed`, or repeat a `schedule`; none without both."""
    if schedule is not None:
        chooser = ScheduledChooser(schedule)
        return {"chooser": chooser, "timing": schedule.timing, "reduction": PartialOrderReduction}
    return {} if seed is None else {"chooser": RaceChooser(seed), "timing": race_timing(scenario)}


# What is assumed of each when it is not varied.
ASSUMED: Final = {
    "start": _("a client starts in no time"),
    "threads": _("a client's threads run at once"),
    "reput": _("a message is in its queue as soon as it is in the commit log"),
    "uptime": _("the broker's timers have one phase (up for 3.7 s)"),
    "shutdown": _("a shutdown takes 5 ms"),
    "consume": _("a listener takes no time"),
}
STARTS_MS = (0, 100, 350)  # nothing, what a quarter of the recorded starts takes or more, the longest
NOW_OR_LATER = (0, 1)  # more than one: whether it comes now or later is a choice
VARIED_TIMES = ("uptime", "shutdown", "consume", "start")
ALL_ASSUMED = tuple(ASSUMED)


def checked_vary(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once, in the order of `ASSUMED`.

    Raises:
        BadInput: an unknown name; the text has all of them.
    """
    for name in [names] if isinstance(names, str) else names:
        if name not in ASSUMED:
            raise BadInput(
                _(
                    "vary {name}{near}; there are {assumed}",
                    name=f"{name!r}",
                    near=did_you_mean(name, ASSUMED),
                    assumed=joined(", ", ASSUMED),
                )
            )
    return tuple(name for name in ASSUMED if name in names)


def search_timing(scenario: Scenario, vary: Collection[str], lag_us: int = 0) -> Timing:
    """What a search chooses among when it varies these, beside the order of frames."""
    drawn = race_timing(scenario)
    options: dict[str, dict[str, tuple[int, ...]]] = {
        "start": {"start_ms": STARTS_MS},
        "threads": {"thread_us": NOW_OR_LATER},
        "reput": {"reput_us": NOW_OR_LATER},
        "uptime": {"uptime_ms": drawn.uptime_ms},
        "shutdown": {"shutdown_ms": drawn.shutdown_ms},
        "consume": {"consume_ms": drawn.consume_ms},
    }
    if any(isinstance(step, Start) and step.pops for step in scenario.steps):
        options["start"] = {"start_ms": POPPERS_STARTS_MS}
    opened = {field: times for name in vary for field, times in options[name].items()}
    return replace(Timing(open_orders=True, lag_us=lag_us), **opened)  # type: ignore[arg-type]


ONE_BY_ONE: Final = _("the broker handles one request after the other")
"""Assumed in every search. 4.8.0 has several threads for heartbeats and no lock around `updateSubscription`: of two
that come at once, one that brings an older subscription may be written last. A recording of 4.8.0 shows it."""


def assumed(vary: Collection[str]) -> list[str]:
    """What a search that varies these assumes of all else, in words."""
    return [ONE_BY_ONE, *(text for name, text in ASSUMED.items() if name not in vary)]
