"""Do two subscriptions let the same messages pass, and what 4.8.0's own tool says of a group (S-07..S-10, S-94).

`tell_apart` finds a message that one of two subscriptions lets pass and the other does not. A subscription stands for
what a group reads whose members all have it: tags named (the client compares texts, so hash codes drop out), all
messages for `*`, or those for which a condition is true. What the broker refuses to compile lets nothing pass (F-65).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.filter.filter import Filter, compile_expression
from rmqlab.filter.sql92.compiler import CompiledSql92
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.filter.sql92.nodes import NOWHERE, Constant, In, Node, Or, Property, shape
from rmqlab.message.java import utf16_key
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SUB_ALL, SubscriptionData
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab_tools.search.expressions.satisfiability import EVALUATION_BUDGET, NOT_TRUE, Can, Found, Search

if TYPE_CHECKING:
    from collections.abc import Mapping


TOOL_WAITS_MS = 120_000


class RunningConsumer(NamedTuple):
    """What a member reports to the admin tool: whether it pushes, when it started (epoch ms), its subscriptions."""

    push: bool
    started: int
    subscriptions: Iterable[SubscriptionData]


def analyze_subscription(group: Mapping[str, RunningConsumer], now: int) -> bool:
    """What 4.8.0's own tool says of a group, True for "Same subscription" (row S-94).

    Source: `ConsumerRunningInfo.analyzeSubscription`. Only the member with the lowest client id is asked whether it
    pushes and has run for more than two minutes; when not, everything counts as the same, which is why the tool is
    silent at first. Then neighbours are compared by topic and text, versions left out, and a group without any
    subscription is a mistake too.

    Raises:
        ValueError: a group without members.
    """
    if not group:
        raise ValueError("group has no members; give at least one client id with what it runs")
    members = [group[name] for name in sorted(group, key=utf16_key)]
    if not members[0].push or now - members[0].started <= TOOL_WAITS_MS:
        return True
    tables = [{(data.topic, data.sub_string) for data in member.subscriptions} for member in members]
    return all(table == tables[0] for table in tables) and bool(tables[-1])


class Apart(NamedTuple):
    """What distinguishes two subscriptions.

    `only_first` passes the first and not the second, `only_second` the reverse: properties of a message, its tag under
    `TAGS`. None: there is no such message (`proven`, of both directions) or none was found among `tried` cases.
    """

    only_first: dict[str, str] | None
    only_second: dict[str, str] | None
    proven: bool
    tried: int

    @property
    def same(self) -> bool:
        """Whether it is proven that the two let the same messages pass."""
        return self.proven and self.only_first is None and self.only_second is None


class CannotTellError(ValueError):
    """A subscription whose filter is a Java class: what it lets pass cannot be worked out here."""


def lets_pass(subscription: SubscriptionData, properties: Mapping[str, str], rules: Rules = DEFAULT_RULES) -> bool:
    """Whether a group that has this subscription alone gets a message.

    Raises:
        CannotTellError: the two cannot be distinguished for certain.
    """
    if subscription.class_filter_mode:
        raise CannotTellError(f"{subscription.topic}: {subscription.sub_string} is a class filter")
    return Filter(subscription, rules).wants(properties)


def tell_apart(
    first: SubscriptionData, second: SubscriptionData, budget: int = EVALUATION_BUDGET, rules: Rules = DEFAULT_RULES
) -> Apart:
    """Look in both directions, with at most `budget` conditions worked out in each; `rules` are the broker's.

    What is found is checked with `lets_pass`, which shares nothing with the search but the evaluator. Raises
    `CannotTellError` for a class filter.
    """
    mine, other = condition(first, rules), condition(second, rules)
    if shape(mine) == shape(other):
        return Apart(None, None, proven=True, tried=0)
    forth, back = _Between(mine, other, budget), _Between(other, mine, budget)
    there, here = forth.find(Can.TRUE), back.find(Can.TRUE)
    for example, passed, stopped in ((there, first, second), (here, second, first)):
        message = example.properties
        if message is not None and not (lets_pass(passed, message, rules) and not lets_pass(stopped, message, rules)):
            raise AssertionError(f"{message} does not tell {passed.sub_string!r} from {stopped.sub_string!r}")
    proven = all(direction.proven or direction.properties is not None for direction in (there, here))
    return Apart(there.properties, here.properties, proven, forth.tried + back.tried)


def condition(subscription: SubscriptionData, rules: Rules = DEFAULT_RULES) -> Node:
    """A subscription as a condition on a message's properties.

    Raises:
        CannotTellError: the two cannot be distinguished for certain.
    """
    if subscription.class_filter_mode:
        raise CannotTellError(f"{subscription.topic}: {subscription.sub_string} is a class filter")
    if subscription.is_tag:
        if subscription.sub_string == SUB_ALL:
            return Constant(NOWHERE, value=True)
        # the broker looks codes up, the client texts: what passes both is a tag that was named
        tags = sorted(subscription.tags_set)
        return In(Property(NOWHERE, PROPERTY_TAGS), tags, 0, negated=False) if tags else Constant(NOWHERE, value=False)
    try:
        compiled = compile_expression(subscription.expression_type, subscription.sub_string, rules.sql92)
    except ExpressionRefused:
        return Constant(NOWHERE, value=False)
    if not isinstance(compiled, CompiledSql92):
        raise CannotTellError(f"{subscription.topic}: {subscription.expression_type} is no filter that can be read")
    return compiled.root


class _Between(Search):
    """Looks for a message that one condition lets pass and another does not."""

    def __init__(self, passes: Node, stops: Node, budget: int) -> None:
        super().__init__(Or(passes, stops), budget)
        self._passes, self._stops = passes, stops

    def find(self, wanted: int) -> Found:
        """As `Search.find`; a tree that is too deep to be evaluated is not looked at."""
        return Found(None) if self._overflows else super().find(wanted)

    def _may_come_to(self, chosen: Mapping[str, str | None], wanted: int) -> bool:
        return bool(self._possible(self._passes, chosen) & wanted and self._possible(self._stops, chosen) & NOT_TRUE)
