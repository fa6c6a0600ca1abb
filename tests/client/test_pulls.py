from __future__ import annotations

import zlib

import pytest

from rmqlab.client.client_error import MQClientError
from rmqlab.client.mq_client_api import PullResult, PullStatus
from rmqlab.message.message import Host, MessageExt
from rmqlab.message.properties import PROPERTY_TRANSACTION_PREPARED, PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from rmqlab.message.record import encode_record
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import FLAG_CLASS_FILTER, FLAG_SUSPEND, PullMessageRequestHeader
from rmqlab.protocol.namesrv import BrokerData, TopicRouteData
from rmqlab.protocol.subscription_data import SubscriptionData, build_subscription, build_subscription_data
from tests.proof.clients.filter_class import subscribe_class

QUEUE = MessageQueue("T", "broker-a", 1)


def record(tag, offset=0, **properties):
    if tag is not None:
        properties["TAGS"] = tag
    host = Host("10.0.1.1", 10911)
    message = MessageExt("T", b"body", properties=properties, queue_id=1, queue_offset=offset)
    message.born_host = message.store_host = host
    return encode_record(message)


def found(*records, node=0):
    return PullResult(PullStatus.FOUND, 9, 3, 11, node, b"".join(records))


@pytest.fixture
def puller(world):
    consumer = world.consumer("A")
    consumer.instance.broker_addr_table["broker-a"] = {0: "master:1", 1: "slave:1"}
    return consumer


def processed(puller, result, subscription):
    puller.process_pull_result(QUEUE, result, subscription)
    return result.msg_found_list


def kept(puller, subscription, *tags):
    result = found(*(record(tag, i) for i, tag in enumerate(tags)))
    return [m.tags for m in processed(puller, result, subscription)]


@pytest.mark.row("F-95", "S-82")
def test_the_second_check_keeps_only_the_own_tags(puller, world):
    own = build_subscription_data("G", "T", "tagA", now=77)
    assert kept(puller, own, "tagA", "tagB", None, "Tag") == ["tagA"]
    _, kind, fields = world.facts[0]
    assert (kind, fields["who"], fields["tag"], fields["offset"], fields["version"]) == (
        "client_filtered", "10.0.0.1@A", "tagB", 1, 77,
    )  # fmt: skip


@pytest.mark.row("F-95")
def test_the_second_check_knows_a_tag_from_one_with_the_same_hash(puller):
    assert kept(puller, build_subscription_data("G", "T", "Aa"), "Aa", "BB") == ["Aa"]


@pytest.mark.row("F-95")
@pytest.mark.parametrize("expression", ["*", "SQL92", "class"])
def test_without_tags_of_its_own_everything_is_kept(puller, expression):
    subscription = build_subscription_data("G", "T", "*" if expression == "*" else "tagA")
    if expression == "SQL92":
        subscription = build_subscription("T", "TAGS = 'tagA'", "SQL92")
    subscription.class_filter_mode = expression == "class"
    assert kept(puller, subscription, "tagA", "tagB", None) == ["tagA", "tagB", None]


@pytest.mark.row("F-94")
@pytest.mark.parametrize("status", [s for s in PullStatus if s is not PullStatus.FOUND])
def test_only_what_was_found_is_decoded(puller, status):
    result = PullResult(status, 9, 3, 11, 0, record("tagA"))
    subscription = build_subscription_data("G", "T", "*")
    assert processed(puller, result, subscription) == []


@pytest.mark.row("F-96", "S-26")
def test_fields_the_client_adds(puller):
    half = {PROPERTY_TRANSACTION_PREPARED: "TRUE", PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX: "ID"}
    result = found(record("tagA"), record("tagA", 1, **half))
    plain, prepared = processed(puller, result, build_subscription_data("G", "T", "tagA"))
    assert (plain.properties["MIN_OFFSET"], plain.properties["MAX_OFFSET"]) == ("3", "11")
    assert plain.broker_name == "broker-a"
    assert (plain.transaction_id, prepared.transaction_id) == (None, "ID")


