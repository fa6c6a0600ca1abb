"""The verb sql92."""

from __future__ import annotations

import io
import json

import pytest

from rmqlab_tools.cli.cli import main


def run(capsys, *arguments):
    status = main(["sql92", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.row("F-11")
def test_an_accepted_expression_is_drawn_and_evaluated(capsys):
    status, out, _ = run(capsys, "a > 5 AND b = 'x'", "--set", "a=6", "b=x=y")
    assert status == 0
    assert out.startswith("accepted by 4.8.0 as ((a > 5) && (b == 'x'))\n")
    assert "false: the broker drops the message" in out
    assert "= 'x=y'" in out
    assert "enablePropertyFilter=true" in out


@pytest.mark.row("F-17", "F-98")
def test_a_refused_expression_exits_with_1_and_says_why(capsys):
    status, out, _ = run(capsys, "a > 'abc'")
    assert status == 1
    assert "line 1, column 3: Value ''abc'' cannot be compared." in out
    assert "23 (SUBSCRIPTION_PARSE_FAILED): java.lang.RuntimeException" in out
    assert "meant? the order of texts cannot be asked" in out


@pytest.mark.row("F-27")
def test_ignored_text_is_an_error_only_when_asked(capsys):
    assert run(capsys, "a LIKE 'x'")[0] == 0
    assert run(capsys, "a LIKE 'x'", "--strict")[0] == 1
    assert run(capsys, "a = 'x'", "--strict")[0] == 0


def test_json_has_everything(capsys, tmp_path):
    target = tmp_path / "out.json"
    status, _, _ = run(capsys, "a > 5", "--set", "a=5.5", "--witness", "--json", str(target))
    result = json.loads(target.read_text())
    assert status == 0
    assert (result["canonical"], result["ignored"], result["ok"]) == ("(a > 5)", "", True)
    assert (result["result"], result["error"], result["cause"]) == (None, "RuntimeException", "NumberFormatException")
    assert result["matches"] is False
    assert [step["told"] for step in result["steps"]][:1] == ["'5.5'"]
    assert [finding["code"] for finding in result["doctor"]] == ["throws", "switch"]
    assert result["witness"]["passes"] == {"a": "6"}
    assert result["witness"]["fails"] == {"a": "5"}


def test_json_of_a_refusal_goes_to_standard_output(capsys):
    status, out, err = run(capsys, "a =", "--json", "-")
    assert status == 1
    assert json.loads(out)["error"]["column"] == 3
    assert "refused (ParseException)" in err


def test_a_message_without_properties_and_one_from_5_3_3(capsys):
    assert "null: the broker drops" in run(capsys, "a > 5", "--set")[1]
    assert "true: the broker returns" in run(capsys, "a CONTAINS 'o'", "--version", "5.3.3", "--set", "a=fox")[1]


def test_there_may_be_no_witness(capsys):
    out = run(capsys, "a > 5 AND a < 3", "--witness")[1]
    assert "passes:        there is no such message" in out
    assert "passes:        none was found" in run(capsys, "a > b AND b > a", "--witness")[1]


def test_a_property_without_a_value_is_bad_input(capsys):
    status, _, err = run(capsys, "a > 5", "--set", "a")
    assert status == 2
    assert "--set 'a': a property is NAME=VALUE" in err


def test_an_expression_from_standard_input(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a = 1 -- comment\n AND b = 2"))
    status, out, _ = run(capsys, "-")
    assert status == 0
    assert "((a == 1) && (b == 2))" in out


def test_a_very_long_expression(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a = 1" + " OR b = 2" * 1000))
    status, out, _ = run(capsys, "-", "--set", "b=2")
    assert status == 0
    assert "more nodes" in out


@pytest.mark.parametrize(
    "arguments", [["--set", "a=5", "a > 3"], ["--set", "a=5", "--set", "b=6", "a > 3"], ["a > 3", "--set", "a=5"]]
)
def test_the_expression_may_stand_behind_the_properties(capsys, arguments):
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert "true: the broker returns the message" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the expression is missing; write it first"),
        (["--set", "a=5"], "the expression is missing (taken for properties: a=5)"),
        (["a > 3", "--set", "a = 5"], "the name of a property has no blank in it; write 'a=5'"),
        (["a > 3", "--set", "a"], "a property is NAME=VALUE"),
    ],
)
def test_what_cannot_be_evaluated_is_said(capsys, arguments, said):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert said in err
