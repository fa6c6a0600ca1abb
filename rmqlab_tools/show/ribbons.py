"""Who owns which queue: ribbons over time, and a grid of before and after a change.

One colour a member; two owners at once and no owner stand out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, joined, ngettext
from rmqlab.run.ownership import NOBODY, Ownership
from rmqlab_tools.show.canvas import BOLD, ROOM_TEXT, WIDTH, Canvas, fitting, painted, text_width
from rmqlab_tools.show.charts import TimeScale, checked
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.heat_maps import heat_map
from rmqlab_tools.show.palette import BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rmqlab.run.ownership import OwnersRecord
    from rmqlab.run.run import Run

OWNER_COLOURS = (BLUE, ORANGE, SKY, YELLOW, PURPLE, GREEN)
DARK_RED = "#A63F00"  # text: 4.5:1 and more on white
MAX_TOLD = 400
SHORT_STRETCH_MS = 1_000  # shorter than that is a matter of the table
LEVELS = 2  # labels of happenings that come close stand above each other
# Of the grid.
NONE = "–"  # nobody owns a queue
MEMBER_COLOURS = (BLUE, ORANGE, SKY, YELLOW, GREEN, VERMILLION)
NEWCOMER = PURPLE


@dataclass(frozen=True)
class RibbonsLayout:
    """Sizes of ribbons of owners, in inches."""

    left_edge: float = 1.7
    right_edge: float = 0.2
    events: float = 0.42
    told: float = 0.82
    top: float = 1.08
    row: float = 0.46
    thick: float = 0.36


RIBBONS = RibbonsLayout()


def ribbons(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """A ribbon for each queue of a group's topic (the first ones by default), from the first start to the end."""
    life = Ownership(run, group, topic)
    stretches = life.stretches()
    time = TimeScale(life.zero, max(life.end, life.zero + 1), RIBBONS.left_edge, WIDTH - RIBBONS.right_edge)
    width, place, floor = time.right - time.left, time.x, RIBBONS.top + life.queues * RIBBONS.row

    def draw(canvas: Canvas) -> None:
        _happenings(canvas, life, place, floor)
        canvas.text(
            0.08,
            RIBBONS.told,
            _("told (code 40)"),
            size=fitting(_("told (code 40)"), RIBBONS.left_edge - 0.14),
            ha="left",
        )
        for t in life.told[:MAX_TOLD]:
            canvas.line((place(t), place(t)), (RIBBONS.told - 0.09, RIBBONS.told + 0.09), ORANGE, 2)
        if not life.told:
            canvas.text(
                RIBBONS.left_edge + width / 2,
                RIBBONS.told,
                _("nobody is told anything"),
                size=ROOM_TEXT,
                colour=DARK_RED,
            )
        for queue in range(life.queues):
            y = RIBBONS.top + queue * RIBBONS.row
            canvas.text(0.08, y + RIBBONS.thick / 2, _("queue {queue}", queue=queue), size=ROOM_TEXT, ha="left")
            canvas.block(RIBBONS.left_edge, y, width, RIBBONS.thick, PALE)
        for stretch in stretches:
            words = _(
                "queue {queue}: {owners} for {duration}",
                queue=stretch.queue,
                owners=stretch.owners,
                duration=duration(stretch.until - stretch.since),
            )
            with canvas.saying(words):
                _stretch(canvas, life, stretch, place)
        _pauses(canvas, life, place)
        time.axis(canvas, floor, life.zero, size=ROOM_TEXT)
        said = _summary(life, stretches)
        canvas.text(0.08, floor + 0.56, said, size=fitting(said, WIDTH - 0.16, bold=True), ha="left", bold=True)

    svg = painted(WIDTH, floor + 0.78, draw)
    return Picture(svg, title=_("Who owns which queue"), alt=_alt(life, stretches), table=_table(life, stretches))


def duration(ms: float) -> str:
    """Milliseconds as text: ms below one second, else seconds."""
    if ms < 1:
        return _("under 1 ms") if ms else _("never")
    return f"{ms:.0f} ms" if ms < SHORT_STRETCH_MS else f"{ms / 1_000:.1f} s"


