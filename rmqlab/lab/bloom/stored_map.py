"""The stored bloom map and profile: what was measured once, with what follows from it: ratios, crossovers, advice.

`data/bloom_profile/` holds what `./lab profile --store` and `./lab profile --map --store` wrote; `data/README.md` says
on what machine. Times of another machine differ; the ratios are what can be compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.lab.bloom.java import NAMES, RealStages
from rmqlab.lab.bloom.profile import Profile
from rmqlab.lab.whole_file import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Side = Literal["ours", "java"]
SIDES: Final[dict[Side, str]] = {"ours": "our stages", "java": "the real classes"}
PROFILE, MAP = "profile.json", "map.jsonl"
# The columns of a cell that the map keeps; `row` and `seed` run it again.
_ALWAYS: Final = ("messages", "matched", "passed", "false_hits", "floor", "off", "on_dispatch", "on_pull", "decode")


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting, measured. Times are CPU ns for a message, all its groups together; filtering alone.

    `real` is None where the jars were not there. `false_rate` and `theory_rate` are None where every pair matches.
    """

    row: str
    seed: int
    selectivity: float
    groups: int
    expression: str
    expected: int
    messages: int
    matched: int
    passed: int
    false_hits: int
    false_rate: float | None
    theory_rate: float | None
    floor: float
    off: float
    on_dispatch: float
    on_pull: float
    decode: float
    real: RealStages | None

    @property
    def sides(self) -> list[Side]:
        """By what it was measured."""
        return ["ours"] if self.real is None else ["ours", "java"]

    def without(self, side: Side) -> float:
        """Time for a message with the switch off, ns."""
        return self._real().layer_2 if side == "java" else self.off

    def parts(self, side: Side, *, decode: bool = False) -> dict[str, float]:
        """Times for a message with the switch on, ns by phase; ``decode`` charges dispatch with what it decodes."""
        if side == "java":
            real = self._real()
            dispatch = real.build + real.write_extension
            pull = real.read_extension + real.check + real.layer_2_passed
            charged = real.decode
        else:
            dispatch, pull, charged = self.on_dispatch, self.on_pull, self.decode
        return {"dispatch": dispatch, "pull": pull, **({"decode at dispatch": charged} if decode else {})}

    def ratio(self, side: Side, *, decode: bool = False) -> float:
        """With the switch / without it: below 1 it pays."""
        return sum(self.parts(side, decode=decode).values()) / self.without(side)

    def _real(self) -> RealStages:
        if self.real is None:
            raise BadInput("this cell was measured without the real jars")
        return self.real

    @classmethod
    def from_record(cls, told: dict[str, Any]) -> Cell:
        """Read a line of the map, or a record of the sweep."""
        times: dict[str, Any] = {name: told.get(f"java_{name}") for name in NAMES}
        there = all(value is not None for value in times.values())
        counts: dict[str, Any] = {"matched": told["matched"], "passed": told["passed"]}
        names = ("row", "seed", "selectivity", "groups", "expression", "expected", "false_rate", "theory_rate")
        return cls(
            **{name: told[name] for name in (*names, *_ALWAYS)}, real=RealStages(**times, **counts) if there else None
        )


@dataclass(frozen=True)
class BloomMap:
    """All cells."""

    cells: tuple[Cell, ...]

    def axis(self, name: str) -> list[Any]:
        """The values of an axis (`selectivity`, `groups`, `expression`), in their order."""
        return list(dict.fromkeys(getattr(cell, name) for cell in self.cells))

    def cell(self, selectivity: float, groups: int, expression: str) -> Cell:
        """One cell.

        Raises:
            BadInput: it was not measured; the text names the axes.
        """
        for cell in self.cells:
            if (cell.selectivity, cell.groups, cell.expression) == (selectivity, groups, expression):
                return cell
        axes = {name: self.axis(name) for name in ("selectivity", "groups", "expression")}
        raise BadInput(f"no cell with selectivity {selectivity}, {groups} groups, {expression!r}; measured are {axes}")

    def crossover(self, groups: int, expression: str, side: Side, *, decode: bool = False) -> float | None:
        """The selectivity at which the switch neither costs nor saves, between cells by a straight line.

        Below it the switch pays. None: it never does; 1.0: it always does.
        """
        row = [(one.selectivity, one.ratio(side, decode=decode)) for one in self.row(groups, expression)]
        if row[0][1] >= 1:
            return None
        for (low, before), (high, after) in pairwise(row):
            if after >= 1:
                return low + (high - low) * (1 - before) / (after - before)
        return 1.0

    def false_hits(self) -> list[tuple[int, float, int, int, float]]:
        """For each number of groups and selectivity: false hits, pairs that could be, and the rate by theory.

        Cells that differ only in the expression are put together.
        """
        found = []
        for groups in self.axis("groups"):
            for selectivity in self.axis("selectivity"):
                cells = [one for one in self.row(groups) if one.selectivity == selectivity]
                others = [one.messages * groups - one.matched for one in cells]
                if not sum(others):
                    continue
                expected = sum((one.theory_rate or 0.0) * many for one, many in zip(cells, others, strict=True))
                hits = sum(one.false_hits for one in cells)
                found.append((groups, selectivity, hits, sum(others), expected / sum(others)))
        return found

    def row(self, groups: int, expression: str | None = None) -> list[Cell]:
        """The cells with so many groups, by selectivity; without an expression those of all."""
        return sorted(
            (one for one in self.cells if one.groups == groups and expression in {None, one.expression}),
            key=lambda one: one.selectivity,
        )


def data_folder() -> Path:
    """Where the stored results lie."""
    return folder("data") / "bloom_profile"


@lru_cache(maxsize=1)
def stored_map() -> BloomMap:
    """The map as it is in the tree."""
    return read_map(data_folder() / MAP)


@lru_cache(maxsize=1)
def stored_profile() -> tuple[Profile, list[RealStages]]:
    """The profile as it is in the tree: ours, and the real classes on the same records, a process each."""
    told = json.loads((data_folder() / PROFILE).read_text(encoding="utf-8"))
    return Profile.from_json(told["ours"]), [RealStages(**one) for one in told["java"]]


def read_map(path: Path) -> BloomMap:
    """Read a map.

    Raises:
        BadInput: it cannot be read; the text names the line.
    """
    cells = []
    number = 0
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):  # noqa: B007 - for the error
            cells.append(Cell.from_record(json.loads(line)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}, line {number}: no bloom map ({type(error).__name__}: {error})") from error
    if not cells:
        raise BadInput(f"{path} is empty: no bloom map")
    return BloomMap(tuple(cells))


def write_map(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write the good records of the sweep, a line each, sorted by their parameters."""
    names = ("row", "seed", "selectivity", "groups", "expression", "expected", "false_rate", "theory_rate", *_ALWAYS)
    every = (*names, *(f"java_{name}" for name in NAMES))
    kept = [
        {name: _short(one[name]) for name in every if one.get(name) is not None or name in names} for one in records
    ]
    order = list(dict.fromkeys(one["expression"] for one in kept))
    kept = sorted(kept, key=lambda one: (order.index(one["expression"]), one["groups"], one["selectivity"]))
    _write(path, "".join(json.dumps(one) + "\n" for one in kept))


def write_profile(path: Path, ours: Profile, java: Sequence[RealStages]) -> None:
    """Write the profile."""
    told = {"ours": ours.as_json(), "java": [one.as_json() for one in java]}
    _write(path, json.dumps(told, indent=1) + "\n")


def _short(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
