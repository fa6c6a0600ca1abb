"""What notebook 14 and its tasks say, sentence by sentence; the live figures are compared by strict nbval."""

from __future__ import annotations

import json
import re

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.protocol.bodies import Connection
from rmqlab_tools.cli import VERBS
from rmqlab_tools.course.checks_14 import recorded
from rmqlab_tools.doctor.read_client import READ_CODES
from tests.doctor.scene import JAVA_4, JAVA_5, groups_at

LESSON = "14_healthy"
SETTING = (
    "In the live cluster A and B start at once, and chance decides whose subscription the broker holds.",
    "Here is one of the two ways as a film, B a minute after A:",
    "Members that do not name a topic at all may be among them.",
    "The topic has four queues.",
    "A producer sends 2 messages of each tag to each queue:",
    "16.",
    "Half a minute later you ask the cluster:",
    "In a lab you can change a rule, or explore every order.",
    "What the doctor says of each group of the two recorded clusters.",
    "mqadmin consumerStatus answers the same question.",
    "Nobody can change a rule of a running broker.",
    "How to do that without a loss is the question of notebook 09.",
    "This is what one look asked of the real broker 4.8.0, for all its groups:",
    "rmqlab doctor --namesrv HOST:9876.",
    "Write mend(lab): steps after which no new message of topic Orders is lost.",
    "This is group Article of the real broker 4.8.0, rebuilt in a lab:",
    "Both members must still run, and each of them may get messages of either tag.",
    "When all members ask for the same, it does not matter whose wish the broker holds, or who owns a queue.",
    "Members agree on a topic when each of them subscribes to it, with the same set of tags.",
)


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "Group Post is healthy: its members ask for the same two tags, written in another order.",
    "The lag is 0.",
    "Three of four messages are gone.",
    "A lag of 0 proves no health.",
    "A dropped message stands before that offset: the group has passed the message.",
)
def test_a_lag_of_nothing_beside_the_losses(shown):
    assert re.search(r"Shop +losing +2 +0 +12 ", shown["groups"])
    assert re.search(r"Post +healthy +2 +0 +0 ", shown["groups"])


@pytest.mark.claim("It sends nothing but questions.")
def test_every_request_asks(shown):
    assert {code.name.partition("_")[0] for code in READ_CODES} <= {"GET", "QUERY", "VIEW"}


@pytest.mark.claim(
    "Proved needs two looks: the slot and the queue's owner were the same at both, and the entries came between them.",
    "After one look the same loss is implied.",
    "Two looks prove what one look implies.",
)
def test_one_look_and_two(shown):
    assert re.search(r" 2 +12 +proved", shown["one-look"])
    assert re.search(r" 1 +12 +implied", shown["one-look"])


@pytest.mark.claim("for example, no broker of 4.8.0 tells when a member's last heartbeat came.")
def test_the_brokers_table_has_no_time():
    assert set(Connection.__struct_fields__) == {"client_id", "client_addr", "language", "version"}


@pytest.mark.claim("found.lab() makes the same group in a lab: the same members, queues and tags.")
def test_the_lab_has_the_groups_members(shown):
    assert re.search(r"delivered +4\n", shown["lab"])
    assert sum(map(int, re.findall(r" (\d+)(?:\n|$)", shown["lab"]))) == 16


@pytest.mark.claim(
    "The same questions were put to real brokers of two versions, with real clients in Java and C++.",
    "Most groups were made sick on purpose.",
)
@pytest.mark.parametrize("version", ["4.8.0", "5.3.3"])
def test_the_recorded_clusters(version):
    look = recorded(version).look
    assert {broker.version.replace("_", ".") for broker in look.brokers.values()} == {f"V{version}"}
    told = {(member.language, member.version) for group in look.groups.values() for member in group.members.values()}
    assert {language for language, _ in told} >= {"JAVA", "CPP"}
    assert {f"V{name.replace('.', '_')}" for name in (JAVA_4, JAVA_5)} <= {name for _, name in told}
    scene = groups_at(version)
    assert 2 * sum(not group.healthy for group in scene) > len(scene)


