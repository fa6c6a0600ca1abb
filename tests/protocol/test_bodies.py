from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.message.topics import MessageQueue, message_queue_order
from rmqlab.protocol import fastjson, serializable
from rmqlab.protocol.bodies import (
    ConsumerOffsetSerializeWrapper,
    LockBatchRequestBody,
    LockBatchResponseBody,
    ResetOffsetBody,
)
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.namesrv import BrokerData, QueueData, TopicRouteData
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.protocol.topic_config import (
    DataVersion,
    RegisterBrokerBody,
    SubscriptionGroupConfig,
    TopicConfig,
    TopicConfigSerializeWrapper,
    is_inherited,
    is_readable,
    is_writeable,
    perm2string,
)

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=10)
NAME = st.text("abcXYZ019_-%", min_size=1, max_size=10)
LONG = st.integers(-(2**63), 2**63 - 1)
VALUES = st.recursive(
    st.none() | st.booleans() | LONG | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)
QUEUES = st.builds(MessageQueue, NAME, NAME, st.integers(0, 2**31 - 1))
SMALL = st.integers(0, 1024)
TOPICS = st.builds(TopicConfig, NAME, SMALL, SMALL, st.integers(0, 7), st.sampled_from(["SINGLE_TAG", "MULTI_TAG"]))
WRAPPERS = st.builds(
    TopicConfigSerializeWrapper,
    st.lists(TOPICS, max_size=5).map(lambda configs: {config.topic_name: config for config in configs}),
    st.builds(DataVersion, LONG, LONG),
)


@given(VALUES)
def test_written_json_is_read_back(value):
    assert fastjson.read(fastjson.write(value)) == value


@given(st.dictionaries(QUEUES, LONG, max_size=20))
def test_queues_as_keys_are_objects_without_quotes(table):
    body = ResetOffsetBody(table)
    assert ResetOffsetBody.decode(body.encode()) == body


def test_numbers_as_keys_have_no_quotes():
    route = TopicRouteData(None, [QueueData("b", 4, 4, 6)], [BrokerData("c", "b", {0: "1.2.3.4:1"})])
    assert b'"brokerAddrs":{0:"1.2.3.4:1"}' in route.encode()
    assert TopicRouteData.decode(route.encode()) == route
    assert TopicRouteData.decode(route.encode().replace(b"{0:", b'{"0":')) == route


def test_brokers_are_equal_by_name_and_addresses():
    assert BrokerData("c", "b", {0: "x"}) == BrokerData("d", "b", {0: "x"})
    assert BrokerData("c", "b", {0: "x"}) != BrokerData("c", "b", {1: "x"})
    assert min([QueueData("b"), QueueData("a")]).broker_name == "a"


def test_sets_of_queues_come_in_hash_set_order():
    # as a 4.8.0 broker listed them in an answer to GET_TOPIC_STATS_INFO
    queues = [MessageQueue("T_x-admin-000", "broker-a", number) for number in range(4)]
    assert [queue.queue_id for queue in message_queue_order(queues)] == [2, 1, 0, 3]
    body = LockBatchResponseBody(queues)
    assert LockBatchResponseBody.decode(body.encode()) == body


@given(WRAPPERS, st.lists(TEXT, max_size=3))
def test_registrations(wrapper, filter_servers):
    body = RegisterBrokerBody(wrapper, filter_servers)
    assert RegisterBrokerBody.decode(body.encode()) == body


def test_permissions():
    assert [perm2string(perm) for perm in (0, 1, 2, 4, 6, 7)] == ["---", "--X", "-W-", "R--", "RW-", "RWX"]
    assert (is_readable(2), is_writeable(2), is_inherited(2)) == (False, True, False)


def test_a_group_that_says_little_gets_the_defaults():
    group = SubscriptionGroupConfig.decode(b'{"groupName":"G","consumeEnable":"false","retryQueueNums":"2"}')
    assert group == SubscriptionGroupConfig("G", consume_enable=False, retry_queue_nums=2)
    assert (group.retry_max_times, group.which_broker_when_consume_slowly) == (16, 1)


def test_structures_sets_and_maps_as_fastjson_writes_them():
    queue = MessageQueue("T\u2028", "broker-a", 3)
    bodies = [
        TopicRouteData(
            queue_datas=[QueueData("broker-a", 4, 4, 6, 0)],
            broker_datas=[BrokerData("DefaultCluster", "broker-a", {0: "127.0.0.1:10911"})],
        ),
        LockBatchRequestBody(consumer_group=None, client_id='"x"', mq_set=[queue]),
        HeartbeatData(
            client_id="c",
            consumer_data_set=[
                ConsumerData(
                    group_name="G",
                    consume_type=ConsumeType.CONSUME_PASSIVELY,
                    message_model=MessageModel.CLUSTERING,
                    consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
                    subscription_data_set=[
                        SubscriptionData("T", "a||b", tags_set={"a", "b", "Aa", "BB"}, code_set={97, 98, 2112})
                    ],
                )
            ],
        ),
    ]
    for body in bodies:
        assert type(body).decode(body.encode()) == body
    held = b'{"brokerName":"broker-a","queueId":3,"topic":"T\\u2028"}'
    assert bodies[1].encode() == b'{"clientId":"\\"x\\"","mqSet":[%s]}' % held
    assert b'"codeSet":[2112,97,98],' in bodies[2].encode()
    assert b'"tagsSet":["Aa","BB","a","b"],' in bodies[2].encode()
    assert fastjson.text(serializable.to_json({queue: {1: None, 2: queue}})).encode() == b"{%s:{2:%s}}" % (held, held)


