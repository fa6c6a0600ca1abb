"""Tag filtering in its two steps: the broker compares hash codes, the client compares texts (rows F-50..F-58, F-95).

The broker never sees the tag's text when it filters: it looks up the stored code in the subscription's code set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.message.java import string_hash
from rmqlab.rules import RULES

if TYPE_CHECKING:
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules


class TagSteps(NamedTuple):
    """What becomes of one message: `broker` is step one, `client` step two, asked whatever step one said."""

    tags_code: int
    broker: bool
    client: bool

    @property
    def delivered(self) -> bool:
        """Both steps let it pass."""
        return self.broker and self.client


def both_steps(subscription: SubscriptionData, tag: str | None, rules: Rules = RULES["4.8.0"]) -> TagSteps:
    """Follow one tag through both steps."""
    code = rules.tags_code(tag)
    broker = subscription.class_filter_mode or rules.is_matched_by_consume_queue(subscription, code)
    return TagSteps(code, broker, rules.client_keeps(subscription, tag))


def twin_of(tag: str) -> str | None:
    """Another tag of letters and digits with the same `String.hashCode`, None when two neighbours give none.

    A letter one higher is made good by the next one being 31 lower: the hash is a number in base 31 (row F-50).
    """
    for place in range(len(tag) - 1):
        first, second = ord(tag[place]) + 1, ord(tag[place + 1]) - 31
        twin = f"{tag[:place]}{chr(first)}{chr(max(second, 0))}{tag[place + 2 :]}"
        if second > 0 and twin.isascii() and twin.isalnum() and string_hash(twin) == string_hash(tag):
            return twin
    return None
