"""How large the letters of a lesson's pictures are, in the column of JupyterLab with its list of files open.

`python -m tests.proof.text_sizes` prints a table of all lessons; with a folder of notebooks, of those.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.checkout import ROOT
from rmqlab_tools.course.notebooks import read

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMN_PX: Final = 848  # of JupyterLab in a window of 1,280 pixels with its list of files open
_SIZE: Final = re.compile(r'<svg[^>]* width="([\d.]+)"[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', re.DOTALL)
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.DOTALL)
# What is drawn, and how far a part of a stacked picture is shrunk.
_TEXT: Final = re.compile(
    r'<g transform="translate\([^"]*scale\((?P<scale>[\d.]+)\)">|<text [^>]*font-size="(?P<size>[\d.]+)"'
)


class PictureSizes(NamedTuple):
    """The letters of one picture, in pixels as shown, smallest first; `wide` is the drawing's own width."""

    lesson: str
    cell: str
    title: str
    wide: float
    sizes: list[float]

    @property
    def least(self) -> float:
        """The smallest letters."""
        return self.sizes[0]

    def share(self, least: float) -> float:
        """Which part of the texts has letters of so many pixels or more."""
        return sum(size >= least for size in self.sizes) / len(self.sizes)


def text_sizes(svg: str, column: float = COLUMN_PX) -> list[float]:
    """Pixels of each text of a picture that is shown in a column so wide, smallest first.

    >>> text_sizes('<svg width="1000" height="9" viewBox="0 0 1000 9"><text x="1" y="1" font-size="20"></text></svg>')
    [16.96]
    """
    found = _SIZE.search(svg)
    if found is None:
        raise ValueError("a picture without width and viewBox")
    own, units = float(found[1]), float(found[2])
    shown, scale = min(own, column) / units, 1.0
    sizes: list[float] = []
    for part in _TEXT.finditer(svg):
        if part["scale"]:
            scale = float(part["scale"])
        else:
            sizes.append(round(float(part["size"]) * scale * shown, 2))
    return sorted(sizes)


def pictures(path: Path) -> Iterator[PictureSizes]:
    """The pictures that a notebook was saved with."""
    for cell in read(path)["cells"]:
        for output in cell.get("outputs", []):
            svg = "".join(output.get("data", {}).get("image/svg+xml", ""))
            if svg:
                found, title = _SIZE.search(svg), _TITLE.search(svg)
                wide, name = float(found[1]) if found else 0.0, html.unescape(title[1]) if title else ""
                yield PictureSizes(path.stem, cell["id"], name, wide, text_sizes(svg))


def main(folder: str = "") -> None:
    """Print a row for each picture: its width, its smallest letters, and the share of 18 pixels or more."""
    for path in sorted(Path(folder or ROOT / "notebooks").glob("[0-9]*.ipynb")):
        for found in pictures(path):
            said = f"{found.lesson[:2]} {found.cell:<16} {found.wide:5.0f} px wide, least {found.least:5.1f} px"
            sys.stdout.write(f"{said}, {found.share(18):4.0%} of 18 px and more: {found.title[:60]}\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
