"""What the broker says in its refusals is what the decoder looks for: the important ones are provoked here."""

from __future__ import annotations

import pytest

from rmqlab.filter.bloom import BloomFilter, BloomFilterError
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import GetConsumerListByGroupRequestHeader
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.topic_config import SubscriptionGroupConfig
from rmqlab_tools.doctor.decoder import coded, decode


def pulled(bench, group="G", topic="T", **fields):
    return bench.pull(bench.channel(), group, topic, **fields)


def with_topic(bench, **fields):
    bench.topic("T", **fields)
    return bench


def broadcasting(bench):
    with_topic(bench)
    bench.subscribe(bench.channel(), "G", {"T": "*"}, model=MessageModel.BROADCASTING)
    bench.broker.subscription_group_manager.subscription_group_table["G"].consume_broadcast_enable = False
    return pulled(bench)


def disabled(bench):
    config = SubscriptionGroupConfig("G", consume_enable=False)
    bench.broker.subscription_group_manager.update_subscription_group_config(config)
    return pulled(bench)


def subscribed(bench, topics, kind=None, version=7):
    for topic in ("T", "U"):
        bench.topic(topic)
    bench.subscribe(bench.channel(), "G", topics, version=version, kind=kind)
    return bench


def older_filter(bench):
    subscribed(bench, {"T": "a = 1"}, "SQL92")
    bench.broker.consumer_filter_manager.get("T", "G").client_version = 6
    return pulled(bench, version=7, kind="SQL92")


SQL = {"enable_property_filter": True}
PROVOKED = {
    "remark-pull-forbidden": ({"broker_permission": 2}, pulled),
    "remark-group-not-exist": ({"auto_create_subscription_group": False}, pulled),
    "remark-group-no-permission": ({}, disabled),
    "remark-topic-not-exist": ({}, pulled),
    "remark-topic-pull-forbidden": ({}, lambda bench: pulled(with_topic(bench, perm=2))),
    "remark-queue-id-illegal": ({}, lambda bench: pulled(with_topic(bench), queue=99)),
    "remark-parse-failed": ({}, lambda bench: pulled(with_topic(bench), own="||")),
    "remark-group-info-not-exist": ({}, lambda bench: pulled(with_topic(bench))),
    "remark-broadcast-forbidden": ({}, broadcasting),
    "remark-subscription-not-exist": ({}, lambda bench: pulled(subscribed(bench, {"U": "*"}))),
    "remark-subscription-not-latest": ({}, lambda bench: pulled(subscribed(bench, {"T": "*"}), version=8)),
    "remark-sql92-not-supported": ({}, lambda bench: pulled(with_topic(bench), own="a = 1", kind="SQL92")),
    "remark-filter-data-not-exist": (
        SQL,
        lambda bench: pulled(subscribed(bench, {"T": "a > 'x'"}, "SQL92"), version=7),
    ),
    "remark-filter-data-not-latest": (SQL, older_filter),
}
CODE_OF = {
    "remark-group-not-exist": 26,
    "remark-topic-not-exist": 17,
    "remark-parse-failed": 23,
    "remark-group-info-not-exist": 24,
    "remark-subscription-not-exist": 24,
    "remark-subscription-not-latest": 25,
    "remark-filter-data-not-exist": 27,
    "remark-filter-data-not-latest": 28,
    "remark-sql92-not-supported": 1,
    "remark-queue-id-illegal": 1,
}


@pytest.mark.parametrize("entry", PROVOKED)
def test_a_refusal_is_found_with_its_code(make_bench, entry):
    config, provoke = PROVOKED[entry]
    answer = provoke(make_bench(config=config))
    found, _ = decode(answer.remark)
    assert found.id == entry
    assert answer.code == CODE_OF.get(entry, 16)
    (code,) = coded(str(answer.code), "response")
    assert code.id in found.see


def test_no_member_of_a_group(bench):
    header = GetConsumerListByGroupRequestHeader("nobody")
    answer = bench.ask(bench.channel(), RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
    found, values = decode(answer.remark)
    assert (found.id, values) == ("remark-no-consumer-for-group", {"group": "nobody"})


@pytest.mark.parametrize(("entry", "f", "n"), [("exception-bloom-rate", 0, 32), ("exception-bloom-number", 20, 0)])
def test_settings_that_a_bloom_filter_refuses(entry, f, n):
    with pytest.raises(BloomFilterError) as error:
        BloomFilter.create_by_fn(f, n)
    assert decode(str(error.value))[0].id == entry
