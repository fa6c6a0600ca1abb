"""Parquet files with one column a property: how rmqlab writes and reads them.

Decoding a message's property text costs several times as much as evaluating a filter on it, so it is done once. A
column with few distinct values is stored as a dictionary and codes; next to a column with many stands a boolean one,
named after it with `?` at the end (no property of a SQL92 filter can be called so), for filters that only ask whether
the property is there. An absent property is NULL.

A column `#properties` is a map of what has no column of its own (`property_columns`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from rmqlab_tools.spark.archived.property_columns import REST, with_rest
from rmqlab_tools.spark.filters.sql92_dictionary import PRESENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


ROW_GROUP: Final = 1 << 20
# A column with more distinct values than this share of its rows is stored as plain texts.
_DICTIONARY_SHARE: Final = 0.25
_SAMPLE: Final = 1 << 16


def write_pivoted(table: pa.Table, path: str, filesystem: pa.fs.FileSystem | None = None) -> None:
    """Write a table with a text column for each property (and any other columns) to one Parquet file."""
    columns: dict[str, pa.ChunkedArray] = {}
    dictionaries: list[str] = []
    for name in table.column_names:
        column = columns[name] = table[name]
        if not (pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)):
            continue
        sample = column.slice(0, _SAMPLE)
        if pc.count_distinct(sample).as_py() <= max(len(sample) * _DICTIONARY_SHARE, 1):
            dictionaries.append(name)
        else:
            columns[name + PRESENCE] = column.is_valid()
    # Codes are packed to a few bits each, and hardly get smaller by compression.
    compression = {name: "NONE" if name in dictionaries else "LZ4" for name in columns}
    pq.write_table(
        pa.table(columns, metadata=table.schema.metadata), path, row_group_size=ROW_GROUP,
        use_dictionary=dictionaries, compression=compression, filesystem=filesystem,
    )  # fmt: skip


class PivotedFile:
    """A pivoted Parquet file, opened for the properties that one filter asks for.

    `values`: those whose texts matter; `presence`: those asked for only by IS NULL and the like. A property without a
    column is absent from every message.
    """

    def __init__(self, path: str, values: Sequence[str], presence: Sequence[str] = ()) -> None:
        """Open the file. `path` may be a URI that Arrow knows.

        Raises:
            OSError: it cannot be opened; Arrow has errors of its own for what is no Parquet file.
        """
        filesystem, inside = pa.fs.FileSystem.from_uri(path) if "://" in path else (None, path)
        metadata = pq.read_metadata(inside, memory_map=filesystem is None, filesystem=filesystem)
        self.metadata: dict[bytes, bytes] | None = metadata.metadata
        names = frozenset(metadata.schema.to_arrow_schema().names)
        self.columns = [name for name in values if name in names]
        self._file = pq.ParquetFile(
            inside,
            metadata=metadata,
            read_dictionary=list(self.columns),
            memory_map=filesystem is None,
            filesystem=filesystem,
        )
        for name in presence:
            if name not in self.columns:
                self.columns += [column for column in (name + PRESENCE, name) if column in names][:1]
        # A property without a column of its own may be in the map.
        self._in_map = [name for name in (*values, *presence) if name not in names] if REST in names else []

    @property
    def row_groups(self) -> int:
        """Number of row groups."""
        return int(self._file.num_row_groups)

    def read(self, part: int = 0, parts: int = 1, extra: Sequence[str] = ()) -> Iterator[pa.Table]:
        """Read every `parts`-th row group, from the `part`-th on, with the columns `extra` as well."""
        for _, table in self.read_with_row(part, parts, extra):
            yield table

    def read_with_row(self, part: int = 0, parts: int = 1, extra: Sequence[str] = ()) -> Iterator[tuple[int, pa.Table]]:
        """Read as `read`; each table with the number of its first row in the file."""
        wanted = [*self.columns, *(name for name in extra if name not in self.columns), *([REST] * bool(self._in_map))]
        first = 0
        for group in range(self.row_groups):
            rows = self._file.metadata.row_group(group).num_rows
            if group % parts == part and wanted:
                table = self._file.read_row_group(group, columns=wanted, use_threads=False)
                yield first, with_rest(table, self._in_map)
            elif group % parts == part:
                yield first, pa.table({"": pa.nulls(rows)})
            first += rows
