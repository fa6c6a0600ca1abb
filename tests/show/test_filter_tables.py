"""The tables of notebook 03."""

from __future__ import annotations

import pytest

from rmqlab.lab.articles.sql_filter import SqlFilter
from rmqlab.lab.filter_funnel import passage_of
from rmqlab.show.filters import sql_tables


def column(table, number=-1):
    return [row[number] for row in table.rows]


@pytest.mark.row("F-11", "F-12")
def test_matches_are_compared_with_article_and_guess():
    run = SqlFilter().run()
    table = sql_tables.matches(run, {"Consumer4x": [0, 1, 3]}, {"Consumer4x": [0], "Consumer5x": [0, 1, 3, 4, 6, 7, 9]})
    assert table.caption == (
        "What arrived. Consumer4x: as follows from the article; "
        "Consumer4x: not as you guessed; Consumer5x: as you guessed"
    )
    assert column(table, 3) == ["✓", "✓", "–", "✓", *["–"] * 6]
    assert passage_of(run, "Consumer4x").kind == "SQL92"


@pytest.mark.row("F-13", "F-16", "F-24")
def test_rules_mark_what_differs():
    table = sql_tables.rules()
    assert [table.rows[number][1] for number in sorted(table.marked)] == ["a > '100'", "a > 100", "a > 100", "a = 100"]
    assert table.caption.startswith("29 of 33 cases")
    assert len(sql_tables.rule_words().rows) == 8


@pytest.mark.row("F-16", "F-25", "F-27", "F-28")
def test_other_tables_of_expressions():
    assert sql_tables.predictions(["false", "null"]).caption.startswith("2 of 10")
    assert column(sql_tables.conversions()).count("NumberFormatException") == 4
    table = sql_tables.compiled(["a > 100", "a like 'x'", "a != 3"])
    assert column(table, 1) == ["(a > 100)", "a", "refused"]
    assert table.marked == frozenset({1, 2})
    assert column(sql_tables.doctor("a != 3"), 0) == ["refused"]
    assert "warning" in column(sql_tables.doctor("a like 'x'"), 0)
    assert sql_tables.doctor("TAGS = 'TagA'").caption.endswith(": none")
    assert sql_tables.witnesses(["a > 3 AND a < 2"]).rows == [("a > 3 AND a < 2", "there is none", "no properties")]


@pytest.mark.row("F-73", "F-75")
def test_parse_cache():
    assert [row[1:] for row in sql_tables.parse_cache("a > 3", 5).rows] == [(4, 1), (4, 102)]


@pytest.mark.row("F-08", "F-98")
def test_switched_off():
    found = dict(sql_tables.switched_off().rows)
    assert found["its start"].startswith("fails: CODE: 1")
    assert found["its subscription in the broker"] == "is there"
    assert "refused with code 1 (SYSTEM_ERROR)" in found["its pulls"]
    assert found["messages"] == "0 arrive"
