"""Java objects as `toString` prints them, such as "PullRequest [group=G, messageQueue=MessageQueue [queueId=2]]"."""

from __future__ import annotations

import re
from typing import Final

_KEY: Final = re.compile(r"(?:^|[\[{(,]\s?|\s)(\w+)=")
_NEXT: Final = re.compile(r",\s?\w+=|[\]})]\s*$")
_OPEN, _CLOSED = "[{(", "]})"


def printed_value(text: str, key: str) -> str | None:
    """What a printed Java object has under a key, brackets within it whole; None if it has no such key.

    >>> printed_value("PullRequest [messageQueue=MessageQueue [topic=T, queueId=2], nextOffset=7]", "messageQueue")
    'MessageQueue [topic=T, queueId=2]'
    """
    start = next((match.end() for match in _KEY.finditer(text) if match[1] == key), -1)
    if start < 0:
        return None
    depth = 0
    for at in range(start, len(text)):
        sign = text[at]
        if sign in _OPEN:
            depth += 1
        elif sign in _CLOSED:
            if depth == 0:
                return text[start:at]
            depth -= 1
        elif sign == "," and depth == 0 and _NEXT.match(text, at):
            return text[start:at]
    if depth == 0 and not _depth(text[:start]):
        return text[start:]
    rest = text[start:]  # a bracket is left open, as in a text with a sign of its own: up to the next key
    end = _NEXT.search(rest)
    return rest[: end.start()] if end else rest


def _depth(text: str) -> int:
    return sum(map(text.count, _OPEN)) - sum(map(text.count, _CLOSED))
