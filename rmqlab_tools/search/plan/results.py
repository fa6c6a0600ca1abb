"""What a plan found: each procedure tried, what it can lose, how sure that is; as JSON and in words."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rmqlab.run.run import Run
from rmqlab_tools.search.explorer.timings import assumed
from rmqlab_tools.search.plan.change import Change, text_of
from rmqlab_tools.search.plan.checklist import asks_of_producers
from rmqlab_tools.search.plan.procedures import Course, Procedure, Producers, Setting
from rmqlab_tools.search.plan.run_cost import LostByChange, RunCost, lost_messages

if TYPE_CHECKING:
    from rmqlab.scenario.schedule import Schedule


HALF = 0.5 - 1e-9


@dataclass(slots=True)
class ProcedureResult:
    """A procedure tried. `losses`: share of the schedules by how many messages they lose.

    The shares are exact (each option of each choice counts the same) if `exhausted`, else those of the drawn runs.

    `exhausted`: no order of frames is left; `runs` = `searched` + `drawn` by seed. `worst` is a run
    that loses most (of those that lose nothing: one that takes most messages twice), `cost` what it cost;
    `takes_ms`, `longest_wait_ms` (of a message that was taken) and `duplicates` are the highest of all runs.
    """

    procedure: Procedure
    change: Change
    producers: Producers
    course: Course
    exhausted: bool
    searched: int
    drawn: int
    losses: dict[int, float]
    worst: Run
    cost: RunCost
    takes_ms: int
    longest_wait_ms: int
    duplicates: int

    @property
    def name(self) -> str:
        """The procedure and the producers, as files are called."""
        return f"{self.procedure.name}-{self.producers}"

    @property
    def lost(self) -> list[LostByChange]:
        """The messages that the worst run lost."""
        return lost_messages(self.worst, self.cost)

    @property
    def conditions(self) -> list[str]:
        """What the producers have to do, by the checklist."""
        return asks_of_producers(self.procedure, self.change)

    @property
    def lossless(self) -> bool:
        """Whether no run lost a message."""
        return self.cost.lost == ()

    @property
    def safe(self) -> bool:
        """Whether no run lost a message, and nothing is asked of the producers."""
        return self.lossless and not self.conditions

    @property
    def runs(self) -> int:
        """How many schedules were tried."""
        return self.searched + self.drawn

    @property
    def schedule(self) -> Schedule:
        """The choices of the worst run; replays with `rmqlab simulate --schedule`."""
        return self.worst.schedule

    def spread(self) -> tuple[int, int, int]:
        """Messages lost at best, in the median, and at worst."""
        counts = sorted(self.losses)
        seen, median = 0.0, counts[-1]
        for lost in counts:
            seen += self.losses[lost]
            if seen >= HALF:
                median = lost
                break
        return counts[0], median, counts[-1]

    def as_json(self) -> dict[str, Any]:
        """The keys that others rely on, and what they hold."""
        best, median, worst = self.spread()
        return {
            "name": self.procedure.name,
            "producers": self.producers.value,
            "safe": self.safe,
            "conditional": self.lossless and bool(self.conditions),
            "conditions": self.conditions,
            "exhausted": self.exhausted,
            "runs": self.runs,
            "worst_loss": len(self.cost.lost),
            "duplicates": self.duplicates,
            "schedule": json.loads(self.schedule.to_json()),
            "title": self.procedure.title,
            "searched": self.searched,
            "drawn": self.drawn,
            "loss": {"best": best, "median": median, "worst": worst},
            "losses": {str(lost): round(share, 9) for lost, share in sorted(self.losses.items())},
            "wanted": self.cost.wanted,
            "lost": [asdict(message) for message in self.lost],
            "takes_ms": self.takes_ms,
            "longest_wait_ms": self.longest_wait_ms,
            "scenario": self.course.scenario.to_builtins(),
        }


@dataclass(slots=True, repr=False)
class Plan:
    """What a change of subscription costs by each procedure."""

    change: Change
    setting: Setting
    budget: int
    seed: int
    tried: list[ProcedureResult]
    cut: bool = False
    """The limit of time came before the budget was used up."""

    def __repr__(self) -> str:
        """What the verb prints."""
        from rmqlab_tools.search.plan.plan_text import plan_lines  # it knows this class

        return "\n".join(map(str, plan_lines(self)))

    def of(self, name: str, producers: Producers = Producers.KEEP) -> ProcedureResult:
        """One procedure, as tried with these producers."""
        return next(result for result in self.tried if result.procedure.name == name and result.producers is producers)

    @property
    def lossless(self) -> list[ProcedureResult]:
        """Those that lost nothing: first the safe, then those that need not wait, each in the order of what it asks."""
        results = [result for result in self.tried if result.lossless]
        return sorted(
            results,
            key=lambda result: (not result.safe, result.producers is Producers.WAIT, EASE.index(result.procedure.name)),
        )

    @property
    def safe(self) -> list[ProcedureResult]:
        """Those that lost nothing and ask nothing of the producers."""
        return [result for result in self.lossless if result.safe]

    def as_json(self) -> dict[str, Any]:
        """The plan; `procedures` has one object for each procedure and behaviour of the producers."""
        change = self.change
        return {
            "old": text_of(change.old),
            "new": text_of(change.new),
            "same": change.same,
            "messages": {kind.value: dict(properties) for kind, properties in change.kinds.items()},
            "union": None if change.union is None else text_of(change.union),
            **asdict(self.setting),
            "budget": self.budget,
            "seed": self.seed,
            "out_of_time": self.cut,
            "assumptions": assumed(()),
            "procedures": [result.as_json() for result in self.tried],
        }


# A restart is what every deployment does; a gap, a second group, a second rollout, new code in producers ask for more.
EASE = ("one-by-one", "stop-all", "new-group", "widen-then-narrow", "new-topic")
