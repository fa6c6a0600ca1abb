r"""Text from outside, shown as what it is: a character that would act, or hide, is written as its escape.

A name, an expression or a remark that somebody else wrote may hold control characters that move a terminal's cursor,
marks that turn the direction of reading, or characters that are not seen. `visible` writes them as Python does, `\x1b`.
Whatever verbs print passes through it (`VisibleStream`), and so do tables, pictures and pages.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

# Controls (C0 but for tab and line feed, DEL, C1), marks of direction, separators of lines, what has no width and is
# no part of a script's letters, half characters, tags; the joiners (U+200C, U+200D) belong to words and pictures.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_HIDDEN_IN_LINE: Final = re.compile(rf"[\t\n]|{_HIDDEN.pattern}")


def visible(text: str) -> str:
    r"""The text as it is shown, with each character that acts or hides as its escape; line feeds and tabs stay.

    >>> visible("Orders\x1b[2J\u202e")
    'Orders\\x1b[2J\\u202e'
    """
    return _HIDDEN.sub(_escape, str(text))


def in_line(text: str) -> str:
    r"""As `visible`, for a piece of a line, such as a name or a cell of a table: line feeds and tabs are escaped too.

    >>> in_line("a\nb")
    'a\\nb'
    """
    return _HIDDEN_IN_LINE.sub(_escape, str(text))


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


class VisibleStream:
    """A stream for people: what is written is visible, and what its encoding lacks is written as an escape.

    All else it leaves to `stream`, the one that it was given; a bar that moves the cursor writes there.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text, visible; the number of its characters."""
        shown, encoding = visible(text), self.stream.encoding or "utf-8"
        with self._named():
            self.stream.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Hand what was written to the system; on a full disk the `OSError` names the stream."""
        with self._named():
            self.stream.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.filename is None:
                error.filename = getattr(self.stream, "name", None)
            raise

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def own_stream(stream: TextIO) -> TextIO:
    """The stream below a visible one, for escapes that are ours; any other is itself."""
    return stream.stream if isinstance(stream, VisibleStream) else stream


@contextmanager
def visible_streams() -> Iterator[None]:
    """While a verb runs, standard output and standard error are visible, whoever writes to them."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", VisibleStream(own_stream(stream))) for stream in (out, err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
