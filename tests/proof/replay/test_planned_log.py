"""What is worked out of a recording of POP: where all lies that no answer tells, and where a pop may have begun."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.rules_of_pop import pop_order, pop_order_downwards
from rmqlab_tools.recordings.exchange import pair
from rmqlab_tools.recordings.frames import read_recording
from tests.proof.replay.planned_log import LogItem, Popped, _fill, planned_log
from tests.proof.replay.pop_requests import PopRun
from tests.proof.replay.recorded_clock import read_clock
from tests.proof.replay.replay import recorded_rules

OF = SimpleNamespace(number=1)


def item(size, earliest=0.0, latest=100.0, kind="check point", after=-1):
    return LogItem(kind, size, earliest, latest, OF, after=after)


@given(st.lists(st.integers(90, 400), min_size=1, max_size=8), st.data())
def test_what_fills_a_room_adds_up_to_it(sizes, data):
    pool = [item(size) for size in sizes]
    room = sum(data.draw(st.lists(st.sampled_from(sizes), max_size=len(sizes), unique=True)))
    anchor = item(1, 50.0, 50.0)
    chosen = _fill(pool, room, anchor)
    assert chosen is not None
    assert sum(one.size for one in chosen) == room


def test_what_was_due_before_must_lie_before():
    anchor = item(1, 50.0, 50.0)
    due, later = item(100, latest=40.0), item(200)
    assert _fill([due, later], 100, anchor) == [due]
    assert _fill([due, later], 200, anchor) is None
    assert _fill([due, later], 300, anchor) == [due, later]


def test_what_was_not_stored_yet_lies_behind():
    anchor = item(1, 50.0, 50.0)
    anchor.at = 1_000
    assert _fill([item(100, earliest=60.0)], 100, anchor) is None
    assert _fill([item(100, after=2_000)], 100, anchor) is None


@pytest.mark.parametrize(
    ("order", "gave", "starts"),
    [
        (pop_order, [], [0, 1, 2, 3]),
        (pop_order, [2], [3, 0, 1, 2]),
        (pop_order, [3, 0], [1, 2, 3]),
        (pop_order, [0, 3], [0]),
        (pop_order_downwards, [0, 3], [2, 1, 0]),
        (pop_order_downwards, [1, 2, 0], []),
    ],
)
def test_a_pop_began_where_its_answer_follows_in_order(order, gave, starts):
    run = PopRun(OF, 0.0, is_last=True, expected={("T", queue): Popped("T", queue, 0, [0]) for queue in gave})
    found = run.starts(4, order)
    assert set(found) == set(starts)
    if gave and starts:
        assert found[0] == starts[0]


@pytest.mark.parametrize("name", ["broker-5.3.3/pop-noprop", "broker-5.3.3/pop", "broker-5.5.0/popslow"])
def test_all_room_in_the_log_is_filled(golden, name):
    recording = read_recording(golden / name)
    clock = read_clock(recording, pair(recording.lines).by_request.values())
    plan = planned_log(recording, clock, recorded_rules(recording))
    assert plan.holes == []
    assert sum(len(gap.items) for gap in plan.gaps) > 20


def test_a_recording_without_a_pop_has_no_plan(golden):
    recording = read_recording(golden / "broker-4.8.0" / "noprop")
    clock = read_clock(recording, pair(recording.lines).by_request.values())
    assert planned_log(recording, clock, recorded_rules(recording)) is None
