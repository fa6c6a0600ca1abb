"""What the pictures of a run say: read from their tables, descriptions and text."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.run.results import LabResult
from rmqlab.run.run_view import RunView
from rmqlab.scenario.scenario import read_scenarios
from rmqlab.sim.simulate import simulate
from rmqlab_tools.course.articles.eight_messages import CLIENT_IP, EightMessages
from rmqlab_tools.show.fate_grid import cells, fate_grid
from rmqlab_tools.show.figure import stacked
from rmqlab_tools.show.moments import MomentKind, scenes, telling_beats
from rmqlab_tools.show.slot_timeline import slot_timeline
from rmqlab_tools.show.swimlane import LanePlaces, swimlane

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run():
    return EightMessages().run()


def words(picture):
    return [text.text for text in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.row("S-33", "S-34", "S-36")
def test_grid_shows_every_message_once(run):
    picture = fate_grid(run)
    shown = words(picture)
    assert [shown.count(f"MsgStr{number}") for number in range(8)] == [1] * 8
    assert shown.count("✗ broker drops it") == 4
    assert shown.count("✗ A drops it") == 2
    assert shown.count("✓ B gets it") == 2
    assert shown.count("read 2 of 2, lag 0") == 4
    assert shown[0] == "2 of 8 delivered, 6 lost, lag 0"


def test_grid_table_says_the_same(run):
    table = fate_grid(run).table
    assert [row[0] for row in table.rows] == [f"MsgStr{number}" for number in range(8)]
    assert table.marked == frozenset({0, 1, 2, 3, 6, 7})
    assert table.headers[5:] == ["pulled by", "what became of it", "dropped by", "subscription that decided"]
    assert table.rows[2][5:] == ["A", "✗ dropped by the broker", "the broker", "tagB, of B"]
    assert table.rows[4][5:] == ["B", "✓ delivered", None, "tagB, of B"]
    assert table.rows[6][5:] == ["A", "✗ dropped by the client", "A", "tagA, of A"]


def test_grid_has_the_sum_and_the_slot(run):
    picture = fate_grid(run)
    shown = words(picture)
    assert [text for text in shown if text.isdecimal()] == ["8", "4", "2"]
    assert shown[shown.index("the broker lets through") + 1] == "tagB"
    assert {"A keeps", "B keeps", "✗ 4 dropped by the broker", "✗ 2 dropped by the client"} <= set(shown)
    assert "8 sent; the broker lets through tagB: 4 left; 2 delivered." in picture.alt


def test_a_slot_that_changes_while_messages_come_is_shown_with_its_changes():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=5)
    lab.send("T", ["tagA"])
    lab.run(seconds=1)
    lab.subscribe("A", "T", "tagB")
    lab.run(seconds=60)
    lab.send("T", ["tagA"])
    lab.run(seconds=1)
    assert "lets through tagA → tagB: 1 left; 1 delivered" in lab.grid().alt


@pytest.mark.parametrize(("body", "steps"), [
    ("MsgStr2", [("the broker", "drops it: the slot says tagB")]),
    ("MsgStr6", [("A", "drops it: A itself asks for tagA")]),
    ("MsgStr4", [("B", "hands it to its listener")]),
])  # fmt: skip
def test_the_way_of_a_message_names_who_acts(run, body, steps):
    told = LabResult(run).way(body)
    assert [tuple(row[1:]) for row in told.rows if row[2].startswith(("drops", "hands"))] == steps
    assert "nobody reads it again" in told.rows[-1][2]
    assert [row[1] for row in told.rows[:2]] == ["the broker", steps[0][0].replace("the broker", "A")]
    with pytest.raises(BadInput, match="no message MsgStr9 came to group"):
        LabResult(run).way("MsgStr9")


def test_grid_stacks_messages_of_one_queue_and_tag():
    view = RunView(EightMessages(queues=2, sending_order="ABABABAB", first_queue=0).run())
    by_tag = cells(view)
    assert {
        tag: {queue: [fate.body for fate in stack] for queue, stack in row.items()} for tag, row in by_tag.items()
    } == {
        "tagA": {0: ["MsgStr0", "MsgStr2", "MsgStr4", "MsgStr6"]},
        "tagB": {1: ["MsgStr1", "MsgStr3", "MsgStr5", "MsgStr7"]},
    }


def test_grid_says_what_nobody_asked_for():
    picture = fate_grid(EightMessages(tags={"A": "TagA", "B": "TagB"}).run())
    assert picture.alt.startswith("0 of 8 delivered, 0 lost, 8 that nobody asked for, lag 0.")


def test_narrow_grid_has_short_labels():
    shown = words(fate_grid(EightMessages(queues=12).run()))
    assert "q11" in shown or "queue 11" in shown
    assert "✗ broker drops it" not in shown


@pytest.mark.row("S-77", "S-78", "S-84")
def test_slot_shows_who_took_it_and_who_was_ignored(run):
    view = RunView(run)
    assert [(beat.who, beat.expression, beat.taken) for beat, _ in telling_beats(view)] == [
        ("A", "tagA", True), ("A", "tagA", True), ("B", "tagB", True), ("A", "tagA", True), ("B", "tagB", True),
        ("A", "tagA", False),
    ]  # fmt: skip
    picture = slot_timeline(run)
    assert picture.alt.endswith("A's heartbeat of 60.008 s is ignored. It ends as tagB.")
    assert len(picture.table.rows) == len(view.beats) == 10


@pytest.mark.row("S-86")
def test_slot_with_a_fast_clock():
    picture = slot_timeline(EightMessages(skew_ms={"A": 3_600_000}).run())
    assert "B writes" not in picture.alt
    assert picture.alt.endswith("B's heartbeat of 60.000 s is ignored. It ends as tagA.")


def test_pictures_stand_one_below_the_other(run):
    grid, slot = fate_grid(run), slot_timeline(run)
    both = stacked("Fates, and the slot", grid, slot)
    assert both.alt == f"{grid.alt} {slot.alt}"
    assert both.table == grid.table
    shown = words(both)
    assert {"MsgStr4", "slot in broker", "✗ ignored"} <= set(shown)
    labelled = stacked("Fates, and the slot", grid, slot, labels=["The <real> one"])
    assert labelled.alt == f"The <real> one: {grid.alt} {slot.alt}"
    assert "The &lt;real&gt; one" in labelled.svg


@pytest.mark.row("S-35", "S-82", "S-84")
def test_swimlane_tells_the_story_in_order(run):
    story = scenes(RunView(run))
    assert [scene.title for scene in story] == [
        "A starts: asks for tagA",
        "B starts, 60.000 s later: asks for tagB",
        "8 messages: 2 delivered, 4 dropped by the broker, 2 dropped by the client",
        "Offsets move on, whatever became of the messages",
    ]
    assert all(
        moments == sorted(moments, key=lambda moment: moment.t) for moments in (scene.moments for scene in story)
    )
    second = [(moment.kind, moment.who, moment.slot) for moment in story[1].moments]
    assert second == [
        (MomentKind.BEAT, ("B",), "tagB"),
        (MomentKind.NOTIFY, ("A", "B"), "tagB"),
        (MomentKind.REBALANCE, ("A",), "tagB"),
        (MomentKind.BEAT, ("A",), "tagA"),
        (MomentKind.REBALANCE, ("B",), "tagA"),
        (MomentKind.BEAT, ("B",), "tagB"),
        (MomentKind.BEAT, ("A",), "tagB"),
    ]
    assert [moment.at_broker for moment in story[1].moments][-1] == "an older version: ignored"


def test_swimlane_draws_a_lane_for_each_consumer_and_the_flips_of_the_slot(run):
    picture = swimlane(run)
    assert {"A", "B", "broker", "✗ MsgStr2  tagA  queue 0", "MsgStr4  tagB  queue 2"} <= set(words(picture))
    assert "tagA, then tagB, then tagA, then tagB" in picture.alt
    assert len(picture.table.rows) == 20


def test_lanes_stand_on_both_sides_of_the_broker():
    lanes = LanePlaces(["A", "B", "C"])
    assert lanes.x["A"] < lanes.x["B"] < lanes.left < lanes.right < lanes.x["C"] < lanes.width
    assert (lanes.edge("B"), lanes.edge("C")) == (lanes.left, lanes.right)
    assert (lanes.away("B"), lanes.away("C")) == (1, -1)


def test_pictures_of_three_consumers_and_long_expressions():
    run = EightMessages(
        start_order=("A", "B", "C"),
        tags={"A": "tagA || tagB || tagC", "B": "tagB", "C": "tagC"},
        client_ids={who: f"{CLIENT_IP}@{number}" for number, who in enumerate("ABC", 1)},
    ).run()
    for draw in (swimlane, fate_grid, slot_timeline):
        shown = words(draw(run))
        assert not [text for text in shown if "tagA || tagB ||" in text and "starts" not in text]
    assert swimlane(run).table.rows[0][-1] == "tagA || tagB || tagC"


def test_every_kind_of_recorded_scenario_can_be_drawn(golden):
    """One of each kind: broadcasting, orderly, cut, frozen, bad SQL92, another topic, ..."""
    kinds = {}
    for scenario in read_scenarios(golden / "broker-4.8.0" / "base" / "scenarios.jsonl"):
        kinds[scenario.id.rsplit("-", 1)[0]] = scenario
    assert len(kinds) > 15
    for scenario in kinds.values():
        run = simulate(scenario)
        assert fate_grid(run).alt
        assert slot_timeline(run).alt
        assert scenes(RunView(run))
    for name in ("p-bcast", "p-freeze", "p-badsql", "p-retry"):
        assert ET.fromstring(swimlane(simulate(kinds[name])).svg).get("role") == "img"
