"""Where a message's properties stand in a Spark row: a map, or one text column a property."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column

PropertySource = Callable[[str], "Column"]


class PropertyColumnsError(BadInput):
    """Two property columns that Spark, as it is set, cannot tell apart."""


def from_map(column: str | Column = "properties") -> PropertySource:
    """Read properties out of a `map<string,string>` column; a name that is not in it is an absent property."""
    from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

    properties = F.col(column) if isinstance(column, str) else column
    return lambda name: properties[name]


def from_columns(columns: Iterable[str], prefix: str = "", *, case_sensitive: bool = True) -> PropertySource:
    """Read each property out of a column of its own, named `prefix` and the property's exact name.

    `columns` are the names of a frame (`frame.columns`); a property without a column is absent from every message.
    `case_sensitive` says what the session does (`open_session` sets it). Raises `PropertyColumnsError` where it is off
    and two columns differ in case only: 4.8.0 keeps `a` and `A` apart (row F-07).
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = frozenset(columns)
    if not case_sensitive:
        same = [name for name, count in Counter(map(str.lower, names)).items() if count > 1]
        if same:
            raise PropertyColumnsError(
                f"columns that differ in case only: {', '.join(sorted(same))}; set spark.sql.caseSensitive to true"
            )

    def of(name: str) -> Column:
        column = f"{prefix}{name}"
        return F.col("`" + column.replace("`", "``") + "`") if column in names else F.lit(None).cast("string")

    return of
