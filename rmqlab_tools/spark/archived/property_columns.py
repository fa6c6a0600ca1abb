"""Properties of messages as columns: one for each name, and one map of what has no column of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from rmqlab_tools.spark.filters.sql92_dictionary import PRESENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

REST: Final = "#properties"
"""The column of a map: properties beyond `MOST` names, and those whose name is one of a column of ours."""
MOST: Final = 256
"""Names of a file that get columns, the frequent ones: no broker limits how many names there are."""
OURS: Final = "#"
"""Our own columns begin so. SQL92 can ask for no property of such a name."""
OWN_COLUMNS: Final = ("queueId", "queueOffset", "storeTimestamp", "physicalOffset")
"""Columns of the record that a file has beside the properties, there with a `#` before the name."""


def property_columns(maps: pa.MapArray, most: int = MOST) -> dict[str, pa.Array]:
    """Columns by name from the maps of some messages; NULL where a message has no such property.

    >>> maps = pa.array([[("TAGS", "a")], [], [("TAGS", "b"), ("k", "1")]], pa.map_(pa.string(), pa.string()))
    >>> {name: column.to_pylist() for name, column in property_columns(maps).items()}
    {'TAGS': ['a', None, 'b'], 'k': [None, None, '1']}
    """
    count = len(maps)
    offsets = np.asarray(maps.offsets)
    rows = np.repeat(np.arange(count), np.diff(offsets))
    begin, end = (int(offsets[0]), int(offsets[-1])) if count else (0, 0)
    keys, items = maps.keys.slice(begin, end - begin), maps.items.slice(begin, end - begin)
    encoded = keys.dictionary_encode()
    names, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
    by_name = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[by_name], np.arange(len(names) + 1))
    places_of = {name: by_name[bounds[code] : bounds[code + 1]] for code, name in enumerate(names)}
    named = _columns_of(Counter({name: len(places) for name, places in places_of.items()}), most)
    columns = {}
    for name in named:
        places = places_of[name]
        of_row = np.full(count, -1, np.int64)
        of_row[rows[places]] = places
        columns[name] = items.take(pa.array(of_row, mask=of_row < 0))
    if len(named) < len(names):
        kept = np.ones(len(rows), np.bool_)
        for name in named:
            kept[places_of[name]] = False
        left = np.flatnonzero(kept)
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows[left], minlength=count))]).astype(np.int32)
        columns[REST] = pa.MapArray.from_arrays(pa.array(ends), keys.take(pa.array(left)), items.take(pa.array(left)))
    return columns


def _columns_of(counts: Counter[str], most: int) -> list[str]:
    """The names that get columns: the most frequent ones, in the order of names."""
    able = [name for name in counts if not name.startswith(OURS) and not name.endswith(PRESENCE)]
    able.sort(key=lambda name: (-counts[name], name))
    return sorted(able[:most])


def with_rest(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """The table with a column for each of `names` that only the map has; without that map as it is."""
    if REST not in table.column_names:
        return table
    rest = [dict(items or ()) for items in table[REST].to_pylist()]
    added = table.drop_columns([REST])
    for name in names:
        if name not in added.column_names:
            added = added.append_column(name, pa.array([properties.get(name) for properties in rest], pa.string()))
    return added
