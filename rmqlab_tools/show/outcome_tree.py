"""The tree of outcomes: which choices move the odds, and the shares at its end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab.protocol.codes import RequestCode
from rmqlab.run.fates import Fate
from rmqlab_tools.show.canvas import ROOM_TEXT, WIDTH, Canvas, fitting, largest, painted
from rmqlab_tools.show.expression_trees import Branch, draw_tree, tree_size
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLACK, GREEN, GREY, PALE, PURPLE, SKY, WHITE, YELLOW
from rmqlab_tools.show.tables import Table
from rmqlab_tools.show.tag_colours import tag_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab_tools.search.explorer.choice_graph import Decision
    from rmqlab_tools.search.explorer.exploration import Exploration, FoundOutcome

OTHER_COLOURS = (SKY, YELLOW, PURPLE, GREY, GREEN, PALE)  # of outcomes that no tag of their own tells apart
MAX_OUTCOMES_DRAWN = 6
LEVELS = 3  # of the tree that are drawn: a room reads no more
_ASKS = {
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: (_("asks who is there"), _("learns who is there")),
    RequestCode.QUERY_CONSUMER_OFFSET: (_("asks for an offset"), _("learns an offset")),
    RequestCode.HEART_BEAT: (_("beats"), _("beat answered")),
    RequestCode.PULL_MESSAGE: (_("pulls"), _("pull answered")),
    RequestCode.LITE_PULL_MESSAGE: (_("pulls"), _("pull answered")),
    RequestCode.UPDATE_CONSUMER_OFFSET: (_("commits"), _("commit answered")),
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: (_("answers"), _("is told")),
}
_MOVE = re.compile(r"(?P<who>[^<>|]+)(?P<way>[<>])(?P<answer>re )?(?P<code>\d+)")


@dataclass(frozen=True)
class OutcomeTreeLayout:
    """Sizes of a tree of outcomes, in inches."""

    row: float = 0.34
    name: float = 3.75
    gap: float = 0.34
    margin: float = 0.15
    number: float = 0.85


OUTCOME_TREE = OutcomeTreeLayout()


def outcome_tree(explored: Exploration) -> Picture:
    """Each outcome's share, however it is counted, and below it the tree of choices, when the space was exhausted."""
    shown = explored.outcomes[:MAX_OUTCOMES_DRAWN]
    texts = [outcome.words for outcome in shown]
    winners = _winners(explored)
    colours = _colours(explored)
    root = None if explored.decisions is None else _tree(explored.decisions, colours)
    width, height = (0.0, 0.0) if root is None else tree_size(root)
    counts: dict[str, list[float]] = {}
    if explored.exhausted:
        orders = sum(outcome.schedules or 0 for outcome in explored.outcomes)
        counts[_("each option of each choice alike")] = [outcome.share or 0.0 for outcome in shown]
        counts[_("each order alike")] = [(outcome.schedules or 0) / orders for outcome in shown]
    if explored.sampled:
        name = ngettext(
            "{sampled} run with times as on a network",
            "{sampled} runs with times as on a network",
            explored.sampled,
            sampled=explored.sampled,
        )
        counts[name] = [outcome.sampled / explored.sampled for outcome in shown]
    block = OUTCOME_TREE.row * (len(counts) + 1) + OUTCOME_TREE.gap
    total = max(width + 2 * OUTCOME_TREE.margin, WIDTH)
    top = OUTCOME_TREE.margin + OUTCOME_TREE.gap + block * len(shown)

    def paint(canvas: Canvas) -> None:
        head = _head(explored)
        size = fitting(head, WIDTH - 2 * OUTCOME_TREE.margin)
        canvas.text(OUTCOME_TREE.margin, OUTCOME_TREE.margin, head, size=size, ha="left", colour=GREY)
        y = OUTCOME_TREE.margin + OUTCOME_TREE.gap
        for number, text in enumerate(texts):
            canvas.chip(OUTCOME_TREE.margin + 0.12, y, 0.22, 0.22, colours[number], BLACK)
            lost = ngettext(
                "{text}: {count} message lost", "{text}: {count} messages lost", len(shown[number].lost), text=text
            )
            size = fitting(lost, WIDTH - 2 * OUTCOME_TREE.margin - 0.34, bold=True)
            canvas.text(OUTCOME_TREE.margin + 0.34, y, lost, size=size, ha="left", bold=True)
            for row, (way, shares) in enumerate(counts.items(), 1):
                _bar(canvas, y + row * OUTCOME_TREE.row, way, shares[number], colours[number])
            y += block
        if root is not None:
            words = _("What comes first, and how often it then ends so")
            canvas.text(OUTCOME_TREE.margin, top, words, size=ROOM_TEXT, ha="left", bold=True)
            draw_tree(canvas, root, OUTCOME_TREE.margin, top + 0.2)

    svg = painted(total, top + height + 0.2 + OUTCOME_TREE.margin, paint)
    rows = [
        (text, *(f"{shares[number]:.1%}" for shares in counts.values()), len(outcome.lost), _schedules(outcome))
        for number, (text, outcome) in enumerate(zip(texts, shown, strict=True))
    ]
    headers = (_("who got which messages"), *counts, _("messages lost"), _("schedules"))
    in_words = joined(
        "; ",
        (
            joined(": ", (row[0], joined(", ", (f"{way} {cell}" for way, cell in zip(counts, row[1:], strict=False)))))
            for row in rows
        ),
    )
    places = () if explored.decisions is None else explored.decisions.branches
    first = joined(
        ", ", (_("{made} first: {odds}", made=_short(place.made), odds=_odds(place, winners)) for place in places)
    )
    tree = (" " + _("The first choice that matters: {first}.", first=first)) if first else ""
    alt = f"{_head(explored)}. {in_words}.{tree}"
    return Picture(
        svg, title=_("Every order, and how it ends"), alt=alt, table=Table(_("Outcomes and shares"), headers, rows)
    )


