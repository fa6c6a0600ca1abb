"""How far a replay may depart from the order of a recording, on recordings of a few frames."""

from __future__ import annotations

import json
from itertools import count

import pytest

from rmqlab.errors import BadInput
from rmqlab.message.java import in_hash_map_order
from rmqlab.message.message import Host, MessageExt
from rmqlab.message.properties import properties_to_string
from rmqlab.message.record import body_crc, encode_record
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.admin_headers import CreateTopicRequestHeader
from rmqlab.protocol.bodies import (
    GetConsumerListByGroupResponseBody,
    LockBatchRequestBody,
    LockBatchResponseBody,
    UnlockBatchRequestBody,
)
from rmqlab.protocol.command import ONEWAY, RemotingCommand
from rmqlab.protocol.consumer_headers import (
    FLAG_COMMIT_OFFSET,
    GetConsumerListByGroupRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
    PullMessageRequestHeader,
    PullMessageResponseHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from rmqlab.protocol.header import CommandHeader, WithOffset
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.producer_headers import SendMessageRequestHeaderV2, SendMessageResponseHeader
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.cli.cli import main
from rmqlab_tools.live.wire.frame_codec import encode_frame
from rmqlab_tools.recordings.frames import read_recording
from tests.proof.replay.replay import replay
from tests.proof.replay.tolerated_differences import Tolerated

EPOCH = 1_700_000_000_000
SETTINGS = "brokerName=broker-a\nbrokerIP1=127.0.0.1\nlistenPort=10911\nautoCreateTopicEnable=true\n"
NOT_LATEST = 25, "the consumer's subscription not latest"


class Tape:
    """A small recording, written frame by frame; `save` sorts by time. Group G, topic T, queue 0."""

    def __init__(self):
        self.lines = []
        self._opaques = count(1)
        self.open(9)
        header = CreateTopicRequestHeader("T", "TBW102", 1, 1, 6, "SINGLE_TAG", 0)
        self.answer(2, 9, self.ask(1, 9, 17, header), 0, "not set any response code")

    def open(self, conn, t=0.0):
        self.lines.append({"t": t, "conn": conn, "open": True})

    def close(self, conn, t, side="c2s"):
        self.lines.append({"t": t, "conn": conn, "dir": side, "close": True})

    def frame(self, t, conn, side, command):
        self.lines.append({"t": t, "conn": conn, "dir": side, "frame": encode_frame(command).hex()})

    def ask(self, t, conn, code, header=None, body=None, *, oneway=False):
        request = RemotingCommand.request(code, header, body)
        request.opaque = next(self._opaques)
        if oneway:
            request.flag |= ONEWAY
        self.frame(t, conn, "c2s", request)
        return request

    def answer(self, t, conn, request, code=0, remark=None, header=None, body=None):
        self.frame(t, conn, "s2c", RemotingCommand.response(code, remark, header, body).reply_to(request))

    def notice(self, t, conn, opaque=500, group="G"):
        request = RemotingCommand.request(40, NotifyConsumerIdsChangedRequestHeader(consumer_group=group))
        request.opaque = opaque
        request.flag |= ONEWAY
        self.frame(t, conn, "s2c", request)

    def beat(self, t, conn, tags, version, client="A", answered=None, topics=("T",)):
        consumer = ConsumerData(
            group_name="G",
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=[build_subscription(topic, tags, None, version) for topic in topics],
        )
        request = self.ask(t, conn, 34, None, HeartbeatData(client_id=client, consumer_data_set=[consumer]).encode())
        if answered is not None:
            self.answer(answered, conn, request)
        return request

    def pull(self, t, conn, offset=0, version=1, suspend=2, commit=0):
        flags = suspend | FLAG_COMMIT_OFFSET * (commit > 0)
        header = PullMessageRequestHeader("G", "T", 0, offset, 32, flags, commit, 15_000, None, version, "TAG")
        return self.ask(t, conn, 11, header)

    def times_out(self, t, answered):
        """A pull of the empty queue that is held until its time is over."""
        request = self.pull(t, 1, version=EPOCH)
        self.pulled(answered, 1, request, 19, "NO_MESSAGE_IN_QUEUE", (0, 0, 0))
        return request

    def pulled(self, t, conn, request, code, remark, offsets=None, body=None):
        """Answer a pull; `offsets`: next, lowest and highest."""
        header = PullMessageResponseHeader() if offsets is None else PullMessageResponseHeader(0, *offsets)
        self.answer(t, conn, request, code, remark, header, body)

    def send(self, t, conn, tag, answered, at=0, offset=0, **properties):
        """Send a message that is stored at commit log offset `at`; one-way, if it is not `answered`."""
        properties = properties_to_string({"TAGS": tag} | properties)
        header = SendMessageRequestHeaderV2("P", "T", "TBW102", 1, 0, 0, EPOCH + int(t), 0, properties, 0)
        request = self.ask(t, conn, 310, header, b"body", oneway=answered is None)
        if answered is None:
            return
        answer = SendMessageResponseHeader(f"7F00000100002A9F{at:016X}", 0, offset)
        response = RemotingCommand.response(0, None, answer)
        response.ext_fields = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
        self.frame(answered, conn, "s2c", response.reply_to(request))

    def save(self, folder, settings=SETTINGS):
        (folder / "broker.conf").write_text(settings)
        lines = sorted(self.lines, key=lambda line: line["t"])
        (folder / "frames.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return folder


def message(tag, offset, at, t, late=0, topic="T", **properties):
    """The record of a message that was stored `late` ms after it was sent."""
    return encode_record(
        MessageExt(
            topic=topic,
            body=b"body",
            properties=in_hash_map_order({"TAGS": tag} | properties | {"CLUSTER": "DefaultCluster"}),
            queue_offset=offset,
            commit_log_offset=at,
            born_timestamp=EPOCH + t,
            store_timestamp=EPOCH + t + late,
            born_host=Host("127.0.0.1", 1_000),
            store_host=Host("127.0.0.1", 10_911),
            body_crc=body_crc(b"body"),
        )
    )


def joined(*members):
    """Members with version 1, each at `t` ms with its tags, on connections 1, 2, ...; all who are there are told."""
    tape = Tape()
    for conn, (name, t, tags) in enumerate(members, 1):
        tape.open(conn)
        tape.beat(t, conn, tags, EPOCH, client=name, answered=t + 1)
        for told in range(1, conn + 1):
            tape.notice(t + 0.5, told)
    return tape


def two_members(*tags):
    """A on connection 1 and B on connection 2, registered one after the other with version 1, and told about it."""
    return joined(*zip("AB", (10, 20), tags, strict=True))


def one_member():
    """One consumer, connected and registered with version 1, and told about it."""
    tape = Tape()
    tape.open(1)
    tape.beat(10, 1, "tagA", EPOCH, answered=11)
    tape.notice(10.5, 1)
    return tape


@pytest.fixture
def tape():
    return one_member()


def test_a_pull_may_overtake_a_heartbeat_that_is_under_way(tape, tmp_path):
    tape.beat(100.0, 1, "tagA", EPOCH + 100, answered=103)
    pull = tape.pull(100.4, 1, version=EPOCH + 100)
    tape.pulled(101, 1, pull, *NOT_LATEST)
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    (reordering,) = result.reorderings
    assert (reordering.seen_first.code, reordering.handled_first.code) == (34, 11)
    assert reordering.gap_ms == pytest.approx(0.4)
    assert result.near == 1


def test_a_pull_may_not_overtake_a_heartbeat_that_was_answered_before(tape, tmp_path):
    tape.beat(100.0, 1, "tagA", EPOCH + 100, answered=100.2)
    pull = tape.pull(100.4, 1, version=EPOCH + 100)
    tape.pulled(101, 1, pull, *NOT_LATEST)
    result = replay(tape.save(tmp_path))
    assert [(one.code, one.field) for one in result.differing] == [(11, "answer")]
    assert result.reorderings == []


def test_a_heartbeat_may_overtake_a_pull_that_is_under_way(tape, tmp_path):
    pull = tape.pull(100.0, 1, version=EPOCH + 100)
    tape.beat(100.3, 1, "tagA", EPOCH + 100, answered=100.8)
    request = tape.pull(200.0, 1, version=EPOCH + 101)
    tape.pulled(201, 1, request, *NOT_LATEST)
    result = replay(tape.save(tmp_path))
    # The first pull is held: with the subscription known before it, it would have been refused.
    assert result.differing == []
    assert [(one.seen_first.opaque, one.handled_first.code) for one in result.reorderings] == [(pull.opaque, 34)]


@pytest.mark.parametrize("winner", ["tagA", "tagB"])
def test_of_two_beats_of_one_version_either_may_have_come_first(tmp_path, winner):
    """Which one shows only when a message comes: the other order is tried in a second pass."""
    tape = Tape()
    for conn, name, tags in ((1, "A", "tagA"), (2, "B", "tagB")):
        tape.open(conn)
        tape.beat(10 + conn / 10, conn, tags, EPOCH, client=name, answered=12)
        for index in range(2 if (conn == 1) == (winner == "tagA") else 1):
            tape.notice(11 + index / 10, conn)
    tape.open(3)
    pull = tape.pull(100, 1, version=EPOCH)
    tape.send(200, 3, winner, 200.9)
    record = message(winner, 0, 0, 200)
    tape.pulled(201, 1, pull, 0, "FOUND", (1, 0, 1), record)
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.passes == (1 if winner == "tagA" else 2)
    assert len(result.reorderings) == result.passes - 1


@pytest.mark.row("S-77")
@pytest.mark.parametrize("first_answered", ["A", "B"])
@pytest.mark.parametrize("handled_first", ["A", "B"])
def test_of_two_beats_of_one_version_that_came_at_once_pulls_tell_which_was_first(
    tmp_path, handled_first, first_answered
):
    """Both members are known, so nobody is told of anything; 0.8 s later a message shows whose tags are in force."""
    tape = two_members("tagA", "tagA")
    beats = {}
    for conn, name, t in ((1, "A", 1_000.0), (2, "B", 1_000.1)):
        answered = 1_000.5 if name == first_answered else 1_000.7
        beats[name] = tape.beat(t, conn, f"tag{name}", EPOCH + 1_000, client=name, answered=answered).opaque
    record = sent(tape, 1_700.0, 1_700.9, "tagB")
    pull = tape.pull(1_800.0, 2, version=EPOCH + 1_000)
    if handled_first == "B":
        tape.pulled(1_800.5, 2, pull, 0, "FOUND", (1, 0, 1), record)
    else:
        tape.pulled(1_800.5, 2, pull, 20, "NO_MATCHED_MESSAGE", (1, 0, 1))
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert [(one.second.opaque, one.first.opaque) for one in result.orders] == (
        [(beats["B"], beats["A"])] if handled_first == "B" else []
    )
    assert len(result.reorderings) == len(result.orders)


def test_each_of_several_such_pairs_is_put_right(tmp_path):
    """In three pairs of heartbeats B's was handled first, though A's was seen first; B's pulls say so every time."""
    tape = two_members("tagA", "tagA")
    tape.open(3)
    size = len(message("tagB", 0, 0, 0))
    for index, t in enumerate((1_000, 2_000, 3_000)):
        tape.beat(t, 1, "tagA", EPOCH + t, client="A", answered=t + 0.5)
        tape.beat(t + 0.1, 2, "tagB", EPOCH + t, client="B", answered=t + 0.5)
        tape.send(t + 100, 3, "tagB", t + 100.9, index * size, index)
        pull = tape.pull(t + 200, 2, index, version=EPOCH + t)
        record = message("tagB", index, index * size, t + 100)
        tape.pulled(t + 200.5, 2, pull, 0, "FOUND", (index + 1, 0, index + 1), record)
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert [(order.second.line.t, order.first.line.t) for order in result.orders] == [
        (t + 0.1, t) for t in (1_000, 2_000, 3_000)
    ]
    assert result.passes == 4


def test_a_beat_that_was_answered_before_the_other_came_was_the_first(tmp_path):
    tape = two_members("tagA", "tagB")
    record = sent(tape, 200.0, 200.9, "tagB")
    pull = tape.pull(300.0, 2, version=EPOCH)
    tape.pulled(300.5, 2, pull, 0, "FOUND", (1, 0, 1), record)
    assert {one.opaque for one in replay(tape.save(tmp_path)).differing} == {pull.opaque}


def test_a_commit_comes_before_that_of_a_pull_which_was_seen_later(tmp_path):
    """A gives the queue up and commits 1, one-way; B's pull commits 2 some ms later, and is held."""
    tape = two_members("tagA", "tagA")
    tape.open(3)
    for offset in range(2):
        tape.send(100 + 10 * offset, 3, "tagB", 101 + 10 * offset, offset * len(message("tagB", 0, 0, 0)), offset)
    tape.ask(1_000.0, 1, 15, UpdateConsumerOffsetRequestHeader("G", "T", 0, 1), oneway=True)
    tape.pull(1_004.0, 2, 2, version=EPOCH, commit=2)
    query = tape.ask(1_500.0, 1, 14, QueryConsumerOffsetRequestHeader("G", "T", 0))
    tape.answer(1_500.5, 1, query, 0, None, WithOffset(2))
    result = replay(tape.save(tmp_path))
    assert (result.differing, result.passes) == ([], 1)


@pytest.mark.parametrize("handled_first", ["message", "beat"])
def test_a_message_may_wake_a_pull_just_before_a_beat_that_is_answered_first(tape, tmp_path, handled_first):
    """With the subscription of before it brings the message of tagA alone, with that of the beat both."""
    tape.open(3)
    pull = tape.pull(100.0, 1, version=EPOCH)
    records = message("tagB", 0, 0, 500), message("tagA", 1, len(message("tagB", 0, 0, 0)), 500)
    tape.send(500.0, 3, "tagB", 500.4)
    tape.send(500.5, 3, "tagA", 500.9, len(records[0]), 1)
    tape.beat(501.0, 1, "*", EPOCH + 501, answered=501.5)
    tape.pulled(501.6, 1, pull, 0, "FOUND", (2, 0, 2), b"".join(records[handled_first == "message" :]))
    result = replay(tape.save(tmp_path))
    assert (result.differing, result.passes) == ([], 2 if handled_first == "message" else 1)


@pytest.mark.parametrize(("later", "accepted"), [(20.0, True), (250.0, False)])
def test_what_nobody_answers_may_come_after_a_request_seen_a_while_later(tape, tmp_path, later, accepted):
    """A client gives a queue up and another asks for its lock: on two threads of the broker."""
    queue = MessageQueue("T", "broker-a", 0)
    tape.open(2)
    lock(tape, 100, 1, "A", queue, granted=True)
    tape.ask(200, 1, 42, None, UnlockBatchRequestBody("G", "A", [queue]).encode(), oneway=True)
    lock(tape, 200 + later, 2, "B", queue, granted=False)
    lock(tape, 800, 2, "B", queue, granted=True)
    result = replay(tape.save(tmp_path))
    assert (result.differing == []) is accepted
    assert len(result.reorderings) == len(result.orders) == accepted


def lock(tape, t, conn, client, queue, *, granted):
    """A client asks for the lock of a queue and gets it, or not."""
    request = tape.ask(t, conn, 41, None, LockBatchRequestBody("G", client, [queue]).encode())
    tape.answer(t + 0.5, conn, request, 0, None, None, LockBatchResponseBody([queue] if granted else []).encode())


def test_a_look_was_a_whole_pause_before_the_next_one_however_late_its_answers_were_seen(tape, tmp_path):
    """The look at 16,000 ms ends the first pull and its answer is late; the second has 20 ms left and waits on."""
    tape.times_out(900.0, 16_030.0)
    tape.times_out(1_020.0, 21_000.5)
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.uses[Tolerated.LATE_SUSPEND] == 0


def test_a_look_was_not_before_the_time_of_a_pull_that_it_ended_however_late_the_next_one_came(tape, tmp_path):
    """The machine stood still: the look after that of 15,900 ms came 7,600 ms later, nearer to two pauses than one."""
    tape.times_out(800.0, 15_900.0)
    tape.times_out(6_000.0, 23_500.0)
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.clock.looks[-2:] == [15_900.0, 23_500.0]


@pytest.mark.parametrize(("late", "accepted"), [(60, True), (350, True), (450, False)])
def test_an_answer_of_a_look_may_be_seen_late_as_every_answer_may(tape, tmp_path, late, accepted):
    """The looks are at 15,900 ms, 20,900 ms and so on; the second pull ends at one, and its answer comes `late`."""
    tape.times_out(800.0, 15_900.0)
    second = tape.times_out(5_000.0, 20_900.0 + late)
    tape.times_out(10_800.0, 25_900.0)
    result = replay(tape.save(tmp_path))
    fields = [(one.opaque, one.field) for one in result.differing]
    assert fields == ([] if accepted else [(second.opaque, "time")])
    assert result.uses[Tolerated.LATE_SUSPEND] == 0


@pytest.mark.parametrize(("took", "accepted"), [(20, True), (80, True), (150, False)])
def test_a_look_may_take_long_until_it_comes_to_a_queue(tape, tmp_path, took, accepted):
    """The second pull's time is over while the look of 20,900 ms is under way, and it ends at that look."""
    tape.times_out(800.0, 15_900.0)
    second = tape.times_out(5_900.0 + took - 5, 20_900.0 + took + 40)
    tape.times_out(5_700.0, 20_900.0)
    result = replay(tape.save(tmp_path))
    assert [(one.opaque, one.got) for one in result.differing] == ([] if accepted else [(second.opaque, "held")])


@pytest.mark.parametrize(("early", "accepted"), [(10, True), (19, True), (40, False)])
def test_a_look_may_have_come_just_after_a_message_that_woke_nobody(tape, tmp_path, early, accepted):
    """Looks are at 15,900 and 40,900 ms; one between them came `early`, and found a message of another tag."""
    tape.open(3)
    tape.times_out(800.0, 15_900.0)
    last = tape.pull(20_950.0, 1, offset=1, version=EPOCH)
    tape.pulled(40_900.0, 1, last, 19, "OFFSET_OVERFLOW_ONE", (1, 0, 1))
    waits = tape.pull(16_000.0, 1, version=EPOCH)
    tape.send(20_899.0 - early, 3, "tagB", 20_899.5 - early)
    tape.pulled(20_900.0 - early, 1, waits, 20, "NO_MATCHED_MESSAGE", (1, 0, 1))
    result = replay(tape.save(tmp_path))
    assert [(one.opaque, one.got) for one in result.differing] == ([] if accepted else [(waits.opaque, "held")])


@pytest.mark.parametrize(("early", "accepted"), [(0, True), (1, True), (3, False)])
def test_a_delayed_message_is_due_a_second_after_a_send_whose_ms_is_known_to_one(tape, tmp_path, early, accepted):
    """The message of 100 ms shows the epoch; the delayed one of 200 ms is stored again `early` ms before 1,200 ms."""
    tape.open(3)
    tape.send(100, 3, "tagA", 100.2)
    plain = message("tagA", 0, 0, 100)
    of_delay = {"DELAY": "1", "REAL_TOPIC": "T", "REAL_QID": "0"}
    tape.send(200.0, 3, "tagA", 201.9, len(plain), DELAY="1")
    kept = message("tagA", 0, len(plain), 200, topic="SCHEDULE_TOPIC_XXXX", **of_delay)
    again = message("tagA", 1, len(plain) + len(kept), 200, 1_000 - early, **of_delay)
    pull = tape.pull(1_300, 1, version=EPOCH)
    tape.pulled(1_301, 1, pull, 0, "FOUND", (2, 0, 2), plain + again)
    fields = [one.field for one in replay(tape.save(tmp_path)).differing]
    assert fields == ([] if accepted else ["body.records[1].store_timestamp"])


def test_another_message_may_be_stored_between_two_that_one_look_of_a_level_delivers(tape, tmp_path):
    """Both delayed ones are due at 1,200 ms; one is sent then, one-way, and lies between them in the log."""
    tape.open(3)
    tape.send(100, 3, "tagA", 100.2)
    stored = [message("tagA", 0, 0, 100)]
    log = len(stored[0])
    of_delay = {"DELAY": "1", "REAL_TOPIC": "T", "REAL_QID": "0"}
    for number, key in enumerate(("K1", "K2")):
        tape.send(200.0 + number / 2, 3, "tagA", 200.3 + number / 2, log, number, DELAY="1", UNIQ_KEY=key)
        log += len(message("tagA", number, log, 200, topic="SCHEDULE_TOPIC_XXXX", **of_delay, UNIQ_KEY=key))
    tape.send(1_200.2, 3, "tagA", None)
    first, second = of_delay | {"UNIQ_KEY": "K1"}, of_delay | {"UNIQ_KEY": "K2"}
    for offset, (t, late, more) in enumerate([(200, 1_000, first), (1_200, 1, {}), (200, 1_002, second)], 1):
        stored.append(message("tagA", offset, log, t, late, **more))
        log += len(stored[-1])
    pull = tape.pull(1_300, 1, version=EPOCH)
    tape.pulled(1_301, 1, pull, 0, "FOUND", (4, 0, 4), b"".join(stored))
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.uses[Tolerated.TIMER_LAG] == 2


def sent(tape, t=200.0, answered=200.9, tag="tagA"):
    tape.open(3)
    tape.send(t, 3, tag, answered)
    return message(tag, 0, 0, int(t))


def test_a_message_may_become_visible_a_moment_after_it_was_stored(tape, tmp_path):
    record = sent(tape)
    pull = tape.pull(202.0, 1, version=EPOCH, suspend=0)
    tape.pulled(202.5, 1, pull, 19, "NO_MESSAGE_IN_QUEUE", (0, 0, 0))
    again = tape.pull(300.0, 1, version=EPOCH)
    tape.pulled(300.5, 1, again, 0, "FOUND", (1, 0, 1), record)
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.uses[Tolerated.DISPATCH_LAG] == 1


@pytest.mark.parametrize(("t", "accepted"), [(1_150.0, True), (1_250.0, False)])
def test_the_reput_thread_may_stand_still_for_a_while_and_that_is_counted(tape, tmp_path, t, accepted):
    """The message was stored between 200.0 and 200.9 ms; it is told when it became visible, at most 1 s later."""
    record = sent(tape)
    pull = tape.pull(t, 1, version=EPOCH, suspend=0)
    tape.pulled(t + 0.5, 1, pull, 19, "NO_MESSAGE_IN_QUEUE", (0, 0, 0))
    again = tape.pull(t + 10, 1, version=EPOCH)
    tape.pulled(t + 10.5, 1, again, 0, "FOUND", (1, 0, 1), record)
    result = replay(tape.save(tmp_path))
    assert (result.differing == []) is accepted
    if accepted:
        assert (len(result.late), result.latest_ms) == (1, pytest.approx(t + 10.5 - 200.9))
        assert result.uses[Tolerated.REPUT_STALL] == 1
        assert result.as_json()["assumed"] == {"orders": [], "late_messages": 1, "latest_ms": result.latest_ms}


@pytest.mark.parametrize("shown", [False, True])
def test_a_message_is_not_late_when_one_stored_after_it_was_seen(tape, tmp_path, shown):
    """The reput thread goes through the commit log in its order, whatever the queue."""
    record = sent(tape)
    tape.send(210.0, 3, "tagA", 210.9, len(record), 1)
    if shown:
        early = tape.pull(250.0, 1, 1, version=EPOCH, suspend=0)
        tape.pulled(250.5, 1, early, 0, "FOUND", (2, 0, 2), message("tagA", 1, len(record), 210))
    pull = tape.pull(300.0, 1, version=EPOCH, suspend=0)
    tape.pulled(300.5, 1, pull, 19, "NO_MESSAGE_IN_QUEUE", (0, 0, 0))
    result = replay(tape.save(tmp_path))
    assert (result.differing == []) is not shown


def test_a_message_that_comes_while_a_pull_is_being_held_may_not_wake_it(tape, tmp_path):
    pull = tape.pull(199.5, 1, version=EPOCH)
    record = sent(tape)
    # Nobody else comes by: the hold service finds it when it looks, as it does every 5 s.
    tape.pulled(3_000, 1, pull, 0, "FOUND", (1, 0, 1), record)
    timed_out = tape.pull(3_001, 1, 1, version=EPOCH)
    tape.pulled(18_001.5, 1, timed_out, 19, "OFFSET_OVERFLOW_ONE", (1, 0, 1))
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.uses[Tolerated.MISSED_WAKE_UP] == 1


def test_a_message_wakes_a_pull_that_has_been_held_for_a_while(tape, tmp_path):
    pull = tape.pull(100, 1, version=EPOCH)
    record = sent(tape)
    tape.pulled(3_000, 1, pull, 0, "FOUND", (1, 0, 1), record)
    timed_out = tape.pull(3_001, 1, 1, version=EPOCH)
    tape.pulled(18_001.5, 1, timed_out, 19, "OFFSET_OVERFLOW_ONE", (1, 0, 1))
    (difference,) = replay(tape.save(tmp_path)).differing
    assert (difference.opaque, difference.field) == (pull.opaque, "time")


@pytest.mark.parametrize("late", [0, 50])
def test_a_store_time_is_taken_only_if_the_message_may_have_been_stored_then(tape, tmp_path, late):
    tape.open(3)
    size = len(message("tagA", 0, 0, 200))
    records = []
    for index, t in enumerate((200, 300, 400)):
        tape.send(t, 3, "tagA", t + 0.9, index * size, index)
        records.append(message("tagA", index, index * size, t))
    pull = tape.pull(500, 1, version=EPOCH)
    records[1] = message("tagA", 1, size, 300, late=late)
    tape.pulled(501, 1, pull, 0, "FOUND", (3, 0, 3), b"".join(records))
    fields = [one.field for one in replay(tape.save(tmp_path)).differing]
    assert fields == (["body.records[1].store_timestamp"] if late else [])


BUSY = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: {}ms, size of queue: 3"


@pytest.mark.parametrize(("waited", "accepted"), [(205, True), (300, False)])
def test_a_send_that_a_busy_broker_turned_away_is_not_stored(tape, tmp_path, waited, accepted):
    tape.open(3)
    header = SendMessageRequestHeaderV2("P", "T", "TBW102", 1, 0, 0, EPOCH + 100, 0, "TAGS\x01tagA\x02", 0)
    request = tape.ask(100, 3, 310, header, b"body")
    tape.answer(306, 3, request, 2, BUSY.format(waited))
    tape.send(400, 3, "tagA", 400.9)
    result = replay(tape.save(tmp_path))
    assert (result.differing == []) is accepted
    assert result.uses[Tolerated.SHED] == accepted


@pytest.mark.row("H-43")
def test_a_member_that_a_scan_found_silent_is_gone_without_a_word(tmp_path):
    """The broker closes a connection 125 s after its last heartbeat: the scan did it, and tells the others nothing."""
    tape = two_members("tagA", "tagA")
    for t in (40_000, 80_000, 120_000):
        tape.beat(t, 2, "tagA", EPOCH, client="B", answered=t + 1)
    tape.close(1, 125_010, "s2c")
    for t, members in ((124_000, ["A", "B"]), (126_000, ["B"])):
        request = tape.ask(t, 2, 38, GetConsumerListByGroupRequestHeader("G"))
        body = GetConsumerListByGroupResponseBody(consumer_id_list=members).encode()
        tape.answer(t + 1, 2, request, 0, None, CommandHeader(), body)
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.uses[Tolerated.SCAN_PHASE] == 1


def test_a_message_is_stored_when_a_later_pull_says_it_was(tape, tmp_path):
    """A pull woken before the group's tags changed, though the answers came after: the store time tells."""
    pull = tape.pull(100, 1, version=EPOCH)
    tape.open(2)
    tape.open(3)
    tape.send(200, 3, "tagA", 260)
    tape.beat(230, 1, "tagB", EPOCH + 200, answered=250)
    tape.pulled(270, 1, pull, 0, "FOUND", (1, 0, 1), message("tagA", 0, 0, 200))
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.reorderings == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: expected an object, got list"),
        ('{"conn": 1, "open": true}', "line 2, field t: expected milliseconds since the recording began, got None"),
        (
            '{"t": NaN, "conn": 1, "open": true}',
            "line 2, field t: expected milliseconds since the recording began, got nan",
        ),
        ('{"t": 1e12, "conn": 1, "open": true}', "line 2, field t: expected milliseconds since the recording began"),
        ('{"t": 1, "conn": 1, "open": true, "to": []}', "line 2, field to: expected broker or namesrv, got []"),
        ('{"t": 5, "conn": 1, "open": 1}\n{"t": 4, "conn": 1, "open": 1}', "line 3, field t: 4 comes after 5"),
        ('{"t": 1, "conn": 1, "dir": [], "frame": ""}', "line 2, field dir: expected c2s or s2c, got []"),
        ('{"t": 1, "open": true}', "line 2, field conn: expected a connection number, got None"),
        ('{"t": 1, "control": "cut", "conns": 3}', "line 2, field conns: expected connection numbers, got 3"),
        ('{"t": 1, "conn": 1, "dir": "up", "frame": ""}', "line 2, field dir: expected c2s or s2c, got 'up'"),
        ('{"t": 1, "conn": 1, "dir": "c2s"}', "line 2: expected one of open, close, client, control and frame"),
        ('{"t": 1, "conn": 1, "dir": "c2s", "frame": "xy"}', "line 2, field frame: expected hex digits"),
        (
            '{"t": 1, "conn": 1, "dir": "c2s", "frame": "0000000900"}',
            "line 2, field frame: its length says 9 bytes, 1 follow",
        ),
        ('{"t": 1, "conn": 1, "dir": "c2s", "frame": "00000005000000017b"}', "line 2, field frame: "),
    ],
)
def test_a_line_that_is_none_is_named_with_its_field(tmp_path, capsys, line, problem):
    (tmp_path / "broker.conf").write_text("# settings\n\nbrokerName = b\n")
    (tmp_path / "frames.jsonl").write_text('{"t": 0, "conn": 1, "open": true}\n' + line + "\n")
    with pytest.raises(BadInput, match=r"frames\.jsonl") as error:
        read_recording(tmp_path)
    assert problem in str(error.value)
    assert main(["replay", str(tmp_path)]) == 2
    assert problem in capsys.readouterr().err


