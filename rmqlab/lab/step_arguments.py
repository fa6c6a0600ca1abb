"""The arguments of what is done in a `Lab`: brought into the form of a scenario's steps, and refused in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from rmqlab.client.client_config import ProducerConfig
from rmqlab.client.client_error import MQClientError, check_body, check_consumer_group, check_send_topic
from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.message.java import to_utf8
from rmqlab.message.message import UserPropertyError, check_user_property
from rmqlab.protocol.subscription_data import TAG, build_subscription_data
from rmqlab.scenario.scenario import (
    Scenario,
    Send,
    Start,
    Step,
    Subscribe,
    convert_scenario,
    refusal_of,
    step_problems,
)

if TYPE_CHECKING:
    from rmqlab.rules import Rules

_WHERE = re.compile(r"^lab: (steps\[\d+\](\.|: ))?")
_ARGUMENTS = {
    '"id"': "name", "id": "name", "from": "consume_from", "post": "post_subscription", "laterTimes": "later_times",
    "forMs": "ms", "byMs": "by_ms", "downMs": "down_ms",
}  # fmt: skip
_FIELD = re.compile(f"^({'|'.join(_ARGUMENTS)})(?= is )")


def what_is_meant(step: Start | Subscribe) -> str:
    """What the one who wrote a refused subscription may have meant, as text after the refusal."""
    from rmqlab.plugins import refused

    return refused(step)


def next_step(scenario: Scenario, fields: dict[str, Any], rules: Rules) -> Step:
    """The step that `fields` say in their JSON form, if it may follow the steps of `scenario`."""
    try:
        step: Step = msgspec.convert(fields, Step)
    except (msgspec.ValidationError, UnicodeEncodeError):
        pass  # numbers of numpy, or what is wrong with them is said below
    else:
        longer = msgspec.structs.replace(scenario, steps=[*scenario.steps, step])
        if next(step_problems(longer), None) is None and refusal_of(longer, rules) is None:
            return step
    return checked(scenario.to_builtins(), rules, fields).steps[-1]


def checked(fields: dict[str, Any], rules: Rules, step: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario from the dicts of its JSON form, with one step more; numbers may be numpy's.

    The error of a bad call names the argument, not a place in a file.
    """
    steps = fields["steps"] if step is None else [*fields["steps"], _plain(step)]
    try:
        scenario = convert_scenario(fields | {"topics": _plain(fields["topics"]), "steps": steps}, "lab")
    except BadInput as error:
        names = _ARGUMENTS | ({"forMs": "for_ms"} if step is not None and step["do"] == "slow" else {})
        raise BadInput(_FIELD.sub(lambda field: names[field[1]], _WHERE.sub("", str(error)))) from None
    refusal = refusal_of(scenario, rules)
    if refusal is not None:
        raise BadInput(_WHERE.sub("", f"lab: {refusal}"))
    return scenario


def _plain(value: Any) -> Any:
    """Numbers of numpy, also in a dict or a list, as those of Python."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.item() if getattr(value, "ndim", None) == 0 else value


def queue_lists(where: str, given: object) -> dict[str, list[Any]]:
    """Queue ids by topic, as lists."""
    if not isinstance(given, Mapping) or not all(is_several(queue_ids) for queue_ids in given.values()):
        right = _(
            "{where} is {given}; right is a topic and ids of queues: {example}",
            where=where,
            given=repr(given),
            example='{"T": [0, 1]}',
        )
        raise BadInput(right)
    return {topic: [_plain(number) for number in numbers] for topic, numbers in given.items()}


def is_several(values: object) -> bool:
    """Whether there is a value for each message: a list, a range, an array. A set has no order."""
    return isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | set)


def require_possible(step: Step) -> None:
    """What no client sends or starts is refused before anything is done; a message that gets lost is none of those."""
    number = 0
    try:
        if isinstance(step, Start):
            check_consumer_group(step.group)
        elif isinstance(step, Send):
            check_send_topic(step.topic)
            for number, outgoing in enumerate(step.messages):  # noqa: B007 - the error tells it
                for name, value in (outgoing.props or {}).items():
                    check_user_property(name, value)
                check_body(to_utf8(outgoing.body), ProducerConfig.max_message_size)
    except (UserPropertyError, MQClientError) as error:
        why = error.error_message if isinstance(error, MQClientError) else error
        where = _("send: message {number}", number=number) if isinstance(step, Send) else "group"
        raise BadInput(f"{where}: {why}") from error


def property_texts(properties: object) -> dict[str, object] | None:
    """Properties of one message as a dict of texts.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    if not isinstance(properties, Mapping | None):
        raise BadInput(
            _(
                'send: properties of a message are {properties}; right is names and texts: {{"a": "5"}}',
                properties=f"{properties!r}",
            )
        )
    for name, value in (properties or {}).items():
        if not isinstance(name, str):
            raise BadInput(_("send: a property is named {name}; right is a text", name=f"{name!r}"))
        if not isinstance(value, str):
            raise BadInput(
                _(
                    "send: property {name} is {value}; a property is a text, such as {value2}",
                    name=f"{name!r}",
                    value=f"{value!r}",
                    value2=f"{str(value)!r}",
                )
            )
    return None if properties is None else dict(properties)


def require_expressions(who: str, given: object, kind: str) -> None:
    """Refuse what is no topic and expression.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    if not isinstance(given, Mapping) or not all(isinstance(expression, str) for expression in given.values()):
        raise BadInput(
            _('{who} subscribes {given}; right is topic and expression: {{"T": "tagA"}}', who=who, given=f"{given!r}")
        )
    if kind == "SQL92" and not all(given.values()):
        raise BadInput(
            _('{who} subscribes {given}; right is topic and condition: {{"T": "a > 3"}}', who=who, given=f"{given!r}")
        )


def refuse_condition(topic: str, expression: str) -> None:
    """A condition given as a tag matches nothing, so it is refused, as is what no client can subscribe."""
    from rmqlab.plugins import doubts, looks_like_sql92

    if looks_like_sql92(expression):
        right = doubts(TAG, expression)[0].write or expression
        raise BadInput(
            _(
                "{expression} looks like a SQL92 condition, but it was given as a tag expression; write "
                "sql92={{{topic}: {right}}}",
                expression=f"{expression!r}",
                topic=f"{topic!r}",
                right=f"{right!r}",
            )
        )
    try:
        build_subscription_data(None, topic, expression)
    except BadInput as error:
        right = f'write tags with || between, as in {{{topic!r}: "tagA || tagB"}}, or "*"'
        raise BadInput(
            _(
                "{expression} is a tag expression that no client can subscribe ({error}); {right}",
                expression=f"{expression!r}",
                error=error,
                right=right,
            )
        ) from None
