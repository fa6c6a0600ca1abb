"""What one consumer group wants from one topic: the plain data a heartbeat carries, and how it is made from text.

Source: `SubscriptionData`; and `FilterAPI`, with every oddity of 4.8.0 (row F-06). Workers of Spark import this module
from the package's archive, so it needs no other package.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from rmqlab.errors import BadInput
from rmqlab.message.java import Long, split, string_hash, text_of, trim, utf16_key

SUB_ALL = "*"
TAG: Final = "TAG"
TAG_TYPES: Final = (None, "", TAG)
"""The expression types that mean tag filtering (`ExpressionType.isTagType`)."""
SQL92: Final = "SQL92"


@dataclass(slots=True)
class SubscriptionData:
    """A subscription of one (group, topic).

    `tags_set` and `code_set` are empty for `*` and for SQL92; `code_set` holds signed 32-bit `String.hashCode`s of the
    tags. `sub_version` is the epoch ms at which the client (re)stamped the subscription; the higher one wins in
    the broker's table. `filter_class_source` never leaves the process (4.8.0 does not serialise it).

    Equality takes every serialised field in, `sub_version` too (`SubscriptionData.equals`); the hash leaves
    `sub_version` out; ordering is that of the text `topic@subString` by UTF-16 code units
    (`SubscriptionData.compareTo`).
    """

    topic: str | None = None
    sub_string: str | None = None
    class_filter_mode: bool = False
    tags_set: set[str] = field(default_factory=set)
    code_set: set[int] = field(default_factory=set)
    sub_version: Long = 0
    expression_type: str | None = "TAG"
    filter_class_source: str | None = field(default=None, compare=False, metadata={"serialize": False})

    @property
    def is_tag(self) -> bool:
        """Whether it filters by tags: null, empty and `TAG` mean that, nothing else (case counts; row F-39)."""
        return self.expression_type in TAG_TYPES

    def is_tied_with(self, other: SubscriptionData) -> bool:
        """Whether two differ in the same version: the broker keeps the one that it reads first (row S-77)."""
        return self.sub_version == other.sub_version and self != other

    def __hash__(self) -> int:
        """Hash without `sub_version`, as Java: a re-stamped subscription stays in its bucket."""
        return hash(
            (
                self.topic,
                self.sub_string,
                self.class_filter_mode,
                frozenset(self.tags_set),
                frozenset(self.code_set),
                self.expression_type,
            )
        )

    def __lt__(self, other: SubscriptionData) -> bool:
        """Order by `topic@subString`, UTF-16 code unit by code unit (`SubscriptionData.compareTo`)."""
        return _order_key(self) < _order_key(other)

    def copy(self) -> SubscriptionData:
        """An equal subscription that shares no set with this one."""
        return replace(self, tags_set=set(self.tags_set), code_set=set(self.code_set))


def _order_key(subscription: SubscriptionData) -> bytes:
    return utf16_key(f"{text_of(subscription.topic)}@{text_of(subscription.sub_string)}")


SEPARATOR: Final = "||"


class SubscriptionSplitError(BadInput):
    """The tag expression consists of separators only, such as `||`."""

    java_name: ClassVar[str] = "Exception"


class EmptyExpressionError(BadInput):
    """A type other than TAG came without an expression."""

    java_name: ClassVar[str] = "IllegalArgumentException"


def split_tags(sub_string: str) -> list[str]:
    """Split a tag expression into trimmed, non-blank tags, in the order written, duplicates kept.

    An expression of blanks between separators (`" || "`) is no error and gives no tag.

    Raises:
        SubscriptionSplitError: when nothing but separators is there.
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

    Null, empty and `*` mean everything and leave both sets empty. `" || "` leaves both sets empty too while its text is
    not `*`: the broker then matches nothing.

    Raises:
        SubscriptionSplitError: nothing but separators is there.
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


def build_subscription(
    topic: str | None, sub_string: str | None, expression_type: str | None, now: int = 0
) -> SubscriptionData:
    """Build a subscription of any type, as 4.8.0 `FilterAPI.build`: only a null type and `TAG` are taken for tags.

    An unknown type is no error here: the broker refuses it later.

    Raises:
        SubscriptionSplitError: (tags).
        EmptyExpressionError: (other types need an expression).
    """
    if expression_type is None or expression_type == TAG:
        return build_subscription_data(None, topic, sub_string, now)
    if not sub_string:
        raise EmptyExpressionError(f"Expression can't be null! {expression_type}")
    return SubscriptionData(topic, sub_string, sub_version=now, expression_type=expression_type)
