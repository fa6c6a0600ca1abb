"""A broker as a socket server calls it: what must be on disk before an answer, and what may be done behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.protocol.codes import RequestCode

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.runtime.durable_store import DurableStore

_SENDS: Final = frozenset({RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE})


class BrokerHandler:
    """A broker whose sends are answered when they are in the log, before queues and index have them.

    So it is in 4.8.0, where `ReputMessageService` is a thread of its own. Here no request but further sends comes in
    between, so that whoever was told that a message is stored can read it at once. With a folder, topics and groups are
    on disk before the request that changed them is answered.
    """

    def __init__(self, broker: Broker, durable: DurableStore | None) -> None:
        self._broker = broker
        self._store = broker.message_store
        self._durable = durable
        self._defers = not self._store.config.async_dispatch
        self.on_channel_close = broker.on_channel_close
        self.next_timer = broker.next_timer

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a command."""
        store = self._store
        if command.code in _SENDS:
            store.defers_dispatch = self._defers
            try:
                answer = self._broker.handle(channel, command, now)
            finally:
                store.defers_dispatch = False
        else:
            store.dispatch_deferred()
            answer = self._broker.handle(channel, command, now)
        if self._durable is not None:
            self._durable.persist_changed()
        return answer

    def after_answers(self) -> None:
        """Dispatch what was sent."""
        self._store.dispatch_deferred()

    def run_timers(self, now: int) -> None:
        """Run what is due."""
        self._broker.run_timers(now)
        if self._durable is not None:
            self._durable.persist_changed()
