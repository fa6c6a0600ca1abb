"""Heartbeats in a lab driven by hand: laws of when a silent member is forgotten, and of who is told what."""

from __future__ import annotations

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import rmqlab
from rmqlab.events import Expired, Unregister

pytestmark = pytest.mark.slow

RULE = rmqlab.RULES["4.8.0"]
SLACK_MS = 50  # frames take a few ms
NOTIFY = "NOTIFY_CONSUMER_IDS_CHANGED"


def group(rules=RULE, *, wait_ms=0, second_ms=500, at_ms=45_000):
    """A and B share four queues."""
    lab = rmqlab.Lab(topics={"T": 4}, rules=rules)
    lab.run(ms=wait_ms)
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(ms=second_ms)
    lab.consumer("B", group="G", subscribe={"T": "*"})
    lab.run(ms=at_ms - second_ms)
    return lab


class After:
    """What followed a fault; times are ms since it."""

    def __init__(self, lab, happen, seconds=200):
        self.last = lab.heartbeats().where(who="A")[-1].t
        happen(lab)
        lab.run(seconds=seconds)
        self.lab, self.zero = lab, lab.events().where(ev="control")[-1].t
        self.age = self.zero - self.last
        facts, ready = lab._run().facts, lab._run().zero
        gone = [fact for fact in facts.of(Unregister, Expired) if fact.event.client == "A" and fact.event.group == "G"]
        gone = [fact for fact in gone if self.zero <= fact.t - ready <= self.zero + seconds * 1_000]
        self.forgotten = gone[0].t - ready - self.zero if gone else None
        self.by_scan = bool(gone) and isinstance(gone[0].event, Expired)
        self.told = [one.t - self.zero for one in lab.frames().where(request=NOTIFY, target="B") if one.t >= self.zero]
        taken = [one.t - self.zero for one in lab.rebalances().where(who="B", held=True) if one.t >= self.zero]
        self.taken = taken[0] if taken else None


def kill(lab):
    lab.kill("A")


def vanish(lab):
    lab.kill("A", silent=True)


def lose(lab, times=8):
    lab.lose_heartbeat("A", times)


@pytest.mark.row("H-41", "H-43", "H-44")
@pytest.mark.parametrize(
    ("happen", "by_scan", "told"),
    [(kill, False, True), (lambda lab: lab.cut("A"), False, True), (vanish, True, False), (lose, True, False)],
    ids=("killed", "cut", "machine gone", "heartbeats lost"),
)
def test_who_notices_and_who_is_told(happen, by_scan, told):
    found = After(group(), happen, 135)
    assert found.by_scan == by_scan
    if by_scan:
        assert 120_000 < found.age + found.forgotten <= 130_000
        assert not [t for t in found.told if t <= found.taken]
    else:
        assert found.forgotten < SLACK_MS
        assert found.taken < SLACK_MS
        assert bool(found.told) == told


@pytest.mark.row("H-14", "H-40", "H-41", "H-46", "H-48")
@settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(30_000, 62_000), st.integers(0, 9_999), st.integers(0, 20_000))
@example(60_000, 9_000, 2_000)
def test_silence_lasts_an_expiry_then_up_to_a_scan_then_up_to_a_rebalance(at_ms, wait_ms, second_ms):
    """Unless nothing moved on the connection for 120 s before a scan came: Netty closes it then, and that is told."""
    found = After(group(wait_ms=wait_ms, second_ms=second_ms, at_ms=at_ms), vanish)
    assert 120_000 < found.age + found.forgotten <= 130_000
    assert 0 < found.taken - found.forgotten <= (20_000 if found.by_scan else 0) + SLACK_MS
    assert bool(found.told) != found.by_scan


@settings(max_examples=8, deadline=None, phases=(Phase.generate,))
@given(
    st.sampled_from((1_000, 3_000, 10_000)),
    st.sampled_from((12_000, 35_000)),
    st.sampled_from((1_000, 4_000)),
    st.sampled_from((2_000, 9_000)),
)
def test_the_same_law_with_other_periods(beat_ms, expiry_ms, scan_ms, rebalance_ms):
    rules = RULE.replace(
        heartbeat_period_ms=beat_ms, channel_expired_ms=expiry_ms, scan_period_ms=scan_ms,
        rebalance_period_ms=rebalance_ms,
    )  # fmt: skip
    found = After(group(rules), vanish)
    assert expiry_ms < found.age + found.forgotten <= expiry_ms + scan_ms
    assert found.taken - found.forgotten <= rebalance_ms + SLACK_MS


@pytest.mark.row("H-22", "H-41")
@pytest.mark.parametrize(("ms", "missed"), [(60_000, False), (100_000, False), (140_000, True)])
@pytest.mark.parametrize("fault", ["pause", "freeze"])
def test_what_comes_back_in_time_is_never_missed(fault, ms, missed):
    found = After(group(), lambda lab: getattr(lab, fault)("A", ms))
    assert (found.forgotten is not None) == missed
    assert (found.taken is not None) == missed


@pytest.mark.parametrize(("lost", "forgotten"), [(1, False), (3, False), (4, True), (8, True)])
def test_lost_beats_cost_the_place_when_the_last_one_heard_is_too_old(lost, forgotten):
    assert (After(group(), lambda lab: lose_exactly(lab, lost)).forgotten is not None) == forgotten


