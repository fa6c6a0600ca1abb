"""The checks of notebook 02: find two tags that collide, say where three messages end, count what arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.filter.filter import both_steps
from rmqlab.filter.filter_api import build_subscription_data
from rmqlab.lab.articles.tag_filter import MESSAGES, TAGS, TagFilter
from rmqlab.lab.fates import Fate
from rmqlab.lab.filters.filter_bench import FilterBench
from rmqlab.lessons.check import CheckFailed
from rmqlab.message.java import string_hash, trim
from rmqlab.protocol.subscription_data import TAG

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWN = frozenset({"Aa", "BB", "AaAa", "BBBB"})
THREE: Mapping[str, str | None] = {"m1": "BB", "m2": "TagA", "m3": None}
THREE_SUBSCRIBED = "Aa || TagB"
PLACES = {
    "arrives": Fate.DELIVERED,
    "broker": Fate.DROPPED_BY_BROKER_TAG,
    "client": Fate.DROPPED_BY_CLIENT,
}
COUNTED = ("TagA||TagB", "taga", " || ", "TagC || TagC", "")
BY_CODE = "The broker looks the entry's hash code up in the subscription's set of codes (F-57, F-58)."
BY_TEXT = "What the broker returns, the client compares as text (F-53, F-95)."
NO_TAG = "A message without a tag has code 0, and * alone lets every code pass (F-56)."
HASH = "s[0]·31^(n-1) + s[1]·31^(n-2) + … + s[n-1] in 32 bits: that is a tag's hash code (F-50, F-52)."
HINTS = {
    "collide": "Write out the hash of two letters: how much does each letter count?",
    "three": "Two questions, in this order: does the broker know the tag's code, does the client know its text?",
    "sixty": "Look at what the subscription string becomes: its tags, one by one, as texts.",
}


def collide(answer: Any) -> str:
    """Two tags of one's own with one hash code: a pair of texts."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2 or not all(isinstance(one, str) for one in answer):
        raise CheckFailed('Give two tags, ("first", "second").', rule=HASH)
    first, second = answer
    if first == second:
        raise CheckFailed("The two are the same tag.", rule="Two different tags may share a hash code (F-52).")
    if KNOWN & {first, second}:
        raise CheckFailed(
            "Aa, BB and their doubles are the lesson's.", rule="Find two of your own; the lesson has a hint."
        )
    for tag in answer:
        if not tag or trim(tag) != tag or "|" in tag:
            raise CheckFailed(
                f"{tag!r} is no tag that can be subscribed.", rule="Tags are split at || and trimmed (F-04)."
            )
    codes = [string_hash(tag) for tag in answer]
    if codes[0] != codes[1]:
        lines = [f"entry   {tag!r} has the code {code}" for tag, code in zip(answer, codes, strict=True)]
        raise CheckFailed(HINTS["collide"], problem="Their hash codes differ.", rule=HASH, lines=lines)
    bench = FilterBench()
    bench.subscribe("G", first, TAG)
    for tag in answer:
        bench.send(tag, tag)
    fates = [step.fate for step in bench.passage("G").steps]
    if fates != [Fate.DELIVERED, Fate.DROPPED_BY_CLIENT]:
        raise CheckFailed(HINTS["collide"], problem=f"The broker and the client say {', '.join(fates)}.", rule=BY_TEXT)
    told = f"subscribed to {first!r}, the broker returns both and the client drops {second!r}"
    return f"Both have the code {codes[0]}: {told}."


def three(answer: Any) -> str:
    """Where each of ``THREE`` ends for ``THREE_SUBSCRIBED``: {name: "arrives", "broker" or "client"}."""
    if not isinstance(answer, dict) or set(answer) != set(THREE):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, THREE))}.", rule="Each message has one end.")
    bench = FilterBench()
    bench.subscribe("G", THREE_SUBSCRIBED, TAG)
    for name, tag in THREE.items():
        bench.send(name, tag)
    for step in bench.passage("G").steps:
        said = answer[step.name]
        if said not in PLACES:
            raise CheckFailed(
                f"{step.name}: {said!r} is none of {', '.join(map(repr, PLACES))}.", rule="There are three ends."
            )
        if PLACES[said] is not step.fate:
            tag = THREE[step.name]
            lines = _lines(THREE_SUBSCRIBED, tag)
            raise CheckFailed(
                HINTS["three"],
                problem=f'{step.name} ({tag or "no tag"}) does not end at "{said}".',
                rule=NO_TAG if tag is None else f"{BY_CODE} {BY_TEXT}",
                lines=lines,
            )
    return "All three end where you said."


def sixty(answer: Any) -> str:
    """How many of the lesson's sixty messages arrive for each subscription of ``COUNTED``: {subscription: number}."""
    if not isinstance(answer, dict) or set(answer) != set(COUNTED):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, COUNTED))}.", rule="One number each.")
    tags = TagFilter().sent_tags()
    for text in COUNTED:
        data = build_subscription_data(None, "T", text)
        arrive = sum(both_steps(data, tag).delivered for tag in tags)
        if answer[text] != arrive:
            lines = [line for tag in TAGS for line in _lines(text, tag)]
            raise CheckFailed(
                HINTS["sixty"], problem=f"{text!r}: not {answer[text]} of {MESSAGES}.", rule=BY_CODE, lines=lines
            )
    return "All five are right."


def _lines(text: str, tag: str | None) -> list[str]:
    data = build_subscription_data(None, "T", text)
    name, code = tag or "no tag", both_steps(data, tag).tags_code
    return [
        f"broker  {name}: code {code}; the subscription {data.sub_string!r} has the codes {sorted(data.code_set)}",
        f"client  {name}: the subscription has the tags {sorted(data.tags_set)}",
    ]


CHECKS = {"02-collide": collide, "02-three": three, "02-sixty": sixty}
