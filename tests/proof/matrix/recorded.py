"""Count what recorded groups lost, by cell of the matrix.

A scenario belongs to a cell when two members of one group read one topic of four queues, ask as the cell's members do,
and eight messages come in one of its orders. What the others are is not said here.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from rmqlab_tools.spark.matrix.cells import ORDERS, QUEUES, RECEIVERS, Cell, expression_of, is_possible

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_GAP_MS, NEW_FROM_MS, SETTLED_FROM_MS = 3_000, 2_000, 30_000
CHANCE = "slow_chance"
_PLACE = ("at", "do", "who", "group", "subscribe")


def lost_by_cell(folder: Path, version: str) -> dict[Cell, list[int]]:
    """How many of eight messages each run of a recorded set lost, by cell, in the order of its scenarios."""
    got: dict[str, set[str]] = defaultdict(set)
    sent: dict[str, set[str]] = defaultdict(set)
    with gzip.open(folder / "events.jsonl.gz", "rt", encoding="utf-8") as lines:
        for event in map(json.loads, lines):
            if event["ev"] in {"consume", "sent"}:
                (got if event["ev"] == "consume" else sent)[event["id"]].add(event["body"])
    lost: dict[Cell, list[int]] = defaultdict(list)
    for scenario in map(json.loads, (folder / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()):
        cell = cell_of(scenario, version)
        name = scenario["id"]
        if cell is not None and len(sent[name]) == 8:
            lost[cell].append(len(sent[name] - got[name]))
    return dict(lost)


def cell_of(scenario: dict[str, Any], version: str) -> Cell | None:
    """The cell that a recorded scenario belongs to, or None."""
    starts = [step for step in scenario["steps"] if step["do"] == "start"]
    sends = [step for step in scenario["steps"] if step["do"] == "send"]
    if len(starts) != 2 or {step["do"] for step in scenario["steps"]} - {"start", "send", "alloc", "offsets"}:
        return None
    gap, first_ms = starts[1]["at"] - starts[0]["at"], sends[0]["at"] - starts[1]["at"]
    receiver, failed = _receiver(starts), any("laterTimes" in step for step in starts)
    order = _order(sends)
    if receiver is None or order is None or list(scenario["topics"].values()) != [QUEUES]:
        return None
    if gap > LONGEST_GAP_MS or first_ms < NEW_FROM_MS:
        return None
    asked = {step["who"]: step.get("subscribe", {}).get("T") for step in starts}
    for same in (False, True):
        for filter_type in ("TAG", "SQL92"):
            cell = Cell(receiver, order, filter_type, first_ms >= SETTLED_FROM_MS, failed, version, same)
            expected = {who: {"type": filter_type, "expr": expression_of(cell, who)} for who in "AB"}
            if is_possible(cell) and asked == expected:
                return cell
    return None


def _receiver(starts: list[dict[str, Any]]) -> str | None:
    """The receiver whose start both members have; a failing one may have an invisible time of its own."""
    fields = [{name: value for name, value in step.items() if name not in (*_PLACE, "laterTimes")} for step in starts]
    if len({step["group"] for step in starts}) != 1 or fields[0] != fields[1]:
        return None
    return next((name for name, receiver in RECEIVERS.items() if receiver.fields == fields[0]), None)


def _order(sends: list[dict[str, Any]]) -> str | None:
    """The order of the tags, if it is one of the matrix."""
    messages = [message for step in sends for message in step["messages"]]
    tags = "".join((message.get("tag") or "?")[-1] for message in messages)
    if sorted(tags) != list("AAAABBBB") or len(sends) not in (1, 8) or any("via" in step for step in sends):
        return None
    slow = len(sends) == 8
    return next(
        (name for name, (_words, order, between) in ORDERS.items() if order == tags and bool(between) == slow),
        CHANCE if slow else None,
    )
