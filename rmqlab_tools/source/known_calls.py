"""Calls of standard libraries that make a text of texts: they are read as what they come to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab.language import _
from rmqlab_tools.source.terms import Call, Items, Join, Name, Setting, Text

if TYPE_CHECKING:
    from rmqlab_tools.source.terms import Term

JVM_TEXTS: Final = frozenset({"strip", "toString", "trim", "trimIndent", "trimMargin", "intern"})
"""Calls that leave a text as it is, but for blanks at its ends."""
_ENVIRONMENT: Final = frozenset({
    "System.getenv", "System.getProperty", "os.Getenv", "os.getenv", "os.environ.get", "os.LookupEnv",
})  # fmt: skip
_PLACES: Final = re.compile(r"%(?:\d+\$)?s|%v|%q")


def known_call(call: Call) -> Join | Text | Setting | str | None:
    """The term that a call comes to; a text of why it is not known; None of a call that is none of these.

    Sources: `String.format`, `String.join`, `String.concat` (Java), `fmt.Sprintf`, `strings.Join` (Go), `str.join`
    (Python), `joinToString` (Kotlin), `Environment.getProperty` (Spring).
    """
    name = f"{call.target}.{call.function}" if isinstance(call.target, Name) else call.function
    arguments = call.arguments
    if name in _ENVIRONMENT:
        return _("{call}() reads the environment of the process", call=name)
    if name in {"String.format", "fmt.Sprintf"} and arguments and isinstance(arguments[0], Text):
        return _formatted(arguments[0].value, arguments[1:])
    if call.function in {"format", "formatted"} and isinstance(call.target, Text) and "%" in call.target.value:
        return _formatted(call.target.value, arguments)
    if name == "String.join" and arguments:
        rest = arguments[1:]
        listed = rest[0].items if len(rest) == 1 and isinstance(rest[0], Items) else rest
        return _joined(arguments[0], listed)
    if name == "strings.Join" and len(arguments) == 2 and isinstance(arguments[0], Items):
        return _joined(arguments[1], arguments[0].items)
    if call.function == "join" and isinstance(call.target, Text) and len(arguments) == 1:
        return _joined(call.target, arguments[0].items) if isinstance(arguments[0], Items) else None
    if call.function == "joinToString" and isinstance(call.target, Call) and call.target.function == "listOf":
        return _joined(arguments[0] if arguments else Text(", "), call.target.arguments)
    if call.function == "concat" and call.target is not None and len(arguments) == 1:
        return Join((call.target, arguments[0]))
    if name in {"String.valueOf", "Objects.toString"} and len(arguments) == 1:
        return Join((arguments[0],))
    if call.function in {"getProperty", "getRequiredProperty", "resolvePlaceholders"} and _is_environment(call):
        first = arguments[0] if arguments else None
        if isinstance(first, Text):
            if call.function == "resolvePlaceholders":
                return Setting(first.value)
            default = arguments[1] if len(arguments) > 1 else None
            end = f":{default.value}" if isinstance(default, Text) else ""
            return Setting(f"${{{first.value}{end}}}")
    return None


def _is_environment(call: Call) -> bool:
    return isinstance(call.target, Name) and call.target.parts[-1].lower().endswith(("env", "environment"))


def _formatted(text: str, values: tuple[Term, ...]) -> Join | None:
    """A text with `%s` for each value; any other place is not followed."""
    pieces = _PLACES.split(text)
    if len(pieces) - 1 != len(values) or any("%" in piece.replace("%%", "") for piece in pieces) or "$s" in text:
        return None
    parts: list[Term] = [Text(pieces[0].replace("%%", "%"))]
    for value, piece in zip(values, pieces[1:], strict=True):
        parts += [value, Text(piece.replace("%%", "%"))]
    return Join(tuple(parts))


def _joined(between: Term, values: tuple[Term, ...]) -> Join:
    parts: list[Term] = []
    for value in values:
        parts += [between, value] if parts else [value]
    return Join(tuple(parts))
