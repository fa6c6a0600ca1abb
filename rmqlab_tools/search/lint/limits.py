"""How much of a large group lint works out and names. What is left out is said, and nothing is claimed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.language import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_COMPARED: Final = 32
"""Different subscriptions of a topic that are compared with the first one."""
MOST_EXAMINED: Final = MOST_COMPARED + 1
"""Different subscriptions of a topic whose text is examined for what is probably not meant: those that are compared."""
MOST_MESSAGES: Final = 8
"""Messages of a topic whose fates are worked out."""
MOST_SLOTS: Final = 8
"""Subscriptions for which it is worked out what they do to a message while the broker holds them."""
MOST_FATES: Final = 200
"""Members whose fate of a message is listed; of further ones, the first of each subscription."""
MOST_MEMBERS_NAMED: Final = 20
"""Members that a line names."""


def named(members: Iterable[str]) -> str:
    """The names of members in a line: all, or the first and how many more.

    >>> named(str(number) for number in range(22))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more'
    """
    return shortened(members, MOST_MEMBERS_NAMED)
