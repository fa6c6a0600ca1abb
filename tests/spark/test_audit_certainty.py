"""What an audit calls delivered or lost is never against what the events of the recordings show, and it tells a lot.

Each recorded set is audited with more and more known besides its store: nothing, who asked for what, and also when, who
was there and what the broker held. Who got what is for the events to say, which the audit does not see. Nothing here
needs Spark.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections import defaultdict
from copy import deepcopy
from itertools import pairwise

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.run.fates import LOSING, Fate
from rmqlab_tools.live.wire.frame_codec import encode_frame
from rmqlab_tools.spark.audit import scan
from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import NO_SUBSCRIPTIONS, AuditOptions
from rmqlab_tools.spark.audit.event_subscriptions import of_events
from rmqlab_tools.spark.audit.owners import REBALANCE_LAG_MS, Owners
from rmqlab_tools.spark.audit.scan import DETAIL, Scan
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.audit.subscriptions import (
    ALWAYS,
    AVG_BY_CIRCLE,
    NEVER,
    BrokerSubscription,
    ClientSubscription,
    Present,
    Subscriptions,
)
from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from tests.proof.log_maker import LogMaker
from tests.proof.recorded_store import RecordedStore
from tests.spark.test_audit_of_a_tap import judged as judged_in

# Of 100 messages (of 100 that somebody asked for, nobody got, and an offset passed): how many are decided at least.
DECIDED = {
    "audit": (95, 88), "base": (87, 86), "base-2": (78, 75), "bitmap": (90, 100), "lite": (67, 100),
    "lite-2": (67, 100), "noprop": (50, 100), "random-2": (40, 6),
}  # fmt: skip

# The same of the messages, where not everything is known.
LESS = {
    "audit": {"held": 69, "present": 89, "both": 69, "lines": 69},
    "base": {"held": 39, "present": 63, "both": 38, "lines": 38},
    "base-2": {"held": 27, "present": 53, "both": 25, "lines": 25},
    "bitmap": {"held": 68, "present": 90, "both": 68, "lines": 68},
    "lite": {"held": 67, "present": 5, "both": 5, "lines": 5},
    "lite-2": {"held": 67, "present": 5, "both": 5, "lines": 5},
    "noprop": {"held": 0, "present": 25, "both": 0, "lines": 0},
    "random-2": {"held": 36, "present": 46, "both": 36, "lines": 36},
}

# The same with the frames that went over the wire, which do not tell who owned a queue.
FRAMES = {"audit": 87, "base": 61, "base-2": 49, "bitmap": 90, "lite": 5, "lite-2": 5, "noprop": 25, "random-2": 39}
# Its broker told no member when others came and went (`notifyConsumerIdsChangedEnable`).
UNTOLD = "random-2"
# What somebody subscribed whose connection was frozen: that never went over the wire.
NOT_SENT = {("G_q-018", "T_q-018"): {("TAG", "tagC")}}


class Recorded:
    """A recorded set, and who of its groups got which message."""

    def __init__(self, name):
        self.name, self._recording = name, RecordedStore(name)
        self.store, self.cleanup = self._recording.store, self._recording.cleanup
        self.subscriptions = read_subscriptions(self._recording.events)
        self.got = defaultdict(set)
        group_of = {}
        with gzip.open(self._recording.events, "rt") as stream:
            for line in stream:
                event = json.loads(line)
                if event["ev"] == "scenario":
                    for step in event["scenario"]["steps"]:
                        if step["do"] == "start":
                            group_of[event["id"], step["who"]] = f"{step['group']}_{event['id']}"
                elif event["ev"] == "consume":
                    self.got[group_of[event["id"], event["who"]]].add(event["msgId"])

    def judged(self, subscriptions):
        """Every message of every group with its fate."""
        options = AuditOptions(subscriptions=subscriptions, notify_consumer_ids_changed=self.name != UNTOLD)
        audit = Audit(None, self.store, options)
        # A copy is what a worker gets.
        scan = Scan(
            deepcopy(audit.stores[0].inferences(audit.cluster)),
            LONG_MIN,
            LONG_MAX,
            check_crc=False,
            end=audit.stores[0].end,
            each_message=True,
        )
        batches = list(scan.run(log_ranges(log_files(self.store), 1 << 40)))
        return [row for batch in batches for row in batch.to_pylist() if row["kind"] == DETAIL]

    def is_true(self, row):
        got = row["key"] in self.got[row["group"]]
        return got if row["fate"] == Fate.DELIVERED else not got

    def wrong(self, rows):
        """What is said to be certain, and is not what happened."""
        wrong = [row for row in sure(rows) if not self.is_true(row)]
        return [(row["group"], row["tag"], row["queueId"], row["queueOffset"], row["fate"]) for row in wrong]


def sure(rows):
    return [row for row in rows if row["certainty"] != "unknown"]


def lost(rows):
    """Those that are lost for certain."""
    return [row for row in sure(rows) if Fate(row["fate"]) in LOSING and row["asked"] == "yes"]


def lines(known):
    """What a person writes into a file of subscriptions: who asked for what, a line each, and nothing of times."""
    asked = {
        key: [ClientSubscription(one.client, one.type, one.expression) for one in all_of]
        for key, all_of in known.client_subscriptions.items()
    }
    return Subscriptions(asked, {}, frozenset(asked), {})


@pytest.fixture(scope="module", params=sorted(DECIDED))
def recorded(request):
    recording = Recorded(request.param)
    yield recording
    recording.cleanup()


@pytest.fixture(scope="module")
def judged(recorded):
    return recorded.judged(recorded.subscriptions)


def test_what_is_implied_is_what_happened(recorded, judged):
    assert recorded.wrong(judged) == []


def test_what_is_unknown_has_a_reason_and_nothing_else_has(judged):
    assert all((row["reason"] is None) == (row["certainty"] != "unknown") for row in judged)
    fates = {row["fate"] for row in judged if row["certainty"] == "unknown"}
    assert fates <= {Fate.PASSED, Fate.WAITING, Fate.NO_OWNER}
    assert Fate.PASSED not in {row["fate"] for row in sure(judged)}


def test_most_fates_and_most_losses_are_decided(recorded, judged):
    everything, losses = DECIDED[recorded.name]
    left = (Fate.WAITING, Fate.NO_OWNER)
    gone = [row for row in judged if row["asked"] == "yes" and row["key"] not in recorded.got[row["group"]]]
    gone = [row for row in gone if row["fate"] not in left]
    assert 100 * len(sure(judged)) // len(judged) >= everything
    assert 100 * len(lost(judged)) // len(gone) >= losses
    assert {row["fate"] for row in sure(judged)} >= {Fate.DELIVERED, Fate.DROPPED_BY_BROKER_TAG}


def test_what_is_judged_apart_from_what_came_next_is_told_less_and_nothing_else(recorded, judged, monkeypatch):
    """A log of many messages is judged in pieces: each file here."""
    monkeypatch.setattr(scan, "_MAX_ROWS", 0)
    whole, apart = (
        {(row["group"], row["topic"], row["queueId"], row["queueOffset"]): row["fate"] for row in sure(rows)}
        for rows in (judged, recorded.judged(recorded.subscriptions))
    )
    assert apart.items() <= whole.items()


@pytest.mark.parametrize("pieces", [False, True])
def test_what_nobody_kept_at_the_end_of_a_piece_is_left_open(tmp_path, monkeypatch, pieces):
    """A drops tagB every 15 s, which moves no offset on: B looks at all three. Each message has a file of its own."""
    log = LogMaker(160)
    for number, stored in enumerate((60_000, 75_000, 90_000)):
        log.add(queue_offset=number, properties={"TAGS": "tagB"}, stored=stored)
    log.write(tmp_path)
    assert len(log.files) == 3
    topics = {"topicConfigTable": {"T": {"topicName": "T", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}}}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "topics.json").write_text(json.dumps(topics))
    (tmp_path / "config" / "consumerOffset.json").write_text('{"offsetTable": {"T@G": {"0": 3}}}')
    if pieces:
        monkeypatch.setattr(scan, "_MAX_ROWS", 0)
    key, dropped, unknown = ("G", "T"), (Fate.DROPPED_BY_CLIENT, "implied"), (Fate.PASSED, "unknown")
    for b_came, expected in ((95_000, [unknown] * 3), (125_000, [unknown if pieces else dropped] * 2 + [dropped])):
        asked = [
            ClientSubscription("A", "TAG", "tagA", until=b_came, since=0),
            ClientSubscription("B", "TAG", "tagB", since=b_came),
        ]
        present = {"G": [Present(0, ("A",)), Present(b_came, ("B",))]}
        known = Subscriptions({key: asked}, {key: [BrokerSubscription("TAG", "tagB", 0)]}, frozenset({key}), present)
        assert list(judged_in(tmp_path, known).values()) == expected


def test_a_store_alone_says_of_no_message_that_it_was_delivered_or_lost(recorded):
    rows = recorded.judged(NO_SUBSCRIPTIONS)
    assert rows
    assert {row["certainty"] for row in rows} == {"unknown"}


@pytest.mark.parametrize("forgotten", ["held", "present", "both", "lines"])
def test_who_knows_less_is_told_less_and_nothing_wrong(recorded, judged, forgotten):
    """Without the broker's view of the group, and without its members; and the lines of a file: subscriptions alone."""
    known = recorded.subscriptions
    if forgotten == "lines":
        known = lines(known)
    if forgotten in {"held", "both"}:
        known = known._replace(broker_subscriptions={})
    if forgotten in {"present", "both"}:
        known = known._replace(present={})
    rows = recorded.judged(known)
    assert recorded.wrong(rows) == []
    assert len(rows) == len(judged)
    assert 100 * len(sure(rows)) // len(rows) >= LESS[recorded.name][forgotten]


