"""What the forms of filters say: read from their tables, descriptions and text."""

from __future__ import annotations

import doctest
import importlib
import itertools
import xml.etree.ElementTree as ET

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.filter.sql92 import nodes
from rmqlab.language import spoken
from rmqlab_tools.search.expressions.answer import MAX_PARTS
from rmqlab_tools.show import expression_trees
from rmqlab_tools.show.canvas import MIN_TEXT
from rmqlab_tools.show.expression_trees import Branch
from rmqlab_tools.show.figure import stacked
from tests.proof.filter_bench import FilterBench, Switches

pytestmark = pytest.mark.slow

KINDS = {"true": "1", "false": "0", "null": None, "error": "one"}
RULES = rmqlab.RULES["4.8.0"]


def words(picture):
    return [text.text for text in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


def size(picture):
    box = ET.fromstring(picture.svg).get("viewBox").split()
    return float(box[2]), float(box[3])


def cells(picture):
    return [tuple(map(str, row)) for row in picture.table.rows]


def tree(expression, message=None, **options):
    return rmqlab.show.expression_tree(rmqlab.sql92(expression, message, **options))


def checks(expression, tags):
    asked, rows = rmqlab.tags(expression), []
    for tag in tags:
        code = RULES.tags_code(tag)
        returned = RULES.is_matched_by_consume_queue(asked, code)
        rows.append({"tag": tag, "code": code, "broker": returned, "client": RULES.client_keeps(asked, tag)})
    return rmqlab.show.tag_checks(rows, asked)


# ---- expressions


@pytest.mark.row("F-69", "F-73")
def test_a_tree_shows_every_node_with_its_value():
    picture = tree("a > 3 AND b IS NULL", {"a": "4"})
    shown = words(picture)
    assert shown[0] == "a > 3 AND b IS NULL"
    assert {"AND", ">", "IS NULL", "3 (Integer)", "= '4'", "? missing: null"} <= set(shown)
    assert shown[-1] == "✓ true: the broker returns the message"
    assert cells(picture)[0] == ("AND", "a > 3 AND b IS NULL", "true")


@pytest.mark.row("F-69")
def test_expressions_are_made_of_the_kinds_of_node_that_java_has():
    """Java's class for each: Comparison, Logic, Unary, UnaryIn, Property, Constant."""
    kinds = {
        "Comparison",
        "Equal",
        "And",
        "Or",
        "Not",
        "Negate",
        "BooleanCast",
        "In",
        "Property",
        "Constant",
        "TextTest",
    }
    found, waiting = set(), [nodes.Node]
    while waiting:
        below = waiting.pop().__subclasses__()
        found |= {one.__name__ for one in below if not one.__subclasses__()}
        waiting += below
    assert found == kinds


@pytest.mark.parametrize(
    ("expression", "message", "verdict"),
    [
        ("a > 3", {"a": "3"}, "✗ false: the broker drops the message"),
        ("a > 3", {}, "? null: the broker drops the message"),
        ("a > 3", {"a": "x"}, "! throws NumberFormatException: the broker drops the message"),
        ("a", {"a": "x"}, "✗ false: the broker drops the message"),
    ],
)
def test_a_tree_says_what_the_broker_does(expression, message, verdict):
    assert words(tree(expression, message))[-1] == verdict


def test_a_tree_without_a_message_has_no_verdict():
    picture = tree("a > 3")
    assert picture.alt == "Read as (a > 3)."
    assert words(picture)[0] == "a > 3"


@pytest.mark.row("F-27")
def test_a_tree_shows_what_is_ignored():
    picture = tree("a LIKE 'x%'", {"a": "x"})
    assert any("LIKE 'x%'" in text and "ignored in silence" in text for text in words(picture))
    assert "ignored in silence" in picture.alt
    assert "true: the broker returns" in tree("a CONTAINS 'x'", {"a": "xy"}, version="5.3.3").alt


def test_a_node_that_is_not_asked_is_said():
    picture = tree("a = 1 OR b = 2", {"a": "1"})
    assert words(picture).count("not asked") == 3
    assert ("=", "b = 2", "not asked") in cells(picture)


def test_a_refused_expression_is_a_picture_with_the_place():
    picture = tree("a >= 3 AND b != 4")
    shown = words(picture)
    assert shown[1] == "^"
    places = [float(text.get("x")) for text in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]
    letter = 0.602 * MIN_TEXT * 96 / 72
    assert places[1] - places[0] == pytest.approx(len("a >= 3 AND b ") * letter, abs=1)
    assert "Meant? not equal is written <>" in shown
    assert tree("").title == "Refused: nothing"


def test_a_tree_too_large_for_a_picture_is_cut():
    picture = tree(" OR ".join(f"a = {number}" for number in range(MAX_PARTS)), {"a": "1"})
    assert "OR" in words(picture)
    assert len(words(picture)) < 10
    long = f"TAGS IN ({', '.join(repr(f'TAG{number}') for number in range(128))})"
    assert size(tree(long, {"TAGS": "TAG128"}))[0] < 1_200
    assert tree("(" * 900 + "a = 1" + ")" * 900, {"a": "1"}).alt


def test_lines_with_breaks_do_not_break_the_picture():
    assert tree("a = 1\nAND b = 'x\ny'", {"a": "1"}).alt
    assert "^" in words(tree("a = 1\nAND b != 2"))[1]


def value(expression, **properties):
    found = rmqlab.sql92(expression, {name: one for name, one in properties.items() if one is not None}).value
    return found if found in KINDS else "error"


@pytest.mark.row("F-24", "F-25")
def test_truth_tables_have_three_values_and_errors():
    def and_(left, right):
        if left in {"false", "error"}:
            return left
        if right in {"error", "false"}:
            return right
        return "null" if "null" in {left, right} else "true"

    swap = {"true": "false", "false": "true"}
    for left, right in itertools.product(KINDS, KINDS):
        both = {"a": KINDS[left], "b": KINDS[right]}
        assert value("a = 1 AND b = 1", **both) == and_(left, right)
        flipped = and_(swap.get(left, left), swap.get(right, right))
        assert value("a = 1 OR b = 1", **both) == swap.get(flipped, flipped)
    assert [value("NOT (a = 1)", a=one) for one in KINDS.values()] == ["false", "true", "null", "error"]
    text = "a IS NOT NULL AND (a > 100) OR (b IS NULL)"
    assert [value(text), value(text, a="50", b="1"), value(text, a="101", b="1")] == ["true", "false", "true"]


def test_a_map_of_verdicts_colours_its_words():
    rows = [{"left": "true", "right": "NOT", "is": "false"}, {"left": "true", "right": "AND null", "is": "null"}]
    picture = rmqlab.show.heat_map(rows, x="right", y="left", value="is", title="One")
    assert cells(picture) == [("true", "false", "null")]
    assert {"✗ false", "? null", "left true"} <= set(words(picture))
    assert picture.alt == "One: false (right NOT, left true), null (right AND null, left true)."


# ---- entries and tags


@pytest.mark.row("F-50", "F-69", "F-89")
def test_an_entry_byte_by_byte():
    bench = FilterBench(Switches(calc_bit_map=True, queue_ext=True))
    bench.subscribe("G", "a > 5")
    bench.pass_time(1)
    bench.send("m0", "TagB", a="6")
    entry = bench.entry(0)
    picture = rmqlab.show.queue_entry(entry.raw, code="hash code of TagB", unit=entry.unit_raw)
    parts = picture.svg.split("monospace")[1:]  # the bytes, and only they, are in letters of one width
    hexes = [part.partition(">")[2].partition("<")[0] for part in parts]
    assert "".join(hexes) == (entry.raw + entry.unit_raw).hex()
    assert ("unit", "tags code", "8", "2598920: hash code of TagB") in cells(picture)
    assert ("unit", "bitmap", "14", "112 bits") in cells(picture)
    plain = FilterBench()
    plain.send("m0")
    assert ("entry", "tags code", "8", "0") in cells(rmqlab.show.queue_entry(plain.entry(0).raw))
    with pytest.raises(BadInput, match="19 bytes; an entry has 20"):
        rmqlab.show.queue_entry(bytes(19))


@pytest.mark.row("F-52", "F-53", "F-56", "F-95")
def test_tags_through_both_checks():
    picture = checks("Aa", ["Aa", "BB", "TagA", None])
    assert [row[0] for row in cells(picture)] == ["'Aa'", "'BB'", "'TagA'", "none"]
    assert [row[1] for row in cells(picture)] == ["2112", "2112", "2598919", "0"]
    returned, broker = "✓ returned to the client", "✗ dropped by the broker"
    assert [row[2] for row in cells(picture)] == [returned, returned, broker, broker]
    assert [row[3] for row in cells(picture)] == ["✓ delivered", "✗ dropped by the client", "None", "None"]
    assert words(picture)[0] == "Subscription 'Aa': the broker has the codes 2112, the client the texts Aa"
    ends = ("'Aa' arrives", "'BB' is dropped by the client", "'TagA' is dropped by the broker", "no tag is dropped by")
    assert all(end in picture.alt for end in ends)
    assert "✓ delivered" in words(checks("*", [None]))
    with pytest.raises(BadInput, match="no column 'code'"):
        rmqlab.show.tag_checks([{"tag": "a"}], rmqlab.tags("a"))


@pytest.mark.row("F-62", "F-65", "F-95")
def test_the_funnel_counts_by_place():
    lab = rmqlab.Lab(topics={"T": 2})
    lab.consumer("tags", group="BY_TAG", subscribe={"T": "Aa || TagA"})
    lab.consumer("sql", group="BY_SQL", sql92={"T": "a > 5"})
    lab.run(seconds=30)
    lab.send("T", ["TagA", "BB", "TagC", None, "Aa"], properties=[{"a": a} for a in ("1", "9", "6", "5.5", "7")])
    waiting = lab.fates()
    lab.run(seconds=30)
    picture = rmqlab.show.funnel(lab.fates())
    assert sorted(cells(picture)) == [
        ("BY_SQL", "a > 5", "5", "0", "2", "0", "3"),
        ("BY_TAG", "Aa || TagA", "5", "2", "0", "1", "2"),
    ]
    assert cells(rmqlab.show.funnel(lab.fates().frame())) == cells(picture)
    assert "2 of BY_TAG delivered: MsgStr0, MsgStr4" in picture.svg
    assert rmqlab.show.funnel([]).table.rows == []
    with pytest.raises(BadInput, match="no filter has judged it"):
        rmqlab.show.funnel(waiting)
    with pytest.raises(BadInput, match=r"right is a row of lab\.fates"):
        rmqlab.show.funnel([{"group": "G"}])


# ---- parts


@pytest.mark.parametrize("name", ["bits", "expression_trees", "funnels"])
def test_examples_of_docstrings(name):
    found = doctest.testmod(importlib.import_module(f"rmqlab_tools.show.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_branches_never_overlap():
    leaves = [Branch(f"leaf {number}", ("x",) * number) for number in range(4)]
    root = Branch("root", children=[Branch("left", children=leaves[:3]), leaves[3]])
    width, height = expression_trees.tree_size(root)
    assert height >= sum(leaf.height for leaf in leaves)
    assert width > root.width + leaves[0].width


def test_stacked_pictures_keep_their_words():
    one, two = checks("Aa", ["Aa"]), tree("a > 3", {"a": "4"})
    both = stacked("both", one, two)
    assert words(both) == words(one) + words(two)
    heights = [float(ET.fromstring(picture.svg).get("height")) for picture in (both, one, two)]
    assert heights[0] > heights[1] + heights[2]
    assert both.alt == f"{one.alt} {two.alt}"
    assert both.table is one.table
    one.svg = "<svg/>"
    with pytest.raises(ValueError, match="no size and viewBox"):
        stacked("none", one)


def test_the_words_of_a_funnel_are_the_readers_language_lane_after_lane():
    row = {"subscription": "a", "body": "one", "fate": "delivered"}
    with spoken("zh"):
        told = rmqlab.show.funnel([row | {"group": "G"}, row | {"group": "H"}]).alt
    assert told == "G（a）：共 1 条消息、到达 1 条。H（a）：共 1 条消息、到达 1 条。"
