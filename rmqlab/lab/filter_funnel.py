"""Where messages stop on their way to a group: layer 1, layer 2, the client, or nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.lab.fates import Fate
from rmqlab.lab.run_view import RunView
from rmqlab.lab.scenario import Start

if TYPE_CHECKING:
    from rmqlab.lab.run import Run


class Stage(StrEnum):
    """The three places where a message may stop, in their order."""

    LAYER_1 = "layer 1"
    LAYER_2 = "layer 2"
    CLIENT = "client"


STAGES = {
    Fate.DROPPED_BY_BROKER_TAG: Stage.LAYER_1,
    Fate.DROPPED_BY_BROKER_BITMAP: Stage.LAYER_1,
    Fate.DROPPED_BY_BROKER_SQL: Stage.LAYER_2,
    Fate.DROPPED_BY_CLIENT: Stage.CLIENT,
}


@dataclass(frozen=True, slots=True)
class Step:
    """One message of a passage: its name, what else is to be said of it, and its fate."""

    name: str
    detail: str
    fate: Fate

    @property
    def stage(self) -> Stage | None:
        """Where it stops; None when it is delivered."""
        return STAGES.get(self.fate)


@dataclass(frozen=True, slots=True)
class Passage:
    """What became of every message of a topic in one group. ``kind`` is TAG or SQL92."""

    group: str
    kind: str
    subscription: str
    steps: list[Step]

    def reaches(self, stage: Stage) -> int:
        """How many messages came as far as this stage."""
        order = list(Stage)
        passed = order.index(stage)
        return sum(step.stage is None or order.index(step.stage) >= passed for step in self.steps)

    def stops(self, stage: Stage) -> list[Step]:
        """The messages that stop there."""
        return [step for step in self.steps if step.stage is stage]

    @property
    def delivered(self) -> list[str]:
        """Names of the messages that arrive."""
        return [step.name for step in self.steps if step.fate is Fate.DELIVERED]


def passage_of(run: Run, group: str) -> Passage:
    """The passage of one group of a run whose messages have all been judged.

    Raises:
        BadInput: a message of the group still waits, or was lost in another way than by a filter.
    """
    reading = RunView(run, group)
    starts = [step for step in run.scenario.steps if isinstance(step, Start) and step.group == group]
    kind = starts[0].subscribe[reading.topic].type
    steps = []
    for fate in reading.fates:
        if fate.fate is not Fate.DELIVERED and fate.fate not in STAGES:
            raise BadInput(f"message {fate.body!r} is {fate.fate.value} in group {group!r}: no filter has judged it")
        steps.append(Step(fate.body, fate.tag or "no tag", fate.fate))
    return Passage(group, kind, next(iter(reading.asked.values())), steps)
