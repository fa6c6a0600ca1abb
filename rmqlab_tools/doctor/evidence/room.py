"""What all pieces of evidence say together: consumer groups with what is known of each, and of their brokers.

A view that does not name its group (mqadmin prints none, a member's answer may lack it) is named by the command line
above it, by the group's retry topic, or by its properties; else it belongs to the one group that is named elsewhere,
which is said; else it stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rmqlab.filter.message_filter import ConsumerFilterData
from rmqlab.message.topics import RETRY_GROUP_TOPIC_PREFIX, MessageQueue, is_retry_topic, queues_of
from rmqlab.protocol.bodies import ConsumerConnection, ConsumerRunningInfo
from rmqlab.protocol.codes import version_desc
from rmqlab.protocol.topic_config import SubscriptionGroupConfig, is_readable
from rmqlab_tools.doctor.evidence.piece import (
    BrokerTable,
    GroupProgress,
    Piece,
    PrintedProgress,
    StatusTable,
    StoredMessage,
)
from rmqlab_tools.doctor.group_context import CLIENT_PROPERTIES
from rmqlab_tools.doctor.snapshot import ClusterSnapshot, MemberSeen, QueueSeen
from rmqlab_tools.search.lint.members import MEMBER_SETTINGS, LintGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rmqlab.protocol.heartbeat import HeartbeatData
    from rmqlab.protocol.namesrv import TopicRouteData

UNNAMED: Final = ""
"""The name of a group that nothing names."""
_A_BROKER: Final = "broker"


@dataclass(slots=True)
class OwnWord:
    """What a member says of itself: its answer to 307 or its heartbeat, and the piece that has it.

    `holds` says whether it says which queues it holds, too: a heartbeat does not.
    """

    client: str
    info: ConsumerRunningInfo
    piece: Piece
    holds: bool
    language: str = "JAVA"
    named: bool = True


@dataclass(slots=True)
class GroupEvidence:
    """What is known of a group. `slots` are brokers' tables by the broker's name, as far as it is known.

    `lint` is the group as files of members and scenarios have it. `progress` are lines of `consumerProgress`. `offsets`
    have -1 where the end of a queue is not known. `request_modes` has PULL or POP by topic. `assumed` says which
    pieces were taken to be of this group.
    """

    name: str
    slots: dict[str, ConsumerConnection] = field(default_factory=dict)
    words: dict[str, OwnWord] = field(default_factory=dict)
    lint: list[LintGroup] = field(default_factory=list)
    offsets: dict[MessageQueue, QueueSeen] = field(default_factory=dict)
    clients_of: dict[MessageQueue, str] = field(default_factory=dict)
    progress: list[GroupProgress] = field(default_factory=list)
    statuses: list[StatusTable] = field(default_factory=list)
    filters: list[ConsumerFilterData] = field(default_factory=list)
    request_modes: dict[str, str] = field(default_factory=dict)
    config: SubscriptionGroupConfig | None = None
    client_ids: list[str] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    assumed: list[Piece] = field(default_factory=list)

    @property
    def listed(self) -> dict[str, MemberSeen]:
        """The members that some broker lists, by client id; one that is listed twice is here once."""
        members: dict[str, MemberSeen] = {}
        for broker, slot in self.slots.items():
            for connection in slot.connection_set:
                before = members.get(connection.client_id)
                brokers = frozenset({broker}) | (before.brokers if before else frozenset())
                version = version_desc(connection.version)
                language = connection.language or "unknown"
                members[connection.client_id] = MemberSeen(
                    connection.client_id, connection.client_addr, language, version, brokers
                )
        return members

    @property
    def tables(self) -> int:
        """How many tables of brokers there are."""
        return len(self.slots)


@dataclass(slots=True)
class EvidenceRoom:
    """Everything that was given, put together."""

    pieces: list[Piece] = field(default_factory=list)
    groups: dict[str, GroupEvidence] = field(default_factory=dict)
    topics: dict[str, list[MessageQueue]] = field(default_factory=dict)
    settings: list[BrokerTable] = field(default_factory=list)
    messages: list[StoredMessage] = field(default_factory=list)
    ends: dict[MessageQueue, tuple[int, int]] = field(default_factory=dict)
    looks: list[ClusterSnapshot] = field(default_factory=list)
    namesrv: str = ""

    def group(self, name: str) -> GroupEvidence:
        """The group of this name, made if it is new."""
        return self.groups.setdefault(name, GroupEvidence(name))


def collect(pieces: Iterable[Piece]) -> EvidenceRoom:
    """Put pieces together; what is damaged says nothing.

    >>> collect([]).groups
    {}
    """
    room = EvidenceRoom(list(pieces))
    read = [piece for piece in room.pieces if not piece.damaged and piece.value is not None]
    for piece in sorted(read, key=lambda read_piece: read_piece.kind == "subscription_groups"):
        room.namesrv = room.namesrv or piece.context.namesrv
        _TAKE.get(piece.kind, _nothing)(room, piece)
    _assume(room)
    return room


def _nothing(room: EvidenceRoom, piece: Piece) -> None:
    """A piece that says nothing of groups."""


def _group_of(room: EvidenceRoom, piece: Piece, name: str) -> GroupEvidence:
    group = room.group(name or piece.context.group)
    group.pieces.append(piece)
    return group


def retried_group(topics: Iterable[str]) -> str:
    """The group whose retry topic is among these; "" where there is none, or several.

    >>> retried_group(["T", "%RETRY%G"])
    'G'
    """
    groups = {topic.removeprefix(RETRY_GROUP_TOPIC_PREFIX) for topic in topics if is_retry_topic(topic)}
    return groups.pop() if len(groups) == 1 else UNNAMED


def _connection(room: EvidenceRoom, piece: Piece) -> None:
    slot: ConsumerConnection = piece.value
    group = _group_of(room, piece, retried_group(slot.subscription_table))
    broker = piece.context.broker or _A_BROKER
    number = 2
    while broker in group.slots:
        broker = f"{piece.context.broker or _A_BROKER} ({number})"
        number += 1
    group.slots[broker] = slot


def _running_info(room: EvidenceRoom, piece: Piece) -> None:
    info: ConsumerRunningInfo = piece.value
    topics = [str(data.topic) for data in info.subscription_set]
    name = info.properties.get("consumerGroup") or retried_group([*topics, *(queue.topic for queue in info.mq_table)])
    group = _group_of(room, piece, name)
    client = piece.context.client or piece.source.rpartition("/")[2]
    number = 2
    while client in group.words:
        client = f"{piece.context.client or piece.source} ({number})"
        number += 1
    group.words[client] = OwnWord(client, info, piece, holds=True, named=bool(piece.context.client))


def _heartbeat(room: EvidenceRoom, piece: Piece) -> None:
    beat: HeartbeatData = piece.value
    for data in beat.consumer_data_set:
        settings = (data.message_model, data.consume_type, data.consume_from_where)
        values = (getattr(value, "name", None) for value in settings)
        properties = {name: value for name, value in zip(CLIENT_PROPERTIES, values, strict=True) if value is not None}
        info = ConsumerRunningInfo(properties, list(data.subscription_data_set))
        group = _group_of(room, piece, str(data.group_name))
        client = str(beat.client_id)
        group.words.pop(client, None)  # the last heartbeat counts
        group.words[client] = OwnWord(client, info, piece, holds=False)


def _members(room: EvidenceRoom, piece: Piece) -> None:
    for name, lint in piece.value.items():
        group = _group_of(room, piece, name)
        group.lint.append(lint)
        for topic, count in lint.queues.items():
            room.topics.setdefault(topic, queues_of(topic, "", count))
        for member in lint.members:
            properties = {
                CLIENT_PROPERTIES[list(MEMBER_SETTINGS).index(setting)]: value
                for setting, value in member.settings.items()
            }
            info = ConsumerRunningInfo(properties, list(member.subscriptions.values()))
            group.words[member.client] = OwnWord(member.client, info, piece, holds=False)


def _progress(room: EvidenceRoom, piece: Piece) -> None:
    progress: PrintedProgress = piece.value
    table = progress.stats.offset_table
    group = _group_of(room, piece, retried_group(queue.topic for queue in table))
    for queue, offsets in table.items():
        group.offsets[queue] = QueueSeen(offsets.consumer_offset, offsets.broker_offset, offsets.last_timestamp)
    group.clients_of.update(progress.clients)


def _group_list(room: EvidenceRoom, piece: Piece) -> None:
    for row in piece.value:
        _group_of(room, piece, row.group).progress.append(row)


def _status(room: EvidenceRoom, piece: Piece) -> None:
    _group_of(room, piece, UNNAMED).statuses.append(piece.value)


def _committed(room: EvidenceRoom, piece: Piece) -> None:
    for key, queues in piece.value.offset_table.items():
        topic, _, name = key.partition("@")
        if not name or "@" in name:
            continue
        group = _group_of(room, piece, name)
        for number, offset in queues.items():
            group.offsets.setdefault(MessageQueue(topic, "", number), QueueSeen(offset, -1))


def _subscription_groups(room: EvidenceRoom, piece: Piece) -> None:
    for name, config in piece.value.subscription_group_table.items():
        if name in room.groups or not config.consume_enable:
            _group_of(room, piece, name).config = config


def _request_modes(room: EvidenceRoom, piece: Piece) -> None:
    for topic, by_group in piece.value.message_request_mode_map.items():
        for name, body in by_group.items():
            _group_of(room, piece, name).request_modes[topic] = body.mode.value


def _filters(room: EvidenceRoom, piece: Piece) -> None:
    for by_group in piece.value.values():
        for name, data in by_group.items():
            _group_of(room, piece, name).filters.append(data)


def _route(room: EvidenceRoom, piece: Piece) -> None:
    route: TopicRouteData = piece.value
    topic = piece.context.topic
    for data in route.queue_datas:
        if topic and is_readable(data.perm):
            queues = room.topics.setdefault(topic, [])
            queues += queues_of(topic, data.broker_name, data.read_queue_nums)


def _topics(room: EvidenceRoom, piece: Piece) -> None:
    for topic, config in piece.value.topic_config_table.items():
        if is_readable(config.perm):
            room.topics.setdefault(topic, queues_of(topic, "", config.read_queue_nums))


def _topic_stats(room: EvidenceRoom, piece: Piece) -> None:
    for queue, offsets in piece.value.offset_table.items():
        topic = queue.topic or piece.context.topic
        if topic:
            place = MessageQueue(topic, queue.broker_name, queue.queue_id)
            room.ends[place] = (offsets.min_offset, offsets.max_offset)
            queues = room.topics.setdefault(topic, [])
            if place not in queues:
                queues.append(place)


def _subscription(room: EvidenceRoom, piece: Piece) -> None:
    """A subscription alone is a broker's only below a command that asked a broker for it (`queryCq -g`)."""
    if piece.context.group:
        group = _group_of(room, piece, UNNAMED)
        broker = piece.context.broker or _A_BROKER
        group.slots.setdefault(broker, ConsumerConnection()).subscription_table[piece.value.topic] = piece.value