def test_two_members_with_different_tags_are_never_told_that_everything_arrived(recorded):
    """Each message is refused by one of the two. The eight messages are such a group: two lines cannot say which."""
    apart = {
        key[0]
        for key, asked in recorded.subscriptions.client_subscriptions.items()
        if {one.expression for one in asked} == {"tagA", "tagB"}
    }
    rows = [row for row in recorded.judged(lines(recorded.subscriptions)) if row["group"] in apart]
    assert bool(rows) == (recorded.name in {"base", "base-2", "lite", "lite-2", "noprop"})
    assert Fate.DELIVERED not in {row["fate"] for row in rows}


def test_the_eight_messages():
    """In truth two were delivered and six lost; the store alone, and two lines besides, leave all eight open."""
    recording = Recorded("base")
    group, topic = "G_p-article-000", "T_p-article-000"
    assert len(recording.got[group]) == 2
    asked = {(group, topic): [ClientSubscription("A", "TAG", "tagA"), ClientSubscription("B", "TAG", "tagB")]}
    for known in (NO_SUBSCRIPTIONS, Subscriptions(asked, {}, frozenset(asked), {})):
        rows = [row for row in recording.judged(known) if row["group"] == group]
        assert [(row["fate"], row["certainty"]) for row in rows] == [("passed", "unknown")] * 8
    rows = [row for row in recording.judged(recording.subscriptions) if row["group"] == group]
    assert (sum(row["fate"] == Fate.DELIVERED for row in rows), len(lost(rows))) == (2, 6)
    recording.cleanup()


def test_what_all_members_ask_for_is_delivered_whoever_looked_at_it(tmp_path):
    """One asks for all, one for tagA: of tagA it does not matter what the broker held, nor who owned the queue."""
    log = LogMaker(4096)
    for number, tag in enumerate(["tagA", "tagB"]):
        log.add(queue_offset=number, properties={"TAGS": tag}, stored=60_000)
    log.write(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "consumerOffset.json").write_text('{"offsetTable": {"T@G": {"0": 2}}}')
    asked = {("G", "T"): [ClientSubscription("", "TAG", "*"), ClientSubscription("", "TAG", "tagA")]}
    said = judged_in(tmp_path, Subscriptions(asked, {}, frozenset(asked), {}))
    assert list(said.values()) == [(Fate.DELIVERED, "implied"), (Fate.PASSED, "unknown")]


def test_frames_alone_tell_what_heartbeats_say_and_nothing_wrong(recorded, golden, tmp_path):
    """What `rmqlab tap` writes: no events lie beside it, and no line says what time it was."""
    folder = tmp_path / "tapped"
    folder.mkdir()
    for name in ("frames.jsonl.gz", "broker.conf"):
        shutil.copy(golden / "broker-4.8.0" / recorded.name / name, folder / name)
    known = read_subscriptions(folder)
    assert known == read_subscriptions(folder / "frames.jsonl.gz")
    texts = [
        {key: {(one.type, one.expression) for one in asked} for key, asked in each.client_subscriptions.items()}
        for each in (known, recorded.subscriptions)
    ]
    assert texts[0] == {key: asked - NOT_SENT.get(key, set()) for key, asked in texts[1].items()}
    rows = recorded.judged(known)
    times = [row["storeTimestamp"] for row in rows]
    assert known.span[0] <= min(times) <= max(times) <= known.span[1]
    assert recorded.wrong(rows) == []
    assert 100 * len(sure(rows)) // len(rows) >= FRAMES[recorded.name]


def owners(present, asked=(), queues=4):
    return Owners("G", "T", queues, [Present(*one) for one in present], [ClientSubscription(*one) for one in asked])


def numbers(*values):
    import numpy as np

    return np.array(values, np.int64)


def test_owners_follow_members_and_strategy():
    both = owners([(ALWAYS, ("A",)), (1_000, ("A", "B"))])
    assert both.at(numbers(999, 1_000, 1_000), numbers(3, 1, 3)).tolist() == [0, 0, 1]
    circle = owners([(ALWAYS, ("A", "B"), AVG_BY_CIRCLE)])
    assert circle.at(numbers(1, 1), numbers(1, 2)).tolist() == [1, 0]
    # It asks for more than is known here: the name of the broker.
    assert owners([(ALWAYS, ("A", "B"), "CONSISTENT_HASH")]).at(numbers(1), numbers(1)).tolist() == [-1]
    assert both.at(numbers(1), numbers(7)).tolist() == [-1]


@pytest.mark.parametrize(("until", "reach"), [(200_000, 20_000), (None, 150_000)])
def test_a_silent_client_leaves_more_to_the_next_owner_than_one_that_said_goodbye(until, reach):
    asked = [("A", "TAG", "*") if until is None else ("A", "TAG", "*", until)]
    found = owners([(0, ("A", "B")), (200_000, ("B",))], asked)
    times = numbers(200_000 - reach - 1, 200_000 - reach, 199_999, 200_000)
    queues = numbers(0, 0, 0, 0)
    _, (may, later) = found.others(found.window(times, queues), queues)
    assert may.tolist() == [False, True, True, False]
    assert found.clients[later[1]] == "B"


def stamps(view):
    """When (ms) the subscriptions in a look at a group were stamped."""
    return [int(text.rpartition("@")[2]) for topic, text in view["subs"].items() if not topic.startswith("%")]


def test_the_others_take_less_than_half_of_what_is_allowed_to_notice_a_change_of_members(golden):
    """Whoever gets other queues stamps its subscription anew: the last stamp after a change says when all knew."""
    took = []
    for name in DECIDED.keys() - {UNTOLD}:
        looks = defaultdict(list)
        with gzip.open(golden / "broker-4.8.0" / name / "events.jsonl.gz", "rt") as stream:
            for event in map(json.loads, stream):
                if event["ev"] == "broker" and "subs" in event.get("view", {}):
                    looks[event["id"], event["group"]].append((event["t"], event["view"]))
        for seen in looks.values():
            for (_, before), (changed, now) in pairwise(seen):
                if before["clients"] != now["clients"]:
                    after = [view for t, view in seen if changed < t < changed + 3_000]
                    same = [stamp for view in after if view["clients"] == now["clients"] for stamp in stamps(view)]
                    took.append(max([changed, *same]) - changed)
    assert len(took) == 228
    assert max(took) == 198 < REBALANCE_LAG_MS / 2


