"""The picture of the rooms: each package a ground, each room a box, an arrow down to each room that it imports.

    python -m tests.proof.rooms.picture      # draws data/pictures/rooms.svg anew

Arrows that follow from others are left out. Rows come from the imports: a room stands above all that it imports, the
tools above the kernel. `COLUMNS` says only who stands left and right. 340 wide, so that its letters (14) can be read on
a telephone; the ground is part of it, light or dark as the reader's system is.
"""

from __future__ import annotations

import sys
from html import escape
from itertools import pairwise
from typing import Final

from rmqlab.checkout import ROOT
from tests.proof.rooms.imports import PACKAGES, essential, graph, package_of

PICTURE = ROOT / "data" / "pictures" / "rooms.svg"
COLUMNS: Final = {
    "cli": 1, "course": 1, "source": 2, "spark": 0, "doctor": 2, "show": 1, "search": 1, "recordings": 1, "live": 1,
    "lab": 2, "sim": 1, "broker": 0, "store": 0, "client": 1, "run": 2, "namesrv": 0, "filter": 1, "protocol": 1,
    "scenario": 2, "message": 1,
}  # fmt: skip
WIDTH, BOX_WIDTH, BOX_HEIGHT, PITCH, LETTER = 340, 92, 30, 54, 14
CENTRES: Final = (62, 170, 278)
GUTTERS: Final = (116, 224)  # where an arrow goes down that would cross a box
TITLE_HEIGHT, PACKAGE_GAP = 30, 34
STYLE = """
.ground { fill: #ffffff } .package { fill: #f2f5f8; stroke: #8a97a5 } .room { fill: #0072b2 } text { fill: #1a1a1a }
.room-name { fill: #ffffff } .arrow { fill: none; stroke: #4a4a4a; stroke-width: 1.5 } .tip { fill: #4a4a4a }
@media (prefers-color-scheme: dark) {
.ground { fill: #131416 } .package { fill: #1d2126; stroke: #77828e } .room { fill: #56b4e9 } text { fill: #eeeeee }
.room-name { fill: #000000 } .arrow { stroke: #c4c4c4 } .tip { fill: #c4c4c4 }
}"""
Point = tuple[float, float]


def rows(arrows: dict[str, set[str]]) -> dict[str, int]:
    """Each room's row, 0 at the bottom."""
    levels: dict[str, int] = {}

    def level(room: str) -> int:
        if room not in levels:
            levels[room] = max((level(target) + 1 for target in arrows[room]), default=0)
        return levels[room]

    kernel = [room for room in arrows if package_of(room) == PACKAGES[0]]
    top = max(map(level, kernel)) + 1
    for room in sorted(set(arrows) - set(kernel)):
        level(room)
    tools = sorted({levels[room] for room in set(arrows) - set(kernel)})
    places = {low: top + place for place, low in enumerate(tools)}
    return {room: low if room in kernel else places[low] for room, low in levels.items()}


def places(arrows: dict[str, set[str]]) -> dict[str, Point]:
    """The centre of each room's box."""
    row = rows(arrows)
    highest = max(row.values())
    first_tools = min(row[room] for room in arrows if package_of(room) == PACKAGES[1])
    return {
        room: (
            CENTRES[COLUMNS[room]],
            TITLE_HEIGHT + 10 + PITCH / 2 + (highest - row[room]) * PITCH + (row[room] < first_tools) * PACKAGE_GAP,
        )
        for room in arrows
    }


def way(source: str, target: str, centres: dict[str, Point]) -> list[Point]:
    """An arrow from the bottom of a box to the top of another, around the boxes between."""
    (x, y), (to_x, to_y) = centres[source], centres[target]
    start, end = (x, y + BOX_HEIGHT / 2), (to_x, to_y - BOX_HEIGHT / 2 - 6)
    straight = [start, end]
    if not crossed(straight, centres, {source, target}):
        return straight
    turn, stop = start[1] + 12, end[1] - 8
    around = [[start, (gutter, turn), (gutter, stop), end] for gutter in sorted(GUTTERS, key=lambda g: abs(g - to_x))]
    return next((points for points in around if not crossed(points, centres, {source, target})), straight)


def crossed(points: list[Point], centres: dict[str, Point], own: set[str]) -> list[str]:
    """The boxes that a line goes through, besides those at its ends."""
    steps = [
        (a[0] + (b[0] - a[0]) * part / 40, a[1] + (b[1] - a[1]) * part / 40)
        for a, b in pairwise(points)
        for part in range(41)
    ]
    return [
        room
        for room, (x, y) in centres.items()
        if room not in own
        and any(abs(at_x - x) < BOX_WIDTH / 2 + 3 and abs(at_y - y) < BOX_HEIGHT / 2 + 3 for at_x, at_y in steps)
    ]


def picture() -> str:
    """The picture as SVG, the same whenever the imports between the rooms are."""
    arrows = graph()
    drawn, centres = essential(arrows), places(arrows)
    height = round(max(y for _, y in centres.values()) + PITCH / 2 + 16)
    parts = [f'<rect class="ground" width="{WIDTH}" height="{height}"/>']
    for package in reversed(PACKAGES):
        ys = [centres[room][1] for room in arrows if package_of(room) == package]
        top, bottom = min(ys) - PITCH / 2 - TITLE_HEIGHT + 6, max(ys) + PITCH / 2
        parts.append(
            f'<rect class="package" x="4" y="{top:g}" width="{WIDTH - 8}" height="{bottom - top:g}" rx="6"/>'
            f'<text x="14" y="{top + 21:g}" font-weight="bold">{package}</text>'
        )
    for room in sorted(drawn):
        for target in sorted(drawn[room]):
            points = way(room, target, centres)
            line = " ".join(f"{x:g},{y:g}" for x, y in points)
            x, y = points[-1]
            parts.append(
                f'<polyline class="arrow" points="{line}"/>'
                f'<path class="tip" d="M{x - 4:g},{y - 2:g} h8 l-4,8 z"><title>{room} imports {target}</title></path>'
            )
    for room, (x, y) in sorted(centres.items(), key=lambda place: (place[1][1], place[1][0])):
        left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
        parts.append(
            f'<rect class="room" x="{left:g}" y="{top:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"/>'
            f'<text class="room-name" x="{x:g}" y="{y + 5:g}" text-anchor="middle">{room}</text>'
        )
    about = "; ".join(f"{room} to {', '.join(sorted(targets))}" for room, targets in sorted(drawn.items()) if targets)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="DejaVu Sans, Verdana, Arial, sans-serif" font-size="{LETTER}" role="img" '
        f'aria-labelledby="rooms-title rooms-text"><title id="rooms-title">Which room imports which</title>'
        f'<desc id="rooms-text">{escape(about)}</desc><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)} is drawn\n")
