"""Names followed to what they stand for: variables, parameters, fields, constants of other files, enums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rmqlab.language import _, joined
from rmqlab_tools.source.scopes import SELF, Placed, Scope, ends, missing, prefix_of, setting_of, splits
from rmqlab_tools.source.terms import Assign, Make, Name, Setting, Text
from rmqlab_tools.source.values import NotKnown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab_tools.source.code import Code
    from rmqlab_tools.source.settings import Settings
    from rmqlab_tools.source.terms import Field, Parameter, TypeOfCode, Unit

DEEPEST: Final = 60
"""Names that lead to one another, and types around or above one."""


class NameFollower(ABC):
    """Follows names through the code and settings of a code base."""

    def __init__(self, code: Code, settings: Settings) -> None:
        """`code` finds types, `settings` what placeholders stand for."""
        self.code, self.settings = code, settings

    @abstractmethod
    def reach(self, placed: Placed) -> Placed | NotKnown:
        """What a name or a call stands for: a term that is neither, or a call that is not ours."""

    def name_of(self, name: Name, scope: Scope) -> Placed | NotKnown | None:
        """What a name stands for, one step further; None of a name that no source has."""
        head, *rest = name.parts
        if name.parts[-1] == "SUB_ALL" or name.parts in {("null",), ("None",), ("nil",)}:  # all messages of a topic
            return Placed(Text("*"), scope)
        if head in SELF and rest:
            return self.in_type(tuple(rest), scope) if scope.type is not None else None
        if scope.function is not None:
            local = self._local(head, scope)
            if local is not None:
                return local if not rest or isinstance(local, NotKnown) else self._inside(local, rest)
        if scope.type is not None:
            own = self.in_type(name.parts, scope)
            if own is not None:
                return own
        return self._outside(name, scope)

    def _local(self, name: str, scope: Scope) -> Placed | NotKnown | None:
        """A variable or a parameter of the function."""
        function = scope.function
        if function is None:
            return None
        given = [step for step in function.statements if isinstance(step, Assign) and step.target == (name,)]
        parameter = next((each for each in function.parameters if each.name == name), None)
        values = list(dict.fromkeys(step.value for step in given if step.value is not None))
        if parameter is not None and not values:
            return self._parameter(parameter, scope)
        if not given or (scope.type is not None and name in scope.type.fields and not any(step.type for step in given)):
            return None
        if not values:
            return NotKnown(_("{name} is given no value here", name=name))
        if len(values) > 1 or parameter is not None:
            lines = joined(", ", sorted({step.line for step in given if step.value is not None}))
            return NotKnown(_("{name} is set at several places (lines {lines})", name=name, lines=lines))
        return Placed(values[0], scope)

    def _parameter(self, parameter: Parameter, scope: Scope) -> Placed | NotKnown:
        function = scope.function
        if function is None:
            return NotKnown(missing(Name((parameter.name,))))
        setting = setting_of(parameter.annotations)
        if setting is not None:
            return Placed(setting, scope)
        bound = scope.given(function, parameter.name)
        if bound is not None:  # where that stands, the parameters of callers further out count as they do here
            outer = tuple(pair for pair in scope.bound if pair not in bound.scope.bound)
            return replace(bound, scope=replace(bound.scope, bound=(*bound.scope.bound, *outer)))
        return NotKnown(
            _("{name} is a parameter of {function}()", name=parameter.name, function=function.name or "init"),
            frozenset({function}),
        )

    def in_type(self, parts: tuple[str, ...], scope: Scope) -> Placed | NotKnown | None:
        """A field or a constant of the type, of those around it, or of those that it extends."""
        head, *rest = parts
        for unit, made in self.types_in_reach(scope):
            here = Scope(unit, made, bound=scope.bound, entry=scope.entry if made is scope.type else "")
            if head in made.entries:
                return self._entry(made, head, rest, here)
            if scope.entry and made is scope.type and (of_entry := self.of_entry(made, scope.entry, head, unit)):
                return of_entry
            if rest and (prefix := self.prefix(unit, made)) is not None and head in made.fields:
                return Placed(Setting(f"${{{'.'.join([prefix, *parts])}}}"), scope)
            if head in made.fields:
                value = self._field(made.fields[head], made, here, scope)
                return (
                    value if not rest or isinstance(value, NotKnown) else self._inside(value, rest, made.fields[head])
                )
            parameter = next((each for each in made.parameters if each.name == head), None)
            if parameter is not None:
                setting = setting_of(parameter.annotations)
                if setting is not None:
                    return Placed(setting, here)
                if rest:
                    return self.of_declared(parameter.type, rest, here)
                return NotKnown(_("{name} is a parameter of {type}", name=head, type=made.name))
        return None

    def type_named(self, parts: tuple[str, ...], scope: Scope) -> tuple[Unit, TypeOfCode] | None:
        """The type that a name means where it stands; None where no source has it."""
        return self.code.type_named(parts, scope.unit, "" if scope.type is None else scope.type.name)

    def types_in_reach(self, scope: Scope) -> Iterable[tuple[Unit, TypeOfCode]]:
        """The type of a scope, those that it extends, and those around it."""
        seen: list[TypeOfCode] = []
        waiting = [(scope.unit, scope.type)]
        while waiting and len(seen) < DEEPEST:
            unit, made = waiting.pop(0)
            if made is None or made in seen:
                continue
            seen.append(made)
            yield unit, made
            waiting += [self.code.type_named((parent,), unit, made.name) or (unit, None) for parent in made.supers]
            around = made.name.rpartition(".")[0]
            waiting.append((unit, unit.types.get(around) if around else None))
            waiting.append((unit, unit.types.get("")))

    def _field(self, wanted: Field, made: TypeOfCode, here: Scope, asking: Scope) -> Placed | NotKnown:
        setting = setting_of(wanted.annotations)
        if setting is not None:
            return Placed(setting, here)
        prefix = self.prefix(here.unit, made)
        if prefix is not None and not wanted.static:
            default = "" if not isinstance(wanted.value, Text) else f":{wanted.value.value}"
            return Placed(Setting(f"${{{prefix}.{wanted.name}{default}}}"), asking)
        sets = [
            (function, step)
            for function in made.functions
            for step in function.statements
            if isinstance(step, Assign)
            and step.target in {("this", wanted.name), ("self", wanted.name), (wanted.name,)}
            and not step.type
        ]
        if wanted.value is not None and not sets:
            return Placed(wanted.value, here)
        values = {step.value for _function, step in sets} | ({wanted.value} if wanted.value is not None else set())
        if len(values) > 1:
            lines = joined(", ", sorted({wanted.line, *(step.line for _function, step in sets)}))
            return NotKnown(_("{name} is set at several places (lines {lines})", name=wanted.name, lines=lines))
        function, value = (sets[0][0], sets[0][1].value) if sets else (None, None)
        if value is None:
            return NotKnown(_("{name} is given no value in {type}", name=wanted.name, type=made.name))
        return Placed(value, replace(asking if asking.function is function else here, function=function))

    def _inside(self, placed: Placed, rest: list[str], declared: Field | None = None) -> Placed | NotKnown | None:
        """What lies in an object that a variable has, by the variable's declared type."""
        reached = self.reach(placed)
        if isinstance(reached, Placed) and isinstance(reached.term, Make):
            named = dict(reached.term.named)
            if len(rest) == 1 and rest[0] in named:
                return Placed(named[rest[0]], reached.scope)
            return self.of_declared(reached.term.type, rest, reached.scope)
        return None if declared is None else self.of_declared(declared.type, rest, placed.scope)

    def prefix(self, unit: Unit, made: TypeOfCode) -> str | None:
        """The beginning of the settings that Spring puts into a type's fields; None where it puts none, or unknown."""
        term = prefix_of(made)
        reached = None if term is None else self.reach(Placed(term, Scope(unit, made)))
        return reached.term.value if isinstance(reached, Placed) and isinstance(reached.term, Text) else None

    def of_declared(self, type_: str, rest: list[str], scope: Scope) -> Placed | NotKnown | None:
        """A field of an object whose type is declared; None where no source has it."""
        named = self.type_named((type_,), scope) if type_ else None
        if named is None:
            return None
        unit, made = named
        value = self.in_type(tuple(rest), Scope(unit, made))
        # settings are those of the application that asks, which may be another one than the type's
        if isinstance(value, Placed) and isinstance(value.term, Setting):
            return Placed(value.term, scope)
        return value

    def _outside(self, name: Name, scope: Scope) -> Placed | NotKnown | None:
        """A constant of another type or file."""
        unit = scope.unit
        if unit.language == "go":
            return self._go(name, unit)
        if unit.language == "python":
            return self._python(name, unit)
        head, *rest = name.parts
        if not rest:
            return self._imported(head, unit)
        for size in range(len(name.parts) - 1, 0, -1):
            named = self.type_named(name.parts[:size], scope)
            if named is not None:
                return self.in_type(name.parts[size:], Scope(*named))
        return None

    def _imported(self, name: str, unit: Unit) -> Placed | NotKnown | None:
        """A name that an import of one constant, or of all of a type, brings; of Kotlin one of the package too."""
        wanted = [unit.imports[name]] if name in unit.imports else [f"{each}.{name}" for each in unit.wildcards]
        for full in wanted:
            owner, _dot, constant = full.rpartition(".")
            named = self.code.type_named(tuple(owner.split(".")), unit) if owner else None
            if named is not None:
                value = self.in_type((constant,), Scope(*named))
                if value is not None:
                    return value
        if unit.language == "kotlin":
            packages = {full.rpartition(".")[0] for full in wanted} | {unit.package}
            for other in self.code.declaring_outside(name if not wanted else wanted[0].rpartition(".")[2]):
                if other.package in packages:
                    return self.in_type((wanted[0].rpartition(".")[2] if name in unit.imports else name,),
                                         Scope(other, other.types[""]))  # fmt: skip
        return None

    def _go(self, name: Name, unit: Unit) -> Placed | NotKnown | None:
        head, *rest = name.parts
        if not rest:
            units = self.code.siblings(unit, ".go")
        else:
            path = unit.imports.get(head, "")
            folder = next((each for each in self.code.folders(".go") if path and ends(each, path)), None)
            units = iter(()) if folder is None else self.code.in_folder(folder, ".go")
        wanted = tuple(rest) or (head,)
        for other in units:
            made = other.types.get("")
            if made is not None and wanted[0] in made.fields:
                return self.in_type(wanted, Scope(other, made))
        return None

    def _python(self, name: Name, unit: Unit) -> Placed | NotKnown | None:
        head, *rest = name.parts
        if rest and head in unit.types:
            return self.in_type(tuple(rest), Scope(unit, unit.types[head]))
        full = unit.imports.get(head)
        if full is None:
            return None
        for module, inner in splits([*full.split("."), *rest]):
            other = self.code.python_module(module, unit)
            if other is not None and inner:
                owner = other.types.get(inner[0]) if len(inner) > 1 else other.types.get("")
                if owner is not None:
                    return self.in_type(tuple(inner[1:] if len(inner) > 1 else inner), Scope(other, owner))
        return None

    def _entry(self, made: TypeOfCode, entry: str, rest: list[str], here: Scope) -> Placed | NotKnown | None:
        if not rest:
            if here.unit.of_jvm:
                return Placed(Text(entry), here)
            return None
        if rest[0] == "name":
            return Placed(Text(entry), here)
        return self.of_entry(made, entry, rest[0], here.unit)

    def of_entry(self, made: TypeOfCode, entry: str, name: str, unit: Unit) -> Placed | None:
        """What a field of an enum's constant is: the argument that the constructor puts there."""
        arguments = made.entries.get(entry, ())
        scope = Scope(unit, made)
        makers = [function for function in made.functions if function.name == made.simple]
        maker = next((each for each in makers if len(each.parameters) == len(arguments)), None)
        names = [parameter.name for parameter in maker.parameters] if maker else []
        if maker is not None:
            for step in maker.statements:
                if isinstance(step, Assign) and step.target in {("this", name), (name,)}:
                    value = step.value
                    if isinstance(value, Name) and value.parts[-1] in names:
                        return Placed(arguments[names.index(value.parts[-1])], scope)
                    return None if value is None else Placed(value, scope)
            return None
        if made.parameters:
            names = [parameter.name for parameter in made.parameters]
        elif not makers:  # Lombok makes a constructor of the fields in their order
            names = [each.name for each in made.fields.values() if not each.static and each.value is None]
        if name in names and names.index(name) < len(arguments):
            return Placed(arguments[names.index(name)], scope)
        return None

    def declared_type(self, name: Name, scope: Scope) -> str:
        """The type with which a variable, parameter or field is declared; "" where it is not, or is of no source."""
        head = name.parts[-1]
        if name.parts[:-1] not in {(), ("this",), ("self",)}:
            return ""
        if scope.function is not None and len(name.parts) == 1:
            for parameter in scope.function.parameters:
                if parameter.name == head:
                    return parameter.type
            for step in scope.function.statements:
                if isinstance(step, Assign) and step.target == (head,) and (step.type or isinstance(step.value, Make)):
                    made = step.value.type if isinstance(step.value, Make) else ""
                    return step.type if step.type not in {"", "var", "val"} else made
        for _unit, made_type in self.types_in_reach(scope):
            if head in made_type.fields:
                wanted = made_type.fields[head]
                return wanted.type or (wanted.value.type if isinstance(wanted.value, Make) else "")
            for parameter in made_type.parameters:
                if parameter.name == head:
                    return parameter.type
        return ""
