"""The checks of notebook 03: a comparison as a function, five expressions repaired, three wrong rules found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from inspect import isgenerator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.filter.filter import Filter
from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.language import _, joined, sentences
from rmqlab.protocol.subscription_data import SQL92
from rmqlab.rules import DEFAULT_RULES, DEFAULT_VERSION, Rules
from rmqlab_tools.course.answers import YIELDS, HuntExample, hunt_by_example, in_a_sentence, needs_function, needs_keys
from rmqlab_tools.course.check import OF_TASK, CheckFailed
from rmqlab_tools.course.mutants import broken
from rmqlab_tools.course.rule_judge import plain, vectors
from rmqlab_tools.search.expressions.answer import answer as answer_of
from rmqlab_tools.search.expressions.repair.repair import repair as repair_of
from rmqlab_tools.show.expression_trees import expression_tree

if TYPE_CHECKING:
    from rmqlab_tools.show.figure import Picture

THROWS = ValueError
FORM = '("a > 3", {"a": "5"}, "client_keeps")'
HUNTED = ("onyx", "quartz", "topaz")
_VECTOR = re.compile(r"([A-Za-z_]\w*) > (-?\d+)")

Message = dict[str, str]


class ComparisonCase(NamedTuple):
    """`property > number` for a property's text (None: missing): True, False, None, or `THROWS`."""

    text: str | None
    number: int
    expected: bool | type[ValueError] | None


@lru_cache(maxsize=1)
def comparisons() -> tuple[ComparisonCase, ...]:
    """Small ones, judged by the compiler here, then those that the real broker judged; the shortest first."""
    return (*sorted(_small(), key=_size), *sorted(_recorded(), key=_size))


def _size(case: ComparisonCase) -> tuple[bool, int, int]:
    return case.text is not None, len(case.text or ""), abs(case.number)


def _small() -> Iterator[ComparisonCase]:
    edges = [str(edge + step) for edge in (-(2**63), -(2**31), 2**31 - 1, 2**63 - 1) for step in (-1, 0, 1)]
    texts = [None, "", "+", "-", "5", "+5", "-5", "05", " 5", "5 ", "5.0", "1e3", "1_000", "ten", "+-5", "٥", *edges]
    for text, number in product(texts, (0, 5, 2**31 - 1, 2**31, 2**63 - 1)):
        given = {} if text is None else {"a": text}
        value = answer_of(f"a > {number}", given, DEFAULT_VERSION).value
        yield ComparisonCase(text, number, {"true": True, "false": False, "null": None}.get(str(value), THROWS))


def _recorded() -> Iterator[ComparisonCase]:
    """Those of the vectors."""
    for vector in vectors("sql92_eval"):
        match = _VECTOR.fullmatch(vector["expr"])
        if match and int(match[2]) > -(2**31):  # the literal of a lower one is read as a negated larger one
            text = (vector["props"] or {}).get(match[1])
            yield ComparisonCase(text, int(match[2]), THROWS if vector["error"] else vector["result"])


def compare(answer: Any) -> str:
    """`property > number` as a function of the property's text and the number."""
    needs_function(answer, _("Give a function with 2 parameters: text, number."), rule=OF_TASK)
    for case in comparisons():
        try:
            said = plain(answer(case.text, case.number))
        except ValueError:
            said = THROWS
        except Exception as error:
            raise _wrong_comparison(case, in_a_sentence(error, answer)) from error
        if isgenerator(said):
            raise _wrong_comparison(case, YIELDS)
        if said is not case.expected:
            failure = _("raises ValueError") if said is THROWS else _("gives {said}", said=f"{said!r}")
            raise _wrong_comparison(case, _("your function {told}.", told=failure))
    recorded = sum(1 for _ in _recorded())
    return _(
        "It agrees with 4.8.0 in {comparisons} comparisons; the real broker made {recorded} of them.",
        comparisons=len(comparisons()),
        recorded=recorded,
    )


def _wrong_comparison(case: ComparisonCase, said: str) -> CheckFailed:
    given = _("no property a") if case.text is None else f"a = {case.text!r}"
    right = _("4.8.0 throws.") if case.expected is THROWS else _("4.8.0 gives {right}.", right=f"{case.expected!r}")
    problem = _("Condition a > {number}, message with {given}: {said}", number=case.number, given=given, said=said)
    return CheckFailed(problem=sentences(problem, right))


class RepairTask(NamedTuple):
    """An expression that compiles and does not mean what its author says; `means` is what was meant."""

    broken: str
    meant: str
    means: Callable[[Message], bool]
    values: Mapping[str, tuple[str | None, ...]]


