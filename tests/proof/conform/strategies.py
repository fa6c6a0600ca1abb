"""Three more of Java's allocation strategies, which no scenario can name: by configuration, and two by machine room.

Source: the classes of the same names. A learner's own strategy has the same form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeVar

from rmqlab.client.allocate import AllocateArgumentError, checked
from rmqlab.errors import BadInput
from rmqlab.message.java import split, utf16_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from rmqlab.client.allocate import AllocateMessageQueueStrategy, ClientIds, Queues
    from rmqlab.message.topics import MessageQueue

_T = TypeVar("_T")


class AllocateNullError(BadInput):
    """Something needed is None where RocketMQ does not check and fails with a NullPointerException."""

    java_name: ClassVar[str] = "NullPointerException"


class AllocateMessageQueueByConfig:
    """The list it was given, whatever queues and members there are."""

    name: Final = "CONFIG"

    def __init__(self, message_queue_list: list[MessageQueue] | None = None) -> None:
        self.message_queue_list = message_queue_list

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue] | None:
        """Give the list itself, None when none was set; nothing is checked."""
        return self.message_queue_list


class AllocateMessageQueueByMachineRoom:
    """Only queues of brokers called `room@name` in one of `consumeridcs`, shared evenly."""

    name: Final = "MACHINE_ROOM"

    def __init__(self, consumeridcs: Collection[str] | None = None) -> None:
        self.consumeridcs = consumeridcs

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue]:
        """Give this member's block, and one of the queues left over to each of the first members.

        No argument is checked: None for a list, or no rooms while a broker has one, raises `AllocateNullError`.
        """
        if cid_all is None:
            raise AllocateNullError("cidAll is null")
        if current_cid not in cid_all:
            return []
        if mq_all is None:
            raise AllocateNullError("mqAll is null")
        queues = [queue for queue in mq_all if self._is_here(queue)]
        index = cid_all.index(current_cid)
        share, rest = divmod(len(queues), len(cid_all))
        block = queues[share * index : share * (index + 1)]
        return [*block, queues[index + share * len(cid_all)]] if index < rest else block

    def _is_here(self, queue: MessageQueue) -> bool:
        parts = split(queue.broker_name, "@")
        if len(parts) != 2:
            return False
        if self.consumeridcs is None:
            raise AllocateNullError("consumeridcs is null")
        return parts[0] in self.consumeridcs


class MachineRoomResolver(Protocol):
    """Tells the room of a broker and of a client; None or empty when it knows none."""

    def broker_deploy_in(self, message_queue: MessageQueue, /) -> str | None:
        """Give the room of the queue's broker."""
        ...

    def consumer_deploy_in(self, client_id: str, /) -> str | None:
        """Give the room of a client."""
        ...


class AllocateMachineRoomNearby:
    """Queues go to members of their own room by another strategy; rooms without members are shared by all.

    Raises `AllocateNullError` when strategy or resolver is None.
    """

    def __init__(
        self, strategy: AllocateMessageQueueStrategy | None, machine_room_resolver: MachineRoomResolver | None
    ) -> None:
        if strategy is None:
            raise AllocateNullError("allocateMessageQueueStrategy is null")
        if machine_room_resolver is None:
            raise AllocateNullError("machineRoomResolver is null")
        self._strategy = strategy
        self._resolver = machine_room_resolver

    @property
    def name(self) -> str:
        """Both names, joined."""
        return f"MACHINE_ROOM_NEARBY-{self._strategy.name}"

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue]:
        """Give this member's share of its own room, then of every deserted room in the order of their names.

        Raises `AllocateArgumentError`, also for a broker or a member without a room.
        """
        cid, queues, cids = checked(current_cid, mq_all, cid_all)
        if cid not in cids:
            return []
        queues_by_room = _by_room(queues, self._resolver.broker_deploy_in, "mq")
        cids_by_room = _by_room(cids, self._resolver.consumer_deploy_in, "consumer id")
        here = self._resolver.consumer_deploy_in(cid) or ""
        shares = [(queues_by_room.pop(here), cids_by_room[here])] if here in queues_by_room else []
        deserted = sorted(queues_by_room.keys() - cids_by_room.keys(), key=utf16_key)
        result: list[MessageQueue] = []
        for of_room, members in [*shares, *((queues_by_room[room], cids) for room in deserted)]:
            share = self._strategy.allocate(consumer_group, cid, of_room, members)
            if share is None:
                raise AllocateNullError(f"strategy {self._strategy.name} gave no list")
            result.extend(share)
        return result


def _by_room(members: Iterable[_T], room_of: Callable[[_T], str | None], kind: str) -> dict[str, list[_T]]:
    rooms: dict[str, list[_T]] = {}
    for member in members:
        room = room_of(member)
        if not room:
            raise AllocateArgumentError(f"Machine room is null for {kind} {member}")
        rooms.setdefault(room, []).append(member)
    return rooms
