"""Pictures of a change of subscription: they tell what the plan found."""

from __future__ import annotations

import pytest

from rmqlab.search.plan.planner import plan
from rmqlab.search.plan.procedures import Setting
from rmqlab.show.plans import plan_bars, plan_lanes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    names = ["stop-all", "one-by-one"]
    return plan("tagA", "tagB", setting=Setting(2, 2, every_ms=1_000), budget=1, procedures=names)


def test_the_bars_say_what_is_lost(found):
    picture = plan_bars(found)
    lost = found.of("one-by-one").spread()[2]
    assert f"one-by-one, producers keep sending: loses up to {lost}" in picture.alt
    assert "stop-all, producers keep sending: loses nothing" in picture.alt
    assert "✓ nothing lost" in picture.svg
    assert {picture.table.rows[number][0] for number in picture.table.marked} == {"one-by-one"}


def test_the_lanes_name_each_message_and_what_the_broker_held(found):
    tried = found.of("one-by-one")
    picture = plan_lanes(found, tried)
    assert f"{len(tried.lost)} lost" in picture.title
    for one in tried.lost:
        assert one.body in picture.alt
    rows = {(who, what) for _, who, what in picture.table.rows}
    assert {("C1", "tagA"), ("C1", "stops"), ("C1", "tagB"), ("the broker holds", "tagB")} <= rows
    assert len(picture.table.marked) == len(tried.lost)
