"""The doctor in front of real clusters: every fault of the scene is found, no healthy group is accused.

The scene's clients are real ones; the servers are the real 4.8.0, the real 5.3.3, and ours. A tap between the doctor
and the servers writes down what the doctor sends. `RMQLAB_LOOKS=DIR` keeps the looks, as `data/doctor` has them.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

import rmqlab
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import State
from rmqlab_tools.doctor.read_client import READ_CODES, ReadClient
from rmqlab_tools.doctor.snapshot import SnapshotOptions
from rmqlab_tools.doctor.snapshot_json import look_to_json
from rmqlab_tools.doctor.take_snapshot import take_look
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.tap import Tap, TapConfig
from rmqlab_tools.live.tap_recording import TapRecording
from rmqlab_tools.live.wire.frame_codec import decode_frame
from tests.doctor.recorded_looks import text_of, without_traces
from tests.doctor.running_scene import RunningScene, until
from tests.doctor.scene import JAVA_4, JAVA_5, ORDERS, SQL_GROUPS, Member, groups_at

pytestmark = pytest.mark.skipif(find_spec("rocketmq") is None, reason="no C++ client: pip install rocketmq")
SERVERS = ["4.8.0", "5.3.3", "serve"]
SETTINGS = {"enablePropertyFilter": "true"}
ASKED = SnapshotOptions(member_timeout_ms=3_000)  # a busy machine is late


@dataclass
class Scene:
    """A running scene with the two looks at it, and every request code that they sent."""

    servers: str
    running: RunningScene
    cluster: object
    looks: list
    codes: set

    def end_broker(self):
        """End the broker at once, the name server stays; ours are one process, so both end."""
        if self.servers == "serve":
            self.cluster.stop()
        else:
            self.cluster.processes[1].kill()
            self.cluster.processes[1].wait()

    def diagnoses(self):
        """What is said of the first look alone, and of the second one after it."""
        first, second = self.looks
        return [diagnose(first), diagnose(second, first)]


def keep(name, text):
    """Write a file where `RMQLAB_LOOKS` says, if it does."""
    if folder := os.environ.get("RMQLAB_LOOKS"):
        (Path(folder) / name).write_text(text, "utf-8")


def look_once(namesrv, asked=ASKED, previous=None):
    """One look, by a client of its own."""

    async def look():
        async with ReadClient(namesrv, asked) as client:
            return await take_look(client, previous)

    return asyncio.run(look())


async def two_looks_through_a_tap(scene, folder):
    """Two looks, offsets moving between them; returns them and the codes of all requests."""
    config = TapConfig(
        Endpoint.parse(scene.namesrv, "name server"), listen=Endpoint(), broker_listen=Endpoint(), with_namesrv=True
    )
    tap = Tap(config, TapRecording(folder))
    await tap.start()
    try:
        async with ReadClient(tap.namesrv_addr, ASKED) as client:
            first = await take_look(client)
            await asyncio.to_thread(scene.wait_moved)
            second = await take_look(client, first)
    finally:
        await tap.stop()
    lines = map(json.loads, (folder / "frames.jsonl").read_text("ascii").splitlines())
    frames = [line for line in lines if line.get("dir") == "c2s" and "frame" in line]
    requests = (decode_frame(bytes.fromhex(line["frame"])[4:]) for line in frames)
    return [first, second], {request.code for request in requests if not request.is_response}


@pytest.fixture(scope="module", params=SERVERS)
def scene(request, jars, real_cluster_of, tmp_path_factory):
    """The scene at each kind of servers: settled, one process hung, looked at twice."""
    home = tmp_path_factory.mktemp("doctor")
    ours = request.param == "serve"
    cluster = rmqlab.serve(**SETTINGS) if ours else real_cluster_of(request.param, home / "cluster", **SETTINGS)
    with cluster:
        namesrv, broker = (cluster.namesrv_addr, cluster.broker_addr) if ours else (cluster.namesrv, cluster.broker)
        with RunningScene(jars, home, namesrv, broker, groups_at(request.param)) as running:
            running.wait_settled()
            running.hang()
            looks, codes = asyncio.run(two_looks_through_a_tap(running, home / "tap"))
            for number, look in enumerate(looks, 1):
                keep(f"{request.param}-{number}.json", text_of(without_traces(look_to_json(look))))
            yield Scene(request.param, running, cluster, looks, codes)


def told(diagnosis):
    """What is said, in lines: for a test that fails."""
    return "\n".join(
        f"{one.group} [{one.state}]: {finding.kind} ({finding.state}, {finding.certainty}) {finding.says}"
        for one in diagnosis.groups
        for finding in one.findings
    )


def test_every_fault_is_found(scene):
    for diagnosis in scene.diagnoses():
        kinds = {one.group: {finding.kind for finding in one.findings} for one in diagnosis.groups}
        missing = {one.name: one.kinds - kinds[one.name] for one in scene.running.groups if one.kinds - kinds[one.name]}
        assert not missing, f"{missing}\n{told(diagnosis)}"
    assert diagnosis.status == 3


def test_what_is_lost_is_told_with_its_share(scene):
    """Of three tags in turn two are asked for, and the owner of half of the queues drops what the slot lets pass."""
    diagnosis = scene.diagnoses()[1]
    groups = {one.group: one for one in diagnosis.groups}
    for name in ("Article", "Wider"):
        assert groups[name].state is State.LOSING, told(diagnosis)
        (lost,) = [finding for finding in groups[name].findings if finding.kind == "losing_messages"]
        assert 0.1 < lost.evidence["share"] < 0.8, lost.says
    for name in ("Orphan", "TwoOwners", "Future", "Modes"):
        assert groups[name].state >= State.AT_RISK, told(diagnosis)
    assert groups["Crowded"].state is State.NOTE, told(diagnosis)


def test_no_healthy_group_is_accused(scene):
    for diagnosis in scene.diagnoses():
        states = {one.group: one.state for one in diagnosis.groups}
        accused = [one.name for one in scene.running.groups if one.healthy and states[one.name] > State.NOTE]
        assert not accused, f"{accused}\n{told(diagnosis)}"


def test_nothing_but_reads_is_sent(scene):
    """By the codes of the frames that a tap wrote down, not by what the client says of itself."""
    assert scene.codes <= READ_CODES
    assert len(scene.codes) > 5


def test_the_groups_are_left_as_they_were(scene):
    """No member is lost, nobody new has come, and what a look cost is told."""
    first, second = scene.looks
    wanted = {group.name: len(group.members) for group in scene.running.groups}
    assert {name: len(group.members) for name, group in second.groups.items() if name in wanted} == wanted
    assert {name: len(ids) for name, ids in scene.running.questions.members(wanted).items()} == wanted
    for look in (first, second):
        requests = sum(cost.requests for cost in look.cost.values())
        assert requests < 20 * len(wanted)
        assert sum(cost.received_bytes for cost in look.cost.values()) > 10_000


def test_mqadmin_sees_no_difference(scene, capsys):
    """What the real tool says of the same groups: for the record, but for the article's group."""
    names = ["Article", "Wider", "SqlDiffers", "Topics", "Modes", "SameTags"]
    tool = JAVA_5 if scene.servers == "5.3.3" else JAVA_4
    said = {name: scene.running.mqadmin("consumerStatus", "-g", name, client=tool) for name in names}
    verdicts = {
        name: [line for line in text.splitlines() if "ubscription in the same group" in line]
        for name, text in said.items()
    }
    keep(f"{scene.servers}-mqadmin.json", json.dumps(said, indent=1) + "\n")
    with capsys.disabled():
        sys.stdout.write(f"\nmqadmin consumerStatus on {scene.servers}: {verdicts}\n")
    assert verdicts["Article"] == ["Same subscription in the same group of consumer"]