def _happenings(canvas: Canvas, life: Ownership, place: Callable[[float], float], floor: float) -> None:
    canvas.text(0.08, RIBBONS.events, _("what happens"), size=ROOM_TEXT, ha="left")
    ends = [0.0] * LEVELS
    for event in life.events:
        x = place(event.t)
        canvas.line((x, x), (RIBBONS.events + 0.1, floor), GREY, 0.9)
        words = f"{event.who} {event.what}"
        long = BOLD * text_width(words, ROOM_TEXT)
        at = min(x, WIDTH - 0.1 - long)
        level = next((number for number, end in enumerate(ends) if end <= at), None)
        if level is not None:
            ends[level] = at + long + 0.08
            canvas.text(at, RIBBONS.events - 0.24 * level, words, size=ROOM_TEXT, ha="left", bold=True)


def _stretch(canvas: Canvas, life: Ownership, stretch: OwnersRecord, place: Callable[[float], float]) -> None:
    left, right, y = place(stretch.since), place(stretch.until), RIBBONS.top + stretch.queue * RIBBONS.row
    wide = right - left
    if not stretch.members:
        if stretch.until - stretch.since >= SHORT_STRETCH_MS:
            canvas.block(left, y, wide, RIBBONS.thick, WHITE, edge=VERMILLION, edge_width=1.3, dashed=True, layer=2)
            text = NOBODY if wide > text_width(NOBODY, ROOM_TEXT) + 0.05 else "–"
            if wide > text_width("–", ROOM_TEXT) + 0.05:
                canvas.text(left + wide / 2, y + RIBBONS.thick / 2, text, size=ROOM_TEXT, colour=DARK_RED)
        return
    names = stretch.owners.split(" and ")
    thin = RIBBONS.thick / len(names)
    for number, name in enumerate(names):
        colour, top = OWNER_COLOURS[life.members.index(name) % len(OWNER_COLOURS)], y + number * thin
        canvas.block(left, top, wide, thin, colour, edge=WHITE, edge_width=0.6)
        if len(names) == 1 and wide > text_width(name) + 0.04:
            size = fitting(name, wide - 0.04)
            canvas.text((left + right) / 2, top + thin / 2, name, size=size, colour=ink(colour))
    if len(names) > 1:
        both = " + ".join(names)
        if wide > text_width(both) + 0.1:
            size = fitting(both, wide - 0.1)
            canvas.text((left + right) / 2, y + RIBBONS.thick / 2, both, size=size, ground=WHITE)
        if stretch.until - stretch.since >= SHORT_STRETCH_MS:
            canvas.block(left, y - 0.02, wide, RIBBONS.thick + 0.04, "none", edge=VERMILLION, edge_width=2.2, layer=4)


def _pauses(canvas: Canvas, life: Ownership, place: Callable[[float], float]) -> None:
    for event in life.events:
        for span in life.spans if event.ms else ():
            since, until = max(span.since, event.t), min(span.until, event.t + event.ms)
            if span.who == event.who and since < until:
                left, right = place(since), place(until)
                canvas.block(
                    left,
                    RIBBONS.top + span.queue * RIBBONS.row,
                    right - left,
                    RIBBONS.thick,
                    "none",
                    hatch="//",
                    layer=3,
                )


def _longest(stretches: Sequence[OwnersRecord], *, doubles: bool) -> str:
    chosen = [stretch for stretch in stretches if (stretch.members > 1 if doubles else not stretch.members)]
    return duration(max((stretch.until - stretch.since for stretch in chosen), default=0))


def _summary(life: Ownership, stretches: Sequence[OwnersRecord]) -> str:
    if life.view.broadcasting:
        nobody = _longest(stretches, doubles=False)
        return _(
            "{told} told · each member takes all queues · longest with none: {nobody}",
            told=len(life.told),
            nobody=nobody,
        )
    return _(
        "{moves} moves · {told} told · longest with two owners: {longest} · longest with none: {longest2}",
        moves=life.moves,
        told=len(life.told),
        longest=_longest(stretches, doubles=True),
        longest2=_longest(stretches, doubles=False),
    )


