"""Rules of access control, shown and changed as a broker runs (`AdminBrokerProcessor`, `PlainPermissionManager`)."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from rmqlab.broker.processor import success, with_header, without_header
from rmqlab.message.java import text_of
from rmqlab.protocol import fastjson
from rmqlab.protocol.bodies import GetBrokerClusterAclConfigResponseBody, PlainAccessConfig
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.serializable import from_json, to_json
from rmqlab.protocol.topic_config import DataVersion
from rmqlab_tools.live.extra.admin_headers import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from rmqlab_tools.live.extra.plain_access import KEY_MIN_LENGTH, AclError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab_tools.live.extra.plain_access import PlainPermissionManager

ACCOUNTS, WHITE_ADDRESSES, VERSION = "accounts", "globalWhiteRemoteAddresses", "dataVersion"
_FAILED = {
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED,
    RequestCode.DELETE_ACL_CONFIG: ResponseCode.DELETE_ACL_CONFIG_FAILED,
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED,
}
# What Java 17 says of the call on the validator that is not there; Java 8 says nothing.
_METHODS = {
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: "updateAccessConfig(org.apache.rocketmq.common.PlainAccessConfig)",
    RequestCode.DELETE_ACL_CONFIG: "deleteAccessConfig(String)",
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: "updateGlobalWhiteAddrsConfig(java.util.List)",
}


def without_access_control() -> dict[int, Handler]:
    """Who answers these while no request is checked: each is refused with its own code.

    Two questions of the same kind, 52 and 54, have no answer from 4.8.0 then, and so none here.
    """

    def refuse(_channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        code = RequestCode(command.code)
        method = f"org.apache.rocketmq.acl.AccessValidator.{_METHODS[code]}"
        return RemotingCommand.response(_FAILED[code], f'Cannot invoke "{method}" because "accessValidator" is null')

    return dict.fromkeys(_FAILED, refuse)


class AccessRequests:
    """One method a request; `handlers` says which. A change is in force at once; then `persist` gets all rules.

    4.8.0 writes its file first and takes the change in when it sees that the file is another one, within half a second.
    """

    def __init__(
        self, broker: Broker, access: PlainPermissionManager, persist: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self._config = broker.config
        self._access = access
        self._persist = persist
        versions = access.rules.get(VERSION) or [{}]
        self.data_version = DataVersion(versions[0].get("timestamp", broker.now), versions[0].get("counter", 0))
        self.handlers: dict[int, Handler] = {
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: with_header(CreateAccessConfigRequestHeader, self._update),
            RequestCode.DELETE_ACL_CONFIG: with_header(DeleteAccessConfigRequestHeader, self._delete),
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: with_header(
                UpdateGlobalWhiteAddrsConfigRequestHeader, self._update_white
            ),
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO: without_header(self._version),
            RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: without_header(self._show),
        }

    def _update(self, header: CreateAccessConfigRequestHeader, now: int) -> RemotingCommand:
        """Make an account, or change what the request names of one; it goes to the end of the list."""
        failed = ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED
        rules = deepcopy(self._access.rules)
        accounts = rules.get(ACCOUNTS)
        key = header.access_key
        if accounts is None:
            text = f"The accesskey[{text_of(key)}] corresponding to accessConfig has been updated failed."
            return RemotingCommand.response(failed, text)
        account: dict[str, Any] = next((entry for entry in accounts if str(entry.get("accessKey")) == key), {})
        if not key or len(key) <= KEY_MIN_LENGTH:
            text = f"The accessKey={text_of(key)} cannot be null and length should longer than 6"
            return RemotingCommand.response(failed, text)
        if header.secret_key and len(header.secret_key) <= KEY_MIN_LENGTH:
            text = f"The secretKey={header.secret_key} value length should longer than 6"
            return RemotingCommand.response(failed, text)
        given = {
            "accessKey": key,
            "secretKey": header.secret_key,
            "whiteRemoteAddress": header.white_remote_address,
            "admin": header.admin,
            "defaultTopicPerm": header.default_topic_perm,
            "defaultGroupPerm": header.default_group_perm,
            "topicPerms": _listed(header.topic_perms),
            "groupPerms": _listed(header.group_perms),
        }
        changed = {**account, **{name: value for name, value in given.items() if value is not None and value != ""}}
        rules[ACCOUNTS] = [entry for entry in accounts if entry is not account] + [changed]
        return self._take(rules, failed, now)

    def _delete(self, header: DeleteAccessConfigRequestHeader, now: int) -> RemotingCommand:
        failed, key = ResponseCode.DELETE_ACL_CONFIG_FAILED, header.access_key
        rules = deepcopy(self._access.rules)
        accounts = rules.get(ACCOUNTS) or []
        kept = [account for account in accounts if str(account.get("accessKey")) != key]
        if not key or len(kept) == len(accounts):
            text = f"The accesskey[{text_of(key)}] corresponding to accessConfig has been deleted failed."
            return RemotingCommand.response(failed, text)
        rules[ACCOUNTS] = kept
        return self._take(rules, failed, now)

    def _update_white(self, header: UpdateGlobalWhiteAddrsConfigRequestHeader, now: int) -> RemotingCommand:
        failed = ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED
        addresses, rules = _listed(header.global_white_addrs), deepcopy(self._access.rules)
        if addresses is None or rules.get(WHITE_ADDRESSES) is None:
            text = f"The globalWhiteAddresses[{text_of(header.global_white_addrs)}] has been updated failed."
            return RemotingCommand.response(failed, text)
        rules[WHITE_ADDRESSES] = addresses
        return self._take(rules, failed, now)

    def _take(self, rules: dict[str, Any], failed: ResponseCode, now: int) -> RemotingCommand:
        """Put changed rules in force and keep them; those that cannot be taken change nothing."""
        version = DataVersion(now, self.data_version.counter + 1)
        rules[VERSION] = [{"counter": version.counter, "timestamp": version.timestamp}]
        try:
            self._access.load(rules)
        except AclError as error:
            return RemotingCommand.response(failed, str(error))
        self.data_version = version
        if self._persist is not None:
            self._persist(rules)
        return success()

    def _version(self) -> RemotingCommand:
        config = self._config
        version = fastjson.write(to_json(self.data_version)).decode()
        return success(
            header=GetBrokerAclConfigResponseHeader(
                version, config.broker_name, config.broker_addr, config.broker_cluster_name
            )
        )

    def _show(self) -> RemotingCommand:
        """All rules, secrets included, as 4.8.0 gives them to whoever may ask."""
        rules = self._access.rules
        accounts = [from_json(PlainAccessConfig, account) for account in rules.get(ACCOUNTS) or []]
        white = [str(address) for address in rules.get(WHITE_ADDRESSES) or []]
        return success(GetBrokerClusterAclConfigResponseBody(white, accounts))


def _listed(text: str | None) -> list[str] | None:
    """The parts of a text between commas (`UtilAll.string2List`)."""
    return None if text is None else [part for part in text.split(",") if part]
