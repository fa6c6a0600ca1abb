"""Steps of a filter as Spark columns that a frame of messages is compared by: tags codes, and all values of SQL92."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.protocol.subscription_data import SUB_ALL
from rmqlab.rules import DEFAULT_VERSION
from rmqlab_tools.spark.filters.sql92_columns import native
from rmqlab_tools.spark.filters.sql92_dictionary import DictionaryFilter
from rmqlab_tools.spark.filters.subscription_columns import columns_of

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab_tools.spark.filters.subscription_columns import Properties

_LOW_32: Final = 0xFFFFFFFF


def broker_keeps(subscription: SubscriptionData, code: Column) -> Column:
    """Step one on a `bigint` column of tags codes: the low 32 bits are looked up; NULL (unreadable) passes."""
    if subscription.class_filter_mode or subscription.sub_string == SUB_ALL:
        return F.lit(True)
    low = code.bitwiseAND(F.lit(_LOW_32))
    return code.isNull() | low.isin(sorted(wanted & _LOW_32 for wanted in subscription.code_set))


def outcome_code(expression: str, properties: Properties = "properties", version: Version = DEFAULT_VERSION) -> Column:
    """Give the value of a SQL92 condition for each message: 0 false, 1 true, 2 null, 3 an error.

    Raises:
        MQFilterException: the broker refuses this condition.
    """
    wanted = DictionaryFilter(expression, version)
    columns = columns_of(wanted, properties)
    by_spark = native(wanted, columns)
    if by_spark is not None:
        return by_spark.code.cast("tinyint")
    names = list(columns)
    if not names:
        (same_for_all,) = wanted.outcomes(pa.table({"": pa.nulls(1)})).tolist()
        return F.lit(same_for_all).cast("tinyint")

    def decide(*values: pa.Array) -> pa.Array:
        table = pa.table(dict(zip(names, values, strict=True)))
        return pa.array(DictionaryFilter(expression, version).outcomes(table).astype(np.int8))

    column: Column = F.arrow_udf(decide, "tinyint")(*columns.values())  # type: ignore[attr-defined]  # PySpark's stubs lack it
    return column
