"""Which outcomes a scenario has when times vary, and what the real broker and clients did beside that.

A scenario is run once with the nominal times (the first of each in ``race_timing``) and with others drawn from seeds.
If all runs end alike, the outcome does not depend on a race, as far as these runs can tell, and must be the recorded
one: who consumed what, and the committed offsets. Else the recorded outcome must be among those reached. To which queue
the producer sends its first message of a topic is drawn at random by 4.8.0, and a recording tells it: so it is the same
in all runs.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, ngettext
from rmqlab.rules import DEFAULT_RULES, rules_of
from rmqlab.run.run import Outcome, recorded_events, sent_messages
from rmqlab.scenario.scenario import Scenario, Send, read_scenarios, refusal_of
from rmqlab.scenario.schedule import Chooser, FirstQueues, Schedule
from rmqlab.sim.cluster import ClusterConfig, read_cluster_config, settings_beside
from rmqlab.sim.scenario_inputs import named_scenarios
from rmqlab.sim.simulate import simulate
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.recordings.frames import FRAMES_NAMES, read_recording
from rmqlab_tools.search.explorer.timings import RaceChooser, race_timing
from tests.proof.replay.replay import recorded_rules

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rmqlab.rules import Rules
    from rmqlab.run.run import Event, Run

SEEDS = 40
PATIENCE = 10  # an outcome that no seed has reached is looked for among this many times as many


@dataclass(slots=True)
class ReachedOutcome:
    """An outcome that was reached: in how many runs, and in which one first (``seed`` None: the nominal run)."""

    outcome: Outcome
    seed: int | None
    schedule: Schedule
    runs: int = 1


@dataclass(slots=True)
class Survey:
    """The outcomes of one scenario, the nominal run's first, and the number of runs made."""

    scenario: Scenario
    reached: dict[Outcome, ReachedOutcome] = field(default_factory=dict)
    runs: int = 0

    @property
    def depends_on_race(self) -> bool:
        """Whether two runs ended differently."""
        return len(self.reached) > 1

    def add(self, run: Run, seed: int | None) -> None:
        """Count one more run."""
        self.runs += 1
        outcome = run.outcome()
        if outcome in self.reached:
            self.reached[outcome].runs += 1
        else:
            self.reached[outcome] = ReachedOutcome(outcome, seed, run.schedule)


def survey(
    scenario: Scenario,
    *,
    seeds: int = SEEDS,
    wanted: Outcome | None = None,
    cluster: ClusterConfig | None = None,
    first_queues: Sequence[int] = (),
) -> Survey:
    """Run a scenario with nominal times and with ``seeds`` seeds, and collect its outcomes.

    ``first_queues``: where the producer begins with each topic, as far as that is known. With ``wanted`` it stops when
    that outcome was reached and another one proved the race. As long as it was not reached there are ``PATIENCE`` times
    as many seeds.

    Raises:
        BadInput: the scenario cannot be simulated.
    """
    result, timing = Survey(scenario), race_timing(scenario)

    def run(times: Chooser, seed: int | None) -> None:
        chooser = FirstQueues(times, first_queues)
        result.add(simulate(scenario, chooser=chooser, timing=timing, cluster=cluster), seed)

    run(Chooser(), None)
    for seed in range(seeds if wanted is None else seeds * PATIENCE):
        if wanted in result.reached and (result.depends_on_race or seed >= seeds):
            break
        run(RaceChooser(seed), seed)
    return result


def first_queues_of(scenario: Scenario, events: Iterable[Event]) -> list[int]:
    """To which queue the first message of each topic went that names none, in the order in which they were sent."""
    messages = [sent for step in scenario.steps if isinstance(step, Send) for sent in step.messages]
    drawn = {sent.body for sent in messages if sent.queue is None}
    queues: dict[str, int] = {}
    for message in sent_messages(scenario, events):
        if message.body in drawn and scenario.topics[message.topic] > 1:  # of one queue there is nothing to draw
            queues.setdefault(message.topic, message.queue)
    return list(queues.values())


