"""The checks of notebook 06: how A's going is noticed, who is told nothing, periods for a detection within 20 s."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rmqlab.errors import BadInput
from rmqlab.lab.groups.disappearance import Disappearance, Disappeared, delays
from rmqlab.lab.groups.notices import CAUSES, notices
from rmqlab.lessons.check import CheckFailed

# Task 1: each way with settings of its own; a beat leaves A at 31 s and 61 s.
GOINGS: dict[str, dict[str, Any]] = {
    "pause of 100 s, 5 s after a beat": {"way": "long pause", "at_ms": 36_000, "for_ms": 100_000},
    "pause of 140 s, 5 s after a beat": {"way": "long pause", "at_ms": 36_000, "for_ms": 140_000},
    "process killed": {"way": "process killed"},
    "machine gone": {"way": "machine gone"},
    "three beats lost": {"way": "beats get lost", "lost_beats": 3},
    "five beats lost": {"way": "beats get lost", "lost_beats": 5},
}
NOTICED = ("at once", "by a scan", "never")
WITHIN_S, CLIENTS, LOST_IN_A_ROW, MOST_BEATS = 20, 10_000, 2, 4_000
TRIALS = 12
SILENCE = "A scan forgets a client whose last heartbeat is older than 120 s (H-40, H-41)."
CLOSED = "The operating system closes a dead process's connections, and the broker hears of that at once (H-44)."
EVENTS = "A member or a topic that comes or goes is told; another tag, or a silence, is not (H-30, H-35, H-43)."
WORST = "The worst case is expiry + scan + rebalance after the last heartbeat (H-46, H-48)."
LOST = "Beats lost in a row leave the last one that was heard (n + 1) periods old (H-41)."
HINTS = {
    "noticed_how": "When was the last heartbeat heard, is the connection closed, and when does a scan look?",
    "not_told": "What makes the broker tell the members, and what changes besides that?",
    "periods": "Add up the worst case: what must pass between the last heartbeat and the new owner?",
}


def noticed_how(answer: Any) -> str:
    """For each going of ``GOINGS``: "at once", "by a scan" or "never"."""
    if not isinstance(answer, Mapping) or set(answer) != set(GOINGS):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, GOINGS))}.", rule="One way each.")
    for name, settings in GOINGS.items():
        said, found = answer[name], Disappearance(**settings).run()
        here = _how(found)
        if said not in NOTICED:
            raise CheckFailed(f"{name}: {said!r} is none of {', '.join(NOTICED)}.", rule="Each is noticed one way.")
        if said != here:
            lines = [
                f"broker  last heartbeat heard {(found.moment - found.last_heard) / 1_000:.1f} s before",
            ]
            raise CheckFailed(
                HINTS["noticed_how"],
                problem=f"{name}: not {said}.",
                rule=f"{CLOSED} {SILENCE}",
                lines=lines,
            )
    return f"All {len(GOINGS)} are noticed as you said."


def _how(found: Disappeared) -> str:
    if found.noticed is None:
        return "never"
    return "by a scan" if found.by_scan else "at once"


def not_told(answer: Any) -> str:
    """The names of the causes after which something changed and nobody was told at once."""
    names = [cause.name for cause in CAUSES]
    if not isinstance(answer, Collection) or isinstance(answer, str):
        raise CheckFailed("Give a list of names of causes.", rule=EVENTS)
    unknown = [name for name in answer if name not in names]
    if unknown:
        raise CheckFailed(f"{unknown[0]!r} is no cause; there are {'; '.join(names)}.", rule=EVENTS)
    for one in notices():
        quiet = not one.at_once and (one.slot_changed or one.rebalanced_ms is not None)
        if quiet and one.cause not in answer:
            raise CheckFailed(
                HINTS["not_told"], problem="One more cause changes something, and nobody is told.", rule=EVENTS
            )
        if not quiet and one.cause in answer:
            raise CheckFailed(HINTS["not_told"], problem="One of your causes does not belong here.", rule=EVENTS)
    return f"{len(set(answer))} causes change something and tell nobody."


def periods(answer: Any) -> str:
    """Periods in s with which silence is dealt with within 20 s, and beats a second at 10,000 clients."""
    keys = ("beat_s", "expiry_s", "scan_s", "rebalance_s", "beats_per_s")
    if not isinstance(answer, Mapping) or set(answer) != set(keys):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, keys))}.", rule=WORST)
    beat, expiry, scan, rebalance = (answer[key] for key in keys[:4])
    settings: dict[str, Any] = {
        "beat_ms": _ms(beat), "expiry_ms": _ms(expiry), "scan_ms": _ms(scan), "rebalance_ms": _ms(rebalance),
    }  # fmt: skip
    try:
        lossy = Disappearance(way="beats get lost", lost_beats=LOST_IN_A_ROW, **settings).run()
        silent = delays(TRIALS, way="machine gone", **settings)
    except BadInput as error:
        raise CheckFailed(f"That cannot be run: {error}.", rule="Periods are seconds, 1 or more.") from None
    if lossy.noticed is not None or lossy.unknown_before:
        raise CheckFailed(
            HINTS["periods"], problem=f"A lives, and {LOST_IN_A_ROW} lost beats in a row cost it its place.", rule=LOST
        )
    found = [(one.taken_over - one.last_heard) / 1_000 for one in silent if one.taken_over is not None]
    bound = expiry + scan + rebalance
    if bound > WITHIN_S or len(found) < TRIALS:
        lines = [f"worst of {TRIALS} runs  taken over {max(found):.1f} s after the last heartbeat"] if found else []
        problem = f"At worst it takes {bound:g} s from the last heartbeat, and that is more than {WITHIN_S}."
        raise CheckFailed(HINTS["periods"], problem=problem, rule=WORST, lines=lines)
    rate = CLIENTS / beat
    if rate > MOST_BEATS:
        raise CheckFailed(
            HINTS["periods"],
            problem=f"{rate:,.0f} beats a second are more than {MOST_BEATS:,}.",
            rule="Clients ÷ period (H-51).",
        )
    said = answer["beats_per_s"]
    if not isinstance(said, int | float) or abs(said - rate) > 0.01 * rate:
        raise CheckFailed(
            HINTS["periods"],
            problem=f"{CLIENTS:,} clients do not beat {said} times a second.",
            rule="Clients ÷ period (H-51).",
        )
    return (
        f"Worst case {bound:g} s, worst of {TRIALS} runs {max(found):.1f} s, {LOST_IN_A_ROW} lost beats do no harm, "
        f"{rate:,.0f} beats a second instead of {CLIENTS / 30:,.0f}."
    )


def _ms(seconds: Any) -> int:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise CheckFailed(f"{seconds!r} is no number of seconds.", rule=WORST)
    return round(seconds * 1_000)


CHECKS = {"06-noticed": noticed_how, "06-not-told": not_told, "06-periods": periods}
