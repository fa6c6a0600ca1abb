"""What is asked: every request code without header fields, then of a cluster that holds something, with fields.

A text `{name}` in a field is an answer's `msgId` that was kept under that name; `{broker}` is the broker's address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rmqlab.message.sysflag import TRANSACTION_PREPARED_TYPE
from rmqlab.protocol.codes import OF_5, RequestCode
from rmqlab.protocol.heartbeat import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
)
from rmqlab.protocol.subscription_data import build_subscription

if TYPE_CHECKING:
    from collections.abc import Iterator

Server = Literal["namesrv", "broker"]
TOPIC, GROUP, PRODUCER, CLIENT = "T", "G", "P", "C1"
VERSION = 1_700_000_000_000  # of the subscription (epoch ms)
C = RequestCode


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `keep` names what its answer's `msgId` is called later."""

    server: Server
    code: RequestCode
    fields: Mapping[str, str] | None = None
    body: bytes | None = None
    keep: str | None = None


def codes_of_4_8_0() -> list[RequestCode]:
    """Every code, in the order of their numbers."""
    return sorted(code for code in RequestCode if code not in OF_5)


def without_fields() -> Iterator[Request]:
    """Every code, to both servers."""
    for code in codes_of_4_8_0():
        yield Request("namesrv", code)
        yield Request("broker", code)


def heartbeat() -> bytes:
    """A consumer of "T" with a tag, and a producer, on one connection."""
    consumer = ConsumerData(
        group_name=GROUP,
        consume_type=ConsumeType.CONSUME_PASSIVELY,
        message_model=MessageModel.CLUSTERING,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        subscription_data_set=[build_subscription(TOPIC, "tagA", None, VERSION)],
    )
    return HeartbeatData(
        client_id=CLIENT, consumer_data_set=[consumer], producer_data_set=[ProducerData(group_name=PRODUCER)]
    ).encode()


def _send(keep: str, queue: int = 0, properties: str = "TAGS\1tagA\2KEYS\1k1\2WAIT\1true\2", flag: int = 0) -> Request:
    fields = {
        "producerGroup": PRODUCER, "topic": TOPIC, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
        "queueId": str(queue), "sysFlag": str(flag), "bornTimestamp": str(VERSION), "flag": "0",
        "properties": properties, "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
    }  # fmt: skip
    return Request("broker", C.SEND_MESSAGE, fields, b"body of " + keep.encode(), keep)


def _commit(queue: int, offset: int) -> Request:
    fields = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": str(queue), "commitOffset": str(offset)}
    return Request("broker", C.UPDATE_CONSUMER_OFFSET, fields)


HALF = f"TAGS\1tagA\2TRAN_MSG\1true\2PGROUP\1{PRODUCER}\2UNIQ_KEY\1U1\2WAIT\1true\2"


