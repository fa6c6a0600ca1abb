"""Offsets of a group set by time, with the requests that 4.8.0's admin tool sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_error import MQBrokerError, MQClientError
from rmqlab.message.message import MessageQueue
from rmqlab.protocol.admin_headers import ResetOffsetRequestHeader
from rmqlab.protocol.bodies import ResetOffsetBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import UpdateConsumerOffsetRequestHeader

if TYPE_CHECKING:
    from rmqlab.client.mq_client_instance import MQClientInstance

TIMEOUT_MS = 5_000
AT_THE_END = -1


async def reset_offset_by_time(
    instance: MQClientInstance, group: str, topic: str, timestamp: int, *, direct: bool = False
) -> dict[int, int]:
    """Let a group go on at ``timestamp`` (epoch ms, -1: the end of each queue); the new offset by queue id.

    As 4.8.0 `ResetOffsetByTimeCommand`, forced: the broker tells the members, who go on there 10 s later; when none is
    online, each queue's offset is written. A group that never committed in every queue is refused (code 1). With
    ``direct`` the offsets are written at once, also those of a group that nobody has seen, as `CloneGroupOffsetCommand`
    does (which in 4.8.0 writes the end of each queue, not the other group's offsets).

    Raises:
        MQClientError: no broker has the topic.
        MQBrokerError: the broker refuses.
    """
    await instance.update_topic_route_info_from_name_server(topic)
    route = await instance.api.get_topic_route_info(topic, TIMEOUT_MS)
    written: dict[int, int] = {}
    for broker in sorted(route.broker_datas):
        address = instance.find_broker_address_in_publish(broker.broker_name)
        if address is None:
            raise MQClientError(f"The broker[{broker.broker_name}] not exist")
        if not direct:
            try:
                header = ResetOffsetRequestHeader(topic, group, timestamp, is_force=True)
                code = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
                answer = await instance.api.call(address, code, header, TIMEOUT_MS)
            except MQBrokerError as refused:
                if refused.response_code != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
            else:
                told = ResetOffsetBody.decode(answer.body or b"{}").offset_table
                written.update({queue.queue_id: offset for queue, offset in told.items()})
                continue
        queues = next(data.read_queue_nums for data in route.queue_datas if data.broker_name == broker.broker_name)
        for queue_id in range(queues):
            queue = MessageQueue(topic, broker.broker_name, queue_id)
            if timestamp == AT_THE_END:
                offset = await instance.admin.max_offset(queue)
            else:
                offset = await instance.admin.search_offset(queue, timestamp)
            commit = UpdateConsumerOffsetRequestHeader(group, topic, queue_id, offset)
            await instance.api.call(address, RequestCode.UPDATE_CONSUMER_OFFSET, commit, TIMEOUT_MS)
            written[queue_id] = offset
    return dict(sorted(written.items()))
