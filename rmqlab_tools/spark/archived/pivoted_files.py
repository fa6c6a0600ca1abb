"""Parquet files with one column a property: how rmqlab writes and reads them.

Decoding a message's property text costs several times as much as evaluating a filter on it, so it is done once. A
column with few distinct values is stored as a dictionary and codes; next to a column with many stands a boolean one,
named after it with `?` at the end (no property of a SQL92 filter can be called so), for filters that only ask whether
the property is there. An absent property is NULL.

Beside a dictionary stand its codes as numbers, too: `#code:NAME`, where the code after the last value is absence, and
the values in the file's metadata. Numbers without a NULL are read in a third of the time that texts with NULLs take.

A column `#properties` is a map of what has no column of its own (`property_columns`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from rmqlab_tools.spark.archived.property_columns import OURS, REST, with_rest
from rmqlab_tools.spark.files.addresses import filesystem_of, is_address
from rmqlab_tools.spark.filters.sql92_dictionary import PRESENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


ROW_GROUP: Final = 1 << 20
# A column with more distinct values than this share of its rows is stored as plain texts.
_DICTIONARY_SHARE: Final = 0.25
_SAMPLE: Final = 1 << 16
CODE: Final = OURS + "code:"
"""Begins the name of a column of codes."""
_VALUES: Final = "rmqlab.values:"
# Whoever opens a file reads its metadata whole.
_MOST_VALUES_BYTES: Final = 1 << 18


def write_pivoted(table: pa.Table, path: str, filesystem: pa.fs.FileSystem | None = None) -> None:
    """Write a table with a text column for each property (and any other columns) to one Parquet file."""
    columns: dict[str, pa.ChunkedArray] = {}
    dictionaries: list[str] = []
    metadata = dict(table.schema.metadata or {})
    for name in table.column_names:
        column = columns[name] = table[name]
        if not (pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)):
            continue
        sample = column.slice(0, _SAMPLE)
        if pc.count_distinct(sample).as_py() <= max(len(sample) * _DICTIONARY_SHARE, 1):
            dictionaries.append(name)
            codes, values = _codes_of(column)
            if len(values) <= _MOST_VALUES_BYTES and not name.startswith(OURS):
                columns[CODE + name] = codes
                dictionaries.append(CODE + name)
                metadata[f"{_VALUES}{name}".encode()] = values
        else:
            columns[name + PRESENCE] = column.is_valid()
    # Codes are packed to a few bits each, and hardly get smaller by compression.
    compression = {name: "NONE" if name in dictionaries else "LZ4" for name in columns}
    fields = [
        pa.field(name, column.type, nullable=name in table.column_names and column.null_count > 0)
        for name, column in columns.items()
    ]
    pq.write_table(
        pa.table([*columns.values()], schema=pa.schema(fields, metadata)), path, row_group_size=ROW_GROUP,
        use_dictionary=dictionaries, compression=compression, filesystem=filesystem,
    )  # fmt: skip


def _codes_of(column: pa.ChunkedArray) -> tuple[pa.Array, bytes]:
    """The place of each row's value among the distinct ones, absence being after the last; these as JSON."""
    texts = column if not pa.types.is_dictionary(column.type) else column.cast(column.type.value_type)
    encoded = texts.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return encoded.indices.fill_null(len(values)), json.dumps(values).encode()


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
        filesystem, inside = filesystem_of(path) if is_address(path) else (None, path)
        metadata = pq.read_metadata(inside, memory_map=filesystem is None, filesystem=filesystem)
        self.metadata: dict[bytes, bytes] | None = metadata.metadata
        names = frozenset(metadata.schema.to_arrow_schema().names)
        self.columns = [name for name in values if name in names]
        self._coded = {
            name: json.loads(self.metadata[f"{_VALUES}{name}".encode()])
            for name in (*values, *presence)
            if CODE + name in names and self.metadata
        }
        self._file = pq.ParquetFile(
            inside,
            metadata=metadata,
            read_dictionary=[name for name in self.columns if name not in self._coded],
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
        own = [CODE + name if name in self._coded else name for name in self.columns]
        wanted = [*own, *(name for name in extra if name not in own), *([REST] * bool(self._in_map))]
        first = 0
        for group in range(self.row_groups):
            rows = self._file.metadata.row_group(group).num_rows
            if group % parts == part and wanted:
                table = self._file.read_row_group(group, columns=wanted, use_threads=False)
                yield first, with_rest(self._decoded(table), self._in_map)
            elif group % parts == part:
                yield first, pa.table({"": pa.nulls(rows)})
            first += rows

    def _decoded(self, table: pa.Table) -> pa.Table:
        """Put columns of texts in the places of those of codes."""
        for name, values in self._coded.items():
            place = table.column_names.index(CODE + name)
            codes = table.column(place).combine_chunks()
            if codes.null_count or np.any(codes.to_numpy().view(np.uint32) > len(values)):
                raise pa.ArrowInvalid(f"{CODE}{name}: a code without a value")
            texts = pa.DictionaryArray.from_arrays(codes, pa.array([*values, None], pa.string()), safe=False)
            table = table.set_column(place, name, texts)
        return table
