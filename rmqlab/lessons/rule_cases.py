"""To judge a learner's rule: small inputs, from the smallest up, and those of the vectors of the real jars.

Inputs say in words what they are, for they are shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from rmqlab.checkout import ROOT, is_checkout
from rmqlab.filter.filter_api import build_subscription_data
from rmqlab.message.java import string_hash
from rmqlab.protocol.subscription_data import SubscriptionData

UNKNOWN = object()  # what is right: the rule of RULES says it


class Case(NamedTuple):
    """The arguments of a rule; `expected` is what the real jar answered, where a vector has it."""

    args: tuple[Any, ...]
    expected: Any = UNKNOWN


def in_words(value: object) -> str:
    """An argument or an answer, short: a subscription as its expression and version.

    >>> in_words([build_subscription_data(None, "T", "a || b")])
    "['a || b' of T, version 0]"
    """
    match value:
        case SubscriptionData():
            return f"{value.sub_string!r} of {value.topic}, version {value.sub_version}"
        case Mapping():
            return "{" + ", ".join(f"{in_words(key)}: {in_words(one)}" for key, one in value.items()) + "}"
        case list():
            return f"[{', '.join(map(in_words, value))}]"
        case tuple():
            return f"({', '.join(map(in_words, value))})"
        case _:
            return repr(value)


def _wish(topic: str, text: str, version: int = 0) -> SubscriptionData:
    data = build_subscription_data(None, topic, text)
    data.sub_version = version
    return data


def _heartbeats() -> Iterator[Case]:
    """Nothing held, then another version of the same topic, then several topics."""
    for held, version, text in product(({}, {"T": _wish("T", "a", 5)}), (5, 4, 6), "ab"):
        yield Case((held, [_wish("T", text, version)]))
    two = {"T": _wish("T", "a", 5), "U": _wish("U", "x", 5)}
    yield Case((two, []))
    yield Case((two, [_wish("T", "a", 5)]))
    for first, second in product((4, 5, 6), repeat=2):
        yield Case((two, [_wish("T", "b", first), _wish("U", "y", second)]))
        yield Case(({"T": two["T"]}, [_wish("T", "b", first), _wish("U", "y", second)]))
    yield Case(({}, [_wish("T", "a", 5), _wish("T", "b", 6)]))
    yield Case(({}, [_wish("T", "a", 6), _wish("T", "b", 5)]))


TAGS = (None, "a", "b", "Aa", "BB")
SUBSCRIBED = ("a", "b", "a || b", "*", "Aa", "BB || a")


def _entries() -> Iterator[Case]:
    for text, tag in product(SUBSCRIBED, TAGS):
        yield Case((_wish("T", text), string_hash(tag) if tag else 0))
    yield Case((_wish("T", "a"), None))
    yield Case((_wish("T", "b"), string_hash("b") + 2**32))


def _messages() -> Iterator[Case]:
    yield from (Case((_wish("T", text), tag)) for text, tag in product(SUBSCRIBED, TAGS))
    by_class = _wish("T", "a")
    by_class.class_filter_mode = True
    yield Case((by_class, "b"))


def _silences() -> Iterator[Case]:
    for expiry, silent in product((1, 120_000), (0, -1, 1, 2)):
        yield Case((expiry + silent + 500, 500, expiry))
    yield Case((500, 500, 120_000))


CASES: Mapping[str, Callable[[], Iterable[Case]]] = {
    "update_subscription": _heartbeats,
    "is_matched_by_consume_queue": _entries,
    "client_keeps": _messages,
    "is_expired": _silences,
}
# What the vectors of tags call the answer of these rules.
ANSWERS = {"is_matched_by_consume_queue": "by_consume_queue", "client_keeps": "by_client"}


def vector_cases(field: str) -> Iterator[Case]:
    """Inputs and answers of the real 4.8.0 jars for a rule; nothing where no vectors are."""
    for vector in vectors("tags") if field in ANSWERS else ():
        if vector["kind"] == "match":
            asked = build_subscription_data(None, "T", vector["subString"])
            asked.class_filter_mode = bool(vector["classFilterMode"])
            given = vector["tag"] if field == "client_keeps" else vector["tagsCode"]
            if field == "client_keeps" or not asked.class_filter_mode:
                yield Case((asked, given), vector[ANSWERS[field]])


def vectors(name: str) -> Iterator[dict[str, Any]]:
    """The vectors of data/golden/vectors/NAME.jsonl; none outside a checkout."""
    if is_checkout():
        with (ROOT / "data" / "golden" / "vectors" / f"{name}.jsonl").open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
