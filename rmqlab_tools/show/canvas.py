"""A canvas for SVG: drawing in inches from the upper left, text, boxes, arrows, lines, marks.

Text stays text: the file is small, a reader can search it, enlarge it, have it read aloud. Places are made for a wide
typeface (DejaVu Sans), so that a narrower one in its place never overlaps. The same drawing is the same bytes.
"""

from __future__ import annotations

import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import drawsvg

from rmqlab.language import translate
from rmqlab_tools.show.figure import FONTS
from rmqlab_tools.show.palette import BLACK, WHITE
from rmqlab_tools.show.tag_colours import NOTHING, Paint, ink_on, paint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rmqlab.run.run_view import RunView

Side = Literal["left", "center", "right"]
Shape = Literal["round", "square", "diamond", "down", "cross", "bar"]
Point = tuple[float, float]

WIDTH = 8.8  # inches, 845 pixels: JupyterLab's column in a window of 1,280 pixels with its list of files open
PX_PER_INCH = 96
PX_PER_PT = PX_PER_INCH / 72
MONOSPACE = "DejaVu Sans Mono, Menlo, Consolas, monospace"
MIN_TEXT = 10.1  # points, 13 px
ROOM_TEXT = 13.6  # points, 18 px: what a room must read
TEXT_SIZES = (ROOM_TEXT, 11.8, MIN_TEXT)  # points, the largest first that has room
BOLD = 1.15  # how much wider bold letters are
CENTRE = 0.36  # of the letters' size: from the middle of a line of text down to where its letters stand
ANCHORS: dict[Side, str] = {"left": "start", "center": "middle", "right": "end"}
HATCH_PX = 7
# How far letters go, in parts of their size; all others are as wide as "n".
LETTER_WIDTHS = {"n": 0.635, "iljI.,:;|!'": 0.32, " tfr()[]-/": 0.4, "mwMW%@": 0.92, "ABCDEGHKNOQRSTUVXYZ=<>+": 0.73}
HEAD_PX, HEAD_HALF_PX = 8, 3.5  # of an arrow


def text_width(text: str, size: float = MIN_TEXT) -> float:
    """The width in inches that a text takes at most, at `size` points, in the reader's language."""
    known = {letter: wide for letters, wide in LETTER_WIDTHS.items() for letter in letters}
    ems = (
        1.0 if unicodedata.east_asian_width(character) in "WF" else known.get(character, LETTER_WIDTHS["n"])
        for character in translate(text)
    )
    return sum(ems) * size / 72


def largest(fits: Callable[[float], bool]) -> float:
    """The largest size of letters (points) that fits; the smallest there is if none does."""
    return next(filter(fits, TEXT_SIZES), MIN_TEXT)


def fitting(text: str, room: float, *, bold: bool = False) -> float:
    """The largest size of letters (points) at which a text has room in so many inches."""
    return largest(lambda size: text_width(text, size) * (BOLD if bold else 1) <= room)