def _alt(life: Ownership, stretches: Sequence[OwnersRecord]) -> str:
    happened = joined(
        "; ",
        (
            _("{who} {what} at {t} s", who=event.who, what=event.what, t=f"{(event.t - life.zero) / 1000:.0f}")
            for event in life.events
        ),
    )
    last = joined(
        ", ",
        (
            _("queue {queue}: {owners}", queue=stretch.queue, owners=stretch.owners)
            for stretch in stretches
            if stretch.until == life.end
        ),
    )
    return ngettext(
        "Who owns {queues} queue: {happened}. {summary}. At the end {last}.",
        "Who owns which of {queues} queues: {happened}. {summary}. At the end {last}.",
        life.queues,
        queues=life.queues,
        happened=happened,
        summary=_summary(life, stretches),
        last=last,
    )


def _table(life: Ownership, stretches: Sequence[OwnersRecord]) -> Table:
    rows = [
        (
            stretch.queue, stretch.owners, f"{(stretch.since - life.zero) / 1_000:.3f}",
            f"{(stretch.until - life.zero) / 1_000:.3f}", duration(stretch.until - stretch.since),
        )
        for stretch in stretches
    ]  # fmt: skip
    most = len(life.members) if life.view.broadcasting else 1
    marked = frozenset(number for number, stretch in enumerate(stretches) if not 1 <= stretch.members <= most)
    headers = (_("queue"), _("owner"), _("from, s"), _("to, s"), _("for"))
    return Table(_("Who owned which queue (marked: two owners, or none)"), headers, rows, marked)


def allotment_grid(rows: Iterable[Mapping[str, Any]], *, title: str = _("Who owns which queue")) -> Picture:
    """Owners of the queues 0, 1, 2, ... before and after a change.

    Each row has a `name` and two lists, `before` and `after`, with the owner of each queue: "" is no owner, "A+B" are
    two. Queues that have another owner afterwards are framed.

    >>> allotment_grid([{"name": "in turn", "before": ["A", "B", "A"], "after": ["A", "B", "N"]}]).alt
    'Who owns which queue: 3 queues. in turn: A B A, then A B N; 1 moved.'

    Raises:
        BadInput: no row, or lists of different lengths.
    """
    cells, sentences, queues = [], [], set()
    colours = dict[str, str]()
    for row in checked(rows, "name", "before", "after"):
        name, before, after = str(row["name"]), list(row["before"]), list(row["after"])
        queues |= {len(before), len(after)}
        if len(queues) > 1:
            break
        for owner in sorted({owner for owners in before for owner in owners.split("+") if owner}):
            colours.setdefault(owner, MEMBER_COLOURS[len(colours) % len(MEMBER_COLOURS)])
        changed = [was != other for was, other in zip(before, after, strict=True)]
        sentences.append(
            _(
                "{name}: {line}, then {line2}; {changed} moved",
                name=name,
                line=_line(before),
                line2=_line(after),
                changed=sum(changed),
            )
        )
        for owners, when in (
            (before, _("{name} before", name=name)),
            (after, _("{name} after: {changed} moved", name=name, changed=sum(changed))),
        ):
            cells += [
                {"": when, "queue": queue, "owner": owner or NONE, "moved": owners is after and changed[queue]}
                for queue, owner in enumerate(owners)
            ]
    if len(queues) != 1:
        raise BadInput(
            _("allotment_grid: give rows with name, before and after, all lists with one owner for each queue")
        )
    return heat_map(
        cells,
        x="queue",
        y="",
        value="owner",
        title=_("{title}; framed: the queue moved", title=title),
        colour=lambda owner: WHITE if owner == NONE else colours.get(owner.partition("+")[0], NEWCOMER),
        framed=lambda cell: cell["moved"],
        alt=ngettext(
            "{title}: {count} queue. {told}.",
            "{title}: {count} queues. {told}.",
            queues.pop(),
            title=title,
            told=joined(". ", sentences),
        ),
    )


def _line(owners: Sequence[str]) -> str:
    return " ".join(owner or NONE for owner in owners)