def set_up() -> list[Request]:
    """A topic of two queues, messages, a half message, members, committed offsets, keys of the name server."""
    topic = {"topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6",
             "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}  # fmt: skip
    return [
        Request("broker", C.UPDATE_AND_CREATE_TOPIC, topic),
        Request("broker", C.UPDATE_AND_CREATE_TOPIC, {**topic, "topic": "Unit", "topicSysFlag": "1"}),
        Request("broker", C.UPDATE_AND_CREATE_TOPIC, {**topic, "topic": "UnitSub", "topicSysFlag": "3"}),
        Request("broker", C.UPDATE_AND_CREATE_TOPIC, {**topic, "topic": "Sub", "topicSysFlag": "2"}),
        _send("first"),
        _send("second"),
        _send("third", 1, "KEYS\1k3\2WAIT\1true\2"),
        _send("half", 0, HALF, TRANSACTION_PREPARED_TYPE),
        Request("broker", C.HEART_BEAT, None, heartbeat()),
        _commit(0, 1),
        _commit(1, 0),
        Request("namesrv", C.PUT_KV_CONFIG, {"namespace": "N", "key": "k", "value": "v"}),
    ]


def _broker(code: RequestCode, body: bytes = b"", /, **fields: str) -> Request:
    return Request("broker", code, fields, body or None)


def _namesrv(code: RequestCode, body: bytes = b"", /, **fields: str) -> Request:
    return Request("namesrv", code, fields, body or None)


def of_the_name_server() -> list[Request]:
    """What a name server answers to requests with fields, those of things that are not there included."""
    data_version = {"brokerName": "broker-a", "clusterName": "DefaultCluster", "brokerId": "0"}
    return [
        _namesrv(C.GET_KV_CONFIG, namespace="N", key="k"),
        _namesrv(C.GET_KV_CONFIG, namespace="N", key="none"),
        _namesrv(C.GET_KV_CONFIG, namespace="none", key="k"),
        _namesrv(C.GET_KVLIST_BY_NAMESPACE, namespace="N"),
        _namesrv(C.GET_KVLIST_BY_NAMESPACE, namespace="none"),
        _namesrv(C.DELETE_KV_CONFIG, namespace="N", key="k"),
        _namesrv(C.GET_KVLIST_BY_NAMESPACE, namespace="N"),
        _namesrv(C.GET_ROUTEINFO_BY_TOPIC, topic=TOPIC),
        _namesrv(C.GET_ROUTEINFO_BY_TOPIC, topic="none"),
        _namesrv(C.GET_BROKER_CLUSTER_INFO),
        _namesrv(C.GET_ALL_TOPIC_LIST_FROM_NAMESERVER),
        _namesrv(C.GET_TOPICS_BY_CLUSTER, cluster="DefaultCluster"),
        _namesrv(C.GET_TOPICS_BY_CLUSTER, cluster="none"),
        _namesrv(C.GET_SYSTEM_TOPIC_LIST_FROM_NS),
        _namesrv(C.GET_UNIT_TOPIC_LIST),
        _namesrv(C.GET_HAS_UNIT_SUB_TOPIC_LIST),
        _namesrv(C.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST),
        _namesrv(C.QUERY_DATA_VERSION, b'{"counter":1,"timestamp":2}', brokerAddr="{broker}", **data_version),
        _namesrv(C.QUERY_DATA_VERSION, b'{"counter":1,"timestamp":2}', brokerAddr="none", **data_version),
        _namesrv(C.QUERY_DATA_VERSION, b"no json", brokerAddr="{broker}", **data_version),
        _namesrv(C.UPDATE_NAMESRV_CONFIG, b"serverWorkerThreads=9\nclusterTest=true\nlistenPort=x\nnone=1\n"),
        _namesrv(C.UPDATE_NAMESRV_CONFIG, b"productEnvName=\\u00\n"),
        _namesrv(C.GET_NAMESRV_CONFIG),
        _namesrv(C.UPDATE_NAMESRV_CONFIG, b"orderMessageEnable=true\n"),
        _namesrv(C.PUT_KV_CONFIG, namespace="ORDER_TOPIC_CONFIG", key=TOPIC, value="broker-a:2"),
        _namesrv(C.GET_ROUTEINFO_BY_TOPIC, topic=TOPIC),
        _namesrv(C.WIPE_WRITE_PERM_OF_BROKER, brokerName="none"),
        _namesrv(C.DELETE_TOPIC_IN_NAMESRV, topic="none"),
    ]


def of_access_control() -> list[Request]:
    """What a broker answers that checks every request, by rules that let this machine in without a key."""
    key, secret = "someKey1", "someSecret"
    change = C.UPDATE_AND_CREATE_ACL_CONFIG
    return [
        _broker(C.GET_BROKER_CLUSTER_ACL_INFO),
        _broker(C.GET_BROKER_CLUSTER_ACL_CONFIG),
        _broker(change, accessKey=key, secretKey=secret, admin="true", topicPerms="T=PUB,U=DENY"),
        _broker(change, accessKey=key, admin="false", defaultTopicPerm="SUB"),
        _broker(change, accessKey="RocketMQ", whiteRemoteAddress="10.0.0.1", groupPerms="G=SUB"),
        _broker(C.GET_BROKER_CLUSTER_ACL_CONFIG),
        _broker(change, accessKey="short", secretKey=secret),
        _broker(change, accessKey="anotherKey", secretKey="short"),
        _broker(change),
        _broker(C.DELETE_ACL_CONFIG, accessKey=key),
        _broker(C.DELETE_ACL_CONFIG, accessKey=key),
        _broker(C.DELETE_ACL_CONFIG),
        _broker(C.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, globalWhiteAddrs="10.10.10.1,127.0.0.1"),
        _broker(C.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG),
        _broker(C.GET_BROKER_CLUSTER_ACL_INFO),
        _broker(C.GET_BROKER_CLUSTER_ACL_CONFIG),
    ]


ACL_RULES = {
    "globalWhiteRemoteAddresses": ["127.0.0.1"],
    "accounts": [{"accessKey": "RocketMQ", "secretKey": "12345678", "admin": False, "defaultTopicPerm": "DENY"}],
}


def of_the_broker() -> list[Request]:
    """What a broker answers to requests with fields, those of things that are not there included."""
    queue = {"topic": TOPIC, "queueId": "0"}
    nowhere = {"topic": "none", "queueId": "0"}
    pull = {"maxMsgNums": "32", "sysFlag": "0", "commitOffset": "0", "suspendTimeoutMillis": "0",
            "subVersion": str(VERSION), "subscription": "tagA", "expressionType": "TAG"}  # fmt: skip
    gone = "7F0000010000271100000000000F4240"
    member = {"consumerGroup": GROUP, "clientId": CLIENT}
    return [
        _broker(C.PULL_MESSAGE, consumerGroup=GROUP, queueOffset="0", **queue, **pull),
        _broker(C.PULL_MESSAGE, consumerGroup=GROUP, queueOffset="9", **queue, **pull),
        _broker(C.PULL_MESSAGE, consumerGroup=GROUP, queueOffset="0", **nowhere, **pull),
        _broker(C.QUERY_MESSAGE, topic=TOPIC, key="none", maxNum="32", beginTimestamp="0", endTimestamp=str(2**62)),
        _broker(C.QUERY_CONSUMER_OFFSET, consumerGroup=GROUP, **queue),
        _broker(C.QUERY_CONSUMER_OFFSET, consumerGroup="none", **queue),
        _broker(C.SEARCH_OFFSET_BY_TIMESTAMP, timestamp="1", **queue),
        _broker(C.SEARCH_OFFSET_BY_TIMESTAMP, timestamp=str(2**60), **queue),
        _broker(C.GET_MAX_OFFSET, **queue),
        _broker(C.GET_MAX_OFFSET, **nowhere),
        _broker(C.GET_MIN_OFFSET, **queue),
        _broker(C.GET_EARLIEST_MSG_STORETIME, **queue),
        _broker(C.GET_EARLIEST_MSG_STORETIME, **nowhere),
        _broker(C.VIEW_MESSAGE_BY_ID, offset="0"),
        _broker(C.VIEW_MESSAGE_BY_ID, offset="1000000"),
        _broker(C.GET_CONSUMER_LIST_BY_GROUP, consumerGroup=GROUP),
        _broker(C.GET_CONSUMER_LIST_BY_GROUP, consumerGroup="none"),
        _broker(C.GET_TOPIC_STATS_INFO, topic=TOPIC),
        _broker(C.GET_TOPIC_STATS_INFO, topic="none"),
        _broker(C.GET_CONSUMER_CONNECTION_LIST, consumerGroup=GROUP),
        _broker(C.GET_CONSUMER_CONNECTION_LIST, consumerGroup="none"),
        _broker(C.GET_PRODUCER_CONNECTION_LIST, producerGroup=PRODUCER),
        _broker(C.GET_PRODUCER_CONNECTION_LIST, producerGroup="none"),
        _broker(C.GET_CONSUME_STATS, consumerGroup=GROUP),
        _broker(C.GET_CONSUME_STATS, consumerGroup=GROUP, topic=TOPIC),
        _broker(C.GET_CONSUME_STATS, consumerGroup="none", topic="none"),
        _broker(C.GET_BROKER_CONSUME_STATS),
        _broker(C.GET_BROKER_CONSUME_STATS, isOrder="true"),
        _broker(C.QUERY_TOPIC_CONSUME_BY_WHO, topic=TOPIC),
        _broker(C.QUERY_TOPIC_CONSUME_BY_WHO, topic="none"),
        _broker(C.QUERY_CONSUME_TIME_SPAN, topic=TOPIC, group=GROUP),
        _broker(C.QUERY_CONSUME_TIME_SPAN, topic=TOPIC, group="none"),
        _broker(C.QUERY_CONSUME_TIME_SPAN, topic="none", group=GROUP),
        _broker(C.GET_SYSTEM_TOPIC_LIST_FROM_BROKER),
        _broker(C.QUERY_CONSUME_QUEUE, index="0", count="2", **queue),
        _broker(C.QUERY_CONSUME_QUEUE, index="0", count="2", consumerGroup=GROUP, **queue),
        _broker(C.QUERY_CONSUME_QUEUE, index="99", count="2", **queue),
        _broker(C.VIEW_BROKER_STATS_DATA, statsName="TOPIC_PUT_NUMS", statsKey="none"),
        _broker(C.GET_CONSUMER_RUNNING_INFO, jstackEnable="false", **member),
        _broker(C.GET_CONSUMER_RUNNING_INFO, consumerGroup=GROUP, clientId="none"),
        _broker(C.GET_CONSUMER_RUNNING_INFO, consumerGroup="none", clientId="none"),
        _broker(C.GET_CONSUMER_RUNNING_INFO, consumerGroup=GROUP),
        _broker(C.CONSUME_MESSAGE_DIRECTLY, msgId="{first}", **member),
        _broker(C.CONSUME_MESSAGE_DIRECTLY, msgId="{first}", consumerGroup=GROUP, clientId="none"),
        _broker(C.CONSUME_MESSAGE_DIRECTLY, msgId=gone, **member),
        _broker(C.CONSUME_MESSAGE_DIRECTLY, msgId="none", **member),
        _broker(C.CONSUME_MESSAGE_DIRECTLY, **member),
        _broker(C.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, topic=TOPIC, group=GROUP),
        _broker(C.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, topic=TOPIC, group=GROUP, clientAddr=CLIENT),
        _broker(C.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, topic=TOPIC, group=GROUP, clientAddr="none"),
        _broker(C.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, topic=TOPIC, group="none"),
        _broker(C.INVOKE_BROKER_TO_RESET_OFFSET, topic="none", group=GROUP, timestamp="-1", isForce="true"),
        _broker(C.INVOKE_BROKER_TO_RESET_OFFSET, topic=TOPIC, group="none", timestamp="-1", isForce="true"),
        _broker(C.RESUME_CHECK_HALF_MESSAGE, msgId="{second}"),
        _broker(C.RESUME_CHECK_HALF_MESSAGE, msgId=gone),
        _broker(C.RESUME_CHECK_HALF_MESSAGE, msgId="none"),
        _broker(C.GET_MAX_OFFSET, topic="RMQ_SYS_TRANS_HALF_TOPIC", queueId="0"),
        _broker(C.END_TRANSACTION, producerGroup=PRODUCER, tranStateTableOffset="0", commitLogOffset="0",
                commitOrRollback="0"),
        _broker(C.END_TRANSACTION, producerGroup="none", tranStateTableOffset="0", commitLogOffset="0",
                commitOrRollback="8"),
        _broker(C.CLONE_GROUP_OFFSET, srcGroup=GROUP, destGroup="G2", topic=TOPIC, offline="true"),
        _broker(C.CLONE_GROUP_OFFSET, srcGroup=GROUP, destGroup="G3"),
        _broker(C.CLONE_GROUP_OFFSET, srcGroup="none", destGroup="G4", topic=TOPIC),
        _broker(C.CLONE_GROUP_OFFSET, srcGroup=GROUP, destGroup="G5", topic="none"),
        _broker(C.GET_ALL_CONSUMER_OFFSET),
        _broker(C.QUERY_CORRECTION_OFFSET, topic=TOPIC, compareGroup=GROUP),
        _broker(C.QUERY_CORRECTION_OFFSET, topic="none", compareGroup=GROUP),
        _broker(C.QUERY_CORRECTION_OFFSET, topic=TOPIC, compareGroup="none", filterGroups="G2,none"),
        _broker(C.GET_ALL_CONSUMER_OFFSET),
        _broker(C.UPDATE_AND_CREATE_ACL_CONFIG, accessKey="someKey1", secretKey="someSecret"),
        _broker(C.DELETE_ACL_CONFIG, accessKey="someKey1"),
        _broker(C.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, globalWhiteAddrs="*"),
        _broker(C.GET_BROKER_CLUSTER_ACL_INFO),
        _broker(C.GET_BROKER_CLUSTER_ACL_CONFIG),
        _broker(C.UPDATE_BROKER_CONFIG, b"longPollingEnable=false\n"),
        _broker(C.GET_BROKER_CONFIG),
        _broker(C.GET_BROKER_RUNTIME_INFO),
        _broker(C.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"G9","retryMaxTimes":3}'),
        _broker(C.DELETE_SUBSCRIPTIONGROUP, groupName="G9"),
        _broker(C.DELETE_SUBSCRIPTIONGROUP, groupName="none"),
        _broker(C.CLEAN_EXPIRED_CONSUMEQUEUE),
        _broker(C.CLEAN_UNUSED_TOPIC),
        _broker(C.DELETE_TOPIC_IN_BROKER, topic="none"),
        _broker(C.DELETE_TOPIC_IN_BROKER, topic="SELF_TEST_TOPIC"),
        _broker(C.UNREGISTER_CLIENT, clientID=CLIENT, consumerGroup="none"),
    ]  # fmt: skip
