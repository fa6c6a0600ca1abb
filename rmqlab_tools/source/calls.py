"""Calls followed to what they give back: functions of the sources, getters, texts that standard libraries make."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rmqlab.language import _
from rmqlab_tools.source.known_calls import JVM_TEXTS, known_call
from rmqlab_tools.source.names import NameFollower
from rmqlab_tools.source.scopes import Placed, Scope, bindings, function_of, of_itself, property_of, shown
from rmqlab_tools.source.terms import Call, Join, Name, Return, Setting, Text, chain, root
from rmqlab_tools.source.values import NotKnown

if TYPE_CHECKING:
    from rmqlab_tools.source.terms import Function, TypeOfCode, Unit

_OF_THE_CLIENT: Final = frozenset({"bySql", "byTag", "NewFilterExpression", "NewFilterExpressionWithType"})


class CallFollower(NameFollower):
    """Follows calls too."""

    def call_of(self, call: Call, scope: Scope) -> Placed | NotKnown | None:
        """What a call gives back, one step further; None of a call that is not followed."""
        if call.function in _OF_THE_CLIENT:  # also where the client's own source is among the sources
            return None
        made = known_call(call)
        if made is not None:
            return NotKnown(made) if isinstance(made, str) else Placed(made, scope)
        target = call.target
        if isinstance(target, Call):
            return self._of_bound_settings(call, scope)
        if of_itself(call):
            return self._own_call(call, scope)
        if isinstance(target, Name):
            return self._call_of(target, call, scope)
        if isinstance(target, Text | Join) and call.function in JVM_TEXTS:
            return Placed(target, scope)
        return None

    def called(self, call: Call, scope: Scope) -> tuple[Unit, TypeOfCode, Function] | None:
        """The function of the sources that a call is of; None where it is none, or where objects decide."""
        target = call.target
        if of_itself(call):
            places = [*self.types_in_reach(scope)]
        elif isinstance(target, Name):
            declared = self.declared_type(target, scope)
            place = self.type_named((declared,) if declared else target.parts, scope) if scope.unit.of_jvm else None
            places = [] if place is None else [place]
        else:
            places = []
        for unit, made in places:
            function = function_of(made, call)
            if function is not None:
                return unit, made, function
        return None

    def _of_bound_settings(self, call: Call, scope: Scope) -> Placed | None:
        """`properties.getMq().getTopic()` of an object that Spring fills from settings: the setting of that path."""
        calls, start = chain(call), root(call)
        if not isinstance(start, Name) or any(each.arguments for each in calls):
            return None
        declared = self.declared_type(start, scope)
        named = self.type_named((declared,), scope) if declared else None
        prefix = None if named is None else self.prefix(*named)
        if prefix is None:
            return None
        return Placed(Setting(f"${{{'.'.join([prefix, *(property_of(each.function) for each in calls)])}}}"), scope)

    def _own_call(self, call: Call, scope: Scope) -> Placed | NotKnown | None:
        for unit, made in self.types_in_reach(scope):
            function = function_of(made, call)
            if function is not None:
                return self._result(function, call, scope, Scope(unit, made, function, entry=scope.entry))
        if scope.unit.language == "go":
            for other in self.code.siblings(scope.unit, ".go"):
                function = function_of(other.types[""], call) if "" in other.types else None
                if function is not None:
                    return self._result(function, call, scope, Scope(other, other.types[""], function))
        return None

    def _call_of(self, target: Name, call: Call, scope: Scope) -> Placed | NotKnown | None:
        """A call of a type's function, of an enum's constant, or of an object whose type is declared here."""
        *before, last = target.parts
        declared = self.declared_type(target, scope)
        if declared:
            return self._on_object(declared, call, scope)
        if not scope.unit.of_jvm:
            return None
        named = self.type_named(target.parts, scope)
        if named is not None:
            unit, made = named
            function = function_of(made, call)
            return None if function is None else self._result(function, call, scope, Scope(unit, made, function))
        if before:
            owner = self.type_named(tuple(before), scope)
            if owner is not None and last in owner[1].entries:
                return self._on_entry(owner, last, call, scope)
        elif (full := scope.unit.imports.get(last, "")) and "." in full:
            owner = self.code.type_named(tuple(full.split(".")[:-1]), scope.unit)
            if owner is not None and last in owner[1].entries:
                return self._on_entry(owner, last, call, scope)
        if call.function in JVM_TEXTS and not call.arguments:
            return Placed(target, scope)
        return None

    def _on_entry(
        self, owner: tuple[Unit, TypeOfCode], entry: str, call: Call, scope: Scope
    ) -> Placed | NotKnown | None:
        unit, made = owner
        if call.function in {"name", "toString"} and function_of(made, call) is None:
            return Placed(Text(entry), scope)
        function = function_of(made, call)
        if function is not None:
            return self._result(function, call, scope, Scope(unit, made, function, entry=entry))
        return self.of_entry(made, entry, property_of(call.function), unit)

    def _on_object(self, type_: str, call: Call, scope: Scope) -> Placed | NotKnown | None:
        named = self.type_named((type_,), scope)
        if named is None:
            return None
        unit, made = named
        function = function_of(made, call)
        getter = property_of(call.function)
        if getter and getter in made.fields and not call.arguments:
            return self.of_declared(type_, [getter], scope)
        return None if function is None else self._result(function, call, scope, Scope(unit, made, function))

    def _result(self, function: Function, call: Call, asking: Scope, here: Scope) -> Placed | NotKnown:
        returns = [step.value for step in function.statements if isinstance(step, Return)]
        if len(set(returns)) != 1:
            return NotKnown(_("{call}() gives back more than one thing", call=shown(call)))
        return Placed(returns[0], replace(here, bound=(*bindings(function, call, asking), *asking.bound)))