def test_a_folder_without_its_files_or_with_wrong_settings_is_refused(tmp_path, capsys):
    assert main(["replay", str(tmp_path / "nowhere")]) == 2
    assert "nowhere: there is no such folder" in capsys.readouterr().err
    assert main(["replay", str(tmp_path)]) == 2
    assert "broker.conf: cannot be read" in capsys.readouterr().err
    (tmp_path / "broker.conf").write_text("brokerName=\\u12\n")
    assert main(["replay", str(tmp_path)]) == 2
    assert "needs four hexadecimal digits" in capsys.readouterr().err
    (tmp_path / "broker.conf").write_text("listenPort=ten\n")
    assert main(["replay", str(tmp_path)]) == 2
    assert "give a folder with frames.jsonl or frames.jsonl.gz" in capsys.readouterr().err
    Tape().save(tmp_path, "listenPort=ten\n")
    assert main(["replay", str(tmp_path)]) == 2
    assert "listenPort" in capsys.readouterr().err
    (tmp_path / "frames.jsonl.gz").write_bytes(b"no gzip")
    assert main(["replay", str(tmp_path)]) == 2
    assert "frames.jsonl.gz: its name ends in .gz, and it is not packed so" in capsys.readouterr().err


def test_a_difference_gives_exit_status_1_and_is_printed(tape, tmp_path, capsys):
    pull = tape.pull(100, 1, version=EPOCH, suspend=0)
    tape.pulled(101, 1, pull, 20, "NO_MESSAGE_IN_QUEUE", (0, 0, 0))
    tape.save(tmp_path)
    assert main(["replay", str(tmp_path), "--json", "-"]) == 1
    out, err = capsys.readouterr()
    report = json.loads(out)
    difference = {"conn": 1, "opaque": pull.opaque, "code": 11, "field": "code", "expected": 20, "got": 19}
    assert report["differing"] == [difference]
    assert report["identical"] == report["requests"] - 1
    assert "PULL_MESSAGE, code: expected 20, got 19" in err


