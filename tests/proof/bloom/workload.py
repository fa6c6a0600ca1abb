"""What the bloom measurements run: messages, groups and expressions, on a broker of ours with both switches on or off.

The article's load test (section 3.4.5): filter `TAGS in ('TAG1', …, 'TAG128')`, every message tagged TAG128. Its
groups, rates and machine are not given; here groups, selectivity and the expression's cost are axes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.errors import BadInput
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.message.properties import properties_to_string
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.producer_headers import SendMessageRequestHeaderV2
from rmqlab.protocol.subscription_data import SQL92, build_subscription
from rmqlab.protocol.topic_config import TopicConfig
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from rmqlab.filter.message_filter import MessageFilter
    from rmqlab.protocol.consumer_headers import PullMessageResponseHeader
    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.subscription_data import SubscriptionData

TOPIC: Final = "BloomTest"
EPOCH_MS: Final = 1_700_000_000_000
BODY: Final = b"x" * 64
AT_ONCE: Final = 32
# The cost of an expression: elements of its IN list, and what stands before it (always true, never a short cut).
_CONDITIONS: Final = (
    "price > 10 AND price < 1000.5 AND level BETWEEN 1 AND 9 AND city <> 'Nowhere' "
    "AND (weight IS NULL OR weight > 0.5) AND "
)
EXPRESSIONS: Final = {"8 tags": (8, ""), "128 tags": (128, ""), "128 tags and 6 conditions": (128, _CONDITIONS)}
_MAX_PAIRS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Workload:
    """How many messages and groups; the share of messages a group matches; the bloom filter's two settings.

    With a selectivity of 1 every message has the last tag of the list, as in the article. Below, each group has tags of
    its own out of so many that a message matches with that probability; at 0 nobody's tags are sent.
    `user_properties` gives messages five properties more, which the costly expression reads.
    """

    messages: int = 2_000
    groups: int = 1
    selectivity: float = 1.0
    expression: str = "128 tags"
    user_properties: bool = False
    error_rate: int = 20
    expected: int = 32
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise BadInput for a setting that cannot be."""
        if self.expression not in EXPRESSIONS:
            raise BadInput(f"expression is {self.expression!r}; there are: {', '.join(EXPRESSIONS)}")
        if not 0 <= self.selectivity <= 1:
            raise BadInput(f"selectivity is {self.selectivity}; it is a share, 0 to 1")
        if self.messages < 1 or self.groups < 1 or self.messages * self.groups > _MAX_PAIRS:
            raise BadInput(
                f"{self.messages} messages and {self.groups} groups: at least one of each, and together no more than "
                f"{_MAX_PAIRS} pairs"
            )

    def expressions(self) -> list[str]:
        """The expression of each group."""
        count, before = EXPRESSIONS[self.expression]
        drawn = random.Random(self.seed)
        tags = range(1, self._universe() + 1)
        name = "OTHER" if self.selectivity == 0 else "TAG"
        sets = [tags if self.selectivity in {0, 1} else drawn.sample(tags, count) for _ in range(self.groups)]
        return [f"{before}TAGS in ({', '.join(repr(f'{name}{number}') for number in numbers)})" for numbers in sets]

    def properties(self) -> list[dict[str, str]]:
        """The properties of each message, as a producer sends them."""
        drawn = random.Random(self.seed + 1)
        universe = self._universe()
        messages = []
        for number in range(self.messages):
            tag = universe if self.selectivity == 1 else drawn.randrange(universe) + 1
            values = {"UNIQ_KEY": f"7F0000010A1B18B4AAC2{number:012X}", "WAIT": "true"}
            if self.user_properties:
                values |= {
                    "price": str(drawn.randrange(11, 1_000)), "level": str(drawn.randrange(1, 10)),
                    "city": drawn.choice(("Hangzhou", "Beijing", "Shenzhen")), "order": f"A-{number:08d}",
                    "source": "app",
                }  # fmt: skip
            messages.append({**values, "TAGS": f"TAG{tag}"})
        return messages

    def group_names(self) -> list[str]:
        """The groups' names."""
        return [f"CID_BLOOM_{number:03d}" for number in range(self.groups)]

    def _universe(self) -> int:
        """How many tags there are."""
        count, _ = EXPRESSIONS[self.expression]
        if self.selectivity in {0, 1}:
            return count
        return max(count + 1, round(count / self.selectivity))


ARTICLE: Final = Workload()


class _Channel:
    """A connection; nothing is behind it."""

    def __init__(self, port: int) -> None:
        self.remote_address = f"127.0.0.1:{port}"

    def send(self, command: RemotingCommand) -> None:
        """Late answers are not looked at."""

    def close(self) -> None:
        """Nothing to close."""


