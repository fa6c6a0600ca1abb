"""A table of typed records: a sequence in Python, HTML in a notebook, a frame for pandas or Spark when asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints, overload

from rmqlab.errors import BadInput
from rmqlab.lab.records import columns_of

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

    from rmqlab.show.tables import Table

R = TypeVar("R", bound=tuple[Any, ...])
MAX_SHOWN = 100
_SPARK = {str: "string", int: "bigint", float: "double", bool: "boolean"}


class Records(Sequence[R]):
    """Records of one type, in order; ``caption`` says what one is. Index, slice, loop, or filter them with ``where``.

    >>> from rmqlab.lab.records import OffsetRecord
    >>> asked = [OffsetRecord(0, "G", "T", 0, 2, 2), OffsetRecord(0, "G", "T", 1, None, 3)]
    >>> rows = Records("Offsets", OffsetRecord, asked)
    >>> [row.max for row in rows.where(queue=1)]
    [3]
    """

    def __init__(self, caption: str, record: type[R], rows: Sequence[R]) -> None:
        self.caption = caption
        self.record = record
        self.columns = columns_of(record)
        self._rows = list(rows)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Records[R]: ...
    def __getitem__(self, index: int | slice) -> R | Records[R]:
        if isinstance(index, slice):
            return Records(self.caption, self.record, self._rows[index])
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def where(self, keep: Callable[[R], bool] | None = None, **values: object) -> Records[R]:
        """The records for which ``keep`` is true and whose attributes have these values.

        Raises:
            BadInput: a record has no such attribute.
        """
        known = self.record.__annotations__
        for name in values:
            if name not in known:
                raise BadInput(f"{self.caption}: a record has no {name!r}; it has {', '.join(known)}")
        rows = [
            row
            for row in self._rows
            if (keep is None or keep(row)) and all(getattr(row, name) == value for name, value in values.items())
        ]
        return Records(self.caption, self.record, rows)

    def frame(self) -> pd.DataFrame:
        """The records as a pandas frame, a column for each of ``columns``.

        Raises:
            BadInput: pandas is not installed; the text says how to get it.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise BadInput("frame() needs pandas: pip install 'rmqlab[spark]'") from error
        return pd.DataFrame(self._rows, columns=list(self.columns))

    def spark(self, session: SparkSession) -> DataFrame:
        """The records as a Spark frame of ``session``, a column for each of ``columns``."""
        hints = get_type_hints(self.record)
        kinds = [next(text for kind, text in _SPARK.items() if hint in (kind, kind | None)) for hint in hints.values()]
        schema = ", ".join(f"`{column}` {kind}" for column, kind in zip(self.columns, kinds, strict=True))
        plain = [kind is float for kind in (hint for hint in hints.values())]
        rows = [tuple(float(v) if real else v for v, real in zip(row, plain, strict=True)) for row in self._rows]
        return session.createDataFrame(rows, schema)

    def _table(self) -> Table:
        from rmqlab.show.tables import Table

        more = len(self._rows) - MAX_SHOWN
        caption = f"{self.caption}: {len(self._rows)}" + (f", of which the first {MAX_SHOWN}" if more > 0 else "")
        lost = [n for n, row in enumerate(self._rows[:MAX_SHOWN]) if getattr(row, "lost", False)]
        return Table(caption, self.columns, self._rows[:MAX_SHOWN], marked=frozenset(lost))

    def __repr__(self) -> str:
        """Plain text in columns; a lost message is marked."""
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()
