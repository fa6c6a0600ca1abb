"""Tag filtering in its two steps: the broker compares hash codes, the client compares texts (rows F-50..F-58, F-95).

The broker never sees the tag's text when it filters: it looks up the stored code in the subscription's code set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.message.java import string_hash, to_int32
from rmqlab.message.message import MessageExtBrokerInner
from rmqlab.protocol.subscription_data import SUB_ALL

if TYPE_CHECKING:
    from rmqlab.protocol.subscription_data import SubscriptionData


class TagSteps(NamedTuple):
    """What becomes of one message: `broker` is step one, `client` step two, asked whatever step one said."""

    tags_code: int
    broker: bool
    client: bool

    @property
    def delivered(self) -> bool:
        """Both steps let it pass."""
        return self.broker and self.client


def code_is_subscribed(subscription: SubscriptionData, code: int | None) -> bool:
    """Step one, by the broker (4.8.0 `ExpressionMessageFilter.isMatchedByConsumeQueue`).

    `code` is the entry's 64-bit tags code, narrowed to 32 bits before the look-up. None (no code could be read)
    passes; a message without a tag has code 0 and does not, unless everything is subscribed (row F-56).
    """
    return code is None or subscription.sub_string == SUB_ALL or to_int32(code) in subscription.code_set


def client_keeps(subscription: SubscriptionData, tag: str | None) -> bool:
    """Step two, by the client (4.8.0 `PullAPIWrapper.processPullResult`): the text itself, when tags were named."""
    if not subscription.tags_set or subscription.class_filter_mode:
        return True
    return tag is not None and tag in subscription.tags_set


def both_steps(subscription: SubscriptionData, tag: str | None) -> TagSteps:
    """Follow one tag through both steps."""
    code = MessageExtBrokerInner.tags_string_to_tags_code(None, tag)
    broker = subscription.class_filter_mode or code_is_subscribed(subscription, code)
    return TagSteps(code, broker, client_keeps(subscription, tag))


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
