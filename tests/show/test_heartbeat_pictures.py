"""Pictures and tables of notebook 06 say what the runs say."""

from __future__ import annotations

import pytest

from rmqlab.lab.groups.disappearance import WAYS, Disappearance, delays
from rmqlab.lab.groups.gauge_story import gauge_story
from rmqlab.lab.groups.heartbeat_load import HeartbeatLoad
from rmqlab.lab.groups.notices import CAUSES, notice_of
from rmqlab.show.heartbeats import heartbeat_tables
from rmqlab.show.heartbeats.clock_lane import NEVER, after, clock_lane
from rmqlab.show.heartbeats.heartbeat_flow import heartbeat_flow


@pytest.mark.parametrize("way", WAYS)
def test_the_clock_lane_says_what_happened(way):
    found = Disappearance(way=way).run()
    picture = clock_lane(found)
    assert f"A disappears ({way})" in picture.alt
    assert ("the broker never noticed" in picture.svg) == (found.noticed is None)
    if found.noticed is not None:
        words = "this scan forgets it" if found.by_scan else "its connection is seen to close"
        assert f"{words}: {after(found, found.noticed)}" in picture.svg
    assert ("nobody is told" in picture.svg) == (not found.told)
    told = [row for row in picture.table.rows if row[1] == "B is told to rebalance"]
    assert len(told) == len([t for t in found.told if t < found.until])


def test_a_moment_as_text():
    found = Disappearance(way="process killed").run()
    assert after(found, None) == NEVER
    assert after(found, found.moment + 20) == "20 ms"
    assert after(found, found.moment + 2_500) == "2.5 s"


def test_tables_of_disappearances():
    found = {"machine gone": Disappearance().run()}
    assert heartbeat_tables.guessed(found, {"machine gone": 30}).rows[0][:2] == ("machine gone", 30)
    silent = delays(3)
    spread = heartbeat_tables.spread(silent)
    assert [row[1] for row in spread.rows] == [3, 3]
    assert heartbeat_tables.article(silent).marked == frozenset()


def test_who_was_not_told_is_marked():
    found = [notice_of(cause) for cause in CAUSES if cause.name in {"a member joins", "A subscribes another tag"}]
    table = heartbeat_tables.told(found)
    assert [table.rows[number][0] for number in table.marked] == ["A subscribes another tag"]


def test_what_it_costs():
    table = heartbeat_tables.cost(1_000, (30, 3), (3_000,))
    assert [row[2:] for row in table.rows] == [("100", "0.8"), ("1,000", "8.0")]
    small = HeartbeatLoad(clients=100, minutes=1)
    pools = heartbeat_tables.pools(small, HeartbeatLoad(clients=600, threads=1, work_ms=500, queue=100))
    assert pools.marked == {1}
    assert pools.rows[0][-1] == "0"


@pytest.mark.row("H-49")
def test_the_gauges_of_the_story_tell_what_arrives():
    story = gauge_story()
    table = heartbeat_tables.gauges(story, 30, 90)
    raw, filtered = table.rows[0][3:5]
    fates = dict(heartbeat_tables.fates(story).rows)
    assert raw == sum(fates.values()) == 40
    assert filtered == fates["delivered"]
    assert table.rows[1][3:5] == (0, 0)


def test_the_way_of_a_heartbeat_is_drawn_from_the_calls():
    picture = heartbeat_flow()
    names = [row[0] for row in picture.table.rows]
    assert any("register_consumer" in name for name in names)
    assert "nobody is told" in picture.svg
