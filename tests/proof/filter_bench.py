"""A broker on the bench: called directly, its clock in the experimenter's hand, every decision of its filters kept.

One topic with one queue. Groups subscribe by heartbeats, messages are sent and pulled by ordinary requests; what the
client does with a pull's answer is done here too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.errors import BadInput
from rmqlab.events import Filtered
from rmqlab.filter.filter import Filter
from rmqlab.message.properties import PROPERTY_DELAY_TIME_LEVEL, PROPERTY_TAGS, properties_to_string
from rmqlab.message.record import decode_records
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader, UnregisterClientRequestHeader
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.producer_headers import SendMessageRequestHeaderV2
from rmqlab.protocol.subscription_data import SQL92, TAG, SubscriptionData, build_subscription
from rmqlab.protocol.topic_config import TopicConfig
from rmqlab.run.fates import OF_STAGE, Fate
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.consume_queue import ENTRY
from rmqlab.store.consume_queue_ext import CqExtUnit, is_ext_addr
from rmqlab.store.message_store import MessageStore
from rmqlab_tools.show.funnels import FUNNEL_STAGES, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.events import Event
    from rmqlab.filter.filter import CompiledExpression
    from rmqlab.filter.message_filter import ConsumerFilterData
    from rmqlab.protocol.header import CommandHeader

EPOCH_MS = 1_700_000_000_000
TOPIC = "SqlFilterTest"
MAX_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Switches:
    """The settings that concern filters, by their meaning; all three switches are off in a broker as it comes."""

    property_filter: bool = True
    calc_bit_map: bool = False
    queue_ext: bool = False
    error_rate: int = 20
    expected_groups: int = 32
    support_retry: bool = False


class Entry(NamedTuple):
    """One consume queue entry as stored: its 20 bytes, their meaning, and the extension unit (bytes and meaning)."""

    raw: bytes
    commit_log_offset: int
    size: int
    tags_code: int
    unit: CqExtUnit | None

    @property
    def unit_raw(self) -> bytes | None:
        """The bytes of the extension unit."""
        return None if self.unit is None else self.unit.encode()


class _BenchChannel:
    """A connection of the bench; it keeps what the broker sends by itself."""

    def __init__(self, remote_address: str) -> None:
        self.remote_address = remote_address
        self.sent: list[RemotingCommand] = []

    def send(self, command: RemotingCommand) -> None:
        """Keep a late answer or a request of the broker's."""
        self.sent.append(command)

    def close(self) -> None:
        """Nothing is behind it."""


class _Counted:
    """A compiled expression that tells each evaluation."""

    def __init__(self, compiled: CompiledExpression, on_evaluation: Callable[[], None]) -> None:
        self.compiled = compiled
        self._told = on_evaluation

    def evaluate(self, properties: Mapping[str, str] | None, /) -> object:
        self._told()
        return self.compiled.evaluate(properties)

    def __str__(self) -> str:
        return str(self.compiled)


@dataclass(slots=True)
class Counts:
    """Evaluations of expressions: while messages were stored (for bitmaps), and while they were pulled."""

    at_write: int = 0
    on_pull: int = 0


@dataclass(slots=True)
class _Group:
    subscription: SubscriptionData
    channel: _BenchChannel


