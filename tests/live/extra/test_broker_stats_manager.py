"""Counters and their samples: what 4.8.0's threads would have seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rmqlab.protocol.bodies import BrokerStatsData
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab_tools.live.extra.admin_headers import ViewBrokerStatsDataRequestHeader
from rmqlab_tools.live.extra.broker_stats_manager import DAY, HOUR, MINUTE, BrokerStatsManager

START = 1_700_000_000_000


def java_minute(adds, started, now):
    """The samples of 4.8.0, one by one: a sample of an empty list also writes one of ten seconds before."""
    samples = []
    created = min(at for at, _ in adds)
    tick = started
    while tick <= now:
        if tick > created:
            if not samples:
                samples.append((tick - 10_000, 0))
            samples.append((tick, sum(value for at, value in adds if at < tick)))
            samples = samples[-7:]
        tick += 10_000
    if not samples:
        return 0, 0.0
    total = samples[-1][1] - samples[0][1]
    return total, total * 1000.0 / (samples[-1][0] - samples[0][0])


@given(
    st.lists(st.tuples(st.integers(1, 200_000), st.integers(1, 9)), min_size=1, max_size=12),
    st.integers(0, 300_000),
)
def test_a_counter_asked_now_and_then_is_as_if_sampled_all_the_time(adds, later):
    adds = sorted((START + at + (at % 10_000 == 0), value) for at, value in adds)
    manager = BrokerStatsManager("C", START)
    for at, value in adds:
        manager.add("GROUP_GET_NUMS", "T@G", value, at)
    now = adds[-1][0] + later
    snapshot = manager.item("GROUP_GET_NUMS", "T@G").snapshot(MINUTE, now)
    assert (snapshot.sum, snapshot.tps) == java_minute(adds, START, now)
    assert manager.tps_group_get_nums("G", "T", now) == snapshot.tps


def test_hours_and_days_have_samples_of_their_own():
    manager = BrokerStatsManager("C", START)
    manager.add("TOPIC_PUT_NUMS", "T", 6, START + 1, times=2)
    item = manager.item("TOPIC_PUT_NUMS", "T")
    assert item.snapshot(HOUR, START + 599_999).sum == 0
    assert item.snapshot(HOUR, START + 600_000) == (6, 0.01, 3.0)
    assert item.snapshot(DAY, START + 600_000).sum == 0
    assert item.snapshot(DAY, START + 3_600_000).sum == 6
    assert item.snapshot(HOUR, START + 2 * 3_600_000).sum == 0


def stats(bench, name, key):
    header = ViewBrokerStatsDataRequestHeader(stats_name=name, stats_key=key)
    return bench.ask(bench.channel(), RequestCode.VIEW_BROKER_STATS_DATA, header)


def test_sends_pulls_and_messages_sent_back_are_counted(bench):
    bench.topic("T", queues=1)
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "*"})
    bench.send("T", b"one")
    bench.send("T", b"three")
    bench.pull(channel, "G", "T", version=bench.now)
    bench.pull(channel, "G", "T", offset=2, version=bench.now)
    bench.pass_time(10_000)
    for name, key, total, avgpt in (
        ("TOPIC_PUT_NUMS", "T", 2, 1.0),
        ("GROUP_GET_NUMS", "T@G", 2, 2.0),
        ("BROKER_PUT_NUMS", "DefaultCluster", 2, 0.0),
        ("BROKER_GET_NUMS", "DefaultCluster", 2, 0.0),
        ("GROUP_GET_LATENCY", "0@T@G", 0, 0.0),
    ):
        minute = BrokerStatsData.decode(stats(bench, name, key).body).stats_minute
        assert (minute.sum, minute.avgpt) == (total, avgpt), name
    size = BrokerStatsData.decode(stats(bench, "TOPIC_PUT_SIZE", "T").body).stats_minute.sum
    assert size == bench.store.max_phy_offset


def test_a_counter_nobody_added_to_does_not_exist(bench):
    answer = stats(bench, "TOPIC_PUT_NUMS", "NONE")
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "The stats <TOPIC_PUT_NUMS> <NONE> not exist")
    assert stats(bench, "NO_SUCH_STATS", "NONE").code == ResponseCode.SYSTEM_ERROR


def test_deleted_topics_and_groups_are_forgotten_when_told_to():
    manager = BrokerStatsManager("C", START)
    manager.put("T", 1, 100, START)
    manager.get("G", "T", 0, 1, 100, START)
    manager.get("G", "TT", 0, 1, 100, START)
    manager.on_topic_deleted("T")
    assert manager.item("TOPIC_PUT_NUMS", "T") is None
    assert manager.item("GROUP_GET_NUMS", "T@G") is None
    assert manager.item("GROUP_GET_LATENCY", "0@T@G") is None
    assert manager.item("GROUP_GET_NUMS", "TT@G") is not None
    manager.on_group_deleted("G")
    assert manager.item("GROUP_GET_NUMS", "TT@G") is None
