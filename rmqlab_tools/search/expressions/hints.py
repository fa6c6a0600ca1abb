"""A remark on an expression: the shape that every surface shows."""

from __future__ import annotations

from typing import NamedTuple


class Hint(NamedTuple):
    """One remark. `start`, `end`: the text it is about (UTF-16 units); `line`, `column` count from 1.

    `severity`: "warning" for what loses messages or lets others pass, "note" for what one should know. `write`: the
    whole expression as it is probably meant, None where it cannot be said; the broker accepts it and reads all of it.
    """

    code: str
    severity: str
    start: int
    end: int
    line: int
    column: int
    message: str
    advice: str
    write: str | None = None
