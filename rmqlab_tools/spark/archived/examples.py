"""The first messages that a changed subscription loses and gains, with the properties that the two ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from rmqlab_tools.spark.archived.matching import filters_of, names_of
from rmqlab_tools.spark.archived.pivoted_files import PivotedFile
from rmqlab_tools.spark.archived.property_columns import OURS, OWN_COLUMNS
from rmqlab_tools.spark.filters.sql92_dictionary import PRESENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab_tools.spark.archived.matching import Part, Wanted

MOST: Final = 3
"""So many messages are shown of each kind."""


def examples_of(
    work: Sequence[Part], wanted: Wanted, changed: Wanted, counts: Mapping[str, Mapping[str, int]], most: int = MOST
) -> dict[str, list[dict[str, Any]]]:
    """By `lost` and `gained` the first few messages, in the order of the files.

    `counts`: by these two names how many there are by topic, so that nothing is read where there is none. A message
    has topic, broker, queueId, queueOffset, storeTimestamp (epoch ms), physicalOffset, and `properties`: those whose
    values the subscriptions ask for, without absent ones.
    """
    filters = filters_of(wanted, changed)
    names, presence = names_of(filters)
    missing = {kind: min(most, sum(of_topic.values())) for kind, of_topic in counts.items()}
    examples: dict[str, list[dict[str, Any]]] = {kind: [] for kind in counts}
    for part in work:
        kinds_here = [kind for kind, of_topic in counts.items() if of_topic.get(part.topic)]
        if not any(missing[kind] for kind in kinds_here):
            continue
        for table in PivotedFile(part.path, names, presence).read(
            part.part, part.parts, [OURS + name for name in OWN_COLUMNS]
        ):
            kinds = [kind for kind in kinds_here if missing[kind]]
            if not kinds:
                break
            before, after = (each.matches(table) for each in filters)
            inside = np.True_ if part.span is None else part.span.covers(table)
            for kind in kinds:
                flags = before & ~after if kind == "lost" else after & ~before
                places = np.flatnonzero(flags & inside)[: missing[kind]]
                missing[kind] -= len(places)
                rows = table.select([name for name in table.column_names if not name.endswith(PRESENCE)]).take(
                    pa.array(places)
                )
                examples[kind] += [_message(part, row, names) for row in rows.to_pylist()]
    return examples


def _message(part: Part, row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    own = {name: row[OURS + name] for name in OWN_COLUMNS}
    return {
        "topic": part.topic,
        "broker": part.broker,
        **own,
        "properties": {name: row[name] for name in names if row.get(name) is not None},
    }
