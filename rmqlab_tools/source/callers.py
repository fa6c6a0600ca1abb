"""Who calls a function that makes consumers of its parameters: each call is a member of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab_tools.source.code import JVM
from rmqlab_tools.source.drafts import worked_out
from rmqlab_tools.source.scopes import Scope, bindings, calls_in, fits, of_itself
from rmqlab_tools.source.terms import Name
from rmqlab_tools.source.values import NotKnown

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
    owner = _owner(function, draft, code)
    if owner is None or not function.name:
        return [consumer]

    def made_at(file: str, line: int, values: Bound, name: str = "") -> list[FoundConsumer]:
        consumers = consumers_of(draft, code, follower, (*values, *bound), depth + 1)
        for each in consumers:
            if each.line == draft.line and each.file == draft.unit.file:
                each.name, each.file, each.line = name or each.name, file, line
        return consumers

    made: list[FoundConsumer] = []
    for bean, of_bean in code.beans.bindings(*owner):
        made += made_at(bean.file, bean.line, of_bean)
    name = draft.name if draft.name.isidentifier() else f"{function.name}()"
    for unit, type_, caller, call in _callers(function, owner, code, follower):
        made += made_at(unit.file, call.line, bindings(function, call, Scope(unit, type_, caller, bound)), name)
        if len(made) >= MOST_CALLERS:
            break
    if not draft.subscriptions and all(isinstance(each.group, NotKnown) for each in made):
        return [consumer]  # nothing is known of it wherever it is called from: it is said once
    return made or [consumer]


def _owner(function: Function, draft: Draft, code: Code) -> tuple[Unit, TypeOfCode] | None:
    return next(
        ((unit, made) for unit in _units(draft, code) for made in unit.types.values() if function in made.functions),
        None,
    )


def _callers(
    function: Function, owner: tuple[Unit, TypeOfCode], code: Code, follower: Follower
) -> Iterator[tuple[Unit, TypeOfCode, Function, Call]]:
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

    def is_wanted(*written: str) -> bool:  # two modules may each have a type of this name
        named = follower.type_named(written, scope) if scope.unit.of_jvm else None
        return named[1] is wanted if named is not None else written[0] not in scope.unit.imports

    if of_itself(call):
        if inside is wanted or not wanted.name:
            return True
        if call.function == wanted.simple or wanted.simple in inside.supers:
            return is_wanted(wanted.simple)
        return scope.unit.of_jvm and any(
            named[1] is wanted for named in _imported_statically(call.function, scope, follower)
        )
    if not isinstance(target, Name):
        return False
    if target.parts[-1] == wanted.simple:
        return is_wanted(*target.parts)
    declared = follower.declared_type(target, scope)
    return is_wanted(declared) if declared == wanted.simple else not wanted.name and not declared


def _imported_statically(function: str, scope: Scope, follower: Follower) -> Iterator[tuple[Unit, TypeOfCode]]:
    """The types that `import static` may bring a function from."""
    full = scope.unit.imports.get(function)
    for owner in [full.rpartition(".")[0]] if full else scope.unit.wildcards:
        named = follower.code.type_named(tuple(owner.split(".")), scope.unit) if owner else None
        if named is not None:
            yield named
