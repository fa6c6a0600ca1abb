"""Consumers that code of Go makes: of rocketmq-client-go (2.x, and 1.2 over C++), and of the gRPC client.

Sources: rocketmq-client-go v2 `consumer.WithGroupName`, `PushConsumer.Subscribe`; rocketmq-clients `golang`
`NewSimpleConsumer`, `WithSimpleSubscriptionExpressions`, `WithPushSubscriptionExpressions`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rmqlab_tools.source.drafts import Draft, DraftSubscription, subscribing
from rmqlab_tools.source.scopes import Placed, Scope
from rmqlab_tools.source.terms import Assign, Call, Do, Make, Name
from rmqlab_tools.source.values import NO_GROUP, NotKnown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.code import Code
    from rmqlab_tools.source.follow import Follower
    from rmqlab_tools.source.terms import Function, Unit

WORDS: Final = re.compile(r"rocketmq-client-go|rocketmq-clients|New(?:Push|Pull|Simple)Consumer\(")
MAKERS: Final = {"NewPushConsumer": "push", "NewPullConsumer": "lite", "NewSimpleConsumer": "simple"}
_EXPRESSIONS: Final = re.compile(r"With(?:Simple|Push)?SubscriptionExpressions")


def go_drafts(code: Code, follower: Follower) -> Iterator[Draft]:
    """The consumers of all files of Go that import a client of RocketMQ."""
    for _file, unit in code.with_words(WORDS, ".go"):
        if any("rocketmq" in path for path in unit.imports.values()):
            yield from _drafts(unit, follower)


def _drafts(unit: Unit, follower: Follower) -> list[Draft]:
    by_variable: dict[tuple[Function | None, str], Draft] = {}
    drafts: list[Draft] = []
    functions = unit.types[""].functions
    for function in functions:
        scope = Scope(unit, unit.types[""], function)
        for step in function.statements:
            made = step.value if isinstance(step, Assign) else None
            if (
                isinstance(step, Assign)
                and isinstance(made, Call)
                and made.function in MAKERS
                and made.target is not None
            ):
                draft = _made(made, step.target[-1], scope, follower)
                draft.is_made = True
                drafts.append(draft)
                by_variable[function, step.target[-1]] = by_variable[None, step.target[-1]] = draft
    for function in functions:
        scope = Scope(unit, unit.types[""], function)
        for step in function.statements:
            if not isinstance(step, Do) or not isinstance(step.call.target, Name):
                continue
            if step.call.function not in {"Subscribe", "Assign"}:
                continue
            name = step.call.target.parts[-1]
            draft_of = by_variable.get((function, name)) or by_variable.get((None, name))
            if draft_of is not None and len(step.call.arguments) >= 2:
                topic, selector = (Placed(each, scope) for each in step.call.arguments[:2])
                # consumer/pull_consumer.go `Assign`: unlike Java's, its heartbeats have the topic, all messages of it
                expression = selector if step.call.function == "Subscribe" else None
                draft_of.subscriptions.append(DraftSubscription(topic, expression, step.call.line, unit.file))
    return [draft for draft in drafts if subscribing(draft)]


def _made(call: Call, name: str, scope: Scope, follower: Follower) -> Draft:
    """What `NewXConsumer(...)` is given: options, or a config and options."""
    draft = Draft(name, scope.unit, scope.type, call.line, MAKERS[call.function], NO_GROUP)
    for argument in call.arguments:
        reached = follower.reach(Placed(argument, scope))
        if isinstance(reached, NotKnown):
            continue
        term = reached.term
        if isinstance(term, Make):
            _config(draft, term, reached)
        elif isinstance(term, Call) and term.arguments:
            first = replace(reached, term=term.arguments[0])
            if term.function == "WithGroupName":
                draft.group = first
            elif term.function == "WithNamespace":
                draft.namespace = first
            elif term.function == "WithConsumerModel" and isinstance(term.arguments[0], Name):
                broadcasts = term.arguments[0].parts[-1] == "BroadCasting"
                draft.settings["messageModel"] = "BROADCASTING" if broadcasts else "CLUSTERING"
            elif _EXPRESSIONS.fullmatch(term.function):
                draft.subscriptions.append(DraftSubscription(None, first, term.line, scope.unit.file))
    return draft


def _config(draft: Draft, term: Make, place: Placed) -> None:
    for key, value in term.named:
        if key == "ConsumerGroup":
            draft.group = replace(place, term=value)
            draft.kind = "grpc" if draft.kind == "push" else draft.kind
        elif key == "GroupID":
            draft.group = replace(place, term=value)
        elif key in {"NameServer", "Endpoint"}:
            draft.servers = replace(place, term=value)
        elif key == "NameSpace":
            draft.namespace = replace(place, term=value)
        elif isinstance(value, Make):
            _config(draft, value, place)
