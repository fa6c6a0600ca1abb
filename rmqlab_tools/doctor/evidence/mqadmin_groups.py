"""What mqadmin prints of groups and their members: consumerConnection, producerConnection, consumerStatus.

Source: `ConsumerConnectionSubCommand`, `ProducerConnectionSubCommand`, `ConsumerStatusSubCommand`,
`ConsumerRunningInfo.formatString`; forms of 4.8.0, of 4.5.1 to 4.9 and of 5.x.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import (
    Connection,
    ConsumerConnection,
    ConsumerRunningInfo,
    ProcessQueueInfo,
    ProducerConnection,
)
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab_tools.doctor.evidence.piece import StatusRow, StatusTable
from rmqlab_tools.doctor.evidence.text_lines import columns, headings, number, printed_subscription, version_number

if TYPE_CHECKING:
    from collections.abc import Sequence

MEMBER: Final = re.compile(r"^(?:\d{3}\s+)?(\S+)\s+(\S+:\d+)\s+([A-Z_]+)\s+(\w+)\s*$")
"""A member: index (4.8.0), client id, address, language, version."""
PRODUCER_LINE: Final = re.compile(r"^\d{4}\s+(\S+)\s+(\S+:\d+)\s+([A-Z_]+)\s+(\w+)\s*$")
BELOW: Final = re.compile(r"^Below is subscription:\s*(.*)$")
_SUBSCRIPTION: Final = re.compile(r"^(?:\d{3}\s+)?Topic:\s+(\S+)\s+SubExpression:\s?(.*)$")
_KIND: Final = re.compile(r"^(ConsumeType|MessageModel|ConsumeFromWhere):\s*(\w+)\s*$")
_KINDS: Final[dict[str, Any]] = {
    "ConsumeType": ("consume_type", ConsumeType),
    "MessageModel": ("message_model", MessageModel),
    "ConsumeFromWhere": ("consume_from_where", ConsumeFromWhere),
}
STATUS: Final = re.compile(r"^\d+\s+(\S+)\s+(V\w+|HIGHER_VERSION)\s+(\d+/\S+)\s*$")
SAME: Final = "Same subscription in the same group of consumer"
DIFFERENT: Final = "WARN: Different subscription in the same group of consumer!!!"
_BLOCKED: Final = re.compile(r"can't lock for a while|can't consume for a while|unlock \d+ times, still failed")
Read = tuple[Any, int]
"""What was read, and the number of the first line that is no part of it."""


def _connection(match: re.Match[str]) -> Connection:
    client, address, language, version = match.groups()
    return Connection(client, address, language, version_number(version))


def consumer_connection(lines: Sequence[str], start: int) -> Read | None:
    """Members, then subscriptions, then type, model and start."""
    at, members, connection = start, [], ConsumerConnection()
    while at < len(lines) and (headings(lines[at]) or MEMBER.match(lines[at]) or not lines[at].strip()):
        match = MEMBER.match(lines[at])
        members += [_connection(match)] if match else []
        at += 1
    below = BELOW.match(lines[at]) if at < len(lines) else None
    connection.connection_set = members
    if below is None:
        return (connection, at) if members else None
    rest = [below[1], *lines[at + 1 :]]
    in_columns = False
    for offset, line in enumerate(rest):
        match, kind = _SUBSCRIPTION.match(line), _KIND.match(line)
        if match:
            connection.subscription_table[match[1]] = printed_subscription(match[1], match[2].strip())
        elif kind:
            name, cls = _KINDS[kind[1]]
            if kind[2] in cls.__members__:
                setattr(connection, name, cls[kind[2]])
        elif headings(line)[:1] == ["Topic"]:
            in_columns = True
        elif in_columns and (cells := columns(line, ["topic", "expression"])) and not line[:1].isspace():
            connection.subscription_table[cells["topic"]] = printed_subscription(cells["topic"], cells["expression"])
        elif line.strip():
            return connection, at + offset
        elif in_columns and connection.subscription_table:
            in_columns = False
    return connection, len(lines)


def producer_connection(lines: Sequence[str], start: int) -> Read | None:
    """Producers, a line each."""
    at, connections = start, []
    while at < len(lines) and (match := PRODUCER_LINE.match(lines[at])):
        connections.append(_connection(match))
        at += 1
    return (ProducerConnection(connections), at) if connections else None


def consumer_status(lines: Sequence[str], start: int) -> Read | None:
    """Who answered, then the tool's verdict."""
    rows: list[StatusRow] = []
    blocked: list[str] = []
    same = rebalanced = None
    at = end = start
    for at, line in enumerate(lines[start:], start):
        match = STATUS.match(line)
        if match:
            rows.append(StatusRow(*match.groups()))
        elif line.strip() in {SAME, DIFFERENT}:
            same = line.strip() == SAME
        elif line.startswith("Rebalance ") and line.split()[1:] in (["OK"], ["Failed"]):
            rebalanced = line.split()[1] == "OK"
        elif _BLOCKED.search(line):
            blocked.append(line.strip())
        elif line.strip() and not headings(line):
            break
        else:
            continue
        end = at + 1
    return StatusTable(tuple(rows), same, rebalanced, tuple(blocked)), max(end, start + 1)


_SECTION: Final = re.compile(r"^#Consumer ([\w& ]+)#\s*$")
_PROPERTY: Final = re.compile(r"^(\S+)\s*: (.*)$")
_ASKED: Final = re.compile(r"^\d+ Topic:\s+(\S+)\s+ClassFilter:\s+(\w+)\s+SubExpression:\s?(.*)$")
_HELD: Final = re.compile(r"^(\S+)\s+(\S+)\s+(\d+)\s+ProcessQueueInfo \[(.*)\]\s*$")


def running_info(lines: Sequence[str], start: int) -> Read | None:
    """What one member says of itself, section by section."""
    info, section, at = ConsumerRunningInfo(), "", start
    for at, line in enumerate(lines[start:], start):  # noqa: B007 - the last line counts below
        head = _SECTION.match(line)
        if head:
            section = head[1]
        elif not line.strip() or section == "jstack":
            continue
        elif section == "Properties" and (match := _PROPERTY.match(line)):
            info.properties[match[1]] = match[2].strip()
        elif section == "Subscription" and (match := _ASKED.match(line)):
            data = printed_subscription(match[1], match[3].strip())
            info.subscription_set.append(
                SubscriptionData(match[1], match[3].strip(), class_filter_mode=True) if match[2] == "true" else data
            )
        elif section == "Offset" and (cells := columns(line, ["topic", "broker", "queue", "offset"])):
            queue, offset = number(cells["queue"]), number(cells["offset"])
            if queue is not None and offset is not None:
                info.mq_table.setdefault(MessageQueue(cells["topic"], cells["broker"], queue), ProcessQueueInfo(offset))
            elif not headings(line):
                break
        elif section == "MQ Detail" and (match := _HELD.match(line)):
            info.mq_table[MessageQueue(match[1], match[2], int(match[3]))] = _process_queue(match[4])
        elif not headings(line) and section not in _OTHER_SECTIONS:
            break
    else:
        at += 1
    return info, at


_OTHER_SECTIONS: Final = {"RT&TPS", "Pop Detail", "User Info", "MQ Detail"}


def _process_queue(text: str) -> ProcessQueueInfo:
    fields = dict(part.partition("=")[::2] for part in text.split(", "))
    return ProcessQueueInfo(
        commit_offset=number(fields.get("commitOffset")) or 0,
        cached_msg_count=number(fields.get("cachedMsgCount")) or 0,
        locked=fields.get("locked") == "true",
        droped=fields.get("droped") == "true",
    )
