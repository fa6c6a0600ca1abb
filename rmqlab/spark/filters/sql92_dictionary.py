"""A SQL92 filter on dictionary-coded columns: evaluated once for each distinct value, by the evaluator itself.

The tree is cut into *leaves*, the largest parts that ask for one property only. A leaf is evaluated on every distinct
value of its column; each row then only looks its code up. What joins leaves is AND, OR and NOT, done on whole columns
of codes. A leaf with several properties (`a > b`) is evaluated on every distinct combination. Nothing here knows how
Java reads numbers: that stays with the evaluator, so the answers are its answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqlab.filter.sql92.compiler import CompiledSql92, compile_sql92
from rmqlab.filter.sql92.errors import JavaError
from rmqlab.filter.sql92.nodes import And, BooleanCast, Constant, Equal, Node, Not, Or, Property
from rmqlab.rules import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from rmqlab.filter.sql92.tokens import Version

    Codes = NDArray[np.uint8]

C = TypeVar("C", bound=Any)  # codes: of one row each, or a column of Spark

PRESENCE = "?"
"""Ends the name of a boolean column that tells where the property of that name is there."""


class DictionaryColumn(NamedTuple):
    """The distinct `values`, with None for an absent property behind them, and the place among them of each row."""

    values: list[Any]
    places: NDArray[np.integer[Any]]


def column_of(table: pa.Table, name: str) -> DictionaryColumn:
    """Read a property of a table whose columns are texts, dictionary-coded or plain. Without a column it is absent."""
    if name not in table.column_names:
        return DictionaryColumn([None], np.zeros(table.num_rows, np.int32))
    column = table[name]
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    array = column.unify_dictionaries().combine_chunks()
    values = array.dictionary.to_pylist()
    return DictionaryColumn([*values, None], array.indices.cast(pa.int32()).fill_null(len(values)).to_numpy())


def presence_of(table: pa.Table, name: str) -> DictionaryColumn:
    """Read only where a property is there: from the boolean column beside it, or from its own NULLs."""
    if name + PRESENCE in table.column_names:
        there = table[name + PRESENCE].fill_null(False).to_numpy()
    elif name in table.column_names:
        there = table[name].is_valid().to_numpy()
    else:
        there = np.zeros(table.num_rows, np.bool_)
    return DictionaryColumn(["", None], 1 - there.view(np.int8))


FALSE, TRUE, NULL, ERROR = range(4)
OUTCOMES: Final = ("false", "true", "null", "error")
_REMEMBERED: Final = 1 << 20
_NOT: Final = (TRUE, FALSE, NULL, ERROR)
# By the left value, then by the right one: a left one that decides, or is an error, ends it.
_AND: Final = (FALSE,) * 4 + (FALSE, TRUE, NULL, ERROR) + (FALSE, NULL, NULL, ERROR) + (ERROR,) * 4
_OR: Final = (FALSE, TRUE, NULL, ERROR) + (TRUE,) * 4 + (NULL, TRUE, NULL, ERROR) + (ERROR,) * 4


class DictionaryFilter:
    """A compiled filter, ready for tables with one column a property.

    `value_names`: the properties whose texts matter; `presence_names`: those asked for only by IS NULL and the like.
    """

    def __init__(self, expression: str | CompiledSql92, version: Version = DEFAULT_VERSION) -> None:
        """Compile. Raises `MQFilterException` for a text that the broker refuses."""
        compiled = expression if isinstance(expression, CompiledSql92) else compile_sql92(expression, version)
        self.compiled = compiled
        self._parts: list[Leaf | Node] = [] if compiled.too_deep else _cut(compiled)
        self.leaves = leaves = [part for part in self._parts if isinstance(part, Leaf)]
        self.value_names = list(dict.fromkeys(name for leaf in leaves if not leaf.by_presence for name in leaf.names))
        asked = dict.fromkeys(name for leaf in leaves if leaf.by_presence for name in leaf.names)
        self.presence_names = [name for name in asked if name not in self.value_names]

    def matches(self, table: pa.Table) -> NDArray[np.bool_]:
        """Say for each row whether the broker lets the message pass."""
        return np.asarray(self.outcomes(table) == TRUE)

    def outcomes(self, table: pa.Table) -> Codes:
        """Give each row's value: 0 false, 1 true, 2 null, 3 an error."""
        if self.compiled.too_deep:
            return np.full(table.num_rows, ERROR, np.uint8)
        columns: dict[tuple[str, bool], DictionaryColumn] = {}

        def outcomes(leaf: Leaf) -> Codes:
            for name in leaf.names:
                if (name, leaf.by_presence) not in columns:
                    read = presence_of if leaf.by_presence else column_of
                    columns[name, leaf.by_presence] = read(table, name)
            return leaf.outcomes([columns[name, leaf.by_presence] for name in leaf.names], table.num_rows)

        def join(_node: Node, values: Sequence[int], *codes: Codes) -> Codes:
            places = codes[0] if len(codes) == 1 else codes[0] << 2 | codes[1]
            return np.array(values, np.uint8).take(places, mode="clip")

        return self.joined(outcomes, join)

    def joined(self, of: Callable[[Leaf], C], join: Callable[[Node, Sequence[int], C, *tuple[C]], C]) -> C:
        """Decide the leaves by `of`, then join what it gave.

        `join` gets a NOT, AND or OR, the table of its values (by the left code times four, plus the right one) and what
        its operands came to.
        """
        found: dict[int, C] = {}
        for part in self._parts:
            if isinstance(part, Leaf):
                found[id(part.node)] = of(part)
            else:
                table = _NOT if isinstance(part, Not) else _OR if isinstance(part, Or) else _AND
                found[id(part)] = join(part, table, *(found[id(operand)] for operand in part.operands))
        return found[id(self.compiled.root)]


