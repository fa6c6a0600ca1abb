"""A rule that a learner wrote, judged by small cases and by vectors; `order_judge` takes every order.

The evidence against it is the first case that differs: its inputs in words, what it answers, and what 4.8.0 answers.
"""

from __future__ import annotations

import copy
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import isgenerator
from itertools import product
from typing import Any, NamedTuple

from rmqlab.checkout import ROOT, is_checkout
from rmqlab.language import _, joined, ngettext
from rmqlab.message.java import string_hash
from rmqlab.protocol.subscription_data import SQL92, SubscriptionData, build_subscription_data
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab_tools.course.answers import YIELDS, FunctionElsewhere, in_a_sentence, needs_function
from rmqlab_tools.course.check import OPEN_ANSWER, THEIRS, CheckFailed

WAYS_END_HINT = _("Does every way through it end in return?")
ARGUMENT_CHANGED = _("your function changes what it was given; make a new object and return that.")
# The types of an answer, by those that the rule of 4.8.0 names.
ARGUMENT_KINDS: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,), "int": (int,), "list[int]": (list, tuple), "list[T]": (list,), "Table": (dict,),
}  # fmt: skip
UNKNOWN_ANSWER = object()  # what is right: the rule of RULES says it


class RuleCase(NamedTuple):
    """The arguments of a rule; `expected` is what the real jar answered, where a vector has it."""

    args: tuple[Any, ...]
    expected: Any = UNKNOWN_ANSWER


def in_words(value: object) -> str:
    """An argument or an answer, short: a subscription as its expression and version.

    >>> in_words([build_subscription_data(None, "T", "a || b")])
    "['a || b' of T, version 0]"
    """
    match value:
        case SubscriptionData():
            return _(
                "{expression} of {topic}, version {sub_version}",
                expression=f"{value.sub_string!r}",
                topic=value.topic,
                sub_version=value.sub_version,
            )
        case Mapping():
            return "{" + joined(", ", (f"{in_words(key)}: {in_words(item)}" for key, item in value.items())) + "}"
        case list():
            return f"[{', '.join(map(in_words, value))}]"
        case _:
            return repr(value)


def must_agree_in_cases(field: str, mine: object, cases: Iterable[RuleCase] | None = None) -> None:
    """Compare a learner's rule with that of `RULES` on `cases`: by default small ones, then those of the real jars.

    >>> must_agree_in_cases("is_expired", lambda now, last, expiry: now - last > expiry)
    >>> try:
    ...     must_agree_in_cases("is_expired", lambda now, last, expiry: now - last >= expiry)
    ... except CheckFailed as failed:
    ...     print(failed.problem)
    now=501, last_update_timestamp=500, channel_expired_ms=1: your function gives True, 4.8.0 gives False.

    Raises:
        CheckFailed: it is no such function, or a case differs; the first is named. Or it asks the rule of 4.8.0.
    """
    real = getattr(DEFAULT_RULES, field)
    _must_be_a_rule(real, mine, field)
    kinds, real_calls, before = kinds_of(real), list[bool](), sys.getprofile()
    if isinstance(mine, FunctionElsewhere):
        type(mine).real = field
    for args, expected in [*RULE_CASES[field](), *vector_cases(field)] if cases is None else cases:
        right = real(*copy.deepcopy(args)) if expected is UNKNOWN_ANSWER else expected
        sys.setprofile(lambda frame, *_: real_calls.append(True) if frame.f_code is real.__code__ else None)
        try:
            answer, problem = answered(mine, args, copy.deepcopy(args), kinds)
        finally:
            sys.setprofile(before)
        if problem or not _is_same(answer, right):
            text = problem or _(
                "your function gives {answer}, 4.8.0 gives {right}.", answer=in_words(answer), right=in_words(right)
            )
            raise CheckFailed(rule=rule_text(field), problem=f"{_call_in_words(real, args)}: {text}")
    if real_calls or (isinstance(mine, FunctionElsewhere) and mine.asks_the_real_rule):
        raise CheckFailed(THEIRS)


def _is_same(answer: Any, right: Any) -> bool:
    """Whether an answer says what the right one says; a tuple may stand for a list."""
    return bool((list(answer) if isinstance(right, list) else answer) == right)


def _call_in_words(real: Any, args: tuple[Any, ...]) -> str:
    names = inspect.signature(real).parameters
    return joined(", ", (f"{name}={in_words(value)}" for name, value in zip(names, args, strict=True)))


