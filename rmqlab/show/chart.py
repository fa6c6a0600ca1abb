"""Charts (bars, lines, heat maps): drawn by matplotlib without its windows, as SVG that is always the same.

Text stays text, and the layout is made with a wide typeface (DejaVu Sans), so that a narrower one never overlaps.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rmqlab",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 9,
    "hatch.linewidth": 0.6,
    "figure.dpi": 72,
    "savefig.facecolor": "white",
}
_TAG = re.compile(r"<[^>]*>")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")


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