class BloomBroker:
    """A broker of ours that has stored a workload's messages and not dispatched them yet.

    `switch` is both `enableCalcFilterBitMap` and `enableConsumeQueueExt`. Groups have subscribed by heartbeats.
    """

    def __init__(self, workload: Workload, *, switch: bool) -> None:
        """Subscribe every group, store every message."""
        self.workload, self.switch = workload, switch
        self.store = MessageStore(MessageStoreConfig(enable_consume_queue_ext=switch))
        self.store.defers_dispatch = True
        config = BrokerConfig(
            enable_property_filter=True,
            enable_calc_filter_bit_map=switch,
            max_error_rate_of_bloom_filter=workload.error_rate,
            expect_consumer_num_use_filter=workload.expected,
        )
        self.broker = Broker(config, self.store, now=EPOCH_MS)
        self.broker.topic_config_manager.update_topic_config(TopicConfig(TOPIC, 1, 1))
        self.subscriptions: dict[str, SubscriptionData] = {}
        self._channels: dict[str, _Channel] = {}
        for number, (group, text) in enumerate(zip(workload.group_names(), workload.expressions(), strict=True)):
            self._subscribe(group, text, _Channel(40_000 + number))
        # A message of the millisecond in which a group was born would be too old for its bits to count (F-60).
        self.now = EPOCH_MS + 1
        self.broker.run_timers(self.now)
        producer = _Channel(39_999)
        for properties in workload.properties():
            self._send(producer, properties)

    def dispatch(self) -> int:
        """From the commit log to the queue, as `ReputMessageService` does it; return how many messages."""
        self.store.dispatch()
        return self.store.get_max_offset_in_queue(TOPIC, 0)

    def forget(self) -> None:
        """Undo `dispatch`: the queue is empty again, the commit log is as it was."""
        self.store.find_consume_queue(TOPIC, 0).destroy()
        self.store.reput_message_service.reput_from_offset = 0

    def pull(self, group: str) -> int:
        """Pull everything for a group by requests; return how many messages the broker gave."""
        offset, got = 0, 0
        while offset < self.workload.messages:
            header = PullMessageRequestHeader(
                consumer_group=group, topic=TOPIC, queue_id=0, queue_offset=offset, max_msg_nums=AT_ONCE,
                sys_flag=0,
                commit_offset=0, suspend_timeout_millis=0, sub_version=self.subscriptions[group].sub_version,
                expression_type=SQL92,
            )  # fmt: skip
            answer = self._ask(self._channels[group], RequestCode.PULL_MESSAGE, header)
            if answer.code not in {ResponseCode.SUCCESS, ResponseCode.PULL_RETRY_IMMEDIATELY}:
                raise BadInput(f"the pull of {group} is refused with code {answer.code}: {answer.remark}")
            response: PullMessageResponseHeader = answer.header  # type: ignore[assignment]
            got += _count(answer.body or b"")
            offset = response.next_begin_offset or 0
        return got

    def read(self, group: str, message_filter: MessageFilter | None = None) -> int:
        """Read everything for a group from the store, without requests; return how many messages it gave."""
        passes = message_filter or self.filter_of(group)
        offset, got = 0, 0
        while offset < self.workload.messages:
            result = self.store.get_message(group, TOPIC, 0, offset, AT_ONCE, passes, None)
            if result is None:
                raise BadInput("the store cannot be read")
            got += len(result.messages)
            offset = result.next_begin_offset
        return got

    def filter_of(self, group: str) -> ExpressionMessageFilter:
        """The filter of a group's pull."""
        manager = self.broker.consumer_filter_manager
        return ExpressionMessageFilter(self.subscriptions[group], manager.get(TOPIC, group), manager)

    def records(self) -> list[bytes]:
        """The stored records, after `dispatch`."""
        queue = self.store.find_consume_queue(TOPIC, 0)
        entries = [queue.entry(number) for number in range(self.workload.messages)]
        records = [
            None if entry is None else self.store.commit_log.get_message(entry[0], entry[1]) for entry in entries
        ]
        return [record for record in records if record is not None]

    def _subscribe(self, group: str, text: str, channel: _Channel) -> None:
        subscription = build_subscription(TOPIC, text, SQL92, EPOCH_MS)
        self.subscriptions[group], self._channels[group] = subscription, channel
        consumer = ConsumerData(
            group_name=group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=[subscription],
        )
        body = HeartbeatData(group, consumer_data_set=[consumer]).encode()
        self.now = EPOCH_MS
        self._ask(channel, RequestCode.HEART_BEAT, None, body)

    def _send(self, channel: _Channel, properties: dict[str, str]) -> None:
        header = SendMessageRequestHeaderV2(
            producer_group="PID_BLOOM", topic=TOPIC, default_topic="TBW102", default_topic_queue_nums=1, queue_id=0,
            sys_flag=0, born_timestamp=self.now, flag=0, properties=properties_to_string(properties),
        )  # fmt: skip
        self._ask(channel, RequestCode.SEND_MESSAGE_V2, header, BODY)

    def _ask(
        self, channel: _Channel, code: RequestCode, header: CommandHeader | None, body: bytes | None = None
    ) -> RemotingCommand:
        answer = self.broker.handle(channel, RemotingCommand.request(code, header, body), self.now)
        if answer is None:
            raise BadInput(f"request {code.name} got no answer")
        return answer


def _count(records: bytes) -> int:
    """How many records lie one behind the other: each begins with its size."""
    position = count = 0
    while position < len(records):
        position += int.from_bytes(records[position : position + 4])
        count += 1
    return count
