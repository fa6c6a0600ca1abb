"""Access keys, signatures, permissions and white addresses: 4.8.0's rules and texts."""

from __future__ import annotations

import pytest

from rmqlab.protocol.admin_headers import DeleteTopicRequestHeader
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import SendMessageRequestHeader
from rmqlab_tools.live.extra.acl import AclClientRPCHook, signature
from rmqlab_tools.live.extra.admin_headers import QueryMessageRequestHeader
from rmqlab_tools.live.extra.plain_access import AclError, PlainPermissionManager, white_addresses
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

# The file of the 4.8.0 distribution: the secret is a number in YAML.
RULES = {
    "globalWhiteRemoteAddresses": ["10.10.103.*", "192.168.0.*"],
    "accounts": [
        {
            "accessKey": "RocketMQ", "secretKey": 12345678, "whiteRemoteAddress": None, "admin": False,
            "defaultTopicPerm": "DENY", "defaultGroupPerm": "SUB",
            "topicPerms": ["topicA=DENY", "topicB=PUB|SUB", "topicC=SUB"],
            "groupPerms": ["groupA=DENY", "groupB=PUB|SUB", "groupC=SUB"],
        },
        {
            "accessKey": "rocketmq2", "secretKey": 12345678, "whiteRemoteAddress": "192.168.1.*", "admin": True,
        },
    ],
}  # fmt: skip
USER, ADMIN = AclClientRPCHook("RocketMQ", "12345678"), AclClientRPCHook("rocketmq2", "12345678")
ELSEWHERE = "203.0.113.9:5000"


def query(topic="topicB"):
    header = QueryMessageRequestHeader(topic=topic, key="k", max_num=1, begin_timestamp=0, end_timestamp=1)
    return RemotingCommand.request(RequestCode.QUERY_MESSAGE, header)


def send(topic):
    header = SendMessageRequestHeader(topic=topic, producer_group="P")
    return RemotingCommand.request(RequestCode.SEND_MESSAGE, header, b"body")


def refusal(command, hook=None, address=ELSEWHERE, rules=RULES):
    """Why a request, signed and sent over the wire, is refused; None if it is not."""
    if hook is not None:
        hook(command)
    received = decode_frame(encode_frame(command)[4:])
    try:
        PlainPermissionManager(rules).validate(received, address)
    except AclError as error:
        return str(error)
    return None


def test_the_signature_is_hmac_sha1_in_base64():
    # RFC 2202, test case 2
    assert signature(b"what do ya want for nothing?", "Jefe") == "7/zfauXrL6LSdBbV8YTfnCWafHk="


def test_a_signed_request_passes_and_any_change_of_it_does_not():
    assert refusal(query(), USER) is None
    failed = "Check signature failed for accessKey=RocketMQ"
    assert refusal(query(), AclClientRPCHook("RocketMQ", "87654321")) == failed
    command = send("topicB")
    USER(command)
    command.content = b"another body"
    assert refusal(command) == failed
    command = query()
    USER(command)
    command.ext_fields = {**command.ext_fields, "more": "x"}
    assert refusal(command) == failed
    USER(command)  # sent again after a failure: signed anew
    assert refusal(command) is None


def test_what_is_no_known_key_is_refused():
    assert refusal(query()) == "No accessKey is configured"
    assert refusal(RemotingCommand.request(RequestCode.GET_BROKER_CONFIG)) == "No accessKey is configured"
    assert refusal(query(), AclClientRPCHook("stranger", "12345678")) == "No acl config for stranger"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (send("topicA"), "No default permission for topic:topicA"),
        (send("topicB"), None),
        (send("topicC"), "No default permission for topic:topicC"),
        (send("other"), "No default permission for topic:other"),
        (query("topicC"), None),
        (
            RemotingCommand.request(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="topicB")),
            "Need admin permission for request code=215, but accessKey=RocketMQ is not",
        ),
    ],
)
def test_permissions(command, text):
    assert refusal(command, USER) == text


def test_groups_have_permissions_by_their_retry_topic():
    for group, text in (("groupA", "No default permission for group:groupA"), ("groupC", None), ("other", None)):
        command = RemotingCommand.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP)
        command.ext_fields = {"consumerGroup": group}
        assert refusal(command, USER) == text


def test_an_admin_may_everything_and_white_addresses_need_no_key():
    delete = RemotingCommand.request(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="topicB"))
    assert refusal(delete, ADMIN) is None
    assert refusal(send("topicA"), address="10.10.103.77:1") is None
    assert refusal(send("topicA"), AclClientRPCHook("rocketmq2", "wrongsecret"), "192.168.1.5:1") is None
    assert refusal(send("topicA"), AclClientRPCHook("rocketmq2", "wrongsecret"), "192.168.2.5:1") is not None


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("*", ["1.2.3.4", "::1"], []),
        ("", [], ["1.2.3.4"]),
        ("10.1.2.3", ["10.1.2.3"], ["10.1.2.4"]),
        ("10.1.2.{3,4}", ["10.1.2.3", "10.1.2.4"], ["10.1.2.5"]),
        ("10.1.2.3,10.1.9.9", ["10.1.2.3", "10.1.9.9"], ["10.1.2.9"]),
        ("10.1.*.*", ["10.1.0.0", "10.1.255.1"], ["10.2.0.0", "::1"]),
        ("10.1.2.3-9", ["10.1.2.3", "10.1.2.9"], ["10.1.2.2", "10.1.2.10"]),
        ("::1", ["::1", "0:0:0:0:0:0:0:1"], ["::2"]),
    ],
)
def test_patterns_of_addresses(pattern, inside, outside):
    matches = white_addresses(pattern)
    assert all(matches(address) for address in inside)
    assert not any(matches(address) for address in outside)


@pytest.mark.parametrize("pattern", ["10.1.2", "300.1.2.3", "10.1.{1,2}", "10.1.2.9-3", "10.1.2.3,nowhere", "::5:*"])
def test_patterns_that_are_none(pattern):
    with pytest.raises(AclError):
        white_addresses(pattern)


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({}, "hold no data"),
        (None, "hold no data"),
        ({"accounts": [{"accessKey": "short", "secretKey": "12345678"}]}, "length should longer than 6"),
        ({"accounts": [{"accessKey": "long enough", "secretKey": "12345678", "topicPerms": ["T"]}]}, "topic:T"),
        ({"accounts": "all"}, "must be a list"),
    ],
)
def test_rules_that_cannot_be_taken_leave_those_in_force(rules, text):
    manager = PlainPermissionManager(RULES)
    with pytest.raises(AclError, match=text) as error:
        manager.load(rules)
    assert "12345678" not in str(error.value)
    command = query()
    USER(command)
    manager.validate(command, ELSEWHERE)


def test_the_broker_answers_a_refusal_with_its_reason(bench):
    bench.broker.rpc_hooks.append(PlainPermissionManager(RULES).before_request)
    bench.topic("topicB")
    answer = bench.send("topicB")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "org.apache.rocketmq.acl.common.AclException: No accessKey is configured"
    assert bench.store.max_phy_offset == 0
