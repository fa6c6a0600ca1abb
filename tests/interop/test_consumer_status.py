"""What the real `mqadmin consumerStatus` of 4.8.0 says of groups, young and older than two minutes.

`RMQLAB_LOOKS=DIR` makes the recording that lesson 14 shows, in three minutes: the tool compares nothing before that.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import asdict

from rmqlab_tools.doctor.read_client import ReadClient
from rmqlab_tools.doctor.snapshot import SnapshotOptions
from rmqlab_tools.doctor.snapshot_json import look_to_json
from rmqlab_tools.doctor.take_snapshot import take_look
from tests.doctor.recorded_looks import text_of, without_traces
from tests.doctor.running_scene import ADDRESSES, JavaClients, Questions, until
from tests.doctor.scene import JAVA_4, PERIOD_MS, TAGS, TOPICS, Group, Member, group
from tests.interop.test_doctor import keep

COMPARES_AFTER_S = 120
ORDERS = "Orders"


def _of_4(name: str) -> Group:
    """A group of the scene, all its members clients of 4.8.0."""
    scene = group(name)
    return Group(name, tuple(Member(**{**asdict(member), "client": JAVA_4}) for member in scene.members), scene.kinds)


def _pair(name: str, *asked: tuple[str, str], kind: str = "push") -> Group:
    ids = (f"{name.lower()}-{end}" for end in "ab")
    members = [Member(who, JAVA_4, {ORDERS: wish}, kind=kind) for who, wish in zip(ids, asked, strict=True)]
    return Group(name, tuple(members), frozenset({"different_subscriptions"}))


RESTARTED = _pair("Restarted", ("TAG", "tagA"), ("TAG", "tagB"))
GROUPS = (
    *map(_of_4, ("Article", "Wider", "SqlDiffers", "Topics", "Modes", "SameTags", "SameSql", "OneTag")),
    _pair("Kinds", ("TAG", "tagA"), ("SQL92", "tagA")),
    _pair("Lite", ("TAG", "tagA"), ("TAG", "tagB"), kind="lite"),
    RESTARTED,
)


def record_what_the_tool_says(jars, real_cluster_of, tmp_path):
    with real_cluster_of("4.8.0", tmp_path / "cluster") as cluster:
        java = JavaClients(jars("4.8.0"), cluster.namesrv, ADDRESSES[JAVA_4], tmp_path / "clients")
        try:
            began = _start(java, Questions(cluster.broker))
            looks = [_said(java, cluster.namesrv)]
            _pause(began + COMPARES_AFTER_S - 10)
            (first, _) = RESTARTED.members
            java.ask("stop", first.who)
            java.ask("start", first.who, RESTARTED.name, first.start_line())
            _pause(began + COMPARES_AFTER_S + 15)
            for number, look in enumerate(asyncio.run(_two_looks(cluster.namesrv)), 1):
                keep(f"4.8.0-status-{number}.json", text_of(without_traces(look_to_json(look))))
            looks.append(_said(java, cluster.namesrv))
        finally:
            java.close()
    keep("4.8.0-consumerStatus.json", json.dumps(looks, indent=1) + "\n")
    young, old = ({name: "Different" in status["said"] for name, status in look.items()} for look in looks)
    assert not any(young.values())
    assert old["Article"]
    assert not old["OneTag"]


def _start(java: JavaClients, questions: Questions) -> float:
    """Topics, traffic and all members; returns when the last one is known."""
    for topic, queues in TOPICS.items():
        java.ask("topic", topic, queues)
        java.ask("produce", topic, ",".join(TAGS), PERIOD_MS)
    for started in [
        java.tell("start", member.who, one.name, member.start_line()) for one in GROUPS for member in one.members
    ]:
        java.answer(started)
    wanted = {one.name: len(one.members) for one in GROUPS}

    def known() -> dict[str, int]:
        return {name: len(ids) for name, ids in questions.members(wanted).items()}

    until(lambda: known() == wanted, "members", known)
    return time.monotonic()


def _said(java: JavaClients, namesrv: str) -> dict[str, dict[str, object]]:
    """By group: what members ask for, who is first by client id, for how many ms it has run, what the tool printed."""
    status = {}
    for one in GROUPS:
        said = _mqadmin(java, namesrv, "-g", one.name)
        first = f"{ADDRESSES[JAVA_4]}@{min(member.who for member in one.members)}"
        info = _mqadmin(java, namesrv, "-g", one.name, "-i", first)
        asked_at = int(said.split(f"/{ADDRESSES[JAVA_4]}@")[0].split()[-1])
        (started,) = (line.split(":")[1] for line in info.splitlines() if "START_TIMESTAMP" in line)
        asks = [in_words(member) for member in sorted(one.members, key=lambda member: member.who)]
        status[one.name] = {"asks": asks, "first": first, "ran_ms": asked_at - int(started), "said": said}
    return status


def in_words(member: Member) -> str:
    """What a member asks for, as lesson 14 shows it.

    >>> in_words(Member("a", JAVA_4, {"Orders": ("SQL92", "a > 5")}, kind="lite"))
    'SQL92 a > 5, lite pull'
    """
    wishes = [
        f"{'SQL92 ' if kind == 'SQL92' else ''}{text}{'' if topic == ORDERS else f' of {topic}'}"
        for topic, (kind, text) in member.subscribe.items()
    ]
    if member.mode != "clustering":
        wishes.append(member.mode)
    return ", ".join([*wishes, *(["lite pull"] if member.kind == "lite" else [])])


def _mqadmin(java: JavaClients, namesrv: str, *words: str) -> str:
    (text,) = java.ask("mqadmin", time.monotonic_ns(), "consumerStatus", *words, "-n", namesrv)
    return text.replace("\\n", "\n")


async def _two_looks(namesrv: str) -> list:
    async with ReadClient(namesrv, SnapshotOptions(member_timeout_ms=3_000)) as client:
        first = await take_look(client)
        await asyncio.sleep(20)
        return [first, await take_look(client, first)]


def _pause(until_s: float) -> None:
    time.sleep(max(0, until_s - time.monotonic()))


if "RMQLAB_LOOKS" in os.environ:  # makes a recording, in three minutes; no check of ours
    test_record_what_the_tool_says = record_what_the_tool_says