@dataclass(slots=True)
class Sent:
    """A message that was sent: its name (the body), tag and properties; its queue offset is its place in the list."""

    name: str
    tag: str | None
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One message of a passage: its name, what else is to be said of it, and its fate."""

    name: str
    detail: str
    fate: Fate

    @property
    def stage(self) -> Stage | None:
        """Where it stops; None when it is delivered."""
        return FUNNEL_STAGES.get(self.fate)


@dataclass(frozen=True, slots=True)
class Passage:
    """What became of every message of a topic in one group. ``kind`` is TAG or SQL92."""

    group: str
    kind: str
    subscription: str
    steps: list[Step]

    def reaches(self, stage: Stage) -> int:
        """How many messages came as far as this stage."""
        order = list(Stage)
        passed = order.index(stage)
        return sum(step.stage is None or order.index(step.stage) >= passed for step in self.steps)

    def stops(self, stage: Stage) -> list[Step]:
        """The messages that stop there."""
        return [step for step in self.steps if step.stage is stage]

    @property
    def delivered(self) -> list[str]:
        """Names of the messages that arrive."""
        return [step.name for step in self.steps if step.fate is Fate.DELIVERED]


class FilterBench:
    """A broker with one topic; ``now`` is its clock (epoch ms), moved only by ``pass_time``."""

    def __init__(self, switches: Switches | None = None, *, topic: str = TOPIC) -> None:
        self.switches = switches or Switches()
        self.topic = topic
        self.now = EPOCH_MS
        self.counts = Counts()
        self.sent: list[Sent] = []
        self.facts: list[Event] = []
        self._groups: dict[str, _Group] = {}
        self._pulling = False
        self._last_version = 0
        self._ports = 50_000
        chosen = self.switches
        self.config = BrokerConfig(
            enable_property_filter=chosen.property_filter,
            enable_calc_filter_bit_map=chosen.calc_bit_map,
            max_error_rate_of_bloom_filter=chosen.error_rate,
            expect_consumer_num_use_filter=chosen.expected_groups,
            filter_support_retry=chosen.support_retry,
        )
        self.store = MessageStore(MessageStoreConfig(enable_consume_queue_ext=chosen.queue_ext))
        self.broker = self._started()
        self.broker.topic_config_manager.update_topic_config(TopicConfig(topic, 1, 1))

    def _started(self) -> Broker:
        return Broker(self.config, self.store, now=self.now, observe=self.facts.append)

    # ---- groups

    def subscribe(self, group: str, expression: str, kind: str = SQL92, version: int | None = None) -> None:
        """Send the heartbeat of a group's one member. Without a ``version`` it is higher than all before."""
        version = max(self.now, self._last_version + 1) if version is None else version
        self._last_version = max(version, self._last_version)
        subscription = build_subscription(self.topic, expression, kind, version)
        known = self._groups.get(group)
        self._groups[group] = _Group(subscription, known.channel if known else self._channel())
        self.beat(group)

    def beat(self, group: str) -> None:
        """Send the group's heartbeat once more, as it was."""
        known = self._group(group)
        consumer = ConsumerData(
            group_name=group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=[known.subscription],
        )
        self._ask(
            known.channel, RequestCode.HEART_BEAT, None, HeartbeatData(group, consumer_data_set=[consumer]).encode()
        )
        data = self.data_of(group)
        if data is not None and data.compiled_expression is not None:
            counted = data.compiled_expression
            if not isinstance(counted, _Counted):
                data.compiled_expression = _Counted(counted, self._evaluated)

    def leave(self, group: str) -> None:
        """The group's member says goodbye."""
        header = UnregisterClientRequestHeader(group, None, group)
        self._ask(self._group(group).channel, RequestCode.UNREGISTER_CLIENT, header)

    def data_of(self, group: str) -> ConsumerFilterData | None:
        """The broker's filter data of a group on the topic, dead or alive."""
        return self.broker.consumer_filter_manager.get(self.topic, group)

    # ---- messages

    def send(self, name: str, tag: str | None = None, *, delay_level: int = 0, **properties: str) -> int:
        """Store a message whose body is its name; return its queue offset (-1 for a delayed one)."""
        all_properties = dict(properties) if tag is None else {PROPERTY_TAGS: tag, **properties}
        if delay_level:
            all_properties[PROPERTY_DELAY_TIME_LEVEL] = str(delay_level)
        header = SendMessageRequestHeaderV2(
            producer_group="P", topic=self.topic, default_topic="TBW102", default_topic_queue_nums=1, queue_id=0,
            sys_flag=0, born_timestamp=self.now, flag=0, properties=properties_to_string(all_properties),
        )  # fmt: skip
        self._pulling = False
        self._ask(self._channel(), RequestCode.SEND_MESSAGE_V2, header, name.encode())
        if delay_level:
            return -1
        self.sent.append(Sent(name, tag, dict(properties)))
        return len(self.sent) - 1

    def pass_time(self, ms: int) -> None:
        """Let ``ms`` pass; the broker's timers run."""
        self.now += ms
        self.broker.run_timers(self.now)

    def restart(self) -> None:
        """Stop the broker in good order and start another on the same store, with what was written to its files."""
        self.broker.now = self.now
        written = self.broker.consumer_filter_manager.encode()
        topics = self.broker.topic_config_manager.topic_config_table
        del self.store.dispatchers[0]
        self.broker = self._started()
        self.broker.topic_config_manager.topic_config_table.update(topics)
        self.broker.consumer_filter_manager.decode(written)
        self._groups.clear()

    def entry(self, offset: int, topic: str | None = None, queue: int = 0) -> Entry:
        """The consume queue entry of a message.

        Raises:
            BadInput: there is none at this offset.
        """
        consume_queue = self.store.find_consume_queue(topic or self.topic, queue)
        raw = consume_queue.get_index_buffer(offset, ENTRY.size)
        if raw is None:
            raise BadInput(f"offset {offset}: queue {queue} of {topic or self.topic} has no entry there")
        log_offset, size, code = ENTRY.unpack(raw)
        return Entry(raw, log_offset, size, code, consume_queue.get_ext(code) if is_ext_addr(code) else None)

    def passage(self, group: str) -> Passage:
        """Pull everything for a group from the beginning, and follow every message through all three places.

        Raises:
            BadInput: the broker refuses the pull; the text has its code and remark.
        """
        known = self._group(group)
        fates: dict[int, Fate] = {}
        offset, end = 0, self.store.get_max_offset_in_queue(self.topic, 0)
        self._pulling = True
        while offset < end:
            before = len(self.facts)
            answer = self._pull(known, group, offset)
            for event in self.facts[before:]:
                if isinstance(event, Filtered):
                    fates[event.offset] = OF_STAGE[event.stage]
            for message in decode_records(answer.body or b""):
                keeps = Filter(known.subscription).client_keeps(message.tags)
                fates[message.queue_offset] = Fate.DELIVERED if keeps else Fate.DROPPED_BY_CLIENT
            offset = answer.header.next_begin_offset  # type: ignore[union-attr]
        kind = TAG if known.subscription.is_tag else SQL92
        steps = [Step(sent.name, _detail(sent), fates[place]) for place, sent in enumerate(self.sent)]
        return Passage(group, kind, str(known.subscription.sub_string), steps)

    def _pull(self, known: _Group, group: str, offset: int) -> RemotingCommand:
        header = PullMessageRequestHeader(
            consumer_group=group,
            topic=self.topic,
            queue_id=0,
            queue_offset=offset,
            max_msg_nums=MAX_AT_ONCE,
            sys_flag=0,
            commit_offset=0,
            suspend_timeout_millis=0,
            sub_version=known.subscription.sub_version,
            expression_type=known.subscription.expression_type,
        )
        answer = self._ask(known.channel, RequestCode.PULL_MESSAGE, header)
        if answer.code not in {ResponseCode.SUCCESS, ResponseCode.PULL_RETRY_IMMEDIATELY}:
            raise BadInput(f"the pull of group {group!r} is refused with code {answer.code}: {answer.remark}")
        return answer

    # ---- the inside

    def _evaluated(self) -> None:
        if self._pulling:
            self.counts.on_pull += 1
        else:
            self.counts.at_write += 1

    def _group(self, group: str) -> _Group:
        if group not in self._groups:
            known = ", ".join(self._groups) or "none"
            raise BadInput(f"group {group!r} has not subscribed; those that have: {known}")
        return self._groups[group]

    def _channel(self) -> _BenchChannel:
        self._ports += 1
        return _BenchChannel(f"127.0.0.1:{self._ports}")

    def _ask(
        self, channel: _BenchChannel, code: RequestCode, header: CommandHeader | None, body: bytes | None = None
    ) -> RemotingCommand:
        answer = self.broker.handle(channel, RemotingCommand.request(code, header, body), self.now)
        if answer is None:
            raise BadInput(f"request {code.name} got no answer")
        return answer


def _detail(sent: Sent) -> str:
    tag = "no tag" if sent.tag is None else sent.tag
    return ", ".join([tag, *(f"{name}={value}" for name, value in sent.properties.items())])
