"""Vectors of the allocation strategies: who gets which queues, and what a strategy refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.client.allocate import (
    AllocateArgumentError,
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueConsistentHash,
)
from rmqlab.message.topics import MessageQueue
from tests.proof.conform.strategies import (
    AllocateMachineRoomNearby,
    AllocateMessageQueueByConfig,
    AllocateMessageQueueByMachineRoom,
    AllocateNullError,
)
from tests.proof.conform.vectors import BadVector, Kind, take

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.client.allocate import AllocateMessageQueueStrategy
    from tests.proof.conform.vectors import Vector


_DEFAULTS: Mapping[str, object] = {"virtualNodeCnt": None, "messageQueueList": None, "consumeridcs": None}


class _RoomBeforeSeparator(NamedTuple):
    """The room is the text before the first separator, None where there is no separator."""

    separator: str

    def broker_deploy_in(self, message_queue: MessageQueue) -> str | None:
        return self.consumer_deploy_in(message_queue.broker_name)

    def consumer_deploy_in(self, client_id: str) -> str | None:
        end = client_id.find(self.separator)
        return client_id[:end] if end >= 0 else None


def _queues(owner: Mapping[str, object], name: str, where: str = "") -> list[MessageQueue] | None:
    rows = take(owner, name, list | None, where)
    if rows is None:
        return None
    path = f"{where}.{name}" if where else name
    queues = []
    for index, row in enumerate(rows):
        if not isinstance(row, list) or [type(part) for part in row] != [str, str, int]:
            raise BadVector(f"{path}[{index}]", "must be [topic, broker name, queue number]")
        queues.append(MessageQueue(*row))
    return queues


def _strategy(name: str | None, params: Mapping[str, object]) -> AllocateMessageQueueStrategy | None:
    match name:
        case None:
            return None
        case "AVG":
            return AllocateMessageQueueAveragely()
        case "AVG_BY_CIRCLE":
            return AllocateMessageQueueAveragelyByCircle()
        case "CONFIG":
            return AllocateMessageQueueByConfig(_queues(params, "messageQueueList", "params"))
        case "CONSISTENT_HASH":
            count = take(params, "virtualNodeCnt", int | None, "params")
            return AllocateMessageQueueConsistentHash() if count is None else AllocateMessageQueueConsistentHash(count)
        case "MACHINE_ROOM":
            return AllocateMessageQueueByMachineRoom(take(params, "consumeridcs", list | None, "params"))
        case "MACHINE_ROOM_NEARBY":
            separator = take(params, "separator", str | None, "params")
            inner = take(params, "inner", str | None, "params")
            return AllocateMachineRoomNearby(
                _strategy(inner, {**_DEFAULTS, **params}),
                None if separator is None else _RoomBeforeSeparator(separator),
            )
    raise BadVector("strategy", f"is not a strategy of 4.8.0: {name!r}")


def _rows(queues: Sequence[MessageQueue] | None) -> list[list[object]] | None:
    return None if queues is None else [list(queue) for queue in queues]


def _run(vector: Vector) -> dict[str, object]:
    answer: dict[str, object] = dict.fromkeys(("name", "allocated", "error", "error_phase", "message"))
    phase = "construct"
    try:
        strategy = _strategy(take(vector, "strategy", str), take(vector, "params", dict))
        if strategy is None:
            raise BadVector("strategy", "is missing")
        phase = "allocate"
        answer["name"] = strategy.name
        answer["allocated"] = _rows(
            strategy.allocate(
                take(vector, "group", str | None),
                take(vector, "currentCID", str | None),
                _queues(vector, "queues"),
                take(vector, "cids", list | None),
            )
        )
    except (AllocateArgumentError, AllocateNullError) as error:
        # The JVM's own NullPointerExceptions have no text in the vectors.
        has_text = phase == "construct" or isinstance(error, AllocateArgumentError)
        answer |= {"error": error.java_name, "error_phase": phase, "message": str(error) if has_text else None}
    return answer


KINDS = {
    "": Kind(
        given={
            "strategy": str,
            "params": dict,
            "group": str | None,
            "queues": list | None,
            "cids": list | None,
            "currentCID": str | None,
        },
        expected=("name", "allocated", "error", "error_phase", "message"),
        run=_run,
    ),
}
