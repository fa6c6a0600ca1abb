"""The swimlane: one lane a consumer, the broker between them, time downwards (not to scale); a schedule as a story.

The lane of the broker has the colour of the subscription in force, so that the moment it flips is seen at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.run.fates import Fate
from rmqlab.run.run_view import RunView, seconds, short
from rmqlab_tools.show.canvas import RunCanvas, fitted
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.moments import Moment, MomentKind, Scene, scenes
from rmqlab_tools.show.palette import BLACK, GREY, LOOKS, PALE, VERMILLION, WHITE, YELLOW, counted, ink, summary
from rmqlab_tools.show.tables import Table
from rmqlab_tools.show.tag_colours import paint

if TYPE_CHECKING:
    from rmqlab.run.run import Run

UNDER = 0.07  # arrows run below the middle of their row, their text above
REACHES_CLIENT = frozenset({
    Fate.DELIVERED, Fate.DROPPED_BY_CLIENT, Fate.DROPPED_BY_HOOK, Fate.RETRYING, Fate.DEAD_LETTER,
})  # fmt: skip


@dataclass(frozen=True)
class SwimlaneLayout:
    """Sizes of a timeline, in inches."""

    row: float = 0.33
    heading: float = 0.38
    top: float = 0.74
    bottom: float = 0.1
    times: float = 0.88
    zone: float = 2.7
    ribbon: float = 2.15
    lane: float = 1.05
    edge: float = 0.45


SWIMLANE = SwimlaneLayout()


class LanePlaces:
    """Where things are: x of every lane in inches, the broker's ribbon from `left` to `right`."""

    def __init__(self, names: list[str]) -> None:
        left = names[: (len(names) + 1) // 2]
        self.x = {name: SWIMLANE.times + SWIMLANE.lane * index for index, name in enumerate(left)}
        self.left = SWIMLANE.times + SWIMLANE.lane * (len(left) - 1) + SWIMLANE.zone
        self.right = self.left + SWIMLANE.ribbon
        self.middle = (self.left + self.right) / 2
        for index, name in enumerate(names[len(left) :]):
            self.x[name] = self.right + SWIMLANE.zone + SWIMLANE.lane * index
        self.width = max([*self.x.values(), self.right]) + SWIMLANE.edge

    def edge(self, client: str) -> float:
        """The side of the ribbon that faces a consumer."""
        return self.left if self.x[client] < self.left else self.right

    def away(self, client: str) -> int:
        """+1 when the broker lies to the right of the consumer, -1 otherwise."""
        return 1 if self.x[client] < self.left else -1


def swimlane(
    run: Run,
    *,
    group: str | None = None,
    topic: str | None = None,
    unusual: bool = False,
    step: int | None = None,
    title: str | None = None,
) -> Picture:
    """The story of one group and topic, from the first start to the committed offsets.

    With `unusual` the unusual choices stand where they were made. With `step` the story ends with its `step`-th
    moment (1 is the first), which is marked; the picture keeps its size.
    """
    view = RunView(run, group, topic)
    story = scenes(view, unusual=unusual)
    lanes = LanePlaces(view.names)
    height = (
        SWIMLANE.top + SWIMLANE.bottom + sum(SWIMLANE.heading + SWIMLANE.row * len(scene.moments) for scene in story)
    )
    shown = story if step is None else _until(story, step)
    end = SWIMLANE.top + sum(SWIMLANE.heading + SWIMLANE.row * len(scene.moments) for scene in shown)
    canvas = RunCanvas(lanes.width, height, view)
    _lanes(canvas, lanes, shown, height if step is None else end + SWIMLANE.bottom)
    y = SWIMLANE.top
    for scene in shown:
        canvas.block(0, y + 0.05, lanes.width, SWIMLANE.heading - 0.1, PALE, layer=2)
        canvas.text(0.08, y + SWIMLANE.heading / 2, scene.title, size=10.5, ha="left", bold=True)
        y += SWIMLANE.heading
        for moment in scene.moments:
            with canvas.saying(_in_words(moment)):
                _moment(canvas, lanes, moment, y + SWIMLANE.row / 2)
            y += SWIMLANE.row
    alt = _alt(view, shown)
    if step is not None:
        canvas.block(
            0.02,
            y - SWIMLANE.row - 0.05,
            lanes.width - 0.04,
            SWIMLANE.row + 0.05,
            "none",
            edge=BLACK,
            edge_width=1.4,
            layer=6,
        )
        last = shown[-1].moments[-1]
        alt = _(
            "Moment {step}: {kind}, {text}. {alt}",
            step=step,
            kind=_(last.kind.value),
            text=last.text or last.at_broker,
            alt=alt,
        )
    return Picture(
        canvas.svg(), title=title or _("Timeline of group {group}", group=view.group), alt=alt, table=_table(shown)
    )


def _until(story: list[Scene], step: int) -> list[Scene]:
    """The scenes up to the `step`-th moment."""
    shown = []
    for scene in story:
        if step > 0:
            shown.append(Scene(scene.title, scene.moments[:step]))
        step -= len(scene.moments)
    return shown


def _lanes(canvas: RunCanvas, lanes: LanePlaces, story: list[Scene], height: float) -> None:
    for name, x in lanes.x.items():
        colour = canvas.asked(name)
        top, bottom = SWIMLANE.top - 0.08, height - SWIMLANE.bottom
        canvas.block(x - 0.02, top, 0.04, bottom - top, colour, layer=0.5)
        canvas.chip(x, 0.36, 0.86, 0.56, colour)
        canvas.text(x, 0.27, name, size=12, on=colour, bold=True)
        text = short(canvas.view.asks[name])
        canvas.text(x, 0.5, text if "…" in text else _("asks {asked}", asked=text), on=colour)
    canvas.text(lanes.middle, 0.24, _("broker"), size=12, bold=True)
    canvas.text(lanes.middle, 0.48, _("colour: the group's one subscription"))
    canvas.text(0.08, 0.48, _("time"), colour=GREY, ha="left")
    slot, since, y = None, SWIMLANE.top - 0.08, SWIMLANE.top
    for scene in story:
        y += SWIMLANE.heading
        for moment in scene.moments:
            if moment.slot != slot:
                _ribbon(canvas, lanes, since, y + SWIMLANE.row / 2, slot)
                slot, since = moment.slot, y + SWIMLANE.row / 2
            y += SWIMLANE.row
    _ribbon(canvas, lanes, since, height - SWIMLANE.bottom, slot)


def _ribbon(canvas: RunCanvas, lanes: LanePlaces, top: float, bottom: float, slot: str | None) -> None:
    canvas.block(lanes.left, top, SWIMLANE.ribbon, bottom - top, paint(slot))


def _moment(canvas: RunCanvas, lanes: LanePlaces, moment: Moment, y: float) -> None:
    canvas.text(0.08, y, seconds(moment.t), colour=GREY, ha="left")
    known = [client for client in moment.who if client in lanes.x]
    if moment.kind is MomentKind.MESSAGE:
        _message(canvas, lanes, moment, known, y)
        return
    if moment.kind is MomentKind.CHOICE:
        canvas.chip(
            (SWIMLANE.times + lanes.width) / 2,
            y,
            lanes.width - SWIMLANE.times - 0.6,
            SWIMLANE.row - 0.05,
            YELLOW,
            BLACK,
        )
        canvas.text(
            (SWIMLANE.times + lanes.width) / 2,
            y,
            fitted(_("unusual: {at_broker}", at_broker=moment.at_broker), lanes.width - SWIMLANE.times - 0.8),
        )
        return
    for client in known:
        colour = BLACK if moment.taken else GREY
        ends = (lanes.x[client], y + UNDER), (lanes.edge(client), y + UNDER)
        if moment.kind is MomentKind.REBALANCE:
            canvas.spot(lanes.x[client], y, 6, BLACK, shape="diamond")
        elif moment.kind is MomentKind.FAULT:
            canvas.spot(lanes.x[client], y, 9, VERMILLION, shape="cross")
        elif moment.kind is MomentKind.NOTIFY:
            canvas.arrow(ends[1], ends[0])
        else:
            canvas.arrow(*ends, colour, dashed=not moment.taken)
        _beside(
            canvas, lanes, client, moment.text, y, above=moment.kind not in {MomentKind.REBALANCE, MomentKind.FAULT}
        )
    if moment.at_broker:
        _chip(canvas, lanes, moment.at_broker, y, BLACK if moment.taken else GREY)


def _in_words(moment: Moment) -> str:
    """What the pointer shows: when, who, what, on both sides."""
    parts = (
        joined(": ", (seconds(moment.t), _(moment.kind.value))),
        joined(", ", moment.who),
        moment.text,
        moment.at_broker,
    )
    return joined("; ", filter(None, parts))


def _message(canvas: RunCanvas, lanes: LanePlaces, moment: Moment, known: list[str], y: float) -> None:
    fate = moment.fate or Fate.WAITING
    look = moment.look or LOOKS[fate]
    stays = fate not in REACHES_CLIENT
    _chip(canvas, lanes, f"{look.mark} {moment.at_broker}" if stays else moment.at_broker, y, look.colour)
    for client in known:
        x, edge = lanes.x[client], lanes.edge(client)
        if stays:
            canvas.arrow((x, y + UNDER), (edge, y + UNDER), GREY, dashed=True)
        else:
            canvas.arrow((edge, y + UNDER), (x + lanes.away(client) * 0.14, y + UNDER), look.colour)
            canvas.spot(x, y, 12, look.colour)
            canvas.text(x, y, look.mark, colour=ink(look.colour))
        _beside(canvas, lanes, client, moment.text, y, above=True)


def _beside(canvas: RunCanvas, lanes: LanePlaces, client: str, text: str, y: float, *, above: bool) -> None:
    """Text in the zone between a consumer and the broker, over the arrow if there is one."""
    away = lanes.away(client)
    x = lanes.edge(client) - away * (SWIMLANE.zone - 0.2)
    canvas.text(x, y - (0.085 if above else 0), text, ha="left" if away > 0 else "right")


def _chip(canvas: RunCanvas, lanes: LanePlaces, text: str, y: float, colour: str) -> None:
    canvas.chip(lanes.middle, y, SWIMLANE.ribbon - 0.16, SWIMLANE.row - 0.07, WHITE, colour)
    canvas.text(lanes.middle, y, text)


def _alt(view: RunView, story: list[Scene]) -> str:
    slots = [view.slots[0].expression] if view.slots else []
    for slot in view.slots[1:]:
        if slot.expression != slots[-1]:
            slots.append(slot.expression)
    asks = joined(", ", (_("{name} asks for {asks}", name=name, asks=view.asks[name]) for name in view.names))
    return _(
        "Lanes for {names} and the broker: {asks}. The group's one subscription in the broker is "
        "{slots}. Of {counted}: {summary}. {moments} moments, listed in the table.",
        names=joined(", ", view.names),
        asks=asks,
        slots=joined(", then ", slots) or _("never set"),
        counted=counted(view),
        summary=summary(view.fates),
        moments=sum(len(scene.moments) for scene in story),
    )


def _table(story: list[Scene]) -> Table:
    rows = [
        (
            seconds(moment.t),
            joined(", ", moment.who) or "–",
            _(moment.kind.value),
            moment.text,
            moment.at_broker,
            moment.slot,
        )
        for scene in story
        for moment in scene.moments
    ]
    headers = (_("time"), _("who"), _("what"), _("consumer's side"), _("broker's side"), _("subscription in force"))
    return Table(_("Timeline, moment by moment"), headers, rows)


def story_picture(run: Run, title: str, *, step: int | None = None) -> Picture:
    """The swimlane of a run, its unusual choices where they were made; `step` as in `swimlane`."""
    group, topic = subject(run)
    return swimlane(run, group=group, topic=topic, unusual=True, step=step, title=title)


def scenes_of(run: Run) -> list[Scene]:
    """The story of a run in scenes, with its unusual choices."""
    return scenes(RunView(run, *subject(run)), unusual=True)


def story_text(run: Run, title: str) -> str:
    """The same story in lines: what is unusual, who is to blame, every moment, and the schedule that repeats it."""
    from rmqlab_tools.search.explorer.explanation import blame

    view = RunView(run, *subject(run))
    lines = [
        title,
        _("scenario {id}, group {group}, topic {topic}", id=run.scenario.id, group=view.group, topic=view.topic),
        "",
        _("who is to blame"),
    ]
    lines += [f"  {line}" for line in blame(run)] or [("  " + _("nobody: this is the usual order"))]
    for scene in scenes_of(run):
        lines += ["", scene.title]
        for moment in scene.moments:
            clients = f"{', '.join(moment.who)}: " if moment.who else ""
            said = " | ".join(
                filter(None, (f"{clients}{moment.text}" if moment.text or clients else "", moment.at_broker))
            )
            lines.append(
                "  "
                + _(
                    "{seconds}  {kind}  {said}  [slot {slot}]",
                    seconds=f"{seconds(moment.t):>9}",
                    kind=f"{moment.kind:<13}",
                    said=said,
                    slot=moment.slot or "-",
                )
            )
    lines += ["", _("the scenario, one line of a file for rmqlab simulate FILE"), run.scenario.to_json()]
    lines += [_("the schedule, a file for rmqlab simulate FILE --schedule"), run.schedule.to_json()]
    return "\n".join(map(str, lines)) + "\n"


def subject(run: Run) -> tuple[str | None, str | None]:
    """Group and topic that a story is about: those of the first lost message, else the first there are."""
    lost = next((fate for fate in run.fates if fate.lost), None)
    return (None, None) if lost is None else (lost.group, lost.topic)
