"""What a popper asks the broker: pop, ack, change of invisibility, and which queues are its own.

Source: `MQClientAPIImpl.popMessageAsync`, `processPopResponse`, `ackMessageAsync`, `changeInvisibleTimeAsync`,
`queryAssignment`; `ExtraInfoUtil`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from rmqlab.client.client_error import MQBrokerError
from rmqlab.message.message import MessageExt
from rmqlab.message.properties import PROPERTY_FIRST_POP_TIME, PROPERTY_POP_CK
from rmqlab.message.record import decode_records
from rmqlab.protocol.assignment import QueryAssignmentResponseBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.extra_info import NORMAL, RETRY_V2, ReceiptHandle, mark_of, parse_start_offset_info
from rmqlab.protocol.pop_headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    PopMessageResponseHeader,
    PopResponseCode,
)
from rmqlab.rules_of_pop import retry_topic

if TYPE_CHECKING:
    from rmqlab.client.mq_client_api import MQClientAPI
    from rmqlab.protocol.assignment import MessageQueueAssignment, QueryAssignmentRequestBody
    from rmqlab.protocol.pop_headers import PopMessageRequestHeader

ASYNC_TIMEOUT = 3_000
QUERY_ASSIGNMENT_TIMEOUT = 3_000
POLL_GRACE = 10_000
"""How much longer than its poll a client waits for the answer to a pop (`PullAPIWrapper.popAsync`)."""


class PopStatus(Enum):
    """How a pop went, as the client sees it."""

    FOUND = "FOUND"
    POLLING_FULL = "POLLING_FULL"
    POLLING_NOT_FOUND = "POLLING_NOT_FOUND"


@dataclass(slots=True, eq=False)
class PopResult:
    """`pop_time` (epoch ms), `invisible_time` (ms) and messages are there when something was found."""

    pop_status: PopStatus
    pop_time: int = 0
    invisible_time: int = 0
    msg_found_list: list[MessageExt] = field(default_factory=list)


_POP_STATUS: dict[int, PopStatus] = {
    ResponseCode.SUCCESS: PopStatus.FOUND,
    PopResponseCode.POLLING_FULL: PopStatus.POLLING_FULL,
    PopResponseCode.POLLING_TIMEOUT: PopStatus.POLLING_NOT_FOUND,
    ResponseCode.PULL_NOT_FOUND: PopStatus.POLLING_NOT_FOUND,
}


async def pop_message(
    api: MQClientAPI, addr: str, broker_name: str, header: PopMessageRequestHeader, timeout_ms: int
) -> PopResult:
    """Pop and wait; each message found has its receipt handle (property POP_CK) and the topic that was asked for.

    Raises:
        MQBrokerError: the broker refuses, as it does an expression that is none (code 23).
    """
    response = await api.answer(addr, RequestCode.POP_MESSAGE, header, timeout_ms)
    status = _POP_STATUS.get(response.code)
    if status is None:
        raise MQBrokerError(response.code, response.remark, addr, api.wire)
    if status is not PopStatus.FOUND:
        return PopResult(status)
    answer = response.decode_header(PopMessageResponseHeader)
    starts = parse_start_offset_info(answer.start_offset_info)
    messages = decode_records(response.body or b"")
    for message in messages:
        properties, queue = message.properties, (mark_of(message.topic), message.queue_id)
        if PROPERTY_POP_CK not in properties:  # a message of the retry topic has it already
            start = starts.setdefault(queue, message.queue_offset)
            properties[PROPERTY_POP_CK] = ReceiptHandle(
                start, answer.pop_time, answer.invisible_time, answer.revive_qid, queue[0], broker_name, queue[1],
                message.queue_offset,
            ).encode()  # fmt: skip
        properties.setdefault(PROPERTY_FIRST_POP_TIME, str(answer.pop_time))
        message.broker_name = broker_name
        message.topic = header.topic
    return PopResult(status, answer.pop_time, answer.invisible_time, messages)


async def ack_message(api: MQClientAPI, addr: str, group: str, topic: str, handle: ReceiptHandle) -> bool:
    """Say that a message is done with; False: the broker knows no such message, or its time is over.

    Raises:
        RemotingError: no answer.
    """
    header = AckMessageRequestHeader(**_place_of(handle, topic, group))
    response = await api.answer(addr, RequestCode.ACK_MESSAGE, header, api.until_noticed(ASYNC_TIMEOUT))
    return response.code == ResponseCode.SUCCESS


async def change_invisible_time(
    api: MQClientAPI, addr: str, group: str, topic: str, handle: ReceiptHandle, invisible_ms: int
) -> ReceiptHandle | None:
    """Let a message become visible `invisible_ms` from now; its new handle, None where the broker does not know it.

    Raises:
        RemotingError: no answer.
    """
    header = ChangeInvisibleTimeRequestHeader(
        **_place_of(handle, topic, group),
        invisible_time=invisible_ms,
        suspend=False if api.wire.tells_suspend else None,
    )
    code = RequestCode.CHANGE_MESSAGE_INVISIBLETIME
    response = await api.answer(addr, code, header, api.until_noticed(ASYNC_TIMEOUT))
    if response.code != ResponseCode.SUCCESS:
        return None
    answer = response.decode_header(ChangeInvisibleTimeResponseHeader)
    return handle._replace(
        start_offset=handle.queue_offset or 0,
        pop_time=answer.pop_time,
        invisible_time=answer.invisible_time,
        revive_qid=answer.revive_qid,
    )


async def query_assignment(
    api: MQClientAPI, addr: str, body: QueryAssignmentRequestBody
) -> list[MessageQueueAssignment] | None:
    """The queues of a topic that the broker gives this client, and how they are read; None: go on as before.

    Raises:
        MQBrokerError: the broker refuses.
        RemotingError: no answer.
    """
    answer = await api.call(addr, RequestCode.QUERY_ASSIGNMENT, None, QUERY_ASSIGNMENT_TIMEOUT, body.encode())
    return QueryAssignmentResponseBody.decode(answer.body or b"{}").message_queue_assignments


def handle_of(message: MessageExt) -> ReceiptHandle:
    """The receipt handle of a message that was popped.

    Raises:
        ReceiptHandleError: it has none.
    """
    return ReceiptHandle.parse(message.properties.get(PROPERTY_POP_CK))


def _place_of(handle: ReceiptHandle, topic: str, group: str) -> dict[str, Any]:
    """What the header of an ack and that of a change of invisibility have in common."""
    return {
        "bname": handle.broker_name,
        "consumer_group": group,
        "topic": real_topic(handle, topic, group),
        "queue_id": handle.queue_id,
        "extra_info": handle.encode(),
        "offset": handle.queue_offset or 0,
    }


def real_topic(handle: ReceiptHandle, topic: str, group: str) -> str:
    """The topic that a message of `topic` lies in: its own, or the retry topic of its group (`getRealTopic`).

    >>> real_topic(ReceiptHandle(0, 0, 0, 0, "1", "broker-a", 0, 0), "T", "G")
    '%RETRY%G_T'
    """
    return topic if handle.retry == NORMAL else retry_topic(group, topic, handle.retry == RETRY_V2)
