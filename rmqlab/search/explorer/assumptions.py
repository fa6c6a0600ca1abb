"""What a search leaves open beside the order of frames, and what it assumes about the rest.

In a search the clock stands still while frames are under way, so how long a thread is late is an order too; times that
shift whole steps (starts, timers) have a few values each, from the recordings (``race`` says what those show).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.runtime.schedule import Timing
from rmqlab.search.explorer.race import race_timing

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rmqlab.lab.scenario import Scenario

# What is assumed of each when it is not varied.
ASSUMED: Final = {
    "start": "a client starts in no time",
    "threads": "a client's threads run at once",
    "reput": "a message is in its queue as soon as it is in the commit log",
    "uptime": "the broker's timers have one phase (up for 3.7 s)",
    "shutdown": "a shutdown takes 5 ms",
    "consume": "a listener takes no time",
}
STARTS_MS = (0, 100, 350)  # nothing, what a quarter of the recorded starts takes or more, the longest
OPEN = (0, 1)  # more than one: whether it comes now or later is a choice
TIMES = ("uptime", "shutdown", "consume", "start")
ALL = tuple(ASSUMED)


def checked_vary(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once, in the order of ``ASSUMED``.

    Raises:
        BadInput: an unknown name; the text has all of them.
    """
    for name in names:
        if name not in ASSUMED:
            raise BadInput(f"vary {name!r}: there are {', '.join(ASSUMED)}")
    return tuple(name for name in ASSUMED if name in names)


def search_timing(scenario: Scenario, vary: Collection[str], lag_us: int = 0) -> Timing:
    """What a search chooses among when it varies these, beside the order of frames."""
    drawn = race_timing(scenario)
    options: dict[str, dict[str, tuple[int, ...]]] = {
        "start": {"start_ms": STARTS_MS},
        "threads": {"thread_us": OPEN},
        "reput": {"reput_us": OPEN},
        "uptime": {"uptime_ms": drawn.uptime_ms},
        "shutdown": {"shutdown_ms": drawn.shutdown_ms},
        "consume": {"consume_ms": drawn.consume_ms},
    }
    opened = {field: times for name in vary for field, times in options[name].items()}
    return replace(Timing(open_orders=True, lag_us=lag_us), **opened)  # type: ignore[arg-type]


def assumed(vary: Collection[str]) -> list[str]:
    """What a search that varies these assumes of all else, in words."""
    return [text for name, text in ASSUMED.items() if name not in vary]
