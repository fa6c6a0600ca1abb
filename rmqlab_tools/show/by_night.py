"""Pictures on a dark page: which letters stand on a colour, and what each colour becomes there.

Okabe and Ito's colours are the same by day and by night. What turns is the ground, its greys, and the letters and lines
on it. A style sheet cannot see what lies under letters, so the letters on a colour are marked (`letters_marked`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rmqlab_tools.show.canvas import CENTRE
from rmqlab_tools.show.palette import BLACK, WHITE, contrast, light_of, luminance

NIGHT = {WHITE: "#161D25", BLACK: "#F3F5F7"}  # the ground, and what is drawn on it
ON_COLOUR = "on-colour"
LEAST = 4.6  # contrast of coloured letters with the ground by night
GREYS = 12  # red, green and blue of a grey differ by less
_PART = re.compile(r"<(?P<name>/?g|rect|circle|text)\b(?P<rest>[^>]*)>")
_VALUE = re.compile(r'(?<![\w-])(x|y|width|height|cx|cy|r|fill|font-size)="([^"]*)"')


class _Shape(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float
    fill: str


def is_grey(colour: str) -> bool:
    """Whether `#RRGGBB` is white, black or a grey.

    Example:
        >>> is_grey("#F2F2F2"), is_grey("#E69F00")
        (True, False)
    """
    channels = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return max(channels) - min(channels) < GREYS


def letters_marked(svg: str) -> str:
    """The picture whose black letters have the class "on-colour" where the shape below them has a colour.

    Example:
        >>> letters_marked('<rect x="0" y="0" width="9" height="9" fill="#E69F00" /><text x="1" y="8" font-size="6">')
        '<rect x="0" y="0" width="9" height="9" fill="#E69F00" /><text class="on-colour" x="1" y="8" font-size="6">'
    """
    shapes: list[list[_Shape]] = [[]]

    def marked(part: re.Match[str]) -> str:
        values = dict(_VALUE.findall(part["rest"]))
        match part["name"]:
            case "g":
                shapes.append([])
            case "/g":
                shapes.pop()
            case "rect" | "circle" if values.get("fill", "none").startswith("#"):
                shapes[-1].append(_shape(values))
            case "text" if values.get("fill", BLACK).upper() == BLACK:
                below = [shape.fill for shape in shapes[-1] if _covers(shape, values)]
                if below and not is_grey(below[-1]):
                    return f'<text class="{ON_COLOUR}"{part["rest"]}>'
        return part[0]

    return _PART.sub(marked, svg)


def _shape(values: dict[str, str]) -> _Shape:
    if "r" in values:
        x, y, radius = (float(values[name]) for name in ("cx", "cy", "r"))
        return _Shape(x - radius, y - radius, x + radius, y + radius, values["fill"])
    x, y, width, height = (float(values.get(name, 0)) for name in ("x", "y", "width", "height"))
    return _Shape(x, y, x + width, y + height, values["fill"])


def _covers(shape: _Shape, letters: dict[str, str]) -> bool:
    x, y = float(letters.get("x", 0)), float(letters.get("y", 0)) - CENTRE * float(letters.get("font-size", 0))
    return shape.left <= x <= shape.right and shape.top <= y <= shape.bottom


def letters_by_night(colour: str) -> str:
    """What letters of a colour are on the dark ground: as light as that asks.

    Example:
        >>> letters_by_night("#000000")
        '#F3F5F7'
    """
    ground = luminance(NIGHT[WHITE]) + 0.05
    return NIGHT.get(colour) or _with_luminance(colour, max(LEAST, contrast(colour, WHITE)) * ground - 0.05)


def ground_by_night(colour: str) -> str:
    """What a shape of a colour is on the dark page: a grey turns, a colour stays.

    Example:
        >>> ground_by_night("#FFFFFF"), ground_by_night("#E69F00")
        ('#161D25', '#E69F00')
    """
    dark_grey = is_grey(colour) and contrast(colour, WHITE) > LEAST
    if not is_grey(colour) or dark_grey:  # white letters stand on a dark grey, by day and by night
        return colour
    return NIGHT.get(colour) or _with_luminance(
        colour, contrast(colour, WHITE) * (luminance(NIGHT[WHITE]) + 0.05) - 0.05
    )


def _with_luminance(colour: str, wanted: float) -> str:
    """The colour mixed with white or black, in light and not in numbers, until it has a luminance."""
    channels = light_of(colour)
    own = luminance(colour)
    if wanted <= own:
        mixed = [channel * wanted / own for channel in channels]
    else:
        white = (wanted - own) / (1 - own)
        mixed = [channel + (1 - channel) * white for channel in channels]
    return "#" + "".join(f"{round(255 * _coded(channel)):02X}" for channel in mixed)


def _coded(value: float) -> float:
    return float(12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055)
