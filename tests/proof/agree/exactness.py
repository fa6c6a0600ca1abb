"""One question, several answers: the same filter on the same messages by every way there is, compared row by row.

The evaluator is held against the dictionary path, the Spark columns (of properties in columns of their own and in a
map) and, where the jars are at hand, the real filter; both steps of TAG against their Spark columns.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from rmqlab.filter.filter import match_in_two_layers
from rmqlab.filter.sql92.compiler import CompiledSql92, compile_sql92
from rmqlab.filter.sql92.nodes import Property
from rmqlab.message.java import to_utf8
from rmqlab.message.properties import string_to_properties
from rmqlab.protocol.subscription_data import build_subscription_data
from rmqlab_tools.spark.filters.sql92_dictionary import OUTCOMES, TRUE_CODE, DictionaryFilter, code_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

    from tests.proof.real.filter import RealFilter

    Codes = NDArray[np.uint8]

BATCH: Final = 250_000
_COLUMNS_AT_ONCE: Final = 8
_SHOWN: Final = 3
_TAGS: Final = [("#", pa.int64()), ("tags", pa.string()), ("code", pa.int64())]


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
            want, got_word = (
                OUTCOMES[codes[place]] if codes[place] < len(OUTCOMES) else "?" for codes in (expected, got)
            )
            self.examples.append(f"{way}: {got_word} where the evaluator says {want}, for {texts[place]!a}")

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
    dictionary = [DictionaryFilter(condition) for condition in compiled]
    agreements = [Agreement(expression) for expression in expressions]
    names = sorted(
        {node.name for condition in compiled for node in condition.root.walk() if isinstance(node, Property)}
    )
    waiting = iter(texts)
    while part := list(islice(waiting, batch)):
        table, properties = _table(part, names)
        expected = [_evaluated(condition, properties) for condition in compiled]
        ways: list[tuple[str, Sequence[Codes]]] = [
            ("dictionary", [filtered.outcomes(table) for filtered in dictionary])
        ]
        if real is not None:
            real.load([to_utf8(text) for text in part])
            ways.append(("jar", [np.frombuffer(real.outcomes(condition.text), np.uint8) for condition in compiled]))
        if session is not None:
            ways += _on_spark(session, table, compiled, expected)
        for agreement, codes in zip(agreements, expected, strict=True):
            agreement.rows += len(part)
            counted = np.bincount(codes, minlength=len(OUTCOMES)).tolist()
            agreement.outcomes.update(dict(zip(OUTCOMES, counted, strict=True)))
        for way, answers in ways:
            for agreement, codes, got in zip(agreements, expected, answers, strict=True):
                agreement.add(way, codes, got, part)
        yield agreements


def _table(texts: Sequence[str], names: Sequence[str]) -> tuple[pa.Table, list[dict[str, str]]]:
    """Put messages into one table: a number, the map, and a column for each property."""
    properties = [string_to_properties(text) for text in texts]
    columns = {
        "#": pa.array(range(len(texts)), pa.int64()),
        "#map": pa.array([list(values.items()) for values in properties], pa.map_(pa.string(), pa.string())),
    }
    columns |= {name: pa.array([values.get(name) for values in properties], pa.string()) for name in names}
    return pa.table(columns), properties


def _evaluated(compiled: CompiledSql92, properties: Sequence[dict[str, str]]) -> Codes:
    return np.fromiter((code_of(compiled, values) for values in properties), np.uint8, len(properties))


def _on_spark(
    session: SparkSession, table: pa.Table, compiled: Sequence[CompiledSql92], expected: Sequence[Codes]
) -> Iterator[tuple[str, Sequence[Codes]]]:
    """Answer by Spark columns; `where` is what a filter keeps, told as the evaluator's code where that agrees."""
    from pyspark.sql import functions as F  # noqa: N812

    from rmqlab_tools.spark.filters.subscription_columns import wants
    from tests.proof.agree.spark_columns import outcome_code

    frame = session.createDataFrame(table)

    def own_column(name: str) -> Column:
        return F.col(f"`{name}`")

    for way, properties in (("columns", own_column), ("map", "#map")):
        yield (
            way,
            _collect(frame, {str(i): outcome_code(condition.text, properties) for i, condition in enumerate(compiled)}),
        )
    kept = _collect(
        frame,
        {str(i): wants(condition.text, "SQL92", properties="#map").cast("int") for i, condition in enumerate(compiled)},
    )
    yield (
        "where",
        [
            np.where((codes == TRUE_CODE) == (passed == TRUE_CODE), codes, len(OUTCOMES)).astype(np.uint8)
            for codes, passed in zip(expected, kept, strict=True)
        ],
    )


def compare_tags(texts: Iterable[str], subscriptions: Sequence[str], session: SparkSession) -> list[Agreement]:
    """Compare the Spark columns of TAG, `broker`, `client` and `where` (both steps), with the core's rules."""
    from pyspark.sql import functions as F  # noqa: N812

    from rmqlab_tools.spark.filters.subscription_columns import client_keeps, wants
    from tests.proof.agree.spark_columns import broker_keeps

    agreements = [Agreement(f"TAG {text}") for text in subscriptions]
    waiting = iter(texts)
    while part := list(islice(waiting, BATCH)):
        tags = [string_to_properties(text).get("TAGS") for text in part]
        for agreement, text in zip(agreements, subscriptions, strict=True):
            data = build_subscription_data("", "", text)
            steps = {tag: match_in_two_layers(data, tag) for tag in set(tags)}
            columns = {"#": range(len(tags)), "tags": tags, "code": [steps[tag].tags_code for tag in tags]}
            frame = session.createDataFrame(pa.table(columns, pa.schema(_TAGS)))
            answers = _collect(
                frame,
                {
                    "broker": broker_keeps(data, F.col("code")),
                    "client": client_keeps(data, F.col("tags")),
                    "where": wants(text),
                },
            )
            agreement.rows += len(part)
            agreement.outcomes.update(OUTCOMES[steps[tag].delivered] for tag in tags)
            for way, field_name, got in zip(
                ("broker", "client", "where"), ("broker", "client", "delivered"), answers, strict=True
            ):
                expected = np.array([getattr(steps[tag], field_name) for tag in tags], np.uint8)
                agreement.add(way, expected, got, part)
    return agreements


def _collect(frame: DataFrame, columns: Mapping[str, Column]) -> list[Codes]:
    """Collect int columns in the order of the rows, a few at a time: one enormous plan takes Spark much longer."""
    from pyspark.sql import functions as F  # noqa: N812

    names = list(columns)
    collected: list[Codes] = []
    for start in range(0, len(names), _COLUMNS_AT_ONCE):
        part = names[start : start + _COLUMNS_AT_ONCE]
        chosen = [columns[name].cast("tinyint").alias(name) for name in part]
        got = frame.select(F.col("#"), *chosen).toArrow().sort_by("#")
        collected += [got[name].to_numpy().astype(np.uint8) for name in part]
    return collected
