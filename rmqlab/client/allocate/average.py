"""Even shares: in one block a member (the default) or dealt out in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.client.allocate.strategy import check_arguments
from rmqlab.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.message.message import MessageQueue
    from rmqlab.rules import Rules


class AllocateMessageQueueAveragely:
    """Contiguous blocks; the first `queues mod members` members get one queue more (4.8.0, same name)."""

    name: Final = "AVG"

    def __init__(self, rules: Rules = RULES["4.8.0"]) -> None:
        self._rule = rules.allocate

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[MessageQueue] | None,
        cid_all: Sequence[str] | None,
    ) -> list[MessageQueue]:
        """Give this member's block, none when it is no member or comes after the queues are used up."""
        return self._rule(*check_arguments(current_cid, mq_all, cid_all))


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
