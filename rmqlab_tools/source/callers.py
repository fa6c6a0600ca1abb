"""Who calls a function that makes consumers of its parameters: each call is a member of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab_tools.source.code import JVM
from rmqlab_tools.source.drafts import worked_out
from rmqlab_tools.source.scopes import Scope, bindings, calls_in, fits, of_itself
from rmqlab_tools.source.terms import Name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.code import Code
    from rmqlab_tools.source.drafts import Draft, FoundConsumer
    from rmqlab_tools.source.follow import Follower
    from rmqlab_tools.source.scopes import Bound
    from rmqlab_tools.source.terms import Call, Function, TypeOfCode, Unit

DEEPEST: Final = 3
MOST_CALLERS: Final = 200


def consumers_of(
    draft: Draft, code: Code, follower: Follower, bound: Bound = (), depth: int = 0
) -> list[FoundConsumer]:
    """A draft's consumers: itself, or one for each caller of the function whose parameters it is made of.

    A caller whose own parameters count is asked for its callers in turn, three times at most.
    """
    consumer = worked_out(draft, follower, bound)
    given = consumer.given
    if not given or depth >= DEEPEST:
        return [consumer]
    function = min(given, key=lambda each: (each.line, each.name))
    made: list[FoundConsumer] = []
    for unit, type_, caller, call in _callers(function, draft, code, follower):
        more = bindings(function, call, Scope(unit, type_, caller, bound))
        for each in consumers_of(draft, code, follower, (*more, *bound), depth + 1):
            if each.line == draft.line and each.file == draft.unit.file:
                each.name, each.file, each.line = draft.name, unit.file, call.line
            made.append(each)
        if len(made) >= MOST_CALLERS:
            break
    return made or [consumer]


def _callers(
    function: Function, draft: Draft, code: Code, follower: Follower
) -> Iterator[tuple[Unit, TypeOfCode, Function, Call]]:
    owner = next(
        ((unit, made) for unit in _units(draft, code) for made in unit.types.values() if function in made.functions),
        None,
    )
    if owner is None or not function.name:
        return
    of_unit, of_type = owner
    words = re.compile(rf"\b{re.escape(function.name)}\s*\(")
    ends = JVM if of_unit.of_jvm else (f".{of_unit.file.rpartition('.')[2]}",)
    for _file, unit in code.with_words(words, *ends):
        for made in unit.types.values():
            for caller in made.functions:
                if caller is function:
                    continue
                for call in calls_in(caller):
                    if fits(function, call) and _is_of(call, of_type, made, Scope(unit, made, caller), follower):
                        yield unit, made, caller, call


def _units(draft: Draft, code: Code) -> Iterator[Unit]:
    yield draft.unit
    yield from (unit for unit in code.known_units if unit is not draft.unit)


def _is_of(call: Call, wanted: TypeOfCode, inside: TypeOfCode, scope: Scope, follower: Follower) -> bool:
    """Whether a call is of a function of a type: of its own, of what extends it, or of an object declared as it."""
    target = call.target
    if of_itself(call):
        return call.function == wanted.simple or inside is wanted or wanted.simple in inside.supers or not wanted.name
    if not isinstance(target, Name):
        return False
    if target.parts[-1] == wanted.simple:
        return True
    declared = follower.declared_type(target, scope)
    return declared == wanted.simple or (not wanted.name and not declared)
