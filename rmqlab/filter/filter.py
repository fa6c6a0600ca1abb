"""What one subscription does to messages: at the broker, at the client, and in the mind of its author."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from rmqlab.filter import filter_api
from rmqlab.filter.filter_factory import compile_expression
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.events import Stage
    from rmqlab.filter.consumer_filter_data import CompiledExpression
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules


class Filter:
    """A subscription, ready to be asked about messages; everything is decided by `rules`.

    An expression that the broker refuses lets nothing pass (`FILTER_DATA_NOT_EXIST`, row F-65).
    """

    __slots__ = ("_condition", "by_tag", "rules", "subscription")

    def __init__(self, subscription: SubscriptionData, rules: Rules = RULES["4.8.0"]) -> None:
        self.subscription = subscription
        self.rules = rules
        self.by_tag = subscription.is_tag
        self._condition: CompiledExpression | None = None
        if not self.by_tag and not subscription.class_filter_mode:
            try:
                self._condition = compile_expression(subscription.expression_type, subscription.sub_string)
            except ExpressionRefused:
                self._condition = None

    @classmethod
    def of(
        cls, topic: str | None, expression: str | None, expression_type: str | None, rules: Rules = RULES["4.8.0"]
    ) -> Self:
        """The filter of a subscription's text; raises what `filter_api.build` raises."""
        return cls(filter_api.build(topic, expression, expression_type), rules)

    @classmethod
    def heard(cls, subscription: SubscriptionData, rules: Rules = RULES["4.8.0"]) -> Self:
        """The filter of a subscription from a heartbeat: the sets of codes and tags do not always travel."""
        if not subscription.is_tag:
            return cls(subscription, rules)
        return cls.of(subscription.topic, subscription.sub_string, None, rules)

    def dropped_at(
        self, tags_code: int | None, bits: bool | None, properties: Mapping[str, str] | None
    ) -> Stage | None:
        """Where the broker drops a message, None if it passes. `bits`: whether its bits are set; None: not known."""
        if self.subscription.class_filter_mode:
            return None
        if self.by_tag:
            return None if self.rules.is_matched_by_consume_queue(self.subscription, tags_code) else "tags_code"
        if bits is False:
            return "bitmap"
        return None if self._is_true(properties) else "sql"

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

    def _is_true(self, properties: Mapping[str, str] | None) -> bool:
        if self._condition is None:
            return False
        try:
            return self.rules.is_matched_by_commit_log(self._condition.evaluate(properties))
        except Exception:  # noqa: BLE001 - a condition that cannot be judged lets nothing pass (row F-65)
            return False
