"""The eight messages under rarer circumstances: what is kept still holds, schedule by schedule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmqlab.errors import BadInput
from tests.proof.rare_outcomes import CIRCUMSTANCES, delivered, eight, stored

pytestmark = pytest.mark.slow


@pytest.mark.row("S-82", "S-84", "S-86", "S-88")
def test_every_kept_schedule_ends_as_it_says():
    found = stored()
    assert [one.name for one in found] == list(CIRCUMSTANCES)
    for one in found:
        for outcome in one.outcomes:
            assert outcome.told().outcome().as_json()["consumed"] == outcome.consumed
        assert sum(outcome.share for outcome in one.outcomes) == pytest.approx(1)
    by_name = {one.name: [outcome.consumed for outcome in one.outcomes] for one in found}
    assert by_name["usual"] == [{"B": ["MsgStr4", "MsgStr5"]}, {"A": ["MsgStr2", "MsgStr3"]}]
    assert by_name["A's clock is an hour ahead"] == [{"A": ["MsgStr2", "MsgStr3"]}]
    assert {} in by_name["sent while B starts"]
    assert max(delivered(outcome.consumed) for one in found for outcome in one.outcomes) < 8


def test_a_kept_schedule_that_became_wrong_is_noticed():
    usual = stored()[0].outcomes[0]
    with pytest.raises(BadInput, match="ends otherwise now"):
        replace(usual, consumed={"A": ["MsgStr0"]}).told()
    with pytest.raises(BadInput, match="circumstance 'rain'"):
        eight("rain")
