"""A SQL92 filter on dictionary-coded columns: evaluated once for each distinct value, by the evaluator itself.

The tree is cut into *leaves*, the largest parts that ask for one property only. A leaf is evaluated on every distinct
value of its column; each row then only looks its code up. What joins leaves is AND, OR and NOT, done on flags of all
rows. A leaf with several properties (`a > b`) is evaluated on every distinct combination. Nothing here knows how
Java reads numbers: that stays with the evaluator, so the answers are its answers.
"""

from __future__ import annotations

from functools import cached_property
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
    Keys = NDArray[np.uint8] | NDArray[np.uint16]
    Flags = NDArray[np.bool_]

C = TypeVar("C", bound=Any)  # what a part comes to: flags of each row, or columns of Spark

PRESENCE = "?"
"""Ends the name of a boolean column that tells where the property of that name is there."""


class DictionaryColumn(NamedTuple):
    """The distinct `values`, the place among them of each row, and the rows where a value is `there`.

    Without `there` a row without a value has the place after the last one.
    """

    values: list[Any]
    places: NDArray[np.int32] | NDArray[np.uint8]
    there: Flags | None

    def choose(self, codes: Keys) -> Keys:
        """Give each row the code of its value; the last code is that of absence."""
        if self.there is None:
            return codes.take(self.places, mode="clip")
        chosen = codes[:-1].take(self.places, mode="clip") if len(self.values) > 1 else codes[0]
        return np.asarray(chosen * self.there + codes[-1] * ~self.there)

    def all_places(self) -> NDArray[np.int32] | NDArray[np.uint8]:
        """The place of each row, absence being the one after the last value."""
        if self.there is None:
            return self.places
        return np.where(self.there, self.places, np.int32(len(self.values)))


def column_of(table: pa.Table, name: str) -> DictionaryColumn:
    """Read a property of a table whose columns are texts, dictionary-coded or plain. Without a column it is absent.

    The last value of a dictionary may be NULL: such a row has no value either.
    """
    if name not in table.column_names:
        return DictionaryColumn([], np.zeros(table.num_rows, np.int32), np.zeros(table.num_rows, np.bool_))
    column = table[name]
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    array = column.unify_dictionaries().combine_chunks()
    indices = array.indices.cast(pa.int32())
    places = np.frombuffer(indices.buffers()[1] or b"", np.int32)[indices.offset :][: len(indices)]
    values = array.dictionary.to_pylist()
    if values[-1:] == [None] and not indices.null_count:
        return DictionaryColumn(values[:-1], places, None)
    return DictionaryColumn(values, places, _flags(array.is_valid()))


def presence_of(table: pa.Table, name: str) -> DictionaryColumn:
    """Read only where a property is there: from the boolean column beside it, or from its own NULLs."""
    if name + PRESENCE in table.column_names:
        there = _flags(table[name + PRESENCE].fill_null(False).combine_chunks())
    elif name in table.column_names and pa.types.is_dictionary(table[name].type):
        column = column_of(table, name)
        there = column.places != len(column.values) if column.there is None else column.there
    elif name in table.column_names:
        there = _flags(table[name].is_valid().combine_chunks())
    else:
        there = np.zeros(table.num_rows, np.bool_)
    return DictionaryColumn([""], (~there).view(np.uint8), None)


def _flags(array: pa.BooleanArray) -> Flags:
    """Read booleans without a NULL as Arrow keeps them, eight a byte: its own conversion takes ten times as long."""
    end = array.offset + len(array)
    bits = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    return np.unpackbits(bits, count=end, bitorder="little")[array.offset :].view(np.bool_)


FALSE_CODE, TRUE_CODE, NULL_CODE, ERROR_CODE = range(4)
OUTCOMES: Final = ("false", "true", "null", "error")
_ITSELF: Final = np.arange(len(OUTCOMES), dtype=np.uint8)
_PASSING: Final = (_ITSELF == TRUE_CODE).view(np.uint8)
_REMEMBERED: Final = 1 << 20
_BITS: Final = 2  # an outcome has so many
_MOST_LEAVES: Final = 16 // _BITS