def _head(explored: Exploration) -> str:
    count = len(explored.outcomes)
    more = (
        _(", the {max_shown} most frequent shown", max_shown=MAX_OUTCOMES_DRAWN) if count > MAX_OUTCOMES_DRAWN else ""
    )
    runs = explored.searched + explored.sampled
    how = (
        _("all there are")
        if explored.exhausted
        else ngettext("not exhausted after {runs} run", "not exhausted after {runs} runs", runs, runs=runs)
    )
    return ngettext("{count} outcome ({how}{more})", "{count} outcomes ({how}{more})", count, how=how, more=more)


def _schedules(outcome: FoundOutcome) -> str | None:
    return None if outcome.schedules is None else f"{outcome.schedules:,}"


def _winners(explored: Exploration) -> list[str]:
    """What each outcome is called in a box: by the only one who gets something, if that distinguishes them."""
    alone = [sorted({clients for clients, *_ in outcome.outcome.consumed}) for outcome in explored.outcomes]
    if all(len(clients) == 1 for clients in alone) and len({clients[0] for clients in alone}) == len(alone):
        return [_("{who} wins", who=clients[0]) for clients in alone]
    return [_("outcome {number}", number=number) for number in range(1, len(alone) + 1)]


def _colours(explored: Exploration) -> list[str]:
    """A colour for each outcome: that of the one tag that is delivered, if it distinguishes them."""
    delivered = [{fate.tag for fate in found.run.fates if fate.fate is Fate.DELIVERED} for found in explored.outcomes]
    colours: list[str] = []
    others = cycle(OTHER_COLOURS)
    for tags in delivered:
        colour = tag_colour(next(iter(tags))) if len(tags) == 1 and delivered.count(tags) == 1 else next(others)
        while colour in colours and len(colours) < len(OTHER_COLOURS):
            colour = next(others)
        colours.append(colour)
    return colours


def _tree(decisions: Decision, colours: Sequence[str]) -> Branch:
    """The first choices, in the largest letters with which they have room."""

    def of_size(size: float) -> Branch:
        return _branch(decisions, _("the run begins"), colours, size, LEVELS)

    return of_size(largest(lambda size: tree_size(of_size(size))[0] <= WIDTH - 2 * OUTCOME_TREE.margin))


def _branch(place: Decision, title: str, colours: Sequence[str], size: float, levels: int) -> Branch:
    """A box with a bar: how often it ends in which way from here on."""
    below = place.branches if levels > 1 else ()
    children = [_branch(branch, _short(branch.made), colours, size, levels - 1) for branch in below]
    shares = tuple((colours[number], share) for number, share in sorted(place.odds.items()))
    return Branch(title, colour=WHITE, size=size, shares=shares, children=children)


def _odds(place: Decision, winners: Sequence[str]) -> str:
    return joined(", ", (f"{winners[number]} {share:.0%}" for number, share in sorted(place.odds.items())))


def _short(made: Sequence[str]) -> str:
    """Moves in few words."""
    return joined(" or ", map(_words, made))


def _words(text: str) -> str:
    match = _MOVE.fullmatch(text)
    if match is None:
        return text
    code = int(match["code"])
    known = _ASKS.get(RequestCode(code)) if code in RequestCode.__members__.values() else None
    is_request = (match["way"] == ">") != bool(match["answer"])
    if known is None:
        return f"{match['who']}: {code}" if is_request else _("{who}: {code} answered", who=match["who"], code=code)
    return f"{match['who']} {known[0 if match['way'] == '>' else 1]}"


def _bar(canvas: Canvas, y: float, way: str, share: float, colour: str) -> None:
    left, length = OUTCOME_TREE.name + 0.1, WIDTH - OUTCOME_TREE.name - OUTCOME_TREE.number - 0.15
    size = fitting(way, OUTCOME_TREE.name - OUTCOME_TREE.margin)
    canvas.text(OUTCOME_TREE.name, y, way, size=size, ha="right", colour=BLACK)
    canvas.block(left, y - 0.12, length, 0.24, PALE)
    canvas.block(left, y - 0.12, length * share, 0.24, colour)
    words = f"{share:.1%}"
    canvas.text(left + length + 0.1, y, words, size=ROOM_TEXT, ha="left", colour=BLACK if share else GREY)
