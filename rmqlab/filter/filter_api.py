"""Subscription text to `SubscriptionData`, with every oddity of 4.8.0 `FilterAPI` (row F-06)."""

from __future__ import annotations

from typing import ClassVar, Final

from rmqlab.errors import BadInput
from rmqlab.message.java import split, string_hash, trim
from rmqlab.protocol.subscription_data import SUB_ALL, TAG, SubscriptionData

SEPARATOR: Final = "||"


class SubscriptionSplitError(BadInput):
    """The tag expression consists of separators only, such as `||`."""

    java_name: ClassVar[str] = "Exception"


class EmptyExpressionError(BadInput):
    """A type other than TAG came without an expression."""

    java_name: ClassVar[str] = "IllegalArgumentException"


def split_tags(sub_string: str) -> list[str]:
    """Split a tag expression into trimmed, non-blank tags, in the order written, duplicates kept.

    Raises `SubscriptionSplitError` when nothing but separators is there. An expression of blanks between
    separators (`" || "`) is no error and gives no tag.
    """
    # Java's split drops empty strings at the end, so separators alone leave no part at all.
    parts = split(sub_string, SEPARATOR)
    if not parts:
        raise SubscriptionSplitError("subString split error")
    return [tag for tag in map(trim, parts) if tag]


def build_subscription_data(
    consumer_group: str | None,  # noqa: ARG001 - 4.8.0 takes the group and never looks at it
    topic: str | None,
    sub_string: str | None,
    now: int = 0,
) -> SubscriptionData:
    """Build a TAG subscription stamped `now` (epoch ms), as 4.8.0 `FilterAPI.buildSubscriptionData`.

    Null, empty and `*` mean everything and leave both sets empty. `" || "` leaves both sets empty too while its text
    is not `*`: the broker then matches nothing. Raises `SubscriptionSplitError`.
    """
    if sub_string is None or sub_string in ("", SUB_ALL):
        return SubscriptionData(topic, SUB_ALL, sub_version=now)
    tags = split_tags(sub_string)
    return SubscriptionData(
        topic,
        sub_string,
        tags_set=set(tags),
        code_set={string_hash(tag) for tag in tags},
        sub_version=now,
    )


def build(topic: str | None, sub_string: str | None, expression_type: str | None, now: int = 0) -> SubscriptionData:
    """Build a subscription of any type, as 4.8.0 `FilterAPI.build`: only a null type and `TAG` are taken for tags.

    Raises `SubscriptionSplitError` (tags) and `EmptyExpressionError` (other types need an expression). An unknown
    type is no error here: the broker refuses it later.
    """
    if expression_type is None or expression_type == TAG:
        return build_subscription_data(None, topic, sub_string, now)
    if not sub_string:
        raise EmptyExpressionError(f"Expression can't be null! {expression_type}")
    return SubscriptionData(topic, sub_string, sub_version=now, expression_type=expression_type)
