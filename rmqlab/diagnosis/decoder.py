"""The decoder's data: what RocketMQ 4.8.0 and 5.3.3 say about subscriptions, filters and heartbeats, and what it means.

Entries lie in data/decoder/*.json: codes, remarks, lines of logs, exceptions. A text is what a server prints, with a
`{name}` where it prints a value. It fits a line that has all its fixed parts in their order. So time, level and thread
in front do not matter, and a long line costs no more than its length.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from rmqlab.checkout import carried
from rmqlab.errors import BadInput
from rmqlab.filter.consistency import CannotTellError, tell_apart
from rmqlab.protocol.subscription_data import TAG, build_subscription

if TYPE_CHECKING:
    from collections.abc import Iterator

Effect = Literal["loss", "stop", "watch", "normal"]
EFFECTS: Final[dict[Effect, str]] = {
    "loss": "messages can be lost for the group",
    "stop": "something does not work until somebody changes it",
    "watch": "often harmless, but not when it goes on",
    "normal": "part of ordinary work",
}
"""How bad it is, the worst first."""
SURE: Final = {
    "recorded": "a real broker said it in a recording of data/golden",
    "provoked": "our broker or client says it in a test, as the source does",
    "read": "read in the source",
}
"""How we know an entry."""
LONGEST_COMPARED: Final = 1_000
"""Characters of an expression that is compared by meaning."""
_VALUE: Final = re.compile(r"\{(\w+)\}")


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who says it in a version: `by` is class and method, or the constant; `level` and `file` belong to a log."""

    version: str
    by: str
    level: str = ""
    file: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a server or a client says.

    `texts` are templates; a code has `number` and `name` instead, the status of a pull a `name`. `rules` are fields of
    `rmqlab.RULES["4.8.0"]`, `rows` are the articles', `findings` kinds of the doctor's, `see` names other entries. With
    `differs` (expression and type of the old and the new subscription, as values of the line) it is part of ordinary
    work when both let the same messages pass.
    """

    id: str
    kind: Literal["response", "request", "status", "remark", "log", "exception"]
    speaker: Literal["broker", "name server", "client", "admin tool"]
    number: int | None = None
    name: str = ""
    texts: tuple[str, ...] = ()
    effect: Effect
    differs: tuple[str, str, str, str] | None = None
    means: str
    do: str
    rules: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    said: tuple[Said, ...]
    sure: Literal["recorded", "provoked", "read"]

    @property
    def title(self) -> str:
        """The code with its name, or the first text."""
        if self.texts:
            return self.texts[0].strip()
        return self.name if self.number is None else f"{self.number} {self.name}"

    @property
    def versions(self) -> list[str]:
        """The versions that say it."""
        return sorted({one.version for one in self.said})

    def effect_with(self, values: dict[str, str]) -> Effect:
        """How bad it is with these values of a line."""
        if self.differs is None:
            return self.effect
        old, old_type, new, new_type = (_valued(values, path) for path in self.differs)
        # Java prints a type that is not there as null: `ExpressionType.isTagType` takes it, and an empty one, for TAG
        old_type, new_type = (TAG if kind in {"null", "", None} else kind for kind in (old_type, new_type))
        return "normal" if _is_same(old, old_type, new, new_type) else self.effect


def _valued(values: dict[str, str], path: str) -> str | None:
    """A value of a line, or with `value.key` what the Java object that it prints has under the key."""
    name, _, key = path.partition(".")
    return _under(values.get(name, ""), key) if key else values.get(name)


@lru_cache(1_000)
def _is_same(old: str | None, old_type: str | None, new: str | None, new_type: str | None) -> bool:
    """Whether two expressions let the same messages pass: by text, or proven by meaning."""
    if None in {old, new} or (old, old_type) == (new, new_type):
        return old == new is not None
    if max(len(old or ""), len(new or "")) > LONGEST_COMPARED:
        return False
    try:
        apart = tell_apart(build_subscription("T", old, old_type), build_subscription("T", new, new_type))
    except (BadInput, CannotTellError):
        return False
    return apart.proven and apart.only_first is None and apart.only_second is None


def _under(value: str, key: str) -> str | None:
    """What a printed Java object has under a key: `b` of "X [a=1, key=b, c=2]"."""
    start = value.find(f"{key}=")
    if start < 0:
        return None
    rest = value[start + len(key) + 1 :]
    end = re.search(r",\s?\w+=|[\]}]\s*$", rest)
    return rest[: end.start()] if end else rest


class TextTemplate(NamedTuple):
    """A text to look for: its fixed parts in their order, and the names of the values around and between them."""

    entry: Entry
    parts: tuple[str, ...]
    names: tuple[str, ...]
    """One name before each part and one behind the last; "" where nothing is."""
    weight: int
    """Characters that are fixed: of two texts that fit, the heavier one is meant."""

    def values_in(self, line: str) -> dict[str, str] | None:
        """The values that `line` has, by name; None when it is another text."""
        spots, at = [], 0
        for part in self.parts:
            found = line.find(part, at)
            if found < 0:
                return None
            at = found + len(part)
            spots.append((found, at))
        # a value in front of the text is one word, since time and thread stand before it
        before = (line[: spots[0][0]].rsplit(None, 1) or [""])[-1]
        between = [line[end:start] for (_, end), (start, _) in pairwise(spots)]
        told = [before, *between, line[at:].rstrip()]
        return {name: value for name, value in zip(self.names, told, strict=True) if name}


def template(entry: Entry, text: str) -> TextTemplate:
    """The template of one of an entry's texts.

    Example: the parts of "group: {group} {topic}" are "group: " and " ".
    """
    pieces = _VALUE.split(text.strip())  # text, name, text, name, ..., text
    fixed, names = pieces[::2], ["", *pieces[1::2], ""]
    if not fixed[0]:
        del fixed[0], names[0]
    if not fixed[-1]:
        del fixed[-1], names[-1]
    return TextTemplate(entry, tuple(fixed), tuple(names), sum(map(len, fixed)))


@cache
def entries() -> dict[str, Entry]:
    """Every entry by its id, in the order of the files."""
    found = {}
    for name in ("codes", "broker", "client", "name_server", "admin_tool"):
        data = (carried("decoder") / f"{name}.json").read_bytes()
        found.update({one.id: one for one in msgspec.json.decode(data, type=list[Entry])})
    return found


@cache
def templates() -> list[tuple[str, TextTemplate]]:
    """Every text, the heaviest first, each with its longest part: a line without that needs no closer look."""
    every = (template(entry, text) for entry in entries().values() for text in entry.texts)
    return [(max(one.parts, key=len), one) for one in sorted(every, key=lambda one: -one.weight)]


def decode(line: str) -> tuple[Entry, dict[str, str]] | None:
    """The entry that a line of a log belongs to, with the values in the line by name; None for any other line.

    >>> entry, values = decode("2021-09-05 10:30:00 WARN Pull_1 - the consumer's group info not exist, group: Orders")
    >>> entry.id, values
    ('log-pull-group-info-not-exist', {'group': 'Orders'})
    """
    for one in [each for part, each in templates() if part in line]:
        values = one.values_in(line)
        if values is None:
            continue
        if one.entry.id == "exception-code-and-desc":  # no remark that is known: the number still says something
            return next(coded(values["code"], "response"), one.entry), values
        return one.entry, values
    return None


def coded(what: str, *kinds: str) -> Iterator[Entry]:
    """The entries of a number or a name of RocketMQ, such as "24" or "SUBSCRIPTION_NOT_EXIST"."""
    wanted = what.strip().upper()
    for entry in entries().values():
        if entry.name and wanted in {str(entry.number), entry.name} and (not kinds or entry.kind in kinds):
            yield entry
