"""Tables of notebook 08: what was searched, what real brokers did, rarer outcomes, clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.articles.rare_outcomes import delivered, outcome_text, share_won
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.articles.rare_outcomes import Circumstance, RareOutcome
    from rmqlab.lab.recorded.races import Race
    from rmqlab.search.explorer.exploration import Exploration


def guessed(explored: Exploration, races: Sequence[Race], guess: Mapping[str, float]) -> Table:
    """What was guessed beside what was found."""
    last = sum(race.won_by_last for race in races)
    rows = [
        ("outcomes of the eight messages", guess.get("outcomes"), len(explored.outcomes)),
        (f"last starter wins, of {len(races)} recordings, %", guess.get("last wins"), f"{last / len(races):.0%}"),
    ]
    return Table("Guess and finding", ("question", "you guess", "here"), rows)


def searched(explored: Exploration) -> Table:
    """How few runs stand for how many schedules."""
    schedules = sum(found.schedules or 0 for found in explored.outcomes)
    rows: list[tuple[str, object]] = [
        ("schedules, that is orders of frames that matter", f"{schedules:,}" if explored.exhausted else "not known"),
        ("runs that were needed to look at all of them", f"{explored.searched:,}"),
        ("states in which something was open", f"{explored.states:,}"),
        ("runs that ended in a state known already", f"{explored.merged:,}"),
        ("runs drawn by chance beside them", f"{explored.sampled:,}"),
        ("outcomes that only those found", len(explored.beyond)),
    ]
    return Table("What was searched", ("what", "how many"), rows)


def recorded(races: Sequence[Race]) -> Table:
    """Who won in the recordings of the real broker, by the gap between the starts."""
    rows: list[tuple[object, ...]] = []
    for gap in sorted({race.gap_ms for race in races}):
        mine = [race for race in races if race.gap_ms == gap]
        last = sum(race.won_by_last for race in mine)
        others = ", ".join(race.scenario for race in mine if not race.won_by_last)
        rows.append((f"{gap / 1_000:g} s", len(mine), last, len(mine) - last, others or None))
    headers = ("gap of the starts", "recordings", "last starter wins", "first starter wins", "these")
    return Table("Recordings of the real broker", headers, rows)


def shares_by_winner(explored: Exploration, races: Sequence[Race]) -> dict[str, list[float]]:
    """The recordings as a count beside the exploration of A before B: the last starter stands for B."""
    last = sum(race.won_by_last for race in races) / len(races)
    shares = [last if found.outcome.bodies_of("B") else 1 - last for found in explored.outcomes]
    return {f"{len(races)} recordings of the real broker": shares}


def rare(circumstances: Sequence[Circumstance]) -> Table:
    """What else can come out, and what makes it; every schedule is run again for this table."""
    rows: list[tuple[object, ...]] = []
    marked = set()
    for one in circumstances:
        told = [outcome.told() for outcome in one.outcomes]
        counts = [delivered(outcome.consumed) for outcome in one.outcomes]
        oddest = max(range(len(counts)), key=lambda number: (abs(counts[number] - 2), -counts[number]))
        words = [deviation.text for deviation in told[oddest].deviations]
        if min(counts) != max(counts):
            marked.add(len(rows))
        span = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
        whole = "yes" if one.exhausted else "no"
        first, odd = _said(one.outcomes[0]), _said(one.outcomes[oddest])
        rows.append((one.name, len(counts), whole, span, first, odd, _causes(words)))
    headers = (
        "circumstance", "outcomes", "all there are", "delivered of 8", "most frequent", "oddest", "its shortest cause",
    )  # fmt: skip
    return Table("Rarer outcomes", headers, rows, frozenset(marked))


def _said(outcome: RareOutcome) -> str:
    return f"{outcome_text(outcome.consumed)} ({outcome.share:.0%})"


def _causes(words: Sequence[str]) -> str:
    if not words:
        return "none: the usual order"
    return "; ".join(words[:2]) + (f"; and {len(words) - 2} more" if len(words) > 2 else "")


def span(circumstances: Sequence[Circumstance]) -> Table:
    """How many different outcomes all circumstances have together, and how much arrives in them."""
    counts = {outcome_text(one.consumed): delivered(one.consumed) for each in circumstances for one in each.outcomes}
    twice = sum(
        any(len(set(bodies)) < len(bodies) for bodies in one.consumed.values())
        for each in circumstances
        for one in each.outcomes
    )
    rows = [
        ("different outcomes", len(counts)),
        ("messages delivered, least", min(counts.values())),
        ("messages delivered, most", max(counts.values())),
        ("outcomes in which somebody gets a message twice", twice),
    ]
    return Table("All circumstances together", ("what", "how many"), rows)


HOUR_MS = 3_600_000


def _ahead(ms: int) -> str:
    if not ms:
        return "agree"
    return f"{ms // HOUR_MS:+d} h" if ms % HOUR_MS == 0 else f"{ms:+d} ms"


def clocks(seeds: int, *ahead_ms: int) -> Table:
    """How often the first starter wins when its clock is ahead."""
    rows = [(_ahead(ms), f"{share_won('A', seeds, A=ms):.0%}") for ms in ahead_ms]
    return Table(f"A starts first, {seeds} runs by chance each", ("A's clock against B's", "A wins"), rows)
