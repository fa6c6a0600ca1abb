"""Consumers that code of Python makes: of `rocketmq` 0.4 and 2.x over C++, and of its 5.x over gRPC.

Sources: rocketmq-client-python `PushConsumer`; rocketmq-clients `python` `PushConsumer`, `SimpleConsumer`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab_tools.source.drafts import Draft, DraftSubscription, subscribing
from rmqlab_tools.source.scopes import Placed, Scope
from rmqlab_tools.source.terms import Assign, Call, Do, Name
from rmqlab_tools.source.values import NO_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.code import Code
    from rmqlab_tools.source.terms import Function, Term, TypeOfCode, Unit

WORDS: Final = re.compile(r"\brocketmq\b")
_GROUP_PLACE: Final = 1  # (client_configuration, consumer_group, ...) of 5.x


def python_drafts(code: Code) -> Iterator[Draft]:
    """The consumers of all files of Python that import a client of RocketMQ."""
    for _file, unit in code.with_words(WORDS, ".py"):
        if any(path.lstrip(".").startswith("rocketmq") for path in unit.imports.values()):
            for made in unit.types.values():
                yield from _drafts(unit, made)


def _drafts(unit: Unit, made: TypeOfCode) -> list[Draft]:
    by_variable: dict[tuple[Function | None, str], Draft] = {}
    drafts: list[Draft] = []
    for function in made.functions:
        scope = Scope(unit, made, function)
        for step in function.statements:
            value = step.value if isinstance(step, Assign) else None
            if isinstance(step, Assign) and isinstance(value, Call) and (kind := _kind(value, unit)):
                draft = _made(value, kind, step.target[-1], scope)
                draft.is_made = True
                drafts.append(draft)
                where = None if step.target[0] == "self" else function
                by_variable[where, step.target[-1]] = draft
    for function in made.functions:
        scope = Scope(unit, made, function)
        for step in function.statements:
            if not isinstance(step, Do) or not isinstance(step.call.target, Name):
                continue
            name = step.call.target.parts[-1]
            draft_of = by_variable.get((function, name)) or by_variable.get((None, name))
            if draft_of is not None:
                _called(draft_of, step.call, scope)
    return [draft for draft in drafts if subscribing(draft)]


def _kind(call: Call, unit: Unit) -> str:
    """How a class that is called fetches; "" of any other call."""
    name = call.function
    if name not in {"PushConsumer", "SimpleConsumer"}:
        return ""
    origin = unit.imports.get(name, "") if call.target is None else "rocketmq"
    if not origin.lstrip(".").startswith("rocketmq"):
        return ""
    if name == "SimpleConsumer":
        return "simple"
    of_five = len(call.arguments) > 1 or any(
        key in {"client_configuration", "consumer_group"} for key, _v in call.named
    )
    return "grpc" if of_five else "push"


def _made(call: Call, kind: str, name: str, scope: Scope) -> Draft:
    named = dict(call.named)

    def given(key: str, place: int) -> Term | None:
        return named.get(key) or (call.arguments[place] if place < len(call.arguments) else None)

    group = given("group_id", 0) if kind == "push" else given("consumer_group", _GROUP_PLACE)
    placed = NO_GROUP if group is None else Placed(group, scope)
    draft = Draft(name, scope.unit, scope.type, call.line, kind, placed)
    subscription = None if kind == "push" else given("subscription", 3 if kind == "grpc" else 2)
    if subscription is not None and subscription != Name(("None",)):
        draft.subscriptions.append(DraftSubscription(None, Placed(subscription, scope), call.line, scope.unit.file))
    model = given("message_model", 2) if kind == "push" else None
    if isinstance(model, Name) and model.parts[-1] in {"BROADCASTING", "CLUSTERING"}:
        draft.settings["messageModel"] = model.parts[-1]
    return draft


def _called(draft: Draft, call: Call, scope: Scope) -> None:
    arguments = [Placed(argument, scope) for argument in call.arguments]
    named = {key: Placed(value, scope) for key, value in call.named}
    if call.function == "set_group" and arguments:
        draft.group = arguments[0]
    elif call.function in {"set_name_server_address", "set_namesrv_addr"} and arguments:
        draft.servers = arguments[0]
    elif call.function == "subscribe" and (arguments or "topic" in named):
        topic = named.get("topic") or arguments[0]
        place = 2 if draft.kind == "push" else 1
        key = "expression" if draft.kind == "push" else "filter_expression"
        selector = named.get(key) or (arguments[place] if place < len(arguments) else None)
        draft.subscriptions.append(DraftSubscription(topic, selector, call.line, scope.unit.file))
