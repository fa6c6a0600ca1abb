"""Who may do what: access keys, signatures and permissions of plain_acl.yml, whose content comes in as data.

Source: `PlainAccessValidator`, `PlainPermissionManager`, `Permission`. Only requests to a broker are checked. A
white address needs no key and no permission; a batch (320) needs a signature and no permission, as in 4.8.0.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.broker.processor import ProcessorError
from rmqlab.errors import BadInput
from rmqlab.message.java import hash_map_order, is_blank
from rmqlab.message.topics import RETRY_GROUP_TOPIC_PREFIX, is_retry_topic, retry_topic
from rmqlab.protocol.codes import PULLS, RequestCode
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab_tools.live.extra.acl import ACCESS_KEY, SIGNATURE, signature, signed_content

if TYPE_CHECKING:
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand

    Matches = Callable[[str], bool]


_EVERYBODY = {"*", "*.*.*.*", "*:*:*:*:*:*:*:*"}
_IPV4_PARTS = 4
_BYTE_MAX = 0xFF


class AclError(BadInput):
    """A request, or a rule of access control, that is refused: what Java throws as `AclException`, with its text."""


def white_addresses(pattern: str | None) -> Matches:
    """What decides whether an address ("10.1.2.3") fits a pattern.

    Ranges are of IPv4; 4.8.0 knows them of IPv6 too.

    Raises:
        AclError: one that is none.
    """
    if pattern is None or is_blank(pattern):
        return lambda _address: False
    if pattern in _EVERYBODY:
        return lambda _address: True
    if pattern.endswith("}"):
        return _several(_braces(pattern))
    if "," in pattern:
        return _several([part for part in pattern.split(",") if part])
    return _range(pattern) if "*" in pattern or "-" in pattern else _several([pattern])


def _braces(pattern: str) -> list[str]:
    mark = ":" if ":" in pattern else "."
    parts = [part for part in pattern.split(mark) if part]
    if mark == "." and len(parts) < _IPV4_PARTS:
        raise AclError("MultipleRemoteAddressStrategy has got a/some wrong format IP(s) ")
    if not parts[-1].startswith("{"):
        raise AclError("MultipleRemoteAddressStrategy netaddress examine scope Exception netaddress")
    head = pattern[: pattern.index("{")]
    return [head + last for last in parts[-1][1:-1].split(",") if last]


def _several(addresses: list[str]) -> Matches:
    known = [_parsed(address) for address in addresses]
    for address, parsed in zip(addresses, known, strict=True):
        if parsed is None:
            raise AclError(f"Netaddress examine Exception netaddress is {address}")
    return lambda address: _parsed(address) in known


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None


def _range(pattern: str) -> Matches:
    """IPv4 addresses whose first part with "*" or "low-high" is in that range, and those before it the same."""
    parts = [part.strip() for part in pattern.split(".")]
    at = next((index for index, part in enumerate(parts) if index and ("*" in part or "-" in part)), None)
    if len(parts) != _IPV4_PARTS or at is None:
        raise AclError(f"Netaddress examine scope Exception netaddress is {pattern}")
    head = [_number(part, pattern) for part in parts[:at]]
    low, high = (0, _BYTE_MAX) if parts[at] == "*" else [_number(text, pattern) for text in parts[at].split("-", 1)]
    if low > high:
        raise AclError(f"RangeRemoteAddressStrategy netaddress examine scope Exception value {parts[at]} ")

    def matches(address: str) -> bool:
        parsed = _parsed(address)
        numbers = list(parsed.packed) if isinstance(parsed, ipaddress.IPv4Address) else [-1]
        return numbers[:at] == head and low <= numbers[at] <= high

    return matches


def _number(text: str, pattern: str) -> int:
    if not text.isdecimal() or int(text) > _BYTE_MAX:
        raise AclError(f"Netaddress examine scope Exception netaddress is {pattern}")
    return int(text)


DENY, PUB, SUB = 1, 4, 8
KEY_MIN_LENGTH = 6
ADMIN_CODES = frozenset({
    RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.UPDATE_BROKER_CONFIG, RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, RequestCode.DELETE_SUBSCRIPTIONGROUP,
})  # fmt: skip
_PERMISSIONS = {"PUB": PUB, "SUB": SUB, "PUB|SUB": PUB | SUB, "SUB|PUB": PUB | SUB}

Needed = dict[str, int]
_GROUP = 0  # no permission: a group, which stands as its retry topic and needs SUB
# Names of the fields that hold a topic or a group, each with the permission it needs.
_TOPIC_AND_GROUP = (("topic", SUB), ("consumerGroup", _GROUP))
_NEEDED: Mapping[int, tuple[tuple[str, int], ...]] = {
    RequestCode.SEND_MESSAGE: (("topic", PUB),),
    RequestCode.SEND_MESSAGE_V2: (("b", PUB),),
    RequestCode.CONSUMER_SEND_MSG_BACK: (("originTopic", PUB), ("group", _GROUP)),
    **dict.fromkeys(PULLS, _TOPIC_AND_GROUP),
    RequestCode.QUERY_MESSAGE: (("topic", SUB),),
    RequestCode.UNREGISTER_CLIENT: (("consumerGroup", _GROUP),),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: (("consumerGroup", _GROUP),),
    RequestCode.UPDATE_CONSUMER_OFFSET: (("consumerGroup", _GROUP), ("topic", SUB)),
}


@dataclass(slots=True)
class PlainAccount:
    """One access key: its secret, whether it is an admin's, permissions by topic and by retry topic of a group."""

    access_key: str
    secret_key: str = field(repr=False)
    is_white: Callable[[str], bool] = field(repr=False)
    admin: bool = False
    default_topic_perm: int = DENY
    default_group_perm: int = DENY
    perms: dict[str, int] = field(default_factory=dict)


