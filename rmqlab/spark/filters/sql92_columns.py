"""A SQL92 filter compiled to Spark columns, with the answers of `CompiledSql92.evaluate` on every row.

`matches` is what the broker's second layer says; `outcome` tells null and errors apart too. Properties come from a map
column or from one text column each (`property_source`). A tree too deep for Spark's own compiler is evaluated in a
Python worker instead, by the evaluator itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts

from rmqlab.filter.sql92.compiler import CompiledSql92, compile_sql92
from rmqlab.filter.sql92.errors import JavaError
from rmqlab.filter.sql92.nodes import (
    And,
    BooleanCast,
    Comparison,
    Equal,
    In,
    Negate,
    Node,
    Not,
    Or,
    Property,
    TextTest,
    chain,
)
from rmqlab.filter.sql92.steps import evaluate_in_steps
from rmqlab.spark.filters import sql92_conditions as conditions
from rmqlab.spark.filters import sql92_leaves as leaves
from rmqlab.spark.filters.sql92_leaves import ERROR, FALSE, NULL, OUTCOMES, TRUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from rmqlab.filter.sql92.numbers import Value
    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.spark.filters.property_source import PropertySource
    from rmqlab.spark.filters.sql92_conditions import Condition

# Beyond these Spark's compiler gets slow, or runs out of stack.
DEEPEST_TREE: Final = 60
DEEPEST_COLUMN: Final = 300
LARGEST_FORM: Final = 400


def matches(expression: str | CompiledSql92, source: PropertySource, version: Version = "4.8.0") -> Column:
    """Say for each row whether the broker lets the message pass: a boolean column without NULL.

    Raises `MQFilterException` for a text that the broker refuses.
    """
    compiled = _compiled(expression, version)
    condition = _native(compiled, source)
    if condition is None:
        return _evaluated(compiled, source) == F.lit(TRUE)
    if condition.true.size > LARGEST_FORM or condition.true.depth > DEEPEST_COLUMN:
        return condition.code == F.lit(TRUE)
    return F.coalesce(condition.true.column, F.lit(False))


def outcome(expression: str | CompiledSql92, source: PropertySource, version: Version = "4.8.0") -> Column:
    """Give each row's value as a text: `true`, `false`, `null` or `error`. Raises `MQFilterException`."""
    code = outcome_code(expression, source, version)
    named = F.when(code == F.lit(TRUE), F.lit(OUTCOMES[TRUE]))
    for value in (FALSE, NULL):
        named = named.when(code == F.lit(value), F.lit(OUTCOMES[value]))
    return named.otherwise(F.lit(OUTCOMES[ERROR]))


def outcome_code(expression: str | CompiledSql92, source: PropertySource, version: Version = "4.8.0") -> Column:
    """Give each row's value as an int: 0 false, 1 true, 2 null, 3 an error. Raises `MQFilterException`."""
    compiled = _compiled(expression, version)
    condition = _native(compiled, source)
    return _evaluated(compiled, source) if condition is None else condition.code


def property_names(root: Node) -> list[str]:
    """Name the properties that a tree asks for, each once, in the order written."""
    return list(dict.fromkeys(node.name for node in root.walk() if isinstance(node, Property)))


def code_of(compiled: CompiledSql92, properties: dict[str, str]) -> int:
    """Evaluate to one of the four codes; a value that is no boolean does not occur at the root."""
    try:
        value = compiled.evaluate(properties)
    except JavaError:
        return ERROR
    return NULL if value is None else int(value is True)


def _compiled(expression: str | CompiledSql92, version: Version) -> CompiledSql92:
    return expression if isinstance(expression, CompiledSql92) else compile_sql92(expression, version)


def _native(compiled: CompiledSql92, source: PropertySource) -> Condition | None:
    """Translate the tree; None where Spark could not take it."""
    if compiled.too_deep:
        return conditions.constant(ERROR)
    if _depth(compiled.root) > DEEPEST_TREE:
        return None
    condition = _Translation(source).condition(compiled.root)
    return None if condition.depth > DEEPEST_COLUMN else condition