class Outcomes(NamedTuple):
    """Where a part of a condition is `true` and where `false`, row by row: neither means null, both mean an error."""

    true: Flags
    false: Flags

    @classmethod
    def of(cls, codes: Codes) -> Outcomes:
        """Read places in `OUTCOMES`."""
        return cls((codes & 1).view(np.bool_), (codes == FALSE_CODE) | (codes == ERROR_CODE))

    @property
    def codes(self) -> Codes:
        """The place in `OUTCOMES` of each row."""
        either = self.true ^ self.false
        return np.uint8(NULL_CODE) * ~either + self.true.view(np.uint8)

    def negated(self) -> Outcomes:
        """Do a NOT."""
        return Outcomes(self.false, self.true)

    def and_then(self, right: Outcomes) -> Outcomes:
        """Do an AND: a left side that is false, or an error, ends it."""
        true = self.true & (self.false | right.true) | right.true & right.false & ~self.false
        return Outcomes(true, self.false | right.false)


def join(node: Node, left: Outcomes, right: Outcomes | None = None) -> Outcomes:
    """Do the NOT, AND or OR that `node` is. An OR is an AND with true and false changed over."""
    if right is None:
        return left.negated()
    if isinstance(node, Or):
        return left.negated().and_then(right.negated()).negated()
    return left.and_then(right)


class DictionaryFilter:
    """A compiled filter, ready for tables with one column a property.

    `value_names`: the properties whose texts matter; `presence_names`: those asked for only by IS NULL and the like.
    """

    def __init__(self, expression: str | CompiledSql92, version: Version = DEFAULT_VERSION) -> None:
        """Compile.

        Raises:
            MQFilterException: a text that the broker refuses.
        """
        compiled = expression if isinstance(expression, CompiledSql92) else compile_sql92(expression, version)
        self.compiled = compiled
        self._parts: list[Leaf | Node] = [] if compiled.too_deep else _cut(compiled)
        self.leaves = leaves = [part for part in self._parts if isinstance(part, Leaf)]
        self.value_names = list(dict.fromkeys(name for leaf in leaves if not leaf.by_presence for name in leaf.names))
        by_presence = dict.fromkeys(name for leaf in leaves if leaf.by_presence for name in leaf.names)
        self.presence_names = [name for name in by_presence if name not in self.value_names]

    def matches(self, table: pa.Table) -> Flags:
        """Say for each row whether the broker lets the message pass."""
        return self._rows(table, _PASSING).view(np.bool_)

    def outcomes(self, table: pa.Table) -> Codes:
        """Each row's value: a place in `OUTCOMES`."""
        return self._rows(table, _ITSELF)

    def _rows(self, table: pa.Table, of_key: Codes) -> Codes:
        """What `of_key` has for each row."""
        if self.compiled.too_deep:
            return np.full(table.num_rows, of_key[ERROR_CODE], np.uint8)
        columns: dict[tuple[str, bool], DictionaryColumn] = {}

        def codes(leaf: Leaf, of_code: Keys) -> Keys:
            for name in leaf.names:
                if (name, leaf.by_presence) not in columns:
                    read = presence_of if leaf.by_presence else column_of
                    columns[name, leaf.by_presence] = read(table, name)
            return leaf.outcomes([columns[name, leaf.by_presence] for name in leaf.names], table.num_rows, of_code)

        if len(self.leaves) == 1 and self.compiled.root is self.leaves[0].node:
            return np.asarray(codes(self.leaves[0], of_key), np.uint8)
        if len(self.leaves) > _MOST_LEAVES:
            return of_key[self.joined(lambda leaf: Outcomes.of(np.asarray(codes(leaf, _ITSELF), np.uint8)), join).codes]
        # The outcomes of all leaves of a row are one number, and a table has the answer of each such number.
        keys = np.zeros(table.num_rows, np.uint16)
        for number, leaf in enumerate(self.leaves):
            keys |= codes(leaf, np.left_shift(_ITSELF, number * _BITS, dtype=np.uint16))
        return of_key[self._joined_codes].take(keys)

    @cached_property
    def _joined_codes(self) -> Codes:
        """What the whole comes to for each number that the outcomes of the leaves together can make."""
        keys = np.arange(1 << _BITS * len(self.leaves))
        shifts = {id(leaf): number * _BITS for number, leaf in enumerate(self.leaves)}
        return self.joined(lambda leaf: Outcomes.of((keys >> shifts[id(leaf)] & 3).astype(np.uint8)), join).codes

    def joined(self, of: Callable[[Leaf], C], join: Callable[[Node, C, *tuple[C]], C]) -> C:
        """Decide the leaves by `of`, then join what it gave: `join` gets a NOT, AND or OR and what its operands are."""
        decided: dict[int, C] = {}
        for part in self._parts:
            if isinstance(part, Leaf):
                decided[id(part.node)] = of(part)
            else:
                decided[id(part)] = join(part, *(decided[id(operand)] for operand in part.operands))
        return decided[id(self.compiled.root)]


