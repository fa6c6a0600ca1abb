"""What one subscription does to messages: at the broker, at the client, and in the mind of its author."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, Self

from rmqlab.filter.sql92.compiler import ParseCache
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.language import _, joined
from rmqlab.message.java import string_hash
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SQL92, build_subscription
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.events import Stage
    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules

# One cache serves the whole process, as in Java; results do not depend on it.
PARSE_CACHE: Final = ParseCache()


class CompiledExpression(Protocol):
    """An expression ready to be evaluated on a message's properties."""

    def evaluate(self, properties: Mapping[str, str] | None, /) -> object:
        """The value: of SQL92 a bool, or None for unknown. Raises what the evaluation raises."""
        ...


class UnknownExpressionTypeError(ExpressionRefused):
    """An expression type without a compiler: Java finds no filter for it and runs into a NullPointerException."""

    java_message = (
        'Cannot invoke "org.apache.rocketmq.filter.FilterSpi.compile(String)" because the return value of '
        '"org.apache.rocketmq.filter.FilterFactory.get(String)" is null'
    )


EXPRESSION_TYPES: Final[dict[str, Callable[[str | None], CompiledExpression]]] = {SQL92: PARSE_CACHE.compile}
"""What compiles the expressions of each type but TAG (`FilterFactory`, `FilterSpi`); another type is one more entry."""


def compile_expression(
    expression_type: str | None, expression: str | None, sql92: Version = DEFAULT_RULES.sql92
) -> CompiledExpression:
    """Compile an expression of a type other than TAG; `sql92` is the version whose words a condition has.

    Raises:
        UnknownExpressionTypeError: no filter has this name.
        ExpressionRefused: the SQL92 compiler refuses the expression.
    """
    compiler = None if expression_type is None else EXPRESSION_TYPES.get(expression_type)
    if compiler is None:
        known = joined(", ", EXPRESSION_TYPES)
        raise UnknownExpressionTypeError(
            _(
                "expression type {expression_type}: no filter of this name; right is {known}",
                expression_type=f"{expression_type!r}",
                known=known,
            )
        )
    return PARSE_CACHE.compile(expression, sql92) if compiler == PARSE_CACHE.compile else compiler(expression)


def is_true(condition: CompiledExpression | None, properties: Mapping[str, str] | None, rules: Rules) -> bool:
    """Layer 2: whether a condition lets these properties pass; what cannot be judged does not (row F-65)."""
    if condition is None:
        return False
    try:
        value = condition.evaluate(properties)
    except Exception:  # noqa: BLE001 - whatever goes wrong in layer 2, the message is dropped
        return False
    return rules.is_matched_by_commit_log(value)


