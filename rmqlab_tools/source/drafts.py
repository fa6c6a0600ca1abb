"""Consumers as code makes them, before their texts are worked out, and as they come out of it.

A draft keeps terms: a function that makes a consumer of its parameters makes another one for each of its callers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rmqlab.language import _
from rmqlab.protocol.subscription_data import SQL92, TAG
from rmqlab_tools.source.scopes import Bound, Placed
from rmqlab_tools.source.terms import Call, Do, Function, Make, Name, Pairs, TypeOfCode, Unit, Unread
from rmqlab_tools.source.values import Known, NotKnown, Value, kind_of, or_all, text_if_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.source.follow import Follower
    from rmqlab_tools.source.terms import Term

_SINGLE: Final = {"singletonMap", "of", "ofEntries", "entry", "mapOf", "hashMapOf", "mutableMapOf", "linkedMapOf"}
_MAPS: Final = {"HashMap", "LinkedHashMap", "ConcurrentHashMap", "TreeMap", "Hashtable"}


@dataclass(frozen=True, slots=True)
class FoundSubscription:
    """What is subscribed and where; `kind` is TAG or SQL92."""

    topic: Value
    kind: Value
    expression: Value
    file: str
    line: int


@dataclass(slots=True)
class FoundConsumer:
    """A consumer of a code base: its group, how it fetches (as scenarios name it), what it subscribes, and where.

    `servers`: the name servers, where the code gives them. `remark`: why it subscribes more than is known.
    """

    name: str
    file: str
    line: int
    group: Value
    kind: str
    subscriptions: list[FoundSubscription] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    servers: str = ""
    namespace: str = ""
    remark: str = ""

    @property
    def not_known(self) -> Iterator[tuple[str, str, str, int]]:
        """What is not known of it: group, topic or expression; why, and where."""
        if isinstance(self.group, NotKnown):
            yield "group", self.group.why, self.file, self.line
        for subscription in self.subscriptions:
            for what, value in (
                ("topic", subscription.topic),
                ("expression", subscription.kind),
                ("expression", subscription.expression),
            ):
                if isinstance(value, NotKnown):
                    yield what, value.why, subscription.file, subscription.line
                    break
        if self.remark:
            yield "topic", self.remark, self.file, self.line

    @property
    def given(self) -> frozenset[Function]:
        """The functions whose parameters it depends on."""
        values = [self.group]
        for subscription in self.subscriptions:
            values += [subscription.topic, subscription.kind, subscription.expression]
        return frozenset().union(*(value.given for value in values if isinstance(value, NotKnown)))


@dataclass(frozen=True, slots=True)
class DraftSubscription:
    """A topic and what selects of it: a text, a selector, a filter; or, without a topic, a map of both."""

    topic: Placed | None
    selector: Placed | None
    line: int
    file: str
    kind: Placed | None = None


@dataclass(slots=True)
class Draft:
    """A consumer of which terms are known.

    `is_made`: an object is made here, by `maker` if that is a function. `takes_queues`: it names its queues itself, so
    its heartbeats have no topic.
    """

    name: str
    unit: Unit
    type: TypeOfCode | None
    line: int
    kind: str
    group: Placed | NotKnown
    subscriptions: list[DraftSubscription] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    servers: Placed | None = None
    namespace: Placed | None = None
    remark: str = ""
    is_made: bool = False
    maker: Function | None = None
    takes_queues: bool = False


def subscribing(draft: Draft) -> bool:
    """Whether a draft is a consumer of its own; one that is made, and subscribes nowhere in sight, has a remark."""
    if draft.subscriptions or draft.takes_queues:
        return True
    if not draft.is_made:
        return False
    draft.remark = draft.remark or _("no subscribe() is found for it")
    return True


def worked_out(draft: Draft, follower: Follower, bound: Bound = ()) -> FoundConsumer:
    """A draft's texts, `bound` being what the parameters of functions are given."""

    def here(placed: Placed) -> Placed:
        return replace(placed, scope=replace(placed.scope, bound=(*bound, *placed.scope.bound)))

    def text(placed: Placed | NotKnown | None) -> Value:
        if placed is None or isinstance(placed, NotKnown):
            return placed or Known("")
        return follower.text(here(placed))

    made = FoundConsumer(
        draft.name, draft.unit.file, draft.line, text(draft.group), draft.kind, settings=dict(draft.settings),
        servers=text_if_known(text(draft.servers)), namespace=text_if_known(text(draft.namespace)),
        remark=draft.remark,
    )  # fmt: skip
    for subscription in draft.subscriptions:
        selector = None if subscription.selector is None else here(subscription.selector)
        if subscription.topic is None:
            pairs = NotKnown(_("no map is given")) if selector is None else pairs_of(selector, follower)
            if isinstance(pairs, NotKnown):
                unknown = FoundSubscription(pairs, Known(TAG), Known("*"), subscription.file, subscription.line)
                made.subscriptions.append(unknown)
                continue
            listed: list[tuple[Value, Placed | None]] = [(follower.text(topic), chosen) for topic, chosen in pairs]
        else:
            listed = [(text(subscription.topic), selector)]
        for topic, chosen in listed:
            kind, expression = selected(chosen, follower)
            if subscription.kind is not None:
                kind = kind_of(follower.text(here(subscription.kind)))
            made.subscriptions.append(FoundSubscription(topic, kind, expression, subscription.file, subscription.line))
    return made


