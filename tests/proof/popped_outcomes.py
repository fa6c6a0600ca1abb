"""Recorded outcomes of those who pop, beside the simulated ones: `python -m tests.proof.popped_outcomes SET...`.

A set is a folder with scenarios and events of a real 5.x broker (and proxy). Python clients are taken for the Java ones
of their kind; what goes through the proxy by remoting is left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.files import lines_of, read_text
from rmqlab.rules import RULES
from rmqlab.run.run import Outcome
from rmqlab.scenario.scenario import read_scenarios, refusal_of
from rmqlab.sim.cluster import settings_beside
from tests.proof.recorded_outcomes import RecordedComparison, RecordedVerdict, survey

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = 40


@dataclass(slots=True)
class Cell:
    """The scenarios of one kind in a set: how many, how many recorded outcomes were reached, which were not."""

    scenarios: int = 0
    reached: int = 0
    missing: list[str] = field(default_factory=list)
    outcomes: int = 0

    def add(self, comparison: RecordedComparison) -> None:
        """Count one more scenario."""
        self.scenarios += 1
        if comparison.verdict in {RecordedVerdict.REACHED, RecordedVerdict.SAME}:
            self.reached += 1
        else:
            self.missing.append(comparison.scenario_id)
        if comparison.survey is not None:
            self.outcomes = max(self.outcomes, len(comparison.survey.reached))


def cell_of(scenario_id: str) -> str:
    """The kind of a scenario, which its id names: g5-poptag-block-002 is of poptag-block.

    >>> cell_of("g5-poptag-block-002")
    'poptag-block'
    """
    return re.sub(r"^[^-]+-|-\d+$", "", scenario_id)


def recorded(folder: Path) -> dict[str, Outcome]:
    """The outcomes of a set by scenario; of a message over gRPC the events tell other fields than of one pushed."""
    events: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _number, line in lines_of(read_text(folder / "events.jsonl.gz", "a recorded set")):
        event = json.loads(line)
        events[event["id"]].append(event)
    return {name: Outcome.of_events(mine) for name, mine in events.items()}


def compared(folder: Path, version: str, *, seeds: int = SEEDS, only: str = "") -> Iterator[RecordedComparison]:
    """Each scenario of a set that can be simulated, compared; with `only` those of which it is a part of the id."""
    cluster = replace(settings_beside(folder), rules=RULES[version])
    outcomes = recorded(folder)
    for scenario in read_scenarios(folder / "scenarios.jsonl"):
        if only in scenario.id and refusal_of(scenario, cluster.rules) is None:
            wanted = outcomes[scenario.id]
            found = survey(scenario, seeds=seeds, wanted=wanted, cluster=cluster)
            yield RecordedComparison(scenario.id, wanted, found)


def main(arguments: list[str]) -> int:
    """Compare the sets that are named, SET or SET:PART_OF_AN_ID; 1 if an outcome is not reached."""
    missing = 0
    for argument in arguments:
        name, _colon, only = argument.partition(":")
        folder = Path(name)
        version = folder.parent.name.removeprefix("broker-")
        cells: dict[str, Cell] = {}
        for comparison in compared(folder, version, only=only):
            cells.setdefault(cell_of(comparison.scenario_id), Cell()).add(comparison)
            if comparison.verdict is RecordedVerdict.NOT_REACHED:
                _say(f"{comparison.scenario_id} {comparison.text()}; recorded: {comparison.recorded.as_json()}")
        for cell_name, cell in sorted(cells.items()):
            _say(f"{cell_name:24s} {cell.reached} of {cell.scenarios}, outcomes {cell.outcomes}")
        counts = [(cell.scenarios, cell.reached) for cell in cells.values()]
        scenarios, reached = (sum(numbers) for numbers in zip(*counts, strict=True))
        _say(f"{version} {folder.name}: {reached} of {scenarios}")
        missing += scenarios - reached
    return int(missing > 0)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
