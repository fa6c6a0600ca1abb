"""What each way to change a subscription loses: worst, median and best over the schedules tried, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.search.plan.change import text_of
from rmqlab.search.plan.procedures import Producers
from rmqlab.show.brush import MIN_TEXT, Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, VERMILLION
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.search.plan.results import Plan, ProcedureResult

# Inches.
WIDTH, LEFT, RIGHT, TOP, ROW, FOOT = 11.4, 2.95, 7.6, 0.78, 0.34, 0.5
COLUMNS = ((8.2, "schedules"), (9.35, "taken twice"), (10.25, "takes"), (10.95, "waits"))
WORDS = {Producers.KEEP: "keep sending", Producers.WAIT: "wait"}


def plan_bars(plan: Plan) -> Picture:
    """Messages lost by each procedure, for producers that keep sending and for those that wait."""
    height = TOP + ROW * len(plan.tried) + FOOT
    title = f"{text_of(plan.change.old)} → {text_of(plan.change.new)}, {plan.setting.members} members: messages lost"
    svg = painted(WIDTH, height, lambda brush: _draw(brush, plan, title))
    return Picture(svg, title=title, alt=_alt(plan), table=plan_table(plan))


def _rows(plan: Plan) -> list[ProcedureResult]:
    names = list(dict.fromkeys(one.procedure.name for one in plan.tried))
    return sorted(plan.tried, key=lambda one: (names.index(one.procedure.name), one.producers is Producers.WAIT))


def _draw(brush: Brush, plan: Plan, title: str) -> None:
    rows = _rows(plan)
    most = max(1, *(one.spread()[2] for one in rows))
    bottom = TOP + ROW * len(rows)

    def place(lost: float) -> float:
        return LEFT + (RIGHT - LEFT) * lost / most

    brush.heading(title)
    brush.text(0.08, 0.5, "procedure, and what producers do", ha="left", colour=GREY)
    brush.text(LEFT, 0.5, "lost: best ○   median ●   worst found ◆", ha="left", colour=GREY)
    for x, words in COLUMNS:
        brush.text(x, 0.5, words, colour=GREY)
    step = max(1, -(-most // 8))
    for lost in range(0, most + 1, step):
        brush.line((place(lost), place(lost)), (TOP, bottom), PALE, 1)
        brush.text(place(lost), bottom + 0.14, str(lost), colour=GREY)
    brush.text((LEFT + RIGHT) / 2, bottom + 0.35, "messages lost")
    before = None
    for number, one in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        if one.procedure.name != before:
            brush.line((0.08, WIDTH - 0.1), (y - ROW / 2, y - ROW / 2), PALE, 1)
            brush.text(0.08, y, one.procedure.name, ha="left", bold=True)
        before = one.procedure.name
        brush.text(1.75, y, WORDS[one.producers], ha="left")
        _lost(brush, one, y, place)
        for (x, _), words in zip(COLUMNS, _costs(one), strict=True):
            brush.text(x, y, words)


def _lost(brush: Brush, one: ProcedureResult, y: float, at: Callable[[float], float]) -> None:
    best, median, worst = one.spread()
    if not worst:
        brush.text(LEFT + 0.08, y, f"✓ nothing lost{_if(one)}", ha="left", colour=GREEN, bold=True)
        return
    brush.line((at(best), at(worst)), (y, y), ORANGE, 4)
    marks = ((best, "○", BLACK, MIN_TEXT), (median, "●", BLUE, 11), (worst, "◆", VERMILLION, 12))
    for lost, mark, colour, size in marks:
        brush.text(at(lost), y, mark, size=size, colour=colour)
    beside = at(worst) + 0.12
    inside = beside + 0.2 > RIGHT
    brush.text(
        at(worst) - 0.14 if inside and worst != best else beside,
        y - (0.11 if inside and worst != best else 0), str(worst), ha="left", colour=VERMILLION,
        bold=True,
    )  # fmt: skip


def _costs(one: ProcedureResult) -> tuple[str, str, str, str]:
    tried = f"all ({one.runs} runs)" if one.exhausted else f"{one.runs} tried"
    return tried, str(one.duplicates), _seconds(one.usual.takes_ms), _seconds(one.usual.longest_wait_ms)


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:.1f} s"


def _of(one: ProcedureResult) -> str:
    return " in any order" if one.exhausted else f" in {one.runs} schedules tried"


def _if(one: ProcedureResult) -> str:
    return " if producers do their part" if one.conditions else ""


def plan_table(plan: Plan) -> Table:
    """The same as a table; ways that lose something are marked."""
    rows = [
        (one.procedure.name, WORDS[one.producers], *one.spread(), *_costs(one), " ".join(one.conditions) or None)
        for one in _rows(plan)
    ]
    marked = frozenset(number for number, one in enumerate(_rows(plan)) if not one.lossless)
    headers = (
        "procedure", "producers", "lost: best", "median", "worst found", "schedules", "taken twice", "takes",
        "longest wait", "asks of the producers",
    )  # fmt: skip
    caption = f"From {text_of(plan.change.old)} to {text_of(plan.change.new)} (marked: something is lost)"
    return Table(caption, headers, rows, marked)


def _alt(plan: Plan) -> str:
    said = [
        f"{one.procedure.name}, producers {WORDS[one.producers]}: "
        + (f"loses up to {one.spread()[2]}{_of(one)}" if not one.lossless else f"loses nothing{_if(one)}")
        for one in _rows(plan)
    ]
    return "; ".join(said) + "."
