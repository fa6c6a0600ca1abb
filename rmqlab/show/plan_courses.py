"""A change of subscription over time: who runs with what, what the broker holds for all, which messages are lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.lab.facts import BROKER
from rmqlab.lab.scenario import Start, Subscription
from rmqlab.lab.simulate import TOPICS_SETTLE_MS
from rmqlab.search.plan.change import TOPIC, MessageKind, text_of
from rmqlab.search.plan.procedures import GROUP
from rmqlab.search.plan.run_cost import cost_of
from rmqlab.show.brush import Brush, cut, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLUE, GREEN, GREY, ORANGE, PALE, SKY, VERMILLION, ink
from rmqlab.show.tables import Table
from rmqlab.show.time_scale import TimeScale

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.search.plan.results import Plan, ProcedureResult

# Inches.
WIDTH, LEFT, RIGHT, TOP, LANE, FOOT = 11.4, 1.7, 11.2, 0.5, 0.34, 0.5
BEFORE_MS, AFTER_MS = 500, 600
LETTER = 0.09  # inches: the mean of a text
NARROW = 0.62  # a span that is shorter has no room for its text


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
    svg = painted(WIDTH, height, lambda brush: _draw(brush, story, lanes, plan, title))
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


def _draw(brush: Brush, story: _Story, lanes: list[str], plan: Plan, title: str) -> None:
    time = TimeScale(story.begin, story.end, LEFT, RIGHT)
    place = time.x
    colours = {text_of(plan.change.old): BLUE, text_of(plan.change.new): ORANGE}
    brush.heading(title)
    for number, lane in enumerate(lanes):
        y = TOP + LANE * (number + 0.5)
        brush.text(0.08, y, lane, ha="left", bold=lane == "the broker holds")
        brush.line((LEFT, RIGHT), (y, y), PALE, 4)
        for span in story.spans:
            if span.lane == lane and span.end > story.begin:
                left, right = place(span.begin), place(span.end)
                colour = colours.get(str(span.wants), SKY)
                brush.block(left, y - 0.12, right - left, 0.24, colour)
                if right - left > NARROW:
                    text = cut(str(span.wants), max(3, int((right - left) / LETTER)))
                    brush.text((left + right) / 2, y, text, colour=ink(colour))
    _messages(brush, story, plan, TOP + LANE * len(lanes), place)
    bottom = TOP + LANE * (len(lanes) + len(plan.change.kinds))
    time.axis(brush, bottom, story.zero)
    words = "seconds since the change began     messages: ✓ taken   ✗ lost   · nobody wanted it"
    brush.text(LEFT, bottom + 0.4, words, ha="left", colour=GREY)


def _messages(brush: Brush, story: _Story, plan: Plan, top: float, place: Callable[[float], float]) -> None:
    looks = {"taken": ("✓", GREEN), "lost": ("✗", VERMILLION), "nobody wants it": ("·", GREY)}
    names = {MessageKind.OLD: "only OLD takes", MessageKind.NEW: "only NEW takes", MessageKind.BOTH: "both take"}
    for number, kind in enumerate(kind for kind in MessageKind if kind in plan.change.kinds):
        y = top + LANE * (number + 0.5)
        brush.text(0.08, y, names[kind], ha="left")
        for t, its, queue, _, state in story.messages:
            if its is kind:
                mark, colour = looks[state]
                x = place(t) + 0.1 * (queue - (plan.setting.queues - 1) / 2)
                brush.text(x, y, mark, colour=colour, bold=True)


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
