"""Tags through two checks: by number at the broker, by text at the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.lab.fates import Fate
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import GREEN, GREY, LOOKS, PALE, ink
from rmqlab.show.tables import Table, as_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.protocol.subscription_data import SubscriptionData

# Inches.
MARGIN, HEAD, ROW, FOOT = 0.15, 1.12, 0.4, 0.05
COLUMNS = (("message's tag", 2.2), ("code in the entry", 2.0), ("broker: is the code in the set?", 2.9),
           ("client: is the text in the set?", 2.9), ("", 1.1))  # fmt: skip
LONGEST, SETS = 20, 90
NEEDED = ("tag", "code", "broker", "client")


def tag_checks(rows: object, subscription: SubscriptionData) -> Picture:
    """A row for each tag, from its code to its end.

    `rows` have `tag` (None: no tag), `code`, `broker` (it returns the message) and `client` (it keeps the message);
    `subscription` is what `rmqlab.tags` gives. Both sets of it are shown above the rows.

    >>> from rmqlab import tags
    >>> tag_checks([{"tag": "BB", "code": 2112, "broker": True, "client": False}], tags("Aa")).alt
    "Subscription 'Aa': 'BB' is dropped by the client."

    Raises:
        BadInput: a row lacks one of these.
    """
    found = as_rows(rows)
    for row in found:
        if not set(NEEDED) <= set(row):
            raise BadInput(f"tag_checks: a row is {dict(row)}; right is one with {', '.join(NEEDED)}")

    def draw(brush: Brush) -> None:
        _subscription(brush, subscription)
        x = MARGIN
        for head, wide in COLUMNS:
            brush.text(x, HEAD - 0.16, head, colour=GREY, ha="left")
            x += wide
        for number, row in enumerate(found):
            with brush.saying(f"{_name(row['tag'])} {_end(row)}"):
                _row(brush, row, HEAD + ROW * number)

    svg = painted(2 * MARGIN + sum(wide for _, wide in COLUMNS), HEAD + ROW * len(found) + FOOT, draw)
    told = [(_name(row["tag"]), row["code"], _broker(row), _client(row), _end(row)) for row in found]
    alt = f"Subscription {subscription.sub_string!r}: " + " ".join(f"{line[0]} {line[-1]}." for line in told)
    table = Table("Both checks", ("tag", "code", "broker", "client", "end"), told)
    return Picture(svg, title="Tags through both checks", alt=alt, table=table)


def _subscription(brush: Brush, subscription: SubscriptionData) -> None:
    codes, texts = (f"{{{', '.join(map(str, sorted(one)))}}}" for one in (subscription.code_set, subscription.tags_set))
    told = [
        ("subscribes", str(subscription.sub_string)),
        ("broker has", f"codes {codes}"),
        ("client has", f"texts {texts}"),
    ]
    brush.block(0, 0, 30, 0.78, PALE, layer=0.2)
    for number, (what, text) in enumerate(told):
        y = 0.15 + 0.24 * number
        brush.text(MARGIN, y, what, ha="left", bold=True)
        brush.text(MARGIN + 1.1, y, text if len(text) <= SETS else f"{text[: SETS - 1]}…", ha="left",
                   monospace=True)  # fmt: skip


def _row(brush: Brush, row: Mapping[str, Any], y: float) -> None:
    middle = y + ROW / 2
    lefts = [MARGIN + sum(wide for _, wide in COLUMNS[:number]) for number in range(len(COLUMNS))]
    brush.text(lefts[0], middle, _name(row["tag"]), ha="left", bold=True)
    brush.text(lefts[1], middle, str(row["code"]), ha="left", monospace=True)
    _verdict(brush, lefts[2], y, COLUMNS[2][1], _broker(row), Fate.DROPPED_BY_BROKER_TAG, row["broker"])
    if not row["broker"]:
        return
    _verdict(brush, lefts[3], y, COLUMNS[3][1], _client(row), Fate.DROPPED_BY_CLIENT, row["client"])
    if row["client"]:
        brush.block(lefts[4], y + 0.03, COLUMNS[4][1], ROW - 0.06, GREEN)
        brush.text(lefts[4] + COLUMNS[4][1] / 2, middle, "✓ arrives", colour=ink(GREEN), bold=True)


def _verdict(brush: Brush, x: float, y: float, wide: float, text: str, fate: Fate, passed: bool) -> None:
    look = LOOKS[fate]
    colour, hatch = (PALE, "") if passed else (look.colour, look.hatch)
    brush.block(x, y + 0.03, wide - 0.12, ROW - 0.06, colour, hatch=hatch)
    ground = colour if hatch else None
    brush.text(x + (wide - 0.12) / 2, y + ROW / 2, text, colour=ink(colour), ground=ground)
    if passed:
        brush.arrow((x + wide - 0.12, y + ROW / 2), (x + wide, y + ROW / 2))


def _broker(row: Mapping[str, Any]) -> str:
    return "✓ returns it" if row["broker"] else "✗ drops it"


def _client(row: Mapping[str, Any]) -> str:
    if not row["broker"]:
        return "never sees it"
    return "✓ keeps it" if row["client"] else "✗ drops it"


def _end(row: Mapping[str, Any]) -> str:
    if not row["broker"]:
        return "is dropped by the broker"
    return "arrives" if row["client"] else "is dropped by the client"


def _name(tag: object) -> str:
    if not isinstance(tag, str) or not tag:
        return "no tag"
    return repr(tag) if len(tag) <= LONGEST else f"{tag[: LONGEST - 1]!r}…"
