"""A property column as distinct values and one index a row, and rows of bits (the lowest bit is the first row)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Bits = NDArray[np.uint8]

_BITS = 8
PRESENCE = "?"
"""Ends the name of a boolean column that tells where the property of that name is there."""


class DictionaryColumn:
    """The distinct `values` of a column and, row by row, which of them stands there.

    `indices`: one for each row, None where there is at most one value. `valid`: bits of the rows that have a value,
    None where all have one.
    """

    __slots__ = ("indices", "valid", "values")

    def __init__(self, values: Sequence[Any], indices: NDArray[np.int32] | None, valid: Bits | None) -> None:
        self.values = values
        self.indices = indices
        self.valid = valid

    def choose(self, chosen: NDArray[np.bool_], rows: int) -> Bits:
        """Give the rows whose value is chosen; `chosen` has one entry for each value and a last one for absence."""
        of_values, absent = chosen[:-1], bool(chosen[-1])
        if not len(of_values):
            return all_bits(rows, value=absent)
        if of_values.all() or not of_values.any():
            present = all_bits(rows, value=bool(of_values[0]))
        elif self.indices is None:
            raise ValueError("several values and no index")
        else:
            present = pack(np.take(of_values, self.indices, mode="clip"))
        if self.valid is None:
            return present
        return (present & self.valid) | (all_bits(rows, value=True) & ~self.valid) if absent else present & self.valid

    def with_absent_last(self) -> NDArray[np.int64]:
        """Give the index of each row as a wide number, that of an absent value behind the last one."""
        if self.indices is None:
            raise ValueError("a column read for its presence has no index")
        indices = self.indices.astype(np.int64)
        if self.valid is not None:
            indices[~unpack(self.valid, len(indices))] = len(self.values)
        return indices


def column_of(table: pa.Table, name: str) -> DictionaryColumn:
    """Read a property of a table whose columns are texts, dictionary-coded or plain. Without a column it is absent."""
    rows = table.num_rows
    if name not in table.column_names or not rows:
        return DictionaryColumn([], np.zeros(rows, np.int32), all_bits(rows, value=False))
    column = table[name]
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if column.num_chunks != 1:
        column = column.unify_dictionaries().combine_chunks()
    array = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    indices = array.indices
    if indices.type != pa.int32():
        indices = indices.cast(pa.int32())
    buffer = indices.buffers()[1]
    numbers = np.frombuffer(buffer, np.int32)[indices.offset : indices.offset + rows]
    return DictionaryColumn(array.dictionary.to_pylist(), numbers, _validity(array))


def presence_of(table: pa.Table, name: str) -> DictionaryColumn:
    """Read only where a property is there: from the boolean column beside it, or from its own NULLs."""
    rows = table.num_rows
    if name + PRESENCE in table.column_names:
        there = table[name + PRESENCE].combine_chunks()
        there = there.chunk(0) if isinstance(there, pa.ChunkedArray) else there
        return DictionaryColumn([""], None, _boolean_bits(there))
    if name not in table.column_names:
        return DictionaryColumn([], None, all_bits(rows, value=False))
    column = table[name]
    if not column.null_count:
        return DictionaryColumn([""], None, None)
    return DictionaryColumn([""], None, pack(np.concatenate([np.asarray(chunk.is_valid()) for chunk in column.chunks])))


def all_bits(rows: int, *, value: bool) -> Bits:
    """Make bits that are all the same; those behind the last row are 0."""
    bits = np.full((rows + _BITS - 1) // _BITS, 0xFF if value else 0, np.uint8)
    if value and rows % _BITS:
        bits[-1] = (1 << rows % _BITS) - 1
    return bits


def pack(flags: NDArray[np.bool_]) -> Bits:
    """Turn one flag a row into bits."""
    return np.packbits(flags, bitorder="little")


def unpack(bits: Bits, rows: int) -> NDArray[np.bool_]:
    """Turn bits into one flag a row."""
    return np.unpackbits(bits, count=rows, bitorder="little").view(np.bool_)


def _validity(array: pa.Array) -> Bits | None:
    """Give the validity bits of an array, as Arrow keeps them where they begin at a byte."""
    if not array.null_count:
        return None
    rows = len(array)
    buffer = array.buffers()[0]
    if array.offset % _BITS or buffer is None:
        return pack(np.asarray(array.is_valid()))
    first = array.offset // _BITS
    return np.frombuffer(buffer, np.uint8)[first : first + (rows + _BITS - 1) // _BITS] & all_bits(rows, value=True)


def _boolean_bits(array: pa.Array) -> Bits:
    rows = len(array)
    if array.offset % _BITS or array.null_count:
        return pack(np.asarray(array.fill_null(False)))
    buffer = array.buffers()[1]
    first = array.offset // _BITS
    return np.frombuffer(buffer, np.uint8)[first : first + (rows + _BITS - 1) // _BITS] & all_bits(rows, value=True)
