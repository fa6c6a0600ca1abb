"""How far groups are, and offsets copied and corrected, for the admin tool (`AdminBrokerProcessor`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rmqlab.broker.processor import NULL_POINTER, ProcessorError, require_not_null, success, with_header
from rmqlab.message.java import hash_map_order, in_number_map_order, is_blank, text_of
from rmqlab.message.topics import MessageQueue, message_queue_order
from rmqlab.protocol.bodies import (
    ConsumeStats,
    ConsumeStatsList,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    QueryCorrectionOffsetBody,
    QueueTimeSpan,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live.extra.admin_headers import (
    CloneGroupOffsetRequestHeader,
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryCorrectionOffsetHeader,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.processor import Handler
    from rmqlab_tools.live.extra.broker_stats_manager import BrokerStatsManager

LONG_MAX = 2**63 - 1


class AdminOffsets:
    """One method a request; `handlers` says which. Times are epoch ms, offsets count messages."""

    def __init__(self, broker: Broker, stats: BrokerStatsManager) -> None:
        self._config = broker.config
        self._store = broker.message_store
        self._topics = broker.topic_config_manager
        self._groups = broker.subscription_group_manager
        self._offsets = broker.consumer_offset_manager
        self._consumers = broker.consumer_manager
        self._stats = stats
        code = RequestCode
        self.handlers: dict[int, Handler] = {
            code.GET_CONSUME_STATS: with_header(GetConsumeStatsRequestHeader, self._consume_stats),
            code.GET_BROKER_CONSUME_STATS: with_header(GetConsumeStatsInBrokerHeader, self._all_consume_stats),
            code.QUERY_CONSUME_TIME_SPAN: with_header(QueryConsumeTimeSpanRequestHeader, self._consume_time_span),
            code.QUERY_CORRECTION_OFFSET: with_header(QueryCorrectionOffsetHeader, self._correction_offset),
            code.CLONE_GROUP_OFFSET: with_header(CloneGroupOffsetRequestHeader, self._clone_group_offset),
        }

    def _consume_stats(self, header: GetConsumeStatsRequestHeader, now: int) -> RemotingCommand:
        """How far a group is in every queue of one topic, or of all it has offsets of.

        A topic that a group online does not subscribe to is passed over.
        """
        group = header.consumer_group
        topics = self._consumed_topics(group, header.topic)
        table: dict[MessageQueue, OffsetWrapper] = {}
        for topic in topics:
            for queue in self._queues(topic, self._topics.topic_config_table[topic].read_queue_nums):
                table[queue] = self._offsets_of(group, queue)
        return success(
            ConsumeStats(
                offset_table={queue: table[queue] for queue in message_queue_order(table)},
                consume_tps=sum((self._stats.tps_group_get_nums(group, topic, now) for topic in topics), 0.0),
            )
        )

    def _all_consume_stats(self, header: GetConsumeStatsInBrokerHeader, now: int) -> RemotingCommand:
        """The same for every group the broker knows, a topic at a time, and by how much all lag together."""
        rows: list[dict[str, list[ConsumeStats]]] = []
        behind = 0
        for group in self._groups.body().subscription_group_table:
            row = []
            for topic in self._consumed_topics(group, None):
                config = self._topics.topic_config_table[topic]
                if header.is_order and not config.order:
                    continue
                queues = self._queues(topic, config.write_queue_nums)
                stats = ConsumeStats(
                    offset_table={queue: self._offsets_of(group, queue) for queue in queues},
                    consume_tps=self._stats.tps_group_get_nums(group, topic, now),
                )
                behind += sum(
                    offsets.broker_offset - offsets.consumer_offset for offsets in stats.offset_table.values()
                )
                row.append(stats)
            rows.append({group: row})
        return success(ConsumeStatsList(rows, self._config.broker_addr, behind))

    def _consume_time_span(self, header: QueryConsumeTimeSpanRequestHeader, now: int) -> RemotingCommand:
        """Store times of every queue's first and last message and of the last one that a group consumed."""
        topic, group, store = header.topic, header.group, self._store
        config = self._topics.select_topic_config(topic)
        if config is None:
            return RemotingCommand.response(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
        spans = []
        for queue_id in range(config.write_queue_nums):
            first = store.get_earliest_message_time(topic, queue_id)
            end = store.get_max_offset_in_queue(topic, queue_id)
            at = self._offsets.query_offset(group, topic, queue_id)
            last = store.get_message_store_time_stamp(topic, queue_id, end - 1)
            consumed = store.get_message_store_time_stamp(topic, queue_id, at - 1) if at > 0 else first
            late = now - store.get_message_store_time_stamp(topic, queue_id, at) if at < end else 0
            queue = MessageQueue(topic, self._config.broker_name, queue_id)
            texts = map(_date, (first, last, consumed))
            spans.append(QueueTimeSpan(queue, first, last, consumed, late, *texts))
        return success(QueryConsumeTimeSpanBody(spans))

    def _correction_offset(self, header: QueryCorrectionOffsetHeader, _now: int) -> RemotingCommand:
        """The lowest offset of each queue that any group has committed.

        Two slips of 4.8.0 are kept: the offsets of `filter_groups` are not left out of the answer, they are forgotten;
        and topic and `compare_group` change places, so that the comparison finds a topic of the group's name.
        """
        topic, offsets = header.topic, self._offsets
        for group in (header.filter_groups or "").split(",") if not is_blank(header.filter_groups) else ():
            offsets.forget_group(group)
        lowest = offsets.query_min_offset_in_all_group(topic, self._store.get_min_offset_in_queue)
        for queue_id, offset in (offsets.query_offsets(topic, text_of(header.compare_group)) or {}).items():
            if queue_id not in lowest:
                raise ProcessorError(NULL_POINTER)
            if lowest[queue_id] > offset:
                lowest[queue_id] = LONG_MAX
        return success(QueryCorrectionOffsetBody(in_number_map_order(lowest)))

    def _clone_group_offset(self, header: CloneGroupOffsetRequestHeader, _now: int) -> RemotingCommand:
        """Give a group the committed offsets of another one; without a topic 4.8.0 answers SUCCESS and copies none."""
        group, topic = header.src_group, header.topic
        topics = [topic or ""]
        if is_blank(topic):
            topics = self._offsets.which_topic_by_consumer(group)
        for name in topics:
            if self._topics.select_topic_config(name) is None:
                continue
            if not header.offline and not self._is_subscribed(group, name):
                continue
            self._offsets.clone_offset(group, header.dest_group, topic)
        return success()

    def _consumed_topics(self, group: str, topic: str | None) -> list[str]:
        """`topic`, or all that a group has offsets of, without those unknown or not subscribed to (any more)."""
        topics = [topic or ""]
        if is_blank(topic):
            topics = hash_map_order(self._offsets.which_topic_by_consumer(group))
        table = self._topics.topic_config_table
        return [name for name in topics if name in table and self._is_subscribed(group, name)]

    def _is_subscribed(self, group: str, topic: str) -> bool:
        """Whether a group subscribes to a topic; one that subscribes to nothing may consume everything."""
        info = self._consumers.get_consumer_group_info(require_not_null(group))
        return info is None or not info.subscription_table or topic in info.subscription_table

    def _queues(self, topic: str, queue_nums: int) -> Iterable[MessageQueue]:
        name = self._config.broker_name
        return message_queue_order([MessageQueue(topic, name, number) for number in range(queue_nums)])

    def _offsets_of(self, group: str, queue: MessageQueue) -> OffsetWrapper:
        topic, queue_id = queue.topic, queue.queue_id
        consumed = max(self._offsets.query_offset(group, topic, queue_id), 0)
        last = 0
        if consumed > 0:
            last = max(self._store.get_message_store_time_stamp(topic, queue_id, consumed - 1), 0)
        return OffsetWrapper(
            broker_offset=max(self._store.get_max_offset_in_queue(topic, queue_id), 0),
            consumer_offset=consumed,
            last_timestamp=last,
        )


def _date(ms: int) -> str:
    """A time as `UtilAll.formatDate` writes it; Java does so where it stands, here that is UTC."""
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%d#%H:%M:%S}:{ms % 1000:03d}"
