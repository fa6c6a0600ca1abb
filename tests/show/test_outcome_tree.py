"""The tree of outcomes, and the story of one."""

from __future__ import annotations

import pytest

from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.show.outcome_tree import outcome_tree
from tests.search.explored_models import TWO_ON_ONE_QUEUE, TWO_ON_TWO_QUEUES

pytestmark = pytest.mark.slow


@pytest.mark.row("S-84")
def test_the_tree_has_the_shares_of_the_exploration():
    found = Explorer(TWO_ON_TWO_QUEUES, samples=10).explore()
    picture = outcome_tree(found)
    assert picture.alt.startswith("2 outcomes (all there are). A gets m0: ")
    assert "A wins" in picture.svg
    assert "B wins" in picture.svg
    first, second = picture.table.rows
    by_orders = found.outcomes[0].schedules / sum(one.schedules for one in found.outcomes)
    assert first[:3] == ("A gets m0", f"{found.outcomes[0].share:.1%}", f"{by_orders:.1%}")
    assert second[-1] == f"{found.outcomes[1].schedules:,}"
    assert "first: " in picture.alt


def test_without_the_end_of_the_search_there_is_no_tree():
    found = Explorer(TWO_ON_ONE_QUEUE, budget=12, samples=4).explore()
    picture = outcome_tree(found)
    assert "not exhausted after 12 runs" in picture.alt
    assert "nobody gets anything" in picture.alt
    assert "Which choices" not in picture.svg
    assert picture.table.rows[0][-1] is None


def test_outcomes_tell_their_story_step_by_step():
    found = next(
        one for one in Explorer(TWO_ON_TWO_QUEUES, budget=30, samples=0).explore().outcomes if one.schedule.taken
    )
    assert found.words == found.outcome.words
    assert found.story(step=3).alt.startswith("Moment 3: ")
    assert len(found.story().table.rows) == found.moments
    assert found.schedule.to_json() in found.text()
