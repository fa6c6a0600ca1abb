"""A SQL92 filter on dictionary-coded columns: evaluated once for each distinct value, by the evaluator itself.

The tree is cut into *leaves*, the largest parts that ask for one property only. A leaf is evaluated on every distinct
value of its column; each row then only looks its code up. What joins leaves is AND, OR and NOT, done on rows of bits:
where a part is true, where it is false, where it is no error. A leaf with several properties (`a > b`) is evaluated on
every distinct combination. Nothing here knows how Java reads numbers: that stays with the evaluator, so the answers are
its answers.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np

from rmqlab.filter.sql92.compiler import CompiledSql92, compile_sql92
from rmqlab.filter.sql92.errors import JavaError
from rmqlab.filter.sql92.nodes import And, BooleanCast, Constant, Equal, Node, Not, Or, Property, chain
from rmqlab.rules import DEFAULT_VERSION
from rmqlab.spark.filters.dictionary_columns import DictionaryColumn, all_bits, column_of, presence_of, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from rmqlab.filter.sql92.tokens import Version

    Bits = NDArray[np.uint8]

FALSE, TRUE, NULL, ERROR = range(4)
OUTCOMES: Final = ("false", "true", "null", "error")
_REMEMBERED: Final = 1 << 20


class DictionaryFilter:
    """A compiled filter, ready for tables with one column a property.

    `value_names`: the properties whose texts matter; `presence_names`: those asked for only by IS NULL and the like.
    """

    def __init__(self, expression: str | CompiledSql92, version: Version = DEFAULT_VERSION) -> None:
        """Compile. Raises `MQFilterException` for a text that the broker refuses."""
        compiled = expression if isinstance(expression, CompiledSql92) else compile_sql92(expression, version)
        self.compiled = compiled
        self._leaves: dict[int, _Leaf] = {}
        if not compiled.too_deep:
            self._cut(compiled.root)
        leaves = self._leaves.values()
        self.value_names = list(dict.fromkeys(name for leaf in leaves if not leaf.by_presence for name in leaf.names))
        asked = dict.fromkeys(name for leaf in leaves if leaf.by_presence for name in leaf.names)
        self.presence_names = [name for name in asked if name not in self.value_names]

    def matches(self, table: pa.Table) -> NDArray[np.bool_]:
        """Say for each row whether the broker lets the message pass."""
        return unpack(self.match_bits(table), table.num_rows)

    def count(self, table: pa.Table) -> int:
        """Count the rows that pass."""
        return int(np.bitwise_count(self.match_bits(table)).sum())

    def outcomes(self, table: pa.Table) -> NDArray[np.uint8]:
        """Give each row's value: 0 false, 1 true, 2 null, 3 an error."""
        rows = table.num_rows
        if self.compiled.too_deep:
            return np.full(rows, ERROR, np.uint8)
        evaluation = _Evaluation(self._leaves, table)
        true, false, fine = (unpack(evaluation.bits(self.compiled.root, form), rows) for form in (TRUE, FALSE, NULL))
        return np.select([~fine, true, false], [ERROR, TRUE, FALSE], NULL).astype(np.uint8)

    def match_bits(self, table: pa.Table) -> Bits:
        """Give one bit a row, the lowest first; bits beyond the last row are 0."""
        if self.compiled.too_deep:
            return all_bits(table.num_rows, value=False)
        return _Evaluation(self._leaves, table).bits(self.compiled.root, TRUE)

    def _cut(self, root: Node) -> None:
        """Find the leaves, however deep the tree."""
        names = _names_below(root)
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if len(names[id(node)]) > 1 and isinstance(node, And | Or | Not):
                waiting.extend(chain(node) if isinstance(node, And | Or) else node.operands)
            else:
                self._leaves[id(node)] = _Leaf(self.compiled, node, sorted(names[id(node)]))


def code_of(part: CompiledSql92, properties: Mapping[str, str]) -> int:
    """Evaluate on one message: a place in `OUTCOMES`."""
    try:
        value = part.evaluate(properties)
    except JavaError:
        return ERROR
    return NULL if value is None else int(value is True)


