"""Recorded outcomes of those who pop, beside ours: `python -m tests.proof.popped_outcomes [--find] SET...`.

A set is a folder with scenarios and events of a real 5.x broker (and proxy). `popped_outcomes.jsonl` has for each
scenario the choices of a run that ends as recorded: it is run anew. `--find` looks for those that have none, or whose
run ends otherwise by now, and stores what it finds. Python clients are taken for the Java ones of their kind.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace as with_fields

from rmqlab.files import lines_of, read_text
from rmqlab.rules import RULES
from rmqlab.run.run import Outcome
from rmqlab.scenario.scenario import Scenario, Send, read_scenarios, refusal_of
from rmqlab.sim.cluster import ClusterConfig, settings_beside
from tests.proof.outcome_search import BUDGET, Choices, OutcomeSearch, end_of

if TYPE_CHECKING:
    from collections.abc import Iterator

STORED = Path(__file__).with_suffix(".jsonl")
NOT_REACHED: dict[str, str] = {}
"""Scenarios whose recorded outcome no run has, each with the reason."""


class Recorded(NamedTuple):
    """A recorded scenario as it was sent, how it ended, and the cluster that it ran on."""

    name: str
    scenario: Scenario
    outcome: Outcome
    cluster: ClusterConfig


def cell_of(scenario_id: str) -> str:
    """The kind of a scenario, which its id names: g5-poptag-block-002 is of poptag-block.

    >>> cell_of("g5-poptag-block-002")
    'poptag-block'
    """
    return re.sub(r"^[^-]+-|-\d+$", "", scenario_id)


def as_sent(scenario: Scenario, events: list[dict[str, Any]]) -> Scenario:
    """A scenario without the messages that its recorder could not store: a step ends at a send that is refused."""
    stored = {event["body"] for event in events if event["ev"] == "sent"}
    steps = tuple(
        with_fields(step, messages=tuple(message for message in step.messages if message.body in stored))
        if isinstance(step, Send)
        else step
        for step in scenario.steps
    )
    return with_fields(scenario, steps=steps)


def recorded(folder: Path) -> Iterator[Recorded]:
    """The scenarios of a set that can be simulated, in order."""
    events: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _number, line in lines_of(read_text(folder / "events.jsonl.gz", "a recorded set")):
        event = json.loads(line)
        events[event["id"]].append(event)
    rules = RULES[folder.parent.name.removeprefix("broker-")]
    cluster = replace(settings_beside(folder), rules=rules)
    for scenario in read_scenarios(folder / "scenarios.jsonl"):
        if refusal_of(scenario, rules) is None:
            mine = events[scenario.id]
            name = f"{folder.parent.name}/{folder.name}/{scenario.id}"
            yield Recorded(name, as_sent(scenario, mine), Outcome.of_events(mine), cluster)


def read_stored(path: Path = STORED) -> dict[str, Choices]:
    """The choices of the stored runs, by set and scenario."""
    stored: dict[str, Choices] = {}
    for line in path.read_text().splitlines() if path.is_file() else ():
        row = json.loads(line)
        stored[row["run"]] = {(label, nth): option for label, nth, option in row["choices"]}
    return stored


def write_stored(stored: dict[str, Choices], path: Path = STORED) -> None:
    """Store the choices of runs, a line for each."""
    rows = (
        {"run": name, "choices": [[*key, option] for key, option in choices.items()]}
        for name, choices in sorted(stored.items())
    )
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def reached(one: Recorded, stored: dict[str, Choices]) -> bool:
    """Whether the stored run of a scenario ends as recorded: one run."""
    choices = stored.get(one.name)
    return choices is not None and end_of(one.scenario, choices, one.cluster) == one.outcome


def main(arguments: list[str]) -> int:
    """Compare the sets that are named; 1 if an outcome is not reached and not known for that."""
    finds, budget = "--find" in arguments, BUDGET
    stored = read_stored()
    missing = 0
    for argument in arguments:
        if argument.startswith("--"):
            budget = int(argument.removeprefix("--budget=")) if argument.startswith("--budget=") else budget
            continue
        name, _colon, only = argument.partition(":")
        cells: dict[str, Counter[bool]] = {}
        for one in recorded(Path(name)):
            if only not in one.name:
                continue
            is_reached = reached(one, stored)
            if not is_reached and finds and one.name not in NOT_REACHED:
                search = OutcomeSearch(one.scenario, one.outcome, one.cluster)
                choices = search.find(budget)
                _say(f"{one.name}: {'not found' if choices is None else 'found'} in {search.runs} runs")
                if choices is not None:
                    is_reached = True
                    stored = read_stored() | {one.name: choices}
                    write_stored(stored)
            elif not is_reached:
                _say(f"{one.name} not reached: {NOT_REACHED.get(one.name, one.outcome.as_json())}")
            missing += not is_reached and one.name not in NOT_REACHED
            cells.setdefault(cell_of(one.scenario.id), Counter())[is_reached] += 1
        for cell, counts in sorted(cells.items()):
            _say(f"{cell:24s} {counts[True]} of {counts.total()}")
        total = sum(cells.values(), Counter())
        _say(f"{name}: {total[True]} of {total.total()}")
    return int(missing > 0)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
