"""Who asked for what, and what the broker held: subscriptions that an audit is given, or finds in `config/`.

A file has one JSON object a line. `{"group", "topic", "type", "expr"}` is a member's subscription, with `client`,
`from` and `until` (epoch ms) where they are known; with `"held": true` it is what the broker held since `from`.
`"post": true` says that the member sends its subscription with every pull, so that the broker filters by that one: a
push consumer with `postSubscriptionWhenPull`, and every lite pull consumer.
`{"group", "clients": [...], "from", "strategy"}` names a group's client ids since `from` ([]: no client was there), and
how they share the queues (`AVG` if it is left out): with them the owners of queues follow.
`{"group", "topic", "reset"}` says that somebody set the group's offsets by hand, and when (epoch ms): a store does not
tell, and what is implied is so only if no one did.
The events of a recording or of `rmqlab simulate` are understood too, and so are the frames that `rmqlab tap` recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from rmqlab.errors import BadInput
from rmqlab.files import contents, is_dir, read_text
from rmqlab.files import json_lines as values_of
from rmqlab.language import _, joined
from rmqlab.protocol.subscription_data import SQL92, SubscriptionData

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab_tools.spark.files.store_tables import StoreConfig

ALWAYS, NEVER = -(1 << 62), 1 << 62
AVG, AVG_BY_CIRCLE = "AVG", "AVG_BY_CIRCLE"
Key = tuple[str, str]  # group, topic
_K = TypeVar("_K")
_V = TypeVar("_V")


class ClientSubscription(NamedTuple):
    """What one member asked for: in force from `since` until `until` (epoch ms, both included).

    `post`: it sends that with every pull, and the broker filters by it and not by what it holds for the group (4.8.0
    `PullMessageProcessor`, flag `FLAG_SUBSCRIPTION`).
    """

    client: str
    type: str
    expression: str
    until: int = NEVER
    post: bool = False
    since: int = ALWAYS

    @property
    def text(self) -> str:
        """The expression, with its type where that is not TAG."""
        return (
            self.expression if SubscriptionData(expression_type=self.type).is_tag else f"{self.type}: {self.expression}"
        )


class BrokerSubscription(NamedTuple):
    """What the broker held for a group from `since` (epoch ms) on."""

    type: str
    expression: str
    since: int = ALWAYS


class Present(NamedTuple):
    """The client ids of a group's members from `since` (epoch ms) on, and the strategy by which they share queues.

    `strategy` is its name in 4.8.0, "" if members differ: then it cannot be said who owned a queue.
    """

    since: int
    clients: tuple[str, ...]
    strategy: str = AVG


class Subscriptions(NamedTuple):
    """By (group, topic): what members asked for, and what the broker held; by group: who was there. In order of time.

    `complete` names those of which every member is known: what none of them asked for was not asked for. `reset`: when
    (epoch ms) offsets were set by hand. `span`: from when to when all of this was looked at, None: always. `paused`: by
    group, from when to when (epoch ms) a member of it, or the broker, stood still. `pulling` and `popping`: the groups
    of which it is known that some member pulls, or pops.
    """

    client_subscriptions: dict[Key, list[ClientSubscription]]
    broker_subscriptions: dict[Key, list[BrokerSubscription]]
    complete: frozenset[Key]
    present: dict[str, list[Present]]
    reset: Mapping[Key, tuple[int, ...]] = MappingProxyType({})
    span: tuple[int, int] | None = None
    paused: Mapping[str, Sequence[tuple[int, int]]] = MappingProxyType({})
    pulling: frozenset[str] = frozenset()
    popping: frozenset[str] = frozenset()

    def keys(self) -> set[Key]:
        """Every (group, topic) of which something is known."""
        return {*self.client_subscriptions, *self.broker_subscriptions}


def both(first: Subscriptions, second: Subscriptions) -> Subscriptions:
    """All that is said, by the one and by the other; what both say counts once."""
    broker_subscriptions, present = (
        _each(first.broker_subscriptions, second.broker_subscriptions),
        _each(first.present, second.present),
    )
    for slots in broker_subscriptions.values():
        slots.sort(key=lambda slot: slot.since)
    for moments in present.values():
        moments.sort(key=lambda moment: moment.since)
    reset = {key: tuple(times) for key, times in _each(first.reset, second.reset).items()}
    client_subscriptions = _each(first.client_subscriptions, second.client_subscriptions)
    paused = _each(first.paused, second.paused)
    return Subscriptions(
        client_subscriptions,
        broker_subscriptions,
        first.complete | second.complete,
        present,
        reset,
        first.span or second.span,
        paused,
        first.pulling | second.pulling,
        first.popping | second.popping,
    )


def _each(first: Mapping[_K, Sequence[_V]], second: Mapping[_K, Sequence[_V]]) -> dict[_K, list[_V]]:
    return {name: list(dict.fromkeys((*first.get(name, ()), *second.get(name, ())))) for name in {**first, **second}}


def with_config(given: Subscriptions, config: StoreConfig) -> Subscriptions:
    """What is given, and what consumerFilter.json remembers of groups of which nothing is given.

    That is subscriptions of SQL92, and not who else was in the group.
    """
    known, remembered = given.keys(), defaultdict[Key, list[ClientSubscription]](list)
    for filter_data in config.filters():
        key = filter_data.consumer_group or "", filter_data.topic or ""
        if all(key) and filter_data.expression and key not in known:
            remembered[key].append(ClientSubscription("", filter_data.expression_type or SQL92, filter_data.expression))
    return given._replace(client_subscriptions={**remembered, **given.client_subscriptions})


_LINES: Final = (".jsonl", ".jsonl.gz")


def json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where it stands ("FILE, line N") and the object of each line.

    Of a folder all its `*.jsonl` and `*.jsonl.gz` are read, in order of their names. An event without an `id` gets the
    name of its file: so a driver of scenarios writes them, one file a scenario.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    path = Path(path)
    files = [entry for entry in contents(path) if entry.name.endswith(_LINES)] if is_dir(path) else [path]
    if not files:
        raise BadInput(_("{path}: a folder without *.jsonl; name one with events, or a file", path=path))
    for file in files:
        for number, value in values_of(_text(file), file):
            place = _("{file}, line {number}", file=file, number=number)
            if not isinstance(value, dict):
                raise BadInput(_("{place}: one JSON object a line is needed", place=place))
            if "ev" in value:
                value.setdefault("id", file.name.removesuffix(".gz").removesuffix(".jsonl"))
            yield place, value


def text_field(line: dict[str, Any], name: str, default: str | None = None) -> str:
    """A field that is a text.

    Raises:
        KeyError: if it is wanted and missing.
        TypeError: what is no text.
    """
    value = line[name] if default is None else line.get(name, default)
    if not isinstance(value, str):
        raise TypeError(_("{name} is {value}, and a text is wanted", name=f"{name!r}", value=f"{value!r}"))
    return value


def flag_field(line: dict[str, Any], name: str, *, default: bool = False) -> bool:
    """A field that is true or false.

    Raises:
        TypeError: what is neither.
    """
    value = line.get(name, default)
    if not isinstance(value, bool):
        raise TypeError(_("{name} is {value}, and true or false is wanted", name=f"{name!r}", value=f"{value!r}"))
    return value


def reason(error: Exception) -> str:
    """What is wrong with a line, in words."""
    if isinstance(error, KeyError):
        return _("it has no {args}", args=f"{error.args[0]!r}")
    return joined("; ", str(error).splitlines())


def _text(path: Path) -> str:
    return read_text(path, _("a file with one JSON object a line"))
