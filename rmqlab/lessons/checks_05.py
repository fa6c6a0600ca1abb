"""The checks of notebook 05: counts before a run, a situation the switch halves and one it doubles, four teams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.lab.bloom.map import SIDES, stored_map
from rmqlab.lab.bloom.stages import DISPATCH, PULL, counted_calls
from rmqlab.lab.bloom.workload import Workload
from rmqlab.lessons.check import CheckFailed

if TYPE_CHECKING:
    from rmqlab.lab.bloom.map import ProfileCell, Side
    from rmqlab.lab.interval import Interval

COUNTED: Final = {
    "nobody": Workload(messages=100, groups=8, selectivity=0.0),
    "everybody": Workload(messages=100, groups=8, selectivity=1.0),
}
WORK: Final = (
    "With the switch every group's expression is evaluated at dispatch, and again on pull for what passes (F-82)."
)
PAYS: Final = "The switch pays where layer 1 rejects much, and for many groups: writing is paid once for all of them."
HALF, DOUBLE = 0.5, 2.0


class Team(NamedTuple):
    """A team that asks: what it says, and the cell of the map it lies in."""

    says: str
    selectivity: float
    groups: int
    expression: str


TEAMS: Final = {
    "orders": Team("32 groups, each wants 5 % of the messages by 128 tags", 0.05, 32, "128 tags"),
    "audit": Team("one group that wants every message", 1.0, 1, "128 tags"),
    "regions": Team("64 groups, each wants 5 % by 128 tags and six conditions", 0.05, 64, "128 tags and 6 conditions"),
    "mirror": Team("2 groups, each wants three quarters of the messages by 8 tags", 0.75, 2, "8 tags"),
}
HINTS = {
    "count": "Count by hand: when is an expression evaluated, and for which groups?",
    "situations": "What does the switch cost for each message, and what does it save? Who pays, and who saves?",
    "teams": "For each team: how much does layer 1 reject, and how many groups share the cost?",
}


def count(answer: Any) -> str:
    """Evaluations in all, without the switch and with it, for `COUNTED`: {name: (without, with)}."""
    if not isinstance(answer, Mapping) or set(answer) != set(COUNTED):
        raise CheckFailed('Give {"nobody": (without, with), "everybody": (without, with)}.', rule=WORK)
    for name, workload in COUNTED.items():
        said = answer[name]
        if not isinstance(said, (tuple, list)) or len(said) != len((False, True)):
            raise CheckFailed(
                HINTS["count"], problem=f"{name}: give a pair of numbers, without the switch and with it.", rule=WORK
            )
        found = counted_calls(workload)
        for switch, number in zip((False, True), said, strict=True):
            parts = {
                phase: round(found[phase, switch]["CompiledSql92.evaluate"] * workload.messages)
                for phase in (DISPATCH, PULL)
            }
            if number != sum(parts.values()):
                how = "with" if switch else "without"
                raise CheckFailed(
                    HINTS["count"],
                    problem=f"{name}, {how} the switch: not {number} evaluations.",
                    rule=WORK,
                    lines=_half(),
                )
    return "All four counts are what the broker did."


def _half() -> list[str]:
    """What is evaluated in another case: 10 messages, one group, which wants half of them."""
    workload = Workload(messages=10, groups=1, selectivity=0.5)
    return [
        f"broker  10 messages, 1 group that wants half of them, {'with' if switch else 'without'} the switch: "
        f"{round(counts['CompiledSql92.evaluate'] * workload.messages)} evaluations at {phase}"
        for (phase, switch), counts in counted_calls(workload).items()
    ]


def situations(answer: Any) -> str:
    """A cell that the switch halves and one that it doubles, by every process of the real classes.

    Given as {"halves": (share, groups, expression), "doubles": (share, groups, expression)}.
    """
    form = 'Give {"halves": (share, groups, expression), "doubles": (share, groups, expression)}.'
    if not isinstance(answer, Mapping) or set(answer) != {"halves", "doubles"}:
        raise CheckFailed(form, rule=PAYS)
    halves, doubles = _cell(answer["halves"], form), _cell(answer["doubles"], form)
    if _ratio(halves).high > HALF:
        raise CheckFailed(
            HINTS["situations"],
            problem="The first situation is not halved in every process.",
            rule=PAYS,
            lines=[_line(halves)],
        )
    if _ratio(doubles).low < DOUBLE:
        raise CheckFailed(
            HINTS["situations"],
            problem="The second situation is not doubled in every process.",
            rule=PAYS,
            lines=[_line(doubles)],
        )
    return f"The switch makes it {_ratio(halves)} times the cost in one, {_ratio(doubles)} in the other."


def teams(answer: Any) -> str:
    """On or off for each team: {name: "on" or "off"}."""
    if not isinstance(answer, Mapping) or set(answer) != set(TEAMS) or not set(answer.values()) <= {"on", "off"}:
        raise CheckFailed(f'Give "on" or "off" for each of {", ".join(TEAMS)}.', rule=PAYS)
    for name, team in TEAMS.items():
        cell = stored_map().cell(team.selectivity, team.groups, team.expression)
        if not (_ratio(cell).below(1) if answer[name] == "on" else _ratio(cell).above(1)):
            raise CheckFailed(HINTS["teams"], problem="Not all four are right.", rule=PAYS)
    return "As every process of the map has it, for all of them."


def _side() -> Side:
    """The real classes where the map has them."""
    return stored_map().sides[-1]


def _ratio(cell: ProfileCell) -> Interval:
    return cell.interval(_side())


def _cell(answer: object, form: str) -> ProfileCell:
    if not isinstance(answer, (tuple, list)) or len(answer) != len(("share", "groups", "expression")):
        raise CheckFailed(form, rule=PAYS)
    try:
        return stored_map().cell(*answer)
    except BadInput as error:
        raise CheckFailed(str(error), rule="The map has what was measured, and nothing between.") from None


def _line(cell: ProfileCell) -> str:
    one, middle = cell.workload, cell.middle(_side())
    return (
        f"map  {one.selectivity:.0%} match, {one.groups} groups, {one.expression}, by {SIDES[_side()]}: "
        f"{middle.with_switch():,.0f} ns with the switch, {middle.layer_2:,.0f} ns without: {_ratio(cell)} times"
    )


CHECKS = {"05-count": count, "05-situations": situations, "05-teams": teams}
