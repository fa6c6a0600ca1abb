"""Revive: what was popped and not acked in time goes to a retry topic. One service for each queue of the revive log.

A service reads its queue until it has seen what is more than two seconds younger than its oldest check point, so that
all acks are in; then each message without an ack is stored once more. Source: `PopReviveService`.

Java's thread looks every 100 ms, and rests when it found no check point. Here it sleeps where it can find nothing new,
and acts at the moments at which Java would.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.pop.pop_check_point import ACK_TAG, CK_TAG, REVIVE_GROUP, AckMsg, MergeKey, PopCheckPoint
from rmqlab.events import Revived
from rmqlab.message.java import in_hash_map_order
from rmqlab.message.message import MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_FIRST_POP_TIME,
    PROPERTY_ORIGIN_GROUP,
    PROPERTY_TIMER_DELIVER_MS,
    properties_to_string,
)
from rmqlab.message.topics import RETRY_GROUP_TOPIC_PREFIX, is_retry_topic
from rmqlab.protocol.topic_config import PERM_READ_WRITE, TopicConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.pop.pop_dependencies import PopDependencies
    from rmqlab.message.message import MessageExt

LOOK_MS = 100
MOST_LOOKS = 40
YOUNGER_MS = 2_000
"""How much younger than a check point's revive time the last message read must be (`ackTimeInterval` + `SECOND`)."""
SILENT_MS = 3_000
"""After how long without a message the clock counts for the last one."""
RETRY_QUEUE_NUM = 1
RETRY_QUEUE = 0


@dataclass(slots=True)
class _Scan:
    """One reading of the queue: since when, from where, what was found; `quiet_from` is the first look in vain."""

    began: int
    offset: int
    old_offset: int
    found: dict[MergeKey, PopCheckPoint] = field(default_factory=dict)
    end_time: int = 0
    first_revive_time: int = 0
    quiet_from: int | None = None


