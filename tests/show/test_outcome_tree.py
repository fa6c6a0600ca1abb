"""Pictures and controls of notebook 08."""

from __future__ import annotations

import pytest

from rmqlab.lab.articles.rare_outcomes import stored
from rmqlab.lab.recorded.races import recorded_races
from rmqlab.search.explorer.explore import explore
from rmqlab.show.play.schedules import play_schedules, play_steps
from rmqlab.show.schedules import schedule_tables
from rmqlab.show.schedules.outcome_tree import outcome_tree
from tests.lab.explored_models import TWO_ON_ONE_QUEUE, TWO_ON_TWO_QUEUES

pytestmark = pytest.mark.slow


@pytest.fixture
def shown(monkeypatch):
    things = []
    monkeypatch.setattr("IPython.display.display", things.append)
    return things


@pytest.mark.row("S-84")
def test_the_tree_has_the_shares_of_the_exploration():
    found = explore(TWO_ON_TWO_QUEUES, samples=10)
    picture = outcome_tree(found, {"somebody counted": [0.25, 0.75]})
    assert picture.alt.startswith("2 outcomes (all there are). A gets m0: ")
    assert "A wins" in picture.svg
    assert "B wins" in picture.svg
    first, second = picture.table.rows
    by_orders = found.outcomes[0].schedules / sum(one.schedules for one in found.outcomes)
    assert first[:3] == ("A gets m0", f"{found.outcomes[0].share:.1%}", f"{by_orders:.1%}")
    assert first[4] == "25.0%"
    assert second[-1] == f"{found.outcomes[1].schedules:,}"
    assert "first: " in picture.alt


def test_without_the_end_of_the_search_there_is_no_tree():
    found = explore(TWO_ON_ONE_QUEUE, budget=12, samples=4)
    picture = outcome_tree(found)
    assert "not exhausted after 8 runs" in picture.alt
    assert "nobody gets anything" in picture.alt
    assert "Which choices" not in picture.svg
    assert picture.table.rows[0][-1] is None


def test_tables_say_what_was_found():
    rare, races = stored(), recorded_races()
    table = schedule_tables.rare(rare[:2])
    rows = [("usual", 2, "yes", "2"), ("sent while B starts", 9, "no", "0 to 4")]
    assert [row[:4] for row in table.rows] == rows
    assert table.rows[1][5].startswith("nobody gets anything")
    assert " before " in table.rows[1][6]
    recorded = schedule_tables.recorded(races)
    assert sum(row[1] for row in recorded.rows) == len(races)
    assert sum(row[2] for row in recorded.rows) == sum(race.won_by_last for race in races)


def test_a_schedule_is_stepped_by_a_slider(shown):
    told = stored()[0].outcomes[1].told()
    play_steps(told, "Step by step", step=3)
    picture, controls = shown
    assert picture.alt.startswith("Moment 3: ")
    slider = controls.widgets["step"]
    before = controls.view.value
    slider.value = 5
    assert "Moment 5: unusual order" in controls.view.value
    assert controls.view.value != before


def test_explorations_have_controls(shown):
    play_schedules(budget=6, gap_ms=700)
    picture, controls = shown
    assert "not exhausted after 3 runs" in picture.alt
    assert controls.widgets["gap"].value == 700
    before = controls.view.value
    controls.widgets["sent"].value = 0
    assert "<svg" in controls.view.value
    assert controls.view.value != before
