"""The decoder's data: what RocketMQ and its clients say about subscriptions, filters and heartbeats, and what it means.

Entries lie in data/decoder/*.json: codes, remarks, lines of logs, exceptions. A text is what a server prints, with a
`{name}` where it prints a value (`rmqlab_tools.doctor.line_template`). `cases` are rules on the values of a line.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from rmqlab.checkout import data_path
from rmqlab_tools.doctor.decoder_entry import Entry
from rmqlab_tools.doctor.line_template import LineIndex, TextTemplate, template

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES: Final = ("codes", "broker", "client", "name_server", "admin_tool", "proxy", "other_clients")
_COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")
_PLACE: Final = re.compile(r"\[\w+:\d+\]\s*$")
_FIELD: Final = re.compile(r'"?(\w+)"?[=:](?:"((?:[^"\\]|\\.)*)"|\\"([^"\\]*)\\"|([^\s",}]+))')


@cache
def entries() -> dict[str, Entry]:
    """Every entry by its id, in the order of the files."""
    by_id = {}
    for name in FILES:
        data = (data_path("decoder") / f"{name}.json").read_bytes()
        by_id.update({entry.id: entry for entry in msgspec.json.decode(data, type=list[Entry])})
    return by_id


@cache
def templates() -> list[TextTemplate]:
    """Every text, the wordings of other versions too, the heaviest first."""
    all_templates = (template(entry.id, text) for entry in entries().values() for text in (*entry.texts, *entry.older))
    return sorted(all_templates, key=lambda each: -each.weight)


@cache
def _index() -> LineIndex:
    return LineIndex(templates())


class Match(NamedTuple):
    """The entry that a line belongs to, the values in the line by name, and the text that fits."""

    entry: Entry
    values: dict[str, str]
    text: str

    @property
    def now(self) -> str:
        """The text as it is now."""
        return self.entry.older.get(self.text) or self.text

    @property
    def as_now(self) -> str:
        """What 4.8.0 or a newer version says in place of an older wording, with the line's values; else nothing."""
        now = self.entry.older.get(self.text)
        return template(self.entry.id, now).filled(self.values) if now else ""


def match(line: str) -> Match | None:
    """What a line of a log says; None for a line of which nothing is known.

    >>> match("the consumer's subscription not exist, group: Orders, topic:Paid").entry.id
    'log-pull-subscription-not-exist'
    """
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    for each in _index().candidates(line):
        values = each.values_in(line)
        if values is None:
            continue
        entry = entries()[each.entry]
        if entry.id == "exception-code-and-desc":  # no remark that is known: the number still says something
            entry = next(coded(values["code"], "response"), entry)
        return Match(entry, _tidied(entry, values, line, each), each.text)
    return None


def _tidied(entry: Entry, values: dict[str, str], line: str, text: TextTemplate) -> dict[str, str]:
    """The values without what a logger writes after them: place in the source (C++), fields of their own (Go)."""
    if entry.languages & {"C++"} and text.names[-1]:
        values = values | {text.names[-1]: _PLACE.sub("", values[text.names[-1]])}
    if entry.languages & {"Go"} and not values:
        behind = line[line.rfind(text.parts[-1]) + len(text.parts[-1]) :]
        values = {field[1]: next(filter(None, field.groups()[1:]), "") for field in _FIELD.finditer(behind)}
    return values


def decode(line: str) -> tuple[Entry, dict[str, str]] | None:
    """The entry that a line of a log belongs to, with the values in the line by name; None for any other line.

    >>> entry, values = decode("2021-09-05 10:30:00 WARN Pull_1 - the consumer's group info not exist, group: Orders")
    >>> entry.id, values
    ('log-pull-group-info-not-exist', {'group': 'Orders'})
    """
    said = match(line)
    return None if said is None else (said.entry, said.values)


def coded(what: str, *kinds: str) -> Iterator[Entry]:
    """The entries of a number or a name of RocketMQ, such as "24" or "SUBSCRIPTION_NOT_EXIST"."""
    wanted = what.strip().upper()
    for entry in entries().values():
        if entry.name and wanted in {str(entry.number), entry.name} and (not kinds or entry.kind in kinds):
            yield entry
