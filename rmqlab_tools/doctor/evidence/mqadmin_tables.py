"""What mqadmin prints of offsets, topics, brokers and messages.

Source: `ConsumerProgressSubCommand`, `TopicStatusSubCommand`, `TopicRouteSubCommand`, `BrokerStatusSubCommand`,
`GetBrokerConfigCommand`, `ClusterListSubCommand`, `StatsAllSubCommand`, `QueryMsgByIdSubCommand`; 4.8.0 and 5.x.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab.broker.broker_config import known_keys
from rmqlab.message.java_properties import load_properties
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import ConsumeStats, OffsetWrapper, TopicOffset, TopicStatsTable
from rmqlab.protocol.namesrv import BrokerData, QueueData, TopicRouteData
from rmqlab_tools.doctor.evidence.piece import (
    BrokerTable,
    GroupProgress,
    ListedBroker,
    PrintedProgress,
    StoredMessage,
    TopicGroups,
    Track,
)
from rmqlab_tools.doctor.evidence.text_lines import columns, headings, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rmqlab_tools.doctor.evidence.mqadmin_groups import Read

NOT_TOLD: Final = "N/A"


def _rows(lines: Sequence[str], start: int) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows below a heading, each with its line's number."""
    names = headings(lines[start])
    for at, line in enumerate(lines[start + 1 :], start + 1):
        cells = columns(line, names) or columns(f"{line} {NOT_TOLD}", names)  # the last cell may be blank
        if cells is None:
            return
        yield at, cells


_TOTAL: Final = re.compile(r"^(?:Consume TPS|(?:Consume )?(?:Diff|Inflight) Total|Topic Put TPS): \S+\s*$")


def _behind_totals(lines: Sequence[str], at: int) -> int:
    """The first line after blank lines and totals."""
    end = at
    while at < len(lines) and (not lines[at].strip() or _TOTAL.match(lines[at])):
        at += 1
        end = at if lines[at - 1].strip() else end
    return end


def progress(lines: Sequence[str], start: int) -> Read | None:
    """`consumerProgress -g`."""
    table, clients, end = {}, {}, start + 1
    for at, cells in _rows(lines, start):
        queue_id, most, committed = (number(cells.get(name)) for name in ("QID", "Broker Offset", "Consumer Offset"))
        if queue_id is None or most is None or committed is None:
            break
        queue, end = MessageQueue(cells["Topic"], cells["Broker Name"], queue_id), at + 1
        table[queue] = OffsetWrapper(most, committed)
        if cells.get("Client IP", NOT_TOLD) != NOT_TOLD:
            clients[queue] = cells["Client IP"]
    return PrintedProgress(ConsumeStats(offset_table=table), clients), _behind_totals(lines, end)


def group_progress(lines: Sequence[str], start: int) -> Read | None:
    """`consumerProgress` of all groups; type and model are blank where no member is online."""
    rows, at = [], start + 1
    for at, line in enumerate(lines[start + 1 :], start + 1):  # noqa: B007 - the last one counts below
        cells = line.split()
        numbers = [number(cells[place]) for place in (1, -2, -1)] if len(cells) >= 5 else [None]
        if None in numbers:
            break
        members, tps, behind = (value or 0 for value in numbers)
        kind, model = [*cells[3:-2], "", ""][:2]
        rows.append(GroupProgress(cells[0], members, cells[2], kind, model, tps, behind))
    else:
        at = len(lines)
    return tuple(rows), at


def topic_status(lines: Sequence[str], start: int) -> Read | None:
    """`topicStatus`: it does not print the topic."""
    table, end = {}, start + 1
    for at, cells in _rows(lines, start):
        queue_id, least, most = (number(cells.get(name)) for name in ("QID", "Min Offset", "Max Offset"))
        if queue_id is None or least is None or most is None:
            break
        table[MessageQueue("", cells["Broker Name"], queue_id)] = TopicOffset(least, most)
        end = at + 1
    return TopicStatsTable(table), _behind_totals(lines, end)


_RULE: Final = re.compile(r"^-{20,}\s*$")


def route_list(lines: Sequence[str], start: int) -> Read | None:
    """`topicRoute -l` of 5.x."""
    route, end = TopicRouteData(), start + 1
    for at, cells in _rows(lines, start):
        read, write, perm = (number(cells.get(name)) for name in ("ReadQueue", "WriteQueue", "Perm"))
        if read is None or write is None or perm is None:
            break
        addrs = re.findall(r"(\d+)=([^,}]+)", cells["BrokerAddrs"])
        route.broker_datas.append(
            BrokerData(cells["ClusterName"], cells["BrokerName"], {int(number_): addr for number_, addr in addrs})
        )
        route.queue_datas.append(QueueData(cells["BrokerName"], read, write, perm))
        end = at + 1
    while end < len(lines) and (_RULE.match(lines[end]) or lines[end].startswith("Total:")):
        end += 1
    return route, end


def cluster_list(lines: Sequence[str], start: int) -> Read | None:
    """`clusterList`: each broker."""
    rows, end = [], start + 1
    for at, line in enumerate(lines[start + 1 :], start + 1):
        cells = line.split()
        broker_id = number(cells[2]) if len(cells) >= 5 else None
        if broker_id is None or ":" not in cells[3]:
            break
        rows.append(ListedBroker(cells[0], cells[1], broker_id, cells[3], cells[4]))
        end = at + 1
    return tuple(rows), end


def topic_groups(lines: Sequence[str], start: int) -> Read | None:
    """`statsAll` and `topicList -c`: topics and the groups that use them."""
    names, pairs, end = headings(lines[start]), [], start + 1
    place = names.index("Topic")
    for at, line in enumerate(lines[start + 1 :], start + 1):
        cells = line.split()
        if not place < len(cells) <= len(names) + 1 or headings(line):
            break
        if len(cells) > place + 1 and not cells[place + 1].isdecimal():
            pairs.append((cells[place], cells[place + 1]))
        end = at + 1
    return TopicGroups(tuple(pairs)), end