def code_of(part: CompiledSql92, properties: Mapping[str, str]) -> int:
    """Evaluate on one message: a place in `OUTCOMES`."""
    try:
        value = part.evaluate(properties)
    except JavaError:
        return ERROR
    return NULL if value is None else int(value is True)


class Leaf:
    """A part of the tree that is evaluated once for each distinct value, or combination of values."""

    def __init__(self, compiled: CompiledSql92, node: Node, names: Sequence[str]) -> None:
        self.node, self.names = node, names
        self.by_presence = len(names) == 1 and _asks_for_presence_only(node)
        self._part = CompiledSql92(compiled.text, compiled.version, node, compiled.rest)
        self._known: dict[tuple[str | None, ...], int] = {}

    @property
    def codes(self) -> Collection[int]:
        """What it came to so far."""
        return self._known.values()

    def code(self, *values: str | None) -> int:
        """Evaluate on one value for each name, None for an absent property."""
        code = self._known.get(values)
        if code is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            properties = {name: value for name, value in zip(self.names, values, strict=True) if value is not None}
            code = self._known[values] = code_of(self._part, properties)
        return code

    def outcomes(self, columns: Sequence[DictionaryColumn], rows: int) -> Codes:
        """Evaluate on each row of `columns`, one for each name."""
        if not columns:
            return np.full(rows, self.code(), np.uint8)
        if len(columns) == 1:
            ((values, places),) = columns
            return np.fromiter(map(self.code, values), np.uint8, len(values)).take(places)
        sizes = [len(column.values) for column in columns]
        combined = np.zeros(rows, np.int64)
        for column in columns:
            combined = combined * len(column.values) + column.places
        distinct, places = np.unique(combined, return_inverse=True)
        chosen = (
            map(column.values.__getitem__, where.tolist())
            for column, where in zip(columns, np.unravel_index(distinct, sizes), strict=True)
        )
        return np.fromiter(map(self.code, *chosen), np.uint8, len(distinct)).take(places)


def _cut(compiled: CompiledSql92) -> list[Leaf | Node]:
    """Cut a tree, however deep, into leaves and what joins them; each part comes behind those that it needs."""
    names = _names_below(compiled.root)
    found: list[Leaf | Node] = []
    waiting = [compiled.root]
    while waiting:
        node = waiting.pop()
        if len(names[id(node)]) > 1 and isinstance(node, And | Or | Not):
            found.append(node)
            waiting.extend(node.operands)
        else:
            found.append(Leaf(compiled, node, sorted(names[id(node)])))
    return found[::-1]


def _names_below(root: Node) -> dict[int, frozenset[str]]:
    """Give the properties each part asks for."""
    names: dict[int, frozenset[str]] = {}
    for node in reversed(list(root.walk())):
        own = frozenset({node.name} if isinstance(node, Property) else ())
        names[id(node)] = own.union(*(names[id(operand)] for operand in node.operands))
    return names


def _asks_for_presence_only(root: Node) -> bool:
    """Tell whether only presence matters: properties stand before IS NULL, or alone where a condition is needed."""
    for node in root.walk():
        for operand in node.operands:
            is_null = isinstance(node, Equal) and isinstance(node.right, Constant) and node.right.value is None
            if isinstance(operand, Property) and not (isinstance(node, BooleanCast) or is_null):
                return False
    return True
