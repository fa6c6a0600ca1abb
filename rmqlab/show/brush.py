"""The brush: drawing in inches from the upper left: text, boxes, arrows, lines, marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.patches import FancyBboxPatch, Rectangle

from rmqlab.show.figure import canvas, svg_of
from rmqlab.show.palette import BLACK, WHITE

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes


class Brush:
    """Draws on ``axes``; every length is in inches, y grows downwards."""

    def __init__(self, axes: Axes, *, top: float = 0) -> None:
        """`top` is where y = 0 lies on the axes."""
        self.axes = axes
        self.top = top

    def text(self, x: float, y: float, text: str, *, size: float = 8, colour: str = BLACK, **style: Any) -> None:
        """Text centred at (x, y), or starting there with ha="left"."""
        style = {"ha": "center", "va": "center", "zorder": 5, **style}
        self.axes.text(x, self.top + y, text, fontsize=size, color=colour, **style)

    def block(self, x: float, y: float, width: float, height: float, colour: str, **style: Any) -> None:
        """A filled rectangle whose upper left corner is (x, y)."""
        style = {"edgecolor": "none", "zorder": 1, **style}
        self.axes.add_patch(Rectangle((x, self.top + y), width, height, facecolor=colour, **style))

    def chip(self, x: float, y: float, width: float, height: float, face: str = WHITE, edge: str = "none") -> None:
        """A box with round corners, centred at (x, y)."""
        pad = 0.04
        corner = (x - width / 2 + pad, self.top + y - height / 2 + pad)
        shape = f"round,pad={pad},rounding_size=0.06"
        self.axes.add_patch(
            FancyBboxPatch(
                corner, width - 2 * pad, height - 2 * pad, boxstyle=shape, facecolor=face, edgecolor=edge,
                linewidth=1.6, zorder=4,
            )
        )  # fmt: skip

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], colour: str = BLACK, *, dashed: bool = False
    ) -> None:
        """An arrow from ``start`` to ``end``."""
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.1, "linestyle": (0, (3, 2)) if dashed else "-"}
        style |= {"shrinkA": 0, "shrinkB": 0, "mutation_scale": 9}
        (x1, y1), (x2, y2) = start, end
        self.axes.annotate("", xy=(x2, self.top + y2), xytext=(x1, self.top + y1), arrowprops=style, zorder=3)

    def line(self, x: tuple[float, float], y: tuple[float, float], colour: str, width: float) -> None:
        """A straight line under everything else."""
        self.axes.plot(
            x, [self.top + end for end in y], color=colour, linewidth=width, solid_capstyle="butt", zorder=0.5
        )

    def spot(self, x: float, y: float, size: float, face: str, *, edge: str | None = None, shape: str = "o") -> None:
        """A round (or other) mark at (x, y), ``size`` in points."""
        self.axes.plot(
            [x], [self.top + y], marker=shape, markersize=size, markerfacecolor=face, markeredgecolor=edge or face,
            markeredgewidth=2, zorder=4,
        )  # fmt: skip


def sheet(width: float, height: float, paint: Callable[[Axes], None]) -> str:
    """SVG of an empty sheet of ``width`` by ``height`` inches on which ``paint`` has drawn."""
    with canvas(width, height) as figure:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.axis("off")
        paint(axes)
        return svg_of(figure)


def painted(width: float, height: float, draw: Callable[[Brush], None]) -> str:
    """SVG of what ``draw`` draws."""
    return sheet(width, height, lambda axes: draw(Brush(axes)))
