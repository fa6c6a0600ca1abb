"""The eight messages under rarer circumstances: what else can come out, and what makes it.

A frame, a pause or a moment decides. Each circumstance was explored once and is kept as a line of
``data/explored/eight_messages.jsonl``; its schedules are run again by whoever reads it, so a line that has become wrong
is noticed. ``python -m tests.proof.rare_outcomes FILE`` explores all of them anew, in some minutes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.scenario.scenario import Scenario, convert_scenario
from rmqlab.scenario.schedule import Schedule
from rmqlab.sim.cluster import default_settings
from rmqlab_tools.search.explorer.deviations import replay_schedule
from rmqlab_tools.search.explorer.explore import Explorer

if TYPE_CHECKING:
    from rmqlab.run.run import Run

STORED: Final = ("explored", "eight_messages.jsonl")
BUDGET, SAMPLES, SHORTENING = 900, 150, 400
SETTLED_MS, LOOK_MS = 8_500, 60_000  # from B's start to the first message, and from there to the last look
_FAULT: Final = {
    "usual": (),
    "sent while B starts": (),
    "A pauses": ({"do": "pause", "who": "A", "at": 1_000, "forMs": 12_000, "within": 4_000},),
    "B pauses": ({"do": "pause", "who": "B", "at": 2_000, "forMs": 12_000, "within": 4_000},),
    "A is cut off": ({"do": "cut", "who": "A", "at": 10_000, "within": 1_000},),
    "B is cut off": ({"do": "cut", "who": "B", "at": 10_000, "within": 1_000},),
    "B is killed": ({"do": "kill", "who": "B", "at": 10_000, "within": 1_000},),
    "A's clock is an hour ahead": ({"do": "clock", "who": "A", "at": 1_000, "byMs": 3_600_000},),
}  # fmt: skip
CIRCUMSTANCES: Final = tuple(_FAULT)


def eight(circumstance: str = "usual", *, gap_ms: int = 2_000, settle_ms: int | None = None) -> Scenario:
    """The eight messages, two to a queue; A starts first.

    Raises:
        BadInput: no such circumstance.
    """
    if circumstance not in _FAULT:
        raise BadInput(f"circumstance {circumstance!r}; there are: {', '.join(CIRCUMSTANCES)}")
    if settle_ms is None:
        settle_ms = 0 if circumstance == "sent while B starts" else SETTLED_MS
    send_at = gap_ms + settle_ms
    messages = [
        {"body": f"MsgStr{number}", "tag": "tagA" if number < 4 else "tagB", "queue": (number + 2) % 4}
        for number in range(8)
    ]
    steps: list[dict[str, Any]] = [
        {
            "at": at, "do": "start", "who": client, "group": "G",
            "subscribe": {"T": {"type": "TAG", "expr": f"tag{client}"}},
        }
        for client, at in (("A", 0), ("B", gap_ms))
    ]  # fmt: skip
    steps += [{"at": send_at, "do": "send", "topic": "T", "messages": messages}, *map(dict, _FAULT[circumstance])]
    steps.sort(key=lambda step: int(step["at"]))
    steps.append({"at": send_at + LOOK_MS, "do": "offsets"})
    return convert_scenario({"id": "eight", "topics": {"T": 4}, "steps": steps})


@dataclass(frozen=True, slots=True)
class RareOutcome:
    """One way to end under a circumstance. ``share``: of the runs drawn by chance there, 0..1."""

    circumstance: str
    consumed: dict[str, list[str]]
    share: float
    schedule: Schedule
    shortened: bool

    def told(self) -> Run:
        """Its schedule, run now.

        Raises:
            BadInput: the schedule does not lead to this outcome any more.
        """
        run = replay_schedule(eight(self.circumstance), self.schedule, cluster=default_settings())
        if run.outcome().as_json()["consumed"] != self.consumed:
            raise BadInput(f"{self.circumstance}: the stored schedule ends otherwise now; explore it anew")
        return run


@dataclass(frozen=True, slots=True)
class Circumstance:
    """What exploring one circumstance found, the most frequent outcome first."""

    name: str
    exhausted: bool
    searched: int
    sampled: int
    states: int
    merged: int
    outcomes: tuple[RareOutcome, ...]


def explored(name: str) -> dict[str, Any]:
    """Explore one circumstance; the line that is stored."""
    exploration = Explorer(
        eight(name), cluster=default_settings(), budget=BUDGET, samples=SAMPLES, shortening=SHORTENING
    ).explore()
    by_consumed: dict[Any, dict[str, Any]] = {}
    for (
        outcome
    ) in exploration.outcomes:  # who got what; committed offsets may differ by where an offset stood at the last look
        line = {
            "consumed": outcome.outcome.as_json()["consumed"], "share": outcome.sampled / exploration.sampled,
            "shortened": outcome.shortened, "schedule": json.loads(outcome.schedule.to_json()),
        }  # fmt: skip
        first = by_consumed.setdefault(outcome.outcome.consumed, line)
        if first is not line:
            first["share"] += line["share"]
            if len(line["schedule"]["choices"]) < len(first["schedule"]["choices"]):
                first |= {"shortened": line["shortened"], "schedule": line["schedule"]}
    lines = sorted(by_consumed.values(), key=lambda row: (-row["share"], len(row["schedule"]["choices"])))
    return {
        "circumstance": name, "exhausted": exploration.exhausted, "searched": exploration.searched,
        "sampled": exploration.sampled, "states": exploration.states, "merged": exploration.merged, "outcomes": lines,
    }  # fmt: skip


def stored(path: Path | None = None) -> list[Circumstance]:
    """What is kept, in the order of ``CIRCUMSTANCES``."""
    path = path or checkout_path("data").joinpath(*STORED)
    return [_circumstance(json.loads(line)) for line in path.read_text(encoding="ascii").splitlines()]


def _circumstance(line: dict[str, Any]) -> Circumstance:
    name = line["circumstance"]
    outcomes = tuple(
        RareOutcome(
            name,
            outcome["consumed"],
            outcome["share"],
            Schedule.from_json(json.dumps(outcome["schedule"])),
            outcome["shortened"],
        )
        for outcome in line["outcomes"]
    )
    return Circumstance(
        name, line["exhausted"], line["searched"], line["sampled"], line["states"], line["merged"], outcomes
    )


def delivered(consumed: dict[str, list[str]]) -> int:
    """How many of the eight messages somebody got."""
    return len({body for bodies in consumed.values() for body in bodies})


def main(path: Path) -> None:
    """Explore every circumstance and write the lines to ``path``."""
    lines = [json.dumps(explored(name)) + "\n" for name in CIRCUMSTANCES]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
