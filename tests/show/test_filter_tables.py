"""The tables of notebooks 03 and 04."""

from __future__ import annotations

import pytest

from rmqlab.lab.articles.sql_filter import SqlFilter
from rmqlab.lab.filter_funnel import passage_of
from rmqlab.lab.filters.class_filter import ClassFilter
from rmqlab.lab.filters.switch_matrix import switch_matrix
from rmqlab.show.filters import layer_tables, sql_tables


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


@pytest.mark.row("F-54", "F-55", "F-56", "F-57", "F-58", "F-59", "F-60", "F-61", "F-62", "F-63", "F-64", "F-65", "F-68")
def test_every_exit_of_both_layers():
    table = layer_tables.exits()
    assert [table.rows[number][:2] for number in sorted(table.marked)] == [
        ("1", "TAG, code not in the set"),
        ("1", "SQL92, a bit of it is 0"),
        ("2", "SQL92, false"),
        ("2", "SQL92, null"),
        ("2", "SQL92, throws"),
    ]
    assert column(table, 0).count("1") == 18


@pytest.mark.row("F-42", "F-76", "F-77", "F-81")
def test_settings_and_positions():
    assert [row[2:5] for row in layer_tables.bloom_settings().rows] == [
        (3, 112, 14),
        (3, 216, 27),
        (7, 312, 39),
        (4, 616, 77),
    ]
    assert column(layer_tables.bit_positions("CID_A"))[3:] == ["mod 112 = 12", "mod 112 = 44", "mod 112 = 42"]


@pytest.mark.row("F-66")
def test_retry_filter():
    assert [row[1:] for row in layer_tables.retry_filter().rows] == [("passes", "passes"), ("passes", "drops it")]


def test_guessed_evaluations():
    table = layer_tables.guessed(switch_matrix(10), {"off": 20, "on": 8})
    assert table.rows == [("off", 20, 20, 0, 20), ("on", 8, 28, 20, 8)]
    assert table.marked == frozenset({1})


@pytest.mark.row("F-01", "F-67", "F-99")
def test_the_class_filters_story():
    runs = layer_tables.class_filter_runs()
    moments = column(layer_tables.class_filter_moments(runs["as it was"]))
    assert moments[0].startswith("finds a filter server missing")
    assert moments[1].startswith("cannot pull: Find Filter Server Failed")
    assert moments[-1] == "gets its first message"
    results = layer_tables.class_filter_results(runs).rows
    assert [row[3] for row in results] == [10, 6, 4, 0, 0]
    assert results[0][4] == "110, 120, 130, 140, 150, 160, 170, 180, 190, 200"
    assert layer_tables.class_filter_trust(runs["as it was"]).rows[1][2] == "kept as text"
    removed = dict(layer_tables.removed(ClassFilter(removed=True, run_ms=70_000).run()).rows)
    assert (removed["starts of startfsrv.sh"], removed["seconds between them"]) == (3, "30")
    assert (removed["filter servers that register"], removed["messages that arrive"]) == (0, 0)
