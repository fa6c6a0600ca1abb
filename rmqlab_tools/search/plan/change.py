"""A change of subscription: what OLD and NEW take, what both take, and messages that show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rmqlab.errors import BadInput
from rmqlab.filter.filter import compile_expression
from rmqlab.filter.sql92.errors import MQFilterException
from rmqlab.filter.sql92.nodes import And
from rmqlab.language import _
from rmqlab.message.properties import PROPERTY_KEYS, PROPERTY_TAGS
from rmqlab.protocol.subscription_data import (
    SEPARATOR,
    SQL92,
    SUB_ALL,
    TAG,
    SubscriptionData,
    build_subscription,
    split_tags,
)
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.scenario.scenario import OutgoingMessage, Subscription
from rmqlab_tools.search.consistency import condition, lets_pass, tell_apart
from rmqlab_tools.search.expressions.examine import looks_like_sql92
from rmqlab_tools.search.expressions.remarks import remarks, sentence
from rmqlab_tools.search.expressions.satisfiability import Can, Search

PLANNED_TOPIC = "T"
_PREFIXES = {"SQL92:": SQL92, "TAG:": TAG}


class MessageKind(StrEnum):
    """What a message is to the change: only OLD takes it, only NEW does, both do."""

    OLD = "old"
    NEW = "new"
    BOTH = "both"


def parse_subscription(text: str, what: str, rules: Rules = DEFAULT_RULES) -> Subscription:
    """A subscription from `tagA||tagB`, `*`, or `SQL92:a > 3`; `what` names it in errors.

    `rules` are the broker's.

    Raises:
        BadInput: the broker or the client would refuse it; the parser's own words are in the text.
    """
    if not isinstance(text, str):
        raise BadInput(
            _("{what} is {text}; right is a text, such as 'tagA || tagB' or 'SQL92:a > 3'", what=what, text=f"{text!r}")
        )
    if not text.removeprefix("TAG:").strip():
        raise BadInput(_("{what} is empty; right is a subscription: 'tagA || tagB', '*', or 'SQL92:a > 3'", what=what))
    prefix = next((prefix for prefix in _PREFIXES if text.startswith(prefix)), "")
    subscription = Subscription(type=_PREFIXES.get(prefix, TAG), expr=text.removeprefix(prefix))  # type: ignore[arg-type]
    if not prefix and looks_like_sql92(text):
        raise BadInput(
            _(
                "{what} {text} looks like SQL92: write 'SQL92:{plain}' (a tag of that name: 'TAG:{plain}')",
                what=what,
                text=f"{text!r}",
                plain=text,
            )
        )
    try:
        data = data_of(subscription)
        if not data.is_tag:
            compile_expression(data.expression_type, data.sub_string, rules.sql92)
    except MQFilterException:
        raise BadInput(
            f"{what} {text!r}: {sentence(remarks(subscription.type, subscription.expr, rules.sql92)[0])}"
        ) from None
    except BadInput as error:
        raise BadInput(f"{what} {text!r}: {error}") from error
    if data.is_tag and data.sub_string != SUB_ALL and not data.tags_set:
        raise BadInput(
            _(
                "{what} {text}: it names no tag, so nothing is ever received; * takes every message",
                what=what,
                text=f"{text!r}",
            )
        )
    return subscription


def data_of(subscription: Subscription) -> SubscriptionData:
    """What a client makes of a subscription."""
    return build_subscription(PLANNED_TOPIC, subscription.expr, subscription.type)


def text_of(subscription: Subscription) -> str:
    """A subscription as the command line has it."""
    return subscription.expr if subscription.type == TAG else f"{subscription.type}:{subscription.expr}"


@dataclass(frozen=True, slots=True)
class Change:
    """From `old` to `new`. `kinds`: properties of a message of each kind there is (its tag under `TAGS`).

    `proven`: for each kind that is missing it is known that there is no such message. `union`: takes what either
    takes; None if it cannot be written. `missed`: a message that one of the two takes and the union does not, since a
    value that cannot be compared throws before the other condition is asked.
    """

    old: Subscription
    new: Subscription
    kinds: Mapping[MessageKind, Mapping[str, str]]
    proven: bool
    union: Subscription | None
    missed: Mapping[str, str] | None = None
    rules: Rules = DEFAULT_RULES

    @property
    def same(self) -> bool:
        """Whether both take the same messages."""
        return self.proven and MessageKind.OLD not in self.kinds and MessageKind.NEW not in self.kinds

    @property
    def rollouts(self) -> list[Subscription]:
        """What members are given one after another when they are widened first; what changes nothing is left out."""
        return [self.new] if self.union in {None, self.old, self.new} else [self.union, self.new]

    def passes(self, subscription: Subscription, kind: MessageKind) -> bool:
        """Whether a subscription takes messages of a kind."""
        return lets_pass(data_of(subscription), self.kinds[kind], self.rules)

    def taken_by(self, subscription: Subscription) -> set[MessageKind]:
        """The kinds of messages that a subscription takes."""
        return {kind for kind in self.kinds if self.passes(subscription, kind)}

    def message(self, kind: MessageKind, number: int, queue: int) -> OutgoingMessage:
        """Message `number` of a kind, for one queue."""
        props = dict(self.kinds[kind])
        tag, keys = props.pop(PROPERTY_TAGS, None), props.pop(PROPERTY_KEYS, None)
        return OutgoingMessage(f"{kind}-{number}", tag, keys, props or None, queue)


def change_between(old: Subscription, new: Subscription, rules: Rules = DEFAULT_RULES) -> Change:
    """Work out what the two take of a broker with these rules."""
    first, second = data_of(old), data_of(new)
    apart = tell_apart(first, second, rules=rules)
    both = Search(And(condition(first, rules), condition(second, rules))).find(Can.TRUE)
    examples = {
        MessageKind.OLD: apart.only_first,
        MessageKind.NEW: apart.only_second,
        MessageKind.BOTH: both.properties,
    }
    kinds = {kind: properties for kind, properties in examples.items() if properties is not None}
    if not kinds:
        raise BadInput(
            _(
                "no message was found that {expression} or {expression2} takes; nothing can be lost",
                expression=f"{text_of(old)!r}",
                expression2=f"{text_of(new)!r}",
            )
        )
    proven = apart.proven and (both.proven or both.properties is not None)
    union = _simple_union(old, new, kinds)
    if union is not None:
        return Change(old, new, kinds, proven, union, rules=rules)
    # The order counts: what the first condition throws at never comes to the second. Digits beyond ASCII are rarest.
    tried = [_joined(*order, rules=rules) for order in ((old, new), (new, old))]
    joined = [(candidate, *_missed((first, second), candidate, rules)) for candidate in tried if candidate is not None]
    if not joined:
        return Change(old, new, kinds, proven, None, rules=rules)
    union, missed, sure = min(
        joined, key=lambda choice: (choice[1] is not None, str(choice[1]).isascii(), not choice[2])
    )
    return Change(old, new, kinds, proven and sure, union, missed, rules)


def _simple_union(
    old: Subscription, new: Subscription, kinds: Mapping[MessageKind, Mapping[str, str]]
) -> Subscription | None:
    first, second = data_of(old), data_of(new)
    for subscription, data in ((old, first), (new, second)):
        if data.is_tag and data.sub_string == SUB_ALL:
            return subscription
    if MessageKind.NEW not in kinds:
        return old
    if MessageKind.OLD not in kinds:
        return new
    if first.is_tag and second.is_tag:
        names = dict.fromkeys([*split_tags(old.expr), *split_tags(new.expr)])
        return Subscription(type=TAG, expr=SEPARATOR.join(names))
    return None


def _joined(*both: Subscription, rules: Rules) -> Subscription | None:
    """The two as one condition; None if the broker refuses it."""
    union = Subscription(type=SQL92, expr=" OR ".join(f"({_as_condition(subscription)})" for subscription in both))
    try:
        compile_expression(union.type, data_of(union).sub_string, rules.sql92)
    except BadInput:
        return None
    return union


def _missed(
    both: Iterable[SubscriptionData], union: Subscription, rules: Rules
) -> tuple[Mapping[str, str] | None, bool]:
    """A message that one of `both` takes and `union` does not; if None, whether it is proven that there is none."""
    apart = [tell_apart(data, data_of(union), rules=rules) for data in both]
    missed = next((difference.only_first for difference in apart if difference.only_first is not None), None)
    return missed, all(difference.proven for difference in apart)


def _as_condition(subscription: Subscription) -> str:
    if not data_of(subscription).is_tag:
        return subscription.expr
    tags = ", ".join(f"'{tag}'" for tag in dict.fromkeys(split_tags(subscription.expr)))
    return f"{PROPERTY_TAGS} IN ({tags})"
