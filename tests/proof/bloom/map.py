"""The bloom map: what was measured, cell by cell, and what follows from it as far as its intervals allow.

`data/bloom_profile/map.jsonl` is what `./lab profile --map --store` wrote; `data/README.md` says on what machine. Times
of another machine differ; the ratios are what can be compared.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.files import atomic_write
from tests.proof.bloom.stages import StageCounts, Stages
from tests.proof.bloom.workload import Workload
from tests.proof.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

Side = Literal["ours", "java"]
SIDES: Final[dict[Side, str]] = {"ours": "our classes", "java": "the real classes"}
MAP: Final = "map.jsonl"


class Turn(NamedTuple):
    """Where the switch turns from a gain into a loss, over the shares of matching messages that were measured.

    It pays at `pays` and at each share below, in every process; it costs at `costs` and at each share above. None:
    there is no such share.
    """

    pays: float | None
    costs: float | None

    def __str__(self) -> str:
        """`5% to 25%`, `below 10%, if at all`, `nowhere`."""
        if self.pays is None:
            return "not decided" if self.costs is None else "nowhere" if not self.costs else f"below {self.costs:.0%}?"
        return f"above {self.pays:.0%}?" if self.costs is None else f"{self.pays:.0%} to {self.costs:.0%}"


@dataclass(frozen=True, slots=True)
class ProfileCell:
    """One workload, measured: counts, and by side the stages of each process."""

    workload: Workload
    counts: StageCounts
    processes: dict[Side, tuple[Stages, ...]]

    @property
    def sides(self) -> list[Side]:
        """By what it was measured."""
        return list(self.processes)

    def interval(self, side: Side, figure: Callable[[Stages], float] = Stages.ratio) -> Interval:
        """A figure of the processes, by default the cost with the switch / without it."""
        return Interval.of([figure(stages) for stages in self._of(side)])

    def middle(self, side: Side) -> Stages:
        """The stages of the process whose ratio is the middle one: they add up, as medians would not."""
        ordered = sorted(self._of(side), key=Stages.ratio)
        return ordered[len(ordered) // 2]

    def _of(self, side: Side) -> tuple[Stages, ...]:
        if side not in self.processes:
            raise BadInput("this cell was measured without the real jars")
        return self.processes[side]

    def as_json(self) -> dict[str, Any]:
        """For files: the workload, the counts, and by side a list of stage times for each process, in ns."""
        sides: dict[str, Any] = {
            side: [stages.as_json() for stages in processes] for side, processes in self.processes.items()
        }
        counts = asdict(self.counts)
        if self.counts.theory_rate is not None:
            counts["theory_rate"] = round(self.counts.theory_rate, 6)
        return {**asdict(self.workload), **counts, **sides}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> ProfileCell:
        """Read what `as_json` gave."""
        workload, counts = (
            kind(**{name: record[name] for name in kind.__dataclass_fields__}) for kind in (Workload, StageCounts)
        )
        processes = {side: tuple(Stages(*times) for times in record[side]) for side in SIDES if side in record}
        return cls(workload, counts, processes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class BloomMap:
    """The cells of the grid, whose messages have user properties; `bare` is the article's case without any."""

    cells: tuple[ProfileCell, ...]
    bare: ProfileCell | None = None

    @classmethod
    def of(cls, cells: Iterable[ProfileCell]) -> BloomMap:
        """Sort measured cells into both."""
        measured = list(cells)
        bare = [cell for cell in measured if not cell.workload.user_properties]
        return cls(tuple(cell for cell in measured if cell.workload.user_properties), bare[0] if bare else None)

    @property
    def sides(self) -> list[Side]:
        """By what it was measured."""
        return self.cells[0].sides

    def axis(self, name: str) -> list[Any]:
        """The values of an axis (`selectivity`, `groups`, `expression`), in their order."""
        return list(dict.fromkeys(getattr(cell.workload, name) for cell in self.cells))

    def cell(self, selectivity: float, groups: int, expression: str) -> ProfileCell:
        """One cell.

        Raises:
            BadInput: it was not measured; the text names the axes.
        """
        for cell in self.cells:
            workload = cell.workload
            if (workload.selectivity, workload.groups, workload.expression) == (selectivity, groups, expression):
                return cell
        axes = {name: self.axis(name) for name in ("selectivity", "groups", "expression")}
        raise BadInput(f"no cell with selectivity {selectivity}, {groups} groups, {expression!r}; measured are {axes}")

    def row(self, groups: int, expression: str | None = None) -> list[ProfileCell]:
        """The cells with so many groups, by selectivity; without an expression those of all."""
        return sorted(
            (
                cell for cell in self.cells
                if cell.workload.groups == groups and expression in {None, cell.workload.expression}
            ),
            key=lambda cell: cell.workload.selectivity,
        )  # fmt: skip

    def turn(self, groups: int, expression: str, side: Side) -> Turn:
        """Between which measured shares the switch turns from a gain into a loss."""
        row = [(cell.workload.selectivity, cell.interval(side)) for cell in self.row(groups, expression)]
        pays = costs = None
        for share, ratio in row:
            if not ratio.below(1):
                break
            pays = share
        for share, ratio in reversed(row):
            if not ratio.above(1):
                break
            costs = share
        return Turn(pays, costs)

    def false_hits(self) -> list[tuple[int, float, int, int, float]]:
        """For each number of groups and selectivity: false hits, pairs that could be, and the rate by theory.

        Cells that differ only in the expression are put together.
        """
        rows = []
        for groups in self.axis("groups"):
            for selectivity in self.axis("selectivity"):
                cells = [cell for cell in self.row(groups) if cell.workload.selectivity == selectivity]
                others = [cell.workload.messages * groups - cell.counts.matched for cell in cells]
                if not sum(others):
                    continue
                rates = [cell.counts.theory_rate or 0.0 for cell in cells]
                expected = sum(rate * many for rate, many in zip(rates, others, strict=True))
                hits = sum(cell.counts.passed - cell.counts.matched for cell in cells)
                rows.append((groups, selectivity, hits, sum(others), expected / sum(others)))
        return rows


@lru_cache(maxsize=1)
def stored_map() -> BloomMap:
    """The map as it is in the tree."""
    return read_map(checkout_path("data") / "bloom_profile" / MAP)


def read_map(path: Path) -> BloomMap:
    """Read a map.

    Raises:
        BadInput: it cannot be read; the text names the line.
    """
    cells = []
    number = 0
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):  # noqa: B007 - for the error
            cells.append(ProfileCell.from_json(json.loads(line)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}, line {number}: no bloom map ({type(error).__name__}: {error})") from error
    if not cells:
        raise BadInput(f"{path} is empty: no bloom map")
    return BloomMap.of(cells)


def write_map(path: Path, cells: Iterable[ProfileCell]) -> None:
    """Write measured cells, a line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        part.write_text("".join(json.dumps(cell.as_json()) + "\n" for cell in cells), encoding="utf-8")
