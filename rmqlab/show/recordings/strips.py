"""Two strips, one above the other on one clock: the real broker's run and ours, what differs between them marked."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rmqlab.lab.run_view import short
from rmqlab.show.brush import Brush, Shape, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, GREEN, GREY, ORANGE, PALE, TAG_COLOURS, VERMILLION, WHITE, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from rmqlab.lab.recorded.matched_runs import MatchedRuns
    from rmqlab.lab.recorded.run_timeline import Mark, RunTimeline

# Inches.
WIDTH, LEFT, RIGHT = 9.8, 1.5, 0.3
HEAD, SLOT, LANE, GAP, AXIS, LEGEND = 0.34, 0.3, 0.44, 0.16, 0.42, 0.3
NEAR_MS = 0.012  # of the whole: marks closer than this are one mark with a number
BEFORE_MS = 500.0
EMPTY = "none"


class _Drawing:
    """Draws both strips on one axis of time."""

    def __init__(self, brush: Brush, pair: MatchedRuns) -> None:
        self.brush = brush
        self.pair = pair
        self.begin, self.end = -BEFORE_MS, max(pair.recorded.end, 1_000.0) * 1.01
        asked = [slot.expression for strip in (pair.recorded, pair.simulated) for slot in strip.slots]
        wanted = dict.fromkeys(expression for expression in asked if expression is not None)
        self.colours = dict(zip(wanted, TAG_COLOURS, strict=False))

    def x(self, t: float) -> float:
        inside = min(max(t, self.begin), self.end)
        return LEFT + (WIDTH - LEFT - RIGHT) * (inside - self.begin) / (self.end - self.begin)

    def draw(self) -> None:
        """Both strips, the axis, the legend."""
        top = 0.0
        for strip in (self.pair.recorded, self.pair.simulated):
            self.strip(strip, top)
            top += _height(strip) + GAP
        self.axis(top)
        self.legend(top + AXIS)

    def strip(self, strip: RunTimeline, top: float) -> None:
        """One run: who holds the slot, then a lane for each consumer."""
        real = strip is self.pair.recorded
        self.brush.text(0.08, top + 0.15, f"{'Recorded' if real else 'Simulated'}: {strip.source}", ha="left", size=9.5,
                        bold=True)  # fmt: skip
        middle = top + HEAD + SLOT / 2
        self.brush.text(0.08, middle, "the group's slot", ha="left")
        self.brush.block(LEFT, top + HEAD, WIDTH - LEFT - RIGHT, SLOT - 0.06, PALE)
        edges = [*strip.slots, None]
        for one, after in pairwise(edges):
            until = self.end if after is None else after.t
            if one is not None and one.expression is not None:
                self.slot(one.expression, self.x(one.t), self.x(until), top + HEAD)
        for number, who in enumerate(strip.names):
            self.lane(strip, who, top + HEAD + SLOT + LANE * (number + 0.5))
        for mark in _grouped(strip.sent, (self.end - self.begin) * NEAR_MS):
            x = self.x(mark[0])
            self.brush.line((x, x), (top + HEAD, top + _height(strip)), BLACK, 0.8)

    def slot(self, expression: str, left: float, right: float, top: float) -> None:
        colour = self.colours.get(expression, GREY)
        self.brush.block(left, top, right - left, SLOT - 0.06, colour, edge=WHITE, edge_width=0.4)
        if right - left > 0.08 * len(short(expression)):
            self.brush.text((left + right) / 2, top + SLOT / 2 - 0.03, short(expression), colour=ink(colour))

    def lane(self, strip: RunTimeline, who: str, y: float) -> None:
        """Pulls as ticks, heartbeats as rings, notices as arrows, what was consumed as green diamonds with a number."""
        brush = self.brush
        brush.text(0.08, y, who, ha="left", size=9, bold=True)
        if who in strip.asked:
            brush.text(0.4, y - 0.09, f"wants {short(strip.asked[who])}", ha="left", size=7.5)
        got, below = len(strip.bodies(who)), strip is self.pair.simulated
        agrees = self.pair.agrees(who)
        sign = "" if not below else ": the same" if agrees else ": NOT the same"
        colour = VERMILLION if below and not agrees else BLACK
        brush.text(0.4, y + 0.08, f"got {got}{sign}", ha="left", size=7.5, colour=colour)
        brush.line((LEFT, WIDTH - RIGHT), (y, y), PALE, 3)
        for mark in strip.pulls:
            if mark.who == who:
                brush.line((self.x(mark.t), self.x(mark.t)), (y + 0.05, y + 0.16), GREY, 0.7)
        for mark in strip.beats:
            if mark.who == who:
                brush.spot(self.x(mark.t), y, 5.5, WHITE, edge=TAG_COLOURS[0])
        for mark in strip.told:
            if mark.who == who:
                brush.spot(self.x(mark.t), y - 0.15, 4.5, ORANGE, shape="down")
        for mark in strip.broken:
            if mark.who == who:
                brush.spot(self.x(mark.t), y, 8, VERMILLION, shape="cross")
                brush.text(self.x(mark.t) + 0.08, y - 0.14, mark.text, ha="left", colour=VERMILLION)
        mine = [mark for mark in strip.consumed if mark.who == who]
        for t, count in _grouped(mine, (self.end - self.begin) * NEAR_MS * 3):
            brush.spot(self.x(t), y, 8, GREEN, shape="diamond")
            brush.text(self.x(t) + 0.1, y - 0.1, str(count), ha="left", bold=True)

    def axis(self, y: float) -> None:
        brush, width = self.brush, self.end - self.begin
        step = next(s for s in (1_000, 2_000, 5_000, 10_000, 20_000, 50_000) if width / s <= 12)
        for number in range(int(self.end // step) + 1):
            x = self.x(number * step)
            brush.line((x, x), (y - GAP / 2, y - GAP / 2 + 0.05), GREY, 1)
            brush.text(x, y + 0.08, f"{number * step / 1_000:g}", colour=GREY)
        brush.text(0.08, y + 0.08, "s from the first start", ha="left", colour=GREY)

    def legend(self, y: float) -> None:
        """What the marks mean; colours of the slot are written into it."""
        x = LEFT
        marks: tuple[tuple[Shape, str, str, str], ...] = (
            ("round", WHITE, TAG_COLOURS[0], "heartbeat"), ("down", ORANGE, ORANGE, "told: members changed"),
            ("bar", GREY, GREY, "pull answered"), ("diamond", GREEN, GREEN, "consumed"),
            ("bar", BLACK, BLACK, "messages sent"),
        )  # fmt: skip
        for shape, face, edge, words in marks:
            self.brush.spot(x, y, 6, face, edge=edge, shape=shape)
            self.brush.text(x + 0.12, y, words, ha="left")
            x += 0.45 + 0.075 * len(words)


def _height(strip: RunTimeline) -> float:
    return HEAD + SLOT + LANE * len(strip.names)


def _grouped(marks: list[Mark], near_ms: float) -> list[tuple[float, int]]:
    """First moments and numbers of marks that follow each other closely."""
    groups: list[tuple[float, int]] = []
    last = 0.0
    for mark in marks:
        if groups and mark.t - last < near_ms:
            groups[-1] = (groups[-1][0], groups[-1][1] + 1)
        else:
            groups.append((mark.t, 1))
        last = mark.t
    return groups


def strips(pair: MatchedRuns) -> Picture:
    """The recorded run above, the simulated one below."""
    height = _height(pair.recorded) + _height(pair.simulated) + 2 * GAP + AXIS + LEGEND
    svg = painted(WIDTH, height, lambda brush: _Drawing(brush, pair).draw())
    title = f"{pair.recorded.scenario.id}: recorded and simulated"
    return Picture(svg, title=title, alt=alt(pair), table=side_by_side(pair))


def alt(pair: MatchedRuns) -> str:
    """What a listener must know."""
    decisive = [one for one in pair.pairs() if one.exact]
    wrong = [one.what for one in decisive if one.differs]
    told = f"Different: {', '.join(wrong)}." if wrong else f"All {len(decisive)} things that must agree do."
    counts = "; ".join(
        f"{who} consumed {len(pair.recorded.bodies(who))} there and {len(pair.simulated.bodies(who))} here"
        for who in pair.names
    )
    return (
        f"Scenario {pair.recorded.scenario.id}, the recorded run above, the simulated one below. {counts}. {told} "
        f"{len(pair.recorded.slots)} values of the group's slot there, {len(pair.simulated.slots)} here."
    )


def side_by_side(pair: MatchedRuns) -> Table:
    """Everything looked at in both runs; a difference is marked."""
    pairs = pair.pairs()
    rows = [
        (one.what, _shown(one.recorded), _shown(one.simulated), "must agree" if one.exact else "moves with the clocks")
        for one in pairs
    ]
    marked = frozenset(number for number, one in enumerate(pairs) if one.differs)
    headers = ("what", "the real broker", "the simulation", "")
    return Table(f"{pair.recorded.scenario.id}: side by side (marked: different)", headers, rows, marked)


def _shown(value: object) -> str:
    match value:
        case None:
            return EMPTY
        case dict():
            return ", ".join(f"{key}: {one}" for key, one in value.items()) or EMPTY
        case list():
            texts = [EMPTY if one is None else str(one) for one in value]
            return ", ".join(texts if len(texts) <= 8 else [*texts[:7], f"and {len(texts) - 7} more"]) or EMPTY
        case _:
            return str(value)