@pytest.mark.parametrize("scene", ["4.8.0"], indirect=True)
def test_a_fault_that_comes_and_goes_is_seen_at_once(scene):
    """A member with another tag joins a healthy group and leaves it again."""
    asked = SnapshotOptions(groups=("OneTag",), member_timeout_ms=3_000)
    java, questions = scene.running.java[JAVA_4], scene.running.questions
    namesrv = scene.running.namesrv

    def members(number):
        return lambda: len(questions.members(["OneTag"])["OneTag"]) == number

    def kinds(look, before):
        (group,) = (one for one in diagnose(look, before).groups if one.group == "OneTag")
        return {finding.kind for finding in group.findings}

    late = Member("one-late", JAVA_4, {ORDERS: ("TAG", "tagA")})
    java.ask("start", late.who, "OneTag", late.start_line())
    until(members(3), "the member that comes late", dict)
    during = look_once(namesrv, asked, scene.looks[1])
    assert "different_subscriptions" in kinds(during, scene.looks[1])
    java.ask("stop", late.who)
    until(members(2), "its end", dict)
    after = look_once(namesrv, asked, during)
    assert "different_subscriptions" not in kinds(after, during)


def test_a_filter_that_is_switched_off_is_seen_at_once(scene):
    """`enablePropertyFilter` goes off while SQL92 consumers run: their pulls are refused from then on."""
    asked = SnapshotOptions(groups=tuple(sorted(SQL_GROUPS)), member_timeout_ms=3_000)
    scene.running.questions.set(enablePropertyFilter="false")
    try:
        diagnosis = diagnose(look_once(scene.running.namesrv, asked))
    finally:
        scene.running.questions.set(enablePropertyFilter="true")
    found = {one.group for one in diagnosis.groups if "property_filter_off" in {kind.kind for kind in one.findings}}
    assert found == SQL_GROUPS
    assert diagnosis.status == 3


def test_a_cluster_that_dies_in_the_middle_is_named(scene):
    """The broker ends while a look asks it: the look comes to its end, and says who did not answer."""
    running, slow = scene.running, SnapshotOptions(rate=10, timeout_ms=500, member_timeout_ms=300)

    async def look():
        async with ReadClient(running.namesrv, slow) as client:
            looking = asyncio.create_task(take_look(client))
            await asyncio.sleep(1)  # in the midst: at 10 requests a second it takes several seconds
            assert not looking.done()
            await asyncio.to_thread(scene.end_broker)
            return await looking

    seen = asyncio.run(look())
    assert running.questions.broker in {one.addr for one in seen.unanswered}
    diagnosis = diagnose(seen)
    assert running.questions.broker in json.dumps([finding.as_json() for finding in diagnosis.cluster])
    assert diagnosis.status in {3, 4}
