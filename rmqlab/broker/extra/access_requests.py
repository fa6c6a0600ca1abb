"""Requests that would change the rules of access control, to a broker that has none (`AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel

# What Java 17 says of the call on the validator that is not there; Java 8 says nothing.
_REFUSALS = {
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: (
        ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED,
        "updateAccessConfig(org.apache.rocketmq.common.PlainAccessConfig)",
    ),
    RequestCode.DELETE_ACL_CONFIG: (ResponseCode.DELETE_ACL_CONFIG_FAILED, "deleteAccessConfig(String)"),
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: (
        ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED,
        "updateGlobalWhiteAddrsConfig(java.util.List)",
    ),
}


def without_access_control() -> dict[int, Handler]:
    """Return who answers these while no request is checked: each is refused with its own code.

    Two questions of the same kind, 52 and 54, have no answer from 4.8.0 then, and so none here.
    """

    def refuse(_channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        code, method = _REFUSALS[RequestCode(command.code)]
        remark = f'Cannot invoke "org.apache.rocketmq.acl.AccessValidator.{method}" because "accessValidator" is null'
        return RemotingCommand.response(code, remark)

    return dict.fromkeys(_REFUSALS, refuse)
