"""Consumers that code of Java or Kotlin makes: push and lite pull consumers, gRPC builders, those of ONS."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab_tools.source.code import JVM
from rmqlab_tools.source.drafts import Draft, DraftSubscription, pairs_of, subscribing
from rmqlab_tools.source.jvm_names import (
    BUILDERS,
    IMPORTED,
    KINDS,
    ONS_MAKERS,
    OURS,
    OWN_PACKAGES,
    REGISTER,
    SETTERS,
    TAKE_QUEUES,
    WORDS,
)
from rmqlab_tools.source.scopes import Placed, Scope, bindings
from rmqlab_tools.source.terms import Assign, Call, Do, Join, Make, Name, Return, Setting, Text, chain, root
from rmqlab_tools.source.values import GROUP_KEYS, NO_GROUP, NotKnown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab_tools.source.code import Code
    from rmqlab_tools.source.follow import Follower
    from rmqlab_tools.source.terms import Function, Term, TypeOfCode, Unit


def jvm_drafts(code: Code, follower: Follower) -> Iterator[Draft]:
    """The consumers of all files of Java and Kotlin that name a class of the client."""
    drafts: list[Draft] = []
    followed: set[Function] = set()
    for _file, unit in code.with_words(WORDS, *JVM):
        for made in unit.types.values() if unit.package not in OWN_PACKAGES else ():
            finder = _Finder(unit, made, follower, followed)
            drafts += finder.drafts()
    # what a function makes for its callers subscribes where these are
    return (draft for draft in drafts if draft.subscriptions or draft.maker not in followed)


class _Finder:
    """The consumers that one type makes, by the variables that hold them."""

    def __init__(self, unit: Unit, made: TypeOfCode, follower: Follower, followed: set[Function]) -> None:
        self._unit, self._type, self._follower, self._followed = unit, made, follower, followed
        self._by_variable: dict[tuple[Function | None, str], Draft] = {}
        self._by_chain: dict[Call, Draft] = {}
        self._by_step: dict[int, Draft] = {}
        self._by_name: defaultdict[tuple[Function | None, str], list[Draft]] = defaultdict(list)
        self._drafts: list[Draft] = []

    def drafts(self) -> list[Draft]:
        """All of them that subscribe something, or are made here."""
        for field in self._type.fields.values():
            if isinstance(field.value, Make | Call):
                self._made(field.value, None, field.name, field.line)
        for function in self._type.functions:
            for parameter in function.parameters:
                kind = self._kind(parameter.type)
                if kind and not (function.name == "prepareStart" and self._annotated):  # the annotation's consumer
                    placed = self._at(Name((parameter.name,)), function)
                    draft = self._draft(parameter.name, function.line, kind, placed)
                    draft.remark = _(
                        "{name} is a parameter of {function}()", name=parameter.name, function=function.name
                    )
                    self._by_variable[function, parameter.name] = draft
            for step in function.statements:
                if isinstance(step, Assign):
                    self._assigned(step, function)
        for field in self._type.fields.values():
            kind = self._kind(field.type)
            if kind and (None, field.name) not in self._by_variable:
                self._by_variable[None, field.name] = self._draft(field.name, field.line, kind, NO_GROUP)
        for function in self._type.functions:
            for step in function.statements:
                if isinstance(step, Do):
                    self._called(step.call, function)
                elif isinstance(step, Assign) and id(step) in self._by_step:
                    self._by_variable[function, step.target[-1]] = self._by_step[id(step)]
                elif isinstance(step, Assign) and len(step.target) > 1 and step.value is not None:
                    self._set_property(step, function)
        for drafts in self._by_name.values():
            self._alternatives(drafts)
        return [draft for draft in self._drafts if subscribing(draft)]

    def _alternatives(self, drafts: list[Draft]) -> None:
        """`c = new X("a")` or else `c = new X("b")`, then `c.subscribe(...)`: what follows is said of both."""
        for draft, after in zip(drafts[-2::-1], drafts[:0:-1], strict=True):
            if draft.subscriptions or not after.subscriptions:
                continue
            if NO_GROUP in {draft.group, after.group} or draft.group == after.group:
                self._drafts.remove(draft)
                after.group = draft.group if after.group == NO_GROUP else after.group
            else:
                draft.subscriptions, draft.servers, draft.settings = after.subscriptions, after.servers, after.settings

    @property
    def _annotated(self) -> bool:
        return any(annotation.name == "RocketMQMessageListener" for annotation in self._type.annotations)

    def _kind(self, written: str) -> str:
        """How a class of the client fetches; "" of any other class."""
        written = written.rstrip("?!")
        if written in KINDS:
            return KINDS[written]
        if written not in IMPORTED:
            return ""
        full = self._unit.imports.get(written, "")
        imported = full.startswith(OURS) if full else any(each.startswith(OURS) for each in self._unit.wildcards)
        return IMPORTED[written] if imported else ""

    def _at(self, term: Term, function: Function | None) -> Placed:
        return Placed(term, Scope(self._unit, self._type, function))

    def _draft(self, name: str, line: int, kind: str, group: Placed | NotKnown) -> Draft:
        draft = Draft(name, self._unit, self._type, line, kind, group)
        self._drafts.append(draft)
        return draft

    def _assigned(self, step: Assign, function: Function) -> None:
        name = step.target[-1]
        if step.target[:-1] not in {(), ("this",)}:
            return
        is_field = step.target[:-1] == ("this",) or (name in self._type.fields and not step.type)
        where = None if is_field else function
        before = self._by_variable.get((where, name))
        if step.value is not None:
            self._made(step.value, function, name, step.line, where)
        draft = self._by_variable.get((where, name))
        if draft is not None and draft is not before:
            self._by_step[id(step)] = draft
        written = self._type.fields[name].type if is_field and name in self._type.fields else step.type
        if (where, name) not in self._by_variable and step.value is not None and (kind := self._kind(written)):
            if isinstance(step.value, Call) and self._made_elsewhere(step.value, function, name, where, kind):
                return
            start = root(step.value)
            given = {parameter.name for parameter in function.parameters}
            if isinstance(step.value, Name) and step.value.parts[-1] in given:
                why = _("{name} is a parameter of {function}()", name=step.value.parts[-1], function=function.name)
            else:
                shown = getattr(start, "text", str(start or ""))
                call = step.value.function if isinstance(step.value, Call) else shown
                why = _("{name} is made by {call}, which is not followed", name=name, call=call or "...")
            self._by_variable[where, name] = self._draft(name, step.line, kind, NotKnown(why))

    def _made(
        self, value: Term, function: Function | None, name: str, line: int, where: Function | None = None
    ) -> None:
        """A variable is given a value: a new consumer, or what a chain of a builder ends with."""
        if isinstance(value, Make) and (kind := self._kind(value.type)):
            draft = self._draft(name, line, kind, NO_GROUP)
            draft.is_made, draft.maker, draft.takes_queues = True, function, value.type in TAKE_QUEUES
            self._constructed(draft, value, function)
            self._by_variable[where, name] = draft
            self._by_name[where, name].append(draft)
            return
        calls = chain(value) if isinstance(value, Call) else []
        start = root(value)
        if isinstance(start, Make) and self._kind(start.type):  # of Kotlin: DefaultMQPushConsumer("g").apply { }
            self._made(start, function, name, line, where)
            draft = self._by_variable[where, name]
            self._by_chain[calls[-1]] = draft
            self._apply(draft, calls, function)
        elif kind := _built(calls):
            draft = self._draft(name, line, kind, NO_GROUP)
            draft.is_made, draft.maker = True, function
            self._by_variable[where, name] = self._by_chain[calls[-1]] = draft
            self._apply(draft, calls, function)
        elif calls and calls[-1].function in ONS_MAKERS and function is not None and calls[-1].arguments:
            group = self._ons_group(calls[-1].arguments[0], function)
            self._by_variable[where, name] = self._draft(name, line, "push", group)
        elif (
            isinstance(start, Name)
            and (of_builder := self._variable(start, function)) is not None
            and calls
            and calls[-1].function == "build"
        ):
            self._by_variable[where, name] = of_builder

    def _made_elsewhere(self, call: Call, function: Function, name: str, where: Function | None, kind: str) -> bool:
        """A function of the sources makes the consumer: its group is what that one gives it."""
        scope = Scope(self._unit, self._type, function)
        called = self._follower.called(call, scope)
        if called is None:
            return False
        unit, made, maker = called
        for step in maker.statements:
            value = step.value if isinstance(step, Assign | Return) else None
            if isinstance(value, Make) and self._kind(value.type) == kind:
                draft = self._draft(name, call.line, kind, NO_GROUP)
                draft.is_made, draft.maker, draft.takes_queues = True, function, value.type in TAKE_QUEUES
                self._followed.add(maker)
                self._constructed(draft, value, maker, Scope(unit, made, maker, bindings(maker, call, scope)))
                self._by_variable[where, name] = self._by_variable[function, name] = draft
                return True
        return False

    def _constructed(self, draft: Draft, value: Make, function: Function | None, scope: Scope | None = None) -> None:
        """The constructors: (group), (group, hook, ...), (namespace, group, ...), of which the second is a text."""
        here = scope or Scope(self._unit, self._type, function)
        arguments = [Placed(argument, here) for argument in value.arguments]
        named = dict(value.named)
        if "consumerGroup" in named:
            draft.group = Placed(named["consumerGroup"], here)
        elif len(arguments) > 1 and self._is_text(arguments[1]):
            draft.namespace, draft.group = arguments[:2]
        elif arguments and (len(arguments) > 1 or self._is_text(arguments[0], unsure=True)):
            draft.group = arguments[0]

    def _is_text(self, placed: Placed, *, unsure: bool = False) -> bool:
        term = placed.term
        if isinstance(term, Text):
            return term.value not in {"true", "false"}  # (group, enableMsgTrace)
        if isinstance(term, Join | Setting):
            return True
        if isinstance(term, Make):
            return False
        if isinstance(term, Name):
            if term.parts == ("null",):
                return False
            declared = self._follower.declared_type(term, placed.scope)
            if declared:
                return declared.rstrip("?") == "String"
        reached = self._follower.reach(placed)
        if isinstance(reached, NotKnown):
            return unsure
        return isinstance(reached.term, Text | Join | Setting) or (unsure and not isinstance(reached.term, Make))

    def _ons_group(self, properties: Term, function: Function) -> Placed | NotKnown:
        """ONS has the group in its properties."""
        for step in function.statements:
            if isinstance(step, Do) and step.call.target == properties and len(step.call.arguments) == 2:
                key, value = step.call.arguments
                if _is_group_key(key):
                    return self._at(value, function)
        return NotKnown(_("the properties of the consumer are not made here"))

    def _variable(self, name: Name, function: Function | None) -> Draft | None:
        *owner, simple = name.parts
        if owner not in ([], ["this"]):
            return None
        return self._by_variable.get((function, simple)) or self._by_variable.get((None, simple))

    def _called(self, call: Call, function: Function) -> None:
        if call in self._by_chain:
            return
        calls, start = chain(call), root(call)
        if isinstance(start, Name):
            draft = self._variable(start, function)
            if draft is not None:
                self._apply(draft, calls, function)
                return
        if kind := _built(calls):
            draft = self._draft(f"line {calls[0].line}", calls[0].line, kind, NO_GROUP)
            self._by_chain[call] = draft
            self._apply(draft, calls, function)
        elif isinstance(start, Make) and self._kind(start.type):
            draft = self._draft(f"line {start.line}", start.line, self._kind(start.type), NO_GROUP)
            self._constructed(draft, start, function)
            self._apply(draft, calls, function)

    def _set_property(self, step: Assign, function: Function) -> None:
        """Of Kotlin: `consumer.consumerGroup = "g"` calls the setter."""
        draft = self._variable(Name(step.target[:-1]), function)
        if draft is not None and step.value is not None:
            name = step.target[-1]
            setter = f"set{name[:1].upper()}{name[1:]}"
            self._apply(draft, [Call(None, setter, (step.value,), step.line)], function)

    def _apply(self, draft: Draft, calls: list[Call], function: Function | None) -> None:
        """What calls of a consumer or of its builder say of it."""
        for call in calls:
            arguments = [self._at(argument, function) for argument in call.arguments]
            first = arguments[0] if arguments else None
            if call.function in {"setConsumerGroup", "setGroupName"} and first:
                draft.group = first
            elif call.function in {"setNamesrvAddr", "setEndpoints"} and first:
                draft.servers = first
            elif call.function == "setNamespace" and first:
                draft.namespace = first
            elif call.function in SETTERS and first and isinstance(first.term, Name):
                draft.settings[SETTERS[call.function]] = first.term.parts[-1]
            elif (call.function == "setSubscriptionExpressions" and first) or (
                call.function == "setSubscription" and first and draft.kind == "push"
            ):
                self._subscribes(draft, call, None, first)
            elif call.function == "setProperties" and first and function is not None:
                draft.group = self._ons_group(call.arguments[0], function)
            elif call.function == "setSubscriptionTable" and first and function is not None:
                self._ons_table(draft, first, function)
            elif call.function in {"subscribe", "subscribeAndStart"} and len(arguments) >= 2:
                if self._is_class_filter(draft, call):
                    draft.remark = draft.remark or _("a class filter cannot be looked into")
                else:
                    self._subscribes(draft, call, arguments[0], arguments[1])
            elif call.function == "assign" and first and draft.kind == "lite":
                draft.takes_queues = True
            elif (call.function == "bindTopic" and first) or (
                call.function in REGISTER and first and draft.takes_queues
            ):
                # of a lite push consumer: it has lite topics of that topic, all messages of each
                self._subscribes(draft, call, first, None)
            elif call.function == "subscribe" and len(arguments) == 1:
                self._subscribes(draft, call, arguments[0], None)

    def _is_class_filter(self, draft: Draft, call: Call) -> bool:
        """Three texts: a class and its source, which 4.8.0 still takes."""
        return draft.kind == "push" and len(call.arguments) == 3 and isinstance(call.arguments[2], Text)

    def _subscribes(self, draft: Draft, call: Call, topic: Placed | None, selector: Placed | None) -> None:
        draft.subscriptions.append(DraftSubscription(topic, selector, call.line, self._unit.file))

    def _ons_table(self, draft: Draft, table: Placed, function: Function) -> None:
        """`Subscription` objects as keys, which are filled by their setters."""
        pairs = pairs_of(table, self._follower)
        if isinstance(pairs, NotKnown):
            draft.remark = pairs.why
            return
        for key, _listener in pairs:
            given = {
                step.call.function: self._at(step.call.arguments[0], function)
                for step in function.statements
                if isinstance(step, Do) and step.call.target == key.term and len(step.call.arguments) == 1
            }
            topic = given.get("setTopic")
            if topic is None:
                draft.remark = _("a subscription of the table is made elsewhere")
            else:
                draft.subscriptions.append(
                    DraftSubscription(
                        topic, given.get("setExpression"), draft.line, self._unit.file, given.get("setType")
                    )
                )


def _built(calls: Iterable[Call]) -> str:
    """How the consumer fetches whose builder a chain begins with; "" of any other chain."""
    return next((BUILDERS[call.function] for call in calls if call.function in BUILDERS), "")


def _is_group_key(term: Term) -> bool:
    if isinstance(term, Name):
        return term.parts[-1] in GROUP_KEYS
    return isinstance(term, Text) and term.value in GROUP_KEYS
