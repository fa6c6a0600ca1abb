"""Several pictures as one, one below the other: for controls, which show one picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.show.brush import FONTS
from rmqlab.show.figure import Picture

if TYPE_CHECKING:
    from rmqlab.show.tables import Table

GAP = 10  # px
_SIZE = re.compile(r'width="([\d.]+)"\s+height="([\d.]+)"\s+viewBox="0 0 ([\d.]+) ([\d.]+)"')


def stacked(title: str, *pictures: Picture, table: Table | None = None) -> Picture:
    """The pictures from top to bottom, their descriptions one after another; ``table`` defaults to the first one's."""
    parts: list[str] = []
    width = height = 0.0
    for picture in pictures:
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
    alt = " ".join(picture.alt for picture in pictures)
    return Picture(f"{head}{''.join(parts)}</svg>\n", title=title, alt=alt, table=table or pictures[0].table)
