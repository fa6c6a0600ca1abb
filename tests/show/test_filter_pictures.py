"""What the pictures of filters say: read from their tables, descriptions and text."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import pytest

from rmqlab.errors import BadInput
from rmqlab.filter.sql92 import compile_sql92
from rmqlab.lab.filters.filter_bench import FilterBench, Switches
from rmqlab.show import branches
from rmqlab.show.branches import Branch
from rmqlab.show.filters import hierarchies
from rmqlab.show.filters.expression_tree import KINDS, MOST_NODES, expression_tree
from rmqlab.show.filters.funnel import funnel, where_stopped
from rmqlab.show.filters.queue_entry import queue_entry
from rmqlab.show.filters.tag_checks import tag_checks
from rmqlab.show.filters.truth_table import connective, negation, truth_table, truth_tables
from rmqlab.show.play.filters import play_sql, properties_of
from rmqlab.show.stack import stacked

pytestmark = pytest.mark.slow

TOPIC = "SqlFilterTest"


def words(picture):
    return [text.text for text in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


def size(picture):
    box = ET.fromstring(picture.svg).get("viewBox").split()
    return float(box[2]), float(box[3])


def cells(picture):
    return [tuple(map(str, row)) for row in picture.table.rows]


# ---- expressions


@pytest.mark.row("F-69", "F-73")
def test_a_tree_shows_every_node_with_its_value():
    picture = expression_tree("a > 3 AND b IS NULL", {"a": "4"})
    shown = words(picture)
    assert shown[0] == "a > 3 AND b IS NULL"
    assert {"AND", ">", "IS NULL", "3 (Integer)", "= '4'", "? missing: null"} <= set(shown)
    assert shown[-1] == "✓ true: the broker returns the message"
    assert cells(picture)[0] == ("AND", "a > 3 AND b IS NULL", "true")


@pytest.mark.parametrize(
    ("expression", "message", "verdict"),
    [
        ("a > 3", {"a": "3"}, "✗ false: the broker drops the message"),
        ("a > 3", {}, "? null: the broker drops the message"),
        ("a > 3", {"a": "x"}, "throws RuntimeException: java.lang.NumberFormatException"),
    ],
)
def test_a_tree_says_what_the_broker_does(expression, message, verdict):
    assert verdict in words(expression_tree(expression, message))[-1]


@pytest.mark.row("F-27")
def test_a_tree_shows_what_is_ignored():
    picture = expression_tree("a LIKE 'x%'", {"a": "x"})
    assert any("LIKE 'x%'" in text and "ignored in silence" in text for text in words(picture))
    assert "ignored in silence" in picture.alt


def test_a_node_that_is_not_asked_is_said():
    picture = expression_tree("a = 1 OR b = 2", {"a": "1"})
    assert words(picture).count("not asked") == 3
    assert ("=", "b = 2", "not asked") in cells(picture)


def test_a_refused_expression_is_a_picture_with_the_place():
    picture = expression_tree("a >= 3 AND b != 4", {})
    shown = words(picture)
    assert shown[1].endswith("^")
    assert len(shown[1]) == len("a >= 3 AND b !")
    assert "Meant? not equal is written <>" in shown
    assert expression_tree("", {}).title == "Refused: nothing"


def test_a_tree_too_large_for_a_picture_is_cut():
    text = " OR ".join(f"a = {number}" for number in range(MOST_NODES))
    picture = expression_tree(text, {"a": "1"})
    assert "OR" in words(picture)
    assert len(words(picture)) < 10
    long = f"TAGS IN ({', '.join(repr(f'TAG{number}') for number in range(128))})"
    assert size(expression_tree(long, {"TAGS": "TAG128"}))[0] < 1_200
    deep = "(" * 900 + "a = 1" + ")" * 900
    assert expression_tree(deep, {"a": "1"}).alt


def test_lines_with_breaks_do_not_break_the_picture():
    assert expression_tree("a = 1\nAND b = 'x\ny'", {"a": "1"}).alt
    assert "^" in words(expression_tree("a = 1\nAND b != 2", {}))[1]


@pytest.mark.row("F-25")
def test_truth_tables_have_three_values_and_errors():
    def and_(left, right):
        if left in {"false", "error"}:
            return left
        if right == "error":
            return right
        if right == "false":
            return right
        return "null" if "null" in {left, right} else "true"

    swap = {"true": "false", "false": "true"}
    for left, right in itertools.product(KINDS, KINDS):
        assert connective("AND", left, right) == and_(left, right)
        flipped = and_(swap.get(left, left), swap.get(right, right))
        assert connective("OR", left, right) == swap.get(flipped, flipped)
    assert [negation(kind) for kind in KINDS] == ["false", "true", "null", "error"]
    assert len(cells(truth_tables())) == 16


@pytest.mark.row("F-24", "F-25")
def test_a_truth_table_has_an_example_for_each_line():
    text = "a IS NOT NULL AND (a > 100) OR (b IS NULL)"
    picture = truth_table(text, {"a": "50", "b": "1"})
    assert picture.table.headers[:3] == ("a IS NOT NULL", "a > 100", "b IS NULL")
    assert picture.table.marked == frozenset({0})
    assert cells(picture)[0] == ("true", "false", "false", "false", "a='50', b='1'")
    compiled = compile_sql92(text)
    for *_, whole, example in cells(picture):
        message = {} if example == "without properties" else properties_of(example.replace(", ", " "))
        assert compiled.matches(message) == (whole == "true")


def test_what_has_no_truth_table():
    assert truth_table("a >", {}) is None
    assert truth_table(" AND ".join(f"a{number} = 1" for number in range(9)), {}) is None
    assert truth_table(" AND ".join(f"a{number} = 1" for number in range(200)), {}) is None


# ---- entries and tags


@pytest.mark.row("F-50", "F-69", "F-89")
def test_an_entry_byte_by_byte():
    bench = FilterBench(Switches(calc_bit_map=True, queue_ext=True))
    bench.subscribe("G", "a > 5")
    bench.pass_time(1)
    bench.send("m0", "TagB", a="6")
    picture = queue_entry(bench.entry(0), "TagB")
    parts = picture.svg.split("monospace")[1:]  # the bytes, and only they, are in letters of one width
    hexes = [part.partition(">")[2].partition("<")[0] for part in parts]
    assert "".join(hexes) == (bench.entry(0).raw + bench.entry(0).unit_raw).hex()
    assert ("unit", "tags code", "8", "2598920: hash of 'TagB'") in cells(picture)
    plain = FilterBench()
    plain.send("m0")
    assert ("entry", "tags code", "8", "0: no tag") in cells(queue_entry(plain.entry(0), None))
    assert "not the tag's hash" in queue_entry(plain.entry(0), "TagA").alt


@pytest.mark.row("F-52", "F-53", "F-56", "F-95")
def test_tags_through_both_checks():
    picture = tag_checks("Aa", ["Aa", "BB", "TagA", None])
    assert [row[0] for row in cells(picture)] == ["'Aa'", "'BB'", "'TagA'", "no tag"]
    assert [row[-1] for row in cells(picture)] == [
        "arrives",
        "dropped by the client",
        "dropped by the broker",
        "dropped by the broker",
    ]
    assert words(picture).count("✗ no: dropped here") == 3
    assert "no texts: every message passes" in words(tag_checks("*", [None]))
    with pytest.raises(BadInput, match="split error"):
        tag_checks("||", ["TagA"])


# ---- layers


@pytest.mark.row("F-62", "F-65", "F-95")
def test_the_funnel_counts_and_the_grid_names():
    bench = FilterBench(Switches(calc_bit_map=True, queue_ext=True))
    bench.subscribe("BY_TAG", "Aa || TagA", "TAG")
    for name, tag, a in (("m0", "TagA", "1"), ("m1", "BB", "9")):
        bench.send(name, tag, a=a)
    bench.pass_time(1_000)
    bench.subscribe("BY_SQL", "a > 5")
    bench.pass_time(1_000)
    for name, tag, a in (("m2", "TagA", "9"), ("m3", None, "1"), ("m4", "Aa", "6"), ("m5", "TagB", "5.5")):
        bench.send(name, tag, a=a)
    passages = [bench.passage("BY_TAG"), bench.passage("BY_SQL")]
    assert cells(funnel(passages)) == [
        ("BY_TAG", "Aa || TagA", "6", "2", "0", "1", "3"),
        ("BY_SQL", "a > 5", "6", "2", "1", "0", "3"),
    ]
    grid = where_stopped(passages)
    assert words(grid).count("arrives") == 6
    assert words(grid).count("✗") == 6
    assert cells(grid)[0] == ("m0", "TagA, a=1", "arrives", "stops at layer 2: it reads the message")
    assert funnel([]).table.rows == []


@pytest.mark.row("F-33", "F-67", "F-69", "F-74")
def test_redrawn_figures():
    registration = hierarchies.calls("registration")
    assert words(registration).count("ConsumerFilterManager") == 3
    assert hierarchies.calls("pull").alt.startswith("A pull goes through both layers: PullMessageProcessor.process")
    assert "is_matched_by_commit_log" in words(hierarchies.calls("pull"))
    assert "hash_to" in words(hierarchies.calls("write"))
    interfaces = words(hierarchies.filter_interfaces())
    assert {"store.MessageFilter", "common.filter.MessageFilter", "ExpressionForRetryMessageFilter"} <= set(interfaces)
    kinds = dict(cells(hierarchies.expression_classes()))
    assert kinds["In"] == "UnaryInExpression"
    assert len(hierarchies.javacc_files().rows) == 7


@pytest.mark.row("F-97")
def test_names_the_article_mistypes_are_classes_here():
    table = hierarchies.names_mistyped(
        {"ExpressMessageFilter": "ExpressionMessageFilter", "X": "Y"}, ["ExpressionMessageFilter"]
    )
    assert [row[2] for row in table.rows] == ["yes", "no"]


# ---- parts


def test_branches_never_overlap():
    leaves = [Branch(f"leaf {number}", ("x",) * number) for number in range(4)]
    root = Branch("root", children=[Branch("left", children=leaves[:3]), leaves[3]])
    width, height = branches.size(root)
    assert height >= sum(leaf.height for leaf in leaves)
    assert width > root.width + leaves[0].width
    assert len(list(root.walk())) == 6


def test_stacked_pictures_keep_their_words():
    one, two = tag_checks("Aa", ["Aa"]), truth_tables()
    both = stacked("both", one, two)
    assert words(both) == words(one) + words(two)
    heights = [float(ET.fromstring(picture.svg).get("height")) for picture in (both, one, two)]
    assert heights[0] > heights[1] + heights[2]
    assert both.alt == f"{one.alt} {two.alt}"
    assert both.table is one.table
    one.svg = "<svg/>"
    with pytest.raises(ValueError, match="no size and viewBox"):
        stacked("none", one)


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("a=1 b=2", {"a": "1", "b": "2"}),
        ("a='two words' b=", {"a": "two words", "b": ""}),
        ("  a = 1", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a='open", {"a": "'open"}),
    ],
)
def test_properties_as_they_are_typed(text, properties):
    if text == "  a = 1":
        with pytest.raises(BadInput, match="'1' in the message is no property"):
            properties_of(text)
    else:
        assert properties_of(text) == properties


@pytest.mark.parametrize("play", [play_sql])
def test_controls_begin_with_a_picture(play, capsys):
    play(mode="static")
    with pytest.raises(BadInput, match="mode is 'moving'"):
        play(mode="moving")


def test_controls_of_expressions_take_both_versions():
    from rmqlab.show.play.filters import _sql

    old = _sql(expression="a CONTAINS 'x'", message="a=xy", version="4.8.0")
    new = _sql(expression="a CONTAINS 'x'", message="a=xy", version="5.3.3")
    assert "ignored in silence" in old.alt
    assert "true: the broker returns" in new.alt
    with pytest.raises(BadInput, match="is no property"):
        _sql(expression="a = 1", message="a", version="4.8.0")
