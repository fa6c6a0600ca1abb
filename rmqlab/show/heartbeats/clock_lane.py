"""The clock lane: beats of a client that disappears, the age of the last one, scans, notices, and who takes over."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rmqlab.lab.groups.disappearance import GONE, LEFT, QUEUES, WAYS, Disappeared
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLUE, GREEN, GREY, ORANGE, PALE, SKY, VERMILLION, WHITE
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

# Inches.
WIDTH, LEFT_EDGE, RIGHT_EDGE = 9.8, 1.75, 0.25
BEATS, AGE_TOP, AGE_HEIGHT, SCANS, TOLD, RIBBON, AXIS = 0.62, 1.0, 1.15, 2.5, 2.92, 3.2, 4.02
HEIGHT = 4.4
BEFORE_MS, AFTER_MS = 35_000, 18_000
SHORT_MS = 500
NEVER = "never"


def clock_lane(found: Disappeared) -> Picture:
    """What happened around the disappearance, over time; 0 s is the moment itself."""
    svg = painted(WIDTH, HEIGHT, lambda brush: _draw(brush, found))
    title = f"{GONE} disappears: {found.settings.way}"
    return Picture(svg, title=title, alt=alt(found), table=table(found))


def after(found: Disappeared, t: float | None) -> str:
    """A moment as seconds after the disappearance."""
    if t is None:
        return NEVER
    passed = t - found.moment
    return f"{passed:.0f} ms" if passed < SHORT_MS else f"{passed / 1_000:.1f} s"


def _scale(found: Disappeared) -> tuple[float, float, Callable[[float], float]]:
    last = [t for t in (found.taken_over, found.noticed, found.back) if t is not None]
    if WAYS[found.settings.way][0]:
        last.append(found.moment + found.settings.for_ms)
    begin = found.moment - BEFORE_MS
    end = min(max([found.moment + 30_000, *last]) + AFTER_MS, found.until)
    width = WIDTH - LEFT_EDGE - RIGHT_EDGE

    def place(t: float) -> float:
        return LEFT_EDGE + width * (min(max(t, begin), end) - begin) / (end - begin)

    return begin, end, place


def _draw(brush: Brush, found: Disappeared) -> None:
    begin, end, place = _scale(found)
    moment = place(found.moment)
    brush.line((moment, moment), (0.2, AXIS), VERMILLION, 1.4)
    brush.text(moment, 0.12, f"{GONE}: {found.settings.way}", colour=VERMILLION, bold=True, size=9)
    if WAYS[found.settings.way][0]:
        back = place(found.moment + found.settings.for_ms)
        brush.block(moment, BEATS - 0.2, back - moment, 0.4, PALE, hatch="//", hatch_colour=GREY)
    _beats(brush, found, begin, end, place)
    _age(brush, found, begin, end, place)
    _scans(brush, found, begin, end, place)
    _told(brush, found, end, place)
    _ribbon(brush, found, begin, end, place)
    _axis(brush, found, begin, end, place)


def _label(brush: Brush, y: float, text: str) -> None:
    brush.text(0.08, y, text, ha="left", size=8.5)


def _beats(brush: Brush, found: Disappeared, begin: float, end: float, place: Callable[[float], float]) -> None:
    _label(brush, BEATS - 0.09, f"{GONE}'s heartbeats")
    brush.text(0.08, BEATS + 0.1, "filled: the broker heard it", ha="left", size=7, colour=GREY)
    brush.line((LEFT_EDGE, WIDTH - RIGHT_EDGE), (BEATS, BEATS), PALE, 5)
    heard = set(map(round, found.heard))
    for t in found.sent:
        if begin <= t <= end:
            arrived = any(round(t) + delay in heard for delay in range(4))
            brush.spot(place(t), BEATS, 9, GREEN if arrived else WHITE, edge=GREEN if arrived else VERMILLION)
    for t in found.heard:
        if begin <= t <= end and not any(-4 < t - sent < 4 for sent in found.sent):
            brush.spot(place(t), BEATS, 9, GREEN)


def _age(brush: Brush, found: Disappeared, begin: float, end: float, place: Callable[[float], float]) -> None:
    _label(brush, AGE_TOP + 0.32, "age of the last one,")
    _label(brush, AGE_TOP + 0.5, "as the broker knows it")
    expiry = found.settings.expiry_ms
    top = max([expiry, *(age for _, age in found.ages if age is not None)]) * 1.05
    floor = AGE_TOP + AGE_HEIGHT
    runs: list[list[tuple[float, int]]] = [[]]
    for t, age in found.ages:
        if not begin <= t <= end or age is None:
            if runs[-1]:
                runs.append([])
            continue
        if runs[-1] and age < runs[-1][-1][1]:
            runs.append([])
        runs[-1].append((t, age))
    for run in filter(None, runs):
        edge = [(place(t), floor - AGE_HEIGHT * age / top) for t, age in run]
        brush.area([(edge[0][0], floor), *edge, (edge[-1][0], floor)], SKY)
        brush.polyline(edge, BLUE, width=1.8)
    brush.line((LEFT_EDGE, WIDTH - RIGHT_EDGE), (floor, floor), GREY, 1)
    line = floor - AGE_HEIGHT * expiry / top
    brush.polyline([(LEFT_EDGE, line), (WIDTH - RIGHT_EDGE, line)], VERMILLION, width=1.3, dashed=True)
    brush.text(LEFT_EDGE + 0.05, line + 0.11, f"forgotten when older than {expiry / 1_000:g} s", ha="left", size=8)


def _scans(brush: Brush, found: Disappeared, begin: float, end: float, place: Callable[[float], float]) -> None:
    _label(brush, SCANS, f"scans, every {found.settings.scan_ms / 1_000:g} s")
    for t in found.scans:
        if begin <= t <= end:
            brush.line((place(t), place(t)), (SCANS - 0.1, SCANS + 0.1), GREY, 1.4)
    if found.noticed is None:
        words = f"it had forgotten {GONE} before" if found.unknown_before else "the broker never noticed"
        brush.text((LEFT_EDGE + WIDTH) / 2, SCANS + 0.22, words, size=8.5, bold=True)
        return
    x = place(found.noticed)
    brush.line((x, x), (SCANS - 0.16, SCANS + 0.16), VERMILLION, 4)
    how = "this scan forgets it" if found.by_scan else "its connection is seen to close"
    _beside(brush, x, SCANS, f"{how}: {after(found, found.noticed)}")


def _beside(brush: Brush, x: float, y: float, text: str) -> None:
    """Text on the side of x that has more room, on white ground."""
    left = x > (LEFT_EDGE + WIDTH) / 2
    at = x - 0.1 if left else x + 0.1
    brush.text(at, y, text, ha="right" if left else "left", size=8.5, bold=True, ground=WHITE)


def _told(brush: Brush, found: Disappeared, end: float, place: Callable[[float], float]) -> None:
    _label(brush, TOLD, f"{LEFT} is told (code 40)")
    told = [t for t in found.told if t <= end]
    for t in told:
        brush.arrow((place(t), TOLD - 0.16), (place(t), TOLD + 0.2), ORANGE)
        brush.spot(place(t), TOLD - 0.1, 6, ORANGE)
    if not told:
        brush.text((place(found.moment) + WIDTH - RIGHT_EDGE) / 2, TOLD, "nobody is told", size=8.5, colour=VERMILLION)


def _ribbon(brush: Brush, found: Disappeared, begin: float, end: float, place: Callable[[float], float]) -> None:
    _label(brush, RIBBON + 0.3, f"queues that {LEFT} holds")
    full = 0.6
    brush.block(place(begin), RIBBON, place(end) - place(begin), full, PALE)
    held = [(t, count) for t, count in found.owned(LEFT) if t <= end]
    edges = [*held, (end, 0)]
    for (t, count), (until, _) in pairwise(edges):
        left, right, high = place(t), place(until), full * count / QUEUES
        if right <= left:
            continue
        brush.block(left, RIBBON + full - high, right - left, high, ORANGE, edge=WHITE, edge_width=1)
        if right - left > 0.5:
            middle = RIBBON + full - high / 2
            brush.text((left + right) / 2, middle, f"{count} of {QUEUES}", size=8.5, bold=True)
    if found.taken_over is not None and found.taken_over <= end:
        _beside(brush, place(found.taken_over), RIBBON - 0.09, f"{LEFT} has all: {after(found, found.taken_over)}")


def _axis(brush: Brush, found: Disappeared, begin: float, end: float, place: Callable[[float], float]) -> None:
    brush.text(0.08, AXIS + 0.14, "seconds", ha="left", colour=GREY)
    step = next(s for s in (5_000, 10_000, 30_000, 60_000, 120_000) if (end - begin) / s <= 12)
    first = -int((found.moment - begin) // step)
    for number in range(first, int((end - found.moment) // step) + 1):
        x = place(found.moment + number * step)
        brush.line((x, x), (AXIS, AXIS + 0.05), GREY, 1)
        brush.text(x, AXIS + 0.16, f"{number * step / 1_000:g}", colour=GREY)


def alt(found: Disappeared) -> str:
    """What a listener must know."""
    if found.noticed is None:
        told = "The broker had forgotten it before" if found.unknown_before else "The broker never notices"
    else:
        how = "a scan forgets it" if found.by_scan else "its connection is seen to close"
        told = f"After {after(found, found.noticed)} {how}"
    notices = [t for t in found.told if t <= found.until]
    said = f"{LEFT} is told {len(notices)} times" if notices else "Nobody is told"
    took = (
        "" if found.taken_over is None else f" {LEFT} holds all {QUEUES} queues after {after(found, found.taken_over)}."
    )
    back = "" if found.back is None else f" The broker knows {GONE} again after {after(found, found.back)}."
    return f"{GONE} disappears ({found.settings.way}). {told}. {said}.{took}{back}"


def table(found: Disappeared) -> Table:
    """Moments in their order."""
    rows: list[tuple[float, str]] = [(found.moment, f"{GONE}: {found.settings.way}")]
    rows += [(t, f"{GONE} sends a heartbeat") for t in found.sent if t >= found.moment - BEFORE_MS]
    if found.noticed is not None:
        rows.append(
            (found.noticed, "the broker forgets A: " + ("a scan" if found.by_scan else "its connection closed"))
        )
    rows += [(t, f"{LEFT} is told to rebalance") for t in found.told]
    rows += [(t, f"{LEFT} holds {count} of {QUEUES} queues") for t, count in found.owned(LEFT) if t >= found.moment]
    if found.back is not None:
        rows.append((found.back, f"the broker knows {GONE} again"))
    ordered = [(f"{(t - found.moment) / 1_000:.1f} s", what) for t, what in sorted(rows) if t < found.until]
    return Table("What happened, seconds from the disappearance", ("when", "what"), ordered)