def lose_exactly(lab, times):
    lab.pause("P", 1)  # a fault to count from
    lose(lab, times)


CAUSES = {
    "nothing": (lambda lab: None, []),
    "C joins": (lambda lab: lab.consumer("C", group="G", subscribe={"T": "a", "U": "a"}), ["A", "B", "C"]),
    "a third topic": (lambda lab: lab.subscribe("A", "V", "a"), ["A", "B"]),
    "another tag": (lambda lab: lab.subscribe("A", "T", "b"), []),
    "a topic goes": (lambda lab: lab.clients["A"].unsubscribe("U"), []),
    "a goodbye": (lambda lab: lab.stop("A"), ["B"]),
    "a broken connection": (lambda lab: lab.cut("A"), ["B"]),
    "silence": (vanish, []),
}


def told(happen, seconds, **settings):
    lab = rmqlab.Lab(topics={"T": 4, "U": 4, "V": 4}, **settings)
    for who in "AB":
        lab.consumer(who, group="G", subscribe={"T": "a", "U": "a"})
        lab.run(seconds=22)
    before = len(lab.frames().where(request=NOTIFY))
    happen(lab)
    lab.run(seconds=seconds)
    return [one.target for one in lab.frames().where(request=NOTIFY)[before:]]


@pytest.mark.row("H-17", "H-29", "H-30", "H-35", "H-36", "H-43", "H-44", "H-45")
@pytest.mark.parametrize("cause", CAUSES)
def test_who_is_told_at_once(cause):
    happen, who = CAUSES[cause]
    assert sorted(set(told(happen, 1))) == who
    assert told(happen, 1, notifyConsumerIdsChangedEnable=False) == []


@pytest.mark.row("H-35", "H-38")
def test_members_that_disagree_about_topics_are_told_again_and_again():
    assert len(told(CAUSES["a third topic"][0], 200)) >= 2 + 8
    assert told(CAUSES["nothing"][0], 200) == []


@pytest.mark.row("H-02", "H-12", "H-13", "H-14", "H-15", "H-21", "H-50")
def test_quiet_minutes():
    lab = rmqlab.Lab(topics={"T": 4})
    lab.consumer("A", group="G", subscribe={"T": "TagA || TagB"})
    lab.run(seconds=240)
    beats = lab.frames().where(request="HEART_BEAT", response=None)
    assert {(one.source, one.target) for one in beats} == {("A", "127.0.0.1:10911"), ("P", "127.0.0.1:10911")}
    for who in "AP":
        times = [one.t for one in beats.where(source=who)]
        assert round(times[-1] - times[-2]) == RULE.heartbeat_period_ms
    packet = lab.clients["A"].instance.prepare_heartbeat_data()
    assert packet.client_id.endswith("@A")
    assert [one.group_name for one in packet.consumer_data_set] == ["G"]
    assert len(packet.producer_data_set) == 1
    producer = lab.producer.instance.prepare_heartbeat_data()
    assert (producer.consumer_data_set, len(producer.producer_data_set)) == ([], 2)


@pytest.mark.row("H-01", "H-03", "H-26", "H-34")
def test_the_way_of_a_heartbeat_when_a_member_joins():
    calls = []

    def noted(name):
        def rule(*given):
            calls.append(name)
            return getattr(RULE, name)(*given)

        return rule

    names = ("update_channel", "update_subscription", "is_notified", "is_expired")
    lab = rmqlab.Lab(topics={"T": 4}, rules=RULE.replace(**{name: noted(name) for name in names}))
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.run(seconds=5)
    calls.clear()
    before = len(lab.frames())
    lab.consumer("B", group="G", subscribe={"T": "*"})
    lab.run(ms=5)
    assert calls[:3] == list(names[:3])
    sent = [(one.source, one.request, one.target) for one in lab.frames()[before:] if not one.response]
    order = [
        next(n for n, one in enumerate(sent) if one[0] == who and one[1] == what)
        for who, what in (
            ("B", "HEART_BEAT"), ("127.0.0.1:10911", NOTIFY), ("A", "GET_CONSUMER_LIST_BY_GROUP"),
        )
    ]  # fmt: skip
    assert order == sorted(order)
    calls.clear()
    lab.run(seconds=11)
    assert "is_expired" in calls


@pytest.mark.row("H-49", "H-51")
def test_lag_falls_to_zero_though_most_is_lost_and_pulls_refresh_no_heartbeat():
    lab = rmqlab.Lab(topics={"T": 4})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=10)
    lab.consumer("B", group="G", subscribe={"T": "tagB"})
    lab.run(seconds=10)
    lab.send("T", (["tagA"] * 4 + ["tagB"] * 4) * 5)
    lab.run(seconds=60)
    assert sum(row.max - row.committed for row in lab.offsets()[-4:]) == 0
    assert sum(fate.lost for fate in lab.fates()) == 30
    pulls = [row.t for row in lab.pulls().where(who="A")]
    lab.lose_heartbeat("A", 8)
    lab.run(seconds=100)
    assert len(lab.pulls().where(who="A")) > len(pulls) + 10
    (member,) = (
        one for one in lab.broker.consumer_manager.consumer_table["G"].channel_info_table.values()
        if one.client_id.endswith("@A")
    )  # fmt: skip
    assert lab.broker.now - member.last_update_timestamp > 90_000
