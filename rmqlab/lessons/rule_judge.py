"""A rule that a learner wrote, judged by small cases and by vectors; `rmqlab.lessons.order_judge` takes every order.

The evidence against it is the first case that differs. What the right rule gives is not told.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rmqlab.lessons.answers import in_a_sentence, needs_function
from rmqlab.lessons.check import OPEN, CheckFailed
from rmqlab.lessons.rule_cases import CASES, UNKNOWN, Case, in_words, vector_cases
from rmqlab.rules import DEFAULT_RULES

ENDS = "Does every way through it end in return?"
# The types of an answer, by those that the rule of 4.8.0 names.
KINDS: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,), "int": (int,), "list[int]": (list, tuple), "list[T]": (list,), "Table": (dict, Mapping),
}  # fmt: skip


def must_agree_in_cases(field: str, mine: object, cases: Iterable[Case] | None = None) -> None:
    """Compare a learner's rule with that of ``RULES`` on `cases`: by default small ones, then those of the real jars.

    >>> must_agree_in_cases("is_expired", lambda now, last, expiry: now - last > expiry)
    >>> try:
    ...     must_agree_in_cases("is_expired", lambda now, last, expiry: now - last >= expiry)
    ... except CheckFailed as failed:
    ...     print(failed.problem)
    now=501, last_update_timestamp=500, channel_expired_ms=1: your function gives True.

    Raises:
        CheckFailed: it is no such function, or a case differs; the first is told.
    """
    real = getattr(DEFAULT_RULES, field)
    _must_be_a_rule(real, mine, field)
    for args, expected in [*CASES[field](), *vector_cases(field)] if cases is None else cases:
        right = real(*copy.deepcopy(args)) if expected is UNKNOWN else expected
        problem = _answers(mine, args, right, kinds_of(real))
        if problem:
            given = ", ".join(
                f"{name}={in_words(value)}"
                for name, value in zip(inspect.signature(real).parameters, args, strict=True)
            )
            raise CheckFailed(rule=rule_text(field), problem=f"{given}: {problem}")


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
        raise CheckFailed(OPEN)
    names = list(inspect.signature(real).parameters)
    form = f"Give a function with {len(names)} parameter{'s' if len(names) != 1 else ''}: {', '.join(names)}."
    needs_function(mine, form, rule=rule_text(field))
    try:
        inspect.signature(mine).bind(*names)  # type: ignore[arg-type]
    except TypeError:
        raise CheckFailed(form, rule=rule_text(field)) from None
    except ValueError:
        pass  # a built-in without a signature: its first call will tell


def kinds_of(real: Any) -> tuple[type, ...]:
    """The types that an answer in place of this rule's may have; none: any."""
    return KINDS.get(str(inspect.signature(real).return_annotation), ())


def _answers(mine: Any, args: tuple[Any, ...], right: object, kinds: tuple[type, ...]) -> str:
    """What is wrong with the answer of a rule, or nothing."""
    given = copy.deepcopy(args)
    try:
        answer = mine(*given)
    except Exception as error:  # noqa: BLE001 - whatever a learner's code raises
        return in_a_sentence(error, mine)
    if answer is ... or answer is None:
        return f"your function gives {answer!r}. {ENDS}"
    if kinds and not isinstance(answer, kinds):
        return f"your function gives {in_words(answer)}, a {type(answer).__name__}; it must be a {kinds[0].__name__}."
    if any(one != other for one, other in zip(args, given, strict=True) if isinstance(one, list | Mapping)):
        return "your function changes what it was given; make a new object and return that."
    same = list(answer) == right if isinstance(right, list) else answer == right
    return "" if same else f"your function gives {in_words(answer)}."
