"""Compiling an expression as the broker does: parse, remember the last results, refuse with the parser's words."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.errors import (
    JavaError,
    MQFilterException,
    NullExpressionError,
    SyntaxFault,
    stack_overflow_error,
)
from rmqlab.filter.sql92.evaluation import DEEPEST_EVALUATION, closure, evaluate_in_steps, nesting
from rmqlab.filter.sql92.parser import parse
from rmqlab.filter.sql92.tokens import Kind, as_units, position
from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.filter.sql92.evaluation import Closure
    from rmqlab.filter.sql92.nodes import Node
    from rmqlab.filter.sql92.tokens import Token, Version
    from rmqlab.filter.sql92.values import Value

CACHE_SIZE: Final = 100
LONGEST_EXPRESSION: Final = 16_384
"""Ours: characters of an expression that brokers compile. 4.8.0 takes what fits into a frame of 16 MiB."""
# Functions nested deeper than this could run into Python's own recursion limit.
_DEEPEST_CLOSURE = 100
_NO_PROPERTIES: Mapping[str, str] = {}


class CompiledSql92:
    """An expression the broker accepts: its `text`, its tree `root`, the first token after it (`rest`).

    `too_deep`: it can be compiled, but evaluating it overflows the JVM's stack.
    """

    __slots__ = ("_evaluate", "rest", "root", "text", "too_deep", "version")

    def __init__(self, text: str, version: Version, root: Node, rest: Token) -> None:
        self.text = text
        self.version = version
        self.root = root
        self.rest = rest
        levels, depth = nesting(root)
        self.too_deep = depth > DEEPEST_EVALUATION
        self._evaluate: Closure | None = closure(root) if levels <= _DEEPEST_CLOSURE else None

    def evaluate(self, properties: Mapping[str, str] | None, /) -> Value:
        """The value for a message with these properties (None: no properties at all).

        Raises:
            JavaError: what 4.8.0 throws: a `RuntimeException` around a `NumberFormatException`, a
                `ClassCastException`, or a `StackOverflowError` for a tree of more than `DEEPEST_EVALUATION` levels.
        """
        if self.too_deep:
            raise stack_overflow_error()
        if self._evaluate is not None:
            return self._evaluate((_NO_PROPERTIES if properties is None else properties).get)
        root = evaluate_in_steps(self.root, properties).root
        if root.error is not None:
            raise root.error
        return root.value

    @property
    def ignored(self) -> str:
        """The text after the longest valid prefix, which 4.8.0 never reads (row F-27)."""
        return "" if self.rest.kind is Kind.EOF else as_units(self.text)[self.rest.start :]

    def matches(self, properties: Mapping[str, str] | None) -> bool:
        """Whether the broker lets the message pass: only for the value true, not for null or an error."""
        try:
            return self.evaluate(properties) is True
        except JavaError:
            return False

    def __str__(self) -> str:
        """Print the tree as 4.8.0's `Expression.toString`."""
        return str(self.root)


class ParseCache:
    """The last results of parsing, refusals included (`SelectorParser.PARSE_CACHE`, 100 of them; row F-73).

    The one that was not asked for longest goes first. `hits` and `misses` count. `prepared` holds results that were
    made elsewhere, by expression and version; they are asked first.
    """

    def __init__(self) -> None:
        self._parsed = lru_cache(CACHE_SIZE)(compiled_or_refused)
        self.prepared: dict[tuple[str, Version], CompiledSql92 | MQFilterException] = {}

    @property
    def hits(self) -> int:
        """How often a result was repeated."""
        return self._parsed.cache_info().hits

    @property
    def misses(self) -> int:
        """How often one was made."""
        return self._parsed.cache_info().misses

    def __len__(self) -> int:
        """Number of results kept."""
        return self._parsed.cache_info().currsize

    def compile(self, expression: str | None, version: Version = DEFAULT_VERSION) -> CompiledSql92:
        """Compile, or repeat an earlier result.

        Raises:
            MQFilterException: None.
            NullExpressionError: None.
        """
        if expression is None:
            raise NullExpressionError(_("SQL92: there is no expression; give one such as \"TAGS = 'TagA'\""))
        result = self.prepared.get((expression, version)) or self._parsed(expression, version)
        if isinstance(result, MQFilterException):
            raise result.with_traceback(None)
        return result


def compiled_or_refused(expression: str, version: Version = DEFAULT_VERSION) -> CompiledSql92 | MQFilterException:
    """Compile, or return why not; what is longer than `LONGEST_EXPRESSION` overflows our stack, so to say."""
    if len(expression) > LONGEST_EXPRESSION:
        count, most = f"{len(expression):,}", f"{LONGEST_EXPRESSION:,}"
        text = _("SQL92: {count} characters; an expression has at most {most} here", count=count, most=most)
        return MQFilterException(stack_overflow_error(), text, 0, 0)
    try:
        return compile_sql92(expression, version)
    except MQFilterException as refusal:
        return refusal


def compile_sql92(expression: str, version: Version = DEFAULT_VERSION) -> CompiledSql92:
    """Compile without a cache.

    Raises:
        MQFilterException: an expression that the broker refuses.
    """
    try:
        root, rest = parse(expression, version)
    except JavaError as reason:
        raise _refusal(expression, reason) from reason
    return CompiledSql92(expression, version, root, rest)


def _refusal(expression: str, reason: JavaError) -> MQFilterException:
    offset = reason.offset
    if offset is None:
        explanation = _("brackets or prefixes are nested too deeply: the broker's parser runs out of stack")
        return MQFilterException(reason, f"SQL92: {explanation}", 0, 0)
    line, column = position(as_units(expression), offset)
    if isinstance(reason, SyntaxFault):
        text = _("read {found}, where {any_of} could stand", found=reason.read, any_of=_any_of(reason.expected))
    else:
        text = reason.text or reason.java_name
    return MQFilterException(
        reason, _("SQL92: line {line}, column {column}: {told}", line=line, column=column, told=text), line, column
    )


def _any_of(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else _("{words} or {words2}", words=joined(", ", words[:-1]), words2=words[-1])
