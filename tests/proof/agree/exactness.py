"""One question, several answers: the same filter on the same messages by every way there is, compared row by row.

The evaluator is held against the dictionary path, the Spark columns (on pivoted columns, on a map, on the commit log's
text) and, where the jars are at hand, the real filter of 4.8.0.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqlab.filter.sql92.compiler import CompiledSql92, compile_sql92
from rmqlab.message.java import to_utf8
from rmqlab.message.properties import string_to_properties
from rmqlab.spark.filters.sql92_columns import code_of, matches, outcome_code, property_names
from rmqlab.spark.filters.sql92_dictionary import DictionaryFilter
from rmqlab.spark.filters.sql92_leaves import OUTCOMES, TRUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

    from tests.proof.real.filter import RealFilter

    Codes = NDArray[np.uint8]

BATCH: Final = 250_000
_COLUMNS_AT_ONCE: Final = 8
_SHOWN: Final = 3


@dataclass(slots=True)
class Agreement:
    """How one expression fared: rows, how often each value came, and for each way the rows in which it differs."""

    expression: str
    rows: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, way: str, expected: Codes, got: Codes, texts: Sequence[str]) -> None:
        """Count the rows where one way differs from the evaluator."""
        wrong = np.flatnonzero(expected != got)
        self.differing[way] += len(wrong)
        for place in wrong[: max(0, _SHOWN - len(self.examples))].tolist():
            want, told = (OUTCOMES[codes[place]] if codes[place] < len(OUTCOMES) else "?" for codes in (expected, got))
            self.examples.append(f"{way}: {told} where the evaluator says {want}, for {texts[place]!a}")

    def as_json(self) -> dict[str, object]:
        """Everything, for programs."""
        return {
            "rows": self.rows, "outcomes": dict(self.outcomes), "differing": dict(self.differing),
            "examples": self.examples,
        }  # fmt: skip


def compare(
    texts: Iterable[str],
    expressions: Sequence[str],
    session: SparkSession | None = None,
    real: RealFilter | None = None,
    batch: int = BATCH,
) -> Iterator[list[Agreement]]:
    """Compare every way on every row; after each batch give the state of all expressions.

    `texts` are property texts as the commit log has them, without lone surrogates. Without a session or the real
    filter these ways are left out. Raises `MQFilterException`.
    """
    compiled = [compile_sql92(expression) for expression in expressions]
    dictionary = [DictionaryFilter(one) for one in compiled]
    agreements = [Agreement(expression) for expression in expressions]
    names = list(dict.fromkeys(name for one in compiled for name in property_names(one.root)))
    waiting = iter(texts)
    while part := list(islice(waiting, batch)):
        table, properties = _table(part, names)
        expected = [_evaluated(one, properties) for one in compiled]
        ways: list[tuple[str, Sequence[Codes]]] = [("dictionary", [one.outcomes(table) for one in dictionary])]
        if real is not None:
            real.load([to_utf8(text) for text in part])
            ways.append(("jar", [np.frombuffer(real.outcomes(one.text), np.uint8) for one in compiled]))
        if session is not None:
            ways += _on_spark(session, table, compiled, expected, names)
        for agreement, codes in zip(agreements, expected, strict=True):
            agreement.rows += len(part)
            counted = np.bincount(codes, minlength=len(OUTCOMES)).tolist()
            agreement.outcomes.update(dict(zip(OUTCOMES, counted, strict=True)))
        for way, answers in ways:
            for agreement, codes, got in zip(agreements, expected, answers, strict=True):
                agreement.add(way, codes, got, part)
        yield agreements


def _table(texts: Sequence[str], names: Sequence[str]) -> tuple[pa.Table, list[dict[str, str]]]:
    """Put messages into one table: a number, the text, the map, and a column for each property."""
    properties = [string_to_properties(text) for text in texts]
    columns = {
        "#": pa.array(range(len(texts)), pa.int64()),
        "#text": pa.array(texts, pa.string()),
        "#map": pa.array([list(one.items()) for one in properties], pa.map_(pa.string(), pa.string())),
    }
    columns |= {name: pa.array([one.get(name) for one in properties], pa.string()) for name in names}
    return pa.table(columns), properties


def _evaluated(compiled: CompiledSql92, properties: Sequence[dict[str, str]]) -> Codes:
    return np.fromiter((code_of(compiled, one) for one in properties), np.uint8, len(properties))


def _on_spark(
    session: SparkSession,
    table: pa.Table,
    compiled: Sequence[CompiledSql92],
    expected: Sequence[Codes],
    names: Sequence[str],
) -> Iterator[tuple[str, Sequence[Codes]]]:
    """Answer by Spark columns; `where` is what a filter keeps, told as the evaluator's code where that agrees.

    `text` is the answer on properties that Spark read out of the commit log's text: it is the one on pivoted columns,
    unless other properties were read.
    """
    from rmqlab.spark.filters.property_source import from_columns, from_map

    frame = session.createDataFrame(table)
    sources = {"columns": from_columns(table.column_names), "map": from_map("#map")}
    answers = {
        way: _collect(frame, {str(i): outcome_code(one, source) for i, one in enumerate(compiled)})
        for way, source in sources.items()
    }
    yield from answers.items()
    misread = _misread(frame, table, names)
    yield "text", [np.where(misread, len(OUTCOMES), codes).astype(np.uint8) for codes in answers["columns"]]
    kept = _collect(frame, {str(i): matches(one, sources["columns"]).cast("int") for i, one in enumerate(compiled)})
    yield (
        "where",
        [
            np.where((codes == TRUE) == (passed == TRUE), codes, len(OUTCOMES)).astype(np.uint8)
            for codes, passed in zip(expected, kept, strict=True)
        ],
    )


def _misread(frame: DataFrame, table: pa.Table, names: Sequence[str]) -> NDArray[np.bool_]:
    """Find the rows where Spark reads a property out of the text other than `string_to_properties` does."""
    from pyspark.sql import functions as F  # noqa: N812

    from rmqlab.spark.filters.property_source import from_text

    source = from_text("#text")
    read = frame.select(F.col("#"), *(source.text(name).alias(name) for name in names)).toArrow().sort_by("#")
    wrong = np.zeros(table.num_rows, np.bool_)
    for name in names:
        here, there = table[name].combine_chunks(), read[name].combine_chunks()
        same = pc.if_else(pc.is_null(here), pc.is_null(there), pc.fill_null(pc.equal(here, there), fill_value=False))
        wrong |= ~np.asarray(same)
    return wrong


def _collect(frame: DataFrame, columns: Mapping[str, Column]) -> list[Codes]:
    """Collect int columns in the order of the rows, a few at a time: one enormous plan takes Spark much longer."""
    from pyspark.sql import functions as F  # noqa: N812

    names = list(columns)
    collected: list[Codes] = []
    for start in range(0, len(names), _COLUMNS_AT_ONCE):
        some = names[start : start + _COLUMNS_AT_ONCE]
        chosen = [columns[name].cast("tinyint").alias(name) for name in some]
        got = frame.select(F.col("#"), *chosen).toArrow().sort_by("#")
        collected += [got[name].to_numpy().astype(np.uint8) for name in some]
    return collected
