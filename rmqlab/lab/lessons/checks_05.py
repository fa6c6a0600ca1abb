"""The checks of notebook 05: counts before a run, a situation the switch halves and one it doubles, four teams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.lab.bloom.profile import DISPATCH, PULL, counted_calls
from rmqlab.lab.bloom.stored_map import SIDES, stored_map
from rmqlab.lab.bloom.workload import Workload
from rmqlab.lab.lessons.check import CheckFailed

if TYPE_CHECKING:
    from rmqlab.lab.bloom.stored_map import Cell, Side

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


def count(answer: Any) -> str:
    """Evaluations in all, without the switch and with it, for `COUNTED`: {name: (without, with)}."""
    if not isinstance(answer, Mapping) or set(answer) != set(COUNTED):
        raise CheckFailed('Give {"nobody": (without, with), "everybody": (without, with)}.', WORK)
    for name, workload in COUNTED.items():
        said = answer[name]
        if not isinstance(said, (tuple, list)) or len(said) != len((False, True)):
            raise CheckFailed(f"{name}: give a pair of numbers, without the switch and with it.", WORK)
        found = counted_calls(workload)
        for switch, number in zip((False, True), said, strict=True):
            parts = {
                phase: round(found[phase, switch]["CompiledSql92.evaluate"] * workload.messages)
                for phase in (DISPATCH, PULL)
            }
            if number != sum(parts.values()):
                lines = [f"broker  {many} evaluations at {phase}" for phase, many in parts.items()]
                how = "with" if switch else "without"
                raise CheckFailed(f"{name}, {how} the switch: not {number} evaluations.", WORK, lines)
    return "All four counts are what the broker did."


def situations(answer: Any) -> str:
    """A cell that the switch halves and one that it doubles, by the real classes: {"halves": cell, "doubles": cell}."""
    form = 'Give {"halves": (share, groups, expression), "doubles": (share, groups, expression)}.'
    if not isinstance(answer, Mapping) or set(answer) != {"halves", "doubles"}:
        raise CheckFailed(form, PAYS)
    halves, doubles = _cell(answer["halves"], form), _cell(answer["doubles"], form)
    side = _side()
    if halves.ratio(side) > HALF:
        raise CheckFailed("The first situation is not halved.", PAYS, [_line(halves)])
    if doubles.ratio(side) < DOUBLE:
        raise CheckFailed("The second situation is not doubled.", PAYS, [_line(doubles)])
    return (
        f"The switch makes it {halves.ratio(side):.2f} times the cost in one, {doubles.ratio(side):.2f} in the other."
    )


def teams(answer: Any) -> str:
    """On or off for each team: {name: "on" or "off"}."""
    if not isinstance(answer, Mapping) or set(answer) != set(TEAMS) or not set(answer.values()) <= {"on", "off"}:
        raise CheckFailed(f'Give "on" or "off" for each of {", ".join(TEAMS)}.', PAYS)
    side = _side()
    for name, team in TEAMS.items():
        cell = stored_map().cell(team.selectivity, team.groups, team.expression)
        right = "on" if cell.ratio(side) < 1 else "off"
        if answer[name] != right:
            raise CheckFailed(f"{name} ({team.says}): not {answer[name]}.", PAYS, [_line(cell)])
    return "As the map has it for all of them."


def _side() -> Side:
    """The real classes where the map has them."""
    return stored_map().cells[0].sides[-1]


def _cell(answer: object, form: str) -> Cell:
    if not isinstance(answer, (tuple, list)) or len(answer) != len(("share", "groups", "expression")):
        raise CheckFailed(form, PAYS)
    try:
        return stored_map().cell(*answer)
    except BadInput as error:
        raise CheckFailed(str(error), "The map has what was measured, and nothing between.") from None


def _line(cell: Cell) -> str:
    side = _side()
    parts = ", ".join(f"{phase} {value:,.0f}" for phase, value in cell.parts(side).items())
    return (
        f"map  {cell.selectivity:.0%} match, {cell.groups} groups, {cell.expression}, by {SIDES[side]}: {parts} ns "
        f"with the switch, {cell.without(side):,.0f} ns without: {cell.ratio(side):.2f} times"
    )


CHECKS = {"05-count": count, "05-situations": situations, "05-teams": teams}
