"""The same conditions as a user of DuckDB or Polars writes them, on the same files: quick, and not RocketMQ's answers.

A text that is no number becomes NULL (`try_cast`, `strict=False`). `docs/explanation/exact-answers.md` says where that
and RocketMQ's evaluator part.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from rmqlab_tools.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMED: Final = [f"TAG{number}" for number in range(1, 129)]
SQL: Final = {
    "e0": "TAGS IN ('TagA', 'TagB') AND try_cast(a AS INTEGER) BETWEEN 0 AND 3",
    "in128": f"TAGS IN ({', '.join(map(repr, _NAMED))})",
    "e2": (
        "(region = 'hz' OR NOT (try_cast(a AS INTEGER) < 5)) "
        "AND (try_cast(price AS DOUBLE) > 10.5 OR KEYS IS NULL) AND TAGS <> 'TagC'"
    ),
}
"""By the names of the benchmarks' conditions."""


@cache
def _polars() -> Any:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # it looks when it is imported
    import polars as pl

    return pl


def _polars_condition(name: str) -> Any:
    column, number = _polars().col, _polars().Int32
    a = column("a").cast(number, strict=False)
    return {
        "e0": column("TAGS").is_in(["TagA", "TagB"]) & a.is_between(0, 3),
        "in128": column("TAGS").is_in(_NAMED),
        "e2": ((column("region") == "hz") | ~(a < 5))
        & ((column("price").cast(_polars().Float64, strict=False) > 10.5) | column("KEYS").is_null())
        & (column("TAGS") != "TagC"),
    }[name]


def by_duckdb(paths: Sequence[str], name: str) -> tuple[int, int]:
    """How many messages the files have, and how many match, by one thread of DuckDB.

    Raises:
        BadInput: DuckDB is not installed.
    """
    require("bench")
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        # WHERE, and not FILTER: only so does DuckDB ask once for each value of a dictionary.
        query = "SELECT count(*) FROM read_parquet(?)"
        counts = [
            connection.execute(text, [list(paths)]).fetchall()[0][0] for text in (query, f"{query} WHERE {SQL[name]}")
        ]
    return counts[0], counts[1]


def by_polars(paths: Sequence[str], name: str) -> tuple[int, int]:
    """How many messages the files have, and how many match, by one thread of Polars.

    Raises:
        BadInput: Polars is not installed.
    """
    require("bench")
    polars = _polars()
    counts = polars.scan_parquet(list(paths)).select(polars.len(), _polars_condition(name).sum().alias("n")).collect()
    messages, matched = counts.row(0)
    return messages, matched
