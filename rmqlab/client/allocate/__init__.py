"""Which member of a consumer group gets which queues: the six strategies of 4.8.0."""

from __future__ import annotations

from rmqlab.client.allocate.average import AllocateMessageQueueAveragely, AllocateMessageQueueAveragelyByCircle
from rmqlab.client.allocate.by_config import AllocateMessageQueueByConfig
from rmqlab.client.allocate.consistent_hash import AllocateMessageQueueConsistentHash
from rmqlab.client.allocate.machine_room import AllocateMachineRoomNearby, AllocateMessageQueueByMachineRoom
from rmqlab.client.allocate.strategy import (
    AllocateArgumentError,
    AllocateMessageQueueStrategy,
    AllocateNullError,
)

__all__ = [
    "AllocateArgumentError",
    "AllocateMachineRoomNearby",
    "AllocateMessageQueueAveragely",
    "AllocateMessageQueueAveragelyByCircle",
    "AllocateMessageQueueByConfig",
    "AllocateMessageQueueByMachineRoom",
    "AllocateMessageQueueConsistentHash",
    "AllocateMessageQueueStrategy",
    "AllocateNullError",
]
