"""Groups whose members come through a 5.x proxy: a real 5.5.0 broker's and proxy's answers, played again."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

import rmqlab
from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.topic_config import TopicConfig
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.doctor import addresses_of_proxies
from rmqlab_tools.doctor.finding import Certainty, State
from rmqlab_tools.doctor.read_client import ReadClient
from rmqlab_tools.doctor.snapshot import SnapshotOptions
from rmqlab_tools.doctor.snapshot_json import look_from_json, look_to_json
from rmqlab_tools.doctor.take_snapshot import PROXIES_GROUP, take_look
from rmqlab_tools.live.frames import FrameDecoder
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

GROUPS = ("GrpcDiffers", "GrpcSame", "ProxyPush", "PopDiffers", "Mixed", "Gone")
ANSWERS = json.loads((checkout_path("data") / "doctor" / "5.5.0-answers.json").read_text("utf-8"))


@asynccontextmanager
async def recorded(who, silent=(), unknown=(), **replaced):
    """A server that answers as the recorded one did, by code and group; "not supported" to what was not asked then.

    `replaced` texts of its answers are others now; it does not answer the codes in `silent`, and refuses the
    `unknown` ones.
    """
    known = {(code, about): rest for name, code, about, *rest in ANSWERS if name == who and code not in unknown}

    async def serve(reader, writer):
        decoder = FrameDecoder()
        while data := await reader.read(65536):
            decoder.feed(data)
            while (frame := decoder.next()) is not None:
                request = decode_frame(frame)
                fields = request.all_ext_fields() or {}
                about = " ".join(filter(None, (fields.get(name) for name in ("consumerGroup", "clientId", "queueId"))))
                if request.code in silent:
                    continue
                status, remark, body = known.get((request.code, about), (3, "not supported", ""))
                for old, new in replaced.items():
                    body = body.replace(old, new)
                answer = RemotingCommand.response(status, remark, None, body.encode())
                writer.write(encode_frame(answer.reply_to(request)))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def looked(*, proxy=True, broker_unknown=(), proxy_silent=(), groups=GROUPS):
    """One look at the recorded cluster."""

    async def run():
        async with AsyncExitStack() as stack:
            broker = await stack.enter_async_context(recorded("broker", unknown=broker_unknown))
            asked = ()
            if proxy:
                asked = (await stack.enter_async_context(recorded("proxy", proxy_silent)),)
            names = await stack.enter_async_context(recorded("namesrv", **{"127.0.0.1:10911": broker}))
            options = SnapshotOptions(groups, window=8, proxies=asked, timeout_ms=1_000)
            return await take_look(await stack.enter_async_context(ReadClient(names, options)))

    return asyncio.run(run())


def findings_of(diagnosis, name):
    (group,) = (judged for judged in diagnosis.groups if judged.group == name)
    return {finding.kind: finding for finding in group.findings}


@pytest.fixture(scope="module")
def with_proxy():
    return looked()


@pytest.fixture(scope="module")
def without_proxy():
    return looked(proxy=False)


def test_the_proxy_tells_the_members_that_no_broker_lists(with_proxy):
    assert with_proxy.unanswered == []
    group = with_proxy.groups["GrpcDiffers"]
    assert (group.slots, group.members) == ({}, {})
    assert len(group.proxied) == 2
    found = diagnose(with_proxy)
    at = findings_of(found, "GrpcDiffers")
    assert {judged.group: judged.members for judged in found.groups} == {
        "GrpcDiffers": 2, "GrpcSame": 2, "ProxyPush": 2, "PopDiffers": 2, "Mixed": 2, "Gone": 0
    }  # fmt: skip
    assert (at["at_a_proxy"].state, at["at_a_proxy"].certainty) == (State.NOTE, Certainty.PROVED)
    (shown,) = at["at_a_proxy"].evidence["proxies"].values()
    assert shown == {"members": group.proxied, "subscriptions": {"T": "TAG 'tagB'"}, "remoting": False}
    one = at["proxy_one_subscription"]
    assert (one.state, one.certainty) == (State.UNKNOWN, Certainty.UNKNOWN), "one asks for tagA: nobody tells"
    assert "no_members" not in at
    (shown,) = findings_of(found, "ProxyPush")["at_a_proxy"].evidence["proxies"].values()
    assert shown["remoting"], "its members subscribe the group's retry topic, as gRPC's do not"


def test_without_a_proxys_address_it_is_not_said_that_nobody_is_there(without_proxy):
    found = diagnose(without_proxy)
    assert without_proxy.brokers["broker-a"].proxies == {"127.0.0.1"}
    for name in ("GrpcDiffers", "ProxyPush", "Gone"):
        none = findings_of(found, name)["no_members"]
        assert none.certainty is Certainty.IMPLIED
        assert "whether one comes through a proxy (127.0.0.1) is not known" in none.says
    assert {finding.kind for finding in found.cluster} == {"proxies_not_asked"}
    assert findings_of(found, "Mixed").keys() <= {"clock_or_pulls"}, "its proxied member is not seen; answers are old"


def test_a_group_whose_offsets_move_may_live_at_a_proxy(without_proxy):
    earlier = look_from_json(look_to_json(without_proxy))
    before = earlier.groups["GrpcDiffers"].offsets
    for queue, seen in list(before.items()):
        before[queue] = type(seen)(seen.committed - 3, seen.max_offset - 3, seen.last_timestamp)
    earlier.at -= 60_000
    found = diagnose(without_proxy, earlier)
    maybe = findings_of(found, "GrpcDiffers")["maybe_at_a_proxy"]
    assert (maybe.state, maybe.certainty) == (State.UNKNOWN, Certainty.UNKNOWN)
    assert maybe.evidence == {"signs": {"moved": 12}, "proxies": ["127.0.0.1"], "asked": []}
    assert "with gRPC or with remoting" in maybe.says
    assert "no_members" not in findings_of(found, "GrpcDiffers")
    assert "no_members" in findings_of(found, "Gone")


@pytest.mark.parametrize("sign", ["pop_retries", "request_mode"])
def test_pop_retry_topics_and_a_request_mode_are_signs_too(without_proxy, sign):
    look = look_from_json(look_to_json(without_proxy))
    if sign == "pop_retries":
        look.groups["Gone"].pop_retries.add("T")
    else:
        look.brokers["broker-a"].request_modes["T"]["Gone"] = "POP"
    maybe = findings_of(diagnose(look), "Gone")["maybe_at_a_proxy"]
    assert maybe.evidence["signs"] == {sign: ["T"]}


def test_a_retry_topic_that_pop_made_is_a_sign(with_proxy, without_proxy):
    assert {name: group.pop_retries for name, group in with_proxy.groups.items() if group.pop_retries} == {
        "GrpcSame": {"T"}
    }, "its listeners failed, so the broker has %RETRY%GrpcSame_T"
    assert findings_of(diagnose(without_proxy), "GrpcSame")["maybe_at_a_proxy"].evidence["signs"] == {
        "pop_retries": ["T"]
    }


@pytest.mark.parametrize(("topic", "groups", "popped"), [
    ("%RETRY%G+T", {"G"}, {"G": {"T"}}), ("%RETRY%G_T", {"G"}, {"G": {"T"}}), ("%RETRY%G_T", {"G", "G_T"}, {}),
    ("%RETRY%G_T", {"H"}, {}), ("%RETRY%G_a_T", {"G_a", "G"}, {"G_a": {"T"}}), ("%RETRY%G_U", {"G"}, {}),
])  # fmt: skip
def test_retry_topics_are_known_by_both_ways_of_naming_them(topic, groups, popped):
    with rmqlab.serve() as broker:

        def make(inside):
            for name in groups:
                inside.consumer_offset_manager.commit_offset("test", name, "T", 0, 0)
            inside.topic_config_manager.topic_config_table[topic] = TopicConfig(topic, 1, 1)

        broker.create_topic("T", 1)
        broker.call(make)
        look = rmqlab.doctor(broker.namesrv_addr).look
    assert {name: group.pop_retries for name, group in look.groups.items() if group.pop_retries} == popped


def test_members_that_pop_are_not_judged_by_the_slot(with_proxy):
    group = with_proxy.groups["PopDiffers"]
    assert {member.popped for member in group.members.values()} != {frozenset()}
    at = findings_of(diagnose(with_proxy), "PopDiffers")
    assert not at.keys() & {"different_subscriptions", "slot_of_nobody", "unknown_losses", "losing_messages"}
    differ = at["pop_members_differ"]
    assert (differ.state, differ.certainty, differ.topic) == (State.AT_RISK, Certainty.IMPLIED, "T")
    assert "no broker's table filters them" in differ.says
    assert "first in line" in differ.says
    assert "popped with the popper's expression" in differ.says


def test_a_member_at_the_broker_and_one_at_the_proxy(with_proxy):
    mixed = findings_of(diagnose(with_proxy), "Mixed")["mixed_modes"]
    assert (mixed.state, mixed.certainty) == (State.AT_RISK, Certainty.IMPLIED)
    assert len(mixed.evidence["members"]) == len(mixed.evidence["proxied"]) == 1


def test_a_proxy_that_changes_its_one_subscription(with_proxy):
    earlier = look_from_json(look_to_json(with_proxy))
    for name in ("GrpcDiffers", "ProxyPush"):
        (table,) = earlier.groups[name].at_proxies.values()
        old = table.subscription_table["T"]
        table.subscription_table["T"] = type(old)(
            "T", "tagC", {"tagC"}, {old.sub_version}, sub_version=old.sub_version - 9, expression_type="TAG"
        )
    found = diagnose(with_proxy, earlier)
    grpc, remoting = (findings_of(found, name) for name in ("GrpcDiffers", "ProxyPush"))
    for at in (grpc, remoting):
        assert at["proxy_subscription_changes"].certainty is Certainty.IMPLIED
        assert "proxy_one_subscription" not in at
    assert "wakes nobody" in grpc["proxy_subscription_changes"].says
    assert "every member's pulls" in remoting["proxy_subscription_changes"].says
    (table,) = earlier.groups["GrpcDiffers"].at_proxies.values()
    table.connection_set.pop()
    assert "proxy_subscription_changes" not in findings_of(diagnose(with_proxy, earlier), "GrpcDiffers"), "one is new"


def test_a_proxy_that_does_not_answer_leaves_it_open():
    look = looked(proxy_silent={RequestCode.GET_CONSUMER_CONNECTION_LIST}, groups=("Gone",))
    assert [question.code for question in look.unanswered] == [203]
    assert look.answering_proxies == []
    found = diagnose(look)
    assert "is not known" in findings_of(found, "Gone")["no_members"].says
    assert found.status == 4


def test_a_5x_broker_without_request_402_leaves_the_modes_open():
    look = looked(groups=("PopDiffers",), broker_unknown={RequestCode.GET_ALL_MESSAGE_REQUEST_MODE})
    assert look.unanswered == []
    assert look.brokers["broker-a"].request_modes is None
    assert "pop_members_differ" in findings_of(diagnose(look), "PopDiffers"), "the members say themselves that they pop"


def test_the_proxies_own_group_is_none_of_the_users():
    look = looked(groups=())
    assert PROXIES_GROUP not in look.groups


def test_a_look_with_proxies_can_be_kept(with_proxy):
    assert look_from_json(json.loads(json.dumps(look_to_json(with_proxy)))) == with_proxy


@pytest.mark.parametrize("text", ["http://proxy:8080", "proxy", "proxy:0", "a:1;b"])
def test_a_proxys_address_is_host_and_port(text):
    with pytest.raises(BadInput, match="proxy"):
        addresses_of_proxies([text])
    assert addresses_of_proxies(["a:1;b:2", "a:1"]) == ("a:1", "b:2")


def test_a_broker_is_no_proxy():
    with (
        rmqlab.serve() as broker,
        pytest.raises(BadInput, match=r"is the broker broker-a; give a proxy's remoting address"),
    ):
        rmqlab.doctor(broker.namesrv_addr, proxies=[broker.broker_addr])
