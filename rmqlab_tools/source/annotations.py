"""Listeners that Spring makes consumers of: their annotations name group, topic and what selects.

Sources: rocketmq-spring 2.3 `RocketMQMessageListener`, `ExtRocketMQConsumerConfiguration`,
`ListenerContainerConfiguration`; its client 5.x `RocketMQMessageListener`, `ExtConsumerResetConfiguration`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rmqlab_tools.source.code import JVM
from rmqlab_tools.source.config_files import uniform
from rmqlab_tools.source.drafts import Draft, DraftSubscription
from rmqlab_tools.source.scopes import Placed, Scope
from rmqlab_tools.source.terms import Do, Join, Name, Setting, Text
from rmqlab_tools.source.values import Known, not_empty, or_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.code import Code
    from rmqlab_tools.source.drafts import FoundConsumer
    from rmqlab_tools.source.settings import Settings
    from rmqlab_tools.source.terms import Annotation, Term, TypeOfCode, Unit

WORDS: Final = re.compile(
    r"@(?:[\w.]+\.)?(?:RocketMQMessageListener|ExtRocketMQConsumerConfiguration|ExtConsumerResetConfiguration)\b"
)
_SERVERS: Final = {"grpc": "${rocketmq.push-consumer.endpoints:}", "simple": "${rocketmq.simple-consumer.endpoints:}"}
_PULL, _SIMPLE = "rocketmq.pull-consumer", "rocketmq.simple-consumer"


def annotated_drafts(code: Code) -> Iterator[Draft]:
    """A consumer for each annotated class."""
    for _file, unit in code.with_words(WORDS, *JVM):
        for made in unit.types.values():
            for annotation in made.annotations:
                draft = _draft(annotation, unit, made)
                if draft is not None:
                    yield draft


def _draft(annotation: Annotation, unit: Unit, made: TypeOfCode) -> Draft | None:
    values, scope = annotation.values, Scope(unit, made)

    def given(name: str, default: str = "") -> Placed:
        return Placed(values.get(name, Setting(default)), scope)

    of_five = (
        "tag" in values
        or "filterExpressionType" in values
        or "endpoints" in values
        or (unit.imports.get(annotation.name, "").startswith("org.apache.rocketmq.client.annotation"))
    )
    kind: Placed | None
    if annotation.name == "RocketMQMessageListener" and of_five:
        group, topic = given("consumerGroup"), given("topic", "${rocketmq.push-consumer.topic:}")
        text, kind, fetches = (
            given("tag", "${rocketmq.push-consumer.tag:}"),
            given("filterExpressionType", "tag"),
            "grpc",
        )
    elif annotation.name == "RocketMQMessageListener":
        group, topic = given("consumerGroup"), given("topic")
        text, kind, fetches = given("selectorExpression", "*"), given("selectorType", "TAG"), "push"
    elif annotation.name == "ExtRocketMQConsumerConfiguration":
        group, topic = given("group", f"${{{_PULL}.group:}}"), given("topic", f"${{{_PULL}.topic:}}")
        text, kind, fetches = given("selectorExpression", "*"), given("selectorType", "TAG"), "lite"
    elif annotation.name == "ExtConsumerResetConfiguration":
        group, topic = (
            given("consumerGroup", f"${{{_SIMPLE}.consumerGroup:}}"),
            given("topic", f"${{{_SIMPLE}.topic:}}"),
        )
        text = given("tag", f"${{{_SIMPLE}.tag:}}")
        kind, fetches = given("filterExpressionType", f"${{{_SIMPLE}.filterExpressionType:tag}}"), "simple"
    else:
        return None
    draft = Draft(made.name, unit, made, annotation.line, fetches, _filled_in(group))
    draft.subscriptions.append(
        DraftSubscription(_filled_in(topic), _filled_in(text), annotation.line, unit.file, _constant(kind))
    )
    for name in ("messageModel", "consumeFromWhere"):
        if isinstance(term := values.get(name), Name):
            draft.settings[name] = term.parts[-1]
    draft.servers = _filled_in(
        given("endpoints" if of_five else "nameServer", _SERVERS.get(fetches, "${rocketmq.name-server:}"))
    )
    draft.namespace = _filled_in(given("namespace")) if "namespace" in values else None
    _prepared(draft, made, unit)
    return draft


def _filled_in(placed: Placed) -> Placed:
    """An annotation's text is one whose placeholders Spring replaces, wherever its constant stands."""
    if isinstance(placed.term, Text):
        return Placed(Setting(placed.term.value), placed.scope)
    return Placed(Join((placed.term,)), placed.scope) if isinstance(placed.term, Name | Join) else placed


def _constant(placed: Placed) -> Placed:
    """`SelectorType.SQL92` by its name."""
    term: Term = placed.term
    return Placed(Text(term.parts[-1]), placed.scope) if isinstance(term, Name) else _filled_in(placed)


def _prepared(draft: Draft, made: TypeOfCode, unit: Unit) -> None:
    """What `prepareStart(DefaultMQPushConsumer consumer)` of the listener subscribes besides, before it starts."""
    for function in made.functions:
        if function.name != "prepareStart" or len(function.parameters) != 1:
            continue
        name = Name((function.parameters[0].name,))
        for step in function.statements:
            if not isinstance(step, Do) or step.call.target != name or not step.call.arguments:
                continue
            arguments = [Placed(argument, Scope(unit, made, function)) for argument in step.call.arguments]
            if step.call.function == "subscribe" and len(arguments) == 2:
                draft.subscriptions.append(DraftSubscription(arguments[0], arguments[1], step.call.line, unit.file))
            elif step.call.function == "setConsumerGroup":
                draft.group = arguments[0]


def after_settings(consumer: FoundConsumer, settings: Settings) -> FoundConsumer | None:
    """An annotated consumer with placeholders replaced in what constants gave; None of one that settings switch off.

    `rocketmq.consumer.listeners.GROUP.TOPIC=false` does that.
    """
    if isinstance(consumer.group, Known):
        consumer.group = not_empty(settings.filled(consumer.group.text, consumer.file))
    for place, subscription in enumerate(consumer.subscriptions[:1]):
        topic, expression = subscription.topic, subscription.expression
        topic = not_empty(settings.filled(topic.text, consumer.file) if isinstance(topic, Known) else topic)
        expression = settings.filled(expression.text, consumer.file) if isinstance(expression, Known) else expression
        consumer.subscriptions[place] = replace(subscription, topic=topic, expression=or_all(expression))
        if isinstance(consumer.group, Known) and isinstance(topic, Known):
            name = uniform(f"rocketmq.consumer.listeners.{consumer.group.text}.{topic.text}")
            for application in settings.near(consumer.file):
                given = application.given.get(name)
                if given is not None and given.value.lower() == "false":
                    return None
    return consumer
