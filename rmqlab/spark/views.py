"""Views of events in Spark SQL: the filter funnel, the ledger of losses, rebalances, heartbeats; one file each in sql/.

`views(spark, folder)` makes the tables of `rmqlab.spark.events` and the views known to a session, local, on a cluster
or over Connect; then `spark.sql("SELECT * FROM losses")`.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.spark.events import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEWS: Final = ("funnel", "losses", "rebalances", "heartbeats")


def view_sql(name: str) -> str:
    """The text of a view.

    Raises:
        BadInput: there is no such view.
    """
    if name not in VIEWS:
        raise BadInput(f"view {name!r} is not known; there are {', '.join(VIEWS)}")
    return files("rmqlab.spark").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def views(spark: SparkSession, folder: str | Path) -> dict[str, DataFrame]:
    """Register the tables in `folder` and the views as temporary views; return the views by name.

    Raises:
        BadInput: a table is not there; the text says how the folder is made.
    """
    folder = Path(folder)
    for name in TABLES:
        path = folder / f"{name}.parquet"
        if not path.is_file():
            raise BadInput(f"{path} is not there; rmqlab events SOURCE --out {folder} makes it")
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
    found = {}
    for name in VIEWS:
        frame = spark.sql(view_sql(name))
        frame.createOrReplaceTempView(name)
        found[name] = frame
    return found
