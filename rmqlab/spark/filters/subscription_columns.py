"""A subscription as a column of Spark: which messages of a frame a consumer with it gets, by the core's own rules.

TAG is decided by Spark, as `Filter` decides it message by message (rows F-50 to F-58, F-95). SQL92 is
decided in Spark's Python workers by `DictionaryFilter`, that is by the core's evaluator, once for each distinct value:
Spark hands over the properties that the condition names, and of those that it only asks for presence just that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.errors import BadInput
from rmqlab.filter import filter_api
from rmqlab.protocol.subscription_data import SQL92, SUB_ALL, TAG
from rmqlab.rules import DEFAULT_VERSION
from rmqlab.spark.filters.dictionary_columns import PRESENCE
from rmqlab.spark.filters.sql92_dictionary import DictionaryFilter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.protocol.subscription_data import SubscriptionData

    Properties = str | Callable[[str], Column]

_LOW_32: Final = 0xFFFFFFFF


def wants(expression: str, kind: str = TAG, *, tags: str = "tags", properties: Properties = "properties") -> Column:
    """Tell for each message of a frame whether a consumer with this subscription gets it, as `rmqlab.spark.wants`."""
    if kind == SQL92:
        return _sql92(expression, properties, "boolean")
    data = filter_api.build("", expression, kind)
    if not data.is_tag:
        raise BadInput(f"type {kind!r} is neither {TAG} nor {SQL92}")
    if data.tags_set:
        return client_keeps(data, F.col(tags))  # the code of a tag that is named is always in the code set
    return F.lit(data.sub_string == SUB_ALL)


def outcome_code(expression: str, properties: Properties = "properties", version: Version = DEFAULT_VERSION) -> Column:
    """Give the value of a SQL92 condition for each message: 0 false, 1 true, 2 null, 3 an error.

    Raises:
        MQFilterException: the broker refuses this condition.
    """
    return _sql92(expression, properties, "tinyint", version)


def broker_keeps(subscription: SubscriptionData, code: Column) -> Column:
    """Step one on a `bigint` column of tags codes: the low 32 bits are looked up; NULL (unreadable) passes."""
    if subscription.class_filter_mode or subscription.sub_string == SUB_ALL:
        return F.lit(True)
    low = code.bitwiseAND(F.lit(_LOW_32))
    return code.isNull() | low.isin(sorted(wanted & _LOW_32 for wanted in subscription.code_set))


def client_keeps(subscription: SubscriptionData, tag: Column) -> Column:
    """Step two on a text column of tags: the text itself, when tags were named."""
    if not subscription.tags_set or subscription.class_filter_mode:
        return F.lit(True)
    return F.coalesce(tag.isin(sorted(subscription.tags_set)), F.lit(False))


def _sql92(expression: str, properties: Properties, answer: str, version: Version = DEFAULT_VERSION) -> Column:
    wanted = _compiled(expression, version)
    of = (lambda name: F.col(properties)[name]) if isinstance(properties, str) else properties
    names = [*wanted.value_names, *(name + PRESENCE for name in wanted.presence_names)]
    columns = [*map(of, wanted.value_names), *(of(name).isNotNull() for name in wanted.presence_names)]

    def decide(*values: pa.Array) -> pa.Array:
        ready, table = _compiled(expression, version), pa.table(dict(zip(names, values, strict=True)))
        return pa.array(ready.matches(table) if answer == "boolean" else ready.outcomes(table).astype(np.int8))

    if names:
        column: Column = F.arrow_udf(decide, answer)(*columns)  # type: ignore[attr-defined]  # PySpark's stubs lack it
        return column
    (same_for_all,) = wanted.outcomes(pa.table({"": pa.nulls(1)})).tolist()
    return F.lit(same_for_all == 1 if answer == "boolean" else same_for_all).cast(answer)


@lru_cache(maxsize=64)
def _compiled(expression: str, version: Version) -> DictionaryFilter:
    """A worker compiles a condition once, not for each batch."""
    return DictionaryFilter(expression, version)
