"""Who won the group's slot when two real consumers with different tags met: read from the recordings."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.checkout import checkout_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDED = ("golden", "broker-4.8.0")
SETS = ("base", "base-2")  # those in which such consumers met


class Race(NamedTuple):
    """One recorded scenario: who started first and last, the gap in ms, the lower client id, whose tag came through.

    ``winner`` is None when the slot flipped while messages came, and both consumers got some.
    """

    scenario: str
    first: str
    last: str
    gap_ms: int
    lower_id: str
    winner: str | None

    @property
    def won_by_last(self) -> bool:
        """Whether only the consumer that started last got messages."""
        return self.winner == self.last


def recorded_races(*sets: str) -> list[Race]:
    """All recorded scenarios in which two push consumers with one tag each met on four queues, in file order.

    ``sets`` are names of recorded sets, "base" if none is given.
    """
    home = checkout_path("data").joinpath(*RECORDED)
    return [race for name in sets or SETS[:1] for race in _races(home / name)]


def _races(path: Path) -> list[Race]:
    scenarios = [json.loads(line) for line in (path / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()]
    wanted = {scenario["id"]: scenario for scenario in scenarios if _is_race(scenario)}
    winners: dict[str, set[str]] = {}
    for event in _events(path / "events.jsonl.gz"):
        if event["ev"] == "consume" and event["id"] in wanted:
            winners.setdefault(event["id"], set()).add(event["who"])
    return [_race(scenario, winners[name]) for name, scenario in wanted.items() if name in winners]


def _events(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _starts(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in scenario["steps"] if step["do"] == "start"]


def _is_race(scenario: dict[str, Any]) -> bool:
    starts = _starts(scenario)
    kinds = {step["do"] for step in scenario["steps"]}
    asked = [one for step in starts for one in step["subscribe"].values()]
    plain = all(set(step) <= {"do", "at", "who", "group", "subscribe"} for step in starts)
    single = all(one["type"] == "TAG" and one["expr"].isalnum() for one in asked)
    different = len({one["expr"] for one in asked}) == 2
    return (
        len(starts) == 2 and plain and single and different and kinds == {"start", "alloc", "send", "offsets"}
        and list(scenario["topics"].values()) == [4]
    )  # fmt: skip


def _race(scenario: dict[str, Any], got: set[str]) -> Race:
    first, last = _starts(scenario)
    lower = min(first["who"], last["who"])
    winner = next(iter(got)) if len(got) == 1 else None
    return Race(scenario["id"], first["who"], last["who"], last["at"] - first["at"], lower, winner)
