"""The parse cache, and the two ways to evaluate held against each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.filter import UnknownExpressionTypeError, compile_expression
from rmqlab.filter.sql92 import JavaError, MQFilterException, NullExpressionError, ParseCache, compile_sql92
from rmqlab.filter.sql92.evaluation import evaluate_in_steps, nesting


@pytest.mark.row("F-73")
def test_the_cache_keeps_results_and_refusals():
    cache = ParseCache()
    assert cache.compile("a = 1") is cache.compile("a = 1")
    for _ in range(2):
        with pytest.raises(MQFilterException) as caught:
            cache.compile("a =")
    assert (cache.hits, cache.misses, len(cache)) == (2, 2, 2)
    assert caught.value.cause_name == "ParseException"


@pytest.mark.row("F-73")
def test_the_cache_holds_a_hundred_and_forgets_the_oldest_unused():
    cache = ParseCache()
    for number in range(100):
        cache.compile(f"a = {number}")
    cache.compile("a = 0")
    cache.compile("b = 1")
    assert len(cache) == 100
    cache.compile("a = 0")
    assert (cache.hits, cache.misses) == (2, 101)
    cache.compile("a = 1")
    assert cache.misses == 102


@pytest.mark.row("F-39", "F-73")
def test_the_factory_knows_sql92_only():
    assert compile_expression("SQL92", "a = 1") is compile_expression("SQL92", "a = 1")
    for name in ("sql92", "TAG", "XYZ", None):
        with pytest.raises(UnknownExpressionTypeError) as caught:
            compile_expression(name, "a = 1")
        assert "FilterFactory.get(String)" in caught.value.java_message


def test_no_expression_is_a_null_pointer():
    with pytest.raises(NullExpressionError) as caught:
        compile_expression("SQL92", None)
    assert caught.value.java_message is None


def test_lists_of_five_are_kept_as_a_hash_set():
    assert str(compile_sql92("a IN ('x','x','y','z')")) == "a IN ( x, x, y, z )"
    assert str(compile_sql92("a IN ('TagB','TagA','TagC','x','x')")) == "a IN ( TagA, x, TagC, TagB )"


VALUES = ["5", "5.5", "x", "true", "", "007", "3000000000", "NaN", " 5 ", "\uff15", "9.5"]
OPERANDS = ["a", "b", "c", "5", "-5", "5.5", "3000000000", "'x'", "'5'", "TRUE", "FALSE", "NULL", "+b", "-a"]


def combine(inner):
    return st.one_of(
        st.builds("({})".format, inner),
        st.builds("NOT {}".format, inner),
        st.builds("{} {} {}".format, inner, st.sampled_from(["AND", "OR"]), inner),
        st.builds("({}) {} {}".format, inner, st.sampled_from(["=", "<>"]), st.sampled_from(OPERANDS)),
        st.builds("{} IS{} NULL".format, inner, st.sampled_from(["", " NOT"])),
    )


LEAVES = st.one_of(
    st.builds(
        "{} {} {}".format,
        st.sampled_from(OPERANDS),
        st.sampled_from([">", ">=", "<", "<=", "=", "<>"]),
        st.sampled_from(OPERANDS),
    ),
    st.builds("{}{} BETWEEN {} AND {}".format, *map(st.sampled_from, (OPERANDS, ["", " NOT"], OPERANDS, OPERANDS))),
    st.builds("{}{} IN ('x','5')".format, st.sampled_from("abc"), st.sampled_from(["", " NOT"])),
    st.builds("{} {} 'x'".format, st.sampled_from("ab"), st.sampled_from(["CONTAINS", "NOT STARTSWITH", "ENDSWITH"])),
    st.sampled_from(OPERANDS),
)


@given(
    st.recursive(LEAVES, combine, max_leaves=8),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(VALUES)),
    st.sampled_from(["4.8.0", "5.3.3"]),
)
def test_functions_and_steps_agree(text, properties, version):
    try:
        compiled = compile_sql92(text, version)
    except MQFilterException:
        return
    root = evaluate_in_steps(compiled.root, properties).root
    try:
        told = compiled.evaluate(properties), "None", None
    except JavaError as error:
        told = None, str(error), error.cause_name
    assert (root.value, str(root.error), root.error and root.error.cause_name) == told
    levels, depth = nesting(compiled.root)
    assert 1 <= levels <= depth


@given(st.recursive(LEAVES, combine, max_leaves=6))
def test_the_printed_tree_of_logic_and_comparisons_means_the_same(text):
    try:
        compiled = compile_sql92(text)
    except MQFilterException:
        return
    assert str(compiled) == str(compile_sql92(text + " "))
