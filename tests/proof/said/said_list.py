"""The list of texts as it is committed, and what of it the decoder explains.

Each text is explained by an entry of data/decoder, or left out for a reason of data/said/out_of_scope.json, or has too
few words of its own to be known by.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from rmqlab.checkout import ROOT
from rmqlab_tools.doctor.decoder import match
from rmqlab_tools.doctor.line_template import template

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rmqlab_tools.doctor.decoder_entry import Entry

FOLDER: Final = ROOT / "data" / "said"
LISTS: Final = ("java", "clients")
HEAD: Final = ("program", "place", "method", "kind", "level", "file", "versions", "text")


class Listed(NamedTuple):
    """A text of the list: the program that says it ("broker", "Go"), where, and in which versions."""

    program: str
    place: str
    method: str
    kind: str
    level: str
    file: str
    versions: str
    text: str

    @property
    def by(self) -> str:
        """Class and method."""
        return f"{self.place}.{self.method}" if self.method else self.place

    @property
    def is_too_short(self) -> bool:
        """Whether it has too few words of its own to be known by."""
        return not self.text or template("", self.text).is_loose


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why texts are out of scope: those of a program whose "Class.method text" fits `where`."""

    program: str
    where: str
    why: str

    def is_about(self, listed: Listed) -> bool:
        """Whether it is the reason for this text."""
        fits = re.match(self.where, f"{listed.by} {listed.text}") is not None
        return fits and listed.program in self.program.split("|")


def read(name: str, folder: Path = FOLDER) -> list[Listed]:
    """The committed list `java` or `clients`."""
    lines = (folder / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [Listed(*line.split("\t")) for line in lines[1:]]


def write(name: str, texts: Iterable[Listed], folder: Path = FOLDER) -> None:
    """Write a list, sorted."""
    rows = sorted(
        set(texts),
        key=lambda listed: (listed.program, listed.place, listed.method, listed.kind, listed.text, listed.versions),
    )
    lines = ["\t".join(HEAD), *("\t".join(row) for row in rows)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@cache
def reasons() -> tuple[Reason, ...]:
    """Why texts are left out, in order."""
    return msgspec.json.decode((FOLDER / "out_of_scope.json").read_bytes(), type=tuple[Reason, ...])


def explained_by(listed: Listed) -> Entry | None:
    """The entry that a line with this text belongs to, whatever its values are."""
    line = "2021-09-05 10:30:00,123 WARN Thread_1 - " + re.sub(r"\{\w+\}", "x7", listed.text)
    said = match(line)
    return None if said is None else said.entry


def left_out_for(listed: Listed) -> Reason | None:
    """Why the text is out of scope."""
    return next((reason for reason in reasons() if reason.is_about(listed)), None)


def left_over() -> list[Listed]:
    """Texts that nobody explained or left out: there must be none."""
    texts = [listed for name in LISTS for listed in read(name)]
    return [
        listed
        for listed in texts
        if not listed.is_too_short and explained_by(listed) is None and left_out_for(listed) is None
    ]
