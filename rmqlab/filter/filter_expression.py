"""The filter of a 5.x client (`org.apache.rocketmq.client.apis`) as a subscription of 4.8.0 (rows F-05, F-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.filter.filter_api import build
from rmqlab.protocol.subscription_data import SUB_ALL, TAG

if TYPE_CHECKING:
    from rmqlab.protocol.subscription_data import SubscriptionData


class FilterExpression(NamedTuple):
    """An expression and its type, TAG or SQL92; everything by default. Not in 4.8.0's API."""

    expression: str = SUB_ALL
    expression_type: str = TAG

    def subscription(self, topic: str, now: int = 0) -> SubscriptionData:
        """Build the subscription stamped `now` (epoch ms). Raises what `filter_api.build` raises."""
        return build(topic, self.expression, self.expression_type, now)
