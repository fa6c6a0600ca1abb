"""A subscription as a column of Spark: which messages of a frame a consumer with it gets, by the core's own rules.

TAG is decided by Spark, as `Filter` decides it message by message (rows F-50 to F-58, F-95). So is a SQL92 condition
whose answer hangs on classes of texts (`sql92_columns`). Any other is decided in Spark's Python workers by
`DictionaryFilter`, that is by the core's evaluator, once for each distinct value: Spark hands over the properties that
the condition names, and of those that it only asks for presence just that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.protocol.subscription_data import SQL92, SUB_ALL, TAG, build_subscription
from rmqlab_tools.spark.filters.sql92_columns import native
from rmqlab_tools.spark.filters.sql92_dictionary import PRESENCE, DictionaryFilter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.subscription_data import SubscriptionData

    Properties = str | Callable[[str], Column]


def wants(expression: str, kind: str = TAG, *, tags: str = "tags", properties: Properties = "properties") -> Column:
    """Whether a consumer with this subscription gets each message of a frame, as `rmqlab.spark.wants`."""
    if kind == SQL92:
        return _sql92(expression, properties)
    data = build_subscription("", expression, kind)
    if not data.is_tag:
        raise BadInput(_("type {kind} is neither {tag} nor {sql92}", kind=f"{kind!r}", tag=TAG, sql92=SQL92))
    if data.tags_set:
        return client_keeps(data, F.col(tags))  # the code of a tag that is named is always in the code set
    return F.lit(data.sub_string == SUB_ALL)


def client_keeps(subscription: SubscriptionData, tag: Column) -> Column:
    """Step two on a text column of tags: the text itself, when tags were named."""
    if not subscription.tags_set or subscription.class_filter_mode:
        return F.lit(True)
    return F.coalesce(tag.isin(sorted(subscription.tags_set)), F.lit(False))


def columns_of(wanted: DictionaryFilter, properties: Properties) -> dict[str, Column]:
    """The columns of the table that a condition is decided on, by their names there."""
    of = (lambda name: F.col(properties)[name]) if isinstance(properties, str) else properties
    there = {name + PRESENCE: of(name).isNotNull() for name in wanted.presence_names}
    return {name: of(name) for name in wanted.value_names} | there


def _sql92(expression: str, properties: Properties) -> Column:
    wanted = _compiled(expression)
    columns = columns_of(wanted, properties)
    by_spark = native(wanted, columns)
    if by_spark is not None:
        return F.coalesce(by_spark.true, F.lit(False))
    names = list(columns)

    def decide(*values: pa.Array) -> pa.Array:
        return pa.array(_compiled(expression).matches(pa.table(dict(zip(names, values, strict=True)))))

    if names:
        column: Column = F.arrow_udf(decide, "boolean")(*columns.values())  # type: ignore[attr-defined]  # PySpark's stubs lack it
        return column
    (same_for_all,) = wanted.matches(pa.table({"": pa.nulls(1)})).tolist()
    return F.lit(same_for_all)


@lru_cache(maxsize=64)
def _compiled(expression: str) -> DictionaryFilter:
    """A worker compiles a condition once, not for each batch."""
    return DictionaryFilter(expression)
