"""Even shares: in one block a member (the default) or dealt out in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.client.allocate.strategy import check_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.message.message import MessageQueue


class AllocateMessageQueueAveragely:
    """Contiguous blocks; the first `queues mod members` members get one queue more (4.8.0, same name)."""

    name: Final = "AVG"

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[MessageQueue] | None,
        cid_all: Sequence[str] | None,
    ) -> list[MessageQueue]:
        """Give this member's block, none when it is no member or comes after the queues are used up."""
        cid, queues, cids = check_arguments(current_cid, mq_all, cid_all)
        try:
            index = cids.index(cid)
        except ValueError:
            return []
        share, rest = divmod(len(queues), len(cids))
        size = 1 if len(queues) <= len(cids) else share + (1 if index < rest else 0)
        start = index * size if index < rest else index * size + rest
        return list(queues[start : start + size])


class AllocateMessageQueueAveragelyByCircle:
    """Queue i goes to member i modulo the number of members (4.8.0, same name)."""

    name: Final = "AVG_BY_CIRCLE"

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[MessageQueue] | None,
        cid_all: Sequence[str] | None,
    ) -> list[MessageQueue]:
        """Give every n-th queue from this member's place on."""
        cid, queues, cids = check_arguments(current_cid, mq_all, cid_all)
        return list(queues[cids.index(cid) :: len(cids)]) if cid in cids else []
