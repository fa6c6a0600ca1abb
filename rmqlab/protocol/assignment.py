"""Who pops and who pulls which queue: the broker decides, a client without its own rebalance asks it. Of 5.x only.

A client asks for its assignment of a topic (400) every 20 s instead of working it out; an administrator sets the mode
(401), or the broker's `defaultMessageRequestMode` counts.
Source: `QueryAssignmentRequestBody`, `QueryAssignmentResponseBody`, `SetMessageRequestModeRequestBody`,
`MessageRequestModeSerializeWrapper`.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.header import NULL
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.serializable import RemotingSerializable


class MessageRequestMode(Enum):
    """How the messages of a topic are fetched by a group."""

    PULL = "PULL"
    POP = "POP"


class QueryAssignmentRequestBody(RemotingSerializable):
    """QUERY_ASSIGNMENT 400; `strategy_name` is AVG or AVG_BY_CIRCLE."""

    topic: str = NULL
    consumer_group: str = NULL
    client_id: str = NULL
    strategy_name: str = NULL
    message_model: MessageModel = NULL


class MessageQueueAssignment(RemotingSerializable):
    """A queue of the client's, and how it fetches from it; queue -1 of a topic is all of them, by POP."""

    message_queue: MessageQueue = NULL
    mode: MessageRequestMode = MessageRequestMode.PULL
    attachments: dict[str, str] | None = None


class QueryAssignmentResponseBody(RemotingSerializable):
    """Answer to 400: the client's queues; none at all (null) is: go on as before."""

    message_queue_assignments: list[MessageQueueAssignment] | None = None


class SetMessageRequestModeRequestBody(RemotingSerializable):
    """SET_MESSAGE_REQUEST_MODE 401.

    `pop_share_queue_num` is with how many of the members after it each member shares its queues; 0 or less: all.
    """

    topic: str = NULL
    consumer_group: str = NULL
    mode: MessageRequestMode = MessageRequestMode.PULL
    pop_share_queue_num: int = 0


class MessageRequestModeSerializeWrapper(RemotingSerializable):
    """Answer to 402, and the file `config/messageRequestMode.json`: what was set by 401, by topic and group."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = msgspec.field(
        default_factory=dict
    )
