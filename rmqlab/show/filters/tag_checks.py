"""Tags through both checks: what the broker compares (hash codes), what the client compares (texts)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.filter import both_steps
from rmqlab.filter.filter_api import build_subscription_data
from rmqlab.lab.fates import Fate
from rmqlab.message.java import string_hash
from rmqlab.protocol.subscription_data import SUB_ALL
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import GREEN, GREY, LOOKS, PALE, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.filter.filter import TagSteps
    from rmqlab.protocol.subscription_data import SubscriptionData

# Inches.
MARGIN, HEAD, ROW, FOOT = 0.15, 1.12, 0.4, 0.05
COLUMNS = (("message's tag", 1.9), ("hash code in the entry", 2.0), ("broker: is the code in the set?", 2.5),
           ("client: is the text in the set?", 2.5), ("", 1.2))  # fmt: skip
LONGEST = 18
SETS = 92


def tag_checks(sub_string: str, tags: Sequence[str | None]) -> Picture:
    """A row for each tag (None: no tag), from its hash code to its fate.

    Raises:
        SubscriptionSplitError: the expression is nothing but separators.
    """
    subscription = build_subscription_data(None, "T", sub_string)
    steps = [(tag, both_steps(subscription, tag)) for tag in tags]
    width = 2 * MARGIN + sum(wide for _, wide in COLUMNS)

    def draw(brush: Brush) -> None:
        _subscription(brush, subscription)
        x = MARGIN
        for head, wide in COLUMNS:
            brush.text(x, HEAD - 0.16, head, size=8.5, colour=GREY, ha="left")
            x += wide
        for number, (tag, step) in enumerate(steps):
            _row(brush, subscription, tag, step, HEAD + ROW * number)

    svg = painted(width, HEAD + ROW * len(steps) + FOOT, draw)
    rows = [(_name(tag), step.tags_code, _broker(subscription, step), _client(step), _end(step)) for tag, step in steps]
    headers = ("tag", "hash code", "broker", "client", "end")
    alt = f"Subscription {sub_string!r}: " + " ".join(f"{_name(tag)} {_end(step)}." for tag, step in steps)
    return Picture(svg, title="Tags through both checks", alt=alt, table=Table("Both checks", headers, rows))


def _subscription(brush: Brush, subscription: SubscriptionData) -> None:
    everything = subscription.sub_string == SUB_ALL
    tags = sorted(subscription.tags_set)
    codes = ", ".join(str(string_hash(tag)) for tag in tags)
    told = [
        ("subscribes", str(subscription.sub_string)),
        ("broker has", "* : every code passes" if everything else f"codes {{{codes}}}"),
        ("client has", f"texts {{{', '.join(tags)}}}" if tags else "no texts: every message passes"),
    ]
    brush.block(0, 0, 30, 0.78, PALE, layer=0.2)
    for number, (what, text) in enumerate(told):
        y = 0.15 + 0.24 * number
        brush.text(MARGIN, y, what, size=9, ha="left", bold=True)
        brush.text(MARGIN + 1.1, y, text if len(text) <= SETS else f"{text[: SETS - 1]}…", size=9, ha="left",
                   monospace=True)  # fmt: skip


def _row(brush: Brush, subscription: SubscriptionData, tag: str | None, step: TagSteps, y: float) -> None:
    middle = y + ROW / 2
    lefts = [MARGIN + sum(wide for _, wide in COLUMNS[:number]) for number in range(len(COLUMNS))]
    brush.text(lefts[0], middle, _name(tag), size=10, ha="left", bold=True)
    brush.text(lefts[1], middle, str(step.tags_code), size=9.5, ha="left", monospace=True)
    _verdict(brush, lefts[2], y, COLUMNS[2][1], _broker(subscription, step), Fate.DROPPED_BY_BROKER_TAG, step.broker)
    if not step.broker:
        return
    _verdict(brush, lefts[3], y, COLUMNS[3][1], _client(step), Fate.DROPPED_BY_CLIENT, step.client)
    if step.client:
        brush.block(lefts[4], y + 0.03, COLUMNS[4][1], ROW - 0.06, GREEN)
        brush.text(lefts[4] + COLUMNS[4][1] / 2, middle, "✓ arrives", size=9, colour=ink(GREEN), bold=True)


def _verdict(brush: Brush, x: float, y: float, wide: float, text: str, fate: Fate, passed: bool) -> None:
    look = LOOKS[fate]
    colour, hatch = (PALE, "") if passed else (look.colour, look.hatch)
    brush.block(x, y + 0.03, wide - 0.12, ROW - 0.06, colour, hatch=hatch)
    ground = colour if hatch else None
    brush.text(x + (wide - 0.12) / 2, y + ROW / 2, text, size=8.5, colour=ink(colour), ground=ground)
    if passed:
        brush.arrow((x + wide - 0.12, y + ROW / 2), (x + wide, y + ROW / 2))


def _broker(subscription: SubscriptionData, step: TagSteps) -> str:
    if subscription.sub_string == SUB_ALL:
        return "✓ *: any code passes"
    return "✓ yes: returned" if step.broker else "✗ no: dropped here"


def _client(step: TagSteps) -> str:
    if not step.broker:
        return "never sees it"
    return "✓ keeps it" if step.client else "✗ no: dropped here"


def _end(step: TagSteps) -> str:
    if step.delivered:
        return "arrives"
    return "dropped by the client" if step.broker else "dropped by the broker"


def _name(tag: str | None) -> str:
    if not tag:
        return "no tag"
    return repr(tag) if len(tag) <= LONGEST else f"{tag[: LONGEST - 1]!r}…"
