"""SQL92 as Spark columns: recorded answers of the real filter, and the evaluator's on odd messages."""

from __future__ import annotations

import json
import shutil
import zlib
from collections import defaultdict

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")
pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

# ruff: noqa: E402 - the modules below need what was looked for above

from pyspark.sql import functions as F  # noqa: N812

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.filter.sql92.evaluation import DEEPEST_EVALUATION
from rmqlab.message.properties import properties_to_string, string_to_properties
from rmqlab_tools.spark.filters.sql92_columns import native
from rmqlab_tools.spark.filters.sql92_dictionary import FALSE_CODE, OUTCOMES, DictionaryFilter, code_of
from rmqlab_tools.spark.filters.subscription_columns import columns_of, wants
from tests.proof.agree.adversarial import rows
from tests.proof.agree.spark_columns import outcome_code

MAP = "map"


def own_column(name):
    """A property in a column of its name."""
    return F.col(f"`{name}`")


def passes(expression, properties):
    return wants(expression, "SQL92", properties=properties)


RECORDED = {"False": "false", "True": "true", "None": "null"}
# Every so many expressions of the recorded ones; `rmqlab agree` and the dictionary tests take all.
SHARE = 12


def frame_of(spark, messages, names=()):
    """A number, the map, the text, and a column for each of the names."""
    columns = {
        "#": pa.array(range(len(messages)), pa.int64()),
        "map": pa.array([list(one.items()) for one in messages], pa.map_(pa.string(), pa.string())),
        "text": pa.array([properties_to_string(one) for one in messages], pa.string()),
    }
    columns |= {name: pa.array([one.get(name) for one in messages], pa.string()) for name in names}
    return spark.createDataFrame(pa.table(columns))


def collect(frame, columns):
    """The values of each column, in the order of the rows."""
    table = frame.select("#", *(column.alias(str(i)) for i, column in enumerate(columns))).toArrow().sort_by("#")
    return [table[str(i)].to_pylist() for i in range(len(columns))]