def selected(selector: Placed | None, follower: Follower) -> tuple[Value, Value]:
    """Kind and text of what selects messages: a text of tags, `MessageSelector`, `FilterExpression` in any language."""
    if selector is None:
        return Known(TAG), Known("*")
    reached = follower.reach(selector)
    if isinstance(reached, NotKnown):
        return Known(TAG), reached
    term = reached.term

    def text(of: Term | None) -> Value:
        return Known("*") if of is None else or_all(follower.text(replace(reached, term=of)))

    if isinstance(term, Call | Make):
        name = term.function if isinstance(term, Call) else term.type
        first = next(iter(term.arguments), None)
        second = term.arguments[1] if len(term.arguments) > 1 else None
        named = {key.lower(): value for key, value in term.named}
        if name in {"bySql", "byTag"}:
            return Known(SQL92 if name == "bySql" else TAG), text(first)
        if name in {"FilterExpression", "NewFilterExpression", "NewFilterExpressionWithType", "MessageSelector"}:
            of_type = named.get("filter_type") or named.get("type") or named.get("filterexpressiontype") or second
            expression = named.get("expression") or first
            return _named_kind(of_type, reached, follower), text(expression)
    return Known(TAG), or_all(follower.text(reached))


def _named_kind(term: Term | None, place: Placed, follower: Follower) -> Value:
    """The kind that a constant such as `FilterExpressionType.SQL92` or `consumer.TAG` names."""
    if term is None:
        return Known(TAG)
    if isinstance(term, Name) and term.parts[-1] in {"TAG", "SQL92", "SQL"}:
        return Known(TAG if term.parts[-1] == "TAG" else SQL92)
    return kind_of(follower.text(replace(place, term=term)))


def pairs_of(placed: Placed, follower: Follower) -> list[tuple[Placed, Placed]] | NotKnown:
    """Keys and values of a map: written in braces, made by `singletonMap`, `Map.of`, `mapOf`, or filled by `put`."""
    filled = _filled(placed)
    if filled:
        return filled
    reached = follower.reach(placed)
    if isinstance(reached, NotKnown):
        return reached
    term = reached.term
    if isinstance(term, Pairs):
        return [(replace(reached, term=key), replace(reached, term=value)) for key, value in term.items]
    if isinstance(term, Call) and term.function in _SINGLE:
        if all(isinstance(argument, Pairs) for argument in term.arguments):
            items = [item for argument in term.arguments if isinstance(argument, Pairs) for item in argument.items]
        else:
            items = [*zip(term.arguments[::2], term.arguments[1::2], strict=False)]
        return [(replace(reached, term=key), replace(reached, term=value)) for key, value in items]
    shown = term.text if isinstance(term, Unread) else getattr(term, "function", getattr(term, "type", ""))
    return NotKnown(_("what is subscribed is made by {call}, which is not followed", call=shown or "..."))


def _filled(placed: Placed) -> list[tuple[Placed, Placed]]:
    """What `put` puts into a variable that is a map."""
    term, scope = placed.term, placed.scope
    if not isinstance(term, Name) or scope.function is None:
        return []
    puts = [
        step.call.arguments
        for step in scope.function.statements
        if isinstance(step, Do) and step.call.target == term and step.call.function == "put"
    ]
    return [
        (replace(placed, term=arguments[0]), replace(placed, term=arguments[1]))
        for arguments in puts
        if len(arguments) == 2
    ]
