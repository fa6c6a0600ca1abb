"""The data pipeline: filters as Spark columns, store files, sweeps and audits. Imports the core and the lab.

The room can be called: `spark = rmqlab.spark()` opens a session that reads `spark.read.format("rocketmq")`.

>>> import rmqlab
>>> rmqlab.spark().range(3).count()
3
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.rules import DEFAULT_VERSION
from rmqlab_tools.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from rmqlab_tools.spark.archive_store import Archive
    from rmqlab_tools.spark.files.broker_stores import Named
    from rmqlab_tools.spark.filters.subscription_columns import Properties


def read_store(
    session: SparkSession,
    path: Named,
    table: str = "commitlog",
    columns: Sequence[str] | None = None,
    **options: str | float | bool,
) -> DataFrame:
    """One table of the store directory `path` as a frame; `columns` of the commit log, None for all of them.

    `path` may be an address (s3://, hdfs://, gs://, abfs://), or stores of several brokers: a column `broker` comes
    first then, and a slave's copy is left out.

    >>> import rmqlab, tempfile
    >>> lab = rmqlab.Lab(topics={"T": 2})
    >>> sent = lab.send("T", ["tagA", "tagB", "tagA"])
    >>> folder = lab.write_store(tempfile.mkdtemp() + "/store")
    >>> read_store(rmqlab.spark(), folder).groupBy("tags").count().orderBy("tags").collect()
    [Row(tags='tagA', count=2), Row(tags='tagB', count=1)]

    Raises:
        BadInput: the packages of the extra `spark` are missing, or the path comes first.
    """
    if isinstance(session, str | Path):
        raise BadInput(
            _(
                "read_store({path}, ...): the session comes first; right is read_store(rmqlab.spark(), {path})",
                path=repr(str(session)),
            )
        )
    require("spark")
    from rmqlab_tools.spark.files.broker_stores import given_stores
    from rmqlab_tools.spark.files.store_tables import config_damage
    from rmqlab_tools.spark.store_source import SOURCE_FORMAT, register

    register(session)
    stores = given_stores(path)
    for store in stores:
        for says in config_damage(store.path, table):
            warnings.warn(says, stacklevel=2)
    reader = session.read.format(SOURCE_FORMAT).option("table", table)
    if columns is not None:
        reader = reader.option("columns", ",".join(columns))
    named = [store.text for store in stores]
    reader = reader.options(**options)
    return reader.load(named[0]) if len(named) == 1 else reader.load(named)


def wants(expression: str, kind: str = "TAG", *, tags: str = "tags", properties: Properties = "properties") -> Column:
    """Whether a consumer that subscribes to `expression` gets each message of a frame; never NULL.

    By the core's own rules: `kind` is TAG (both its steps) or SQL92. `tags` names the column of tags; `properties` a
    map column, or it finds the column of a property by its name. Both defaults are those of `read_store`::

        messages = rmqlab.read_store(rmqlab.spark(), "store")
        messages.where(rmqlab.spark.wants("TagA || TagB")).count()
        messages.where(rmqlab.spark.wants("price > 10.5 AND region = 'hz'", "SQL92")).show()

    Raises:
        BadInput: the packages of the extra `spark` are missing, or another kind.
        MQFilterException: the broker refuses this condition.
    """
    require("spark")
    from rmqlab_tools.spark.filters import subscription_columns

    return subscription_columns.wants(expression, kind, tags=tags, properties=properties)


def archive(store: Named, out: str | Path, *, session: SparkSession | None = None) -> Archive:
    """Keep the messages of a store as Parquet files, as `rmqlab.archive`.

    Raises:
        BadInput: as `rmqlab.archive` does.
    """
    from rmqlab_tools.spark import archive_store

    return archive_store.archive(store, out, session=session)


def matching(
    session: SparkSession,
    archive: str | Path,
    expression: str,
    kind: str = "TAG",
    *,
    columns: Sequence[str] | None = None,
    everything: bool = False,
    topics: Sequence[str] = (),
    since: int | None = None,
    until: int | None = None,
    version: str = DEFAULT_VERSION,
    stream: bool = False,
) -> DataFrame:
    """The messages of an archive that a subscription gets, as a frame; `rmqlab.match` counts them by queue and hour.

    `columns` are those of the frame: topic, queueId, queueOffset, storeTimestamp (epoch ms), physicalOffset (bytes; it
    leads to the record in the store's log), broker (where the store lay, if its name is not known), None for all. With
    `everything` it has every message, and a boolean column `wanted` beside these, as `wants` makes one, but decided for
    each distinct value once. `since` and `until` are store times, ends included. With `stream` it is a stream, which
    goes on with what later runs of `archive` add.

    Raises:
        BadInput: no archive, a topic that it does not have, no such column, another kind or version.
        MQFilterException: the broker refuses the condition.
    """
    require("spark")
    from rmqlab_tools.spark.archived.matching import Wanted
    from rmqlab_tools.spark.archived.rows import COLUMNS, Question, rows_of, stream_of

    question = Question(
        str(archive), Wanted(expression, kind, version), tuple(COLUMNS if columns is None else columns), everything,
        tuple(topics), since, until,
    ).checked()  # fmt: skip
    return (stream_of if stream else rows_of)(session, question)


def open_here(address: str | None = None) -> SparkSession:
    """Open the session that `rmqlab.spark()` gives."""
    require("spark")
    from rmqlab_tools.spark.session import open_session, say_what_is_waited_for
    from rmqlab_tools.spark.store_source import register

    say_what_is_waited_for(address)
    session = open_session(address, quick=True)
    register(session)
    return session


class Room(ModuleType):
    """A package that is a verb as well: `rmqlab.spark` names both."""

    def __call__(self, address: str | None = None) -> SparkSession:
        """Open a session: at `address`, else where RMQLAB_SPARK says, else on this machine (`local[*]`).

        A notebook and a terminal show what is waited for. On this machine it is one JVM that starts quickly; a job
        for big stores makes a session of its own, and `rmqlab.read_store` teaches that to read stores.

        Raises:
            BadInput: packages or Java are missing, or nothing answers at the address; the text says what to do.
        """
        return open_here(address)


sys.modules[__name__].__class__ = Room