def cut(text: str, most: int) -> str:
    """A text of at most `most` letters; what is left out is marked.

    >>> cut("a long text", 7)
    'a long…'
    """
    text = translate(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def fitted(text: str, width: float, *, at_end: bool = False, size: float = MIN_TEXT) -> str:
    """A text cut to `width` inches: its beginning, or its end; what is left out is marked."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(f"{text}…", size) > width:
        text = text[1:] if at_end else text[:-1]
    return f"…{text}" if at_end else f"{text}…"


def legend(
    words: Iterable[str], left: float, right: float, *, room: float, line: float = 0.24, size: float = MIN_TEXT
) -> tuple[list[Point], float]:
    """Where the entries of a legend begin, in rows between two edges, and how high all rows are.

    Before and after its words an entry has `room` in all; y is 0 in the first row.
    """
    places: list[Point] = []
    x, y = left, 0.0
    for word in words:
        width = text_width(word, size) + room
        if x + width > right and x > left:
            x, y = left, y + line
        places.append((x, y))
        x += width
    return places, y + line


class Canvas:
    """An empty sheet to draw on; every length is in inches, y grows downwards, line widths and letters are in points.

    A drawing has layers: a higher one covers a lower one, and in a layer the later covers the earlier.
    """

    def __init__(self, width: float, height: float) -> None:
        """`width` and `height` of the sheet."""
        self._says: str | None = None
        self._drawing = drawsvg.Drawing(_px(width), _px(height), font_family=FONTS)
        self._patterns: dict[str, drawsvg.Pattern] = {}
        self._stripes: dict[Paint, drawsvg.LinearGradient] = {}
        self._drawing.append(drawsvg.Rectangle(0, 0, _px(width), _px(height), fill=WHITE))

    def svg(self) -> str:
        """What was drawn so far, as SVG text."""
        return f"{self._drawing.as_svg(header='')}\n"

    def _add(self, layer: float, element: drawsvg.DrawingBasicElement) -> None:
        """Put an element on a layer; it says under the pointer what `saying` says now."""
        if self._says is not None:
            element.append_title(self._says)
        self._drawing.append(element, z=layer)

    @contextmanager
    def saying(self, text: str) -> Iterator[None]:
        """What is drawn inside says `text` when the pointer rests on it."""
        before, self._says = self._says, translate(text)
        yield
        self._says = before

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = MIN_TEXT,
        colour: str = BLACK,
        ha: Side = "center",
        bold: bool = False,
        monospace: bool = False,
        ground: str | None = None,
        on: Paint | None = None,
    ) -> None:
        """Text centred at (x, y), or beginning or ending there (`ha`); `ground` is the colour under its letters.

        `on` says what is painted there: letters are black or white then, and on stripes they have a ground.
        """
        size, text = max(size, MIN_TEXT), translate(text)
        if on is not None:
            readable = ink_on(on)
            colour, ground = (readable, ground) if readable else (BLACK, WHITE)
        if ground is not None:
            wide, high = text_width(text, size), 1.3 * size / 72
            left = x - {"left": 0, "center": wide / 2, "right": wide}[ha]
            self.block(left, y - high / 2, wide, high, ground, layer=4.5)
        letters = size * PX_PER_PT
        self._add(
            5,
            drawsvg.Text(
                text, _round(letters), _px(x), _round(_px(y) + CENTRE * letters), fill=colour,
                text_anchor=ANCHORS[ha], font_weight="bold" if bold else None,
                font_family=MONOSPACE if monospace else None, style="white-space:pre" if "  " in text else None,
            ),
        )  # fmt: skip

    def heading(self, text: str, y: float = 0.2) -> None:
        """The title of a drawing, or of a part of it, as large as there is room for it."""
        self.text(0.1, y, text, size=fitting(text, WIDTH - 0.2, bold=True), ha="left", bold=True)

    def block(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str | Paint,
        *,
        edge: str | None = None,
        edge_width: float = 1,
        dashed: bool = False,
        hatch: str = "",
        hatch_colour: str = WHITE,
        layer: float = 1,
        corner: float = 0,
    ) -> None:
        """A filled rectangle whose upper left corner is (x, y); `corner` is the radius of its corners."""
        place = (_px(x), _px(y), _px(width), _px(height))
        style: dict[str, Any] = {} if edge is None else {"stroke": edge, "stroke_width": _round(edge_width * PX_PER_PT)}
        if corner:
            style["rx"] = _px(corner)
        self._add(layer, drawsvg.Rectangle(*place, fill=self._fill(colour), stroke_dasharray=_dashes(dashed), **style))
        if hatch:
            self._add(layer, drawsvg.Rectangle(*place, fill=self._pattern(hatch, hatch_colour)))

    def chip(
        self, x: float, y: float, width: float, height: float, face: str | Paint = WHITE, edge: str | None = None
    ) -> None:
        """A box with round corners, centred at (x, y)."""
        self.block(x - width / 2, y - height / 2, width, height, face, edge=edge, edge_width=1.6, layer=4, corner=0.06)

    def arrow(self, start: Point, end: Point, colour: str = BLACK, *, dashed: bool = False) -> None:
        """An arrow from `start` to `end`."""
        (x1, y1), (x2, y2) = ((_px(x), _px(y)) for x, y in (start, end))
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1e-6)
        along, across = (x2 - x1) / length, (y2 - y1) / length
        neck_x, neck_y = x2 - HEAD_PX * along, y2 - HEAD_PX * across
        self.polyline([start, (neck_x / PX_PER_INCH, neck_y / PX_PER_INCH)], colour, dashed=dashed, layer=3)
        wing_x, wing_y = -HEAD_HALF_PX * across, HEAD_HALF_PX * along
        corners = [x2, y2, neck_x + wing_x, neck_y + wing_y, neck_x - wing_x, neck_y - wing_y]
        self._add(3, drawsvg.Lines(*map(_round, corners), close=True, fill=colour))

    def line(self, x: Point, y: Point, colour: str, width: float, *, dashed: bool = False) -> None:
        """A straight line under everything else, from the first of each pair to the second."""
        self.polyline([(x[0], y[0]), (x[1], y[1])], colour, width=width, dashed=dashed, layer=0.5)

    def polyline(
        self, points: Sequence[Point], colour: str, *, width: float = 1.1, dashed: bool = False, layer: float = 2
    ) -> None:
        """A line through points."""
        style = {"stroke_width": _round(width * PX_PER_PT), "stroke_dasharray": _dashes(dashed)}
        self._add(layer, drawsvg.Lines(*self._flat(points), fill="none", stroke=colour, **style))

    def area(self, points: Sequence[Point], colour: str) -> None:
        """A filled shape with these corners."""
        self._add(1, drawsvg.Lines(*self._flat(points), close=True, fill=colour))

    def _flat(self, points: Sequence[Point]) -> list[float]:
        return [number for x, y in points for number in (_px(x), _px(y))]

    def spot(
        self, x: float, y: float, size: float, face: str | Paint, *, edge: str | None = None, shape: Shape = "round"
    ) -> None:
        """A mark at (x, y), `size` points across."""
        at_x, at_y, r = _px(x), _px(y), _round(size * PX_PER_PT / 2)
        line = {"stroke": edge or (face if isinstance(face, str) else BLACK), "stroke_width": 2}
        if shape == "round":
            self._add(4, drawsvg.Circle(at_x, at_y, r, fill=self._fill(face), **line))
        elif shape == "cross":
            for turn in (1, -1):
                ends = (at_x - r, at_y - turn * r, at_x + r, at_y + turn * r)
                self._add(4, drawsvg.Line(*map(_round, ends), stroke=line["stroke"], stroke_width=3))
        elif shape == "bar":
            self._add(4, drawsvg.Line(at_x, _round(at_y - r), at_x, _round(at_y + r), **line))
        else:
            corners = {
                "square": [(-r, -r), (r, -r), (r, r), (-r, r)], "diamond": [(0, -r), (r, 0), (0, r), (-r, 0)],
                "down": [(-r, -r), (r, -r), (0, r)],
            }[shape]  # fmt: skip
            points = [_round(number) for dx, dy in corners for number in (at_x + dx, at_y + dy)]
            self._add(4, drawsvg.Lines(*points, close=True, fill=self._fill(face), **line))

    def _fill(self, colour: str | Paint) -> str | drawsvg.LinearGradient:
        """What fills a shape: a colour, or stripes that stand side by side across the whole of it."""
        if isinstance(colour, str) or len(colour) == 1:
            return colour if isinstance(colour, str) else colour[0]
        if colour not in self._stripes:
            name = "-".join(["stripes", *(stripe.removeprefix("#") for stripe in colour)])
            stripes = drawsvg.LinearGradient(0, 0, 1, 0, gradientUnits="objectBoundingBox", id=name)
            for number, stripe in enumerate(colour):
                for edge in (number, number + 1):
                    stripes.add_stop(f"{100 * edge / len(colour):.4g}%", stripe)
            self._stripes[colour] = stripes
        return self._stripes[colour]

    def _pattern(self, hatch: str, colour: str) -> drawsvg.Pattern:
        """The fill that draws `hatch`, which is named by the characters it looks like, in `colour`."""
        name = f"hatch-{ord(hatch[0])}-{colour.removeprefix('#')}"
        if name not in self._patterns:
            end, middle = HATCH_PX, HATCH_PX / 2
            pattern = drawsvg.Pattern(end, end, patternUnits="userSpaceOnUse", id=name)
            up, down = (0.0, end, end, 0.0), (0.0, 0.0, end, end)
            upright, flat = (middle, 0.0, middle, end), (0.0, middle, end, middle)
            kinds: dict[str, list[tuple[float, ...]]] = {
                "/": [up],
                "\\": [down],
                "x": [up, down],
                "|": [upright],
                "-": [flat],
            }
            lines = kinds.get(hatch[0], [])
            for ends in lines:
                pattern.append(drawsvg.Line(*ends, stroke=colour, stroke_width=1.2))
            if not lines:
                pattern.append(drawsvg.Circle(middle, middle, 1.3, fill=colour))
            self._patterns[name] = pattern
        return self._patterns[name]


class RunCanvas(Canvas):
    """A canvas for one reading of a run."""

    def __init__(self, width: float, height: float, view: RunView) -> None:
        """`width` and `height` of the sheet, in inches."""
        super().__init__(width, height)
        self.view = view

    def asked(self, client: str) -> Paint:
        """The colours of what a consumer asks for first."""
        return paint(self.view.asked[client])

    def asked_by(self, clients: Iterable[str]) -> Paint:
        """The colours of what they all ask for; those of nothing where they differ, or where there are none."""
        grounds = {self.asked(client) for client in clients}
        return grounds.pop() if len(grounds) == 1 else NOTHING


def painted(width: float, height: float, draw: Callable[[Canvas], None]) -> str:
    """SVG of what `draw` draws on an empty sheet of `width` by `height` inches."""
    canvas = Canvas(width, height)
    draw(canvas)
    return canvas.svg()


def _px(inches: float) -> float:
    return _round(inches * PX_PER_INCH)


def _round(value: float) -> float:
    """Two decimals, and no fraction where there is none: the same text on every machine."""
    near = round(value, 2)
    return int(near) if near == int(near) else near


def _dashes(dashed: bool) -> str | None:
    return "4 3" if dashed else None
