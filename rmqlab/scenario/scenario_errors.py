"""What is wrong with the JSON of a scenario, in words: the place as it is written there, and what would be right."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

import msgspec

from rmqlab.errors import did_you_mean
from rmqlab.language import _, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rmqlab.scenario.scenario import Start

_TOKEN: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_WORDS: Final = {
    "object": "an object {...}",
    "array": _("a list [...]"),
    "str": _("a text"),
    "int": _("a whole number"),
    "bool": _("true or false"),
    "null": "null",
    "float": _("a number"),
}
_LONGEST: Final = 60
# The places of objects that are no steps, by the last name on the way there.
MESSAGES_FIELD, SUBSCRIBE, PROPS, TOPICS = "messages", "subscribe", "props", "topics"
EXAMPLES: Final = {
    SUBSCRIBE: '{"T": {"type": "TAG", "expr": "tagA || tagB"}}',
    MESSAGES_FIELD: '[{"body": "b", "tag": "tagA", "props": {"a": "5"}}]',
    PROPS: '{"a": "5"}',
    TOPICS: '{"T": 4}',
}


def explained(
    error: msgspec.ValidationError, fields: object, steps: Mapping[str, type], others: Mapping[str, type]
) -> str:
    """Say what `error` found in `fields`: place, what is there, what would be right.

    `steps`: the class of a step by its "do". `others`: that of the scenario (by ""), of a message and of a
    subscription (by the last name on the way there).
    """
    problem, _ignored, path = str(error).partition(" - at `$")
    names, value = _walk(fields, path.rstrip("`"))
    place = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names).removeprefix(".")
    if problem == "Object missing required field `do`":
        return _('{place}: "do" is missing; it is one of {steps}', place=place, steps=joined(", ", steps))
    if names[-1:] == ["do"]:
        right = did_you_mean(str(value), steps) or _('; "do" is one of {steps}', steps=joined(", ", steps))
        return _("{place} is {value}, and there is no such step{right}", place=place, value=_shown(value), right=right)
    owner = _owner(fields, names, steps, others)
    if match := re.fullmatch(r"Object contains unknown field `(.*)`", problem, re.DOTALL):
        meant = did_you_mean(match[1], _known(owner))
        return _(
            "{place}: there is no field {found} here{meant}; {has}",
            place=place or _("the scenario"),
            found=f"{match[1]!r}",
            meant=meant,
            has=_has(owner, value),
        )
    if match := re.fullmatch(r"Object missing required field `(.*)`", problem):
        return _(
            "{place}: {found} is missing; {has}",
            place=place or _("the scenario"),
            found=f"{match[1]!r}",
            has=_has(owner, value),
        )
    within = next((str(name) for name in names[-2:] if name in EXAMPLES), "")
    if match := re.match(r"Expected `(.*?)`, got", problem):
        wanted = joined(" or ", (_WORDS.get(name, name) for name in match[1].split(" | ")))
        right = (
            _('{wanted}, as in "{within}": {examples}', wanted=wanted, within=within, examples=EXAMPLES[within])
            if within
            else wanted
        )
        return _(
            "{place} is {value}; right is {right}", place=place or _("the scenario"), value=_shown(value), right=right
        )
    parent = _owner(fields, names[:-1], steps, others)
    choices = _choices(parent, str(names[-1])) if names else ()
    if choices:
        meant = did_you_mean(str(value), choices)
        return _(
            "{place} is {value}; it is one of {choices}{meant}",
            place=place,
            value=_shown(value),
            choices=joined(", ", choices),
            meant=meant,
        )
    return f"{place}: {problem}"


def _walk(fields: Any, path: str) -> tuple[list[str | int], Any]:
    """The names on the way to what is wrong, and what is there; msgspec does not say which key of a mapping it is."""
    names: list[str | int] = []
    for match in _TOKEN.finditer(path):
        if match[2] == "...":
            key = next((name for name in fields if _is_wrong(str(names[-1]), fields[name])), next(iter(fields), ""))
            names.append(str(key))
            fields = fields.get(key)
        elif match[2] is not None:
            names.append(int(match[2]))
            fields = fields[int(match[2])]
        else:
            names.append(match[1])
            fields = fields.get(match[1]) if isinstance(fields, dict) else None
    return names, fields


def _is_wrong(where: str, value: Any) -> bool:
    if where == TOPICS:
        return type(value) is not int
    if where == PROPS:
        return not isinstance(value, str)
    right = isinstance(value, dict) and {"expr"} <= value.keys() <= {"type", "expr"}
    right = right and value.get("type", "TAG") in ("TAG", "SQL92")
    return not (right and isinstance(value["expr"], str))


def _owner(fields: Any, names: list[str | int], steps: Mapping[str, type], others: Mapping[str, type]) -> type | None:
    """The class of the object at `names`."""
    if not names:
        return others[""]
    if names[0] != "steps" or len(names) == 1:
        return None
    if len(names) == 2:
        step = fields["steps"][names[1]]
        return steps.get(str(step.get("do"))) if isinstance(step, dict) else None
    return others.get(str(names[2])) if len(names) == 4 else None


def _known(owner: type | None) -> dict[str, msgspec.structs.FieldInfo]:
    return {} if owner is None else {field.encode_name: field for field in msgspec.structs.fields(owner)}


def _has(owner: type | None, value: object) -> str:
    what = _("a {do} step", do=f"{value['do']!r}") if isinstance(value, dict) and "do" in value else _("it")
    return _(
        "{what} has {name}",
        what=what,
        name=joined(", ", (name if field.required else f"[{name}]" for name, field in _known(owner).items())),
    )


def _choices(owner: type | None, name: str) -> tuple[str, ...]:
    field = _known(owner).get(name)
    return get_args(field.type) if field is not None and get_origin(field.type) is Literal else ()


def _shown(value: object) -> str:
    text = json.dumps(value, default=repr)  # who calls from Python may give what is no JSON
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def receive_problems(step: Start, field: str) -> Iterator[str]:
    """What a SimpleConsumer's calls can have wrong; how short an invisibility may be the proxy says."""
    for name, value, least in (("batch", step.batch, 1), ("invisible", step.invisible, 0), ("await", step.await_, 0)):
        if value < least:
            yield _("{field}.{name} is {value}; give {least} or more", field=field, name=name, value=value, least=least)
