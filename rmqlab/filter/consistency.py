"""Do all members of a consumer group want the same? The article's rule, and what the source makes of it (S-07..S-11).

Strict: as the article has it, number and order of tags count. Semantic: what filters the same is the same; order,
repetition and blanks of tags do not matter to 4.8.0, which keeps tags in sets (row S-10).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.filter.filter import compile_expression
from rmqlab.filter.sql92.compiler import CompiledSql92
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.filter.sql92.nodes import shape
from rmqlab.message.java import utf16_key
from rmqlab.protocol.subscription_data import SubscriptionData

if TYPE_CHECKING:
    from collections.abc import Mapping


TOOL_WAITS_MS = 120_000


class Violation(NamedTuple):
    """Two members that disagree about a topic.

    `kind`: `topic` (one has it, the other not), `type` (TAG against SQL92), `class_filter`, `tags`, `expression`
    (different meaning), `spelling` (same meaning, another text: only the strict rule minds). `first` and `second`
    are what the two have, None for no subscription.
    """

    kind: str
    topic: str
    member: str
    other: str
    first: str | None
    second: str | None

    def __str__(self) -> str:
        """Say it in a sentence."""
        first, second = ("nothing" if text is None else repr(text) for text in (self.first, self.second))
        return f"{self.kind} of {self.topic}: {self.member} has {first}, {self.other} has {second}"


def check(members: Mapping[str, Iterable[SubscriptionData]], *, strict: bool = True) -> list[Violation]:
    """Compare every member (client id to its subscriptions) with the first; no violations means consistent."""
    tables = {name: {str(data.topic): data for data in table} for name, table in members.items()}
    if not tables:
        return []
    (member, first), *others = tables.items()
    found = []
    for other, second in others:
        for topic in sorted({*first, *second}):
            kind = _difference(first.get(topic), second.get(topic))
            if kind is not None and (strict or kind != "spelling"):
                texts = [table[topic].sub_string if topic in table else None for table in (first, second)]
                found.append(Violation(kind, topic, member, other, *texts))
    return found


def _difference(first: SubscriptionData | None, second: SubscriptionData | None) -> str | None:
    if first is None or second is None:
        return "topic"
    if first.class_filter_mode != second.class_filter_mode:
        return "class_filter"
    by_tag = first.is_tag
    if by_tag != second.is_tag or (not by_tag and first.expression_type != second.expression_type):
        return "type"
    if first.sub_string == second.sub_string:
        return None
    if _meaning(first) == _meaning(second):
        return "spelling"
    return "tags" if by_tag else "expression"


def _meaning(data: SubscriptionData) -> object:
    if data.is_tag:
        # `*` and " || " both name no tag, but one means everything and the other nothing.
        return data.tags_set or data.sub_string
    try:
        compiled = compile_expression(data.expression_type, data.sub_string)
    except ExpressionRefused:
        return data.sub_string
    return shape(compiled.root) if isinstance(compiled, CompiledSql92) else data.sub_string


class RunningConsumer(NamedTuple):
    """What a member tells the admin tool: whether it pushes, when it started (epoch ms), its subscriptions."""

    push: bool
    started: int
    subscriptions: Iterable[SubscriptionData]


def analyze_subscription(group: Mapping[str, RunningConsumer], now: int) -> bool:
    """What 4.8.0's own tool says of a group, True for "Same subscription" (row S-94).

    Source: `ConsumerRunningInfo.analyzeSubscription`. Only the member with the lowest client id is asked whether it
    pushes and has run for more than two minutes; when not, everything counts as the same, which is why the tool is
    silent at first. Then neighbours are compared by topic and text, versions left out, and a group without any
    subscription is a mistake too. Raises `ValueError` for a group without members.
    """
    if not group:
        raise ValueError("group has no members; give at least one client id with what it runs")
    members = [group[name] for name in sorted(group, key=utf16_key)]
    if not members[0].push or now - members[0].started <= TOOL_WAITS_MS:
        return True
    tables = [{(data.topic, data.sub_string) for data in member.subscriptions} for member in members]
    return all(table == tables[0] for table in tables) and bool(tables[-1])