class PlainPermissionManager:
    """Accounts and white addresses, and whether a request may pass."""

    def __init__(self, rules: object) -> None:
        """Read the content of plain_acl.yml.

        Raises:
            AclError: what 4.8.0 does not take.
        """
        self.rules: dict[str, Any] = {}
        self._white: list[Callable[[str], bool]] = []
        self._accounts: dict[str, PlainAccount] = {}
        self.load(rules)

    def load(self, rules: object) -> None:
        """Take in other rules, all or none.

        Raises:
            AclError: rules that 4.8.0 does not take.
        """
        if not isinstance(rules, Mapping) or not rules:
            raise AclError(
                "the rules of access control hold no data; globalWhiteRemoteAddresses or accounts are wanted"
            )
        white = [white_addresses(str(address)) for address in _list(rules, "globalWhiteRemoteAddresses")]
        accounts = [_account(entry) for entry in _list(rules, "accounts")]
        self.rules, self._white = dict(rules), white
        self._accounts = {account.access_key: account for account in accounts}

    def before_request(self, channel: Channel, command: RemotingCommand, _now: int) -> None:
        """Let a request pass; give it to a broker as one of its `rpc_hooks`.

        Raises:
            ProcessorError: if it may not.
        """
        if not command.is_response:
            try:
                self.validate(command, channel.remote_address)
            except AclError as error:
                raise ProcessorError(f"org.apache.rocketmq.acl.common.AclException: {error}") from error

    def validate(self, command: RemotingCommand, remote_address: str) -> None:
        """Let a request from "ip:port" pass.

        Raises:
            AclError: with 4.8.0's text when it may not.
        """
        fields = command.all_ext_fields()
        needed = {} if fields is None else _needed(command, fields)
        address = remote_address.rpartition(":")[0].strip("[]")
        if any(is_white(address) for is_white in self._white):
            return
        key = None if fields is None else fields.get(ACCESS_KEY)
        if fields is None or key is None:
            raise AclError("No accessKey is configured")
        account = self._accounts.get(key)
        if account is None:
            raise AclError(f"No acl config for {key}")
        if account.is_white(address):
            return
        wanted = signature(signed_content(fields, command.body), account.secret_key)
        if not hmac.compare_digest(wanted.encode(), (fields.get(SIGNATURE) or "").encode("utf-8", "replace")):
            raise AclError(f"Check signature failed for accessKey={key}")
        _check(account, command.code, needed)


def _list(rules: Mapping[str, Any], name: str) -> list[Any]:
    value = rules.get(name)
    if value is not None and not isinstance(value, list):
        raise AclError(f"{name} of the rules of access control must be a list, not {value!r}")
    return value or []


def _account(rule: object) -> PlainAccount:
    if not isinstance(rule, Mapping):
        raise AclError(f"an account must have accessKey and secretKey, not {rule!r}")
    key, secret = _text(rule.get("accessKey")), _text(rule.get("secretKey"))
    if key is None or secret is None or min(len(key), len(secret)) <= KEY_MIN_LENGTH:
        shown = "null" if secret is None else "***"
        raise AclError(f"The accessKey={key} and secretKey={shown} cannot be null and length should longer than 6")
    account = PlainAccount(
        key,
        secret,
        white_addresses(_text(rule.get("whiteRemoteAddress"))),
        admin=_text(rule.get("admin")) in {"True", "true"},
        default_topic_perm=_permission(_text(rule.get("defaultTopicPerm"))),
        default_group_perm=_permission(_text(rule.get("defaultGroupPerm"))),
    )
    for kind in ("group", "topic"):
        for row in _list(rule, f"{kind}Perms"):
            items = [item.strip() for item in str(row).split("=") if item]
            if len(items) != 2:
                raise AclError(f"Parse resource permission failed for {kind}:{row}")
            account.perms[retry_topic(items[0]) if kind == "group" else items[0]] = _permission(items[1])
    return account


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _permission(text: str | None) -> int:
    return _PERMISSIONS.get((text or "").strip(), DENY)


def _needed(command: RemotingCommand, fields: Mapping[str, str | None]) -> Needed:
    """Which permission a request needs of which topic; a group stands as its retry topic."""
    require_not_null = [(fields.get(name), permission) for name, permission in _NEEDED.get(command.code, ())]
    if command.code == RequestCode.HEART_BEAT:
        try:
            consumers = HeartbeatData.decode(command.body or b"").consumer_data_set
        except FrameError as error:
            raise AclError(str(error)) from error
        for consumer in consumers:
            require_not_null.append((consumer.group_name, _GROUP))
            require_not_null += [(subscription.topic, SUB) for subscription in consumer.subscription_data_set]
    return {
        name if permission else retry_topic(name): permission or SUB
        for name, permission in require_not_null
        if name is not None
    }


def _check(account: PlainAccount, code: int, needed: Needed) -> None:
    if code in ADMIN_CODES and not account.admin:
        raise AclError(f"Need admin permission for request code={code}, but accessKey={account.access_key} is not")
    if not account.perms and account.admin:
        return
    for topic in map(str, hash_map_order(needed)):
        is_group = is_retry_topic(topic)
        default = account.default_group_perm if is_group else account.default_topic_perm
        if not _allows(needed[topic], account.perms.get(topic, default)):
            shown = f"group:{topic[len(RETRY_GROUP_TOPIC_PREFIX) :]}" if is_group else f"topic:{topic}"
            raise AclError(f"No default permission for {shown}")


def _allows(needed: int, owned: int) -> bool:
    return not owned & DENY and bool(needed & owned)
