"""A picture: SVG that is always the same, a description in words, and a table with the same content."""

from __future__ import annotations

import hashlib
import html
import re
from typing import TYPE_CHECKING

from rmqlab.language import translate

if TYPE_CHECKING:
    from rmqlab.show.tables import Table

SVG = "image/svg+xml"
FOLDED = "This picture in words and as a table"
# JupyterLab's column in a window of 1280 pixels; in a narrower one the picture shrinks with it.
WIDEST_PX = 1100
LEGIBLE_PX = 900  # so wide, the smallest letters of a picture have 11 pixels
_SIZE = re.compile(r'\b(width|height)="([\d.]+)"')


class Picture:
    """What a notebook shows: ``svg`` text, ``alt`` (what a listener must know), ``table`` (the same for a reader).

    Shown in a notebook it gives the SVG, and below it, folded, description and table.
    """

    def __init__(self, svg: str, *, title: str, alt: str, table: Table) -> None:
        """`alt` has no default: a picture without words is not one of ours.

        Raises:
            ValueError: title or alt is empty.
        """
        if not title.strip() or not alt.strip():
            raise ValueError("a picture needs a title and an alt text: say what a reader who cannot see it must know")
        self.title = translate(title)
        self.alt = translate(alt)
        self.table = table
        self.svg = _described(svg, self.title, self.alt)

    def __repr__(self) -> str:
        """Title and description: what a terminal shows."""
        return f"{self.title}\n{self.alt}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {SVG: self.svg, "text/plain": repr(self)}

    def words(self) -> str:
        """Description and table as folded HTML."""
        return (
            f'<details class="rmqlab-words"><summary>{translate(FOLDED)}</summary>'
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
        display({"text/html": self.words(), "text/plain": self.table.text()}, raw=True)


def _described(svg: str, title: str, alt: str) -> str:
    """The SVG with role, title and description, its own size or less, and no wider than the page."""
    mark = hashlib.sha256((title + alt + svg).encode()).hexdigest()[:8]
    head, _, rest = svg.partition(">")
    sizes = {name: float(number) for name, number in _SIZE.findall(head)}
    scale = min(1.0, WIDEST_PX / sizes["width"]) if sizes else 1.0
    head = _SIZE.sub(lambda size: f'{size[1]}="{sizes[size[1]] * scale:.0f}"', head)
    return (
        f'{head} role="img" aria-labelledby="t{mark} d{mark}" style="max-width:100%;height:auto;background:#fff">'
        f'<title id="t{mark}">{html.escape(title)}</title><desc id="d{mark}">{html.escape(alt)}</desc>{rest}'
    )
