"""What is probably not meant by a subscription, of any type: the one list that every surface shows.

A surface is whatever takes an expression from a person: verbs, `Lab`, tables of a doctor, playgrounds.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rmqlab.errors import did_you_mean
from rmqlab.filter.filter import EXPRESSION_TYPES, compile_expression
from rmqlab.filter.sql92.compiler import CompiledSql92, compile_sql92
from rmqlab.filter.sql92.errors import ExpressionRefused, MQFilterException
from rmqlab.language import _
from rmqlab.protocol.subscription_data import SQL92, TAG, TAG_TYPES
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.search.expressions.examine import examine
from rmqlab_tools.search.expressions.hints import Hint
from rmqlab_tools.search.expressions.repair.repair import repair
from rmqlab_tools.search.expressions.tag_hints import examine_tags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.filter.sql92.tokens import Version

REFUSED_CODE: Final = "refused"
DEFAULT_GRAMMAR: Final = DEFAULT_RULES.sql92
WARNING: Final = "warning"


class ExpressionWarning(UserWarning):
    """An expression that is accepted, and probably means something else than its author thinks.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warn([("A, T:", "TAG", "tagA|tagB")])
    >>> said[0].category.__name__
    'ExpressionWarning'
    """


@lru_cache(maxsize=1024)
def remarks(
    expression_type: str | None, expression: str | None, version: Version = DEFAULT_GRAMMAR
) -> tuple[Hint, ...]:
    """Everything that is worth a word about a subscription, in the order of the text; `refused` stands alone.

    >>> [(one.code, one.write) for one in remarks("TAG", "tagA,tagB")]
    [('separator', 'tagA || tagB')]
    >>> [(one.code, one.write) for one in remarks("SQL92", "a == 5")]
    [('refused', 'a = 5')]
    """
    if expression_type in TAG_TYPES:
        return tuple(examine_tags(expression))
    text = expression or ""
    try:
        if expression_type == SQL92:
            return tuple(examine(compile_sql92(text, version)))
        compiled = compile_expression(expression_type, text, version)
    except ExpressionRefused as refusal:
        return (_refused(expression_type, text, refusal, version),)
    return tuple(examine(compiled)) if isinstance(compiled, CompiledSql92) else ()


def _refused(kind: str | None, text: str, refusal: ExpressionRefused, version: Version) -> Hint:
    if not isinstance(refusal, MQFilterException):
        near = did_you_mean(kind, (TAG, *EXPRESSION_TYPES)).removeprefix("; ")
        return Hint(REFUSED_CODE, WARNING, 0, 0, 0, 0, refusal.args[0], near)
    repaired = repair(text, version)
    at = 0 if refusal.offset is None else refusal.offset
    return Hint(
        REFUSED_CODE,
        WARNING,
        at,
        at,
        refusal.line,
        refusal.column,
        refusal.args[0],
        repaired.told or "",
        repaired.write,
    )


def doubts(expression_type: str | None, expression: str | None, version: Version = DEFAULT_GRAMMAR) -> tuple[Hint, ...]:
    """The remarks that are warnings: what loses messages, lets others pass, or is refused."""
    return tuple(hint for hint in remarks(expression_type, expression, version) if hint.severity == WARNING)


def sentence(hint: Hint) -> str:
    """A remark in one sentence, with what to write."""
    values = {"message": hint.message, "advice": hint.advice, "write": hint.write}
    if hint.write is not None:
        if not hint.advice:
            return _("{message}; write {write}", **values)
        return _("{message} ({advice}); write {write}", **values)
    return _("{message} ({advice})", **values) if hint.advice else _("{message}", **values)


def told(expression_type: str | None, expression: str | None, version: Version = DEFAULT_GRAMMAR) -> list[str]:
    """The sentences of `doubts`, those with the same words once."""
    return list(dict.fromkeys(map(sentence, doubts(expression_type, expression, version))))


_SAID: dict[str | tuple[str, type[Warning], int], int] = {}
"""What was said already: Python's usual filter says each sentence once."""


def warn(
    subscriptions: Iterable[tuple[str, str | None, str | None]],
    *,
    refused: bool = False,
    sql92: Version = DEFAULT_GRAMMAR,
) -> None:
    """Say what is doubtful of subscriptions, each a name, a type and an expression, as Python's warnings.

    What is refused is left to the error that says so, unless `refused` is true: then nothing else says it. The
    warnings name no line of a file, so that a notebook's outputs are the same wherever it runs.
    """
    for name, kind, expression in subscriptions:
        for doubt in doubts(kind, expression, sql92):
            if doubt.code == REFUSED_CODE and not refused:
                continue
            said = _("{name} {expression}: {text}", name=name, expression=repr(expression), text=sentence(doubt))
            warnings.warn_explicit(ExpressionWarning(str(said)), None, "rmqlab", 0, registry=_SAID)
