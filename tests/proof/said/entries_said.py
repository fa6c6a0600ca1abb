"""Who says an entry's texts, and in which versions: taken from the list, so that it is known in one place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rmqlab.checkout import data_path
from tests.proof.said.said_list import LISTS, explained_by, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWN: Final = {"response", "request", "status"}
"""Kinds that are no texts: their `said` is written by hand."""


def said_of_entries() -> dict[str, list[dict[str, Any]]]:
    """Id of an entry to its `said`, by the list; an entry whose texts the list lacks is not there."""
    places_of: dict[str, dict[tuple[str, str, str], set[str]]] = {}
    for listed in (text for name in LISTS for text in read(name)):
        entry = None if listed.is_too_short else explained_by(listed)
        if entry is None or entry.kind in OWN:
            continue
        place = (listed.by, listed.level, listed.file) if listed.kind == "log" else (listed.by, "", "")
        places_of.setdefault(entry.id, {}).setdefault(place, set()).update(listed.versions.split(", "))
    return {name: list(_said(places)) for name, places in places_of.items()}


def _said(places: dict[tuple[str, str, str], set[str]]) -> Iterator[dict[str, Any]]:
    """RocketMQ's own first, then other clients, each by its first version."""
    by_version = sorted((sorted(versions), place) for place, versions in places.items())
    for versions, (by, level, file) in sorted(by_version, key=lambda known: not known[0][0][0].isdigit()):
        said = {"versions": versions, "by": by, "level": level, "file": file}
        yield {name: value for name, value in said.items() if value}


def written(entries: list[dict[str, Any]]) -> str:
    """A file of entries as it is committed."""
    return "[\n" + ",\n".join(map(_entry, entries)) + "\n]\n"


def _entry(entry: dict[str, Any]) -> str:
    """An entry with a line for each field, and one for each that says it."""
    said = ",\n  ".join(map(json.dumps, entry["said"]))
    whole = json.dumps(entry | {"said": []}, indent=1)
    return whole.replace('\n "said": []', f'\n "said": [\n  {said}\n ]')


def update() -> list[Path]:
    """Bring `said` of data/decoder up to date; return the files that changed."""
    said = said_of_entries()
    changed = []
    for path in sorted(data_path("decoder").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        entries = json.loads(text)
        for entry in entries:
            if entry["id"] in said:
                entry["said"] = said[entry["id"]]
        if (new := written(entries)) != text:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed
