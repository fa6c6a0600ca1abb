"""Access control shown and changed by the admin tool (4.8.0 `AdminBrokerProcessor`, `PlainPermissionManager`)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from rmqlab.broker.acl_error import AclError
from rmqlab.broker.plain_access import KEY_MIN_LENGTH
from rmqlab.message.java import split
from rmqlab.protocol import fastjson
from rmqlab.protocol.acl import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    GetBrokerClusterAclConfigResponseBody,
    PlainAccessConfig,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.serializable import to_json

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.broker.plain_access import PlainPermissionManager
    from rmqlab.protocol.channel import Channel

Rules = dict[str, Any]


class AdminAccess:
    """One method a request. Without access control nothing is changed, and what would be shown is not answered."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def update_and_create(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 50: make or change an account; what is not named stays."""
        header = command.decode_header(CreateAccessConfigRequestHeader)
        failed = f"The accesskey[{header.access_key}] corresponding to accessConfig has been updated failed."
        return self._change(
            ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED, failed, now, lambda rules: _put_account(rules, header)
        )

    def delete(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 51: forget an account."""
        header = command.decode_header(DeleteAccessConfigRequestHeader)
        failed = f"The accesskey[{header.access_key}] corresponding to accessConfig has been deleted failed."

        def forget(rules: Rules) -> bool:
            accounts = rules.get("accounts") or []
            kept = [account for account in accounts if str(account.get("accessKey")) != header.access_key]
            rules["accounts"] = kept
            return bool(header.access_key) and len(kept) < len(accounts)

        return self._change(ResponseCode.DELETE_ACL_CONFIG_FAILED, failed, now, forget)

    def update_global_white_addrs(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 53: put other addresses in the place of those that need no key."""
        header = command.decode_header(UpdateGlobalWhiteAddrsConfigRequestHeader)
        failed = f"The globalWhiteAddresses[{header.global_white_addrs}] has been updated failed."

        def put(rules: Rules) -> bool:
            if not header.global_white_addrs or rules.get("globalWhiteRemoteAddresses") is None:
                return False
            rules["globalWhiteRemoteAddresses"] = split(header.global_white_addrs, ",")
            return True

        return self._change(ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED, failed, now, put)

    def version(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer 52: the version of the rules, and whose they are."""
        access, config = self._broker.access, self._broker.config
        if access is None:
            return None
        header = GetBrokerAclConfigResponseHeader(
            version=fastjson.write(to_json(access.data_version)).decode(),
            broker_name=config.broker_name,
            broker_addr=config.broker_addr,
            cluster_name=config.broker_cluster_name,
        )
        return RemotingCommand.response(ResponseCode.SUCCESS, header=header)

    def show(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer 54: every rule, secrets included, as in 4.8.0."""
        access = self._broker.access
        if access is None:
            return None
        body = GetBrokerClusterAclConfigResponseBody(
            global_white_addrs=[str(one) for one in access.rules.get("globalWhiteRemoteAddresses") or []],
            plain_access_configs=[_config(account) for account in access.rules.get("accounts") or []],
        )
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())

    def _change(self, refused: ResponseCode, failed: str, now: int, change: Any) -> RemotingCommand:
        access: PlainPermissionManager | None = self._broker.access
        if access is None:
            return RemotingCommand.response(refused)
        rules = copy.deepcopy(access.rules)
        try:
            if not change(rules):
                return RemotingCommand.response(refused, failed)
            version = access.data_version
            rules["dataVersion"] = [{"counter": version.counter + 1, "timestamp": now}]
            access.load(rules)
        except AclError as error:
            return RemotingCommand.response(refused, str(error))
        if self._broker.on_access_changed is not None:
            self._broker.on_access_changed(rules)
        return RemotingCommand.response(ResponseCode.SUCCESS)


def _put_account(rules: Rules, header: CreateAccessConfigRequestHeader) -> bool:
    accounts = rules.get("accounts")
    if accounts is None:
        return False
    key = header.access_key
    account: Rules = next((one for one in accounts if str(one.get("accessKey")) == key), {})
    if not key or len(key) <= KEY_MIN_LENGTH:
        raise AclError(f"The accessKey={key} cannot be null and length should longer than 6")
    if header.secret_key and len(header.secret_key) <= KEY_MIN_LENGTH:
        raise AclError(f"The secretKey={header.secret_key} value length should longer than 6")
    told = {
        "accessKey": key,
        "secretKey": header.secret_key,
        "whiteRemoteAddress": header.white_remote_address,
        "admin": header.admin,
        "defaultTopicPerm": header.default_topic_perm,
        "defaultGroupPerm": header.default_group_perm,
        "topicPerms": split(header.topic_perms, ",") if header.topic_perms else "",
        "groupPerms": split(header.group_perms, ",") if header.group_perms else "",
    }
    changed = account | {name: value for name, value in told.items() if value is False or value}
    rules["accounts"] = [*(one for one in accounts if one is not account), changed]
    return True


def _config(account: dict[str, Any]) -> PlainAccessConfig:
    def text(name: str) -> str | None:
        value = account.get(name)
        return None if value is None else str(value)

    return PlainAccessConfig(
        access_key=text("accessKey"),
        secret_key=text("secretKey"),
        white_remote_address=text("whiteRemoteAddress"),
        admin=bool(account.get("admin")),
        default_topic_perm=text("defaultTopicPerm"),
        default_group_perm=text("defaultGroupPerm"),
        topic_perms=account.get("topicPerms"),
        group_perms=account.get("groupPerms"),
    )
