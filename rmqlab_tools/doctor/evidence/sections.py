"""A text cut into pieces: what each part is, by its content alone, and the lines that are left for the decoder."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.protocol.header import FrameError
from rmqlab_tools.doctor.evidence.json_forms import CONFIG_FILES, form_of, unwrapped
from rmqlab_tools.doctor.evidence.piece import Context, Piece
from rmqlab_tools.doctor.evidence.recognisers import TEXT_FORMS
from rmqlab_tools.doctor.evidence.text_lines import command_of
from rmqlab_tools.live.wire import lenient_json

if TYPE_CHECKING:
    from collections.abc import Iterator

UNREADABLE: Final = (BadInput, FrameError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What a reader raises for JSON that has the fields of a kind, and values that no such body has."""
LONGEST_LINE: Final = 8_000
"""Characters of a line that are looked at."""
UNKNOWN_PIECE: Final = "unknown"
_NAME: Final = re.compile(r'"(\w+)"\s*:')
_LOGGED: Final = re.compile(r"\s*\[?\d{4}[-/]\w{2,3}[-/]\d\d|\s+at |\s*$")
"""A line of a log, which begins with its time, a line of a stack trace, and a blank line."""
_OPENS: Final = re.compile(r"\{|\[\s*(?:[{\[]|$)")
"""How JSON begins; a line of a log begins with a bracket too, and a time or a level behind it."""
_MORE_JSON: Final = re.compile(r"\s*(?:[}\],:\"\x00-\x08]|-?\d+\s*:)|\{")


class Sections(NamedTuple):
    """The pieces of a text, and its lines: those that belong to a piece are blank in `rest`, `taken` of them."""

    pieces: list[Piece]
    rest: list[str]
    taken: int = 0


def sections(text: str, source: str, name: str = "") -> Sections:
    """Cut a text into pieces. `source` names it; `name` is its file's, which decides only what its content leaves open.

    >>> [piece.kind for piece in sections('{"mqTable":{}}', "a.json").pieces]
    ['running_info']
    """
    whole = _of_whole(text, source, name)
    if whole is not None:
        return Sections(whole, [])
    return _Cutter(text, source, name).cut()


def _of_whole(text: str, source: str, name: str) -> list[Piece] | None:
    """The pieces of a text that is one JSON value; None for any other text."""
    if text.lstrip("\ufeff \t\r\n")[:1] not in {"{", "["}:
        return None
    try:
        value = lenient_json.read_file_text(text)
    except lenient_json.TextDamage:
        return None
    return None if value is None else list(pieces_of_value(value, source, name=name))


def pieces_of_value(
    value: Any, source: str, *, name: str = "", lines: tuple[int, int] = (0, 0), context: Context | None = None
) -> Iterator[Piece]:
    """The pieces of a JSON value: an object is one, a list has one in each of its objects."""
    value = unwrapped(value)
    first, last = lines
    place: dict[str, Any] = {"source": source, "first": first, "last": last, "context": context or Context()}
    if isinstance(value, list) and value and all(isinstance(item, dict) and "subscribe" in item for item in value):
        value = {"members": value}
    if isinstance(value, list):
        for item in value:
            yield from pieces_of_value(item, source, name=name, lines=lines, context=context)
        if not value:
            yield Piece(kind=UNKNOWN_PIECE, title=_("nothing is known of this: an empty list"), **place)
        return
    if not isinstance(value, dict):
        yield Piece(kind=UNKNOWN_PIECE, title=_("nothing is known of this: {value}", value=repr(value)[:60]), **place)
        return
    form = form_of(value) or (CONFIG_FILES.get(name) if _is_empty_table(value) else None)
    if form is None:
        fields = ", ".join(sorted(map(str, value))[:8])
        title = _("nothing is known of this: JSON with the fields {fields}", fields=fields or "-")
        yield Piece(kind=UNKNOWN_PIECE, title=title, **place)
        return
    try:
        yield Piece(kind=form.kind, title=_(form.title), value=_whole(form.read(value, source)), **place)
    except UNREADABLE as error:
        notes = (_("not read: {reason}", reason=error),)
        yield Piece(kind=form.kind, title=_(form.title), notes=notes, damaged=True, **place)


def _whole(value: Any) -> Any:
    """A value in whose tables and lists nothing is null; no body of RocketMQ has such an entry.

    Raises:
        ValueError: a value that cannot be.
    """
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple | set):
        parts = list(value)
    elif isinstance(value, msgspec.Struct):
        parts = [part for name in value.__struct_fields__ if (part := getattr(value, name)) is not None]
    else:
        return value
    if any(part is None for part in parts):
        raise ValueError(_("an entry of a table is null"))
    for part in parts:
        _whole(part)
    return value


def _is_empty_table(value: dict[Any, Any]) -> bool:
    return not value.get("offsetTable") and value.keys() <= {"offsetTable", "dataVersion"}


