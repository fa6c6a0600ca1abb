"""The rules that every run obeys, as a table to choose from."""

from __future__ import annotations

from rmqlab.search.explorer.invariants import INVARIANTS
from rmqlab.show.tables import Table


def rules() -> Table:
    """Name, rule and row of every invariant."""
    rows = [(one.name, one.rule, one.row) for one in INVARIANTS.values()]
    return Table("Rules of broker and client", ("name", "rule", "row"), rows)
