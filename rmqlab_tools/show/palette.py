"""The colours of every picture: Okabe and Ito's eight, which people with any kind of colour vision can tell apart.

A colour never stands alone: a fate also has a mark and a word, a tag is written out. Contrast is computed, so that text
on a coloured ground can be read (W3C's relative luminance; 4.5 is the limit for text).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.language import _, joined, ngettext
from rmqlab.run.fates import FATE_WORDS, LOSING, Fate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.run.fates import MessageFate
    from rmqlab.run.records import FateRecord
    from rmqlab.run.run_view import RunView

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
OKABE_ITO = (BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE)
WHITE, GREY, PALE = "#FFFFFF", "#6E6E6E", "#F2F2F2"

# What a condition comes to: its mark and colour.
VERDICT_COLOURS = {"true": ("✓", GREEN), "false": ("✗", VERMILLION), "null": ("?", SKY), "error": ("!", PURPLE)}


class FateStyle(NamedTuple):
    """How a fate is shown: fill, hatching, a mark, and words for the legend."""

    colour: str
    hatch: str
    mark: str
    words: str


LOOKS = {
    Fate.DELIVERED: FateStyle(GREEN, "", "✓", FATE_WORDS[Fate.DELIVERED]),
    Fate.DROPPED_BY_BROKER_TAG: FateStyle(VERMILLION, "", "✗", FATE_WORDS[Fate.DROPPED_BY_BROKER_TAG]),
    Fate.DROPPED_BY_BROKER_BITMAP: FateStyle(VERMILLION, "..", "✗", FATE_WORDS[Fate.DROPPED_BY_BROKER_BITMAP]),
    Fate.DROPPED_BY_BROKER_SQL: FateStyle(VERMILLION, "||", "✗", FATE_WORDS[Fate.DROPPED_BY_BROKER_SQL]),
    Fate.DROPPED_BY_CLIENT: FateStyle(PURPLE, "//", "✗", FATE_WORDS[Fate.DROPPED_BY_CLIENT]),
    Fate.DROPPED_BY_HOOK: FateStyle(PURPLE, "xx", "✗", FATE_WORDS[Fate.DROPPED_BY_HOOK]),
    Fate.SKIPPED_BY_OFFSET: FateStyle(GREY, "\\\\", "»", FATE_WORDS[Fate.SKIPPED_BY_OFFSET]),
    Fate.SKIPPED_BY_POP: FateStyle(VERMILLION, "\\\\", "»", FATE_WORDS[Fate.SKIPPED_BY_POP]),
    Fate.ACKED_BY_PROXY: FateStyle(PURPLE, "\\\\", "✗", FATE_WORDS[Fate.ACKED_BY_PROXY]),
    Fate.PASSED: FateStyle(WHITE, "--", "?", FATE_WORDS[Fate.PASSED]),
    Fate.NO_OWNER: FateStyle(PALE, "", "∅", FATE_WORDS[Fate.NO_OWNER]),
    Fate.WAITING: FateStyle(SKY, "", "…", FATE_WORDS[Fate.WAITING]),
    Fate.INVISIBLE: FateStyle(SKY, "..", "◌", FATE_WORDS[Fate.INVISIBLE]),
    Fate.RETRYING: FateStyle(YELLOW, "", "↻", FATE_WORDS[Fate.RETRYING]),
    Fate.DEAD_LETTER: FateStyle(BLACK, "", "†", FATE_WORDS[Fate.DEAD_LETTER]),
}


# What nobody asked for is no loss, whatever stopped it.
UNASKED = FateStyle(PALE, "", "–", _("that nobody asked for"))


def look_of(message_fate: MessageFate | FateRecord) -> FateStyle:
    """How the fate of a message is shown: only what somebody asked for looks like a loss."""
    fate = Fate(message_fate.fate)
    return UNASKED if fate in LOSING and not message_fate.asked else LOOKS[fate]


def light_of(colour: str) -> list[float]:
    """How much light red, green and blue of `#RRGGBB` are, each 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    low = 0.04045  # below it sRGB is linear
    return [c / 12.92 if c <= low else float(((c + 0.055) / 1.055) ** 2.4) for c in channels]


def luminance(colour: str) -> float:
    """Relative luminance of `#RRGGBB`, 0 (black) to 1 (white)."""
    red, green, blue = light_of(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21."""
    low, high = sorted((luminance(colour), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def ink(ground: str) -> str:
    """Black or white, whichever is easier to read on `ground`."""
    return max((BLACK, WHITE), key=lambda colour: contrast(colour, ground))


def counted(view: RunView) -> str:
    """How many messages there are, or copies of messages where each member gets its own."""
    return (
        ngettext("{count} copy", "{count} copies", len(view.fates))
        if view.broadcasting
        else ngettext("{count} message", "{count} messages", len(view.fates))
    )


def by_fate(fates: Iterable[MessageFate]) -> list[tuple[FateStyle, str]]:
    """The look of each fate that occurs, and how many messages met it, in words."""
    counts = Counter(map(look_of, fates))
    return [(look, f"{counts[look]} {look.words}") for look in (*LOOKS.values(), UNASKED) if look in counts]


def summary(fates: Iterable[MessageFate]) -> str:
    """How many messages met which fate, in words."""
    return joined(", ", (words for _, words in by_fate(fates))) or _("none sent")
