"""Messages through the filters: the bars of each group from layer to layer, and the two checks of a tag."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.language import N_, _, joined, ngettext, sentences
from rmqlab.run.fates import Fate, fate_words
from rmqlab_tools.show.canvas import Canvas, cut, painted
from rmqlab_tools.show.charts import checked
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.heat_maps import heat_map
from rmqlab_tools.show.palette import GREY, LOOKS, PALE, FateStyle, ink
from rmqlab_tools.show.tables import Table, as_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.protocol.subscription_data import SubscriptionData

HEADS = (
    ("stored", _("consume queue entries")),
    (_("layer 1"), _("looks at the entry")),
    (_("layer 2"), _("reads the message")),
    ("client", _("compares the tag")),
    ("delivered", ""),
)
LONGEST_SUBSCRIPTION, MAX_FUNNELS = 34, 8
GOES_ON = FateStyle(PALE, "", "", "")  # a bar of messages that have not stopped yet
# Of the two checks.
MAX_TAG, LONGEST_SET = 20, 40
RETURNED = _("✓ returned to the client")


@dataclass(frozen=True)
class FunnelLayout:
    """Sizes of a funnel, in inches."""

    left: float = 1.9
    column: float = 1.5
    bar: float = 0.75
    lane: float = 0.85
    top: float = 0.62
    gap: float = 0.26
    min_inside: float = 0.2


FUNNEL = FunnelLayout()


class Stage(StrEnum):
    """The three places where a message may stop, in their order."""

    LAYER_1 = N_("layer 1")
    LAYER_2 = N_("layer 2")
    CLIENT = "client"


FUNNEL_STAGES = {
    Fate.DROPPED_BY_BROKER_TAG: Stage.LAYER_1,
    Fate.DROPPED_BY_BROKER_BITMAP: Stage.LAYER_1,
    Fate.DROPPED_BY_BROKER_SQL: Stage.LAYER_2,
    Fate.DROPPED_BY_CLIENT: Stage.CLIENT,
}


class Lane(NamedTuple):
    """One group: its subscription, and the names of its messages by the place where they stop (None: delivered)."""

    group: str
    subscription: str
    ends: dict[Stage | None, list[str]]
    fates: dict[Stage, Fate]

    @property
    def stored(self) -> int:
        """How many messages there are."""
        return sum(map(len, self.ends.values()))

    def stops(self, stage: Stage | None) -> list[str]:
        """The messages that stop there."""
        return self.ends.get(stage, [])

    def sentence(self) -> str:
        """Where they stop, in words."""
        stopped = [
            _("{stops} stopped at {stage}", stops=len(self.stops(stage)), stage=stage)
            for stage in Stage
            if self.stops(stage)
        ]
        parts = [
            ngettext("of {count} message", "of {count} messages", self.stored),
            *stopped,
            _("{stops} arrived", stops=len(self.stops(None))),
        ]
        return _(
            "{group} ({subscription}): {told}.",
            group=self.group,
            subscription=self.subscription,
            told=joined(", ", parts),
        )


def funnel(fates: object, *, title: str = _("Messages through both layers and the client")) -> Picture:
    """A lane for each group; the height of a bar is the number of messages.

    `fates` is what `lab.fates()` gives, its frame, or dicts with `group`, `subscription`, `body` and `fate`.

    >>> funnel([{"group": "G", "subscription": "a", "body": "one", "fate": "dropped_by_client"}]).alt
    'G (a): of 1 message, 1 stopped at client, 0 arrived.'

    Raises:
        BadInput: these are no fates, or no filter has judged a message: it waits, or was lost in another way.
    """
    lanes = _lanes(as_rows(fates))
    most = max((lane.stored for lane in lanes), default=0) or 1

    def draw(canvas: Canvas) -> None:
        for number, (head, words) in enumerate(HEADS):
            x = FUNNEL.left + FUNNEL.column * number + FUNNEL.bar / 2
            canvas.text(x, 0.2, head, size=10.5, bold=True)
            canvas.text(x, 0.42, words, colour=GREY)
        for number, lane in enumerate(lanes):
            _draw(canvas, lane, FUNNEL.top + number * (FUNNEL.lane + FUNNEL.gap), FUNNEL.lane / most)

    svg = painted(
        FUNNEL.left + FUNNEL.column * (len(HEADS) - 1) + FUNNEL.bar + 0.25,
        FUNNEL.top + (FUNNEL.lane + FUNNEL.gap) * len(lanes),
        draw,
    )
    alt = sentences(*(lane.sentence() for lane in lanes)) if lanes else _("No message was judged.")
    headers = (
        _("group"),
        _("subscription"),
        _("stored"),
        *(_("stop at {stage}", stage=stage) for stage in Stage),
        _("delivered"),
    )
    ends = (*Stage, None)
    rows = [(lane.group, lane.subscription, lane.stored, *(len(lane.stops(end)) for end in ends)) for lane in lanes]
    table = Table(_("Messages by the place where they stop"), headers, rows)
    return Picture(svg, title=title, alt=alt, table=table)


def _lanes(rows: list[Mapping[str, Any]]) -> list[Lane]:
    lanes: dict[str, Lane] = {}
    for row in rows:
        try:
            group, body, fate = str(row["group"]), str(row["body"]), Fate(row["fate"])
        except (KeyError, ValueError) as error:
            raise BadInput(
                _("funnel: a row is {dict}; right is a row of lab.fates(), with group, body and fate", dict=dict(row))
            ) from error
        if fate is not Fate.DELIVERED and fate not in FUNNEL_STAGES:
            raise BadInput(
                _(
                    "funnel: message {body} is {value} in group {group}: no filter has judged it",
                    body=f"{body!r}",
                    value=fate_words(fate),
                    group=f"{group!r}",
                )
            )
        stage = FUNNEL_STAGES.get(fate)
        lane = lanes.setdefault(group, Lane(group, str(row.get("subscription")), {}, {}))
        lane.ends.setdefault(stage, []).append(body)
        if stage is not None:
            lane.fates.setdefault(stage, fate)
    return list(lanes.values())


def _draw(canvas: Canvas, lane: Lane, top: float, unit: float) -> None:
    canvas.text(0.1, top + FUNNEL.lane / 2 - 0.12, lane.group, ha="left", bold=True)
    with canvas.saying(_("{group} subscribes {subscription}", group=lane.group, subscription=lane.subscription)):
        canvas.text(
            0.1, top + FUNNEL.lane / 2 + 0.12, cut(lane.subscription, LONGEST_SUBSCRIPTION), ha="left", monospace=True
        )
    passed = lane.stored
    with canvas.saying(ngettext("{count} message is stored", "{count} messages are stored", passed)):
        _bar(canvas, FUNNEL.left, top, passed, unit, GOES_ON)
    for number, stage in enumerate(Stage, 1):
        x = FUNNEL.left + FUNNEL.column * number
        stops = lane.stops(stage)
        _band(canvas, x - FUNNEL.column + FUNNEL.bar, x, top, (passed - len(stops)) * unit)
        passed -= len(stops)
        with canvas.saying(_("{passed} of {group} pass {stage}", passed=passed, group=lane.group, stage=stage)):
            _bar(canvas, x, top, passed, unit, GOES_ON)
        if stops:
            look = LOOKS[lane.fates[stage]]
            with canvas.saying(
                _(
                    "{stops} of {group} {words}: {named}",
                    stops=len(stops),
                    group=lane.group,
                    words=look.words,
                    named=_named(stops),
                )
            ):
                _bar(canvas, x, top + passed * unit, len(stops), unit, look, stops=True)
    x = FUNNEL.left + FUNNEL.column * (len(HEADS) - 1)
    arrived = lane.stops(None)
    _band(canvas, x - FUNNEL.column + FUNNEL.bar, x, top, passed * unit)
    with canvas.saying(
        _("{arrived} of {group} delivered: {named}", arrived=len(arrived), group=lane.group, named=_named(arrived))
    ):
        _bar(canvas, x, top, len(arrived), unit, LOOKS[Fate.DELIVERED])


def _bar(
    canvas: Canvas, x: float, top: float, count: int, unit: float, look: FateStyle, *, stops: bool = False
) -> None:
    """A bar for so many messages; where it is too low for its text that stands above, or beside those that stop."""
    height, text, colour = count * unit, f"{look.mark} {count}".strip(), look.colour
    if count:
        edge = None if stops else GREY if colour == PALE else colour
        canvas.block(x, top, FUNNEL.bar, height, colour, edge=edge, edge_width=0.8, hatch=look.hatch)
    if height >= FUNNEL.min_inside:
        ground = colour if look.hatch else None
        canvas.text(x + FUNNEL.bar / 2, top + height / 2, text, colour=ink(colour), ground=ground, bold=True)
    elif stops:
        canvas.text(x + FUNNEL.bar + 0.06, top + height / 2, text, ha="left", bold=True)
    else:
        canvas.text(x + FUNNEL.bar / 2, top - 0.1, text, bold=True)


def _band(canvas: Canvas, start: float, end: float, top: float, height: float) -> None:
    """What goes on from one bar to the next."""
    if height:
        canvas.block(start, top, end - start, height, "#E8E8E8", layer=0.3)


def _named(names: list[str]) -> str:
    more = (" " + _("and {names} more", names=len(names) - MAX_FUNNELS)) if len(names) > MAX_FUNNELS else ""
    return joined(", ", names[:MAX_FUNNELS]) + more


def tag_checks(rows: object, subscription: SubscriptionData) -> Picture:
    """A row for each tag: its code, what the broker does with the message, what the client does.

    `rows` have `tag` (None: no tag), `code`, `broker` (it returns the message) and `client` (it keeps the message);
    `subscription` is what `rmqlab.tags` gives. The title says what broker and client have of it.

    >>> from rmqlab import tags
    >>> tag_checks([{"tag": "BB", "code": 2112, "broker": True, "client": False}], tags("Aa")).alt
    "Subscription 'Aa': 'BB' is dropped by the client."

    Raises:
        BadInput: a row lacks one of these.
    """
    heads = (_("code"), _("broker"), _("client"))
    cells, ends = [], []
    for row in checked(rows, "tag", "code", "broker", "client"):
        name, end = _name(row["tag"]), Fate.DELIVERED if row["client"] else Fate.DROPPED_BY_CLIENT
        answers = [str(row["code"]), RETURNED, _in_words(end)]
        if not row["broker"]:
            answers[1:] = [_in_words(Fate.DROPPED_BY_BROKER_TAG)]
        cells += [
            {"tag": name or _("none"), "at": head, "fate": answer} for head, answer in zip(heads, answers, strict=False)
        ]
        ends.append(f"{name or _('no tag')} {_end(row)}.")
    codes, texts = (
        cut(joined(", ", sorted(names)) or _("none"), LONGEST_SET)
        for names in (subscription.code_set, subscription.tags_set)
    )
    expression = cut(repr(subscription.sub_string), LONGEST_SET)
    colours = {_in_words(fate): look.colour for fate, look in LOOKS.items()}
    return heat_map(
        cells,
        x="at",
        y="tag",
        value="fate",
        title=_(
            "Subscription {asked}: the broker has the codes {codes}, the client the texts {texts}",
            asked=expression,
            codes=codes,
            texts=texts,
        ),
        colour=lambda fate: colours.get(fate, PALE),
        alt=_("Subscription {asked}: {told}", asked=expression, told=sentences(*ends)),
    )


def _in_words(fate: Fate) -> str:
    return f"{LOOKS[fate].mark} {LOOKS[fate].words}"


def _end(row: Mapping[str, Any]) -> str:
    if not row["broker"]:
        return _("is dropped by the broker")
    return _("arrives") if row["client"] else _("is dropped by the client")


def _name(tag: object) -> str:
    """A tag as it is shown; nothing if there is none."""
    if not isinstance(tag, str) or not tag:
        return ""
    return repr(tag) if len(tag) <= MAX_TAG else f"{tag[: MAX_TAG - 1]!r}…"
