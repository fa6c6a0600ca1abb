"""What JSON is, by the names of its fields: views of brokers and members, heartbeats, members, looks, files of config/.

The bodies are those of RocketMQ (`org.apache.rocketmq.common.protocol.body`, `.heartbeat`, `.route`), also as fastjson
writes them; and what the dashboard answers, which has them as `data`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from rmqlab.broker.consumer_filter_manager import decode_filter_data
from rmqlab.broker.schedule_message_service import DelayOffsetSerializeWrapper
from rmqlab.language import N_
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol import bodies, fastjson
from rmqlab.protocol.assignment import MessageRequestModeSerializeWrapper
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.namesrv import ClusterInfo, TopicList, TopicRouteData
from rmqlab.protocol.serializable import from_json
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.protocol.topic_config import SubscriptionGroupWrapper, TopicConfigSerializeWrapper
from rmqlab_tools.doctor.evidence.piece import BrokerTable, GroupProgress, PrintedProgress
from rmqlab_tools.doctor.snapshot_json import look_from_json
from rmqlab_tools.live.wire import lenient_json
from rmqlab_tools.search.lint.members import groups_of_value

Fields = dict[Any, Any]


class JsonForm(NamedTuple):
    """A kind of JSON object: `title` says what it is, `is_one` knows it by its fields, `read` gives what it says.

    `file` is its name in a broker's `config/`, where it is one of those.
    """

    kind: str
    title: str
    is_one: Callable[[Fields], bool]
    read: Callable[[Any, str], Any]
    file: str = ""


def _body(cls: type[Any]) -> Callable[[Any, str], Any]:
    return lambda value, _: from_json(cls, value)


def _has(*names: str) -> Callable[[Fields], bool]:
    return lambda fields: all(name in fields for name in names)


def _any(*names: str) -> Callable[[Fields], bool]:
    return lambda fields: any(name in fields for name in names)


def _items(fields: Fields) -> list[tuple[Any, Any]]:
    table = fields.get("offsetTable")
    return list(table.items()) if isinstance(table, dict) else []


def _offsets_of_queues(name: str) -> Callable[[Fields], bool]:
    """An `offsetTable` by queue whose values have the field `name`."""

    def is_one(fields: Fields) -> bool:
        items = _items(fields)
        return bool(items) and all(isinstance(value, dict) and name in value for _, value in items)

    return is_one


def is_consumer_offset(fields: Fields) -> bool:
    """Whether the keys of an `offsetTable` are "topic@group"."""
    items = _items(fields)
    return bool(items) and all(isinstance(key, str) and "@" in key and isinstance(value, dict) for key, value in items)


def is_delay_offset(fields: Fields) -> bool:
    """Whether the keys of an `offsetTable` are delay levels."""
    return bool(_items(fields)) and all(
        str(key).isdecimal() and not isinstance(value, dict) for key, value in _items(fields)
    )


def _is_reset(fields: Fields) -> bool:
    return bool(_items(fields)) and all(isinstance(key, tuple) and type(value) is int for key, value in _items(fields))


def _is_figures(fields: Fields) -> bool:
    table = fields.get("table")
    return isinstance(table, dict) and not _RUNTIME.isdisjoint(table)


def _figures(value: Any, _: str) -> BrokerTable:
    return BrokerTable("", from_json(bodies.KVTable, value).table)


_RUNTIME: Final = {"bootTimestamp", "brokerVersionDesc", "putTps", "commitLogMaxOffset"}


def _rows_of(name: str, fields: Fields) -> bool:
    return isinstance(fields.get("rows"), list) and any(isinstance(row, dict) and name in row for row in fields["rows"])


def _dashboard_progress(value: Any, _: str) -> PrintedProgress:
    table, clients = {}, {}
    for topic in value["rows"]:
        for row in topic.get("queueStatInfoList") or ():
            queue = MessageQueue(str(topic["topic"]), str(row["brokerName"]), int(row["queueId"]))
            table[queue] = from_json(bodies.OffsetWrapper, row)
            if row.get("clientInfo"):
                clients[queue] = str(row["clientInfo"])
    return PrintedProgress(bodies.ConsumeStats(offset_table=table), clients)


def _dashboard_groups(value: Any, _: str) -> tuple[GroupProgress, ...]:
    return tuple(
        GroupProgress(
            str(row["group"]), int(row["count"]), str(row.get("version") or "OFFLINE"),
            str(row.get("consumeType") or ""), str(row.get("messageModel") or ""),
            int(row.get("consumeTps") or 0), int(row.get("diffTotal") or 0),
        )
        for row in value["rows"]
        if isinstance(row, dict) and "group" in row
    )  # fmt: skip


def _consumer_connection(fields: Fields) -> bool:
    return "connectionSet" in fields and not {"subscriptionTable", "consumeType", "messageModel"}.isdisjoint(fields)


JSON_FORMS: Final = (
    JsonForm("members", N_("members of consumer groups (rmqlab lint)"), _has("members"), groups_of_value),
    JsonForm("scenario", N_("a scenario of rmqlab"), _has("steps"), groups_of_value),
    JsonForm("heartbeat", N_("a heartbeat (HeartbeatData)"), _any("consumerDataSet", "producerDataSet", "clientID"),
             lambda value, _: HeartbeatData.decode(fastjson.write(value))),
    JsonForm("consumer_connection", N_("members and subscriptions of a group at a broker (ConsumerConnection)"),
             _consumer_connection, _body(bodies.ConsumerConnection)),
    JsonForm("producer_connection", N_("producers at one broker (ProducerConnection)"), _has("connectionSet"),
             _body(bodies.ProducerConnection)),
    JsonForm("running_info", N_("what one member says of itself (ConsumerRunningInfo)"),
             lambda fields: "mqTable" in fields or _has("subscriptionSet", "properties")(fields),
             _body(bodies.ConsumerRunningInfo)),
    JsonForm("topic_route", N_("where a topic's queues are (TopicRouteData)"), _has("queueDatas", "brokerDatas"),
             _body(TopicRouteData)),
    JsonForm("cluster_info", N_("the brokers of a cluster (ClusterInfo)"), _any("brokerAddrTable", "clusterAddrTable"),
             _body(ClusterInfo)),
    JsonForm("consume_stats", N_("how far a group is in its queues (ConsumeStats)"),
             _offsets_of_queues("consumerOffset"),
             lambda value, _: PrintedProgress(from_json(bodies.ConsumeStats, value))),
    JsonForm("topic_stats", N_("lowest and next offsets of a topic (TopicStatsTable)"), _offsets_of_queues("maxOffset"),
             _body(bodies.TopicStatsTable)),
    JsonForm("reset_offsets", N_("offsets that a group was set to (ResetOffsetBody)"), _is_reset,
             _body(bodies.ResetOffsetBody)),
    JsonForm("consumer_offsets", N_("committed offsets of a broker (config/consumerOffset.json)"), is_consumer_offset,
             _body(bodies.ConsumerOffsetSerializeWrapper), "consumerOffset.json"),
    JsonForm("delay_offsets", N_("offsets of the delay levels (config/delayOffset.json)"), is_delay_offset,
             _body(DelayOffsetSerializeWrapper), "delayOffset.json"),
    JsonForm("topics", N_("topics of a broker (config/topics.json)"), _has("topicConfigTable"),
             _body(TopicConfigSerializeWrapper), "topics.json"),
    JsonForm("subscription_groups", N_("consumer groups of a broker (config/subscriptionGroup.json)"),
             _has("subscriptionGroupTable"), _body(SubscriptionGroupWrapper), "subscriptionGroup.json"),
    JsonForm("request_modes", N_("how groups fetch topics, PULL or POP (config/messageRequestMode.json, of 5.x)"),
             _has("messageRequestModeMap"), _body(MessageRequestModeSerializeWrapper), "messageRequestMode.json"),
    JsonForm("consumer_filters", N_("SQL92 filters that a broker keeps (config/consumerFilter.json)"),
             _has("filterDataByTopic"), lambda value, _: decode_filter_data(fastjson.text(value)),
             "consumerFilter.json"),
    JsonForm("broker_figures", N_("runtime figures of a broker (KVTable)"), _is_figures, _figures),
    JsonForm("progress", N_("how far a group is in its queues (dashboard)"),
             lambda fields: _rows_of("queueStatInfoList", fields), _dashboard_progress),
    JsonForm("group_list", N_("consumer groups and how far they are behind (dashboard)"),
             lambda fields: _rows_of("diffTotal", fields) and _rows_of("group", fields), _dashboard_groups),
    JsonForm("subscription", N_("one subscription (SubscriptionData)"), _has("subString", "topic"),
             _body(SubscriptionData)),
    JsonForm("client_ids", N_("client ids of a group (answer to 38)"), _has("consumerIdList"),
             _body(bodies.GetConsumerListByGroupResponseBody)),
    JsonForm("topic_list", N_("names of topics (TopicList)"), _has("topicList"), _body(TopicList)),
    JsonForm("look", N_("a look that rmqlab doctor saved"), _has("namesrv", "at"),
             lambda value, _: look_from_json(value)),
)  # fmt: skip
"""Every kind of JSON that is known; the first that an object is counts."""

CONFIG_FILES: Final = {form.file: form for form in JSON_FORMS if form.file}
"""The files of `config/` by their names."""


def form_of(fields: Fields) -> JsonForm | None:
    """What a JSON object is; None where nothing is known of it.

    >>> form_of({"mqTable": {}}).kind
    'running_info'
    """
    return next((form for form in JSON_FORMS if form.is_one(fields)), None)


_QUEUE: Final = re.compile(r"MessageQueue \[topic=(.*), brokerName=(.*), queueId=(\d+)\]")
_BY_QUEUE: Final = ("mqTable", "offsetTable", "mqPopTable")


def _queue_key(key: Any) -> Any:
    """A queue as a name: Jackson writes its `toString`, others write its JSON as a text; both as fastjson has it."""
    if not isinstance(key, str):
        return key
    match = _QUEUE.fullmatch(key)
    if match:
        return (("topic", match[1]), ("brokerName", match[2]), ("queueId", int(match[3])))
    if key.startswith("{"):
        try:
            fields = lenient_json.read_file_text(key)
        except lenient_json.TextDamage:
            return key
        return tuple(fields.items()) if isinstance(fields, dict) else key
    return key


def unwrapped(value: Any) -> Any:
    """What the dashboard answers, without its wrapper; a list of its rows becomes an object of them.

    Queues that stand as texts for names become what fastjson reads.
    """
    if isinstance(value, dict) and "data" in value and {"status", "errMsg"}.issubset(value):
        value = value["data"]
    if isinstance(value, dict):
        for name in _BY_QUEUE:
            if isinstance(table := value.get(name), dict):
                value = {**value, name: {_queue_key(key): item for key, item in table.items()}}
    rows = value if isinstance(value, list) else []
    if rows and all(isinstance(row, dict) and ("queueStatInfoList" in row or "diffTotal" in row) for row in rows):
        return {"rows": rows}
    return value
