"""PopProcessQueue: how many messages a consumer has popped of a queue and not yet said anything about (same name)."""

from __future__ import annotations

from dataclasses import dataclass

from rmqlab.client.process_queue import PULL_MAX_IDLE_TIME
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.pop_headers import ConsumeInitMode


@dataclass(slots=True, eq=False)
class PopProcessQueue:
    """Nothing is held in order here: a message that was popped is the broker's business. Times are epoch ms."""

    last_pop_timestamp: int
    wait_ack_counter: int = 0
    dropped: bool = False

    def is_pull_expired(self, now: int) -> bool:
        """More than 120 s since the last pop was made: rebalance takes the queue for stuck."""
        return now - self.last_pop_timestamp > PULL_MAX_IDLE_TIME


@dataclass(slots=True, eq=False)
class PopRequest:
    """The next pop of one queue (-1: of all): it goes round and round until its process queue is dropped."""

    consumer_group: str
    message_queue: MessageQueue
    process_queue: PopProcessQueue
    init_mode: ConsumeInitMode
