"""What a replay may assume explains no wrong rule: each of these, put into our broker, is still found."""

from __future__ import annotations

import copy

import pytest

from rmqlab.broker.admin_broker_processor import LockEntry, RebalanceLockManager
from rmqlab.broker.consumer_group_info import ConsumerGroupInfo
from rmqlab.broker.pull_request_hold_service import PullRequestHoldService
from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.recordings.frames import LineKind, Recording, read_recording
from tests.proof.replay.order_search import PASSES
from tests.proof.replay.replay import replay_recording

pytestmark = pytest.mark.slow

LOCKS = {RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ}


@pytest.fixture(scope="module")
def recorded(golden):
    """A recorded set by its name."""
    return lambda name: read_recording(golden / "broker-4.8.0" / name)


@pytest.fixture(scope="module")
def locks(recorded):
    """Nothing but the locks of base-2, whose broker handled one of them before what one client had given up."""
    recording = recorded("base-2")
    asked = {
        (line.conn, line.command.opaque)
        for line in recording.lines
        if line.kind is LineKind.FRAME and line.to_broker and line.command.code in LOCKS
    }
    lines = [
        line for line in recording.lines if line.kind is LineKind.FRAME and (line.conn, line.command.opaque) in asked
    ]  # fmt: skip
    assert len(lines) == 2 * 23 - 2  # two of those given up at one-way
    return Recording(recording.name, recording.properties, lines)


def newest_or(replaces):
    """The rule for subscriptions, but that one which `replaces(new, old)` gets in too, or only such a one."""

    def update_subscription(self, subscriptions, now, on_change=None):
        for new in subscriptions:
            old = self.subscription_table.get(new.topic)
            if old is None or replaces(new, old):
                self.subscription_table[new.topic] = new
        return False

    return update_subscription


def wake_everybody(self, request):
    """A message arrives of which the filters of held pulls know nothing."""
    end = request.consume_queue_offset + 1
    self.notify_message_arriving(request.topic, request.queue_id, end, now=self._timers.now)


WRONG_DISPATCH = {
    "a message wakes nobody": ("arriving", lambda *_, **__: None),
    "a message wakes everybody": ("arriving", wake_everybody),
}
WRONG_VERSIONS = {
    "any version is taken": newest_or(lambda *_: True),
    "the first version stays": newest_or(lambda *_: False),
    "an older version is taken": newest_or(lambda new, old: new.sub_version < old.sub_version),
}
WRONG_LOCKS = {
    "everybody gets the lock": (RebalanceLockManager, "try_lock", lambda *_: True),
    "nobody gets the lock": (RebalanceLockManager, "try_lock", lambda *_: False),
    "a lock given up stays": (RebalanceLockManager, "unlock_batch", lambda *_: None),
    "a lock is over at once": (LockEntry, "is_expired", lambda *_: True),
}


@pytest.mark.parametrize("wrong", WRONG_DISPATCH)
def test_a_wrong_rule_of_dispatch_is_found(recorded, monkeypatch, wrong):
    name, rule = WRONG_DISPATCH[wrong]
    monkeypatch.setattr(PullRequestHoldService, name, rule)
    assert replay_recording(recorded("bitmap")).differing


@pytest.mark.parametrize("wrong", WRONG_VERSIONS)
def test_a_wrong_rule_of_versions_is_found(recorded, monkeypatch, wrong):
    monkeypatch.setattr(ConsumerGroupInfo, "update_subscription", WRONG_VERSIONS[wrong])
    result = replay_recording(recorded("noprop"))
    assert len(result.differing) > 100
    assert result.passes <= PASSES


def test_the_locks_alone_need_one_other_order(locks):
    result = replay_recording(locks)
    assert (result.requests, result.differing) == (23, [])
    [order] = result.orders
    assert (order.second.code, order.first.code) == (RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ)
    assert result.widest_ms == 4.5


@pytest.mark.parametrize("wrong", WRONG_LOCKS)
def test_a_wrong_rule_of_locks_is_found(locks, monkeypatch, wrong):
    monkeypatch.setattr(*WRONG_LOCKS[wrong])
    assert replay_recording(locks).differing


@pytest.mark.row("S-77")
def test_two_beats_of_one_version_that_change_places_in_a_recording_are_put_right(recorded):
    """Two heartbeats of base, seen in one tenth of a millisecond: pulls tell which one the real broker had first."""
    base = recorded("base")
    frames = [line for line in base.lines if line.number in {4383, 4386}]
    assert [line.command.code for line in frames] == [RequestCode.HEART_BEAT] * 2
    one, other = (copy.copy(line) for line in frames)
    one.t, other.t, one.number, other.number = other.t, one.t, other.number, one.number
    place = {other.number: other, one.number: one}
    changed = Recording(
        base.name, base.properties, [place.get(line.number, line) for line in base.lines], base.namesrv_lines
    )
    result = replay_recording(changed)
    assert result.differing == []
    assert result.passes > 1
    assert (4383, 4386) in {order.key for order in result.orders}
