from __future__ import annotations

import zlib
from copy import copy
from random import Random

import pytest

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.namesrv.name_server import NameServer
from rmqlab.namesrv.route_info_manager import RouteInfoManager
from rmqlab.protocol import namesrv as headers
from rmqlab.protocol.bodies import KVTable
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import ONEWAY, RemotingCommand
from rmqlab.protocol.namesrv import BrokerData, ClusterInfo, QueueData, TopicList, TopicRouteData
from rmqlab.protocol.topic_config import (
    BrokerRegistration,
    DataVersion,
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigSerializeWrapper,
)
from rmqlab.rules import RULES
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore


class Connection:
    def __init__(self, remote_address: str) -> None:
        self.remote_address = remote_address
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def channel():
    return Connection("127.0.0.1:40000")


def ask(server, channel, code, header=None, body=None, now=0, version=373):
    request = RemotingCommand.request(code, header, body)
    request.opaque, request.version = 7, version
    answer = server.handle(channel, request, now)
    assert answer.opaque == 7
    assert answer.is_response
    return answer


def register(
    server, channel, name="broker-a", broker_id=0, topics=(), version=(1, 0), now=0, filter_servers=(), **more
):
    wrapper = TopicConfigSerializeWrapper({config.topic_name: config for config in topics}, DataVersion(*version))
    registration = RegisterBrokerBody(wrapper, list(filter_servers))
    body = registration.encode()
    header = headers.RegisterBrokerRequestHeader(
        name, f"{name}-{broker_id}:10911", more.get("cluster", "C"), f"{name}-{broker_id}:10912", broker_id,
        body_crc32=more.get("crc", 0),
    )  # fmt: skip
    return ask(server, channel, RequestCode.REGISTER_BROKER, header, body, now)


def route(server, channel, topic="T", now=0):
    answer = ask(server, channel, RequestCode.GET_ROUTEINFO_BY_TOPIC, headers.GetRouteInfoRequestHeader(topic), now=now)
    return None if answer.code == ResponseCode.TOPIC_NOT_EXIST else TopicRouteData.decode(answer.body)


def topics(server, channel, code=RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, header=None):
    return TopicList.decode(ask(server, channel, code, header).body).topic_list


T4 = TopicConfig("T", 4, 4, 6)


def test_a_registered_topic_has_a_route(channel):
    server = NameServer(0)
    answer = register(server, channel, topics=[T4])
    assert (answer.code, answer.body, answer.all_ext_fields()) == (0, None, {})
    assert route(server, channel) == TopicRouteData(
        None, [QueueData("broker-a", 4, 4, 6)], [BrokerData("C", "broker-a", {0: "broker-a-0:10911"})]
    )