REPAIRS: Mapping[str, RepairTask] = {
    _("not one"): RepairTask("NOT a = '1'", _("every message whose a is not '1', those without a too"),
                      lambda one: one.get("a") != "1",
                      {"a": (None, "1", "2", "x")}),
    "price": RepairTask("price > 100", _("price is there and above 100; prices may have decimals"),
                    lambda one: "price" in one and float(one["price"]) > 100,
                    {"price": (None, "100", "100.0", "100.0001", "100.01", "101", "99.99", "1e9", "250")}),
    "vip": RepairTask("city = 'Hangzhou' AND age = 18 OR level = 'vip'",
                  _("everybody with level vip, and those of age 18 in Hangzhou; an age may be 'unknown'"),
                  lambda one: one.get("level") == "vip" or (one.get("city"), one.get("age")) == ("Hangzhou", "18"),
                  {"level": (None, "vip", "none"), "city": (None, "Hangzhou", "x"),
                   "age": (None, "18", "19", "unknown")}),
    "tags": RepairTask("TAGS = 'TagA || TagB'", _("TagA or TagB"), lambda one: one.get("TAGS") in {"TagA", "TagB"},
                   {"TAGS": (None, "TagA", "TagB", "TagC", "TagD", "TagA || TagB")}),
    "open": RepairTask("state <> 'closed'", _("every message that is not closed, those without a state too"),
                   lambda one: one.get("state") != "closed",
                   {"state": (None, "closed", "open", "Closed", "paid")}),
}  # fmt: skip


def repair(answer: Any) -> str:
    """An expression for each of `REPAIRS` that means what its author wanted: {name: expression}."""
    needs_keys(answer, REPAIRS)
    for name, wanted in REPAIRS.items():
        _one_repair(name, wanted, str(answer[name]))
    return _("All five mean what they say.")


def _one_repair(name: str, wanted: RepairTask, text: str) -> None:
    rule = _("What was meant: {meant}.", meant=wanted.meant)
    try:
        compiled = compile_sql92(text)
    except MQFilterException as refusal:
        meant = repair_of(text).told
        sentence = _(
            "{name}: the broker refuses it. {refusal}{meant}",
            name=name,
            refusal=refusal,
            meant=f" ({meant})" if meant else "",
        )
        raise CheckFailed(sentence, rule=rule) from None
    if compiled.ignored:
        problem = _("{name}: the broker ignores {ignored} in silence.", name=name, ignored=f"{compiled.ignored!r}")
        raise CheckFailed(rule=rule, problem=problem, picture=_tree(text, None))
    for row in product(*wanted.values.values()):
        message = {key: value for key, value in zip(wanted.values, row, strict=True) if value is not None}
        if compiled.matches(message) != wanted.means(message):
            end = _("passes, and should not") if compiled.matches(message) else _("should pass, and does not")
            problem = _("{name}: a message with {told} {end}.", name=name, told=_told(message), end=end)
            raise CheckFailed(rule=rule, problem=problem, picture=_tree(text, message))


def _example(name: str, given: Any) -> HuntExample:
    """A condition, the properties of a message, and a rule's name."""
    match given:
        case (str() as text, dict() as message, str() as rule) if all(
            isinstance(value, str) for value in message.values()
        ):
            pass
        case _:
            raise CheckFailed(_("{name}: give a condition, a message and a rule: {form}.", name=name, form=FORM))
    try:
        sound, here = (_end(rules, text, message) for rules in (DEFAULT_RULES, broken(name)))
    except BadInput as error:
        raise CheckFailed(
            _("{name}: the broker refuses {text}: {error}.", name=name, text=f"{text!r}", error=error)
        ) from error
    same = _(
        "{name}: for {text} a message with {told} {sound} in both.",
        name=name,
        text=text,
        told=_told(message),
        sound=sound,
    )
    differs = _(
        "{name}: the message {sound} in 4.8.0, and here it {here}; {rule} is as it should be.",
        name=name,
        sound=sound,
        here=here,
        rule=rule,
    )
    return HuntExample(sound, here, rule, same, differs, _tree(text, message))


def _end(rules: Rules, text: str, message: Message) -> str:
    compile_sql92(text)  # a filter drops everything for what the broker refuses; here it must be said
    subscription = Filter.of("T", text, SQL92, rules)
    if subscription.dropped_at(rules.tags_code(message.get("TAGS")), None, message) is not None:
        return _("is dropped by the broker")
    return _("arrives") if subscription.client_keeps(message.get("TAGS")) else _("is dropped by the client")


def _tree(text: str, message: Message | None) -> Picture:
    return expression_tree(answer_of(text, message, DEFAULT_VERSION))


def _told(properties: Mapping[str, str]) -> str:
    return joined(", ", (f"{name}={value!r}" for name, value in properties.items())) or _("no properties")


CHECKS = {"03-compare": compare, "03-repair": repair, "03-hunt": hunt_by_example(HUNTED, _example)}