class Filter:
    """A subscription, ready to be asked about messages; everything is decided by `rules`.

    An expression that the broker refuses lets nothing pass (`FILTER_DATA_NOT_EXIST`, row F-65).
    """

    __slots__ = ("_condition", "_is_compiled", "by_tag", "rules", "subscription")

    def __init__(
        self, subscription: SubscriptionData, rules: Rules = DEFAULT_RULES, condition: CompiledExpression | None = None
    ) -> None:
        """Without a `condition` the subscription's expression is compiled when it is first needed."""
        self.subscription = subscription
        self.rules = rules
        self.by_tag = subscription.is_tag
        self._condition = condition
        self._is_compiled = condition is not None

    @classmethod
    def of(
        cls, topic: str | None, expression: str | None, expression_type: str | None, rules: Rules = DEFAULT_RULES
    ) -> Self:
        """The filter of a subscription's text; raises what `build` raises."""
        return cls(build_subscription(topic, expression, expression_type), rules)

    @classmethod
    def heard(cls, subscription: SubscriptionData) -> Self:
        """The filter of a subscription from a heartbeat: the sets of codes and tags do not always travel."""
        if not subscription.is_tag:
            return cls(subscription)
        return cls.of(subscription.topic, subscription.sub_string, None)

    @property
    def condition(self) -> CompiledExpression | None:
        """The compiled expression; None for tags, for a class filter and for what the broker refuses."""
        if not self._is_compiled:
            self._is_compiled = True
            if not self.by_tag and not self.subscription.class_filter_mode:
                try:
                    self._condition = compile_expression(
                        self.subscription.expression_type, self.subscription.sub_string, self.rules.sql92
                    )
                except ExpressionRefused:
                    self._condition = None
        return self._condition

    def passes_layer_1(self, tags_code: int | None, bits: bool | None) -> bool:
        """Whether the queue's entry lets a message pass. `bits`: whether its bits are set; None: not known."""
        if self.subscription.class_filter_mode:
            return True
        if self.by_tag:
            return self.rules.is_matched_by_consume_queue(self.subscription, tags_code)
        return bits is not False

    def passes_layer_2(self, properties: Mapping[str, str] | None) -> bool:
        """Whether the broker, having read the properties in the commit log, lets a message pass."""
        return self.by_tag or self.subscription.class_filter_mode or is_true(self.condition, properties, self.rules)

    def dropped_at(
        self, tags_code: int | None, bits: bool | None, properties: Mapping[str, str] | None
    ) -> Stage | None:
        """Where the broker drops a message, None if it passes. `bits`: whether its bits are set; None: not known."""
        if not self.passes_layer_1(tags_code, bits):
            return "tags_code" if self.by_tag else "bitmap"
        return None if self.passes_layer_2(properties) else "sql"

    def broker_passes(self, tags_code: int | None, bits: bool | None, properties: Mapping[str, str] | None) -> bool:
        """Whether the broker lets a message pass, through both layers."""
        return self.dropped_at(tags_code, bits, properties) is None

    def client_keeps(self, tag: str | None) -> bool:
        """Whether a client with this subscription hands a message with this tag to its listener."""
        return self.rules.client_keeps(self.subscription, tag)

    def fate(self, properties: Mapping[str, str], owner: Filter) -> Stage | Literal["client"] | None:
        """Where a message is dropped when the broker filters by this subscription and the queue is `owner`'s."""
        tag = properties.get(PROPERTY_TAGS)
        dropped = self.dropped_at(self.rules.tags_code(tag), None, properties)
        if dropped is not None:
            return dropped
        return None if owner.client_keeps(tag) else "client"

    def wants(self, properties: Mapping[str, str]) -> bool:
        """Whether its author means this message: a tag that is named, or a condition that is true."""
        return self.fate(properties, self) is None


class TwoLayerMatch(NamedTuple):
    """What becomes of one message: `broker` is step one, `client` step two, asked whatever step one said."""

    tags_code: int
    broker: bool
    client: bool

    @property
    def delivered(self) -> bool:
        """Both steps let it pass."""
        return self.broker and self.client


def match_in_two_layers(subscription: SubscriptionData, tag: str | None, rules: Rules = DEFAULT_RULES) -> TwoLayerMatch:
    """Follow one tag: the broker looks its hash code up, the client compares its text (rows F-50..F-58, F-95)."""
    filter_, code = Filter(subscription, rules), rules.tags_code(tag)
    return TwoLayerMatch(code, filter_.passes_layer_1(code, None), filter_.client_keeps(tag))


def colliding_tag(tag: str) -> str | None:
    """Another tag of letters and digits with the same `String.hashCode`, None when two neighbours give none.

    A letter one higher is made good by the next one being 31 lower: the hash is a number in base 31 (row F-50).
    """
    for place in range(len(tag) - 1):
        first, second = ord(tag[place]) + 1, ord(tag[place + 1]) - 31
        twin = f"{tag[:place]}{chr(first)}{chr(max(second, 0))}{tag[place + 2 :]}"
        if second > 0 and twin.isascii() and twin.isalnum() and string_hash(twin) == string_hash(tag):
            return twin
    return None