@pytest.mark.parametrize(
    "body",
    [b"\xff" * (2 << 20), b"{" + b",".join(b"'%d':1" % number for number in range(200_000)) + b"}", b"[" * (2 << 20)],
)
def test_long_bodies_that_are_no_plain_json_are_refused_at_once(body):
    """No client writes such a body, and none keeps a broker busy."""
    with pytest.raises(FrameError, match="JSONException"):
        RemotingCommand(content=body).decode_body(HeartbeatData)


def test_long_plain_bodies_are_read():
    long = HeartbeatData(client_id="x" * (2 << 20))
    assert RemotingCommand(content=long.encode()).decode_body(HeartbeatData) == long


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{"offsetTable":{{"brokerName":"b","queueId":0}:{"a":1},{"queueId":1}:2},"x":[{}]}',
            {"offsetTable": {(("brokerName", "b"), ("queueId", 0)): {"a": 1}, (("queueId", 1),): 2}, "x": [{}]},
        ),
        (
            '{"t":{0:5,-1:6},"u":{"1:2":3,"{0:1}":"{,7:8"}}',
            {"t": {0: 5, -1: 6}, "u": {"1:2": 3, "{0:1}": "{,7:8"}},
        ),
        (
            r'{"t":{{"a\"}:":"},1:2"}:3,"b":{5:"{6:7"}}}',
            {"t": {(('a"}:', "},1:2"),): 3, "b": {5: "{6:7"}}},
        ),
    ],
)
def test_numbers_and_objects_as_names_are_read(text, value):
    assert fastjson.read(text.encode()) == value


def test_a_long_table_with_odd_names_is_read():
    table = {f"T@G{number}": {0: number} for number in range(200)}
    assert fastjson.read(fastjson.write(table)) == table


@pytest.mark.parametrize(
    ("number", "as_int", "as_long"),
    [
        ("2147483647", 2147483647, 2147483647),
        ("2147483648", None, 2147483648),
        ("-2147483648", -2147483648, -2147483648),
        ("-2147483649", None, -2147483649),
        ("4294967297", None, 4294967297),
        ('"4294967297"', None, 4294967297),
        ("4294967297.5", 1, 4294967297),
        ("1e10", 1410065408, 10000000000),
        ("9223372036854775808", None, None),
    ],
)
def test_numbers_are_read_in_the_bits_of_their_field(number, as_int, as_long):
    """As the jar of 4.8.0 has answered: an `int` of Java refuses what it cannot hold, but cuts what has a fraction."""
    ints = (
        (f'{{"perm":{number}}}', TopicConfig, "perm"),
        (f'{{"retryMaxTimes":{number}}}', SubscriptionGroupConfig, "retry_max_times"),
    )
    longs = ((f'{{"brokerId":{number}}}', SubscriptionGroupConfig, "broker_id"),)
    for value, cases in ((as_int, ints), (as_long, longs)):
        for text, kind, name in cases:
            if value is None:
                with pytest.raises(FrameError, match="is not a number of"):
                    kind.decode(text.encode())
            else:
                assert getattr(kind.decode(text.encode()), name) == value


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ('{"offsetTable":{"T@g":{2147483647:5}}}', {"T@g": {2147483647: 5}}),
        ('{"offsetTable":{"T@g":{2147483648:5}}}', None),
        ('{"offsetTable":{"T@g":{"4294967297":5}}}', None),
        ('{"offsetTable":{"T@g":{1:4294967297}}}', {"T@g": {1: 4294967297}}),
    ],
)
def test_queues_are_numbers_of_32_bits_and_offsets_of_64(text, table):
    if table is None:
        with pytest.raises(FrameError, match="32 bits"):
            ConsumerOffsetSerializeWrapper.decode(text.encode())
    else:
        assert ConsumerOffsetSerializeWrapper.decode(text.encode()).offset_table == table


def test_brokers_have_numbers_of_64_bits():
    assert BrokerData.decode(b'{"brokerAddrs":{4294967297:"x"}}').broker_addrs == {4294967297: "x"}


def test_a_version_counts_as_a_long_of_java():
    version = DataVersion(0, 2**63 - 1)
    version.next_version(1)
    assert version.counter == -(2**63)
    assert DataVersion.decode(version.encode()) == version
