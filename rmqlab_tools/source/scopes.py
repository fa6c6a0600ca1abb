"""Where terms stand: a file, a type, a function, and what the parameters of functions are given there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rmqlab.language import _
from rmqlab_tools.source.terms import Call, Do, Function, Make, Name, Setting, Term, Text, TypeOfCode, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab_tools.source.terms import Annotation


SELF: Final = frozenset({"this", "self"})


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a term stands: file, type, function; `bound`: what parameters are given, each with where that stands.

    `entry`: the constant of an enum whose function it is.
    """

    unit: Unit
    type: TypeOfCode | None = None
    function: Function | None = None
    bound: Bound = ()
    entry: str = ""

    def given(self, function: Function, name: str) -> Placed | None:
        """What a parameter is given here."""
        return next((placed for key, placed in self.bound if key == (function, name)), None)


@dataclass(frozen=True, slots=True)
class Placed:
    """A term, and where it stands."""

    term: Term
    scope: Scope


Bound = tuple[tuple[tuple[Function, str], Placed], ...]
"""What parameters of functions are given, each with where that stands."""


def bindings(function: Function, call: Call, scope: Scope) -> Bound:
    """What a call gives to the parameters of a function."""
    named = dict(call.named)
    made = []
    for place, parameter in enumerate(function.parameters):
        term = named.get(parameter.name) or (
            call.arguments[place] if place < len(call.arguments) else parameter.default
        )
        if term is not None:
            made.append(((function, parameter.name), Placed(term, scope)))
    return tuple(made)


def of_itself(call: Call) -> bool:
    """Whether a function is called of the object or file in which the call stands."""
    target = call.target
    return target is None or (isinstance(target, Name) and len(target.parts) == 1 and target.parts[0] in SELF)


def calls_in(function: Function) -> Iterable[Call]:
    """The calls that stand in a function."""
    return (step.call for step in function.statements if isinstance(step, Do))


def fits(function: Function, call: Call) -> bool:
    """Whether a call may be one of a function, by name and number of arguments."""
    most = len(function.parameters)
    least = sum(1 for parameter in function.parameters if parameter.default is None)
    return function.name == call.function and least <= len(call.arguments) + len(call.named) <= most


def function_of(made: TypeOfCode, call: Call) -> Function | None:
    """The function of a type that a call may be of."""
    return next((function for function in made.functions if fits(function, call)), None)


def setting_of(annotations: Iterable[Annotation]) -> Setting | None:
    """The setting that `@Value` puts into a field or a parameter."""
    for annotation in annotations:
        value = annotation.values.get("value")
        if annotation.name == "Value" and isinstance(value, Text):
            return Setting(value.value)
    return None


def prefix_of(made: TypeOfCode) -> Term | None:
    """The beginning of the settings that Spring puts into a type's fields, as its annotation has it."""
    bound = next((each for each in made.annotations if each.name == "ConfigurationProperties"), None)
    return None if bound is None else bound.values.get("prefix") or bound.values.get("value")


def property_of(function: str) -> str:
    """The property that a getter is of."""
    match = re.fullmatch(r"(?:get|is)([A-Z]\w*)", function)
    return match[1][0].lower() + match[1][1:] if match else function


def ends(folder: str, path: str) -> bool:
    """Whether a folder may be that of an import of Go: its last parts are the path's."""
    parts = path.split("/")
    return any(f"/{folder}".endswith("/" + "/".join(parts[at:])) for at in range(min(len(parts), 3)))


def splits(parts: list[str]) -> Iterable[tuple[str, list[str]]]:
    """A dotted name as a module and what lies in it, the longest module first."""
    return ((".".join(parts[:at]), parts[at:]) for at in range(len(parts), 0, -1))


def missing(name: object) -> str:
    """That no source has a name."""
    return _("{name} is in none of the sources", name=str(name))


def shown(term: object) -> str:
    """A term in short, as its language writes it."""
    if isinstance(term, Call):
        before = f"{shown(term.target)}." if term.target is not None else ""
        return f"{before}{term.function}"
    if isinstance(term, Make):
        return f"new {term.type}"
    return str(term) if isinstance(term, Name) else repr(getattr(term, "value", getattr(term, "text", "...")))
