"""A tree of boxes that grows from left to right: for expressions, for classes, for calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.show.canvas import text_width
from rmqlab.show.palette import BLACK, GREY, WHITE, ink

if TYPE_CHECKING:
    from rmqlab.show.canvas import Canvas

# Inches.
PAD, LEVEL, LINE, ROOM = 0.18, 0.3, 0.2, 0.1


@dataclass(slots=True)
class Branch:
    """A box: its first line (bold), further lines, its colour; ``faint`` boxes are dashed."""

    title: str
    lines: tuple[str, ...] = ()
    colour: str = WHITE
    faint: bool = False
    children: list[Branch] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Inches."""
        return max(0.3, *map(text_width, (self.title, *self.lines))) + PAD

    @property
    def height(self) -> float:
        """Inches, of the box alone."""
        return LINE * (1 + len(self.lines)) + 0.1


def size(root: Branch) -> tuple[float, float]:
    """Width and height of the tree in inches."""
    columns = _columns(root)
    return sum(columns) + LEVEL * (len(columns) - 1), _depth(root)


def draw(canvas: Canvas, root: Branch, x: float, y: float) -> None:
    """Draw the tree with its upper left corner at (x, y)."""
    columns = _columns(root)
    lefts = [x + sum(columns[:level]) + LEVEL * level for level in range(len(columns))]
    _draw(canvas, root, lefts, y, 0)


def _columns(root: Branch) -> list[float]:
    """The width of each level."""
    widths: list[float] = []
    row = [root]
    while row:
        widths.append(max(branch.width for branch in row))
        row = [child for branch in row for child in branch.children]
    return widths


def _depth(branch: Branch) -> float:
    return max(branch.height + ROOM, sum(_depth(child) for child in branch.children))


def _draw(canvas: Canvas, branch: Branch, lefts: list[float], top: float, level: int) -> float:
    """Draw a box and those behind it; return the y of its middle."""
    depth = _depth(branch)
    spread = sum(_depth(child) for child in branch.children)
    below = top + (depth - spread) / 2
    middles = []
    for child in branch.children:
        middles.append(_draw(canvas, child, lefts, below, level + 1))
        below += _depth(child)
    middle = (middles[0] + middles[-1]) / 2 if middles else top + depth / 2
    _box(canvas, branch, lefts[level], middle)
    right = lefts[level] + branch.width
    for child, at in zip(branch.children, middles, strict=True):
        elbow = lefts[level + 1] - LEVEL / 2
        xs, ys = [right, elbow, elbow, lefts[level + 1]], [middle, middle, at, at]
        corners = list(zip(xs, ys, strict=True))
        canvas.polyline(corners, GREY, width=1.2, dashed=child.faint, layer=0.5)
    return middle


def _box(canvas: Canvas, branch: Branch, left: float, middle: float) -> None:
    width, height = branch.width, branch.height
    edge = GREY if branch.faint else BLACK
    canvas.block(
        left, middle - height / 2, width, height, branch.colour, edge=edge, edge_width=1.2, dashed=branch.faint
    )
    colour = GREY if branch.faint else ink(branch.colour)
    y = middle - height / 2 + 0.05 + LINE / 2
    canvas.text(left + width / 2, y, branch.title, colour=colour, bold=True)
    for line in branch.lines:
        y += LINE
        canvas.text(left + width / 2, y, line, colour=colour)
