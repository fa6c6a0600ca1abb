"""QUERY_ASSIGNMENT (400) and SET_MESSAGE_REQUEST_MODE (401): which queues are a member's, and does it pull or pop.

Source: `QueryAssignmentProcessor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.pop.message_request_mode_manager import MessageRequestModeManager
from rmqlab.broker.pop.pop_dependencies import PopDependencies
from rmqlab.broker.processor import require_not_null, success
from rmqlab.message.topics import MessageQueue, is_retry_topic, queues_of
from rmqlab.protocol.assignment import (
    MessageQueueAssignment,
    MessageRequestMode,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.pop_headers import ANY_QUEUE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel

    Allocate = Callable[[str, Sequence[MessageQueue], Sequence[str]], list[MessageQueue]]


@dataclass(slots=True, eq=False)
class QueryAssignmentProcessor:
    """Answers QUERY_ASSIGNMENT and SET_MESSAGE_REQUEST_MODE.

    The broker knows its own queues of a topic only; the real one asks the name server for those of all brokers.
    """

    parts: PopDependencies
    modes: MessageRequestModeManager

    @property
    def handlers(self) -> dict[int, Handler]:
        """Who answers which request."""
        return {
            RequestCode.QUERY_ASSIGNMENT: self._query_assignment,
            RequestCode.SET_MESSAGE_REQUEST_MODE: self._set_message_request_mode,
        }

    def _query_assignment(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """The member's queues; none (null) when the topic, the group or the strategy is not known."""
        body = command.decode_body(QueryAssignmentRequestBody)
        mode = self.modes.mode_of(require_not_null(body.topic), require_not_null(body.consumer_group))
        queues = self._do_load_balance(body, mode)
        assignments = None
        if queues is not None:
            assignments = [MessageQueueAssignment(queue, mode.mode) for queue in dict.fromkeys(queues)]
        return success(QueryAssignmentResponseBody(assignments))

    def _do_load_balance(
        self, body: QueryAssignmentRequestBody, mode: SetMessageRequestModeRequestBody
    ) -> list[MessageQueue] | None:
        parts, topic = self.parts, body.topic
        config = parts.topics.select_topic_config(topic)
        if config is None:
            return None
        queues = queues_of(topic, parts.config.broker_name, config.read_queue_nums)
        if body.message_model is MessageModel.BROADCASTING or not parts.pop_config.server_load_balancer_enable:
            return queues
        info = parts.consumers.get_consumer_group_info(body.consumer_group)
        strategies: dict[str, Allocate] = {"AVG": parts.rules.allocate, "AVG_BY_CIRCLE": _by_circle}
        allocate = strategies.get(body.strategy_name)
        if info is None or allocate is None or not queues or not body.client_id:
            return None
        members = sorted(info.client_ids)
        if mode.mode is MessageRequestMode.PULL:
            return allocate(body.client_id, queues, members)
        shared = partial(parts.rules.pop_share, body.client_id, queues, members)
        share = shared(mode.pop_share_queue_num, allocate)
        return [MessageQueue(topic, parts.config.broker_name, ANY_QUEUE)] if share is None else list(share)

    def _set_message_request_mode(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """Set how a group fetches a topic's messages; retry topics are always pulled."""
        body = command.decode_body(SetMessageRequestModeRequestBody)
        topic, parts = require_not_null(body.topic), self.parts
        if is_retry_topic(topic):
            return RemotingCommand.response(ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode")
        if parts.topics.select_topic_config(topic) is None:
            return RemotingCommand.response(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
        if parts.groups.find_subscription_group_config(require_not_null(body.consumer_group)) is None:
            return RemotingCommand.response(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist"
            )
        self.modes.set_mode(body)
        return success()


def _by_circle(current_cid: str, mq_all: Sequence[MessageQueue], cid_all: Sequence[str]) -> list[MessageQueue]:
    """Every n-th queue of n members (`AllocateMessageQueueAveragelyByCircle`)."""
    return list(mq_all[cid_all.index(current_cid) :: len(cid_all)]) if current_cid in cid_all else []
