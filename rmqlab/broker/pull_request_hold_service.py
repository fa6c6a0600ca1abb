"""Long polling: pulls that found nothing wait here (`PullRequestHoldService`, rows S-73 and S-91)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.events import Wake
from rmqlab.filter.message_filter import MessageFilter
from rmqlab.protocol.channel import Channel
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.store.consume_queue_ext import CqExtUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.processor import BrokerHooks, Timers
    from rmqlab.rules import Rules
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.message_store import MessageStore


class PullRequest(NamedTuple):
    """A held pull: its filter and subscription are those of the moment it was held. Times in ms."""

    request: RemotingCommand
    channel: Channel
    timeout: int
    suspended_at: int
    pull_from: int
    subscription: SubscriptionData
    message_filter: MessageFilter


class PullRequestHoldService:
    """Holds pulls by queue and has them executed again when a message arrives, or when their time is over.

    A message wakes a pull only if the filter kept with it lets the message pass, but the pull is then executed with
    the subscription of that later moment. The check every 5 s (`shortPollingTimeMills` without long polling) knows no
    tags code, so a TAG filter lets it pass: whoever lags is woken.

    Java runs the executions on the pull thread pool: at the same time and in any order, after the caller has gone on.
    Here `execute` queues them up, to run before the next timer: queues in the order in which they first held
    a pull, and the pulls of a queue in the order they were held.
    """

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        timers: Timers,
        rules: Rules,
        hooks: BrokerHooks,
        execute: Callable[[PullRequest], None],
    ) -> None:
        self._store = store
        self._timers = timers
        self._hooks = hooks
        self._execute = execute
        self.pull_request_table: dict[tuple[str, int], list[PullRequest]] = {}
        interval = rules.hold_check_period_ms if config.long_polling_enable else config.short_polling_time_mills
        timers.with_fixed_delay("hold service", timers.now + interval, interval, self.check_hold_request)

    def suspend_pull_request(self, topic: str, queue_id: int, pull_request: PullRequest) -> None:
        """Hold a pull of one queue."""
        self.pull_request_table.setdefault((topic, queue_id), []).append(pull_request)

    def forget(self, channel: Channel) -> None:
        """Drop every pull of a connection: there is no client left to answer."""
        for key, pulls in list(self.pull_request_table.items()):
            if any(pull.channel is channel for pull in pulls):
                self.pull_request_table[key] = [pull for pull in pulls if pull.channel is not channel]

    def held(self, topic: str, queue_id: int) -> list[PullRequest]:
        """The pulls held for a queue, the longest waiting first."""
        return list(self.pull_request_table.get((topic, queue_id), ()))

    def check_hold_request(self, now: int) -> None:
        """Look after every queue with its highest offset of now; the timer calls it."""
        for (topic, queue_id), pulls in list(self.pull_request_table.items()):
            if pulls:
                self.notify_message_arriving(topic, queue_id, now=now)

    def arriving(self, request: DispatchRequest) -> None:
        """Hear from the store that a message can be read (`NotifyMessageArrivingListener`)."""
        topic, queue_id = request.topic, request.queue_id
        if (topic, queue_id) in self.pull_request_table:
            unit = CqExtUnit(request.tags_code, request.store_timestamp, request.bit_map)
            end = request.consume_queue_offset + 1
            self.notify_message_arriving(
                topic, queue_id, end, request.tags_code, unit, request.properties_map, now=self._timers.now
            )

    def notify_message_arriving(
        self,
        topic: str,
        queue_id: int,
        max_offset: int = 0,
        tags_code: int | None = None,
        unit: CqExtUnit | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        now: int,
    ) -> None:
        """Execute again the pulls of a queue that a message at `max_offset` - 1 concerns, or whose time is over.

        For a pull that is not beyond `max_offset` the store is asked how far the queue is now.
        """
        pulls = self.pull_request_table.get((topic, queue_id))
        if not pulls:
            return
        unit = unit or CqExtUnit(0, 0, None)
        waiting: list[PullRequest] = []
        for pull in pulls:
            newest = max_offset
            if newest <= pull.pull_from:
                newest = self._store.get_max_offset_in_queue(topic, queue_id)
            if (
                newest > pull.pull_from
                and pull.message_filter.is_matched_by_consume_queue(tags_code, unit)
                and (properties is None or pull.message_filter.is_matched_by_commit_log(None, properties))
            ):
                self._wake_up(topic, queue_id, pull, "arrived")
            elif now >= pull.suspended_at + pull.timeout:
                self._wake_up(topic, queue_id, pull, "timeout")
            else:
                waiting.append(pull)
        self.pull_request_table[topic, queue_id] = waiting

    def _wake_up(self, topic: str, queue_id: int, pull: PullRequest, why: str) -> None:
        if (observe := self._hooks.observe_pull) is not None:
            observe(Wake(topic, queue_id, pull.pull_from, why))
        self._execute(pull)
