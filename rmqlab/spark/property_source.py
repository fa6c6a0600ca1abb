"""Where a message's properties stand in a Spark row: in columns of their own, a map, or the commit log's text."""

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


def from_text(column: str | Column = "properties") -> PropertySource:
    """Read properties out of the text that the commit log has, by the rules of `string_to_properties`.

    An item that is not a name and a value is none, and of two with one name the later wins. Slow: every property is
    looked for in the whole text. Pivot first what is filtered more than once.
    """
    from pyspark.sql import functions as F  # noqa: N812

    text = F.col(column) if isinstance(column, str) else column

    def of(name: str) -> Column:
        item = rf"\A\Q{name}\E\x01[^\x01]+\x01*\z"
        items = F.filter(F.split(text, "\x02"), lambda one: one.rlike(item))
        return F.regexp_extract(F.try_element_at(items, F.lit(-1)), r"\A[^\x01]*\x01([^\x01]+)", 1)

    return of


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
