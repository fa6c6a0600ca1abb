"""A picture: SVG that is always the same, a description in words, and a table with the same content.

Drawn by matplotlib without its windows. Text stays text: the file is small, a reader can search it, enlarge it, have it
read aloud. The layout is made with a wide typeface (DejaVu Sans), so that a narrower one in its place never overlaps.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.show.tables import Table

SVG = "image/svg+xml"
FONTS = ["DejaVu Sans", "Verdana", "Arial", "sans-serif"]
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rmqlab",
    "font.family": "sans-serif",
    "font.sans-serif": FONTS,
    "font.size": 9,
    "hatch.linewidth": 0.6,
    "figure.dpi": 72,
    "savefig.facecolor": "white",
}
PX_PER_PT = 4 / 3
# JupyterLab shows a picture in its own size and cuts off what does not fit; this fits a window of 1280 pixels.
WIDEST_PX = 820
_SIZE = re.compile(r'\b(width|height)="([\d.]+)pt"')
_TAG = re.compile(r"<[^>]*>")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")


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
        self.title = title
        self.alt = alt
        self.table = table
        self.svg = _described(svg, title, alt)

    def __repr__(self) -> str:
        """Title and description: what a terminal shows."""
        return f"{self.title}\n{self.alt}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {SVG: self.svg, "text/plain": repr(self)}

    def words(self) -> str:
        """Description and table as folded HTML."""
        return (
            f'<details class="rmqlab-words"><summary>This picture in words and as a table</summary>'
            f"<p>{html.escape(self.alt)}</p>{self.table.html()}</details>"
        )

    def html(self) -> str:
        """The whole as one piece of HTML, for a view that changes."""
        return f'<figure style="margin:0">{self.svg}{self.words()}</figure>'

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        display({"text/html": self.words(), "text/plain": self.table.text()}, raw=True)


@contextmanager
def canvas(width: float, height: float) -> Iterator[Figure]:
    """An empty figure of ``width`` by ``height`` inches under our settings; draw on it inside the block."""
    with rc_context(SETTINGS):  # type: ignore[arg-type]
        yield Figure(figsize=(width, height))


def svg_of(figure: Figure) -> str:
    """The figure as SVG text: no date, no version, no prologue, numbers of two decimals."""
    target = io.StringIO()
    with rc_context(SETTINGS):  # type: ignore[arg-type]
        metadata: dict[str, Any] = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(target, format="svg", metadata=metadata)
    text = target.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = _TAG.sub(lambda tag: _LONG_NUMBER.sub(_two_decimals, tag[0]), text)
    return re.sub(r"\n\s*", "\n", text).strip() + "\n"


def _two_decimals(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _described(svg: str, title: str, alt: str) -> str:
    """The SVG with role, title and description, its own size or less, and no wider than the page."""
    mark = hashlib.sha256((title + alt + svg).encode()).hexdigest()[:8]
    head, _, rest = svg.partition(">")
    wide = max((float(size[2]) for size in _SIZE.finditer(head) if size[1] == "width"), default=0.0) * PX_PER_PT
    scale = PX_PER_PT * min(1.0, WIDEST_PX / wide) if wide else PX_PER_PT
    head = _SIZE.sub(lambda size: f'{size[1]}="{float(size[2]) * scale:.0f}"', head)
    return (
        f'{head} role="img" aria-labelledby="t{mark} d{mark}" style="max-width:100%;height:auto;background:#fff">'
        f'<title id="t{mark}">{html.escape(title)}</title><desc id="d{mark}">{html.escape(alt)}</desc>{rest}'
    )
