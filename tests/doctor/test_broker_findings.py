"""Findings of the cluster: settings, clocks, servers that did not answer."""

from __future__ import annotations

import pytest

from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import State
from rmqlab_tools.doctor.snapshot import ClusterSnapshot, Unanswered
from tests.doctor.conftest import NOW, M, look

USUAL = {
    "brokerPermission": "6", "enablePropertyFilter": "true", "enableCalcFilterBitMap": "false",
    "enableConsumeQueueExt": "false", "maxErrorRateOfBloomFilter": "20", "expectConsumerNumUseFilter": "32",
    "bitMapLengthConsumeQueueExt": "112", "notifyConsumerIdsChangedEnable": "true", "filterSupportRetry": "false",
}  # fmt: skip


def cluster(wish="SQL92:a > 3", **settings):
    found = diagnose(look([M("A", {"T": wish})], settings={**USUAL, **settings}))
    return {one.kind: one for one in found.cluster}


@pytest.mark.row("F-09", "F-46", "F-49", "F-66", "F-76", "F-92", "H-35", "S-58")
@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, set()),
        ({"brokerPermission": "2"}, {"not_readable"}),
        ({"enableCalcFilterBitMap": "true"}, {"bitmap_not_stored"}),
        ({"enableConsumeQueueExt": "true"}, {"bitmap_never_made"}),
        ({"enableCalcFilterBitMap": "true", "enableConsumeQueueExt": "true"}, set()),
        (
            {"enableCalcFilterBitMap": "true", "enableConsumeQueueExt": "true", "enablePropertyFilter": "false"},
            {"bitmap_without_filter"},
        ),
        ({"maxErrorRateOfBloomFilter": "100"}, {"bloom_refused"}),
        ({"expectConsumerNumUseFilter": "0"}, {"bloom_refused"}),
        (
            {"enableCalcFilterBitMap": "true", "enableConsumeQueueExt": "true", "expectConsumerNumUseFilter": "64"},
            {"bloom_not_yet"},
        ),
        ({"filterSupportRetry": "true"}, {"retry_filtered"}),
        ({"notifyConsumerIdsChangedEnable": "false"}, {"notify_off"}),
    ],
)
def test_settings(settings, kinds):
    assert set(cluster(**settings)) == kinds


@pytest.mark.row("F-76")
def test_more_sql92_groups_than_expected():
    seen = look([M("A", {"T": "SQL92:a > 3"})])
    on = {"enableCalcFilterBitMap": "true", "enableConsumeQueueExt": "true", "expectConsumerNumUseFilter": "1"}
    seen.brokers["broker-a"].settings.update({**USUAL, **on, "bitMapLengthConsumeQueueExt": "8"})
    assert "bloom_crowded" not in {one.kind for one in diagnose(seen).cluster}
    seen.groups["G2"] = look([M("B", {"T": "SQL92:a > 4"})], group="G2").groups["G2"]
    assert "bloom_crowded" in {one.kind for one in diagnose(seen).cluster}


def test_retries_of_tag_groups_are_no_matter():
    assert cluster("tagA", filterSupportRetry="true") == {}


def test_a_server_that_did_not_answer_is_named_and_leaves_it_unknown():
    seen = look([M("A")])
    seen.unanswered += [Unanswered("10.0.0.9:10911", 203, "G", "no answer in 3000 ms")] * 2
    seen.unanswered.append(Unanswered("10.0.0.9:10911", 307, "G", "a member's own"))
    found = diagnose(seen)
    (one,) = found.cluster
    assert (one.kind, one.state, found.status) == ("unanswered", State.UNKNOWN, 4)
    assert one.says == "10.0.0.9:10911: no answer to 203 (2 times): no answer in 3000 ms"


@pytest.mark.row("H-24")
def test_clients_of_another_version_than_the_brokers():
    found = diagnose(look([M("A", runs="V4_9_4"), M("B", runs="V4_9_4")]))
    assert [(one.kind, one.state, one.says) for one in found.cluster] == [
        ("client_versions", State.NOTE, "brokers run V4_8_0, clients 2 V4_9_4")
    ]


def test_a_broker_that_the_name_server_forgot():
    empty = ClusterSnapshot("127.0.0.1:9876", NOW)
    found = diagnose(empty, look([M("A")]))
    assert ([one.kind for one in found.cluster], found.status) == (["no_broker"], 4)
    assert "no longer lists broker-a" in found.cluster[0].says
    assert diagnose(empty).status == 4
