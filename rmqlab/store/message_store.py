"""The store of a broker: puts, reads and queries of messages (`DefaultMessageStore`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.java import utf16_length
from rmqlab.message.message import Host
from rmqlab.message.record import decode_record
from rmqlab.message.sysflag import QUEUED_TYPES, TRANSACTION_MASK
from rmqlab.message.topics import TOPIC_MAX_LENGTH
from rmqlab.rules import DEFAULT_RULES
from rmqlab.store.commit_log import MAX_PROPERTIES_LENGTH, CommitLog, mark_v6_addresses
from rmqlab.store.config import BrokerRole, DelayLevels, FlushDiskType
from rmqlab.store.consume_queue import ConsumeQueue
from rmqlab.store.dispatch_request import (
    AppendMessageStatus,
    PutMessageResult,
    PutMessageStatus,
    RunningFlags,
    StoreStatsService,
)
from rmqlab.store.mapped_file_queue import SegmentCreateError, SegmentError, in_memory
from rmqlab.store.queue_reader import QueueReader
from rmqlab.store.reput_message_service import ReputMessageService

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.filter.message_filter import MessageFilter
    from rmqlab.message.message import MessageExt, MessageExtBrokerInner
    from rmqlab.plugins import FileIndexService
    from rmqlab.rules import Rules
    from rmqlab.store.config import MessageStoreConfig
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.mapped_file_queue import Segments
    from rmqlab.store.queue_reader import GetMessageResult

    CommitLogDispatcher = Callable[[DispatchRequest], None]

_NO_MESSAGE_TIME = -1
# What Java assumes when it cannot ask the machine.
PHYSICAL_MEMORY_SIZE = 24 * 1024**3


class MessageStore:
    """Messages of one broker.

    `base_offset` is where the commit log begins (bytes), `physical_memory_size` (bytes) decides what counts as "on
    disk". `dispatchers` see every dispatched message in order, then `message_arriving` hears that it can be read.
    `flush_requests` counts the puts that may be answered only when the log is on disk (SYNC_FLUSH). While
    `defers_dispatch` is set a put leaves consume queues and index alone, so that it can be answered before, and the
    owner calls `dispatch` before anybody reads (Java's thread does so within a millisecond).
    """

    def __init__(
        self,
        config: MessageStoreConfig,
        segments: Segments = in_memory,
        store_host: Host = Host("127.0.0.1", 10911),  # noqa: B008 - immutable
        base_offset: int = 0,
        *,
        physical_memory_size: int = PHYSICAL_MEMORY_SIZE,
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self.rules = rules
        self.config = config
        self.segments = segments
        self.store_host = store_host
        self.delay_levels = DelayLevels(config.message_delay_level)
        self.commit_log = CommitLog(config, self.delay_levels, segments, base_offset, rules)
        self.consume_queue_table: dict[str, dict[int, ConsumeQueue]] = {}
        self.index_service: FileIndexService | None = None
        self.store_stats_service = StoreStatsService()
        self.running_flags = RunningFlags()
        self.reput_message_service = ReputMessageService(
            self.commit_log,
            self._dispatch_request,
            self.running_flags,
            base_offset,
        )
        self.queue_reader = QueueReader(self.commit_log, self.store_stats_service, rules, physical_memory_size)
        self.dispatchers: list[CommitLogDispatcher] = [self.build_consume_queue]
        self.message_arriving: CommitLogDispatcher | None = None
        self.flush_requests = 0
        self.defers_dispatch = False

    def shutdown(self) -> None:
        """Refuse puts and reads from now on."""
        self.running_flags.is_readable = self.running_flags.is_writeable = False

    # puts

    def put_message(self, msg: MessageExtBrokerInner, now: int) -> PutMessageResult:
        """Store `msg` at `now` (epoch ms) and dispatch it, unless `defers_dispatch` is set.

        This is `putMessage`, with which Java stores what the broker makes itself; see `async_put_message` for what
        producers send. Raises what `CommitLog.put_message` raises.
        """
        mark_v6_addresses(msg)
        return self._put(msg, msg, now)

    def async_put_message(self, msg: MessageExtBrokerInner, now: int) -> PutMessageResult:
        """Store `msg` as `asyncPutMessage` does: IPv6 addresses are not marked in the sys flag (a bug of Java's)."""
        return self._put(msg, msg, now)

    def async_put_messages(self, batch: MessageExt, now: int) -> PutMessageResult:
        """Store the messages in the body of `batch` as `asyncPutMessages` does; raises as `CommitLog.put_messages`."""
        return self._put(batch, None, now)

    def _put(self, msg: MessageExt, single: MessageExtBrokerInner | None, now: int) -> PutMessageResult:
        """Store and dispatch a message (`single` is the same) or a batch (None).

        A medium that takes nothing counts as a full disk until somebody finds that it takes something again.
        Java writes through a mapping, where such a medium ends the process.
        """
        config = self.config
        if config.broker_role is BrokerRole.SLAVE or not self.running_flags.is_writeable:
            return PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE)
        if self._is_illegal(msg, single):
            return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL)
        try:
            if single is None:
                result = self.commit_log.put_messages(msg, now)
            else:
                result = self.commit_log.put_message(single, now)
        except SegmentCreateError:
            result = PutMessageResult(PutMessageStatus.CREATE_MAPEDFILE_FAILED)
        except SegmentError:
            self.running_flags.is_writeable = False
            result = PutMessageResult(PutMessageStatus.SERVICE_NOT_AVAILABLE)
        if result.status is not PutMessageStatus.PUT_OK:
            return result
        stats = self.store_stats_service
        stats.single_put_message_topic_times_total[msg.topic] += result.msg_num
        stats.single_put_message_topic_size_total[msg.topic] += result.wrote_bytes
        if config.flush_disk_type is FlushDiskType.SYNC_FLUSH and msg.wait_store_msg_ok:
            self.flush_requests += 1
        if config.broker_role is BrokerRole.SYNC_MASTER and msg.wait_store_msg_ok:
            result.status = PutMessageStatus.SLAVE_NOT_AVAILABLE  # none is ever connected
        reput = self.reput_message_service
        if single is not None and result.append_status is AppendMessageStatus.PUT_OK:
            reput.written[result.wrote_offset] = single
        if not self.defers_dispatch:
            reput.do_reput()
        return result

    def _is_illegal(self, msg: MessageExt, single: MessageExtBrokerInner | None) -> bool:
        """Whether a topic, property text or batch is too long, or a topic no name for a folder where it must be.

        Java checks the topic's length alone: a group's name, which is not checked, leads its retry topic out of the
        store.
        """
        topic = msg.topic
        if topic not in self.consume_queue_table and (
            utf16_length(topic) > TOPIC_MAX_LENGTH or not self.segments.takes_topic(topic)
        ):
            return True
        if single is None:
            return len(msg.body or b"") > self.config.max_message_size
        return utf16_length(single.properties_string or "") > MAX_PROPERTIES_LENGTH

    # dispatch

    def dispatch(self, until: int | None = None) -> None:
        """Bring consume queues and index up to the commit log (`ReputMessageService.doReput`).

        With `until` only messages that begin before that commit log offset are dispatched, as far as Java's thread
        may have come at a moment.
        """
        self.reput_message_service.do_reput(until)

    def dispatch_behind_bytes(self) -> int:
        """Bytes of commit log not dispatched yet."""
        return self.reput_message_service.behind()

    def build_consume_queue(self, request: DispatchRequest) -> None:
        """Enter a message into its queue; a dispatcher, the first of Java's two."""
        if request.sys_flag & TRANSACTION_MASK in QUEUED_TYPES:
            queue = self.find_consume_queue(request.topic, request.queue_id)
            queue.put_message_position_info(request)

    def _dispatch_request(self, request: DispatchRequest) -> None:
        for dispatcher in self.dispatchers:
            dispatcher(request)
        if self.config.broker_role is BrokerRole.SLAVE:
            stats = self.store_stats_service
            stats.single_put_message_topic_times_total[request.topic] += 1
            stats.single_put_message_topic_size_total[request.topic] += request.msg_size
        elif self.message_arriving is not None:
            self.message_arriving(request)

    # reads

    def get_message(
        self,
        group: str,
        topic: str,
        queue_id: int,
        offset: int,
        max_msg_nums: int,
        message_filter: MessageFilter | None,
        on_filtered: Callable[[int, str], None] | None = None,
    ) -> GetMessageResult | None:
        """Read a queue from `offset` on, at most `max_msg_nums` messages; None when the store must not be read.

        `on_filtered(queue offset, "consume_queue" or "commit_log")` is called for every entry the filter rejects.
        The rules are in `queue_reader`.
        """
        if not self.running_flags.is_readable:
            return None
        queue = self.find_consume_queue(topic, queue_id)
        try:
            return self.queue_reader.get_message(queue, group, offset, max_msg_nums, message_filter, on_filtered)
        except SegmentError:
            return None

    def find_consume_queue(self, topic: str, queue_id: int) -> ConsumeQueue:
        """A queue, made when it is not there (as in Java, whoever asks)."""
        queues = self.consume_queue_table.get(topic)
        if queues is None:
            queues = self.consume_queue_table[topic] = {}
        queue = queues.get(queue_id)
        if queue is None:
            queue = queues[queue_id] = ConsumeQueue(topic, queue_id, self.config, self.segments)
        return queue

    def get_consume_queue(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """A queue, None when it is not there."""
        return self.consume_queue_table.get(topic, {}).get(queue_id)

    def get_max_offset_in_queue(self, topic: str, queue_id: int) -> int:
        """Queue offset of the next message."""
        return self.find_consume_queue(topic, queue_id).max_offset_in_queue

    def get_min_offset_in_queue(self, topic: str, queue_id: int) -> int:
        """Queue offset of the first message still there."""
        return self.find_consume_queue(topic, queue_id).min_offset_in_queue

    def get_offset_in_queue_by_time(self, topic: str, queue_id: int, timestamp: int) -> int:
        """Queue offset of the message stored nearest to `timestamp` (epoch ms)."""
        queue, log = self.find_consume_queue(topic, queue_id), self.commit_log
        return queue.get_offset_in_queue_by_time(timestamp, log.min_offset, log.pickup_store_timestamp)

    def get_message_store_time_stamp(self, topic: str, queue_id: int, consume_queue_offset: int) -> int:
        """Store time (epoch ms) of a queue's message, -1 when it is not there."""
        entry = self._entry(topic, queue_id, consume_queue_offset)
        return _NO_MESSAGE_TIME if entry is None else self.commit_log.pickup_store_timestamp(entry[0], entry[1])

    def get_earliest_message_time(self, topic: str | None = None, queue_id: int = 0) -> int:
        """Store time (epoch ms) of the first message of a queue, or of the whole log; -1 when there is none.

        For the whole log Java asks for twice the largest message size at once, so a log shorter than that has none.
        """
        if topic is None:
            return self.commit_log.pickup_store_timestamp(self.commit_log.min_offset, self.config.max_message_size * 2)
        return self.get_message_store_time_stamp(topic, queue_id, self.get_min_offset_in_queue(topic, queue_id))

    def check_in_disk_by_consume_offset(self, topic: str, queue_id: int, consume_offset: int) -> bool:
        """Whether a queue's message has left the memory that messages may take; False when it is not there."""
        entry = self._entry(topic, queue_id, consume_offset)
        return entry is not None and self.max_phy_offset - entry[0] > self.queue_reader.memory_for_messages

    def _entry(self, topic: str, queue_id: int, consume_queue_offset: int) -> tuple[int, int, int] | None:
        queue = self.find_consume_queue(topic, queue_id)
        return queue.entry(consume_queue_offset) if consume_queue_offset >= queue.min_offset_in_queue else None

    @property
    def max_phy_offset(self) -> int:
        """Commit log offset of the next byte."""
        return self.commit_log.max_offset

    def look_message_by_offset(self, commit_log_offset: int, size: int | None = None) -> MessageExt | None:
        """The message at a commit log offset, its body as stored; None when there is none."""
        record = self.commit_log.select_one_message_by_offset(commit_log_offset, size)
        return None if record is None else decode_record(record, decompress_body=False)

    def look_message_in_queue(self, topic: str, queue_id: int, queue_offset: int) -> MessageExt | None:
        """The message at an offset of a queue, its body as stored; None when it is not there."""
        entry = self._entry(topic, queue_id, queue_offset)
        return None if entry is None else self.look_message_by_offset(entry[0], entry[1])
