"""Ways to change a subscription: what each loses over the schedules tried, and the worst run of one over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.lab.facts import BROKER
from rmqlab.lab.scenario import Start, Subscription
from rmqlab.lab.simulate import TOPICS_SETTLE_MS
from rmqlab.search.plan.change import TOPIC, MessageKind, text_of
from rmqlab.search.plan.procedures import GROUP, Producers
from rmqlab.search.plan.run_cost import cost_of
from rmqlab.show.canvas import MIN_TEXT, Canvas, cut, painted
from rmqlab.show.charts import TimeScale
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, SKY, VERMILLION, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.search.plan.results import Plan, ProcedureResult

# Inches.
WIDTH, LEFT, RIGHT, TOP, LANE, FOOT = 11.4, 1.7, 11.2, 0.5, 0.34, 0.5
BEFORE_MS, AFTER_MS = 500, 600
LETTER = 0.09  # inches: the mean of a text
NARROW = 0.62  # a span that is shorter has no room for its text
# Of the bars.
BARS_LEFT, BARS_RIGHT, BARS_TOP, BARS_ROW, BARS_FOOT = 2.95, 7.6, 0.78, 0.34, 0.5
COLUMNS = ((8.2, "schedules"), (9.35, "taken twice"), (10.25, "takes"), (10.95, "waits"))
WORDS = {Producers.KEEP: "keep sending", Producers.WAIT: "wait"}


@dataclass(frozen=True, slots=True)
class _Span:
    lane: str
    begin: float
    end: float
    wants: str | None


@dataclass(frozen=True, slots=True)
class _Story:
    """What is drawn: spans of lanes, sent messages (t, kind, queue, body, state), from when to when (ms)."""

    spans: list[_Span]
    messages: list[tuple[float, MessageKind, int, str, str]]
    begin: float
    end: float
    zero: float


def plan_lanes(plan: Plan, tried: ProcedureResult) -> Picture:
    """The worst run of a procedure; 0 s is the first step of the change."""
    story = _story(plan, tried)
    lanes = list(dict.fromkeys(span.lane for span in story.spans))
    kinds = [kind for kind in MessageKind if kind in plan.change.kinds]
    height = TOP + LANE * (len(lanes) + len(kinds)) + FOOT + 0.15
    loss = f"{len(tried.cost.lost)} lost" if tried.cost.lost else "nothing lost"
    title = f"{tried.procedure.name}, producers {'keep sending' if tried.producers == 'keep' else 'wait'}: {loss}"
    svg = painted(WIDTH, height, lambda canvas: _draw(canvas, story, lanes, plan, title))
    return Picture(svg, title=title, alt=_alt(tried, story), table=_table(story))


def _story(plan: Plan, tried: ProcedureResult) -> _Story:
    run = tried.worst
    zero = TOPICS_SETTLE_MS + float(tried.course.change_at)
    cost = cost_of(run, plan.change, zero)
    sent = [event for event in run.events if event["ev"] == "sent" and event["t"] >= zero - BEFORE_MS]
    end = max([event["t"] for event in sent] + [zero + tried.usual.takes_ms]) + AFTER_MS
    starts = [step for step in run.scenario.steps if isinstance(step, Start)]
    spans: list[_Span] = []
    running: dict[str, tuple[float, Start]] = {}
    for event in run.events:
        who = event.get("who", "")
        if event["ev"] == "started":
            step = next(one for one in starts if one.who == who)
            starts.remove(step)
            running[who] = (event["t"], step)
        elif event["ev"] == "stopping" and who in running and event["t"] < end:
            since, step = running.pop(who)
            spans.append(_Span(who, since, event["t"], _wants(step)))
    spans += [_Span(who, since, end, _wants(step)) for who, (since, step) in running.items() if since < end]
    spans.sort(key=lambda span: (span.lane[0] != "C", span.lane, span.begin))
    spans += _slot(tried, end)
    taken = {event["body"] for event in run.events if event["ev"] == "consume"}
    messages = []
    for event in sent:
        body = event["body"]
        state = "taken" if body in taken else "lost" if body in cost.lost else "nobody wants it"
        messages.append((event["t"], MessageKind(body.partition("-")[0]), event["queue"], body, state))
    return _Story(spans, messages, zero - BEFORE_MS, end, zero)


def _wants(step: Start) -> str:
    topic, one = next(iter(step.subscribe.items()))
    return text_of(one) if topic == TOPIC else f"{text_of(one)} of {topic}"


def _slot(tried: ProcedureResult, end: float) -> list[_Span]:
    spans: list[_Span] = []
    since, held = 0.0, None
    for fact in tried.worst.facts.of("subscription"):
        if fact.source != BROKER or (fact["group"], fact["topic"]) != (GROUP, TOPIC) or fact.t > end:
            continue
        data = fact["new"]
        kind = "TAG" if data is None or data.is_tag else "SQL92"
        text = None if data is None else text_of(Subscription(type=kind, expr=data.sub_string))  # type: ignore[arg-type]
        if text != held:
            if held is not None:
                spans.append(_Span("the broker holds", since, fact.t, held))
            since, held = fact.t, text
    return [*spans, _Span("the broker holds", since, end, held)] if held is not None else spans


def _draw(canvas: Canvas, story: _Story, lanes: list[str], plan: Plan, title: str) -> None:
    time = TimeScale(story.begin, story.end, LEFT, RIGHT)
    place = time.x
    colours = {text_of(plan.change.old): BLUE, text_of(plan.change.new): ORANGE}
    canvas.heading(title)
    for number, lane in enumerate(lanes):
        y = TOP + LANE * (number + 0.5)
        canvas.text(0.08, y, lane, ha="left", bold=lane == "the broker holds")
        canvas.line((LEFT, RIGHT), (y, y), PALE, 4)
        for span in story.spans:
            if span.lane == lane and span.end > story.begin:
                left, right = place(span.begin), place(span.end)
                colour = colours.get(str(span.wants), SKY)
                canvas.block(left, y - 0.12, right - left, 0.24, colour)
                if right - left > NARROW:
                    text = cut(str(span.wants), max(3, int((right - left) / LETTER)))
                    canvas.text((left + right) / 2, y, text, colour=ink(colour))
    _messages(canvas, story, plan, TOP + LANE * len(lanes), place)
    bottom = TOP + LANE * (len(lanes) + len(plan.change.kinds))
    time.axis(canvas, bottom, story.zero)
    words = "seconds since the change began     messages: ✓ taken   ✗ lost   · nobody wanted it"
    canvas.text(LEFT, bottom + 0.4, words, ha="left", colour=GREY)


def _messages(canvas: Canvas, story: _Story, plan: Plan, top: float, place: Callable[[float], float]) -> None:
    looks = {"taken": ("✓", GREEN), "lost": ("✗", VERMILLION), "nobody wants it": ("·", GREY)}
    names = {MessageKind.OLD: "only OLD takes", MessageKind.NEW: "only NEW takes", MessageKind.BOTH: "both take"}
    for number, kind in enumerate(kind for kind in MessageKind if kind in plan.change.kinds):
        y = top + LANE * (number + 0.5)
        canvas.text(0.08, y, names[kind], ha="left")
        for t, its, queue, _, state in story.messages:
            if its is kind:
                mark, colour = looks[state]
                x = place(t) + 0.1 * (queue - (plan.setting.queues - 1) / 2)
                canvas.text(x, y, mark, colour=colour, bold=True)


def _alt(tried: ProcedureResult, story: _Story) -> str:
    slot = [span.wants for span in story.spans if span.lane == "the broker holds" and span.end > story.begin]
    held = ", then ".join(map(str, slot))
    lost = [body for _, _, _, body, state in story.messages if state == "lost"]
    return (
        f"{tried.procedure.title}. The broker holds for the group: {held}. "
        f"Of {len(story.messages)} messages {len(lost)} are lost{': ' + ', '.join(lost) if lost else ''}."
    )


def _table(story: _Story) -> Table:
    rows: list[tuple[float, str, str]] = [
        (max(span.begin, story.begin), span.lane, str(span.wants)) for span in story.spans if span.end > story.begin
    ]
    rows += [
        (span.end, span.lane, "stops")
        for span in story.spans
        if story.begin < span.end < story.end and span.lane != "the broker holds"
    ]
    rows += [(t, f"{body} to queue {queue}", state) for t, _, queue, body, state in story.messages]
    ordered = sorted(rows, key=lambda row: row[0])
    marked = frozenset(number for number, row in enumerate(ordered) if row[2] == "lost")
    told = [(f"{(t - story.zero) / 1_000:.2f} s", who, what) for t, who, what in ordered]
    return Table("What happened (marked: lost)", ("since the change began", "who", "what"), told, marked)


def plan_bars(plan: Plan) -> Picture:
    """Messages lost by each procedure, for producers that keep sending and for those that wait."""
    height = BARS_TOP + BARS_ROW * len(plan.tried) + BARS_FOOT
    title = f"{text_of(plan.change.old)} → {text_of(plan.change.new)}, {plan.setting.members} members: messages lost"
    svg = painted(WIDTH, height, lambda canvas: _draw_losses(canvas, plan, title))
    return Picture(svg, title=title, alt=_losses_alt(plan), table=plan_table(plan))


def _rows(plan: Plan) -> list[ProcedureResult]:
    names = list(dict.fromkeys(one.procedure.name for one in plan.tried))
    return sorted(plan.tried, key=lambda one: (names.index(one.procedure.name), one.producers is Producers.WAIT))


def _draw_losses(canvas: Canvas, plan: Plan, title: str) -> None:
    rows = _rows(plan)
    most = max(1, *(one.spread()[2] for one in rows))
    bottom = BARS_TOP + BARS_ROW * len(rows)

    def place(lost: float) -> float:
        return BARS_LEFT + (BARS_RIGHT - BARS_LEFT) * lost / most

    canvas.heading(title)
    canvas.text(0.08, 0.5, "procedure, and what producers do", ha="left", colour=GREY)
    canvas.text(BARS_LEFT, 0.5, "lost: best ○   median ●   worst found ◆", ha="left", colour=GREY)
    for x, words in COLUMNS:
        canvas.text(x, 0.5, words, colour=GREY)
    step = max(1, -(-most // 8))
    for lost in range(0, most + 1, step):
        canvas.line((place(lost), place(lost)), (BARS_TOP, bottom), PALE, 1)
        canvas.text(place(lost), bottom + 0.14, str(lost), colour=GREY)
    canvas.text((BARS_LEFT + BARS_RIGHT) / 2, bottom + 0.35, "messages lost")
    before = None
    for number, one in enumerate(rows):
        y = BARS_TOP + BARS_ROW * (number + 0.5)
        if one.procedure.name != before:
            canvas.line((0.08, WIDTH - 0.1), (y - BARS_ROW / 2, y - BARS_ROW / 2), PALE, 1)
            canvas.text(0.08, y, one.procedure.name, ha="left", bold=True)
        before = one.procedure.name
        canvas.text(1.75, y, WORDS[one.producers], ha="left")
        _lost(canvas, one, y, place)
        for (x, _), words in zip(COLUMNS, _costs(one), strict=True):
            canvas.text(x, y, words)


def _lost(canvas: Canvas, one: ProcedureResult, y: float, at: Callable[[float], float]) -> None:
    best, median, worst = one.spread()
    if not worst:
        canvas.text(BARS_LEFT + 0.08, y, f"✓ nothing lost{_if(one)}", ha="left", colour=GREEN, bold=True)
        return
    canvas.line((at(best), at(worst)), (y, y), ORANGE, 4)
    marks = ((best, "○", BLACK, MIN_TEXT), (median, "●", BLUE, 11), (worst, "◆", VERMILLION, 12))
    for lost, mark, colour, size in marks:
        canvas.text(at(lost), y, mark, size=size, colour=colour)
    beside = at(worst) + 0.12
    inside = beside + 0.2 > BARS_RIGHT
    canvas.text(
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


def _losses_alt(plan: Plan) -> str:
    said = [
        f"{one.procedure.name}, producers {WORDS[one.producers]}: "
        + (f"loses up to {one.spread()[2]}{_of(one)}" if not one.lossless else f"loses nothing{_if(one)}")
        for one in _rows(plan)
    ]
    return "; ".join(said) + "."
