"""Several pictures as one, one below the other: for controls, which show one picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.show.figure import Picture

if TYPE_CHECKING:
    from rmqlab.show.tables import Table

GAP = 8  # points
_VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def stacked(title: str, *pictures: Picture, table: Table | None = None) -> Picture:
    """The pictures from top to bottom, their descriptions one after another; ``table`` defaults to the first one's."""
    parts: list[str] = []
    width = height = 0.0
    for picture in pictures:
        view = _VIEW.search(picture.svg)
        if view is None:
            raise ValueError(f"picture {picture.title!r} has no viewBox at 0 0: only pictures of ours can be stacked")
        inner = picture.svg.partition("</desc>")[2].rpartition("</svg>")[0]
        parts.append(f'<g transform="translate(0 {height:g})">{inner}</g>')
        width, height = max(width, float(view[1])), height + float(view[2]) + GAP
    head = (
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:g}pt" height="{height:g}pt" '
        f'viewBox="0 0 {width:g} {height:g}" xmlns="http://www.w3.org/2000/svg" version="1.1">'
    )
    alt = " ".join(picture.alt for picture in pictures)
    return Picture(f"{head}{''.join(parts)}</svg>\n", title=title, alt=alt, table=table or pictures[0].table)
