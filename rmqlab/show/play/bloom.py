"""The control of notebook 05: one cell of the stored map, its cost by stage, and its place on the map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.bloom.map import stored_map
from rmqlab.show.bloom.cost import bloom_cost
from rmqlab.show.bloom.map import bloom_map
from rmqlab.show.explore import ChoiceControl, Mode, explore
from rmqlab.show.stack import stacked

if TYPE_CHECKING:
    from rmqlab.show.figure import Picture


def play_bloom(*, mode: Mode = "live", selectivity: float = 1.0, groups: int = 1, expression: str = "128 tags") -> None:
    """Any cell of the map; it begins with the article's case. Raises `BadInput` for a cell that was not measured."""
    found = stored_map()
    found.cell(selectivity, groups, expression)
    shares = {f"{share:.0%}": share for share in sorted(found.axis("selectivity"))}
    explore(
        _draw,
        mode=mode,
        selectivity=ChoiceControl("Share matching", shares, start=f"{selectivity:.0%}", slider=True),
        groups=ChoiceControl(
            "Groups", {str(many): many for many in found.axis("groups")}, start=str(groups), slider=True
        ),
        expression=ChoiceControl("Expression", {one: one for one in found.axis("expression")}, start=expression),
    )


def _draw(*, selectivity: float, groups: int, expression: str) -> Picture:
    found = stored_map()
    cell = found.cell(selectivity, groups, expression)
    cost = bloom_cost(cell)
    return stacked(cost.title, cost, bloom_map(found, expression, here=cell))
