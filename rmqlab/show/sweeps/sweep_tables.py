"""Tables and pictures of notebook 12 besides the small multiples: guess, agreement, detection, storms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.show.multiples import multiples
from rmqlab.show.play.sweep import USUAL
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.show.figure import Picture

    Records = Sequence[Mapping[str, Any]]

# What is changed, from the usual row: words, and the axis with its new value.
CHANGES = {
    "twice the queues": {"queues": 16},
    "a minute between the starts": {"gap_ms": 60_000},
    "a faster network": {"delay_us": 200},
    "a tag that both ask for": {"shared": 1},
}
BEAT_NAMES = {
    "expiry_ms": "expiry, ms", "period_ms": "period, ms", "scan_ms": "scan, ms", "lost": "beats lost",
    "detection_mean_ms": "ms until silence is noticed", "false_expiries_an_hour": "false alarms an hour",
}  # fmt: skip
STORM_NAMES = {
    "members": "members", "strategy": "strategy", "queues": "queues", "moved": "queues that changed hands",
}  # fmt: skip


def guessed(records: Records, guess: Sequence[str]) -> Table:
    """What each change of ``CHANGES`` brings to two members, the best first, beside the guess.

    Raises:
        BadInput: the guess is not an order of the changes.
    """
    if sorted(guess) != sorted(CHANGES):
        raise BadInput(f"guess is {list(guess)}; put these in an order: {', '.join(CHANGES)}")
    usual = _row(records, USUAL)["delivered"]
    found = {name: _row(records, {**USUAL, **change})["delivered"] for name, change in CHANGES.items()}
    order = sorted(found, key=lambda name: -round(found[name], 2))
    rows = [
        (name, f"{usual:.2f}", f"{found[name]:.2f}", f"{found[name] - usual:+.2f}", list(guess).index(name) + 1)
        for name in order
    ]
    best = frozenset(number for number, name in enumerate(order) if found[name] > usual + 0.05)
    return Table("Share delivered, before and after", ("change", "before", "after", "gain", "your place"), rows, best)


def agreement_table(found: Any) -> Table:
    """What `rmqlab.spark.sweeps.whole_group.agreement` counted."""
    rows = [
        ("runs", found.runs, f"{found.same} agree in every count"),
        ("messages", found.messages, f"{found.otherwise} fare otherwise"),
        ("delivered", found.delivered_whole, f"{found.delivered} by the model"),
    ]
    return Table("The model beside the whole broker", ("", "whole", "model"), rows)


def detection(records: Records, clients: int) -> Picture:
    """Mean time until silence is noticed, over the expiry; a panel for the beats lost, a line for each period."""
    return multiples(
        records, value="detection_mean_ms", x="expiry_ms", lines="period_ms", panels="lost",
        fixed={"clients": clients, "scan_ms": 10_000}, names=BEAT_NAMES,
        title=f"When silence is noticed ({clients:,} clients, a scan each 10 s)",
    )  # fmt: skip


def alarms(records: Records, clients: int) -> Table:
    """Load and false alarms of each period and expiry, a tenth of the beats lost."""
    chosen = [one for one in records if one["clients"] == clients and one["lost"] and one["scan_ms"] == 10_000]
    rows = [
        (
            one["period_ms"],
            one["expiry_ms"],
            one["expiry_ms"] // one["period_ms"],
            f"{one['beats_a_second']:,.0f}",
            f"{one['false_expiries_an_hour']:,}",
        )
        for one in sorted(chosen, key=lambda one: (one["period_ms"], one["expiry_ms"]))
    ]
    loud = frozenset(number for number, row in enumerate(rows) if row[-1] != "0")
    headers = ("period, ms", "expiry, ms", "beats that fit", "beats a second that arrive", "false alarms an hour")
    return Table(f"{clients:,} clients, one beat in ten lost", headers, rows, loud)


def storms(records: Records) -> Picture:
    """Queues that changed hands while a group started, over its members; a panel a topic, a line a strategy."""
    return multiples(
        records, value="moved", x="members", lines="strategy", panels="queues", fixed={"gap_ms": 200},
        names=STORM_NAMES, title="What moves while a group starts, one member each 200 ms",
    )  # fmt: skip


def notifications(records: Records) -> Table:
    """Notifications that the broker sends while a group starts, by its members."""
    chosen = [one for one in records if one["gap_ms"] == 200 and one["strategy"] == "avg" and one["queues"] == 32]
    rows = [(one["members"], one["notifications"], one["heartbeats"]) for one in chosen]
    return Table("A group starts", ("members", "notifications", "heartbeats"), sorted(rows))


def _row(records: Records, wanted: Mapping[str, object]) -> Mapping[str, Any]:
    return next(one for one in records if all(one[name] == value for name, value in wanted.items()))
