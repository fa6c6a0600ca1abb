"""To judge a learner's rule: small inputs, from the smallest up, and those of the vectors of the real jars.

Inputs say in words what they are, for they are shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, product
from pathlib import Path
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


class Bits:
    """The bits of a message: called with a position it says whether that bit is set."""

    def __init__(self, *ones: int) -> None:
        self.ones = frozenset(ones)

    def __call__(self, position: int) -> bool:
        """Whether the bit is 1."""
        return position in self.ones

    def __repr__(self) -> str:
        """The positions of the ones."""
        return f"bits with ones at {sorted(self.ones)}" if self.ones else "bits without a one"


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
    held = [None, *(_wish("T", "a", 5),)]
    for before, version in product(held, (5, 4, 6)):
        for text in ("a", "b"):
            yield Case(({} if before is None else {"T": before}, [_wish("T", text, version)]))
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


def _hits() -> Iterator[Case]:
    for size in range(4):
        for positions in combinations(range(3), size):
            for ones in range(4):
                yield from (Case((list(positions), Bits(*chosen))) for chosen in combinations(range(3), ones))
    yield Case(([1, 1, 2], Bits(1)))


def _members() -> Iterator[Case]:
    for queues, members in product(range(9), range(1, 5)):
        everybody = list("ABCD"[:members])
        yield from (Case((who, list(range(queues)), everybody)) for who in everybody)
    yield Case(("X", [0, 1], ["A", "B"]))


def _silences() -> Iterator[Case]:
    for expiry, silent in product((1, 120_000), (0, -1, 1, 2)):
        yield Case((expiry + silent + 500, 500, expiry))
    yield Case((500, 500, 120_000))


def _clocks() -> Iterator[Case]:
    yield from (Case(pair) for pair in ((0, 1), (5, 6), (5, 5), (6, 5), (1_000, 999)))


def _condition_values() -> Iterator[Case]:
    yield from (Case((value,)) for value in (True, False, None, 1, "true", ValueError("no number")))


def _batches() -> Iterator[Case]:
    for offset, looked_at in product((0, 7), (1, 3)):
        yield from (Case((offset, looked_at, found)) for found in range(looked_at + 1))


CASES: Mapping[str, Callable[[], Iterable[Case]]] = {
    "update_subscription": _heartbeats,
    "is_matched_by_consume_queue": _entries,
    "is_matched_by_commit_log": _condition_values,
    "client_keeps": _messages,
    "is_hit": _hits,
    "allocate": _members,
    "is_expired": _silences,
    "stamp_sub_version": _clocks,
    "is_latest": lambda: (Case(pair) for pair in ((5, 5), (5, 4), (4, 5))),
    "tags_code": lambda: (Case((tag,)) for tag in (None, "", "a", "ab", "Aa", "BB", "TagA", "a much longer tag")),
    "next_offset": _batches,
    "offset_after_nothing_kept": lambda: (Case(pair) for pair in ((1, 0), (1, 1), (5, 0), (5, 2))),
}


def vector_cases(field: str) -> Iterator[Case]:
    """Inputs and answers of the real 4.8.0 jars for a rule; nothing where no vectors are, or outside a checkout."""
    read = _VECTORS.get(field)
    if read is None or not is_checkout():
        return
    family, case_of = read
    path = ROOT / Path(f"data/golden/vectors/{family}.jsonl")
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            case = case_of(json.loads(line))
            if case is not None:
                yield case


def _averagely(vector: dict[str, Any]) -> Case | None:
    if vector["strategy"] != "AVG" or vector["error"] is not None:
        return None
    queues, allocated = ([tuple(queue) for queue in vector[name]] for name in ("queues", "allocated"))
    return Case((vector["currentCID"], queues, vector["cids"]), allocated)


def _tag_match(vector: dict[str, Any], answer: str) -> Case | None:
    if vector["kind"] != "match":
        return None
    asked = build_subscription_data(None, "T", vector["subString"])
    asked.class_filter_mode = bool(vector["classFilterMode"])
    if answer == "by_client":
        return Case((asked, vector["tag"]), vector[answer])
    return None if asked.class_filter_mode else Case((asked, vector["tagsCode"]), vector[answer])


def _hash(vector: dict[str, Any]) -> Case | None:
    return Case((vector["tag"],), vector["code"]) if vector["kind"] == "hash" else None


_VECTORS: Mapping[str, tuple[str, Callable[[dict[str, Any]], Case | None]]] = {
    "allocate": ("rebalance", _averagely),
    "tags_code": ("tags", _hash),
    "client_keeps": ("tags", lambda vector: _tag_match(vector, "by_client")),
    "is_matched_by_consume_queue": ("tags", lambda vector: _tag_match(vector, "by_consume_queue")),
}