def _depth(root: Node) -> int:
    """Count levels, a chain of one connective as one."""
    deepest, waiting = 0, [(root, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        below = chain(node) if isinstance(node, And | Or) else node.operands
        waiting.extend((operand, level + 1) for operand in below)
    return deepest


def _evaluated(compiled: CompiledSql92, source: PropertySource) -> Column:
    """Evaluate in a Python worker."""
    names = property_names(compiled.root)
    text, version = compiled.text, compiled.version
    worker: list[CompiledSql92] = []

    def evaluate(*values: str | None) -> int:
        if not worker:
            worker.append(compile_sql92(text, version))
        present = {name: value for name, value in zip(names, values, strict=False) if value is not None}
        return code_of(worker[0], present)

    function: Callable[..., Column] = F.udf(evaluate, "int")
    return function(*(source.text(name) for name in names)) if names else F.lit(code_of(compiled, {}))


class _Translation:
    """Translates one tree. Parts without a property are evaluated at once, by the evaluator."""

    def __init__(self, source: PropertySource) -> None:
        self._source = source

    def condition(self, node: Node) -> Condition:
        """Translate a node whose value is a boolean, null or an error."""
        known = self._known(node)
        if known is not None:
            return known
        match node:
            case And() | Or():
                return conditions.junction(list(map(self.condition, chain(node))), decisive=isinstance(node, Or))
            case Not():
                return conditions.negation(self.condition(node.operand))
            case Comparison():
                return self._comparison(node)
            case Equal():
                return self._equal(node)
            case BooleanCast(operands=(Property() as operand,)):
                return conditions.of_test(leaves.is_present(self._present(operand)))
            case In(operands=(Property() as operand,)):
                return conditions.of_test(leaves.is_in(self._text(operand), node))
            case TextTest():
                return self._text_test(node)
            case Negate():
                return self._negate(node)
        raise TypeError(f"no condition: {type(node).__name__}")

    def _known(self, node: Node) -> Condition | None:
        """Evaluate a part that asks for no property."""
        if any(isinstance(part, Property) for part in node.walk()):
            return None
        root = evaluate_in_steps(node, None).root
        if root.error is not None:
            return conditions.constant(ERROR)
        return conditions.constant(NULL if root.value is None else int(root.value is True))

    def _text(self, node: Property) -> Column:
        return self._source.text(node.name)

    def _present(self, node: Property) -> Column:
        return self._source.present(node.name)

    def _negate(self, node: Negate) -> Condition:
        """A property or condition has no negative: null, or the error of what was asked."""
        return conditions.nothing(None if isinstance(node.operand, Property) else self.condition(node.operand))

    def _text_test(self, node: TextTest) -> Condition:
        if not node.search:
            return conditions.constant(FALSE)
        if isinstance(node.operand, Property):
            return conditions.of_test(leaves.text_test(self._text(node.operand), node))
        return conditions.false_unless_error(self.condition(node.operand))

    def _comparison(self, node: Comparison) -> Condition:
        """Order two values: properties, numbers, or what has no value at all (`-a`)."""
        left, right, symbol = node.left, node.right, node.symbol
        if isinstance(left, Property):
            if isinstance(right, Property):
                return conditions.of_test(leaves.in_order(self._text(left), symbol, self._text(right)))
            number = _number(right)
            if number is not None:
                return conditions.of_test(leaves.against_number(self._text(left), symbol, number))
            present = conditions.of_test(leaves.is_present(self._present(left)))
            return conditions.null_left_stops(present, self._nothing(right))
        number = _number(left)
        if number is None:
            # A left side without a value is null, and the right one is not asked.
            return self._nothing(left)
        if isinstance(right, Property):
            return conditions.of_test(leaves.against_number(self._text(right), leaves.MIRRORED[symbol], number))
        return self._nothing(right)

    def _nothing(self, node: Node) -> Condition:
        return conditions.nothing(self.condition(node))

    def _equal(self, node: Equal) -> Condition:
        left, right = node.left, node.right
        if isinstance(left, Property) and isinstance(right, Property):
            return conditions.of_test(leaves.same_text(self._text(left), self._text(right)))
        if isinstance(left, Property) and _is_constant(right):
            return self._property_and_constant(left, _value(right))
        if isinstance(right, Property) and _is_constant(left):
            return self._constant_and_property(_value(left), right)
        if isinstance(left, Property):
            return conditions.equality(conditions.of_test(leaves.as_boolean(self._text(left))), self.condition(right))
        if isinstance(right, Property):
            present = conditions.of_test(leaves.is_present(self._present(right)))
            return conditions.equality_with_text(self.condition(left), present)
        if _is_constant(right):
            return self._condition_and_constant(self.condition(left), _value(right))
        if _is_constant(left):
            return self._constant_and_condition(_value(left), self.condition(right))
        return conditions.equality(self.condition(left), self.condition(right))

    def _property_and_constant(self, node: Property, value: Value) -> Condition:
        if value is None:
            return conditions.of_test(leaves.is_null(self._present(node)))
        text = self._text(node)
        match value:
            case bool():
                read = conditions.of_test(leaves.as_boolean(text))
                return conditions.equality(read, conditions.constant(int(value)))
            case str():
                return conditions.of_test(leaves.against_text(text, value))
        return conditions.of_test(leaves.against_number(text, "==", value))

    def _constant_and_property(self, value: Value, node: Property) -> Condition:
        text = self._text(node)
        match value:
            case None | bool():
                present = conditions.of_test(leaves.is_present(self._present(node)))
                return conditions.equality_with_text(
                    conditions.constant(NULL if value is None else int(value)), present
                )
            case str():
                return conditions.of_test(leaves.against_text(text, value, literal_first=True))
        return conditions.of_test(leaves.against_number(text, "==", value, literal_first=True))

    def _condition_and_constant(self, left: Condition, value: Value) -> Condition:
        match value:
            case None | bool():
                return conditions.equality(left, conditions.constant(NULL if value is None else int(value)))
            case str():
                return conditions.equality_with_text(left, conditions.constant(FALSE))
        return conditions.equality_with_number(left, number_first=False)

    def _constant_and_condition(self, value: Value, right: Condition) -> Condition:
        match value:
            case None | bool():
                return conditions.equality(conditions.constant(NULL if value is None else int(value)), right)
            case str():
                return conditions.equality(conditions.constant(int(value.lower() == "true")), right)
        return conditions.equality_with_number(right, number_first=True)


def _is_constant(node: Node) -> bool:
    """Tell whether a part has one value for every message, without an error."""
    if any(isinstance(part, Property) for part in node.walk()):
        return False
    return evaluate_in_steps(node, None).root.error is None


def _value(node: Node) -> Value:
    return evaluate_in_steps(node, None).root.value


def _number(node: Node) -> int | float | None:
    """Give the number of a literal or negated literal, None for anything else."""
    if isinstance(node, Property) or not _is_constant(node):
        return None
    value = _value(node)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
