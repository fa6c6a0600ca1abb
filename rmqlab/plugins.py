"""The one door to `rmqlab_tools`: what the front door and `Lab` have from there, by name; imported when it is used.

Nothing else of `rmqlab` names that package, so that rules, broker, clients and virtual time can be read and used alone.
"""

from __future__ import annotations

from importlib import import_module

# What `import rmqlab` offers of it.
FRONT_DOOR = {
    "archive": "spark.archive_store", "audit": "spark.audit_store", "broken": "course.mutants",
    "check": "course.check", "doctor": "doctor.doctor",
    "explain": "doctor.evidence.door", "explore": "verbs", "ExpressionWarning": "search.expressions.remarks",
    "guess": "course.progress", "lint": "verbs", "match": "spark.match_archive",
    "matrix": "spark.matrix.matrix", "mine": "course.mine", "need": "extras", "plan": "verbs",
    "progress": "course.progress", "quiz": "course.quiz", "read_store": "spark", "replay": "verbs",
    "reproduce": "verbs", "rules_between": "show.rule_differences", "serve": "live.serve", "show": "show",
    "simulate": "verbs", "spark": "spark", "sql92": "verbs", "sweep": "spark.sweeps.runner", "tags": "verbs",
    "trials": "course.trials",
}  # fmt: skip
# What a `Lab` and a simulation ask for, and the command line.
WITHIN = {
    "doubts": "search.expressions.remarks", "Exploration": "search.explorer.exploration",
    "Explorer": "search.explorer.explore", "fate_grid": "show.fate_grid", "fate_counts": "show.run_tables",
    "fate_table": "show.run_tables",
    "FileIndexService": "live.index_file", "Film": "show.film.film", "film": "show.film.film", "Link": "show.link",
    "load_ipython_extension": "magics", "looks_like_sql92": "search.expressions.examine",
    "NETWORK_TIMING": "search.explorer.timings", "NetworkChooser": "search.explorer.timings",
    "Picture": "show.figure",
    "read_runs": "recordings.recording_reader", "readers": "show.readers",
    "recorded_ids": "recordings.recording_reader",
    "refused": "search.expressions.scenario_doubts",
    "ribbons": "show.ribbons", "slot_timeline": "show.slot_timeline", "swimlane": "show.swimlane",
    "Table": "show.tables", "waiting_line": "show.waiting_lines",
    "way_table": "show.way", "warn": "search.expressions.remarks", "start": "cli.cli",
    "write_store": "recordings.store",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a plug-in: a function, a class, or the room of that name; `plugins.pyi` has the types."""
    place = FRONT_DOOR.get(name) or WITHIN.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"rmqlab_tools.{place}")
    globals()[name] = plugin = module if name == place else getattr(module, name)
    return plugin
