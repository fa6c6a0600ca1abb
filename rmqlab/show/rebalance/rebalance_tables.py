"""Tables of notebook 07: guess, what every happening sets off, order of ids, handovers, storms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.articles.rebalance import rebalance_figures
from rmqlab.lab.groups.allotment import STRATEGIES, Division, fewest_moves, joined
from rmqlab.lab.groups.group_life import GroupLife, Happening, flapping
from rmqlab.lab.groups.handover import HANDOVERS, handover
from rmqlab.show.article import beside
from rmqlab.show.rebalance.allotment_grid import name_of, sizes
from rmqlab.show.rebalance.ownership_ribbons import duration
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.groups.ownership import Ownership

MOMENT_MS = 5_000  # what follows within that belongs to a happening


def guessed(life: Ownership, guess: Mapping[str, int], at_s: float, changed: int) -> Table:
    """Queues of each member at a moment, and those that changed hands when the last one came, beside the guesses."""
    owners = life.owners_at(at_s * 1_000)
    rows = []
    for who in life.members:
        mine = [queue for queue, names in owners.items() if who in names]
        rows.append((who, guess.get(who), len(mine), mine))
    event = max((one for one in life.events if one.t < at_s * 1_000), key=lambda one: one.t)
    moved = sorted({span.queue for span in life.spans if event.t <= span.since < at_s * 1_000})
    rows.append((f"changed hands when {event.who} came", changed, len(moved), moved))
    marked = frozenset(number for number, row in enumerate(rows) if row[1] != row[2])
    headers = ("member", "your guess", "queues", "which")
    return Table(f"At {at_s:g} s (marked: not as you guessed)", headers, rows, marked)


def set_off(life: Ownership) -> Table:
    """Every happening: who is told, whose queues change, who stamps its subscription anew, moves."""
    rows: list[tuple[object, ...]] = []
    for number, event in enumerate(life.events):
        until = min([event.t + MOMENT_MS, *(other.t for other in life.events[number + 1 :])])
        facts = [fact for fact in life.run.facts.facts if event.t <= fact.t - life.zero < until]
        by = {
            kind: sorted(
                {str(fact["client"]) if kind == "notify" else fact.source for fact in facts if fact.kind == kind}
            )
            for kind in ("notify", "rebalance", "restamp")
        }
        moved = sum(span.since >= event.t and span.since < until for span in life.spans)
        rows.append(
            (
                f"{event.t / 1_000:.0f} s",
                f"{event.who} {event.what}",
                by["notify"],
                by["rebalance"],
                by["restamp"],
                moved,
            )
        )
    headers = ("time", "what happens", "told", "whose queues change", "new stamp", "queues taken")
    return Table("What each happening sets off", headers, rows)


def order_of_ids(queues: int, members: Sequence[str], newcomers: Sequence[str]) -> Table:
    """Moves for newcomers whose ids sort into different places, by strategy; the least possible is marked."""
    division = Division(queues, tuple(members))
    least = fewest_moves(queues, len(members), len(members) + 1)
    rows: list[tuple[object, ...]] = []
    marked: set[int] = set()
    for strategy in STRATEGIES:
        for newcomer in newcomers:
            before, after = joined(division, newcomer, strategy)
            moved = len(before.moved(after))
            good = before.whole and after.whole and before.even and after.even
            if good and moved == least:
                marked.add(len(rows))
            rows.append((strategy, newcomer, moved, sizes(after), "yes" if after.even else "no"))
    headers = ("strategy", "newcomer's id", "moved", "queues after", "even")
    return Table(
        f"{queues} queues, a newcomer (marked: no fewer than {least} can move)", headers, rows, frozenset(marked)
    )


def disagreement(queues: int, strategies: Mapping[str, str]) -> Table:
    """What members compute who do not have the same strategy."""
    allotment = Division(queues, tuple(strategies)).mixed(strategies)
    rows: list[tuple[object, ...]] = [
        (number, [name_of(who) for who in owners] or "nobody")
        for number, owners in enumerate(allotment.owners.values())
    ]
    marked = frozenset(number for number, owners in enumerate(allotment.owners.values()) if len(owners) != 1)
    words = ", ".join(f"{name_of(who)}: {strategy}" for who, strategy in strategies.items())
    return Table(f"{words} (marked: two owners, or none)", ("queue", "thinks that it owns it"), rows, marked)


def handovers() -> Table:
    """Every handover: how long two owners, how long none, who was told, what was consumed twice."""
    found = [handover(name) for name in HANDOVERS]
    rows = [
        (one.name, one.told, duration(one.double_ms), duration(one.gap_ms), one.duplicates, one.verdict)
        for one in found
    ]
    marked = frozenset(number for number, one in enumerate(found) if one.verdict != "neither")
    headers = (
        "what happens at 45 s",
        "told",
        "longest with two owners",
        "longest with none",
        "consumed twice",
        "verdict",
    )
    return Table("Handovers (marked: longer than a second)", headers, rows, marked)


def storms(largest: int) -> Table:
    """Groups of 2, 4, 8 … start, a member a second; then one member restarts: what a broker has to do."""
    rows = []
    for size in (2**power for power in range(1, largest.bit_length())):
        joining = tuple(Happening(number, f"M{number:02}", "joins") for number in range(size))
        quiet = size + 4
        restart = flapping(f"M{size // 2:02}", first_s=quiet, up_s=5, down_s=5, times=1)
        life = GroupLife((*joining, *restart), quiet + 15, size).run()
        ms = quiet * 1_000
        heartbeats = [
            fact.t - life.zero for fact in life.run.facts.of("heartbeat")
            if fact.source == "broker" and fact.t - life.zero < life.end
        ]  # fmt: skip
        rows.append(
            (
                size, sum(t < ms for t in life.told), sum(t < ms for t in heartbeats),
                sum(t >= ms for t in life.told), sum(span.since >= ms for span in life.spans),
            )
        )  # fmt: skip
    headers = (
        "members",
        "told while all join",
        "heartbeats meanwhile",
        "told when one restarts",
        "queues that move then",
    )
    return Table("As many queues as members", headers, rows)


def flaps(strategies: Mapping[str, str], queues: int, count: int) -> Table:
    """Moves when one member of several leaves and comes back, by strategy and by its place among the ids."""
    names = "ABCDEFGH"[:count]
    rows = []
    for words, strategy in strategies.items():
        for who in (names[0], names[count // 2], names[-1]):
            joining = tuple(Happening(number, name, "joins") for number, name in enumerate(names))
            first = count + 5
            life = GroupLife(
                (*joining, *flapping(who, first_s=first, up_s=5, down_s=5, times=1)), first + 15, queues, strategy
            ).run()
            taken = sum(span.since >= first * 1_000 for span in life.spans)
            rows.append(
                (words, who, taken, 2 * sum(who in one for one in life.owners_at((first - 1) * 1_000).values()))
            )
    headers = ("strategy", "who restarts", "queues that change hands", "its own, twice")
    return Table(f"One of {count} members restarts, {queues} queues", headers, rows)


def article(told: Ownership, untold: Ownership, killed: Ownership) -> Table:
    """What the articles say beside what runs here."""
    return beside("What the articles say about rebalance", rebalance_figures(told, untold, killed))