class PopReviveService:
    """Revives what the check points of one queue of the revive log say. Times are epoch ms.

    `next_scan` is when it reads its queue from the beginning; without a timer it does so at regular moments.
    `look_at(due)` has `look` called then; `revive(point, offset, now)` stores a message again.
    """

    def __init__(self, parts: PopDependencies, topic: str, queue_id: int) -> None:
        self._parts = parts
        self._topic = topic
        self._queue_id = queue_id
        self._revive_offset = parts.offsets.query_offset(REVIVE_GROUP, topic, queue_id)
        self._slow = 1
        self._scan: _Scan | None = None
        self.next_scan = parts.timers.now + parts.pop_config.revive_interval
        self._has_acks = False  # read anew in each scan, for no check point came with them
        self._due: int | None = None
        self._turn = 0
        self.look_at: Callable[[int], object] = self._look_at
        self.revive: Callable[[PopCheckPoint, int, int], object] = self.store_again

    def arriving(self, now: int) -> None:
        """Hear that a message has come to the queue."""
        at = self._next_look(now)
        if self._due is None or at < self._due:
            self.look_at(at)

    def holds_back(self) -> bool:
        """Whether messages that were read are not decided yet."""
        return self._scan is not None or self._due is not None

    def _look_at(self, due: int) -> None:
        self._due = due
        self._turn += 1
        self._parts.timers.once(f"revive {self._queue_id}", due, partial(self._on_time, self._turn))

    def _on_time(self, turn: int, now: int) -> None:
        if turn == self._turn:
            self._due = None
            self.look(now)

    def _next_look(self, now: int) -> int:
        """The first moment, `now` or later, at which the queue is read."""
        scan = self._scan
        if scan is not None and scan.quiet_from is not None:
            return scan.quiet_from + ((now - scan.quiet_from) // LOOK_MS + 1) * LOOK_MS
        config = self._parts.pop_config
        lasts = 0 if self._has_acks else MOST_LOOKS * LOOK_MS
        while now > self.next_scan + lasts:
            ends = self.next_scan + (0 if self._has_acks else lasts + LOOK_MS)
            self._rest(ends, config.revive_interval)
        return self.next_scan + max(-(-(now - self.next_scan) // LOOK_MS), 0) * LOOK_MS

    def _rest(self, now: int, interval: int) -> None:
        """A scan without a check point is over: the next ones wait longer and longer."""
        self.next_scan = now + self._slow * interval + interval
        self._slow = min(self._slow + 1, max(self._parts.pop_config.revive_max_slow, self._slow))

    def look(self, now: int) -> None:
        """Read what there is; decide, or wait for more."""
        parts = self._parts
        scan = self._scan
        if scan is None:
            committed = parts.offsets.query_offset(REVIVE_GROUP, self._topic, self._queue_id)
            old_offset = max(self._revive_offset, committed)
            scan = self._scan = _Scan(self.next_scan, old_offset + 1, old_offset)
        if scan.quiet_from is None or now < scan.quiet_from + (MOST_LOOKS + 1) * LOOK_MS:
            high = parts.store.get_max_offset_in_queue(self._topic, self._queue_id)
            if scan.offset < high:
                if now - scan.began > parts.pop_config.revive_scan_time:
                    self._merge_and_revive(scan, now)
                    return
                self._read(scan, high)
                scan.quiet_from = now
            elif scan.quiet_from is None:
                scan.quiet_from = now
            if scan.end_time and now - scan.end_time > SILENT_MS:
                scan.end_time = now
            if scan.end_time - scan.first_revive_time <= YOUNGER_MS:
                self.look_at(self._next_decision(scan, now))
                return
        self._merge_and_revive(scan, now)

    @staticmethod
    def _next_decision(scan: _Scan, now: int) -> int:
        """When the scan ends if nothing comes: the clock has gone on far enough, or it has looked in vain too often."""
        quiet_from = scan.quiet_from or now
        gives_up = quiet_from + (MOST_LOOKS + 1) * LOOK_MS
        if not scan.end_time:
            return gives_up
        after = max(scan.end_time + SILENT_MS, scan.first_revive_time + YOUNGER_MS)
        return min(gives_up, max(quiet_from + ((after - quiet_from) // LOOK_MS + 1) * LOOK_MS, now + LOOK_MS))

    def _read(self, scan: _Scan, high: int) -> None:
        """Take in check points and acks up to the end of the queue; an ack without its check point is passed over."""
        for offset in range(scan.offset, high):
            message = self._parts.store.look_message_in_queue(self._topic, self._queue_id, offset)
            if message is None:
                continue
            body = message.body or b""
            if message.tags == CK_TAG:
                point = PopCheckPoint.decode(body)
                point.revive_offset = offset
                scan.found[point.key] = point
                scan.first_revive_time = scan.first_revive_time or point.revive_time
            elif message.tags == ACK_TAG:
                ack = AckMsg.decode(body)
                if ack.key in scan.found:
                    scan.found[ack.key].ack(ack.ack_offset)
            scan.end_time = max(scan.end_time, int(message.properties.get(PROPERTY_TIMER_DELIVER_MS, 0)))
        scan.offset = high

    def _merge_and_revive(self, scan: _Scan, now: int) -> None:
        """Revive what of the check points that are old enough was not acked; the next scan begins after them."""
        parts, points = self._parts, sorted(scan.found.values(), key=lambda point: point.revive_offset)
        new_offset = scan.old_offset
        for point in points:
            if scan.end_time - point.revive_time <= YOUNGER_MS:
                break
            if self._is_wanted(point):
                for offset in point.unacked():
                    self.revive(point, offset, now)
            new_offset = point.revive_offset
        if new_offset > scan.old_offset:
            parts.offsets.commit_offset("127.0.0.1", REVIVE_GROUP, self._topic, self._queue_id, new_offset)
        self._revive_offset = new_offset
        self._scan = None
        remain = any(point.revive_offset > new_offset for point in points)
        self._has_acks = not remain and scan.offset > new_offset + 1
        if points:
            self._slow, self.next_scan = 1, now + parts.pop_config.revive_interval
        else:
            self._rest(now, parts.pop_config.revive_interval)
        if remain:
            self.look_at(self.next_scan)

    def _is_wanted(self, point: PopCheckPoint) -> bool:
        """Whether topic and group of a check point are still there."""
        topic = point.topic
        if is_retry_topic(topic):
            topic = topic[len(f"{RETRY_GROUP_TOPIC_PREFIX}{point.cid}") + 1 :]
        if self._parts.topics.select_topic_config(topic) is None:
            return False
        return self._parts.groups.find_subscription_group_config(point.cid) is not None

    def store_again(self, point: PopCheckPoint, offset: int, now: int) -> None:
        """Store a message once more, for its group's retry topic; one that is gone is passed over."""
        parts, store = self._parts, self._parts.store
        message = store.look_message_in_queue(point.topic, point.queue_id, offset)
        if message is None:
            return
        topic = point.topic
        if not is_retry_topic(topic):
            topic = parts.rules.retry_topic(point.cid, topic, parts.pop_config.enable_retry_topic_v2)
        self._add_retry_topic_if_not_exist(topic, point.cid)
        inner = self._retried(point, message, topic)
        result = store.put_message(inner, now)
        if result.is_ok:
            parts.hooks.tell(
                Revived(
                    point.cid, point.topic, point.queue_id, offset, topic, RETRY_QUEUE, result.logics_offset
                )
            )  # fmt: skip

    def _retried(self, point: PopCheckPoint, message: MessageExt, topic: str) -> MessageExtBrokerInner:
        wire = self._parts.rules.wire
        properties = dict(message.properties)
        if message.reconsume_times == 0 or PROPERTY_FIRST_POP_TIME not in properties:
            properties[PROPERTY_FIRST_POP_TIME] = str(point.pop_time)
        if wire.tells_origin_group:
            properties[PROPERTY_ORIGIN_GROUP] = point.cid
        properties = in_hash_map_order(properties)
        host = self._parts.config.store_host
        return MessageExtBrokerInner(
            topic=topic,
            body=message.body,
            flag=message.flag,
            properties=properties,
            queue_id=RETRY_QUEUE,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_timestamp,
            born_host=host,
            store_host=host,
            reconsume_times=message.reconsume_times + (0 if point.suspend else 1),
            properties_string=properties_to_string(properties),
        )

    def _add_retry_topic_if_not_exist(self, topic: str, group: str) -> None:
        parts = self._parts
        if parts.topics.select_topic_config(topic) is not None:
            return
        parts.topics.update_topic_config(TopicConfig(topic, RETRY_QUEUE_NUM, RETRY_QUEUE_NUM, PERM_READ_WRITE))
        if parts.offsets.query_offset(group, topic, RETRY_QUEUE) < 0:
            parts.offsets.commit_offset("initPopRetryOffset", group, topic, RETRY_QUEUE, 0)
