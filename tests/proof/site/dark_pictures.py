"""The style sheet of pictures by night, for lessons and playgrounds, by `rmqlab_tools.show.by_night`.

A lesson's picture is SVG inside its page, and its colours are attributes: a rule of a style sheet goes before those.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from rmqlab_tools.show.by_night import NIGHT, ON_COLOUR, ground_by_night, is_grey, letters_by_night
from rmqlab_tools.show.palette import BLACK, WHITE, contrast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}\b")
PALE = 2.0  # contrast with white, below which a line is part of the ground
PICTURE = 'svg[role="img"]'


def colours() -> list[str]:
    """Every colour that a picture has: those of the code of pictures, and those in the outputs of the lessons."""
    files = [*(ROOT / "rmqlab_tools" / "show").rglob("*.py"), *(ROOT / "notebooks").glob("[0-9]*.ipynb")]
    texts = (path.read_text(encoding="utf-8") for path in files)
    return sorted({colour.upper() for text in texts for colour in _COLOUR.findall(text)} | {BLACK, WHITE})


def write(target: Path) -> None:
    """Write the style sheet."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(_rules()) + "\n", encoding="utf-8")


def _rules() -> Iterator[str]:
    yield "/* Made by tests/proof/site/dark_pictures.py: the colours of pictures, by day and by night. */"
    ground, letters = (f"light-dark({colour}, {NIGHT[colour]})" for colour in (WHITE, BLACK))
    yield f"{PICTURE} {{ background: {ground} !important; fill: {letters}; }}"
    for colour in colours():
        nights = {
            "text": WHITE if colour == WHITE else letters_by_night(colour),  # white letters stand on a colour
            ":is(rect, use)": ground_by_night(colour),
            ":is(path, circle)": _mark(colour),
        }
        for part, night in nights.items():
            if night != colour:
                yield f'{PICTURE} {part}[fill="{colour}" i] {{ fill: light-dark({colour}, {night}); }}'
        if is_grey(colour):
            pale = contrast(colour, WHITE) < PALE
            night = ground_by_night(colour) if pale else letters_by_night(colour)
            yield f'{PICTURE} [stroke="{colour}" i] {{ stroke: light-dark({colour}, {night}); }}'
    yield f'{PICTURE} pattern [stroke="{WHITE}" i] {{ stroke: {WHITE}; }}'
    yield f"{PICTURE} text.{ON_COLOUR} {{ fill: {BLACK} !important; }}"


def _mark(colour: str) -> str:
    """An arrow's head is black as letters are."""
    return letters_by_night(colour) if colour == BLACK else ground_by_night(colour)
