"""POP as a broker has it: its parts, put together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.pop.ack_message_processor import AckMessageProcessor
from rmqlab.broker.pop.change_invisible_time_processor import ChangeInvisibleTimeProcessor
from rmqlab.broker.pop.message_request_mode_manager import MessageRequestModeManager
from rmqlab.broker.pop.pop_buffer_merge_service import PopBufferMergeService
from rmqlab.broker.pop.pop_check_point import revive_topic
from rmqlab.broker.pop.pop_config import PopConfig
from rmqlab.broker.pop.pop_dependencies import ChosenByBroker, PopDependencies
from rmqlab.broker.pop.pop_long_polling_service import PopLongPollingService
from rmqlab.broker.pop.pop_message_processor import PopMessageProcessor
from rmqlab.broker.pop.pop_revive_service import PopReviveService
from rmqlab.broker.pop.query_assignment_processor import QueryAssignmentProcessor
from rmqlab.broker.pop.timer_message_store import TimerMessageStore
from rmqlab.errors import BadInput
from rmqlab.language import _

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.consumer_manage_processor import ConsumerOffsetManager
    from rmqlab.broker.pop.pop_dependencies import PopChoices
    from rmqlab.broker.pop.pop_long_polling_service import PopRequest
    from rmqlab.broker.processor import BrokerHooks, Handler, Timers
    from rmqlab.broker.pull_check import PullDependencies
    from rmqlab.protocol.channel import Channel
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.message_store import MessageStore


def pop_of(broker: Broker) -> PopServices:
    """The POP of a broker.

    Raises:
        BadInput: its version has none.
    """
    if not isinstance(broker.pop, PopServices):
        raise BadInput(_("a broker of {version} has no POP", version=broker.rules.version))
    return broker.pop


def of_broker(
    pull: PullDependencies,
    store: MessageStore,
    offsets: ConsumerOffsetManager,
    timers: Timers,
    hooks: BrokerHooks,
    choose: Callable[[str, int], int],
) -> PopServices:
    """The services of a broker with these tables.

    Raises:
        BadInput: a setting of POP is none; the text names it.
    """
    config = PopConfig.from_properties(pull.config.of_pop)
    parts = PopDependencies(
        pull.config, config, store, pull.topics, pull.groups, pull.consumers, pull.filters, offsets, timers, hooks,
        pull.rules,
    )  # fmt: skip
    return PopServices(parts, choose)


class PopServices:
    """The parts of POP of one broker: `line` the waiters, `buffer` the offsets, `timer` and `revive` what comes again.

    `choices` are asked for what is left to chance; put another there before the first pop.
    """

    def __init__(self, parts: PopDependencies, choose: Callable[[str, int], int]) -> None:
        self.parts = parts
        self.revive_topic = revive_topic(parts.config.broker_cluster_name)
        self.timer = TimerMessageStore(parts.pop_config, parts.store, parts.timers)
        self.buffer = PopBufferMergeService(parts.offsets, parts.timers)
        self.modes = MessageRequestModeManager(parts.pop_config)
        self.pop_message_processor = PopMessageProcessor(
            parts, ChosenByBroker(choose), self.buffer, self.timer, self.revive_topic
        )
        self.line = self.pop_message_processor.line = PopLongPollingService(parts, self.wake_up)
        acks = AckMessageProcessor(parts, self.timer, self.revive_topic)
        self.revive = [
            PopReviveService(parts, self.revive_topic, queue_id)
            for queue_id in range(parts.pop_config.revive_queue_num)
        ]
        self.handlers: dict[int, Handler] = {
            **self.pop_message_processor.handlers,
            **acks.handlers,
            **ChangeInvisibleTimeProcessor(parts, acks).handlers,
            **QueryAssignmentProcessor(parts, self.modes).handlers,
        }

    @property
    def choices(self) -> PopChoices:
        """Who decides what is left to chance."""
        return self.pop_message_processor.choices

    @choices.setter
    def choices(self, choices: PopChoices) -> None:
        self.pop_message_processor.choices = choices

    def wake_up(self, pop: PopRequest) -> None:
        """Queue the execution of a pop that waited, which Java hands to a thread pool: done before the next timer."""
        self.parts.timers.wake_up(partial(self.pop_message_processor.execute_request_when_wakeup, pop))

    def arriving(self, request: DispatchRequest) -> None:
        """Hear from the store that a message can be read."""
        if request.topic == self.revive_topic:
            self.revive[request.queue_id].arriving(self.parts.timers.now)
        elif self.parts.config.long_polling_enable:
            self.line.arriving(request)

    def on_channel_close(self, channel: Channel) -> None:
        """A client's connection is gone."""
        self.line.forget(channel)

    def holds_back(self) -> bool:
        """Whether check points or acks lie in the timer, or wait to be decided."""
        return self.timer.waiting > 0 or any(service.holds_back() for service in self.revive)
