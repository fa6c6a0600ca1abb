"""Access control in force, and what the admin tool changes of it (`AdminBrokerProcessor`, an ACL `RPCHook`)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from rmqlab.broker.extra.plain_access import KEY_MIN_LENGTH, AclError
from rmqlab.broker.processor import ProcessorError, success, with_header
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
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.serializable import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.extra.plain_access import PlainPermissionManager
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel

AclRules = dict[str, Any]


class AccessControl:
    """Lets requests pass by the rules of `manager`; without one nothing is checked or changed.

    What would be shown without rules is not answered. `on_change` hears of rules that the admin tool changed.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self.manager: PlainPermissionManager | None = None
        self.on_change: Callable[[AclRules], None] | None = None
        self.handlers: dict[int, Handler] = {
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: with_header(CreateAccessConfigRequestHeader, self._put_account),
            RequestCode.DELETE_ACL_CONFIG: with_header(DeleteAccessConfigRequestHeader, self._delete_account),
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: with_header(
                UpdateGlobalWhiteAddrsConfigRequestHeader, self._put_white_addrs
            ),
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO: self._version,
            RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: self._show,
        }

    def before_request(self, channel: Channel, command: RemotingCommand, _now: int) -> None:
        """Let a request pass. Raises ProcessorError when it may not."""
        if self.manager is not None and not command.is_response:
            try:
                self.manager.validate(command, channel.remote_address)
            except AclError as error:
                raise ProcessorError(f"org.apache.rocketmq.acl.common.AclException: {error}") from error

    def _put_account(self, header: CreateAccessConfigRequestHeader, now: int) -> RemotingCommand:
        """Make or change an account; what is not named stays."""
        failed = f"The accesskey[{header.access_key}] corresponding to accessConfig has been updated failed."
        refused = ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED
        return self._change(refused, failed, now, lambda rules: _put_account(rules, header))

    def _delete_account(self, header: DeleteAccessConfigRequestHeader, now: int) -> RemotingCommand:
        failed = f"The accesskey[{header.access_key}] corresponding to accessConfig has been deleted failed."

        def forget(rules: AclRules) -> bool:
            accounts = rules.get("accounts") or []
            rules["accounts"] = [one for one in accounts if str(one.get("accessKey")) != header.access_key]
            return bool(header.access_key) and len(rules["accounts"]) < len(accounts)

        return self._change(ResponseCode.DELETE_ACL_CONFIG_FAILED, failed, now, forget)

    def _put_white_addrs(self, header: UpdateGlobalWhiteAddrsConfigRequestHeader, now: int) -> RemotingCommand:
        """Put other addresses in the place of those that need no key."""
        failed = f"The globalWhiteAddresses[{header.global_white_addrs}] has been updated failed."

        def put(rules: AclRules) -> bool:
            if not header.global_white_addrs or rules.get("globalWhiteRemoteAddresses") is None:
                return False
            rules["globalWhiteRemoteAddresses"] = split(header.global_white_addrs, ",")
            return True

        return self._change(ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED, failed, now, put)

    def _version(self, _channel: Channel, _command: RemotingCommand, _now: int) -> RemotingCommand | None:
        """The version of the rules, and whose they are."""
        if self.manager is None:
            return None
        header = GetBrokerAclConfigResponseHeader(
            version=fastjson.write(to_json(self.manager.data_version)).decode(),
            broker_name=self._config.broker_name,
            broker_addr=self._config.broker_addr,
            cluster_name=self._config.broker_cluster_name,
        )
        return success(header=header)

    def _show(self, _channel: Channel, _command: RemotingCommand, _now: int) -> RemotingCommand | None:
        """Every rule, secrets included, as in 4.8.0."""
        if self.manager is None:
            return None
        rules = self.manager.rules
        return success(
            GetBrokerClusterAclConfigResponseBody(
                global_white_addrs=[str(address) for address in rules.get("globalWhiteRemoteAddresses") or []],
                plain_access_configs=[_config(account) for account in rules.get("accounts") or []],
            )
        )

    def _change(
        self, refused: ResponseCode, failed: str, now: int, change: Callable[[AclRules], bool]
    ) -> RemotingCommand:
        if self.manager is None:
            return RemotingCommand.response(refused)
        rules = copy.deepcopy(self.manager.rules)
        try:
            if not change(rules):
                return RemotingCommand.response(refused, failed)
            rules["dataVersion"] = [{"counter": self.manager.data_version.counter + 1, "timestamp": now}]
            self.manager.load(rules)
        except AclError as error:
            return RemotingCommand.response(refused, str(error))
        if self.on_change is not None:
            self.on_change(rules)
        return success()


def _put_account(rules: AclRules, header: CreateAccessConfigRequestHeader) -> bool:
    accounts = rules.get("accounts")
    if accounts is None:
        return False
    key = header.access_key
    account: AclRules = next((one for one in accounts if str(one.get("accessKey")) == key), {})
    if not key or len(key) <= KEY_MIN_LENGTH:
        raise AclError(f"The accessKey={key} cannot be null and length should longer than 6")
    if header.secret_key and len(header.secret_key) <= KEY_MIN_LENGTH:
        raise AclError(f"The secretKey={header.secret_key} value length should longer than 6")
    values = {
        "accessKey": key,
        "secretKey": header.secret_key,
        "whiteRemoteAddress": header.white_remote_address,
        "admin": header.admin,
        "defaultTopicPerm": header.default_topic_perm,
        "defaultGroupPerm": header.default_group_perm,
        "topicPerms": split(header.topic_perms, ",") if header.topic_perms else "",
        "groupPerms": split(header.group_perms, ",") if header.group_perms else "",
    }
    changed = account | {name: value for name, value in values.items() if value is False or value}
    rules["accounts"] = [*(one for one in accounts if one is not account), changed]
    return True


def _config(account: AclRules) -> PlainAccessConfig:
    texts = {field: None if account.get(name) is None else str(account[name]) for name, field in _TEXTS.items()}
    return PlainAccessConfig(
        **texts,
        admin=bool(account.get("admin")),
        topic_perms=account.get("topicPerms"),
        group_perms=account.get("groupPerms"),
    )


_TEXTS = {
    "accessKey": "access_key",
    "secretKey": "secret_key",
    "whiteRemoteAddress": "white_remote_address",
    "defaultTopicPerm": "default_topic_perm",
    "defaultGroupPerm": "default_group_perm",
}