@pytest.mark.parametrize("rows", ["", '{"t": 1, "conn": 1, "open": true}\n'])
def test_a_recording_that_asks_the_broker_nothing_is_refused(tmp_path, capsys, rows):
    Tape().save(tmp_path)
    (tmp_path / "frames.jsonl").write_text(rows)
    assert main(["replay", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("its frames hold no request to a broker, so there is nothing to compare\n")


@pytest.mark.parametrize("verb", ["replay", "conform"])
def test_a_number_of_differences_below_0_is_refused_before_anything_is_read(verb, capsys):
    assert main([verb, "nowhere", "--show", "-1"]) == 2
    assert "--show -1: a number of differences is wanted, 0 or more" in capsys.readouterr().err


def test_a_connection_whose_beginning_was_not_recorded_is_one_all_the_same(tape, tmp_path):
    tape.lines = [line for line in tape.lines if "open" not in line]
    assert replay(tape.save(tmp_path)).differing == []


@pytest.mark.parametrize(("before", "accepted"), [(15, True), (30, False)])
def test_an_answer_may_escape_the_recorder_just_before_it_freezes_a_connection(tape, tmp_path, before, accepted):
    request = tape.ask(1_000.0 - before, 1, 38, GetConsumerListByGroupRequestHeader("G"))
    tape.lines.append({"t": 1_000.0, "control": "freeze", "arg": "@A", "conns": [1]})
    tape.open(7, 2_000.0)
    differing = [(one.opaque, one.expected) for one in replay(tape.save(tmp_path)).differing]
    assert differing == ([] if accepted else [(request.opaque, "(nothing)")])
