"""Queues fixed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.message.message import MessageQueue


class AllocateMessageQueueByConfig:
    """The list it was given, whatever queues and members there are (4.8.0, same name)."""

    name: Final = "CONFIG"

    def __init__(self, message_queue_list: list[MessageQueue] | None = None) -> None:
        self.message_queue_list = message_queue_list

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[MessageQueue] | None,
        cid_all: Sequence[str] | None,
    ) -> list[MessageQueue] | None:
        """Give the list itself, None when none was set; nothing is checked."""
        return self.message_queue_list
