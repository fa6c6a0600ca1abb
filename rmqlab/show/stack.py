"""Several pictures as one, one below the other: for controls, which show one picture."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from rmqlab.language import translate
from rmqlab.show.brush import FONTS
from rmqlab.show.figure import Picture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.show.tables import Table

GAP = 10  # px
LABEL = 26  # px that a label takes
_SIZE = re.compile(r'width="([\d.]+)"\s+height="([\d.]+)"\s+viewBox="0 0 ([\d.]+) ([\d.]+)"')


def stacked(title: str, *pictures: Picture, table: Table | None = None, labels: Sequence[str] = ()) -> Picture:
    """The pictures from top to bottom, their descriptions one after another; ``table`` defaults to the first one's.

    ``labels`` stand above the pictures, in their order, and before their descriptions; an empty one is left out.
    """
    parts: list[str] = []
    width = height = 0.0
    told: list[str] = []
    for picture, label in zip(pictures, [*labels, *[""] * len(pictures)], strict=False):
        if label:
            place = f'x="8" y="{height + LABEL - 8:g}" font-size="14" font-weight="bold"'
            parts.append(f"<text {place}>{escape(translate(label))}</text>")
            height += LABEL
        told.append(f"{translate(label)}: {picture.alt}" if label else picture.alt)
        size = _SIZE.search(picture.svg)
        if size is None:
            raise ValueError(f"picture {picture.title!r} has no size and viewBox: only pictures of ours can be stacked")
        wide, high, units, _ = map(float, size.groups())
        inner = picture.svg.partition("</desc>")[2].rpartition("</svg>")[0]
        parts.append(f'<g transform="translate(0 {height:g}) scale({wide / units:.4g})">{inner}</g>')
        width, height = max(width, wide), height + high + GAP
    head = (
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="{FONTS}" xmlns="http://www.w3.org/2000/svg" version="1.1">'
    )
    return Picture(f"{head}{''.join(parts)}</svg>\n", title=title, alt=" ".join(told), table=table or pictures[0].table)
