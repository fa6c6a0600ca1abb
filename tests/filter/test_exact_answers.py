"""The page on databases: each answer of its table is computed anew, by 4.8.0's evaluator and by both databases."""

from __future__ import annotations

import json
import re

import pytest

from rmqlab.checkout import ROOT
from rmqlab.filter.sql92.compiler import compile_sql92

PAGE = ROOT / "docs/explanation/exact-answers.md"
ROW = re.compile(r"^\| `(.+?)` \| `(\{.+?\})` \| (yes|no) \| (yes|no) \| (yes|no) \|", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
NUMBER = re.compile(r"a > ([\d.]+)")
SOME = 12


def test_the_table_is_read_whole_and_has_every_kind_of_difference():
    assert len(ROWS) == SOME
    assert {row[2:] for row in ROWS} >= {
        ("yes", "yes", "yes"), ("no", "yes", "no"), ("yes", "no", "no"), ("yes", "yes", "no"), ("no", "yes", "yes"),
    }  # fmt: skip


@pytest.mark.parametrize(("condition", "text", "rocketmq"), [row[:3] for row in ROWS])
def test_what_rocketmq_says(condition, text, rocketmq):
    assert compile_sql92(condition).matches(json.loads(text)) is (rocketmq == "yes")


@pytest.mark.parametrize(("condition", "text", "answer"), [(*row[:2], row[3]) for row in ROWS])
def test_what_duckdb_says(condition, text, answer):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: ./lab test installs it")
    kind = "DOUBLE" if "." in NUMBER.search(condition)[1] else "INTEGER"
    sql = condition.replace("a >", f"try_cast(a AS {kind}) >")
    properties = {"a": None, "b": None} | json.loads(text)
    with duckdb.connect() as connection:
        query = f"SELECT {sql} FROM (SELECT $a::VARCHAR AS a, $b::VARCHAR AS b)"  # noqa: S608 - our own page
        (passes,) = connection.execute(query, properties).fetchone()
    assert (passes is True) is (answer == "yes")


@pytest.mark.parametrize(("condition", "text", "answer"), [(*row[:2], row[4]) for row in ROWS])
def test_what_polars_says(condition, text, answer):
    pl = pytest.importorskip("polars", reason="Polars is not installed: ./lab test installs it")
    literal = NUMBER.search(condition)[1]
    kind, number = (pl.Float64, float(literal)) if "." in literal else (pl.Int32, int(literal))
    is_more = pl.col("a").cast(kind, strict=False) > number
    is_here = pl.col("b") == "hz"
    wanted = is_more if "OR" not in condition else is_more | is_here if condition.startswith("a") else is_here | is_more
    frame = pl.DataFrame({"a": None, "b": None} | json.loads(text), schema={"a": pl.String, "b": pl.String})
    assert (frame.select(wanted).item() is True) is (answer == "yes")
