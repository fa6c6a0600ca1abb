"""The story of a schedule: moments in the order in which they happened, unusual choices, faults, steps."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rmqlab.errors import BadInput
from rmqlab.run.facts import Fact
from rmqlab.run.run_view import RunView
from rmqlab.scenario.schedule import Schedule, Timing
from rmqlab_tools.search.explorer.deviations import replay_schedule
from rmqlab_tools.show.moments import MomentKind, _commits, scenes
from rmqlab_tools.show.swimlane import story_picture, story_text
from tests.search.explored_models import TWO_ON_TWO_QUEUES, model, start


@pytest.fixture(scope="module")
def usual():
    return replay_schedule(TWO_ON_TWO_QUEUES, Schedule("x", {}, Timing(open_orders=True)))


def moments(run):
    return [moment for scene in scenes(RunView(run), unusual=True) for moment in scene.moments]


@pytest.mark.row("S-82", "S-84")
def test_while_the_clock_stands_still_moments_keep_their_order(usual):
    """A heartbeat changes the slot, then members are told, then they look again and stamp, then beats flip it."""
    assert usual.unusual == []
    told = [(moment.kind, moment.who, moment.slot) for moment in moments(usual) if moment.t > 1_000]
    first = told.index((MomentKind.BEAT, ("B",), "b"))
    notified = next(index for index, one in enumerate(told) if one[0] is MomentKind.NOTIFY)
    looked = next(index for index, one in enumerate(told) if one[0] is MomentKind.REBALANCE and index > first)
    assert first < notified < looked
    beats = [(who, slot) for kind, (*who,), slot in told if kind is MomentKind.BEAT]
    assert beats[-1][1] == usual.fates[0].subscription


def test_an_unusual_choice_stands_where_it_was_made():
    from rmqlab_tools.search.explorer.explore import Explorer

    found = min(
        Explorer(TWO_ON_TWO_QUEUES, budget=30, samples=0).explore().outcomes, key=lambda one: -len(one.schedule.taken)
    )
    told = replay_schedule(TWO_ON_TWO_QUEUES, found.schedule)
    assert len(told.unusual) == len(found.schedule.taken) == 1
    (moment,) = [moment for moment in moments(told) if moment.kind is MomentKind.CHOICE]
    assert " before " in moment.at_broker
    told_at = moments(told).index(moment)
    assert any(one.kind is MomentKind.REBALANCE and one.who for one in moments(told)[told_at:])
    assert moment.at_broker in story_text(told, "t")


def test_a_schedule_of_another_scenario_is_refused():
    with pytest.raises(BadInput, match="belongs to another scenario"):
        replay_schedule(TWO_ON_TWO_QUEUES, Schedule("x", {0: ("nonsense", 1)}, Timing(open_orders=True)))


def test_faults_have_their_place():
    scenario = model(2, start("A", 0, "a"), start("B", 2_000, "b"), {"at": 6_000, "do": "kill", "who": "B"})
    told = replay_schedule(scenario, Schedule("x"))
    story = moments(told)
    (fault,) = [moment for moment in story if moment.kind is MomentKind.FAULT]
    assert (fault.who, fault.text) == (("B",), "kill")
    after = story[story.index(fault) + 1]
    assert (after.kind, after.who) == (MomentKind.REBALANCE, ("A",))
    assert "kill" in story_picture(told, "t").svg


def test_an_offset_that_goes_back_is_committed_last_when_it_is_there_again():
    commits = [
        Fact(t, "broker", SimpleNamespace(client="A", queue=0, offset=offset))
        for t, offset in ((1, 5), (2, 3), (3, 5), (4, 5))
    ]
    view = SimpleNamespace(
        names=["A"], owners={0: ["A"]}, offsets={0: (5, 5)}, slots=[], zero=0, facts=lambda _: commits
    )
    (moment,) = _commits(view)
    assert (moment.t, moment.text) == (3, "queues 0: 5 passed, lag 0")


def test_step_by_step(usual):
    count = len(story_picture(usual, "t").table.rows)
    pictures = [story_picture(usual, "Step by step", step=step) for step in (1, 5, count)]
    assert [len(picture.table.rows) for picture in pictures] == [1, 5, count]
    assert len({picture.svg.split("viewBox")[1][:40] for picture in pictures}) == 1, "the picture keeps its size"
    assert pictures[1].alt.startswith("Moment 5: ")
