"""Pictures, tables and controls: general forms that take rows or a run, and hold no rule and no experiment.

`rmqlab.show.bars(rows, x="way", value="lost", title="Messages lost")` draws; `help(rmqlab.show.bars)` says more.
Each form is imported when it is first used. Pictures need nothing but `drawsvg`, `controls` needs ipywidgets.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.show.bits import bit_array, queue_entry
    from rmqlab.show.charts import bars, heat_map
    from rmqlab.show.clock_lanes import clock_lane
    from rmqlab.show.expression_trees import expression_tree, truth_table
    from rmqlab.show.figure import stacked
    from rmqlab.show.flows import frame_flow
    from rmqlab.show.funnels import funnel, tag_checks
    from rmqlab.show.line_charts import lines
    from rmqlab.show.plans import plan_bars, plan_lanes
    from rmqlab.show.ribbons import allotment_grid
    from rmqlab.show.tables import table
    from rmqlab.show.widgets import controls, live

__all__ = [
    "allotment_grid",
    "bars",
    "bit_array",
    "clock_lane",
    "controls",
    "expression_tree",
    "frame_flow",
    "funnel",
    "heat_map",
    "lines",
    "live",
    "plan_bars",
    "plan_lanes",
    "queue_entry",
    "stacked",
    "table",
    "tag_checks",
    "truth_table",
]

# Where each form is. (A form must not have the name of a module of this folder.)
FORMS = {
    "allotment_grid": "rmqlab.show.ribbons",
    "bars": "rmqlab.show.charts",
    "bit_array": "rmqlab.show.bits",
    "clock_lane": "rmqlab.show.clock_lanes",
    "controls": "rmqlab.show.widgets",
    "expression_tree": "rmqlab.show.expression_trees",
    "frame_flow": "rmqlab.show.flows",
    "funnel": "rmqlab.show.funnels",
    "heat_map": "rmqlab.show.charts",
    "lines": "rmqlab.show.line_charts",
    "live": "rmqlab.show.widgets",
    "plan_bars": "rmqlab.show.plans",
    "plan_lanes": "rmqlab.show.plans",
    "queue_entry": "rmqlab.show.bits",
    "stacked": "rmqlab.show.figure",
    "table": "rmqlab.show.tables",
    "tag_checks": "rmqlab.show.funnels",
    "truth_table": "rmqlab.show.expression_trees",
}


def __getattr__(name: str) -> object:
    """Import a form when it is asked for."""
    if name in FORMS:
        return getattr(import_module(FORMS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The forms."""
    return sorted(FORMS)
