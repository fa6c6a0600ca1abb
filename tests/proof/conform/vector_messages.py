"""Messages as vectors write them: hosts as "ip|port", bodies in hex, properties as pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.java import in_hash_map_order
from rmqlab.message.message import Host, HostError, MessageExt
from tests.proof.conform.vectors import BadVector, from_hex, take

if TYPE_CHECKING:
    from collections.abc import Mapping


def host_of(owner: Mapping[str, object], name: str, where: str) -> Host:
    """Return the host that a vector writes as "ip|port"."""
    try:
        return Host.parse(take(owner, name, str, where))
    except HostError as error:
        raise BadVector(f"{where}.{name}", f"must be an address such as 127.0.0.1|10911: {error}") from error


def properties_of(owner: Mapping[str, object], where: str) -> dict[str, str]:
    """Return the properties that a vector writes as pairs, in the order of a HashMap."""
    pairs = take(owner, "properties", list | None, where) or []
    for index, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise BadVector(f"{where}.properties[{index}]", "must be a name and a value")
    return in_hash_map_order(dict(pairs))


def body_of(owner: Mapping[str, object], where: str) -> bytes | None:
    """Return the body that a vector writes in hex, or None."""
    text = take(owner, "body_hex", str | None, where)
    return None if text is None else from_hex(text, f"{where}.body_hex".lstrip("."))


def decoded_json(message: MessageExt | None, *, has_properties: bool) -> dict[str, object] | None:
    """Return `message` as the vectors write a decoded one."""
    if message is None:
        return None
    return {
        "topic": message.topic,
        "queueId": message.queue_id,
        "flag": message.flag,
        "body_hex": None if message.body is None else message.body.hex(),
        "bodyCRC": message.body_crc,
        "bornTimestamp": message.born_timestamp,
        "storeTimestamp": message.store_timestamp,
        "bornHost": f"{message.born_host.ip}|{message.born_host.port}",
        "storeHost": f"{message.store_host.ip}|{message.store_host.port}",
        "sysFlag": message.sys_flag,
        "queueOffset": message.queue_offset,
        "commitLogOffset": message.commit_log_offset,
        "reconsumeTimes": message.reconsume_times,
        "preparedTransactionOffset": message.prepared_transaction_offset,
        "storeSize": message.store_size,
        "properties": message.properties if has_properties else None,
        "offsetMsgId": message.offset_msg_id,
        "msgId": message.client_msg_id,
    }
