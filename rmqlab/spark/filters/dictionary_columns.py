"""A property column as distinct values and, row by row, which of them stands there; the last one is None: absent."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PRESENCE = "?"
"""Ends the name of a boolean column that tells where the property of that name is there."""


class DictionaryColumn(NamedTuple):
    """The distinct `values`, with None for an absent property behind them, and the place among them of each row."""

    values: list[Any]
    places: NDArray[np.integer[Any]]


def column_of(table: pa.Table, name: str) -> DictionaryColumn:
    """Read a property of a table whose columns are texts, dictionary-coded or plain. Without a column it is absent."""
    if name not in table.column_names:
        return DictionaryColumn([None], np.zeros(table.num_rows, np.int32))
    column = table[name]
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    array = column.unify_dictionaries().combine_chunks()
    values = array.dictionary.to_pylist()
    return DictionaryColumn([*values, None], array.indices.cast(pa.int32()).fill_null(len(values)).to_numpy())


def presence_of(table: pa.Table, name: str) -> DictionaryColumn:
    """Read only where a property is there: from the boolean column beside it, or from its own NULLs."""
    if name + PRESENCE in table.column_names:
        there = table[name + PRESENCE].fill_null(False).to_numpy()
    elif name in table.column_names:
        there = table[name].is_valid().to_numpy()
    else:
        there = np.zeros(table.num_rows, np.bool_)
    return DictionaryColumn(["", None], 1 - there.view(np.int8))
