"""The table of what is recognised: what it is, how it is known by its content, what reads it.

A form of text begins at a line, and its reader says where it ends; a kind of JSON is known by its fields
(`json_forms.JSON_FORMS`). What no form takes is a line of a log, which the decoder knows or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from rmqlab.language import N_
from rmqlab_tools.doctor.evidence import mqadmin_groups as groups
from rmqlab_tools.doctor.evidence import mqadmin_tables as tables
from rmqlab_tools.doctor.evidence.json_forms import JSON_FORMS
from rmqlab_tools.doctor.evidence.mqadmin_groups import Read
from rmqlab_tools.doctor.evidence.text_lines import headings


class TextForm(NamedTuple):
    """A form of text: `begins` knows its first line, `read` gives what it says and where it ends, or None."""

    kind: str
    title: str
    begins: Callable[[str], Any]
    read: Callable[[Sequence[str], int], Read | None]


def _columns(*names: str) -> Callable[[str], bool]:
    """A heading that begins with these columns."""
    return lambda line: "#" in line and headings(line)[: len(names)] == list(names)


def _pattern(text: str) -> Callable[[str], Any]:
    return re.compile(text).match


TEXT_FORMS: Final = (
    TextForm("consumer_connection", N_("members and subscriptions of a group at a broker (mqadmin consumerConnection)"),
             _columns("ClientId", "ClientAddr"), groups.consumer_connection),
    TextForm("producer_connection", N_("producers at one broker (mqadmin producerConnection)"),
             groups.PRODUCER_LINE.match,
             groups.producer_connection),
    TextForm("consumer_connection", N_("members and subscriptions of a group at a broker (mqadmin consumerConnection)"),
             lambda line: (line[:3].isdecimal() and groups.MEMBER.match(line)) or groups.BELOW.match(line),
             groups.consumer_connection),
    TextForm("consumer_status", N_("which members answered, and the tool's verdict (mqadmin consumerStatus)"),
             lambda line: _columns("Index", "ClientId")(line) or groups.STATUS.match(line)
             or line.strip() in {groups.SAME, groups.DIFFERENT}, groups.consumer_status),
    TextForm("running_info", N_("what one member says of itself (mqadmin consumerStatus -i)"),
             _pattern(r"^#Consumer Properties#\s*$"), groups.running_info),
    TextForm("consume_stats", N_("how far a group is in its queues (mqadmin consumerProgress -g)"),
             _columns("Topic", "Broker Name", "QID", "Broker Offset"), tables.progress),
    TextForm("group_list", N_("consumer groups and how far they are behind (mqadmin consumerProgress)"),
             _columns("Group", "Count", "Version"), tables.group_progress),
    TextForm("topic_stats", N_("lowest and next offsets of a topic (mqadmin topicStatus)"),
             _columns("Broker Name", "QID", "Min Offset"), tables.topic_status),
    TextForm("topic_route", N_("where a topic's queues are (mqadmin topicRoute -l)"),
             _columns("ClusterName", "BrokerName", "BrokerAddrs"), tables.route_list),
    TextForm("cluster_list", N_("the brokers of a cluster (mqadmin clusterList)"),
             _columns("Cluster Name", "Broker Name", "BID"), tables.cluster_list),
    TextForm("topic_groups", N_("topics and the groups that use them (mqadmin statsAll, topicList -c)"),
             lambda line: _columns("Topic", "Consumer Group")(line)
             or _columns("Cluster Name", "Topic", "Consumer Group")(line), tables.topic_groups),
    TextForm("message", N_("a message, and what the tool thinks became of it (mqadmin queryMsgById and its kin)"),
             tables.MESSAGE_FIRST.match, tables.message),
    TextForm("message", N_("what the tool thinks became of a message (MessageTrack)"),
             _pattern(r"^\s*MessageTrack \["), tables.tracks),
    TextForm("namesrv_settings", N_("settings of a name server (mqadmin getNamesrvConfig)"), tables.CONFIG_OF.match,
             tables.namesrv_table),
    TextForm("settings", N_("settings of a broker (mqadmin getBrokerConfig)"), tables.CONFIG_OF.match,
             tables.config_table),
    TextForm("broker_figures", N_("runtime figures of a broker (mqadmin brokerStatus)"), tables.FIGURE.match,
             tables.broker_status),
    TextForm("settings", N_("settings of a broker (broker.conf)"), _pattern(r"^\s*[A-Za-z][\w.]*\s*=|^\s*#"),
             tables.broker_conf),
)  # fmt: skip
"""Forms of text, the more special ones first."""

TITLES: Final = tuple(dict.fromkeys([*(form.title for form in TEXT_FORMS), *(form.title for form in JSON_FORMS)]))
"""Everything that is recognised, in words; besides that: codes, exceptions and lines of logs, and our recordings."""
