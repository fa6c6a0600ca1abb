"""Consumers that settings make: bindings of Spring Cloud Stream, and the pull and simple consumers of the starters.

Sources: spring-cloud-alibaba `RocketMQMessageChannelBinder`, `RocketMQConsumerProperties` (`subscription`, in which
`sql:` begins a condition; `tags` and `sql` before 2021), Spring Cloud Stream's `BindingServiceProperties`;
rocketmq-spring `RocketMQAutoConfiguration` (`rocketmq.pull-consumer`, `rocketmq.simple-consumer`).
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from rmqlab.protocol.subscription_data import SQL92, TAG
from rmqlab_tools.source.code import JVM
from rmqlab_tools.source.config_files import uniform
from rmqlab_tools.source.drafts import FoundConsumer, FoundSubscription
from rmqlab_tools.source.scopes import Placed, Scope, calls_in
from rmqlab_tools.source.settings import applications_of
from rmqlab_tools.source.terms import Name, Text
from rmqlab_tools.source.values import Known, kind_of, not_empty, or_all, text_if_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.code import Code
    from rmqlab_tools.source.config_files import Given
    from rmqlab_tools.source.follow import Follower
    from rmqlab_tools.source.settings import Application, Settings
    from rmqlab_tools.source.terms import Function, Term
    from rmqlab_tools.source.values import Value

_STREAM: Final = "spring.cloud.stream"
_BINDING: Final = re.compile(
    rf"{re.escape(_STREAM)}\.bindings\.(.+)\.(destination|group|binder|consumer\..+|producer\..+)"
)
_OUTPUT: Final = re.compile(r".*out\d+|output\d*", re.IGNORECASE)
_SQL: Final = "sql:"
_CODE: Final = re.compile(r"@(?:Output|Input)\b|\bStreamBridge\b")


def output_names(code: Code, follower: Follower) -> frozenset[str]:
    """Bindings that code sends by: those of `@Output`, and what `StreamBridge.send` names; less those of `@Input`."""
    names: dict[str, set[str]] = {"Output": set(), "Input": set()}
    for _file, unit in code.with_words(_CODE, *JVM):
        for made in unit.types.values():
            for function in made.functions:
                scope = Scope(unit, made, function)
                for kind, written in _bound(function, scope, follower):
                    names[kind].add(uniform(text_if_known(follower.text(Placed(written, scope)))))
    return frozenset(names["Output"] - names["Input"])


def _bound(function: Function, scope: Scope, follower: Follower) -> Iterator[tuple[str, Term]]:
    """The names of bindings that a function has: of its annotation, or of what it sends by."""
    for annotation in function.annotations:
        if annotation.name in {"Output", "Input"}:
            yield annotation.name, annotation.values.get("value", Text(function.name))
    for call in calls_in(function):
        is_sent = call.function == "send" and len(call.arguments) > 1
        if is_sent and isinstance(call.target, Name) and follower.declared_type(call.target, scope) == "StreamBridge":
            yield "Output", call.arguments[0]


def setting_consumers(settings: Settings, outputs: frozenset[str] = frozenset()) -> Iterator[FoundConsumer]:
    """The consumers of all applications whose settings make some; `outputs` are bindings that code sends by."""
    for application in applications_of(settings):
        yield from _bindings(application, settings, outputs)
        for prefix, kind in (("rocketmq.pull-consumer", "lite"), ("rocketmq.simple-consumer", "simple")):
            yield from _of_starter(application, settings, prefix, kind)


def _given(application: Application, *names: str) -> Given | None:
    return next((given for name in names if (given := application.given.get(uniform(name))) is not None), None)


def _bindings(application: Application, settings: Settings, outputs: frozenset[str]) -> Iterator[FoundConsumer]:
    names: dict[str, str] = {}
    for given in application.given.values():
        match = _BINDING.fullmatch(given.name)
        if match:
            names.setdefault(uniform(match[1]), match[1])
    for name in names.values():
        if uniform(name) not in outputs and _is_input(application, name) and _is_rocketmq(application, name):
            consumer = _binding(application, settings, name)
            if consumer is not None:
                yield consumer


def _is_input(application: Application, name: str) -> bool:
    """A binding is one that messages come in by: its name does not end as an output's, and it has no producer."""
    if _OUTPUT.fullmatch(uniform(name)):
        return False
    own, of_binder = f"{_STREAM}.bindings.{name}.", f"{_STREAM}.rocketmq.bindings.{name}."
    prefixes = tuple(uniform(f"{each}producer.") for each in (own, of_binder))
    has_producer = any(key.startswith(prefixes) for key in application.given)
    return not has_producer or _given(application, f"{own}group") is not None