CONFIG_OF: Final = re.compile(r"^=+\s*(?:Master: |My Slave: )?(\S+?)\s*=+\s*$")
_SETTING: Final = re.compile(r"^(\w+)\s*=\s\s(.*)$")


def config_table(lines: Sequence[str], start: int) -> Read | None:
    """`getBrokerConfig`: an address between rulers, and its settings."""
    head = CONFIG_OF.match(lines[start])
    at, values = start + 1, {}
    while at < len(lines) and (match := _SETTING.match(lines[at])):
        values[match[1]] = match[2].strip()
        at += 1
    return (BrokerTable(head[1], values), at) if head and values else None


def namesrv_table(lines: Sequence[str], start: int) -> Read | None:
    """`getNamesrvConfig`: in the form of a broker's, with settings that no broker has."""
    table = config_table(lines, start)
    return table if table is not None and "kvConfigPath" in table[0].values else None


FIGURE: Final = re.compile(r"^(?:(\S+:\d+)\s+)?([A-Za-z]\w*)\s*: (.*)$")
FIGURES: Final = frozenset({
    "EndTransactionQueueSize", "bootTimestamp", "brokerVersion", "brokerVersionDesc", "commitLogMaxOffset",
    "commitLogMinOffset", "commitLogDiskRatio", "dispatchBehindBytes", "getFoundTps", "msgPutTotalTodayNow",
    "putTps", "pullThreadPoolQueueSize", "sendThreadPoolQueueSize", "startAcceptSendRequestTimeStamp", "brokerActive",
    "earliestMessageTimeStamp", "consumeQueueDiskRatio", "getMessageEntireTimeMax", "commitLogDirCapacity",
})  # fmt: skip
"""Figures that every `brokerStatus` has, of which one must come within the first lines."""


def broker_status(lines: Sequence[str], start: int) -> Read | None:
    """`brokerStatus`: figures, with the broker's address in front where a cluster was asked."""
    at, values, addr = start, {}, ""
    while at < len(lines) and (match := FIGURE.match(lines[at])):
        addr = match[1] or addr
        values[match[2]] = match[3].strip()
        at += 1
    return (BrokerTable(addr, values), at) if len(FIGURES & values.keys()) > 1 else None


_PAIR: Final = re.compile(r"^\s*([\w.]+)\s*[=:]")


def broker_conf(lines: Sequence[str], start: int) -> Read | None:
    """A broker.conf: settings and remarks, as far as they go; two names at least are settings of a broker."""
    at = end = start
    names = []
    while at < len(lines):
        line = lines[at]
        match = _PAIR.match(line)
        if match and "=" in line:
            names.append(match[1])
            end = at + 1
        elif line.strip() and not line.lstrip().startswith(("#", "!")):
            break
        at += 1
    known = known_keys()
    if sum(name in known for name in names) < min(2, len(names)) or not names:
        return None
    return BrokerTable("", load_properties("\n".join(lines[start:end]))), end


_FIELD: Final = re.compile(r"^(OffsetID|[A-Z]\w+(?: [A-Z]?\w+)*):\s*(.*)$")
MESSAGE_FIRST: Final = re.compile(r"^(?:OffsetID|Topic):\s+\S+\s*$")
_TRACK: Final = re.compile(
    r"MessageTrack \[consumerGroup=(.*?), trackType=(\w+), exceptionDesc=(.*?)\](?=MessageTrack \[|\s*$)"
)


def message(lines: Sequence[str], start: int) -> Read | None:
    """`queryMsgById`, `queryMsgByUniqueKey`, `queryMsgByOffset`: fields, then what became of it in each group."""
    fields: dict[str, str] = {}
    tracks: list[Track] = []
    end = start
    for at, line in enumerate(lines[start:], start):
        match, tracks_of_line = _FIELD.match(line), _TRACK.findall(line)
        if tracks_of_line:
            tracks += [Track(group, kind, reason) for group, kind, reason in tracks_of_line]
        elif match and match[1] not in fields and not tracks:
            fields[match[1]] = match[2].strip()
        elif line.strip() and line.strip() != "WARN: No Consumer":
            break
        else:
            continue
        end = at + 1
    if not {"Topic", "Tags", "Queue ID"}.issubset(fields):
        return None
    tag = fields["Tags"].removeprefix("[").removesuffix("]")
    found_id = fields.get("OffsetID", "")
    return (
        StoredMessage(
            fields["Topic"], None if tag == "null" else tag, _at_least(fields.get("Queue ID")),
            _at_least(fields.get("Queue Offset")), found_id, fields.get("Store Host", ""),
            _printed_map(fields.get("Properties", "")), tuple(tracks),
        ),
        end,
    )  # fmt: skip


def _at_least(text: str | None) -> int:
    value = number(text)
    return -1 if value is None else value


def _printed_map(text: str) -> dict[str, str]:
    """A java.util.Map as it prints itself; a value with ", x=" in it is cut there."""
    return dict(re.findall(r"([^\s=,{]+)=(.*?)(?=, [^\s=,]+=|\}\s*$)", text))


def tracks(lines: Sequence[str], start: int) -> Read | None:
    """Lines of MessageTrack without the message above them."""
    at, rows = start, []
    while at < len(lines) and (here := _TRACK.findall(lines[at])):
        rows += [Track(*fields) for fields in here]
        at += 1
    return (StoredMessage("", None, -1, -1, tracks=tuple(rows)), at) if rows else None