def test_an_unknown_topic_has_none(channel):
    header = headers.GetRouteInfoRequestHeader("T")
    answer = ask(NameServer(0), channel, RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
    assert (answer.code, answer.body) == (ResponseCode.TOPIC_NOT_EXIST, None)
    assert answer.remark == (
        "No topic route info in name server for the topic: T\n"
        "See http://rocketmq.apache.org/docs/faq/ for further details."
    )


def test_topics_are_looked_at_only_under_a_new_data_version(channel):
    server = NameServer(0)
    register(server, channel, topics=[T4], version=(1, 0))
    register(server, channel, topics=[TopicConfig("T", 8, 8, 6)], version=(1, 0))
    assert route(server, channel).queue_datas[0].read_queue_nums == 4
    register(server, channel, topics=[TopicConfig("T", 8, 8, 6)], version=(1, 1))
    assert route(server, channel).queue_datas[0].read_queue_nums == 8
    register(server, channel, topics=[], version=(2, 0))
    assert route(server, channel) is not None  # a topic that a broker lost stays


def test_brokers_of_a_topic(channel):
    server = NameServer(0)
    for name in ("broker-b", "broker-a"):
        register(server, channel, name, topics=[T4])
    assert [data.broker_name for data in route(server, channel).queue_datas] == ["broker-b", "broker-a"]
    assert [data.broker_name for data in route(server, channel).broker_datas] == ["broker-b", "broker-a"]
    answer = ask(server, channel, RequestCode.GET_BROKER_CLUSTER_INFO)
    assert ClusterInfo.decode(answer.body).cluster_addr_table == {"C": ["broker-b", "broker-a"]}


def test_a_slave_learns_who_its_master_is_and_brings_no_topics(channel):
    server = NameServer(0)
    slave = Connection("slave")
    assert register(server, slave, broker_id=1, topics=[T4]).all_ext_fields() == {}
    assert route(server, channel) is None
    register(server, channel, broker_id=0, topics=[T4])
    answer = register(server, slave, broker_id=1, topics=[T4])
    assert answer.all_ext_fields() == {"haServerAddr": "broker-a-0:10912", "masterAddr": "broker-a-0:10911"}
    assert route(server, channel).broker_datas[0].broker_addrs == {1: "broker-a-1:10911", 0: "broker-a-0:10911"}


def test_a_slave_that_becomes_master_keeps_one_id(channel):
    server = NameServer(0)
    routes = server.route_info_manager
    for broker_id in (1, 0):
        sent = BrokerRegistration("C", "x:1", "b", broker_id, None, {"T": T4}, DataVersion(1, 0), None)
        routes.register_broker(sent, channel, 0)
    assert routes.broker_addr_table["b"].broker_addrs == {0: "x:1"}


def test_filter_servers_come_with_the_route(channel):
    server = NameServer(0)
    register(server, channel, topics=[T4], filter_servers=["f:1"])
    assert route(server, channel).filter_server_table == {"broker-a-0:10911": ["f:1"]}
    register(server, channel, topics=[T4])
    assert route(server, channel).filter_server_table == {}


def test_the_checksum_of_a_registration(channel):
    server = NameServer(0)
    assert register(server, channel, topics=[T4], crc=1).remark == "crc32 not match"
    assert route(server, channel) is None
    body = RegisterBrokerBody(TopicConfigSerializeWrapper({"T": T4}, DataVersion(1, 0))).encode()
    assert register(server, channel, topics=[T4], crc=zlib.crc32(body) & 0x7FFFFFFF).code == ResponseCode.SUCCESS


@pytest.mark.parametrize(
    ("header", "body", "words"),
    [
        (headers.RegisterBrokerRequestHeader("b", "b:1", "C"), None, "brokerId is missing"),
        (
            headers.RegisterBrokerRequestHeader("b", "b:1", "C", broker_id=0),
            b"x",
            "Failed to decode RegisterBrokerBody",
        ),
    ],
)
def test_a_bad_registration_is_answered_with_a_system_error(channel, header, body, words):
    server = NameServer(0)
    answer = ask(server, channel, RequestCode.REGISTER_BROKER, header, body)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert words in answer.remark
    assert server.route_info_manager.broker_addr_table == {}


def test_a_registration_without_body_has_no_topics(channel):
    server = NameServer(0)
    header = headers.RegisterBrokerRequestHeader("b", "b:1", "C", broker_id=0)
    assert ask(server, channel, RequestCode.REGISTER_BROKER, header).code == ResponseCode.SUCCESS
    assert server.route_info_manager.broker_live_table["b:1"].data_version == DataVersion(0, 0)


def test_unregistering_takes_topics_and_cluster_along(channel):
    server = NameServer(0)
    register(server, channel, topics=[T4])
    header = headers.UnRegisterBrokerRequestHeader("broker-a", "broker-a-0:10911", "C", 0)
    assert ask(server, channel, RequestCode.UNREGISTER_BROKER, header).code == ResponseCode.SUCCESS
    assert route(server, channel) is None
    assert server.route_info_manager.cluster_addr_table == {}


def test_a_silent_broker_is_forgotten_after_120_s_at_the_next_scan(channel):
    server = NameServer(1_000)
    register(server, channel, topics=[T4], now=6_001)
    assert server.next_timer() == 6_000
    server.run_timers(126_000)  # scans at 6, 16, ... 126 s; 119 999 ms of silence
    assert route(server, channel) is not None
    assert not channel.closed
    assert server.next_timer() == 136_000
    server.run_timers(136_000)
    assert channel.closed
    assert route(server, channel) is None


def test_a_scan_that_comes_late_runs_with_the_time_at_which_it_comes(channel):
    """What `scanNotActiveBroker` compares with is the clock's time, whenever the scan was due."""
    server = NameServer(0)
    register(server, channel, topics=[T4], now=10)
    server.run_timers(120_011)  # the last scan was due at 115 s
    assert channel.closed
    assert route(server, channel) is None
    assert server.next_timer() == 125_000


def test_a_broker_whose_connection_closes_is_forgotten_at_once(channel):
    server = NameServer(0)
    register(server, channel, "broker-a", topics=[T4])
    other = Connection("other")
    register(server, other, "broker-b", topics=[T4])
    server.on_channel_close(Connection("somebody else"), 1)
    server.on_channel_close(channel, 1)
    assert [data.broker_name for data in route(server, channel).queue_datas] == ["broker-b"]
    assert ClusterInfo.decode(ask(server, other, 106).body).cluster_addr_table == {"C": ["broker-b"]}


def test_wiping_the_write_permission(channel):
    server = NameServer(0)
    register(server, channel, topics=[T4, TopicConfig("U", 1, 1, 7)])
    answer = ask(
        server, channel, RequestCode.WIPE_WRITE_PERM_OF_BROKER, headers.WipeWritePermOfBrokerRequestHeader("broker-a")
    )
    assert answer.all_ext_fields() == {"wipeTopicCount": "2"}
    assert [route(server, channel, topic).queue_datas[0].perm for topic in "TU"] == [4, 5]


def test_a_deleted_topic_is_gone(channel):
    server = NameServer(0)
    register(server, channel, topics=[T4])
    ask(server, channel, RequestCode.DELETE_TOPIC_IN_NAMESRV, headers.DeleteTopicInNamesrvRequestHeader("T"))
    assert route(server, channel) is None


def test_ordered_topics_reach_brokers(channel):
    server = NameServer(0)
    put = headers.PutKVConfigRequestHeader("ORDER_TOPIC_CONFIG", "T", "broker-a:4")
    ask(server, channel, RequestCode.PUT_KV_CONFIG, put)
    assert KVTable.decode(register(server, channel, topics=[T4]).body).table == {"T": "broker-a:4"}
    ask(server, channel, RequestCode.DELETE_KV_CONFIG, headers.DeleteKVConfigRequestHeader("ORDER_TOPIC_CONFIG", "T"))
    assert KVTable.decode(register(server, channel, topics=[T4]).body).table == {}
    assert route(server, channel).order_topic_conf is None
    text = ask(server, channel, RequestCode.GET_NAMESRV_CONFIG).body.decode()
    assert "orderMessageEnable=false\n" in text


def test_no_answer_to_unknown_one_way_and_response_commands(channel):
    server = NameServer(0)
    assert server.handle(channel, RemotingCommand.request(RequestCode.PULL_MESSAGE), 0) is None
    assert server.handle(channel, RemotingCommand.response(0), 0) is None
    oneway = RemotingCommand.request(RequestCode.PUT_KV_CONFIG, headers.PutKVConfigRequestHeader("n", "k", "v"))
    oneway.flag |= ONEWAY
    assert server.handle(channel, oneway, 0) is None
    assert server.kv_config == {"n": {"k": "v"}}


def _created_on_demand(topics: int) -> tuple[RouteInfoManager, Broker, int]:
    """A broker that made topics on demand, its name server, and how often one looked at a topic."""
    routes, looked = RouteInfoManager(), 0
    update = routes._update_queue_data

    def count(*arguments):
        nonlocal looked
        looked += 1
        update(*arguments)

    routes._update_queue_data = count
    link = Connection("broker")
    broker = Broker(
        BrokerConfig(), MessageStore(MessageStoreConfig()), now=0,
        on_register=lambda sent: routes.register_broker(sent, link, 0),
    )  # fmt: skip
    for number in range(topics):
        broker.topic_config_manager.create_topic_in_send_message_back_method(f"%RETRY%g{number}", 1, 6, 0)
    return routes, broker, looked


def test_what_a_new_topic_costs_does_not_grow_with_their_number():
    routes, broker, looked = _created_on_demand(1_000)
    assert looked == len(routes.topic_queue_table) == len(broker.topic_config_manager.topic_config_table)


@pytest.mark.parametrize("seed", range(20))
def test_a_registration_that_names_its_new_topic_leaves_the_tables_as_a_whole_one(seed):
    """Topics made, changed, forgotten, wiped, brokers that come, go and take each other's name: in any order."""
    random, named, whole, link = Random(seed), RouteInfoManager(), RouteInfoManager(), Connection("broker")
    brokers = []
    for name, addr in (("b", "b:1"), ("b", "b:2"), ("c", "c:1")):
        one = BrokerConfig(broker_name=name)
        brokers.append(Broker(one, MessageStore(MessageStoreConfig()), now=0))

        def tell(sent, addr=addr):
            sent = sent._replace(broker_addr=addr, data_version=copy(sent.data_version))
            named.register_broker(sent, link, 0)
            whole.register_broker(sent._replace(created=None), link, 0)

        brokers[-1].on_register = tell
    for number in range(60):
        broker = random.choice(brokers)
        topics = broker.topic_config_manager
        topic = f"T{random.randrange(12)}"
        match random.randrange(9):
            case 0 | 1 | 2:
                topics.create_topic_in_send_message_back_method(f"N{number}", 1, 6, 0)
            case 3:
                topics.update_topic_config(TopicConfig(topic, random.randrange(1, 5), 1, 6))  # nobody is told
            case 4:
                broker.register_broker_all()
            case 5:
                for routes in (named, whole):
                    routes.delete_topic(topic)
            case 6:
                for routes in (named, whole):
                    routes.wipe_write_perm_of_broker("b")
            case 7:
                for routes in (named, whole):
                    routes.unregister_broker("DefaultCluster", "b:1", "b", 0)
            case _:
                broker.config.broker_permission = random.choice([2, 4, 6])
        assert named.topic_queue_table == whole.topic_queue_table


ROUTE = (
    '{"brokerDatas":[{"brokerAddrs":{%s:"broker-a-0:10911"},"brokerName":"broker-a","cluster":"C"%s}],'
    '"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"%s":1,"writeQueueNums":4}]}'
)
ACTING = ',"enableActingMaster":false'


@pytest.mark.parametrize(
    ("version", "asker", "only_standard", "parts"),
    [
        ("4.8.0", 513, None, ("0", "", "topicSynFlag")),
        ("5.5.0", 373, None, ("0", ACTING, "topicSysFlag")),
        ("5.5.0", 513, None, ('"0"', ACTING, "topicSysFlag")),
        ("5.5.0", 373, True, ('"0"', ACTING, "topicSysFlag")),
    ],
)
def test_a_route_has_the_form_of_the_version(channel, version, asker, only_standard, parts):
    """The bodies of 5.5.0 are those of the real name server, asked by clients of 4.8.0 and 5.5.0."""
    server = NameServer(0, wire=RULES[version].wire)
    register(server, channel, topics=[TopicConfig("T", 4, 4, 6, topic_sys_flag=1), TopicConfig("U", 1, 1)])
    header = headers.GetRouteInfoWithFlagRequestHeader("T", accept_standard_json_only=only_standard)
    answer = ask(server, channel, RequestCode.GET_ROUTEINFO_BY_TOPIC, header, version=asker)
    assert answer.body == (ROUTE % parts).encode()
    assert TopicRouteData.decode(answer.body).broker_datas[0].broker_addrs == {0: "broker-a-0:10911"}


def test_5_x_says_of_a_cluster_s_brokers_that_none_acts_as_master(channel):
    """The body of the real 5.5.0."""
    server = NameServer(0, wire=RULES["5.5.0"].wire)
    register(server, channel)
    assert ask(server, channel, RequestCode.GET_BROKER_CLUSTER_INFO).body == (
        b'{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"broker-a-0:10911"},"brokerName":"broker-a","cluster":"C",'
        b'"enableActingMaster":false}},"clusterAddrTable":{"C":["broker-a"]}}'
    )
