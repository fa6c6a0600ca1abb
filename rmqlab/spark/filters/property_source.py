"""Where a message's properties stand in a Spark row: in columns of their own, a map, or the commit log's text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.spark.filters.pivoted_files import PRESENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column  # noqa: TC004 - the module loads without PySpark, annotations are texts


class PropertySource(NamedTuple):
    """How to get at a property by its name: its `text` (NULL: absent), and whether it is `present` (never NULL)."""

    text: Callable[[str], Column]
    present: Callable[[str], Column]

    @classmethod
    def of(cls, text: Callable[[str], Column]) -> PropertySource:
        """Make a source in which presence is told by the text alone."""
        return cls(text, lambda name: text(name).isNotNull())


class PropertyColumnsError(BadInput):
    """Two property columns that Spark, as it is set, cannot tell apart."""


def from_map(column: str | Column = "properties") -> PropertySource:
    """Read properties out of a `map<string,string>` column; a name that is not in it is an absent property."""
    from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

    properties = F.col(column) if isinstance(column, str) else column
    return PropertySource.of(lambda name: properties[name])


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

    return PropertySource.of(of)


def from_columns(columns: Iterable[str], prefix: str = "", *, case_sensitive: bool = True) -> PropertySource:
    """Read each property out of a column of its own, named `prefix` and the property's exact name.

    `columns` are the names of a frame (`frame.columns`); a property without a column is absent from every message.
    Where a boolean column stands beside it, as `write_pivoted` puts it there, presence is told by that one.
    `case_sensitive` says what the session does (`open_session` sets it). Raises `PropertyColumnsError` where it is off
    and two columns differ in case only: 4.8.0 keeps `a` and `A` apart (row F-07).
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = frozenset(columns)
    if not case_sensitive:
        folded = Counter(map(str.lower, names))
        same = [name for name in names if folded[name.lower()] > 1]
        if same:
            raise PropertyColumnsError(
                f"columns that differ in case only: {', '.join(sorted(same))}; set spark.sql.caseSensitive to true"
            )

    def quoted(column: str) -> Column:
        return F.col("`" + column.replace("`", "``") + "`")

    def text(name: str) -> Column:
        return quoted(prefix + name) if prefix + name in names else F.lit(None).cast("string")

    def present(name: str) -> Column:
        beside = prefix + name + PRESENCE
        return quoted(beside) if beside in names else text(name).isNotNull()

    return PropertySource(text, present)
