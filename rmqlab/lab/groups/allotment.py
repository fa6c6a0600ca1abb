"""Who would own which queue: the six strategies of 4.8.0 asked for the same group, before and after a change.

Every member computes its own share; nobody checks the sum. So a queue may have no owner, or two. The strategies are
those of ``rmqlab.client.allocate``, which the recorded vectors judge; here they are only asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rmqlab.client.allocate import (
    AllocateMachineRoomNearby,
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueByConfig,
    AllocateMessageQueueByMachineRoom,
    AllocateMessageQueueConsistentHash,
)
from rmqlab.errors import BadInput
from rmqlab.message.java import utf16_key
from rmqlab.message.message import MessageQueue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.client.allocate import AllocateMessageQueueStrategy

TOPIC, GROUP = "T", "G"
ROOMS: Final = ("east", "west")
# Our name: 4.8.0's name.
STRATEGIES: Final = {
    "averagely": "AVG",
    "averagely by circle": "AVG_BY_CIRCLE",
    "consistent hash": "CONSISTENT_HASH",
    "by config": "CONFIG",
    "machine room": "MACHINE_ROOM",
    "machine room nearby": "MACHINE_ROOM_NEARBY-AVG",
}
MOST = 64


@dataclass(frozen=True, slots=True)
class Allotment:
    """``shares``: client id to the queues that this member computes for itself, members in order of their ids."""

    strategy: str
    queues: tuple[MessageQueue, ...]
    shares: Mapping[str, tuple[MessageQueue, ...]]

    @property
    def owners(self) -> dict[MessageQueue, tuple[str, ...]]:
        """Who thinks that a queue is its own: nobody, one, or several."""
        return {queue: tuple(who for who, share in self.shares.items() if queue in share) for queue in self.queues}

    @property
    def even(self) -> bool:
        """Whether no member has more than one queue more than another."""
        sizes = [len(share) for share in self.shares.values()]
        return max(sizes) - min(sizes) <= 1

    @property
    def whole(self) -> bool:
        """Whether every queue has exactly one owner."""
        return all(len(owners) == 1 for owners in self.owners.values())

    def moved(self, later: Allotment) -> list[MessageQueue]:
        """The queues whose owners differ in ``later``."""
        after = later.owners
        return [queue for queue, owners in self.owners.items() if after.get(queue) != owners]


@dataclass(frozen=True, slots=True)
class Division:
    """A group with ``queues`` queues, half of them on a broker of each room, and members with rooms.

    ``members``: client ids; ``rooms``: the room of each (default: they alternate, in the order given). ``fixed`` are
    the members for whom somebody once wrote the lists of "by config" (default: all), as averagely would give them.
    """

    queues: int
    members: tuple[str, ...]
    rooms: Mapping[str, str] | None = None
    fixed: tuple[str, ...] | None = None

    def checked(self) -> Division:
        """Itself.

        Raises:
            BadInput: no member, one twice, too many, an empty id, or a number of queues that cannot be.
        """
        if not 1 <= len(self.members) <= MOST or not 1 <= self.queues <= MOST:
            raise BadInput(f"{len(self.members)} members and {self.queues} queues; give 1 to {MOST} of each")
        if len(set(self.members)) < len(self.members) or not all(self.members):
            raise BadInput("client ids must differ, and none may be empty: equal ones are one client to a broker")
        return self

    def message_queues(self) -> tuple[MessageQueue, ...]:
        """The queues in the order every member sorts them into; the brokers are named room@name, as 4.8.0 wants."""
        first = (self.queues + 1) // 2
        return tuple(
            MessageQueue(TOPIC, f"{room}@broker-{name}", number)
            for room, name, count in zip(ROOMS, "ab", (first, self.queues - first), strict=True)
            for number in range(count)
        )

    def allot(self, strategy: str) -> Allotment:
        """What every member computes.

        Raises:
            BadInput: as ``checked``, or an unknown strategy.
        """
        return self.mixed(dict.fromkeys(self.members, strategy))

    def mixed(self, strategies: Mapping[str, str]) -> Allotment:
        """The same with a strategy of each member's own; 4.8.0 has nothing that would notice."""
        self.checked()
        queues, ids = self.message_queues(), sorted(self.members, key=utf16_key)
        shares = {who: tuple(self._of(strategies[who], who).allocate(GROUP, who, queues, ids) or ()) for who in ids}
        return Allotment(" + ".join(dict.fromkeys(strategies[who] for who in ids)), queues, shares)

    def _of(self, strategy: str, who: str) -> AllocateMessageQueueStrategy:
        match strategy:
            case "averagely":
                return AllocateMessageQueueAveragely()
            case "averagely by circle":
                return AllocateMessageQueueAveragelyByCircle()
            case "consistent hash":
                return AllocateMessageQueueConsistentHash()
            case "by config":
                ids = sorted(self.members if self.fixed is None else self.fixed, key=utf16_key)
                written = AllocateMessageQueueAveragely().allocate(GROUP, who, self.message_queues(), ids)
                return AllocateMessageQueueByConfig(written or None)
            case "machine room":
                return AllocateMessageQueueByMachineRoom(ROOMS[:1])
            case "machine room nearby":
                return AllocateMachineRoomNearby(AllocateMessageQueueAveragely(), _Places(self.room_of()))
        raise BadInput(f"strategy is {strategy!r}; it is one of {', '.join(STRATEGIES)}")

    def room_of(self) -> Mapping[str, str]:
        """The room of every member."""
        if self.rooms is not None:
            return self.rooms
        return {who: ROOMS[number % len(ROOMS)] for number, who in enumerate(self.members)}


@dataclass(frozen=True, slots=True)
class _Places:
    """Where brokers and clients stand: a broker's name says it, a client's id is looked up."""

    rooms: Mapping[str, str]

    def broker_deploy_in(self, message_queue: MessageQueue) -> str | None:
        return message_queue.broker_name.partition("@")[0]

    def consumer_deploy_in(self, client_id: str) -> str | None:
        return self.rooms.get(client_id)


def fewest_moves(queues: int, before: int, after: int) -> int:
    """The least number of queues that must move when even shares stay even: what newcomers need, or leavers leave.

    Shares of ``before`` members are as even as can be, and so are those of ``after``; members come, or members go.
    """
    if after > before:
        return sum(_even(queues, after)[before:])
    return sum(_even(queues, before)[after:])


def _even(queues: int, members: int) -> list[int]:
    share, rest = divmod(queues, members)
    return [share + (number < rest) for number in range(members)]


def joined(division: Division, newcomer: str, strategy: str) -> tuple[Allotment, Allotment]:
    """Before and after a member comes.

    Raises:
        BadInput: as ``Division.allot``.
    """
    rooms = dict(division.room_of())
    rooms.setdefault(newcomer, ROOMS[len(division.members) % len(ROOMS)])
    fixed = division.members if division.fixed is None else division.fixed
    after = Division(division.queues, (*division.members, newcomer), rooms, fixed)
    return division.allot(strategy), after.allot(strategy)


def left(division: Division, leaver: str, strategy: str) -> tuple[Allotment, Allotment]:
    """Before and after a member goes.

    Raises:
        BadInput: as ``Division.allot``; the leaver is no member, or the last one.
    """
    if leaver not in division.members:
        raise BadInput(f"{leaver!r} is no member; members are {', '.join(division.members)}")
    rest: Sequence[str] = [who for who in division.members if who != leaver]
    fixed = division.members if division.fixed is None else division.fixed
    after = Division(division.queues, tuple(rest), division.room_of(), fixed)
    return division.allot(strategy), after.allot(strategy)
