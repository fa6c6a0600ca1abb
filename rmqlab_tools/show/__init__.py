"""Pictures, tables and controls: general forms that take rows or a run, and hold no rule and no experiment.

`rmqlab.show.bars(rows, x="way", value="lost", title="Messages lost")` draws; `help(rmqlab.show.bars)` says more.
Each form is imported when it is first used. Pictures need nothing but `drawsvg`, `controls` needs ipywidgets.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab_tools.show.bits import bit_array as bit_array
    from rmqlab_tools.show.bits import queue_entry as queue_entry
    from rmqlab_tools.show.charts import bars as bars
    from rmqlab_tools.show.clock_lanes import clock_lane as clock_lane
    from rmqlab_tools.show.clock_lanes import frame_flow as frame_flow
    from rmqlab_tools.show.expression_trees import expression_tree as expression_tree
    from rmqlab_tools.show.figure import stacked as stacked
    from rmqlab_tools.show.funnels import funnel as funnel
    from rmqlab_tools.show.funnels import tag_checks as tag_checks
    from rmqlab_tools.show.heat_maps import heat_map as heat_map
    from rmqlab_tools.show.line_charts import lines as lines
    from rmqlab_tools.show.races import race_odds as race_odds
    from rmqlab_tools.show.ribbons import allotment_grid as allotment_grid
    from rmqlab_tools.show.stacks import stacked_bars as stacked_bars
    from rmqlab_tools.show.tables import table as table
    from rmqlab_tools.show.widgets import controls as controls
    from rmqlab_tools.show.widgets import live as live

# Where each form is. (A form must not have the name of a module of this folder.)
PICTURE_FORMS = {
    "allotment_grid": "ribbons", "bars": "charts", "bit_array": "bits", "clock_lane": "clock_lanes",
    "controls": "widgets", "expression_tree": "expression_trees", "frame_flow": "clock_lanes", "funnel": "funnels",
    "heat_map": "heat_maps", "lines": "line_charts", "live": "widgets", "queue_entry": "bits",
    "race_odds": "races", "stacked": "figure",
    "stacked_bars": "stacks", "table": "tables", "tag_checks": "funnels",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a form when it is asked for."""
    if name in PICTURE_FORMS:
        return getattr(import_module(f"rmqlab_tools.show.{PICTURE_FORMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The forms."""
    return sorted(PICTURE_FORMS)
