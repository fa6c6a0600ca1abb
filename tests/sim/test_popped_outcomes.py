"""What real groups of 5.5.0 got that pop one message every 2.5 s is among what ours get."""

from __future__ import annotations

import pytest

from tests.proof.popped_outcomes import cell_of, compared
from tests.proof.recorded_outcomes import RecordedVerdict

SETS = {"popslow": 17, "slow": 23}


@pytest.mark.parametrize(("name", "scenarios"), SETS.items())
def test_every_recorded_outcome_of_a_slow_stream_is_reached(root, name, scenarios):
    comparisons = list(compared(root / "data" / "golden" / "broker-5.5.0" / name, "5.5.0", seeds=20))
    missing = [each.scenario_id for each in comparisons if each.verdict is RecordedVerdict.NOT_REACHED]
    assert (missing, len(comparisons)) == ([], scenarios)


def test_slow_blocks_of_real_groups_lost_five_to_seven(root):
    folder = root / "data" / "golden" / "broker-5.5.0" / "popslow"
    lost = [
        8 - len({body for _who, body, _times in each.recorded.consumed})
        for each in compared(folder, "5.5.0", seeds=1, only="tag-block")
    ]
    assert cell_of("g5-poptag-block-002") == "poptag-block"
    assert sorted(lost) == [5, 5, 6, 6, 7, 7]
