"""A picture: SVG that is always the same, a description in words, and a table with the same content."""

from __future__ import annotations

import hashlib
import html
import re
from typing import TYPE_CHECKING

from rmqlab.language import _, sentences, translate
from rmqlab_tools.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab_tools.show.tables import Table

SVG_MIME = "image/svg+xml"
FOLDED = _("This picture in words and as a table")
FONTS = "DejaVu Sans, Verdana, Arial, sans-serif"
WIDEST_PX = 1100  # JupyterLab's column in a window of 1280 pixels, with its list of files folded
LEGIBLE_PX = 700  # so wide, the smallest letters of a picture have 11 pixels
# JupyterLab would show SVG in its own size, cut by a narrower column: it shrinks too, while its letters can be read.
FIT = f"<style>.jp-RenderedSVG img {{ max-width: max(100%, {LEGIBLE_PX}px) }}</style>"
_SIZE = re.compile(r'\b(width|height)="([\d.]+)"')
GAP, LABEL = 10, 26  # pixels between pictures one below the other, and of a label
_PLACE = re.compile(r'width="([\d.]+)"\s+height="([\d.]+)"\s+viewBox="0 0 ([\d.]+) ([\d.]+)"')


class Picture:
    """What a notebook shows: `svg` text, `alt` (what a listener must know), `table` (the same for a reader).

    Shown in a notebook it gives the SVG, and below it, folded, description and table.
    """

    def __init__(self, svg: str, *, title: str, alt: str, table: Table) -> None:
        """`alt` has no default: a picture without words is not one of ours.

        Raises:
            ValueError: title or alt is empty.
        """
        if not title.strip() or not alt.strip():
            raise ValueError("a picture needs a title and an alt text: say what a reader who cannot see it must know")
        self.title, self.alt = (visible(translate(text)) for text in (title, alt))
        self.table = table
        self.svg = _described(visible(svg), self.title, self.alt)

    def __repr__(self) -> str:
        """Title and description: what a terminal shows."""
        return f"{self.title}\n{self.alt}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {SVG_MIME: self.svg, "text/plain": repr(self)}

    def words(self) -> str:
        """Description and table as folded HTML."""
        return (
            f'<details class="rmqlab-words"><summary>{_(FOLDED)}</summary>'
            f"<p>{html.escape(self.alt)}</p>{self.table.html()}</details>"
        )

    def html(self) -> str:
        """The whole as one piece of HTML, for a view that changes; in a narrow one the picture scrolls."""
        own = [float(number) for name, number in _SIZE.findall(self.svg.partition(">")[0]) if name == "width"]
        px = min([LEGIBLE_PX, *own])
        picture = f'<div style="overflow-x:auto"><div style="min-width:{px:g}px">{self.svg}</div></div>'
        return f'<figure style="margin:0">{picture}{self.words()}</figure>'

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        display({"text/html": FIT + self.words(), "text/plain": self.table.text()}, raw=True)


def _described(svg: str, title: str, alt: str) -> str:
    """The SVG with role, title and description, its own size or less, and no wider than the page."""
    mark = hashlib.sha256((title + alt + svg).encode()).hexdigest()[:8]
    head, _ignored, rest = svg.partition(">")
    sizes = {name: float(number) for name, number in _SIZE.findall(head)}
    scale = min(1.0, WIDEST_PX / sizes["width"]) if sizes else 1.0
    head = _SIZE.sub(lambda size: f'{size[1]}="{sizes[size[1]] * scale:.0f}"', head)
    return (
        f'{head} role="img" aria-labelledby="t{mark} d{mark}" style="max-width:100%;height:auto;background:#fff">'
        f'<title id="t{mark}">{html.escape(title)}</title><desc id="d{mark}">{html.escape(alt)}</desc>{rest}'
    )


def stacked(title: str, *pictures: Picture, labels: Sequence[str] = ()) -> Picture:
    """The pictures from top to bottom, their descriptions one after another, with the table of the first one.

    `labels` stand above the pictures, in their order, and before their descriptions; an empty one is left out.
    """
    parts: list[str] = []
    width = height = 0.0
    descriptions: list[str] = []
    for picture, label in zip(pictures, [*labels, *[""] * len(pictures)], strict=False):
        if label:
            place = f'x="8" y="{height + LABEL - 8:g}" font-size="14" font-weight="bold"'
            parts.append(f"<text {place}>{html.escape(translate(label))}</text>")
            height += LABEL
        descriptions.append(f"{_(label)}: {picture.alt}" if label else picture.alt)
        size = _PLACE.search(picture.svg)
        if size is None:
            raise ValueError(f"picture {picture.title!r} has no size and viewBox: only pictures of ours can be stacked")
        wide, high, units, _ignored = map(float, size.groups())
        inner = picture.svg.partition("</desc>")[2].rpartition("</svg>")[0]
        parts.append(f'<g transform="translate(0 {height:g}) scale({wide / units:.4g})">{inner}</g>')
        width, height = max(width, wide), height + high + GAP
    head = (
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="{FONTS}" xmlns="http://www.w3.org/2000/svg" version="1.1">'
    )
    return Picture(
        f"{head}{''.join(parts)}</svg>\n", title=title, alt=sentences(*descriptions), table=pictures[0].table
    )