def test_the_owner_before_may_pull_until_it_has_heard_of_the_next():
    found = owners([(0, ("A",)), (100_000, ("A", "B"))])
    times = numbers(99_999, 100_000, 100_400, 100_401)
    queues = numbers(3, 3, 3, 3)
    (still, before), _ = found.others(found.window(times, queues), queues)
    assert still.tolist() == [False, True, True, False]
    assert [found.clients[place] for place in before[1:3]] == ["A", "A"]
    assert [found.clients[place] for place in found.at(times, queues)] == ["A", "B", "B", "B"]


def test_nobody_looks_before_the_first_member_and_while_nobody_is_there():
    found = owners([(100, ("A",)), (200, ()), (300, ("B",))])
    begin, early = found.begins(numbers(50, 150, 250, 350))
    assert begin.tolist() == [100, 150, 300, 350]
    assert early.tolist() == [True, False, False, False]
    assert found.at(begin, numbers(0, 0, 0, 0)).tolist() == [0, 0, 1, 1]


def test_a_subscription_may_have_been_in_force_between_two_looks_at_the_broker(tmp_path):
    """A asked for tagB, and 11 ms later B for tagA again; whoever looked every 50 ms saw tagA all the time."""
    log = LogMaker(4096)
    for number, stored in enumerate((60_000, 100_005, 200_000)):
        log.add(queue_offset=number, properties={"TAGS": "tagB"}, stored=stored)
    log.write(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "consumerOffset.json").write_text('{"offsetTable": {"T@G": {"0": 3}}}')
    asked = [
        ClientSubscription("A", "TAG", "tagC", until=100_000, since=0),
        ClientSubscription("A", "TAG", "tagB", since=100_000),
        ClientSubscription("B", "TAG", "tagA", until=100_011, since=0),
        ClientSubscription("B", "TAG", "tagA", since=100_011),
    ]
    key = ("G", "T")
    held, present = {key: [BrokerSubscription("TAG", "tagA", 0)]}, {"G": [Present(0, ("A", "B"))]}
    known = Subscriptions({key: asked}, held, frozenset({key}), present)
    said = judged_in(tmp_path, known)
    assert [certainty for _, certainty in said.values()] == ["implied", "unknown", "implied"]


def test_no_owner_is_not_implied_of_what_another_members_tag_lets_pass(tmp_path):
    """Who broadcasts commits nothing; the broker may hold C's BB, whose hash is that of Aa, and A keeps what comes."""
    log = LogMaker(4096)
    log.add(queue_offset=0, properties={"TAGS": "Aa"}, stored=60_000)
    log.add(queue_offset=1, properties={"TAGS": "tagA"}, stored=60_001)
    log.write(tmp_path)
    asked = {("G", "T"): [ClientSubscription("A", "SQL92", "a = 'x'"), ClientSubscription("C", "TAG", "BB")]}
    said = judged_in(tmp_path, Subscriptions(asked, {}, frozenset(asked), {}))
    assert said == {(0, 0): (Fate.NO_OWNER, "unknown"), (0, 1): (Fate.NO_OWNER, "implied")}


def beat(t, conn, client, expression, version, kind="TAG"):
    data = HeartbeatData(
        client,
        consumer_data_set=[
            ConsumerData(
                "G", ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING,
                ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET, [build_subscription("T", expression, kind, version)],
            )
        ],
    )  # fmt: skip
    command = RemotingCommand.request(RequestCode.HEART_BEAT, body=data.encode())
    return {"t": t, "conn": conn, "dir": "c2s", "frame": encode_frame(command).hex()}


