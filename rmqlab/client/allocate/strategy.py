"""What every allocation strategy is, and the argument checks that most of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.message.message import MessageQueue


class AllocateArgumentError(BadInput):
    """An argument no queue can be allocated with: empty client id, no queues, no members, a room unknown."""

    java_name: ClassVar[str] = "IllegalArgumentException"


class AllocateNullError(BadInput):
    """Something needed is None where 4.8.0 does not check and fails with a NullPointerException."""

    java_name: ClassVar[str] = "NullPointerException"


class AllocateMessageQueueStrategy(Protocol):
    """A rule that every member of a group applies by itself to the same sorted lists (4.8.0, same name)."""

    @property
    def name(self) -> str:
        """The name members compare: all of one group should have the same."""
        ...

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[MessageQueue] | None,
        cid_all: Sequence[str] | None,
    ) -> list[MessageQueue] | None:
        """Give the queues of client `current_cid` out of `mq_all`, the group's members being `cid_all`.

        The lists are taken as they are: sorting them is the caller's business (4.8.0 `RebalanceImpl`).
        Raises `AllocateArgumentError`, and `AllocateNullError` in the strategies that check nothing.
        """
        ...


def check_arguments(
    current_cid: str | None, mq_all: Sequence[MessageQueue] | None, cid_all: Sequence[str] | None
) -> tuple[str, Sequence[MessageQueue], Sequence[str]]:
    """Return the three when none is empty, else raise `AllocateArgumentError` with 4.8.0's text."""
    if not current_cid:
        raise AllocateArgumentError("currentCID is empty")
    if not mq_all:
        raise AllocateArgumentError("mqAll is null or mqAll empty")
    if not cid_all:
        raise AllocateArgumentError("cidAll is null or cidAll empty")
    return current_cid, mq_all, cid_all
