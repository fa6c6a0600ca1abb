"""The tree of outcomes: which choices move the odds, and the shares at its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.protocol.codes import RequestCode
from rmqlab.show.canvas import Canvas, painted
from rmqlab.show.expression_trees import Branch, draw_tree, tree_size
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, SKY, YELLOW
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.search.explorer.choice_graph import Decision
    from rmqlab.search.explorer.exploration import Exploration, FoundOutcome

COLOURS = (ORANGE, BLUE, SKY, YELLOW)  # by number of the outcome; the most frequent one is B's
MAX_SHOWN = 6
LEADS = 0.6  # an outcome that is at least so likely gives a box its colour
BAR, ROW, NAME, GAP, MARGIN, NUMBER = 7.3, 0.27, 2.7, 0.3, 0.15, 1.0
_ASKS = {
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: ("asks who is there", "learns who is there"),
    RequestCode.QUERY_CONSUMER_OFFSET: ("asks for an offset", "learns an offset"),
    RequestCode.HEART_BEAT: ("beats", "beat answered"),
    RequestCode.PULL_MESSAGE: ("pulls", "pull answered"),
    RequestCode.UPDATE_CONSUMER_OFFSET: ("commits", "commit answered"),
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: ("answers", "is told"),
}
_MOVE = re.compile(r"(?P<who>[^<>|]+)(?P<way>[<>])(?P<answer>re )?(?P<code>\d+)")


def outcome_tree(explored: Exploration) -> Picture:
    """Each outcome's share, however it is counted, and below it the tree of choices, when the space was exhausted."""
    shown = explored.outcomes[:MAX_SHOWN]
    texts = [found.words for found in shown]
    winners = _winners(explored)
    root = None if explored.decisions is None else _branch(explored.decisions, "the run begins", winners)
    width, height = (0.0, 0.0) if root is None else tree_size(root)
    counts: dict[str, list[float]] = {}
    if explored.exhausted:
        orders = sum(found.schedules or 0 for found in explored.outcomes)
        counts["each option of each choice alike"] = [found.share or 0.0 for found in shown]
        counts["each order alike"] = [(found.schedules or 0) / orders for found in shown]
    if explored.sampled:
        name = f"{explored.sampled} runs with times as on a network"
        counts[name] = [found.sampled / explored.sampled for found in shown]
    block = ROW * (len(counts) + 1) + GAP
    total = max(width, NAME + BAR + NUMBER) + 2 * MARGIN
    top = MARGIN + GAP + block * len(shown)

    def paint(canvas: Canvas) -> None:
        canvas.text(MARGIN, MARGIN, _head(explored), ha="left", colour=GREY)
        y = MARGIN + GAP
        for number, text in enumerate(texts):
            canvas.chip(MARGIN + 0.12, y, 0.2, 0.2, _colour(number), BLACK)
            lost = f"{text}: {len(shown[number].lost)} messages lost"
            canvas.text(MARGIN + 0.32, y, lost, ha="left", bold=True)
            for row, (way, shares) in enumerate(counts.items(), 1):
                _bar(canvas, y + row * ROW, way, shares[number], _colour(number))
            y += block
        if root is not None:
            canvas.text(MARGIN, top, "Which choices move the odds: the first ones", ha="left", bold=True)
            draw_tree(canvas, root, MARGIN, top + 0.15)

    svg = painted(total, top + height + 0.15 + MARGIN, paint)
    rows = [
        (text, *(f"{shares[number]:.1%}" for shares in counts.values()), len(found.lost), _schedules(found))
        for number, (text, found) in enumerate(zip(texts, shown, strict=True))
    ]
    headers = ("who got which messages", *counts, "messages lost", "schedules")
    told = "; ".join(
        f"{row[0]}: {', '.join(f'{way} {cell}' for way, cell in zip(counts, row[1:], strict=False))}" for row in rows
    )
    places = () if explored.decisions is None else explored.decisions.branches
    first = ", ".join(f"{_short(one.made)} first: {_odds(one, winners)}" for one in places)
    tree = f" The first choice that matters: {first}." if first else ""
    alt = f"{_head(explored)}. {told}.{tree}"
    return Picture(
        svg, title="Every order, and how it ends", alt=alt, table=Table("Outcomes and shares", headers, rows)
    )


def _head(explored: Exploration) -> str:
    count = len(explored.outcomes)
    more = f", the {MAX_SHOWN} most frequent shown" if count > MAX_SHOWN else ""
    runs = explored.searched + explored.sampled
    how = "all there are" if explored.exhausted else f"not exhausted after {runs} runs"
    return f"{count} outcome{'s' if count != 1 else ''} ({how}{more})"


def _schedules(found: FoundOutcome) -> str | None:
    return None if found.schedules is None else f"{found.schedules:,}"


def _winners(explored: Exploration) -> list[str]:
    """What each outcome is called in a box: by the only one who gets something, if that tells them apart."""
    alone = [sorted({who for who, *_ in found.outcome.consumed}) for found in explored.outcomes]
    if all(len(who) == 1 for who in alone) and len({who[0] for who in alone}) == len(alone):
        return [f"{who[0]} wins" for who in alone]
    return [f"outcome {number}" for number in range(1, len(alone) + 1)]


def _branch(place: Decision, title: str, winners: Sequence[str]) -> Branch:
    children = [_branch(one, _short(one.made), winners) for one in place.branches]
    leader = max(place.odds, key=lambda number: place.odds[number])
    colour = _colour(leader) if place.odds[leader] >= LEADS else PALE
    return Branch(title, (f"{place.share:.1%} of all", _odds(place, winners)), colour, children=children)


def _odds(place: Decision, winners: Sequence[str]) -> str:
    return ", ".join(f"{winners[number]} {share:.0%}" for number, share in sorted(place.odds.items()))


def _short(made: Sequence[str]) -> str:
    """Moves in few words."""
    return " or ".join(map(_words, made))


def _words(text: str) -> str:
    match = _MOVE.fullmatch(text)
    if match is None:
        return text
    code = int(match["code"])
    known = _ASKS.get(RequestCode(code)) if code in RequestCode.__members__.values() else None
    asked = (match["way"] == ">") != bool(match["answer"])
    if known is None:
        return f"{match['who']}: {code}{'' if asked else ' answered'}"
    return f"{match['who']} {known[0 if match['way'] == '>' else 1]}"


def _bar(canvas: Canvas, y: float, way: str, share: float, colour: str) -> None:
    canvas.text(NAME, y, way, ha="right", colour=BLACK)
    canvas.block(NAME + 0.1, y - 0.08, BAR, 0.16, PALE)
    canvas.block(NAME + 0.1, y - 0.08, BAR * share, 0.16, colour)
    canvas.text(NAME + 0.2 + BAR, y, f"{share:.1%}", ha="left", colour=GREY if not share else BLACK)


def _colour(number: int) -> str:
    return COLOURS[number] if number < len(COLOURS) else GREEN