class RecordedVerdict(StrEnum):
    """How a recorded outcome stands to the simulated ones."""

    SAME = "same"
    REACHED = "reached"
    NOT_REACHED = "not reached"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class RecordedComparison:
    """One recorded scenario; ``survey`` is None and ``refusal`` says why when it cannot be simulated."""

    scenario_id: str
    recorded: Outcome
    survey: Survey | None
    refusal: str | None = None

    @property
    def verdict(self) -> RecordedVerdict:
        """SAME: no race, and equal. REACHED: one of several outcomes."""
        if self.survey is None:
            return RecordedVerdict.REFUSED
        if self.recorded not in self.survey.reached:
            return RecordedVerdict.NOT_REACHED
        return RecordedVerdict.REACHED if self.survey.depends_on_race else RecordedVerdict.SAME

    def text(self) -> str:
        """The verdict in words."""
        if self.survey is None:
            return _("refused: {refusal}", refusal=self.refusal)
        outcomes, runs = len(self.survey.reached), self.survey.runs
        reached = self.survey.reached.get(self.recorded)
        if reached is None:
            return ngettext(
                "NOT REACHED: {runs} runs ended in {count} other way",
                "NOT REACHED: {runs} runs ended in {count} other ways",
                outcomes,
                runs=runs,
            )
        if outcomes == 1:
            return _("same: {runs} runs, no race", runs=runs)
        how = _("nominal times") if reached.seed is None else _("seed {seed}", seed=reached.seed)
        return _(
            "reached: a race, one of {outcomes} outcomes of {runs} runs, by {how}",
            outcomes=outcomes,
            runs=runs,
            how=how,
        )

    def as_json(self) -> dict[str, Any]:
        """RecordedVerdict, number of runs, the recorded outcome, and those reached with their schedules."""
        result: dict[str, Any] = {"verdict": self.verdict.value, "recorded": self.recorded.as_json()}
        if self.survey is None:
            return result | {"refusal": self.refusal}
        outcomes = [
            reached.outcome.as_json()
            | {"runs": reached.runs, "seed": reached.seed, "schedule": json.loads(reached.schedule.to_json())}
            for reached in self.survey.reached.values()
        ]
        return result | {"runs": self.survey.runs, "outcomes": outcomes}


def compare(
    folder: Path,
    scenarios: Iterable[Scenario] | None = None,
    *,
    seeds: int = SEEDS,
    cluster: ClusterConfig | None = None,
) -> Iterator[RecordedComparison]:
    """Compare scenarios (those of the set) of a recorded set with their simulations, in order.

    ``cluster`` is by default what the set's broker.conf says, of the version of its frames; ``seeds`` as in `survey`.

    Raises:
        BadInput: a file of the set is missing or malformed, or has nothing about a scenario.
    """
    packed = folder / "scenarios.jsonl.gz"
    if scenarios is None:
        scenarios = read_scenarios(packed if packed.is_file() else folder / "scenarios.jsonl")
    cluster = cluster or replace(settings_beside(folder), rules=rules_of_set(folder))
    events = recorded_events(folder)
    for scenario in scenarios:
        if scenario.id not in events:
            raise BadInput(
                _(
                    "{folder}: scenario {id} has no events; record it again, or take it out",
                    folder=folder,
                    id=f"{scenario.id!r}",
                )
            )
        recorded = Outcome.of_events(events[scenario.id])
        refusal = refusal_of(scenario, cluster.rules)
        if refusal is not None:
            yield RecordedComparison(scenario.id, recorded, None, refusal)
            continue
        first_queues = first_queues_of(scenario, events[scenario.id])
        result = survey(scenario, seeds=seeds, wanted=recorded, cluster=cluster, first_queues=first_queues)
        yield RecordedComparison(scenario.id, recorded, result)


def rules_of_set(folder: Path) -> Rules:
    """The rules of the version that a recorded set's broker names in its frames; the usual ones without frames."""
    return (
        recorded_rules(read_recording(folder))
        if any((folder / name).is_file() for name in FRAMES_NAMES)
        else DEFAULT_RULES
    )


def run(args: Namespace) -> int:
    """`simulate --compare DIR`: print a line for each scenario; return 1 if an outcome is not reached, 2 if refused.

    Raises:
        BadInput: an option that a comparison cannot have, or a set that cannot be compared.
    """
    if args.seed is not None or args.schedule is not None or args.out is not None or args.schedule_out is not None:
        raise BadInput(
            _("--compare makes seeded runs of its own: no --seed, --schedule, --out or --schedule-out with it")
        )
    if args.link is not None:
        raise BadInput(_("--compare compares the scenarios of a set: no --link with it"))
    if args.gauges is not None:
        raise BadInput(_("--gauges has no place in a comparison: recordings have no gauges"))
    if args.seeds < 1:
        raise BadInput(
            _("--seeds {seeds}: at least one run beside the nominal one is needed to see a race", seeds=args.seeds)
        )
    out = printer(args)
    path = args.scenarios or args.compare / "scenarios.jsonl"
    scenarios = named_scenarios(path, args.id).values()
    rules = rules_of(args.version) if args.version else rules_of_set(args.compare)
    settings = read_cluster_config(args.conf) if args.conf else settings_beside(args.compare)
    cluster = replace(settings, rules=rules)
    results = []
    for result in compare(args.compare, scenarios, seeds=args.seeds, cluster=cluster):
        results.append(result)
        out.say(f"{result.scenario_id:<20} {result.text()}")
    count = Counter(result.verdict for result in results)
    out.say(
        _(
            "{results} scenarios: {same} same, {reached} reached, {missed} not reached, {refused} refused",
            results=len(results),
            same=count[RecordedVerdict.SAME],
            reached=count[RecordedVerdict.REACHED],
            missed=count[RecordedVerdict.NOT_REACHED],
            refused=count[RecordedVerdict.REFUSED],
        )
    )
    write_json({result.scenario_id: result.as_json() for result in results}, args.json)
    if count[RecordedVerdict.NOT_REACHED]:
        return 1
    return 2 if count[RecordedVerdict.REFUSED] else 0