def _is_rocketmq(application: Application, name: str) -> bool:
    """Whether RocketMQ's binder has it: by the binder's name and type, or by settings of that binder."""
    chosen = _given(application, f"{_STREAM}.bindings.{name}.binder", f"{_STREAM}.default-binder")
    if chosen is not None:
        kind = _given(application, f"{_STREAM}.binders.{chosen.value}.type")
        return "rocketmq" in (chosen.value if kind is None else kind.value).lower()
    kinds = {
        given.value.lower()
        for key, given in application.given.items()
        if key.startswith(uniform(f"{_STREAM}.binders.")) and key.endswith(".type")
    }
    if kinds:
        return kinds == {"rocketmq"}
    return any(key.startswith(uniform(f"{_STREAM}.rocketmq.")) for key in application.given)


def _binding(application: Application, settings: Settings, name: str) -> FoundConsumer | None:
    own = f"{_STREAM}.bindings.{name}"
    topic_given = _given(application, f"{own}.destination")
    group_given = _given(application, f"{own}.group", f"{_STREAM}.default.group")
    if group_given is None:
        return None  # an anonymous consumer: a group of its own for each process
    of_rocketmq = f"{_STREAM}.rocketmq.bindings.{name}.consumer"
    prefixes = [of_rocketmq, f"{_STREAM}.rocketmq.default.consumer"]
    in_environment = next((key for key in application.given if ".environment." in key), None)
    if in_environment is not None:
        prefixes.append(f"{in_environment.partition('.environment.')[0]}.environment.{of_rocketmq}")

    def of_binder(*keys: str) -> Given | None:
        return _given(application, *(f"{prefix}.{key}" for prefix in prefixes for key in keys))

    value = partial(settings.of, application)
    enabled = of_binder("enabled")
    if enabled is not None and enabled.value.lower() == "false":
        return None
    selector_given = of_binder("subscription", "push.subscription", "tags", "sql")
    selector, kind = value(selector_given, "*"), TAG
    if isinstance(selector, Known):
        is_sql = selector.text.startswith(_SQL) or (selector_given is not None and selector_given.name.endswith("sql"))
        kind = SQL92 if is_sql else TAG
        selector = Known(selector.text.removeprefix(_SQL) or "*")
    where = selector_given or group_given
    consumer = FoundConsumer(name, group_given.file, group_given.line, value(group_given, ""), "push")
    topic = value(topic_given, name)
    topics: list[Value] = (
        [Known(each.strip()) for each in topic.text.split(",")] if isinstance(topic, Known) else [topic]
    )
    consumer.subscriptions = [FoundSubscription(each, Known(kind), selector, where.file, where.line) for each in topics]
    model, broadcasting = of_binder("messageModel"), of_binder("broadcasting")
    if model is not None:
        consumer.settings["messageModel"] = model.value.upper()
    elif broadcasting is not None and broadcasting.value.lower() == "true":
        consumer.settings["messageModel"] = "BROADCASTING"
    servers = _given(application, f"{_STREAM}.rocketmq.binder.name-server", "rocketmq.name-server")
    consumer.servers = text_if_known(value(servers, ""))
    return consumer


def _of_starter(application: Application, settings: Settings, prefix: str, kind: str) -> Iterator[FoundConsumer]:
    group, topic = (
        _given(application, f"{prefix}.group", f"{prefix}.consumer-group"),
        _given(application, f"{prefix}.topic"),
    )
    if group is None or topic is None:
        return
    selector = _given(application, f"{prefix}.selector-expression", f"{prefix}.tag")
    of_type = _given(application, f"{prefix}.selector-type", f"{prefix}.filter-expression-type")
    servers = _given(application, "rocketmq.name-server" if kind == "lite" else f"{prefix}.endpoints")

    value = partial(settings.of, application)
    consumer = FoundConsumer(prefix, group.file, group.line, not_empty(value(group, "")), kind)
    chosen, expression = kind_of(value(of_type, TAG)), or_all(value(selector, "*"))
    place = selector or topic
    consumer.subscriptions.append(FoundSubscription(value(topic, ""), chosen, expression, place.file, place.line))
    consumer.servers = text_if_known(value(servers, ""))
    yield consumer
