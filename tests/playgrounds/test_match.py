"""The page "will it match?": its answers are the package's, its command lines give the same, its links hold all."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.filter.filter import match_in_two_layers
from rmqlab_tools.cli.cli import main
from rmqlab_tools.show.link import pack

NAMES = st.text("abcdeTAGS_é-", min_size=1, max_size=5).filter(lambda name: name != "TAGS")
VALUES = st.text("0123456789.-'\" aTé=\\", max_size=6)
EXPRESSIONS = st.sampled_from(
    ["a > 3", "a = 'x'", "NOT (a > 3)", "TAGS = 'tagA'", "a IS NULL OR b <> 'it''s'", "-1 = a", "a >", "a > 3 ; b", ""]
)
TAGS = st.sampled_from(["", "*", "tagA", "tagA || tagB", " || ", "Aa", "a > 3", "tagA | tagB", "tagB||"])


def state(kind="SQL92", expression="a > 3", tag="", properties=()):
    return {"type": kind, "expression": expression, "tag": tag, "properties": [list(pair) for pair in properties]}


@pytest.fixture(scope="module")
def match(lab):
    return lab("match")


@pytest.mark.parametrize(
    ("asked", "verdict", "word"),
    [
        (state(properties=[("a", "5")]), "arrives", "sql_true"),
        (state(properties=[("a", "2")]), "dropped_broker", "sql_false"),
        (state(), "dropped_broker", "sql_null_missing"),
        (state(properties=[("a", "five")]), "dropped_broker", "sql_throws"),
        (state(expression="TAGS = 'x'", tag="x"), "arrives", "sql_true"),
        (state("TAG", "tagA || tagB", "tagB"), "arrives", "client_text_in"),
        (state("TAG", "tagA", "tagB"), "dropped_broker", "entry_code_out"),
        (state("TAG", "Aa", "BB"), "dropped_client", "client_text_out"),
        (state("TAG", "*", ""), "arrives", "entry_all"),
    ],
)
def test_each_end_of_a_message_has_its_verdict_and_its_step(match, asked, verdict, word):
    answer = match.answer(asked)
    assert answer["verdict"]["word"] == verdict
    assert word in [step["word"] for step in answer["steps"]]
    assert "<svg" in answer["picture"]["svg"]
    assert "<table" in answer["picture"]["words"]


@settings(max_examples=40)
@given(expression=EXPRESSIONS, tag=st.sampled_from(["", "tagA"]), properties=st.dictionaries(NAMES, VALUES, max_size=3))
def test_the_command_line_and_the_python_say_what_the_page_says(lab, tmp_path_factory, expression, tag, properties):
    answer = lab("match").answer(state(expression=expression, tag=tag, properties=properties.items()))
    again = eval(answer["commands"]["python"], {"rmqlab": rmqlab})  # noqa: S307 - it is what the reader is given
    assert again.accepted == (answer["verdict"]["word"] != "refused")
    assert bool(again.matches) == (answer["verdict"]["word"] == "arrives")
    if "shell" not in answer["commands"]:
        assert any(name.startswith("-") for name in properties)
        return
    path = tmp_path_factory.getbasetemp() / "told.json"
    program, verb, *words = shlex.split(answer["commands"]["shell"])
    assert program == "rmqlab"
    status = main([verb, "--json", str(path), *words])
    told = json.loads(path.read_text(encoding="utf-8"))
    if answer["verdict"]["word"] == "refused":
        assert status == 1
        assert told["error"]["offset"] == answer["refused"]["offset"]
        return
    assert status == 0
    assert told["properties"] == properties | ({"TAGS": tag} if tag else {})
    assert told["matches"] == (answer["verdict"]["word"] == "arrives")


@given(expression=TAGS, tag=st.sampled_from(["", "tagA", "tagB", "Aa", "BB"]))
def test_tags_pass_both_steps_as_the_package_says(lab, expression, tag):
    answer = lab("match").answer(state("TAG", expression, tag))
    steps = match_in_two_layers(rmqlab.tags(expression), tag or None)
    assert (answer["verdict"]["word"] == "arrives") == steps.delivered
    assert answer["steps"][0]["passes"] == steps.broker
    assert answer["steps"][2]["passes"] == (steps.client if steps.broker else None)


@pytest.mark.parametrize(
    ("expression", "tag", "hint"),
    [
        ("a > 3", "", "sql92-as-tag"),
        ("tagA | tagB", "", "separator"),
        ("tag*", "", "pattern"),
        ("'tagA'", "", "quotes"),
        ("tagA", "TagA", "case"),
        (" || ", "", "no-tag"),
        ("Aa", "BB", "hint_collision"),
        ("Aa", "Aa", "twin"),
    ],
)
def test_what_is_probably_not_meant_by_tags_is_said(match, expression, tag, hint):
    assert hint in [one.get("code") or one["word"] for one in match.answer(state("TAG", expression, tag))["findings"]]


def test_a_refused_expression_names_the_place_and_what_was_meant(match):
    answer = match.answer(state(expression='region = "EU"'))
    assert answer["verdict"]["word"] == "refused"
    assert answer["refused"]["offset"] == 'region = "EU"'.index('"')
    assert "single quotes" in answer["refused"]["meant"]
    assert match.answer(state("TAG", "||"))["verdict"]["word"] == "refused_tags"


def test_text_that_the_broker_ignores_is_marked_as_the_page_counts_letters(match):
    text = "'\N{ROCKET}' = a b"
    first = match.answer(state(expression=text))["findings"][0]
    assert first["severity"] == "ignored"
    units = text.encode("utf-16-le")[2 * first["start"] : 2 * first["end"]]
    assert units.decode("utf-16-le").strip() == "b"


@pytest.mark.parametrize(
    ("rows", "word"),
    [([["", "5"]], "name_missing"), ([["a b", "5"]], "name_blank"), ([["a=", "5"]], "name_blank"),
     ([["a", "5"], ["a", "6"]], "name_twice"), ([["TAGS", "x"]], "name_is_tags")],
)  # fmt: skip
def test_a_property_that_cannot_be_is_told_with_its_row(match, rows, word):
    (problem,) = match.answer(state(properties=rows))["problems"]
    assert problem["word"] == word
    assert problem["row"] == len(rows) - 1


@settings(max_examples=40)
@given(expression=st.text(max_size=20), tag=VALUES, properties=st.lists(st.tuples(NAMES, VALUES).map(list), max_size=2))
def test_the_whole_state_is_in_the_link(lab, expression, tag, properties):
    asked = {"type": "SQL92", "expression": expression, "tag": tag, "properties": properties}
    assert lab("match").opened(pack(asked)) == asked | {"version": "4.8.0"}
    answer = lab("match").answer(asked)
    assert answer["problems"] or answer["link"] == pack(asked)


@pytest.mark.parametrize(
    "wrong",
    [[], {"typ": "TAG"}, {"type": "XML"}, {"expression": 3}, {"tag": "x" * 5_000}, {"properties": [["a"]]}, None],
)
def test_a_link_that_holds_something_else_is_refused(match, wrong):
    with pytest.raises(BadInput):
        match.opened(pack(wrong))


def test_a_condition_is_read_as_the_version_reads_it(match):
    """Only 5.x knows CONTAINS: 4.8.0 reads TAGS alone, which is never true."""
    asked = state(expression="TAGS CONTAINS 'A'", tag="tagA")
    verdicts = {version: match.answer(asked | {"version": version})["verdict"]["word"] for version in match.versions()}
    assert verdicts == {"4.8.0": "dropped_broker", "5.3.3": "arrives", "5.5.0": "arrives"}
    answer = match.answer(asked | {"version": "5.5.0"})
    assert "--version 5.5.0" in answer["commands"]["shell"]
    assert match.opened(answer["link"])["version"] == "5.5.0"
    assert match.answer(asked)["link"] == pack(asked)  # the usual version changes no link
    with pytest.raises(BadInput, match=r"no rules of version '6'; there are those of 4\.8\.0, 5\.3\.3, 5\.5\.0"):
        match.answer(asked | {"version": "6"})
