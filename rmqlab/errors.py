"""The root of every error that a user can mend by changing the input."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from rmqlab.language import _, joined

if TYPE_CHECKING:
    from collections.abc import Iterable


class BadInput(Exception):
    """Input that a verb cannot work with; the text names what, where, and what would be right.

    Rooms derive their own classes from it. The command line prints the text to standard error and exits with 2.
    """


def whole_number(name: str, value: Any, least: int | None = None) -> int:
    """`value`, a whole number of Python or of numpy, and at least `least`; `name` is what the caller calls it.

    >>> whole_number("budget", 2.5)
    Traceback (most recent call last):
    rmqlab.errors.BadInput: budget is 2.5; a whole number is wanted
    """
    try:
        number = index(value)
    except TypeError:
        raise BadInput(_("{name} is {value}; a whole number is wanted", name=name, value=f"{value!r}")) from None
    if least is not None and number < least:
        raise BadInput(_("{name} is {number}; it must be {least} or more", name=name, number=number, least=least))
    return number


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The text "; did you mean NAME?" for the known word nearest to `word`, or nothing when none is near.

    >>> did_you_mean("enableProprtyFilter", ["enablePropertyFilter", "listenPort"])
    '; did you mean enablePropertyFilter?'
    """
    from difflib import get_close_matches  # a message rarely needs it, every start would pay for it

    lower = {name.lower(): name for name in known}
    near = get_close_matches(str(word).lower(), lower, n=1)
    return _("; did you mean {lower}?", lower=lower[near[0]]) if near else ""


MOST_NAMED = 8
"""Known words in a message; the others are counted."""


def there_are(word: object, known: Iterable[str]) -> str:
    """What to write instead of `word`: the known word nearest to it, else the known ones, the first few of many.

    >>> there_are("tagB", ["alpha", "beta"])
    '; there are alpha, beta'
    >>> there_are("x", map(str, range(100)))
    '; there are 0, 1, 2, 3, 4, 5, 6, 7 and 92 more'
    """
    names = list(known)
    meant = did_you_mean(word, names)
    if meant:
        return meant
    if not names:
        return _("; there is none")
    listed = joined(", ", names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        return _("; there are {names} and {more} more", names=listed, more=len(names) - MOST_NAMED)
    return _("; there are {names}", names=listed)
