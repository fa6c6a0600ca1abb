"""The dictionary path: every recorded answer of the real filter, and the evaluator's on anything else."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")
np = pytest.importorskip("numpy", reason="NumPy is not installed: ./lab test installs it")

# ruff: noqa: E402 - the modules below need what was looked for above

from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.filter.sql92.evaluation import DEEPEST_EVALUATION
from rmqlab.message.properties import string_to_properties
from rmqlab_tools.spark.archived.pivoted_files import PivotedFile, write_pivoted
from rmqlab_tools.spark.filters.sql92_dictionary import OUTCOMES, PRESENCE, DictionaryFilter, code_of
from tests.proof.agree.adversarial import EXPRESSIONS, row

RECORDED = {"False": "false", "True": "true", "None": "null"}


def pivot(messages, names, *, coded=True):
    if not names:
        return pa.table({"": pa.nulls(len(messages))})
    table = pa.table({name: pa.array([one.get(name) for one in messages], pa.string()) for name in names})
    return table.cast(pa.schema([(name, pa.dictionary(pa.int32(), pa.string())) for name in names])) if coded else table


def told(expression, table, version="4.8.0"):
    return [OUTCOMES[code] for code in DictionaryFilter(expression, version).outcomes(table).tolist()]


def evaluated(compiled, messages):
    return [OUTCOMES[code_of(compiled, one)] for one in messages]


def test_every_recorded_evaluation(golden):
    """The recorded answers, not those of the evaluator: value, error and whether the message passes."""
    cases = defaultdict(list)
    for line in (golden / "vectors" / "sql92_eval.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        cases[case["expr"]].append(case)
    wrong, asked = [], 0
    for expression, of_one in cases.items():
        if not of_one[0]["compiled"]:
            with pytest.raises(MQFilterException):
                DictionaryFilter(expression)
            continue
        messages = [case["props"] or {} for case in of_one]
        table = pivot(messages, sorted({name for one in messages for name in one}))
        wanted = DictionaryFilter(expression)
        answers = [OUTCOMES[code] for code in wanted.outcomes(table).tolist()]
        for case, answer, passes in zip(of_one, answers, wanted.matches(table).tolist(), strict=True):
            asked += 1
            expected = "error" if case["error"] else RECORDED[str(case["result"])]
            if (answer, passes) != (expected, case["matches"]):
                wrong.append((case["case"], expression, expected, answer))
    assert wrong == []
    assert asked > 6_000


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("coded", [True, False])
def test_odd_messages(expression, coded):
    messages = [string_to_properties(row(number, 5)) for number in range(200)]
    compiled = compile_sql92(expression)
    table = pivot(messages, ["a", "b", "c", "TAGS", "$y", "A", "region"], coded=coded)
    assert told(expression, table) == evaluated(compiled, messages)


PARTS = st.sampled_from(
    [
        "a > 5",
        "b < 2.5",
        "a IS NULL",
        "b IS NOT NULL",
        "c",
        "a = b",
        "c IN ('x', '5')",
        "a = TRUE",
        "NOT (c > 1)",
        "-a = 1",
    ]
)


def joined(inner):
    return st.one_of(
        st.builds("({}) AND ({})".format, inner, inner),
        st.builds("({}) OR ({})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
        st.builds("({}) = ({})".format, inner, inner),
    )


@given(
    st.recursive(PARTS, joined, max_leaves=8),
    st.lists(
        st.dictionaries(st.sampled_from("abc"), st.sampled_from(["5", "6.5", "x", "true", "", "٣", " 7"])), max_size=20
    ),
)
@settings(max_examples=60)
def test_any_tree_on_any_messages(expression, messages):
    compiled = compile_sql92(expression)
    assert told(expression, pivot(messages, list("abc"))) == evaluated(compiled, messages)


@pytest.mark.parametrize("expression", ["a > 5 OR b IS NULL", "a = b", "b IS NULL", "b AND a > 1"])
def test_pieces_of_tables(expression):
    """Several chunks with dictionaries of their own, and rows that begin in the middle of a byte."""
    messages = [string_to_properties(row(number, 6)) for number in range(300)]
    expected = evaluated(compile_sql92(expression), messages)
    parts = [pivot(messages[begin:end], ["a", "b"]) for begin, end in ((0, 7), (7, 100), (100, 300))]
    assert told(expression, pa.concat_tables(parts)) == expected
    assert told(expression, pa.concat_tables(parts).combine_chunks().slice(13, 150)) == expected[13:163]


def test_a_tree_too_deep_is_an_error_everywhere():
    wanted = DictionaryFilter("a = 1" + " OR a = 2" * (DEEPEST_EVALUATION + 1))
    table = pivot([{"a": "1"}, {}], ["a"])
    assert wanted.compiled.too_deep
    assert [OUTCOMES[code] for code in wanted.outcomes(table).tolist()] == ["error", "error"]
    assert wanted.matches(table).tolist() == [False, False]


def test_pivoted_files_keep_every_answer(tmp_path):
    """A column with few values is coded, one with many is plain and has its presence beside it."""
    messages = [{"k": f"key{number}", "t": f"T{number % 3}"} if number % 5 else {} for number in range(1_000)]
    path = str(tmp_path / "messages.parquet")
    write_pivoted(pivot(messages, ["k", "t"], coded=False), path)
    cases = {
        "t = 'T1'": (["t"], []),
        "k IS NULL": ([], ["k" + PRESENCE]),
        "k IS NULL OR t = 'T1'": (["t"], ["k" + PRESENCE]),
        "k = 'key7'": (["k"], []),
        "t IS NOT NULL": ([], ["t"]),
        "missing IS NULL": ([], []),
        "missing > 5": ([], []),
    }
    for expression, (values, presence) in cases.items():
        wanted = DictionaryFilter(expression)
        file = PivotedFile(path, wanted.value_names, wanted.presence_names)
        assert file.columns == [*values, *presence]
        got = [code for table in file.read() for code in wanted.outcomes(table).tolist()]
        assert [OUTCOMES[code] for code in got] == evaluated(compile_sql92(expression), messages)


def test_parts_of_a_file_are_its_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("rmqlab_tools.spark.archived.pivoted_files.ROW_GROUP", 100)
    path = str(tmp_path / "messages.parquet")
    write_pivoted(pivot([{"t": f"T{number % 3}"} for number in range(1_000)], ["t"], coded=False), path)
    file = PivotedFile(path, ["t"])
    assert file.row_groups == 10
    rows = [[table.num_rows for table in file.read(part, 3)] for part in range(3)]
    assert rows == [[100] * 4, [100] * 3, [100] * 3]
