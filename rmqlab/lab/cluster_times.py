"""What an audit costs at several places, as it was measured once: data/cluster/times.json.

`python -m tests.proof.bench.cluster_times` measures it again and writes the file anew; with the argument `answers` it
keeps the times and asks every place again what it answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.lab.interval import Interval

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class PlaceTimes:
    """CPU seconds at one place: a `session`, the `first` small audit, the same `again` (median of rounds).

    `data` is what a big store cost more than the small one, the median of the rounds, and `swing` by which share of it
    a round lay off, the farthest on either side left out. Seconds are those of all processes of the place together:
    driver, servers, executors, Python workers.
    """

    name: str
    cores: int
    session: float
    first: float
    again: float
    data: float
    swing: float

    @property
    def spent(self) -> Interval:
        """The data: the median of the rounds, and between which bounds the rounds lay."""
        return Interval(self.data, self.data * (1 - self.swing), self.data * (1 + self.swing))

    @property
    def fixed(self) -> float:
        """What comes before the first byte of a store is read: the session, and what a first job loads and compiles."""
        return self.session + self.first


@dataclass(frozen=True, slots=True)
class Sizing:
    """What a store of `gib` GiB takes at a place, if it costs as much a byte as the `measured` bytes did there."""

    place: PlaceTimes
    measured: int
    gib: float

    @property
    def data(self) -> Interval:
        """CPU seconds for the store itself, without what any job costs."""
        return self.place.spent.scaled(self.times)

    @property
    def times(self) -> float:
        """How many times as large as what was measured the store is."""
        return self.gib * GIB / self.measured

    def seconds(self, workers: int) -> Interval:
        """Seconds on the clock with so many workers of one core: the data is divided, the rest is not."""
        return self.data.scaled(1 / workers).plus(self.place.fixed)


@dataclass(frozen=True, slots=True)
class ClusterTimes:
    """Every place; the bytes and messages that the big store has more than the small one; what each place answered.

    An answer is a `rmqlab.spark.cluster_run.Ran` for the recorded set `audit`.
    """

    bytes: int
    messages: int
    places: tuple[PlaceTimes, ...]
    answers: tuple[tuple[Any, ...], ...] = ()

    def place(self, name: str) -> PlaceTimes:
        """The place of this name.

        Raises:
            BadInput: there is none.
        """
        found = next((one for one in self.places if one.name == name), None)
        if found is None:
            raise BadInput(f"no place {name!r}; there are {', '.join(one.name for one in self.places)}")
        return found

    def sizing(self, name: str, gib: float) -> Sizing:
        """What a store of `gib` GiB takes at the place of this name; raises `BadInput` as `place`."""
        return Sizing(self.place(name), self.bytes, gib)


def stored_file() -> Path:
    """Where it is kept."""
    return folder("data") / "cluster" / "times.json"


def stored_times() -> ClusterTimes:
    """What was measured.

    Raises:
        BadInput: the file is missing or damaged.
    """
    path = stored_file()
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        places = tuple(PlaceTimes(**one) for one in told["places"])
        return ClusterTimes(told["bytes"], told["messages"], places, tuple(map(tuple, told["answers"])))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{path} cannot be read ({error}); python -m tests.proof.bench.cluster_times makes it"
        ) from error