def test_two_stamps_of_the_same_ms_leave_open_what_the_broker_held(tmp_path):
    """It keeps the one that it reads first, of two connections; the recorder may have seen them the other way round."""
    lines = [{"t": 0.0, "conn": conn, "open": True} for conn in (1, 2)]
    for name, versions in (("apart", (1_000, 1_001)), ("tied", (1_000, 1_000))):
        beats = [beat(10.0, 1, "A", "tagA", versions[0]), beat(10.0, 2, "B", "tagB", versions[1])]
        (tmp_path / name).mkdir()
        (tmp_path / name / "frames.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines + beats))
        (tmp_path / name / "broker.conf").write_text("")
    held = {name: read_subscriptions(tmp_path / name).broker_subscriptions for name in ("apart", "tied")}
    assert [one.expression for one in held["apart"]["G", "T"]] == ["tagA", "tagB"]
    assert held["tied"] == {}


def test_a_tag_and_a_condition_of_the_same_text_and_stamp_are_tied_too(tmp_path):
    lines = [{"t": 0.0, "conn": conn, "open": True} for conn in (1, 2)]
    lines += [beat(10.0, 1, "A", "a", 1_000), beat(10.0, 2, "B", "a", 1_000, kind="SQL92")]
    (tmp_path / "frames.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "broker.conf").write_text("")
    assert read_subscriptions(tmp_path).broker_subscriptions == {}


def test_two_processes_of_one_id_both_ask(tmp_path):
    """A mistake that loses messages: neither's wish ends the other's, and a client that connects anew is one client."""
    lines = [{"t": 0.0, "conn": conn, "open": True} for conn in (1, 2, 3)]
    lines += [beat(10.0, 1, "A", "tagA", 1_000), beat(20.0, 2, "A", "tagB", 2_000), beat(30.0, 3, "A", "tagA", 1_000)]
    (tmp_path / "frames.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "broker.conf").write_text("")
    asked = read_subscriptions(tmp_path).client_subscriptions["G", "T"]
    assert [(one.client, one.expression, one.until == NEVER) for one in asked] == [
        ("A", "tagA", True),
        ("A (connection 2)", "tagB", True),
    ]


def test_a_step_that_waited_for_the_one_before_was_made_later_than_it_was_meant_to_be():
    """Whoever stops behind a frozen connection takes seconds, and the next step waits: B starts, freezes, asks anew."""
    start = {"do": "start", "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "tagA"}}}
    steps = [
        {"at": 0, "who": "A", **start}, {"at": 1_000, "do": "stop", "who": "A"}, {"at": 1_500, "who": "B", **start},
        {"at": 2_000, "do": "freeze", "who": "B", "forMs": 3_000},
        {"at": 2_500, "do": "subscribe", "who": "B", "topic": "T", "type": "TAG", "expr": "tagB"},
    ]  # fmt: skip
    told = [
        {"t": 0, "ev": "scenario", "epochMs": 50_000, "scenario": {"id": "x", "topics": {"T": 1}, "steps": steps}},
        {"t": 2_500, "ev": "starting", "who": "A"}, {"t": 3_500, "ev": "stopping", "who": "A"},
        {"t": 10_000, "ev": "stopped", "who": "A"}, {"t": 10_001, "ev": "starting", "who": "B"},
        {"t": 10_002, "ev": "started", "who": "B"}, {"t": 10_003, "ev": "control", "line": "freeze @B"},
        {"t": 10_004, "ev": "subscribed", "who": "B", "expr": "tagB"},
    ]  # fmt: skip
    known = of_events(("", {"id": "x", **event}) for event in told)
    assert [(one.client, one.since, one.until) for one in known.client_subscriptions["G_x", "T_x"]] == [
        ("A", 52_500, 53_500), ("B", 60_001, 60_003), ("B", 60_003, NEVER)
    ]  # fmt: skip
    assert known.paused == {"G_x": [(60_002, 63_002)]}


def test_whoever_says_nothing_for_long_may_have_stood_still(tmp_path):
    """A client asks for the members of its group every 20 s; A is silent for 30 s and B until the end."""
    beats = [beat(t, 1, "A", "tagA", 1_000) for t in (10.0, 20_010.0, 50_010.0, 60_010.0, 70_000.0)]
    beats += [beat(t, 2, "B", "tagA", 1_000) for t in (15.0, 20_015.0, 40_015.0)]
    lines = [{"t": 0.0, "conn": conn, "open": True} for conn in (1, 2)]
    lines += [{"t": 0.0, "conn": conn, "client": client} for conn, client in ((1, "A"), (2, "B"))]
    lines += sorted(beats, key=lambda line: line["t"])
    (tmp_path / "frames.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "broker.conf").write_text("")
    known = read_subscriptions(tmp_path)
    zero = known.span[0]
    assert [(since - zero, until - zero) for since, until in known.paused["G"]] == [(20_010, 50_010), (40_015, 70_000)]
