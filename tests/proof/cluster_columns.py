"""`wants` and `matching` on a standalone cluster of two workers, row by row beside the evaluator in one process.

The messages are those that two readers might read differently (`tests.proof.agree.adversarial`). Three frames have
them: a store's records with their properties as a map, an archive's Parquet files with a column for each property, and
`matching(everything=True)`. Some of the conditions Spark decides by itself, others its Python workers do.

    .venv/bin/python -m tests.proof.cluster_columns
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rmqlab
from rmqlab.filter.filter import match_in_two_layers
from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.message.properties import properties_to_string, string_to_properties
from rmqlab.protocol.subscription_data import SQL92, TAG, build_subscription
from tests.proof.agree.adversarial import EXPRESSIONS, rows
from tests.proof.cluster_run import quick, run_python, workers_used
from tests.proof.log_maker import LogMaker
from tests.proof.spark_servers import StandaloneCluster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

MESSAGES: Final = 20_000
TASKS: Final = 8
SUBSCRIPTIONS: Final = (("TagA || TagB", TAG), ("*", TAG), *((expression, SQL92) for expression in EXPRESSIONS))


def main() -> int:
    """Make the messages, ask a cluster, compare; 1 if a row differs or a worker had nothing to do."""
    messages = [string_to_properties(properties_to_string(string_to_properties(text))) for text in rows(MESSAGES)]
    with tempfile.TemporaryDirectory(prefix="rmqlab-columns-") as folder:
        log = LogMaker(1 << 20)
        for number, properties in enumerate(messages):
            log.add("T", queue=number % 4, properties=properties, stored=number)
        store, archive, answers = log.write(Path(folder) / "store"), Path(folder) / "archive", Path(folder) / "answers"
        rmqlab.archive(store, archive)
        with StandaloneCluster(2) as cluster:
            run_python(
                ["-m", "tests.proof.cluster_columns", cluster.address, str(store), str(archive), str(answers)],
                cluster.address, {"PYSPARK_SUBMIT_ARGS": quick(cluster.address)},
            )  # fmt: skip
            used = workers_used(cluster)
        there: dict[str, list[list[int]]] = json.loads(answers.read_text(encoding="utf-8"))
    here = [
        [offset for offset, properties in zip(log.offsets, messages, strict=True) if _gets(properties, *subscription)]
        for subscription in SUBSCRIPTIONS
    ]
    differing = 0
    for frame, of_frame in there.items():
        wrong = sum(
            len({*expected} ^ {*given}) + len(given) - len({*given})
            for expected, given in zip(here, of_frame, strict=True)
        )
        differing += wrong
        sys.stdout.write(f"{frame}: {sum(map(len, of_frame)):,} rows wanted, {wrong} other than in one process\n")
    sys.stdout.write(
        f"{len(messages):,} messages, {len(SUBSCRIPTIONS)} subscriptions, {len(used)} workers used: "
        f"{sum(map(len, here)):,} wanted\n"
    )
    return 0 if not differing and len(used) == 2 else 1


def _gets(properties: Mapping[str, str], expression: str, kind: str) -> bool:
    if kind == SQL92:
        return bool(compile_sql92(expression).matches(properties))
    return match_in_two_layers(build_subscription("", expression, TAG), properties.get("TAGS")).delivered


def _asked(address: str, store: str, archive: str, answers: str) -> None:
    """In the process of a driver: write the offsets that each subscription gets, by frame."""
    from pyspark.sql import functions as F  # noqa: N812

    from rmqlab_tools.spark import matching, read_store, wants
    from rmqlab_tools.spark.session import open_session

    def own(name: str) -> Column:
        return F.col(f"`{name}`")

    def offsets(frame: DataFrame, offset: str, flags: list[Column]) -> list[list[int]]:
        chosen = [F.when(flag, F.col(offset)) for flag in flags]
        table = frame.repartition(TASKS).select(*(place.alias(str(i)) for i, place in enumerate(chosen))).toArrow()
        return [column.drop_null().to_pylist() for column in table.columns]

    session = open_session(address)
    records = read_store(session, store, columns=["physicalOffset", "tags", "properties"])
    files = session.read.parquet(f"{archive}/topic=*")
    by_frame = {
        "wants on a store": offsets(
            records, "physicalOffset", [wants(expression, kind) for expression, kind in SUBSCRIPTIONS]
        ),
        "wants on Parquet": offsets(
            files, "`#physicalOffset`",
            [wants(expression, kind, tags="TAGS", properties=own) for expression, kind in SUBSCRIPTIONS],
        ),
        "matching": [
            offsets(
                matching(session, archive, expression, kind, columns=["physicalOffset"], everything=True),
                "physicalOffset", [F.col("wanted")],
            )[0]
            for expression, kind in SUBSCRIPTIONS
        ],
    }  # fmt: skip
    Path(answers).write_text(json.dumps(by_frame), encoding="utf-8")
    session.stop()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _asked(*sys.argv[1:])
    else:
        os.environ.pop("RMQLAB_SPARK", None)
        sys.exit(main())
