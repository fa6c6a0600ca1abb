"""The line of waiters: pops that found nothing wait here, one line for a topic, a group and a queue id.

A pop of all queues waits under queue id -1. Whose time ends first is first in line, so who was just served goes to
its end. A message that arrives is offered to the line; the rule `waiter_to_wake` says who is asked: in RocketMQ the
first one alone. Source: `PopLongPollingService`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from enum import Enum
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.events import NotWoken, Waits, Woken
from rmqlab.filter.message_filter import MessageFilter
from rmqlab.message.properties import PROPERTY_ORIGIN_GROUP
from rmqlab.protocol.channel import Channel
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.pop_headers import ANY_QUEUE
from rmqlab.store.consume_queue_ext import CqExtUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rmqlab.broker.pop.pop_dependencies import PopDependencies
    from rmqlab.protocol.pop_headers import PopMessageRequestHeader
    from rmqlab.store.dispatch_request import DispatchRequest

    Line = tuple[str, str, int]

LOOK_MS = 20
NO_OFFSET = -1
EARLY_MS = 50
"""A pop is woken for good when its time is over but for that (`PopRequest.isTimeout`)."""


class PollingResult(Enum):
    """Whether a pop waits (same name)."""

    POLLING_SUC = "POLLING_SUC"
    POLLING_FULL = "POLLING_FULL"
    POLLING_TIMEOUT = "POLLING_TIMEOUT"
    NOT_POLLING = "NOT_POLLING"


class PopRequest(NamedTuple):
    """A pop that waits until `expired` (epoch ms), with the filter it came with, None: it wants everything.

    `number` counts those that ever waited.
    """

    expired: int
    number: int
    request: RemotingCommand
    channel: Channel
    message_filter: MessageFilter | None

    def is_timeout(self, now: int) -> bool:
        """Whether its time is over."""
        return now > self.expired - EARLY_MS


class Arrived(NamedTuple):
    """A message for the line: its place, and what filters go by (None: nothing is known, so no filter refuses it)."""

    topic: str
    queue_id: int
    offset: int
    tags_code: int | None = None
    unit: CqExtUnit | None = None
    properties: Mapping[str, str] | None = None


_PLACE = attrgetter("expired", "number")


class PopLongPollingService:
    """Lines of waiting pops.

    `execute(pop)` has a woken pop executed again, after whatever goes on now; `look_at(due, line)` has `look` called
    then, when the time of one is over.
    """

    def __init__(self, parts: PopDependencies, execute: Callable[[PopRequest], None]) -> None:
        self._parts = parts
        self.execute = execute
        self.look_at: Callable[[int, Line], object] = self._look_at
        self._number = 0
        self.polling_map: dict[Line, list[PopRequest]] = {}
        self.topic_cid_map: dict[str, dict[str, None]] = {}

    def waiting(self, topic: str, group: str, queue_id: int = ANY_QUEUE) -> list[PopRequest]:
        """The pops in a line, the first one first."""
        return list(self.polling_map.get((topic, group, queue_id), ()))

    def polling(
        self,
        channel: Channel,
        command: RemotingCommand,
        header: PopMessageRequestHeader,
        message_filter: MessageFilter | None,
        now: int,
    ) -> PollingResult:
        """Let a pop wait, if it wants to, its time is not over and there is room."""
        if header.poll_time <= 0:
            return PollingResult.NOT_POLLING
        self.topic_cid_map.setdefault(header.topic, {})[header.consumer_group] = None
        expired = header.born_time + header.poll_time
        self._number += 1
        pop = PopRequest(expired, self._number, command, channel, message_filter)
        config = self._parts.pop_config
        if sum(map(len, self.polling_map.values())) >= config.max_pop_polling_size:
            return PollingResult.POLLING_FULL
        if pop.is_timeout(now):
            return PollingResult.POLLING_TIMEOUT
        key = header.topic, header.consumer_group, header.queue_id
        line = self.polling_map.setdefault(key, [])
        if len(line) > config.pop_polling_size:
            return PollingResult.POLLING_FULL
        insort(line, pop, key=_PLACE)
        started = self._parts.timers.started
        due = started + ((expired - EARLY_MS - started) // LOOK_MS + 1) * LOOK_MS
        self.look_at(max(due, now), key)
        if self._parts.hooks.observe_pull is not None:
            client = self._client(pop, header.consumer_group)
            self._parts.hooks.observe_pull(Waits(header.consumer_group, client, header.topic, header.queue_id, expired))
        return PollingResult.POLLING_SUC

    def forget(self, channel: Channel) -> None:
        """Take the pops of a connection that is gone out of their lines: Java passes them by."""
        for key, line in self.polling_map.items():
            self.polling_map[key] = [pop for pop in line if pop.channel is not channel]

    def arriving(self, request: DispatchRequest) -> None:
        """Hear from the store that a message can be read (`notifyMessageArrivingWithRetryTopic`)."""
        origin_group = (request.properties_map or {}).get(PROPERTY_ORIGIN_GROUP)
        concerned = self._parts.rules.woken_by(request.topic, origin_group)
        if concerned is None:
            return
        topic, group, force = concerned
        unit = CqExtUnit(request.tags_code, request.store_timestamp, request.bit_map)
        offset = request.consume_queue_offset
        arrived = Arrived(topic, request.queue_id, offset, request.tags_code, unit, request.properties_map)
        interval = self._parts.pop_config.pop_long_polling_force_notify_interval
        # Java is given the offset of the next message.
        force = force or (interval > 0 and group is None and (offset + 1) % interval == 0)
        for cid in list(self.topic_cid_map.get(topic, ())) if group is None else (group,):
            for queue_id in (ANY_QUEUE, request.queue_id):
                self.notify_message_arriving(arrived, cid, queue_id, force=force)

    def rest(self, topic: str, group: str, queue_id: int) -> None:
        """Say that there is more: whoever is first in the line may come, as no tag is known."""
        self.notify_message_arriving(Arrived(topic, ANY_QUEUE, NO_OFFSET), group, queue_id, force=False)

    def notify_message_arriving(self, arrived: Arrived, group: str, queue_id: int, *, force: bool) -> None:
        """Wake whom the rule says of a line: with `force` whoever is asked wants the message."""
        line = self.polling_map.get((arrived.topic, group, queue_id))
        if not line:
            return
        asked: list[PopRequest] = []

        def wants(pop: PopRequest) -> bool:
            asked.append(pop)
            return force or _wants(pop, arrived)

        woken = self._parts.rules.waiter_to_wake(line, wants)
        if woken is None:
            self._tell_not_woken(asked, arrived, group)
            return
        line.remove(woken)
        self._wake_up(woken, group, arrived, "forced" if force else "arrived")

    def _wake_up(self, pop: PopRequest, group: str, arrived: Arrived, why: str) -> None:
        """Have a pop that is in no line any more executed again."""
        if self._parts.hooks.observe_pull is not None:
            client = self._client(pop, group)
            self._parts.hooks.observe_pull(Woken(client, group, arrived.topic, arrived.queue_id, arrived.offset, why))
        self.execute(pop)

    def _look_at(self, due: int, key: Line) -> None:
        self._parts.timers.once("pop poll", due, partial(self.look, key))

    def look(self, key: Line, now: int) -> None:
        """Wake whose time is over; Java looks every 20 ms."""
        line = self.polling_map.get(key, [])
        while line and line[0].is_timeout(now):
            topic, group, _ = key
            self._wake_up(line.pop(0), group, Arrived(topic, ANY_QUEUE, NO_OFFSET), "timeout")

    def _tell_not_woken(self, asked: Iterable[PopRequest], arrived: Arrived, group: str) -> None:
        observe = self._parts.hooks.observe_pull
        for pop in asked if observe is not None else ():
            client = self._client(pop, group)
            observe(NotWoken(client, group, arrived.topic, arrived.queue_id, arrived.offset))  # type: ignore[misc]

    def _client(self, pop: PopRequest, group: str) -> str:
        return self._parts.consumers.client_id(pop.channel, group)


def _wants(pop: PopRequest, arrived: Arrived) -> bool:
    wanted = pop.message_filter
    if wanted is None:
        return True
    unit = CqExtUnit(0, 0, None) if arrived.unit is None else arrived.unit
    if not wanted.is_matched_by_consume_queue(arrived.tags_code, unit):
        return False
    return arrived.properties is None or wanted.is_matched_by_commit_log(None, arrived.properties)
