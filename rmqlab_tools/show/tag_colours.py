"""One colour a tag, in every picture, control and page; a subscription has the colours of the set of its tags.

A colour follows from the tag's text alone, whoever else is in the picture and in whatever order. `tagA || tagB` and
`tagB||tagA` are the same set, so they look the same: one stripe a tag, in order of the tags' texts. Pages get colours
as data (`css_paint`), and know no table of their own.
"""

from __future__ import annotations

import re
import zlib
from typing import Final

from rmqlab.protocol.subscription_data import SUB_ALL, SubscriptionSplitError, split_tags
from rmqlab_tools.show.palette import BLACK, BLUE, GREY, ORANGE, PALE, SKY, YELLOW, contrast, ink

Paint = tuple[str, ...]
"""One colour, or the colours of stripes from left to right; each is `#RRGGBB`."""

# The first four are Okabe and Ito's, the others Paul Tol's. Green, vermillion and purple are left to the fates.
TAG_COLOURS: Final = (BLUE, ORANGE, SKY, YELLOW, "#332288", "#999933", "#882255")
_SERIES = re.compile("[tT]ag(?P<letter>[A-G])")
_OF_SERIES: Final = 2  # tagA and tagB share their colours with no tag of another name
EVERYTHING: Final[Paint] = (BLACK,)
NOTHING: Final[Paint] = (PALE,)
READABLE: Final = 4.5


def tag_colour(tag: str | None) -> str:
    """The colour of a tag: `tagA` to `tagG` (also `TagA`) in order, others by a checksum of their text; None: no tag.

    >>> tag_colour("tagA") == tag_colour("TagA"), tag_colour("tagA") == tag_colour("taga")
    (True, False)
    """
    if not tag:
        return GREY
    series = _SERIES.fullmatch(tag)
    if series is not None:
        return TAG_COLOURS["ABCDEFG".index(series["letter"])]
    others = TAG_COLOURS[_OF_SERIES:]
    return others[zlib.crc32(tag.encode("utf-8", "surrogatepass")) % len(others)]


def paint(expression: str | None) -> Paint:
    """The colours of what a group or a member asks for: one a tag of its set; None: it asks for nothing.

    The tags are those of 4.8.0 `FilterAPI.buildSubscriptionData`. A condition of SQL92 has one colour, by its text.

    >>> paint("tagA || tagB") == paint("tagB||tagA") == (tag_colour("tagA"), tag_colour("tagB"))
    True
    >>> paint("*")
    ('#000000',)
    """
    if expression is None:
        return NOTHING
    if expression in {"", SUB_ALL}:
        return EVERYTHING
    try:
        tags = sorted(set(split_tags(expression)))
    except SubscriptionSplitError:
        return NOTHING
    return tuple(map(tag_colour, tags)) or NOTHING


def ink_on(ground: Paint) -> str | None:
    """Black or white, whichever is easier to read on all stripes; None if neither can be read on each of them."""
    worst = {colour: min(contrast(colour, stripe) for stripe in ground) for colour in map(ink, ground)}
    best = max(worst, key=worst.__getitem__)
    return best if worst[best] >= READABLE else None


def css_paint(ground: Paint) -> str:
    """Colours as the value of CSS `background`.

    >>> css_paint(paint("tagA || tagB"))
    'linear-gradient(90deg,#0072B2 0% 50%,#E69F00 50% 100%)'
    """
    if len(ground) == 1:
        return ground[0]
    part = 100 / len(ground)
    stops = (f"{colour} {number * part:.4g}% {(number + 1) * part:.4g}%" for number, colour in enumerate(ground))
    return f"linear-gradient({','.join(['90deg', *stops])})"