def _settings(room: EvidenceRoom, piece: Piece) -> None:
    room.settings.append(piece.value)
    room.namesrv = room.namesrv or piece.value.values.get("namesrvAddr", "").partition(";")[0]


def _message(room: EvidenceRoom, piece: Piece) -> None:
    room.messages.append(piece.value)


def _topic_groups(room: EvidenceRoom, piece: Piece) -> None:
    for _, name in piece.value.rows:
        _group_of(room, piece, name)


def _client_ids(room: EvidenceRoom, piece: Piece) -> None:
    _group_of(room, piece, UNNAMED).client_ids.extend(piece.value.consumer_id_list)


def _look(room: EvidenceRoom, piece: Piece) -> None:
    room.looks.append(piece.value)


_TAKE: Final[Mapping[str, Any]] = {
    "consumer_connection": _connection, "running_info": _running_info, "heartbeat": _heartbeat, "members": _members,
    "scenario": _members, "consume_stats": _progress, "progress": _progress, "group_list": _group_list,
    "consumer_status": _status, "consumer_offsets": _committed, "subscription_groups": _subscription_groups,
    "consumer_filters": _filters, "topic_route": _route, "topics": _topics, "topic_stats": _topic_stats,
    "subscription": _subscription, "settings": _settings, "message": _message, "topic_groups": _topic_groups,
    "client_ids": _client_ids, "look": _look, "request_modes": _request_modes,
}  # fmt: skip
_VIEWS: Final = {"consumer_connection", "running_info", "consume_stats", "progress", "consumer_status", "client_ids"}