def recorded(golden):
    cases = defaultdict(list)
    for line in (golden / "vectors" / "sql92_eval.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        cases[case["expr"]].append(case)
    # Those with many messages each, a share of the rest, and at least one of every family.
    families = {of_one[0]["family"]: expression for expression, of_one in cases.items() if of_one[0]["compiled"]}
    return {
        expression: of_one
        for expression, of_one in cases.items()
        if of_one[0]["compiled"]
        and (
            len(of_one) > 12
            or zlib.crc32(expression.encode()) % SHARE == 0
            or families[of_one[0]["family"]] == expression
        )
    }


def test_recorded_evaluations(spark, golden):
    cases = recorded(golden)
    expressions = list(cases)
    wrong, asked = [], 0
    for begin in range(0, len(expressions), 40):
        part = expressions[begin : begin + 40]
        asked_of = [case for expression in part for case in cases[expression]]
        places = {id(case): place for place, case in enumerate(asked_of)}
        frame = frame_of(spark, [case["props"] or {} for case in asked_of])
        values = collect(frame, [outcome_code(expression, MAP) for expression in part])
        for expression, codes in zip(part, values, strict=True):
            for case in cases[expression]:
                asked += 1
                expected = "error" if case["error"] else RECORDED[str(case["result"])]
                told = OUTCOMES[codes[places[id(case)]]]
                if told != expected:
                    wrong.append((case["case"], expression, case["props"], expected, told))
    assert wrong == []
    assert asked > 1_000


ODD = (
    "a > 5",
    "b >= 1.5",
    "a < b",
    "TRUE = c",
    "NOT (a > 3) OR b IS NULL",
    "a = TRUE",
    "-a = 5 OR b = 1",
    "TAGS IN ('٣','5')",
)


@pytest.mark.parametrize("properties", [MAP, own_column])
def test_odd_messages_in_a_map_and_in_columns(spark, properties):
    messages = [string_to_properties(text) for text in rows(300, 9)]
    frame = frame_of(spark, messages, ["a", "b", "c", "TAGS"])
    compiled = [compile_sql92(expression) for expression in ODD]
    told = collect(frame, [outcome_code(one.text, properties) for one in compiled])
    passing = collect(frame, [passes(one.text, properties) for one in compiled])
    for one, codes, passed in zip(compiled, told, passing, strict=True):
        expected = [code_of(one, message) for message in messages]
        assert codes == expected, one.text
        assert passed == [code == 1 for code in expected], one.text


BY_SPARK = (
    "a > 5 AND a <= 9",
    "NOT (a BETWEEN 0 AND 3)",
    "5 <> a OR a IS NULL",
    "a = -2147483646 OR a < -2147483647",
    "a >= 2147483647",
    "a > 9223372036854775806",
    "a < -9223372036854775806 OR a = 3000000000",
    "b > 10.5 OR TAGS IS NULL",
    "b <= 1.7976931348623157E308",
    "b >= 4.9E-324",
    "-1.5 < b AND b < 1.5",
    "TAGS IN ('TagA', '5') OR TAGS = 'it''s'",
    "TAGS NOT IN ('\ud83d\ude00') AND TAGS <> '\ud800'",
    "(region = 'hz' OR NOT (a < 5)) AND (b > 10.5 OR c IS NULL) AND TAGS <> 'TagC'",
    "NOT (a > 1 OR b > 1.5) AND (a OR 1 = 1)",
    "1 = 1",
)
BY_PYTHON = (
    "a < b", "a = TRUE", "a > a", "-a = 5", "a > 5 AND a < 7.5", "a > 5 OR a = 'x'", "(a > 5) = b",
    " OR ".join(f"p{number} = '1'" for number in range(7)),
)  # fmt: skip


def test_spark_itself_decides_what_has_classes_of_texts(spark):
    """Each number, name and odd text of the adversarial messages, and the bounds of Integer, Long and Double."""
    edges = [
        *("2147483646", "2147483647", "2147483648", "-2147483648", "-2147483649", "3000000000", "+3000000000"),
        *("9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0", "-0"),
        *("1.5", "-1.5", "10.5", "10.500000000000002", "4.9E-324", "-0.0", "1.7976931348623157E308", "1e309", "NaN"),
    ]
    messages = [{"a": one, "b": one, "TAGS": one} for one in edges] + [{}]
    messages += [string_to_properties(text) for text in rows(600, 11)]
    names = ["a", "b", "c", "TAGS", "region"]
    frame = frame_of(spark, messages, names)
    compiled = [compile_sql92(text) for text in BY_SPARK]
    told = []
    for one in compiled:
        wanted = DictionaryFilter(one)
        by_spark = native(wanted, columns_of(wanted, own_column))
        assert by_spark is not None, one.text
        told.append((one, by_spark))
    codes = collect(frame, [by_spark.code for _, by_spark in told])
    true = collect(frame, [F.coalesce(by_spark.true, F.lit(False)) for _, by_spark in told])
    fine = collect(frame, [F.lit(True) if one.fine is None else F.coalesce(one.fine, F.lit(False)) for _, one in told])
    for (one, _), code, is_true, is_fine in zip(told, codes, true, fine, strict=True):
        expected = [code_of(one, message) for message in messages]
        assert code == expected, one.text
        assert is_true == [value == OUTCOMES.index("true") for value in expected], one.text
        assert is_fine == [value != OUTCOMES.index("error") for value in expected], one.text


@pytest.mark.parametrize("text", BY_PYTHON)
def test_python_decides_the_rest(spark, text):
    wanted = DictionaryFilter(text)
    assert native(wanted, columns_of(wanted, own_column)) is None


def test_each_value_has_a_code(spark):
    frame = frame_of(spark, [{"a": "6"}, {"a": "5"}, {}, {"a": "x"}])
    (codes,) = collect(frame, [outcome_code("a > 5", MAP)])
    assert [OUTCOMES[code] for code in codes] == ["true", "false", "null", "error"]


def test_a_condition_without_a_property_is_the_same_for_all(spark):
    frame = frame_of(spark, [{}, {"a": "1"}])
    assert collect(frame, [passes("1 = 1", MAP), passes("1 > 2", MAP), outcome_code("-1 > 2", MAP)]) == [
        [True, True],
        [False, False],
        [FALSE_CODE, FALSE_CODE],
    ]


def test_other_types_are_refused():
    with pytest.raises(BadInput, match="type 'JSON' is neither TAG nor SQL92"):
        wants("a", "JSON")


@pytest.mark.parametrize("depth", [40, 80])
def test_deep_trees(spark, depth):
    text = "(a = 1 AND (b = 2 OR " * (depth // 2) + "b = 3" + "))" * (depth // 2)
    messages = [{"a": "1", "b": "2"}, {"a": "1", "b": "3"}, {"a": "2", "b": "3"}, {"b": "x"}, {"a": "x"}, {}]
    compiled = compile_sql92(text)
    told = collect(frame_of(spark, messages), [outcome_code(text, MAP)])
    assert told == [[code_of(compiled, one) for one in messages]]


def test_long_chains_and_what_is_too_deep_for_the_jvm(spark):
    messages = [{"a": "99"}, {"a": "1000"}, {}, {"a": "x"}]
    chain = compile_sql92(" OR ".join(f"a = {number}" for number in range(100)))
    too_deep = compile_sql92("a = 1" + " OR a = 2" * (DEEPEST_EVALUATION + 1))
    told = collect(frame_of(spark, messages), [outcome_code(one.text, MAP) for one in (chain, too_deep)])
    assert told == [[code_of(chain, one) for one in messages], [3, 3, 3, 3]]


def test_operators_of_5_3_3(spark):
    messages = [{"a": "hello"}, {"a": "world"}, {}]
    for text in ("a CONTAINS 'ell'", "a NOT CONTAINS 'ell'", "a STARTSWITH 'w'", "a ENDSWITH 'd' OR a IS NULL"):
        compiled = compile_sql92(text, "5.3.3")
        told = collect(frame_of(spark, messages), [outcome_code(text, MAP, "5.3.3")])
        assert told == [[code_of(compiled, one) for one in messages]], text


def test_what_the_broker_refuses_is_refused_when_it_is_compiled(spark):
    with pytest.raises(MQFilterException):
        passes("a >", MAP)


@pytest.mark.row("F-07")
def test_names_are_case_sensitive(spark):
    frame = frame_of(spark, [{"a": "1", "A": "2"}, {"A": "1"}], ["a", "A"])
    for properties in (MAP, own_column):
        assert collect(frame, [passes("a = 1", properties), passes("A = 1", properties)]) == [
            [True, False],
            [False, True],
        ]


def test_names_and_prefixes_of_columns(spark):
    messages = [{"$y": "1", "_x": "2"}, {}]
    frame = frame_of(spark, messages).selectExpr("`#`", "map['$y'] as `p.$y`", "map['_x'] as `p._x`")
    prefixed = lambda name: F.col(f"`p.{name}`")  # noqa: E731
    assert collect(frame, [passes("$y = 1 AND _x = 2", prefixed)]) == [[True, False]]


def test_the_room_filters_the_messages_of_a_store(spark, golden, tmp_path):
    shutil.unpack_archive(golden / "broker-4.8.0" / "bitmap" / "store.tar.gz", tmp_path, filter="data")
    messages = rmqlab.read_store(spark, tmp_path / "store", columns=["tags", "properties"])
    rows = [(row["tags"], dict(row["properties"])) for row in messages.toArrow().to_pylist()]
    for text in ("TAGS = 'tagA'", "a IS NULL OR TAGS = 'tagA'", "UNIQ_KEY IS NOT NULL"):
        compiled = compile_sql92(text)
        expected = sum(compiled.matches(properties) for _, properties in rows)
        assert messages.where(rmqlab.spark.wants(text, "SQL92")).count() == expected, text
    tag = next(tag for tag, _ in rows if tag)
    assert messages.where(rmqlab.spark.wants(tag)).count() == [own for own, _ in rows].count(tag) > 0
