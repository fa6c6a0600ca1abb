"""Every way held against the evaluator, the real filter among them; and a way that errs is noticed."""

from __future__ import annotations

import json

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed: ./lab test installs it")
pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

# ruff: noqa: E402 - the modules below need what was looked for above

from rmqlab_tools.cli.cli import main
from rmqlab_tools.spark.filters.sql92_dictionary import DictionaryFilter
from tests.proof.agree.adversarial import EXPRESSIONS, rows
from tests.proof.agree.exactness import compare, compare_tags
from tests.proof.real.filter import RealFilter, RealFilterMissingError


@pytest.fixture(scope="module")
def real():
    try:
        filters = RealFilter()
    except RealFilterMissingError as missing:
        pytest.skip(str(missing))
    with filters:
        yield filters


def test_no_way_differs_from_the_evaluator_by_a_row(spark, real):
    """Few rows here; `rmqlab agree --rows 1000000` does as many as wanted."""
    expressions = [EXPRESSIONS[at] for at in (0, 3, 7, 10, 14, 24, 26, 29)]
    *_, agreements = compare(rows(1_500, 1), expressions, spark, real, batch=1_000)
    for agreement in agreements:
        assert agreement.rows == sum(agreement.outcomes.values()) == 1_500
        assert agreement.differing == dict.fromkeys(("dictionary", "jar", "columns", "map", "where"), 0), (
            agreement.examples
        )
    assert all(
        sum(agreement.outcomes[value] for agreement in agreements) for value in ("true", "false", "null", "error")
    )


def test_every_filter_by_the_real_one_and_by_dictionary(real):
    """All expressions and more rows: these two ways are quick."""
    *_, agreements = compare(rows(4_000, 2), EXPRESSIONS, None, real)
    assert {agreement.expression: dict(agreement.differing) for agreement in agreements} == {
        expression: {"dictionary": 0, "jar": 0} for expression in EXPRESSIONS
    }


def test_tags_on_spark_are_the_cores_steps(spark):
    agreements = compare_tags(rows(1_500, 1), ["*", "5 || TagA", "五"], spark)
    assert [agreement.differing.total() for agreement in agreements] == [0, 0, 0]
    assert agreements[0].outcomes == {"true": 1_500}
    assert set(agreements[1].outcomes) == {"true", "false"}


def wrong_once(monkeypatch):
    honest = DictionaryFilter.outcomes

    def outcomes(self, table):
        codes = honest(self, table).copy()
        codes[17] = (codes[17] + 1) % 4
        return codes

    monkeypatch.setattr(DictionaryFilter, "outcomes", outcomes)


def test_one_wrong_row_is_noticed(monkeypatch):
    wrong_once(monkeypatch)
    *_, (agreement,) = compare(rows(100), ["a > 5"])
    assert agreement.differing == {"dictionary": 1}
    assert agreement.examples[0].startswith("dictionary: ")
    assert "where the evaluator says" in agreement.examples[0]


def test_the_verb_tells_counts_and_fails_where_something_differs(spark, monkeypatch, tmp_path, capsys):
    path = tmp_path / "agree.json"
    command = ["agree", "a > 5", "--rows", "200", "--seed", "4", "--no-jar", "--spark", "local[2]", "--json", str(path)]
    assert main(command) == 0
    result = json.loads(path.read_text())
    assert (result["rows"], result["seed"], result["differing"]) == (200, 4, 0)
    assert result["ways"] == ["dictionary", "columns", "map", "where"]
    assert sum(result["expressions"]["a > 5"]["outcomes"].values()) == 200
    assert "the same by dictionary, columns, map, where" in capsys.readouterr().out
    wrong_once(monkeypatch)
    assert main(command) == 1
    assert "differs: dictionary 1 times" in capsys.readouterr().out


def test_the_verb_refuses_bad_input(spark, capsys):
    assert main(["agree", "--rows", "0"]) == 2
    assert "--rows 0: at least one is needed" in capsys.readouterr().err
    assert main(["agree", "a >", "--rows", "5", "--no-jar", "--spark", "local[2]"]) == 2
    assert "the broker refuses this filter" in capsys.readouterr().err