def _assume(room: EvidenceRoom) -> None:
    """Give what names no group to the one group that other views name; name members by the clients that are listed."""
    unnamed = room.groups.get(UNNAMED)
    named = [
        group
        for name, group in room.groups.items()
        if name != UNNAMED and any(piece.kind in _VIEWS or piece.kind == "heartbeat" for piece in group.pieces)
    ]
    if unnamed is not None and len(named) == 1:
        (group,) = named
        for number, (broker, slot) in enumerate(unnamed.slots.items(), 2):
            group.slots[broker if broker not in group.slots else f"{broker} ({number})"] = slot
        group.words.update({client: word for client, word in unnamed.words.items() if client not in group.words})
        group.offsets.update(unnamed.offsets)
        group.statuses += unnamed.statuses
        group.client_ids += unnamed.client_ids
        group.assumed += unnamed.pieces
        group.pieces += unnamed.pieces
        del room.groups[UNNAMED]
    for group in room.groups.values():
        _name_members(group)


def _name_members(group: GroupEvidence) -> None:
    """Call the only member that is listed, or the one whose id its file has, by its client id."""
    listed = group.listed
    nameless = [word for word in group.words.values() if not word.named]
    left = [client for client in listed if client not in group.words]
    if len(nameless) == 1 and left == list(listed) and len(listed) == 1:
        word = nameless[0]
        group.words = {
            left[0] if client == word.client else client: member_word for client, member_word in group.words.items()
        }
        word.client, word.named = left[0], True
    for client, word_of_member in group.words.items():
        word_of_member.named = word_of_member.named or client in listed
