"""Recorded outcomes of those who pop, beside ours: `python -m tests.proof.popped_outcomes [--find] SET...`.

A set is a folder with scenarios and events of a real 5.x broker (and proxy). `popped_outcomes.jsonl` has for each
scenario the choices of a run that ends as recorded: it is run anew. `--find` looks for those that have none, or whose
run ends otherwise by now, and stores what it finds. Python clients are taken for the Java ones of their kind.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser
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
from tests.proof.outcome_search import BUDGET, OutcomeSearch, end_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.search.explorer.deviations import Deviations

STORED = Path(__file__).with_suffix(".jsonl")


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
    """The scenarios of a set that can be simulated, in order; events over gRPC have fewer fields than of others."""
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


def read_stored() -> dict[str, Deviations]:
    """The choices of the stored runs, by set and scenario."""
    rows = map(json.loads, STORED.read_text().splitlines())
    return {row["run"]: {(label, nth): option for label, nth, option in row["choices"]} for row in rows}


def write_stored(stored: dict[str, Deviations]) -> None:
    """Store the choices of runs, a line for each."""
    rows = (
        {"run": name, "choices": [[*key, option] for key, option in choices.items()]}
        for name, choices in sorted(stored.items())
    )
    STORED.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def reached(recording: Recorded, stored: dict[str, Deviations]) -> bool:
    """Whether the stored run of a scenario ends as recorded: one run."""
    choices = stored.get(recording.name)
    return choices is not None and end_of(recording.scenario, choices, recording.cluster) == recording.outcome


def find(recording: Recorded, budget: int) -> bool:
    """Look for a run that ends as recorded and store it; whether there was one."""
    search = OutcomeSearch(recording.scenario, recording.outcome, recording.cluster)
    choices = search.find(budget)
    _say(f"{recording.name}: {'not found' if choices is None else 'found'} in {search.runs} runs")
    if choices is not None:
        write_stored(read_stored() | {recording.name: choices})  # another search may have stored some meanwhile
    return choices is not None


def main(arguments: list[str]) -> int:
    """Compare the sets that are named; 1 if an outcome is not reached."""
    parser = ArgumentParser(prog="python -m tests.proof.popped_outcomes", description=__doc__)
    parser.add_argument("sets", nargs="+", metavar="SET", help="a folder, or FOLDER:PART of the names of scenarios")
    parser.add_argument("--find", action="store_true", help="look for the runs that are missing, and store them")
    parser.add_argument("--budget", type=int, default=BUDGET, help="how many runs are made to find one")
    options = parser.parse_args(arguments)
    stored = read_stored()
    missing = 0
    for argument in options.sets:
        folder, _colon, part = argument.partition(":")
        cells: dict[str, Counter[bool]] = {}
        for recording in recorded(Path(folder)):
            if part not in recording.name:
                continue
            is_reached = reached(recording, stored) or (options.find and find(recording, options.budget))
            if not (is_reached or options.find):
                _say(f"{recording.name} not reached: {recording.outcome.as_json()}")
            cells.setdefault(cell_of(recording.scenario.id), Counter())[is_reached] += 1
        for cell, counts in sorted(cells.items()):
            _say(f"{cell:24s} {counts[True]} of {counts.total()}")
        total = sum(cells.values(), Counter())
        _say(f"{folder}: {total[True]} of {total.total()}")
        missing += total[False]
    return int(missing > 0)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
