"""TAG subscriptions as Spark columns: the broker's step on hash codes, the client's step on texts, and both.

The same answers as `rmqlab.filter.tags`, row by row (rows F-50 to F-58, F-95).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.protocol.subscription_data import SUB_ALL

if TYPE_CHECKING:
    from rmqlab.protocol.subscription_data import SubscriptionData

_LOW_32 = 0xFFFFFFFF
_SIGN = 0x80000000


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


def delivered(subscription: SubscriptionData, tag: Column) -> Column:
    """Both steps on a text column of tags. Needs no hash: the code of a tag that is named is always in the code set."""
    if subscription.tags_set and not subscription.class_filter_mode:
        return client_keeps(subscription, tag)
    return F.lit(subscription.class_filter_mode or subscription.sub_string == SUB_ALL)


def tags_code(tag: Column) -> Column:
    """Compute the code the broker stores for a text column of tags: `String.hashCode`, 0 without a tag."""

    def add(code: Column, char: Column) -> Column:
        point = F.ascii(char).cast("bigint")
        beyond = point - F.lit(0x10000)
        high = F.lit(0xD800) + F.shiftright(beyond, 10)
        low = F.lit(0xDC00) + beyond.bitwiseAND(F.lit(0x3FF))
        pair = (code * 31 + high) * 31 + low
        return F.when(beyond < 0, code * 31 + point).otherwise(pair).bitwiseAND(F.lit(_LOW_32))

    chars = F.filter(F.split(tag, ""), lambda char: char != F.lit(""))
    unsigned = F.aggregate(chars, F.lit(0).cast("bigint"), add)
    return F.coalesce(unsigned.bitwiseXOR(F.lit(_SIGN)) - F.lit(_SIGN), F.lit(0).cast("bigint"))