class _Cutter:
    """Goes through a text line by line."""

    def __init__(self, text: str, source: str, name: str) -> None:
        self._text = text = text.replace("\r\n", "\n")
        self._lines = text.split("\n")
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._source, self._name = source, name
        self._context = Context()
        self._pieces: list[Piece] = []
        self._rest = list(self._lines)
        self._taken = 0

    def cut(self) -> Sections:
        at = 0
        while at < len(self._lines):
            line = self._lines[at][:LONGEST_LINE]
            if _LOGGED.match(line):  # most lines of most files
                at += 1
                continue
            command = command_of(line)
            if command is not None:
                self._context = command
                self._take(at, at + 1)
                at += 1
                continue
            end = self._text_form(at, line) or self._json(at, line)
            at = end or at + 1
        return Sections(self._pieces, self._rest, self._taken)

    def _take(self, first: int, end: int) -> None:
        self._rest[first:end] = [""] * (end - first)
        self._taken += end - first

    def _text_form(self, at: int, line: str) -> int | None:
        for form in TEXT_FORMS:
            if not form.begins(line):
                continue
            recognised = form.read(self._lines, at)
            if recognised is None or recognised[1] <= at:
                continue
            value, end = recognised
            self._add(form.kind, form.title, value, at, end)
            return end
        return None

    def _add(self, kind: str, title: str, value: Any, at: int, end: int, **more: Any) -> None:
        place: dict[str, Any] = {"source": self._source, "first": at + 1, "last": end, "context": self._context}
        self._pieces.append(Piece(kind=kind, title=_(title), value=value, **place, **more))
        self._take(at, end)

    def _json(self, at: int, line: str) -> int | None:
        """A JSON value that begins in this line, whole or damaged; a line of a log may begin so, too."""
        stripped = line.lstrip("\ufeff \t\0")
        if not _OPENS.match(stripped):
            return None
        text, begin = self._text, self._starts[at] + len(line) - len(stripped)
        end = closing(text, begin)
        if end is None:
            return self._damaged(at, text[begin:], len(self._lines)) if stripped[0] == "{" else None
        try:
            value = lenient_json.read_file_text(text[begin:end])
        except lenient_json.TextDamage:
            return self._damaged(at, text[begin:end], self._line_of(end) + 1)
        if not isinstance(value, dict | list) or (isinstance(value, list) and not any(map(_is_object, value))):
            return None
        last = self._line_of(end) + 1
        if isinstance(value, dict) and last == at + 1 and form_of(unwrapped(value)) is None:
            return None  # a log may be written as JSON
        form = form_of(value) if isinstance(value, dict) else None
        if form and form.file and _MORE_JSON.match(text, end) and text[end:].strip("\0 \t\r\n"):
            return self._damaged(at, text[begin:end], len(self._lines))
        behind = text[end : _line_end(text, end)].strip(", \t;\0")
        self._pieces += pieces_of_value(
            value, self._source, name=self._name, lines=(at + 1, last), context=self._context
        )
        self._take(at, last)
        if behind:
            self._rest[last - 1] = behind
            self._taken -= 1
        return last

    def _line_of(self, place: int) -> int:
        """The number, from 0, of the line in which the character before a place stands."""
        return bisect_left(self._starts, place) - 1

    def _damaged(self, at: int, text: str, end: int) -> int | None:
        """What is left of an object, if its names say what it was."""
        form = form_of(named_fields(text)) or CONFIG_FILES.get(self._name)
        if form is None or not _NAME.search(text):
            return None
        notes = (_("it is damaged, and nothing of it is believed"),)
        self._add(form.kind, form.title, None, at, end, notes=notes, damaged=True)
        return end


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\]]', re.DOTALL)


def closing(text: str, start: int) -> int | None:
    """Where the value that opens at `start` is closed: the place after it; None where it is not.

    >>> closing('{"a":{"}":1}} x', 0)
    13
    """
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match[0] in {"{", "["} else -1 if match[0] in {"}", "]"} else 0
        if depth == 0:
            return match.end()
    return None


def named_fields(text: str) -> dict[str, Any]:
    """The fields of the outermost object of a text that is cut, with what little is known of their values.

    Of an `offsetTable` the first key says which table it was.
    """
    fields: dict[str, Any] = {}
    depth = 0
    last_name: str | None = None
    for match in _BRACKET.finditer(text):
        part = match[0]
        if part in {"{", "["}:
            depth += 1
        elif part in {"}", "]"}:
            depth -= 1
        elif depth == 1 and text[match.end() :].lstrip()[:1] == ":":
            last_name = part.strip('"')
            fields[last_name] = None
        elif depth == 2 and last_name == "offsetTable" and not fields[last_name] and "@" in part:
            fields[last_name] = {part.strip('"'): {}}
    if "offsetTable" in fields and not fields["offsetTable"]:
        levels = re.search(r'"offsetTable"\s*:\s*\{\s*"?(\d+)"?\s*:\s*\d', text)
        fields["offsetTable"] = {levels[1]: 0} if levels else None
    return fields
