"""A consumer disappears: laws of when it is noticed and taken over, for every way, moment and period."""

from __future__ import annotations

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from rmqlab.errors import BadInput
from rmqlab.lab.articles.heartbeats import heartbeat_figures
from rmqlab.lab.groups.disappearance import Disappearance, delays

pytestmark = pytest.mark.slow

SLACK_MS = 50  # frames take a few ms
# what does the noticing, and whether the other one is told
NOTICED = {
    "process killed": ("closed", True),
    "connection cut": ("closed", True),
    "machine gone": ("scan", False),
    "beats get lost": ("scan", False),
}


def run(**settings_):
    return Disappearance(**settings_).run()


@pytest.mark.row("H-41", "H-43", "H-44")
@pytest.mark.parametrize("way", NOTICED)
def test_who_notices_and_who_is_told(way):
    found, (by, told) = run(way=way), NOTICED[way]
    assert found.noticed is not None
    assert found.by_scan == (by == "scan")
    assert bool(found.told) == (told or found.back is not None)  # who comes back is told of, and so are the others
    if by == "closed":
        assert found.noticed - found.moment < SLACK_MS
        assert found.taken_over - found.moment < SLACK_MS
    else:
        assert found.noticed in found.scans
        assert 120_000 < found.noticed - found.last_heard <= 130_000


@pytest.mark.row("H-14", "H-40", "H-41", "H-46", "H-48")
@settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(30_000, 62_000), st.integers(0, 10_000), st.integers(0, 20_000))
@example(34_402, 9_325, 2_067)
def test_silence_lasts_an_expiry_then_up_to_a_scan_then_up_to_a_rebalance(at_ms, uptime_ms, second_ms):
    """Unless nothing moved on the connection for 120 s before a scan came: Netty closes it then, and that is told."""
    found = run(at_ms=at_ms, uptime_ms=uptime_ms, second_ms=second_ms)
    noticed = found.noticed - found.last_heard
    assert 120_000 < noticed <= 130_000
    assert 0 < found.taken_over - found.noticed <= (20_000 if found.by_scan else 0) + SLACK_MS
    assert bool(found.told) != found.by_scan
    assert found.unserved_ms == found.taken_over - found.moment


def test_an_idle_connection_may_be_closed_before_a_scan_looks():
    found = run(at_ms=34_402, uptime_ms=9_325, second_ms=2_067)
    assert not found.by_scan
    assert found.noticed - found.moment < 120_000 + 20_000  # the broker's last answer to a held pull went out later
    assert found.taken_over - found.noticed < SLACK_MS


@settings(max_examples=8, deadline=None, phases=(Phase.generate,))
@given(
    st.sampled_from((1_000, 3_000, 10_000)),
    st.sampled_from((12_000, 35_000)),
    st.sampled_from((1_000, 4_000)),
    st.sampled_from((2_000, 9_000)),
)
def test_the_same_law_with_other_periods(beat_ms, expiry_ms, scan_ms, rebalance_ms):
    found = run(beat_ms=beat_ms, expiry_ms=expiry_ms, scan_ms=scan_ms, rebalance_ms=rebalance_ms)
    assert expiry_ms < found.noticed - found.last_heard <= expiry_ms + scan_ms
    assert found.taken_over - found.noticed <= rebalance_ms + SLACK_MS
    if beat_ms < 10_000:  # the article's figures hold for the article's periods only
        assert any(one.differs for one in heartbeat_figures([found]))


@pytest.mark.row("H-22", "H-41")
@settings(max_examples=10, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.sampled_from(("long pause", "network frozen")), st.integers(5_000, 200_000))
@example("long pause", 100_000)
@example("long pause", 114_000)
@example("network frozen", 190_000)
def test_what_comes_back_in_time_is_never_missed(way, for_ms):
    """Forgotten only if a scan fell between the last heartbeat's expiry and the next heartbeat."""
    found = run(way=way, for_ms=for_ms)
    back = [t for t in found.heard if t > found.moment]
    silence_ends = back[0] if back else found.until
    due = [t for t in found.scans if found.last_heard + 120_000 < t < silence_ends - SLACK_MS]
    if due:
        assert found.noticed == due[0]
        assert found.by_scan
    elif found.noticed is not None:  # the channel was idle for 120 s: closed, not found by a scan
        assert found.noticed - found.last_heard >= 120_000
    if found.noticed is None:
        assert found.taken_over is None
        assert found.back is None


@pytest.mark.parametrize(("lost", "noticed"), [(1, False), (3, False), (4, True), (8, True)])
def test_lost_beats_cost_the_place_when_the_last_one_heard_is_too_old(lost, noticed):
    found = run(way="beats get lost", lost_beats=lost)
    assert (found.noticed is not None) == noticed
    assert found.unserved_ms < SLACK_MS  # A gives its queues up, and a moment later they have an owner again


def test_a_client_whose_beats_are_rarer_than_the_expiry_was_unknown_before():
    assert run(beat_ms=60_000, expiry_ms=6_000, scan_ms=1_000, at_ms=50_000).unknown_before


def test_delays_spread_the_phases():
    found = delays(4, way="machine gone")
    assert len({one.settings.at_ms for one in found}) == len({one.settings.uptime_ms for one in found}) == 4
    assert [one.what for one in heartbeat_figures(found) if one.differs] == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"way": "abducted"}, "way is 'abducted'; it is one of process killed"),
        ({"beat_ms": 10}, "beat_ms is 10; it must be 1000 or more"),
        ({"at_ms": 100}, "at_ms is 100; it must be 500 or more"),
        ({"for_ms": 0}, "for_ms is 0"),
    ],
)
def test_what_cannot_be_is_refused(changes, text):
    with pytest.raises(BadInput, match=text):
        run(**changes)