class _Leaf:
    """A part of the tree that is evaluated once for each distinct value, or combination of values."""

    def __init__(self, compiled: CompiledSql92, node: Node, names: Sequence[str]) -> None:
        self.names = names
        self.by_presence = len(names) == 1 and _asks_for_presence_only(node)
        self._part = CompiledSql92(compiled.text, compiled.version, node, compiled.rest)
        self._known: dict[tuple[str | None, ...], int] = {}

    def code(self, values: tuple[str | None, ...]) -> int:
        """Evaluate on one value for each name, None for an absent property."""
        code = self._known.get(values)
        if code is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            properties = {name: value for name, value in zip(self.names, values, strict=True) if value is not None}
            code = self._known[values] = code_of(self._part, properties)
        return code

    def codes(self, columns: Sequence[DictionaryColumn]) -> tuple[NDArray[np.uint8], DictionaryColumn]:
        """Give the code of each distinct value (the last one: absent), and the column whose rows refer to them."""
        if not columns:
            return np.array([self.code(())], np.uint8), DictionaryColumn([], None, None)
        if len(columns) == 1:
            column = columns[0]
            values = [*((value,) for value in column.values), (None,)]
            return np.fromiter(map(self.code, values), np.uint8, len(values)), column
        combined = columns[0].with_absent_last()
        sizes = [len(column.values) + 1 for column in columns]
        for column, size in zip(columns[1:], sizes[1:], strict=True):
            combined = combined * size + column.with_absent_last()
        distinct, rows = np.unique(combined, return_inverse=True)
        places = np.unravel_index(distinct, sizes)
        tuples = [
            tuple(
                column.values[place] if place < len(column.values) else None
                for column, place in zip(columns, where, strict=True)
            )
            for where in zip(*(place.tolist() for place in places), strict=True)
        ]
        codes = np.fromiter((*map(self.code, tuples), NULL), np.uint8, len(tuples) + 1)
        return codes, DictionaryColumn(tuples, rows.astype(np.int32), None)


class _Evaluation:
    """One filter on one table: bits of every part, made when first asked for."""

    def __init__(self, leaves: Mapping[int, _Leaf], table: pa.Table) -> None:
        self._leaves = leaves
        self._table = table
        self._rows = table.num_rows
        self._columns: dict[tuple[str, bool], DictionaryColumn] = {}
        self._codes: dict[int, tuple[NDArray[np.uint8], DictionaryColumn]] = {}
        self._made: dict[tuple[int, int], Bits] = {}

    def bits(self, root: Node, form: int) -> Bits:
        """Give the rows where `root` is true (form TRUE), false (FALSE), no error (NULL). Needs no recursion."""
        waiting = [(root, form)]
        while waiting:
            node, wanted = waiting[-1]
            if (id(node), wanted) in self._made:
                waiting.pop()
                continue
            needed = [one for one in self._needs(node, wanted) if (id(one[0]), one[1]) not in self._made]
            if needed:
                waiting.extend(needed)
                continue
            self._made[id(node), wanted] = self._make(node, wanted)
            waiting.pop()
        return self._made[id(root), form]

    def _needs(self, node: Node, form: int) -> list[tuple[Node, int]]:
        if id(node) in self._leaves:
            return []
        if isinstance(node, Not):
            return [(node.operand, {TRUE: FALSE, FALSE: TRUE}.get(form, form))]
        assert isinstance(node, And | Or)  # noqa: S101 - all else is a leaf
        terms, decisive = chain(node), TRUE if isinstance(node, Or) else FALSE
        if form not in {decisive, NULL}:
            return [(term, form) for term in terms]
        return [(term, one) for term in terms for one in (decisive, NULL)]

    def _make(self, node: Node, form: int) -> Bits:
        leaf = self._leaves.get(id(node))
        if leaf is not None:
            return self._look_up(node, leaf, form)
        needed = [self._made[id(one), wanted] for one, wanted in self._needs(node, form)]
        if isinstance(node, Not):
            return needed[0]
        decisive = TRUE if isinstance(node, Or) else FALSE
        if form not in {decisive, NULL}:
            return reduce(np.bitwise_and, needed)
        # From the last term to the first: it decides, or it is no error and what follows does.
        decides, fine = needed[0::2], needed[1::2]
        result = decides[-1] if form == decisive else fine[-1]
        for deciding, going_on in zip(decides[-2::-1], fine[-2::-1], strict=True):
            result = deciding | (going_on & result)
        return result

    def _look_up(self, node: Node, leaf: _Leaf, form: int) -> Bits:
        if id(node) not in self._codes:
            self._codes[id(node)] = leaf.codes([self._column(name, leaf) for name in leaf.names])
        codes, column = self._codes[id(node)]
        chosen = codes != ERROR if form == NULL else codes == form
        return column.choose(chosen, self._rows)

    def _column(self, name: str, leaf: _Leaf) -> DictionaryColumn:
        key = name, leaf.by_presence
        if key not in self._columns:
            self._columns[key] = (presence_of if leaf.by_presence else column_of)(self._table, name)
        return self._columns[key]


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