def prepare(world, puller, queue=QUEUE, expression_type="TAG", sys_flag=3):
    own = SubscriptionData("T", expression_type=expression_type)
    header = PullMessageRequestHeader("G", "T", queue.queue_id, 7, 32, sys_flag, 4, 15_000, None, 5, expression_type)
    return world.do(puller.find_pull_address(queue, own, header)), header


@pytest.mark.row("F-93")
@pytest.mark.parametrize("status", list(PullStatus))
def test_the_suggested_broker_is_remembered_whatever_the_status(world, puller, status):
    assert prepare(world, puller)[0] == "master:1"
    result = PullResult(status, 9, 3, 11, 1, b"")
    puller.process_pull_result(QUEUE, result, build_subscription_data("G", "T", "*"))
    addr, header = prepare(world, puller)
    assert addr == "slave:1"
    assert header.sys_flag == FLAG_SUSPEND  # a slave is not asked to commit
    assert prepare(world, puller, MessageQueue("T", "broker-a", 2))[0] == "master:1"


@pytest.mark.row("F-100")
@pytest.mark.parametrize(("version", "works"), [(0, False), (231, False), (232, True), (373, True)])
def test_an_old_broker_is_not_asked_to_filter_by_sql(world, puller, version, works):
    puller.instance.broker_version_table["broker-a"] = {"master:1": version}
    assert prepare(world, puller)[0] == "master:1"
    if works:
        assert prepare(world, puller, expression_type="SQL92")[0] == "master:1"
        return
    with pytest.raises(MQClientError) as error:
        prepare(world, puller, expression_type="SQL92")
    assert error.value.error_message == (
        f"The broker[broker-a, {version}] does not upgrade to support for filter message by SQL92"
    )


def test_no_broker_no_pull(world, puller):
    with pytest.raises(MQClientError) as error:
        prepare(world, puller, MessageQueue("T", "broker-z", 0))
    assert error.value.error_message == "The broker[broker-z] not exist"


@pytest.mark.row("F-99")
def test_a_class_filter_pulls_from_a_filter_server_of_the_broker(world, puller):
    flag = 2 | FLAG_CLASS_FILTER
    route = TopicRouteData(broker_datas=[BrokerData("c", "broker-a", {0: "master:1"})])
    puller.instance.topic_route_table["T"] = route
    with pytest.raises(MQClientError) as error:
        prepare(world, puller, sys_flag=flag)
    assert error.value.error_message == "Find Filter Server Failed, Broker Addr: master:1 topic: T"
    route.filter_server_table["master:1"] = ["fs:1", "fs:2"]
    assert prepare(world, puller, sys_flag=flag)[0] == "fs:1"
    assert world.time.chooser.made[-1].n == 2


@pytest.mark.row("F-99")
def test_the_source_of_a_filter_class_follows_each_heartbeat(world):
    received = []

    class FilterServer:
        def handle(self, channel, command, now):
            received.append((command.code, command.header.to_ext_fields(), command.body))
            from rmqlab.protocol.command import RemotingCommand

            return RemotingCommand.response(0).reply_to(command)

        def on_channel_close(self, channel, now):
            pass

        def next_timer(self):
            return None

        def run_timers(self, now):
            pass

    world.time.serve("10.0.1.1:5000", FilterServer())
    world.topic("T")
    consumer = world.consumer("A")
    world.do(subscribe_class(consumer, "T", "org.Filter", "class Filter {}"))
    world.do(consumer.start())
    assert received == []
    consumer.instance.topic_route_table["T"] = TopicRouteData(
        broker_datas=[BrokerData("c", "broker-a", {0: "10.0.1.1:10911"})],
        filter_server_table={"10.0.1.1:10911": ["10.0.1.1:5000"]},
    )
    world.run(1_100)
    assert RequestCode.REGISTER_MESSAGE_FILTER_CLASS == 302
    ((_, fields, body),) = [upload for upload in received if upload[0] == 302]
    assert fields == {
        "consumerGroup": "G",
        "topic": "T",
        "className": "org.Filter",
        "classCRC": str(zlib.crc32(body) & 0x7FFFFFFF),
    }
    assert body == b"class Filter {}"