def first_difference(field: str, mine: Any, base: Rules = DEFAULT_RULES) -> tuple[int, str | None]:
    """How many small cases of a rule were compared with `base`, and the first that differs, in words, if any does.

    >>> first_difference("is_latest", lambda held, pull: held > pull)
    (1, 'held_version=0, pull_version=0: yours False, there True')
    """
    usual, count = getattr(base, field), 0
    for count, case in enumerate(RULE_CASES.get(field, tuple)(), 1):
        right = usual(*copy.deepcopy(case.args))
        answer, problem = answered(mine, case.args, copy.deepcopy(case.args), kinds_of(usual))
        if problem or not _is_same(answer, right):
            given, said = _call_in_words(usual, case.args), problem or in_words(answer)
            return count, _("{given}: yours {said}, there {right}", given=given, said=said, right=in_words(right))
    return count, None


def rule_text(field: str) -> str:
    """What a rule does, in words, with its rows: its docstring.

    >>> rule_text("is_latest")
    "Whether the broker's subscription may serve a pull; an older one is refused, a newer one serves in silence. (S-66)"
    """
    doc = " ".join((inspect.getdoc(getattr(DEFAULT_RULES, field)) or "").partition(">>>")[0].split())
    return re.sub(r"4\.8\.0 `[^`]+`; ((?:[SFH]-\d+(?:, |\.\.)?)+)\.?", r"(\1)", doc).strip()


def _must_be_a_rule(real: Any, mine: object, field: str) -> None:
    """Raise `CheckFailed` where it is no function, or takes another number of arguments."""
    if mine is ...:
        raise CheckFailed(OPEN_ANSWER)
    names = list(inspect.signature(real).parameters)
    form = ngettext(
        "Give a function with {count} parameter: {names2}.",
        "Give a function with {count} parameters: {names2}.",
        len(names),
        names2=joined(", ", names),
    )
    needs_function(mine, form, rule=rule_text(field))
    try:
        inspect.signature(mine).bind(*names)  # type: ignore[arg-type]
    except TypeError:
        raise CheckFailed(form, rule=rule_text(field)) from None
    except ValueError:
        pass  # a built-in without a signature: its first call will tell


def kinds_of(real: Any) -> tuple[type, ...]:
    """The types that an answer in place of this rule's may have; none: any."""
    return ARGUMENT_KINDS.get(str(inspect.signature(real).return_annotation), ())


def plain(answer: Any) -> Any:
    """The answer, a numpy truth value as Python's own."""
    return answer.item() if type(answer).__name__ == "bool" and hasattr(answer, "item") else answer


def answered(mine: Any, args: tuple[Any, ...], given: tuple[Any, ...], kinds: tuple[type, ...]) -> tuple[Any, str]:
    """What a learner's rule answers to `given`, which equals `args`, and what is wrong with the answer in itself."""
    try:
        answer = plain(mine(*given))
    except Exception as error:  # noqa: BLE001 - whatever a learner's code raises
        return None, in_a_sentence(error, mine)
    if isgenerator(answer):
        return None, YIELDS
    if kinds and (answer is ... or answer is None):
        return answer, _("your function gives {answer}. {ends}", answer=f"{answer!r}", ends=WAYS_END_HINT)
    if kinds and not isinstance(answer, kinds):
        kind = type(answer).__name__
        return answer, _(
            "your function gives {answer}, a {kind}; it must be a {name}.",
            answer=in_words(answer),
            kind=kind,
            name=kinds[0].__name__,
        )
    changed = args != given or (isinstance(mine, FunctionElsewhere) and mine.changed_its_arguments)
    return answer, ARGUMENT_CHANGED if changed else ""


# Small inputs, from the smallest up, and those of the vectors of the real jars.


def _wish(topic: str, text: str, version: int = 0) -> SubscriptionData:
    data = build_subscription_data(None, topic, text)
    data.sub_version = version
    return data


def _heartbeats() -> Iterator[RuleCase]:
    """Nothing held, then another version of the same topic, small and as an epoch, then several topics."""
    for base in (0, 1_700_000_000_000):
        for table, version, text in product(({}, {"T": _wish("T", "b", base + 5)}), (5, 4, 6), "ab"):
            yield RuleCase((table, [_wish("T", text, base + version)]))
    two = {"T": _wish("T", "a", 5), "U": _wish("U", "x", 5)}
    yield from (RuleCase((two, reported)) for reported in ([], [_wish("T", "a", 5)]))
    for first, second in product((4, 5, 6), repeat=2):
        yield RuleCase((two, [_wish("T", "b", first), _wish("U", "y", second)]))
        yield RuleCase(({"T": two["T"]}, [_wish("T", "b", first), _wish("U", "y", second)]))
    yield from (RuleCase(({}, [_wish("T", "a", first), _wish("T", "b", 11 - first)])) for first in (5, 6))
    yield RuleCase(({}, [_wish("T", "a", 0)]))  # a client's first heartbeat has version 0
    condition = SubscriptionData("T", "a > 3", sub_version=5, expression_type=SQL92)
    yield from (RuleCase(({"T": _wish("T", "a", version_held)}, [condition])) for version_held in (5, 4))
    yield from (RuleCase(({"T": condition}, [_wish("T", "a", version_told)])) for version_told in (5, 6))


