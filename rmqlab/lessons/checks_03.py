"""The checks of notebook 03: predict values, say which of ten messages match, repair five expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

from rmqlab.filter.sql92 import CompiledSql92, MQFilterException, compile_sql92
from rmqlab.filter.sql92.doctor import hint
from rmqlab.filter.sql92.explain import draw
from rmqlab.lab.articles.sql_filter import MESSAGES, TAGS, outcome_of
from rmqlab.lessons.check import CheckFailed

TEN = "TAGS <> 'TagB' AND NOT (a BETWEEN 2 AND 5)"
# Expression, properties: what does it come to?
VALUES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "1": ("a <> 'x' OR b IS NULL", {}),
    "2": ("a <> 'x' AND b IS NULL", {}),
    "3": ("a > 10", {"a": "ten"}),
    "4": ("b = 'x' OR a > 10", {"b": "x", "a": "ten"}),
    "5": ("NOT (a > 10)", {}),
    "6": ("a IN ('1', '2') AND 3 > a", {"a": "2.0"}),
}
NAMES = ("true", "false", "null", "error")
NULLS = "A missing property is null; NOT null is null, and null matches nothing (F-25)."
ERRORS = "What throws never matches; what decides before it keeps it from being asked (F-16, F-65)."
ANOTHER = 12
ROOT = re.compile(r" +(= |not asked|error).*$")
PARTS = "Texts are compared as they stand; numbers are read as the literal's type says (F-16, F-21)."

Message = dict[str, str]


class Repair(NamedTuple):
    """An expression that compiles and does not mean what its author says; ``means`` is what was meant."""

    broken: str
    meant: str
    means: Callable[[Message], bool]
    values: Mapping[str, tuple[str | None, ...]]


HINTS = {
    "values": "Begin at the leaves: what is each property here? Then go up, and mind what null and errors do.",
    "ten": "Take the two parts apart: how are texts compared, and how are numbers?",
    "one_repair": "Try your expression on messages that lack a property, and on values that are no plain numbers.",
}


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _not_one(message: Message) -> bool:
    return message.get("a") != "1"


def _over(message: Message) -> bool:
    price = _number(message.get("price"))
    return price is not None and price > 100


def _vip(message: Message) -> bool:
    return message.get("level") == "vip" or (message.get("city") == "Hangzhou" and message.get("age") == "18")


def _tagged(message: Message) -> bool:
    return message.get("TAGS") in {"TagA", "TagB"}


def _open(message: Message) -> bool:
    return message.get("state") != "closed"


REPAIRS: Mapping[str, Repair] = {
    "not one": Repair("NOT a = '1'", "every message whose a is not '1', those without a too", _not_one,
                      {"a": (None, "1", "2", "x")}),
    "price": Repair("price > 100", "price is there and above 100; prices may have decimals", _over,
                    {"price": (None, "100", "100.0", "100.01", "101", "99.99", "1e3", "250")}),
    "vip": Repair("city = 'Hangzhou' AND age = 18 OR level = 'vip'",
                  "everybody with level vip, and those of age 18 in Hangzhou; an age may be 'unknown'", _vip,
                  {"level": (None, "vip", "none"), "city": (None, "Hangzhou"), "age": (None, "18", "19", "unknown")}),
    "tags": Repair("TAGS = 'TagA || TagB'", "TagA or TagB", _tagged,
                   {"TAGS": (None, "TagA", "TagB", "TagC", "TagA || TagB")}),
    "open": Repair("state <> 'closed'", "every message that is not closed, those without a state too", _open,
                   {"state": (None, "closed", "open", "Closed")}),
}  # fmt: skip


def values(answer: Any) -> str:
    """What each of ``VALUES`` comes to: {number: "true", "false", "null" or "error"}."""
    if not isinstance(answer, dict) or set(answer) != set(VALUES):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, VALUES))}.", rule="There are four values.")
    for number, (expression, properties) in VALUES.items():
        said, found = answer[number], outcome_of(expression, properties)
        found = found if found in NAMES else "error"
        if said not in NAMES:
            raise CheckFailed(
                f"{number}: {said!r} is none of {', '.join(map(repr, NAMES))}.", rule="There are four values."
            )
        if said != found:
            lines = [
                ROOT.sub("", line) if not n else line
                for n, line in enumerate(_tree(compile_sql92(expression), properties))
            ]
            raise CheckFailed(
                HINTS["values"],
                problem=f"{number}: {expression} with {_told(properties)} is not {said}.",
                rule=f"{NULLS} {ERRORS}",
                lines=lines,
            )
    return f"All {len(VALUES)} values are right."


def ten(answer: Any) -> str:
    """The numbers of the lesson's ten messages that match ``TEN``."""
    try:
        said = sorted(set(answer))
    except TypeError:
        raise CheckFailed(
            "Give a list of numbers from 0 to 9.", rule="Message i has a = i and one of three tags."
        ) from None
    compiled = compile_sql92(TEN)
    for number in range(MESSAGES):
        properties = {"TAGS": TAGS[number % len(TAGS)], "a": str(number)}
        matches = compiled.matches(properties)
        if matches != (number in said):
            raise CheckFailed(
                HINTS["ten"],
                problem="Not all of the ten are right. This is how one more message is judged.",
                rule=PARTS,
                lines=_tree(compiled, {"TAGS": TAGS[ANOTHER % len(TAGS)], "a": str(ANOTHER)}),
            )
    if len(said) != sum(0 <= number < MESSAGES for number in said):
        raise CheckFailed(f"There are messages 0 to {MESSAGES - 1} only.", rule="Ten messages were sent.")
    return f"{len(said)} of the ten match."


def repair(answer: Any) -> str:
    """An expression for each of ``REPAIRS`` that means what its author wanted: {name: expression}."""
    if not isinstance(answer, dict) or set(answer) != set(REPAIRS):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, REPAIRS))}.", rule="Five expressions.")
    for name, wanted in REPAIRS.items():
        _one_repair(name, wanted, answer[name])
    return "All five mean what they say."


def _one_repair(name: str, wanted: Repair, expression: object) -> None:
    rule = f"What was meant: {wanted.meant}."
    try:
        compiled = compile_sql92(str(expression))
    except MQFilterException as refusal:
        meant = hint(refusal, str(expression))
        raise CheckFailed(
            HINTS["one_repair"],
            problem=f"{name}: the broker refuses it. {refusal}{f' ({meant})' if meant else ''}",
            rule=rule,
        ) from None
    if compiled.ignored:
        raise CheckFailed(
            HINTS["one_repair"],
            problem=f"{name}: the broker ignores {compiled.ignored!r} in silence.",
            rule=rule,
            lines=_tree(compiled, {}),
        )
    for row in product(*wanted.values.values()):
        message = {key: value for key, value in zip(wanted.values, row, strict=True) if value is not None}
        if compiled.matches(message) != wanted.means(message):
            verb = "passes, and should not" if compiled.matches(message) else "should pass, and does not"
            raise CheckFailed(
                HINTS["one_repair"],
                problem=f"{name}: a message with {_told(message)} {verb}.",
                rule=rule,
                lines=_tree(compiled, message),
            )


def _tree(compiled: CompiledSql92, properties: Mapping[str, str]) -> list[str]:
    return draw(compiled, dict(properties))


def _told(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in properties.items()) or "no properties"


CHECKS = {"03-values": values, "03-ten": ten, "03-repair": repair}