def code_of(part: CompiledSql92, properties: Mapping[str, str]) -> int:
    """Evaluate on one message: a place in `OUTCOMES`."""
    try:
        value = part.evaluate(properties)
    except JavaError:
        return ERROR_CODE
    return NULL_CODE if value is None else TRUE_CODE if value is True else FALSE_CODE


class Leaf:
    """A part of the tree that is evaluated once for each distinct value, or combination of values."""

    def __init__(self, compiled: CompiledSql92, node: Node, names: Sequence[str]) -> None:
        self.node, self.names = node, names
        self.by_presence = len(names) == 1 and _asks_for_presence_only(node)
        self._part = CompiledSql92(compiled.text, compiled.version, node, compiled.rest)
        self._known: dict[tuple[str | None, ...] | str | None, int] = {}

    @property
    def codes(self) -> Collection[int]:
        """What it came to so far."""
        return self._known.values()

    def code(self, *values: str | None) -> int:
        """Evaluate on one value for each name, None for an absent property."""
        key = values[0] if len(values) == 1 else values
        code = self._known.get(key)
        if code is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            properties = {name: value for name, value in zip(self.names, values, strict=True) if value is not None}
            code = self._known[key] = code_of(self._part, properties)
        return code

    def _codes(self, *values: Sequence[str | None]) -> Codes:
        """Evaluate on many values for each name: those that are known are looked up without a call for each."""
        codes = list(map(self._known.get, values[0] if len(values) == 1 else zip(*values, strict=True)))
        if None in codes:
            return np.fromiter(map(self.code, *values), np.uint8, len(codes))
        return np.array(codes, np.uint8)

    def outcomes(self, columns: Sequence[DictionaryColumn], rows: int, of_code: Keys = _ITSELF) -> Keys:
        """Evaluate on each row of `columns`, one for each name; give what `of_code` has for what it comes to."""
        if not columns:
            return np.full(rows, of_code[self.code()])
        if len(columns) == 1:
            return columns[0].choose(of_code[self._codes([*columns[0].values, None])])
        sizes = [len(column.values) + 1 for column in columns]
        combined = np.zeros(rows, np.int64)
        for column, size in zip(columns, sizes, strict=True):
            combined = combined * size + column.all_places()
        distinct, places = np.unique(combined, return_inverse=True)
        chosen = (
            [*map([*column.values, None].__getitem__, where.tolist())]
            for column, where in zip(columns, np.unravel_index(distinct, sizes), strict=True)
        )
        return of_code[self._codes(*chosen)].take(places)


def _cut(compiled: CompiledSql92) -> list[Leaf | Node]:
    """Cut a tree, however deep, into leaves and what joins them; each part comes after those that it needs."""
    names = _names_below(compiled.root)
    pieces: list[Leaf | Node] = []
    waiting = [compiled.root]
    while waiting:
        node = waiting.pop()
        if len(names[id(node)]) > 1 and isinstance(node, And | Or | Not):
            pieces.append(node)
            waiting.extend(node.operands)
        else:
            pieces.append(Leaf(compiled, node, sorted(names[id(node)])))
    return pieces[::-1]


def _names_below(root: Node) -> dict[int, frozenset[str]]:
    """The properties each part asks for."""
    names: dict[int, frozenset[str]] = {}
    for node in reversed(list(root.walk())):
        own = frozenset({node.name} if isinstance(node, Property) else ())
        names[id(node)] = own.union(*(names[id(operand)] for operand in node.operands))
    return names


def _asks_for_presence_only(root: Node) -> bool:
    """Whether only presence matters: properties stand before IS NULL, or alone where a condition is needed."""
    for node in root.walk():
        for operand in node.operands:
            is_null = isinstance(node, Equal) and isinstance(node.right, Constant) and node.right.value is None
            if isinstance(operand, Property) and not (isinstance(node, BooleanCast) or is_null):
                return False
    return True
