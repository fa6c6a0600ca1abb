"""Races inside the real broker that a recording shows: how a replay finds them, on recordings of a few frames.

Each was seen in recordings of 4.8.0 on a machine that had too much to do.
"""

from __future__ import annotations

import pytest

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import GetConsumerListByGroupResponseBody, LockBatchRequestBody
from rmqlab.protocol.consumer_headers import GetConsumerListByGroupRequestHeader
from rmqlab.protocol.header import CommandHeader
from tests.proof.replay.replay import replay
from tests.proof.replay.test_replay_order import EPOCH, NOT_LATEST, joined, lock, message, one_member, sent, two_members
from tests.proof.replay.tolerated_differences import Tolerated

OLDER, NEWER = EPOCH + 1_000, EPOCH + 1_001


def members(tape, t, conn, names):
    """Ask who is there."""
    request = tape.ask(t, conn, 38, GetConsumerListByGroupRequestHeader("G"))
    body = GetConsumerListByGroupResponseBody(consumer_id_list=names).encode()
    tape.answer(t + 0.5, conn, request, 0, None, CommandHeader(), body)


@pytest.mark.row("S-78")
@pytest.mark.parametrize(("answered", "accepted"), [(1_000.5, True), (1_000.05, False)])
def test_of_two_beats_handled_at_once_the_older_subscription_may_be_written_last(tmp_path, answered, accepted):
    """`updateSubscription` compares and then writes, without a lock; a beat that was answered before is no rival."""
    tape = two_members("tagA", "tagA")
    tape.beat(1_000.0, 1, "tagA", NEWER, client="A", answered=answered)
    tape.beat(1_000.1, 2, "tagB", OLDER, client="B", answered=1_000.6)
    record = sent(tape, 1_700.0, 1_700.9, "tagB")
    tape.pulled(1_800.5, 2, tape.pull(1_800.0, 2, version=OLDER), 0, "FOUND", (1, 0, 1), record)
    tape.pulled(1_900.5, 1, tape.pull(1_900.0, 1, version=NEWER), *NOT_LATEST)
    result = replay(tape.save(tmp_path))
    assert (result.differing == []) is accepted
    assert result.uses[Tolerated.TORN_HEARTBEAT] == accepted


@pytest.mark.row("H-33")
@pytest.mark.parametrize(("ended", "accepted"), [(220.0, True), (660.0, True), (1_500.0, False)])
@pytest.mark.parametrize("handled", [True, False])
def test_a_beat_without_an_answer_may_be_handled_after_the_end_of_its_connection_or_never(
    tmp_path, ended, accepted, handled
):
    """Handled then, it makes a member of a connection that is gone."""
    tape = one_member()
    tape.open(2)
    tape.beat(100.0, 2, "tagA", EPOCH, client="B")
    tape.close(2, ended)
    if handled:
        tape.notice(ended + 1, 1)
    members(tape, 5_000.0, 1, ["A", "B"] if handled else ["A"])
    result = replay(tape.save(tmp_path))
    assert (result.differing == []) is accepted
    if accepted:
        assert result.uses[Tolerated.LOST] == (not handled)


def three_members():
    """A, B and C; only C beats on."""
    tape = joined(("A", 10, "tagA"), ("B", 10_000, "tagA"), ("C", 10_020, "tagA"))
    for t in (50_000, 90_000, 130_000):
        tape.beat(t, 3, "tagA", EPOCH, client="C", answered=t + 1)
    return tape


@pytest.mark.row("H-41")
def test_a_scan_that_came_late_does_not_put_off_the_next_one(tmp_path):
    """4.8.0 scans at a fixed rate. B was found 9.9 s after A, by a scan in time, and so C hears nothing of either."""
    tape = three_members()
    tape.close(1, 125_100, "s2c")
    tape.close(2, 135_000, "s2c")
    for t, names in ((124_000, ["A", "B", "C"]), (126_000, ["B", "C"]), (136_000, ["C"])):
        members(tape, t, 3, names)
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.uses[Tolerated.SCAN_PHASE] == 2


def test_a_connection_that_was_idle_for_120_s_is_closed_and_the_others_are_told(tmp_path):
    """Netty closes it (`NettyServerHandler`, all idle), when a scan could have come as well: C's notice tells."""
    tape = three_members()
    tape.close(1, 121_000, "s2c")
    for told in (2, 3):
        tape.notice(121_000.5, told)
    members(tape, 122_000, 3, ["B", "C"])
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.uses[Tolerated.SCAN_PHASE] == 0


def test_who_got_a_lock_was_before_those_who_were_refused(tmp_path):
    """Three ask for one queue at once; the second one's answer says that it was the first. One pass is enough."""
    tape = one_member()
    queue = MessageQueue("T", "broker-a", 0)
    for conn in (2, 3):
        tape.open(conn)
    for conn, client in ((1, "A"), (2, "B"), (3, "C")):
        lock(tape, 100 + conn / 10, conn, client, queue, granted=client == "B")
    result = replay(tape.save(tmp_path))
    assert result.differing == []
    assert result.passes == 1


@pytest.mark.row("F-71")
@pytest.mark.parametrize(("records", "accepted"), [(2, True), (1, False)])
def test_a_message_may_become_visible_while_a_pull_is_answered(tmp_path, records, accepted):
    """The queue's highest offset was read before, its entries after: the answer has both messages and says 1."""
    tape = one_member()
    tape.open(3)
    pull = tape.pull(100.0, 1, version=EPOCH)
    found = []
    for number, t in enumerate((200, 201)):
        at = sum(map(len, found))
        tape.send(t, 3, "tagA", t + 0.9, at, number)
        found.append(message("tagA", number, at, t))
    tape.pulled(202.5, 1, pull, 0, "FOUND", (2, 0, 1), b"".join(found[:records]))
    result = replay(tape.save(tmp_path))
    assert (result.differing == []) is accepted
    if accepted:
        assert result.uses[Tolerated.SEEN_MIDWAY] == 1


def test_a_damaged_answer_to_a_lock_is_a_difference_and_no_error(tmp_path):
    tape = one_member()
    request = tape.ask(100.0, 1, 41, None, LockBatchRequestBody("G", "A", [MessageQueue("T", "broker-a", 0)]).encode())
    tape.answer(100.5, 1, request, 0, None, None, b"no JSON")
    assert {one.opaque for one in replay(tape.save(tmp_path)).differing} == {request.opaque}