JUDGED_TAGS = (None, "a", "b", "Aa", "BB", "A", " a", "Shop-Ab")
SUBSCRIBED = ("a", "b", "a || b", "*", "Aa", "BB || a", "Shop-Ab")  # the code of the last one is negative


def _entries() -> Iterator[RuleCase]:
    for text, tag in product(SUBSCRIBED, JUDGED_TAGS):
        yield RuleCase((_wish("T", text), string_hash(tag) if tag else 0))
    yield RuleCase((_wish("T", "a"), None))
    for text, more in product(("b", "Shop-Ab"), (2**32, -(2**32), 2**33, 2**31)):
        yield RuleCase((_wish("T", text), string_hash(text) + more))


def _messages() -> Iterator[RuleCase]:
    yield from (RuleCase((_wish("T", text), tag)) for text, tag in product(SUBSCRIBED, JUDGED_TAGS))
    by_class = _wish("T", "a")
    by_class.class_filter_mode = True
    yield from (RuleCase((by_class, tag)) for tag in ("b", None))


def _silences() -> Iterator[RuleCase]:
    for expiry, silent in product((1, 120_000), (0, -1, 1, 2)):
        yield RuleCase((expiry + silent + 500, 500, expiry))
    yield RuleCase((400, 500, 1))  # a clock that was set back


@dataclass(frozen=True)
class IsOneOf:
    """A function of one argument that a rule is given: whether it is one of these; its text says so."""

    those: tuple[Any, ...]

    def __call__(self, asked: Any) -> bool:
        """Whether it is one of them."""
        return asked in self.those

    def __repr__(self) -> str:
        """Those for which it is true."""
        return _("true for {those}", those=joined(", ", map(repr, self.those)) or _("nothing"))


def _tags() -> Iterator[RuleCase]:
    yield from (
        RuleCase((tag,)) for tag in (None, "", "a", "b", "ab", "Aa", "BB", "tagA", "tagB", "标签", "Shop-Ab", "a" * 40)
    )


def _versions() -> Iterator[RuleCase]:
    yield from (RuleCase(versions) for versions in product((0, 5, 6), repeat=2))


def _groups() -> Iterator[RuleCase]:
    for queues, members in product((1, 2, 4, 5, 8), ("A", "AB", "ABC")):
        yield from (RuleCase((name, list(range(queues)), list(members))) for name in members)
    yield RuleCase(("Z", [0, 1], ["A", "B"]))


def _bits() -> Iterator[RuleCase]:
    for places, bits in product(((3,), (1, 5), (1, 5, 9)), ((), (1,), (3,), (1, 5), (1, 5, 9), (5, 9))):
        yield RuleCase((list(places), IsOneOf(bits)))


def _hashes() -> Iterator[RuleCase]:
    for hash64, k, m in product((0, 1, 7 << 32 | 5, -1, 2**63 - 1, -(2**63), -(5 << 32) + 9), (1, 3), (8, 112)):
        yield RuleCase((hash64, k, m))


def _lines() -> Iterator[RuleCase]:
    for waiters, wanted in product(("A", "AB", "BA", "ABC"), ("A", "B", "", "AB")):
        yield RuleCase((list(waiters), IsOneOf(tuple(wanted))))


RULE_CASES: Mapping[str, Callable[[], Iterable[RuleCase]]] = {
    "update_subscription": _heartbeats,
    "tags_code": _tags,
    "bit_positions": _hashes,
    "is_hit": _bits,
    "is_latest": _versions,
    "allocate": _groups,
    "waiter_to_wake": _lines,
    "is_matched_by_consume_queue": _entries,
    "client_keeps": _messages,
    "is_expired": _silences,
}
# What the vectors of tags call the answer of these rules.
VECTOR_ANSWERS = {"is_matched_by_consume_queue": "by_consume_queue", "client_keeps": "by_client"}


def vector_cases(field: str) -> Iterator[RuleCase]:
    """Inputs and answers of the real 4.8.0 jars for a rule; nothing where no vectors are."""
    for vector in vectors("tags") if field in VECTOR_ANSWERS else ():
        if vector["kind"] == "match":
            subscription = build_subscription_data(None, "T", vector["subString"])
            subscription.class_filter_mode = bool(vector["classFilterMode"])
            given = vector["tag"] if field == "client_keeps" else vector["tagsCode"]
            if field == "client_keeps" or not subscription.class_filter_mode:
                yield RuleCase((subscription, given), vector[VECTOR_ANSWERS[field]])


def vectors(name: str) -> Iterator[dict[str, Any]]:
    """The vectors of data/golden/vectors/NAME.jsonl; none outside a checkout."""
    if is_checkout():
        with (ROOT / "data" / "golden" / "vectors" / f"{name}.jsonl").open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