@pytest.fixture
def status():
    """What the real tool said of each group, seconds after the start and past two minutes."""
    return json.loads((ROOT / "data" / "doctor" / "4.8.0-consumerStatus.json").read_text("utf-8"))


def of_push_consumers(asks):
    return not any("lite pull" in wish for wish in asks)


@pytest.mark.claim(
    'While its first member is young, the tool says "same" of every group.',
    "It compares nothing before the member with the lowest client id has run for more than two minutes.",
    "It was asked twice about eleven groups of a real broker 4.8.0: seconds after their members had started, "
    "and again more than two minutes later.",
    "In group Restarted the member with the lower client id was started anew in between.",
)
def test_the_tool_says_the_same_of_young_groups(status):
    young, later = status
    assert len(young) == len(later) == 11
    assert all(one["ran_ms"] < 10_000 and "Same subscription" in one["said"] for one in young.values())
    restarted = {name for name, one in later.items() if one["ran_ms"] < 120_000}
    assert restarted == {"Restarted"}
    assert "Same subscription" in later["Restarted"]["said"]
    assert all(min(re.findall(r"10\.4\.8\.0@\S+", one["said"])) == one["first"] for one in later.values())


@pytest.mark.claim(
    "After that it compares texts, not meaning (rows where it errs are marked):",
    "It finds Article, Wider, SqlDiffers, Topics and Modes.",
    "It warns of SameTags and SameSql, though their members mean the same.",
    "Only the texts differ.",
    "It misses Kinds: the texts are equal, but one is a tag, the other one a condition.",
    "It misses Lite: it compares no group whose first member is no push consumer.",
    "It misses Restarted: the first member was young again.",
)
def test_later_it_compares_texts(status):
    _, later = status
    warned = {name for name, one in later.items() if "WARN: Different subscription" in one["said"]}
    assert warned == {"Article", "Wider", "SqlDiffers", "Topics", "Modes", "SameTags", "SameSql"}
    texts = {name: {wish.removeprefix("SQL92 ") for wish in one["asks"]} for name, one in later.items()}
    assert {
        name for name, one in later.items() if len(texts[name]) > 1 and of_push_consumers(one["asks"])
    } == warned | {"Restarted"}
    looks = [ROOT / "data" / "doctor" / f"4.8.0-status-{number}.json" for number in (1, 2)]
    healthy = {one.group for one in rmqlab.doctor(recorded=looks).groups if str(one.state) == "healthy"}
    assert healthy == {"SameTags", "SameSql", "OneTag"}
    assert later.keys() - warned - healthy == {"Kinds", "Lite", "Restarted"}


@pytest.mark.claim(
    "So ask the tool more than two minutes after the last restart.",
    'Even then its "same" proves little, and its warning is a reason to look.',
)
def test_a_same_of_the_tool_proves_little(status):
    _, later = status
    old = {name for name, one in later.items() if one["ran_ms"] > 120_000 and "Same subscription" in one["said"]}
    assert old == {"OneTag", "Kinds", "Lite"}


@pytest.mark.claim(
    "0 healthy, 3 losing or about to lose, 4 too little is known.",
    "--watch 10 looks again and again, --metrics 9109 serves the figures for Prometheus, --report DIR writes a page.",
)
def test_the_command_line():
    statuses = VERBS["doctor"].statuses
    assert "healthy" in statuses[0]
    assert "loses" in statuses[3]
    assert "too little" in statuses[4]


@pytest.mark.claim(
    "Group Wider ran on the real broker 5.3.3.",
    "One member asks for every tag, so every entry is asked for.",
    "The broker holds that wish and lets everything out.",
)
def test_wider():
    group = recorded("5.3.3").look.groups["Wider"]
    asks = {member.subscriptions["Orders"].sub_string for member in group.members.values()}
    assert asks == {"*", "tagA"}
    assert {slot.subscription_table["Orders"].sub_string for slot in group.slots.values()} == {"*"}
