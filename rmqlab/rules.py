"""The rules that the articles are about: what RocketMQ does with subscriptions, filters and heartbeats, by version.

Each is a small pure function or a constant under RocketMQ's name. Broker, store and client call them through one frozen
`Rules`, and hold no second copy. Another version, a wrong rule to be found, or a rule of your own is a replacement:

>>> mine = RULES["4.8.0"].replace(heartbeat_period_ms=10_000)
>>> mine.heartbeat_period_ms, RULES["4.8.0"].heartbeat_period_ms
(10000, 30000)
>>> RULES["4.8.0"].rebalance_min_period_ms, RULES["5.5.0"].rebalance_min_period_ms
(0, 1000)

S, F and H with a number are rows of the mission (`rmqlab rows`), of the articles on subscriptions, filters, heartbeats.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Protocol, TypeVar, get_args

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.message.java import string_hash, to_int32
from rmqlab.protocol.subscription_data import SUB_ALL, SubscriptionData
from rmqlab.protocol.wire import WIRE_4_8_0, WIRE_5_3_3, WIRE_5_5_0, Wire
from rmqlab.rule_table import ByVersion, RuleTable
from rmqlab.rules_of_5 import (
    assigned_expression_as_given,
    disk_used_as_df,
    goes_to_dlq_when_locked,
    lite_pull_threads_as_asked,
    offset_without_commit_of_a_message,
    rebalances_again_until_balanced,
)
from rmqlab.rules_of_pop import (
    Woken,
    pop_offset,
    pop_order,
    pop_order_downwards,
    pop_share,
    retry_topic,
    visible_at,
    waiter_to_wake,
    woken_by,
    woken_by_origin_group,
)

T = TypeVar("T")
Topic = str | None  # 4.8.0 takes a heartbeat with a null for a topic
Table = dict[Topic, SubscriptionData]
Held = Mapping[Topic, SubscriptionData]
Grammar = Literal["4.8.0", "5.3.3", "5.5.0"]
StartsAt = Literal["committed", "first", "end", "timestamp", "nowhere"]
_MASK32 = 0xFFFFFFFF


# Heartbeat.


class Member(Protocol):
    """What the broker remembers of a group's member: its client id, and when it was heard last (epoch ms)."""

    client_id: str | None
    last_update_timestamp: int


M = TypeVar("M", bound=Member)


def update_channel(known: M | None, new: M, now: int) -> tuple[M, bool]:
    """The member to remember for a connection after a heartbeat, and whether it is new.

    Another client id on a known connection takes its place, but the time that is refreshed is the old one's.
    4.8.0 `ConsumerGroupInfo.updateChannel`; H-37, H-39.
    """
    if known is None:
        new.last_update_timestamp = now
        return new, True
    known.last_update_timestamp = now
    return (known if known.client_id == new.client_id else new), False


def update_subscription(held: Held, told: Iterable[SubscriptionData]) -> Table:
    """The group's subscriptions by topic after a heartbeat that told these.

    A topic is taken over when it is new, or when its version is strictly higher; a topic that was not told is removed.
    That all members share one table is why two different tags overwrite each other.
    4.8.0 `ConsumerGroupInfo.updateSubscription`; S-76..S-79.

    >>> a = SubscriptionData("T", "tagA", sub_version=7)
    >>> b = SubscriptionData("T", "tagB", sub_version=8)
    >>> update_subscription({"T": a}, [b])["T"].sub_string, update_subscription({"T": b}, [a])["T"].sub_string
    ('tagB', 'tagB')
    """
    table, topics = dict(held), set()
    for new in told:
        topics.add(new.topic)
        old = table.get(new.topic)
        if old is None or new.sub_version > old.sub_version:
            table[new.topic] = new
    return {topic: data for topic, data in table.items() if topic in topics}


def is_notified(held: Held, updated: Held, joined: bool) -> bool:
    """Whether all members are told to rebalance after a heartbeat: a member is new, or a topic came or went.

    Other tags for the same topic tell nobody anything. 4.8.0 `ConsumerManager.registerConsumer`; S-77, H-30, H-35.
    """
    return joined or held.keys() != updated.keys()


def is_expired(now: int, last_update_timestamp: int, channel_expired_ms: int) -> bool:
    """Whether a member is forgotten by a scan: it was silent for longer than that, all in ms.

    4.8.0 `ConsumerManager.scanNotActiveChannel`; H-41.
    """
    return now - last_update_timestamp > channel_expired_ms


# Rebalance.


def allocate(current_cid: str, mq_all: Sequence[T], cid_all: Sequence[str]) -> list[T]:
    """The queues of one member, all lists sorted: contiguous blocks, the first members get one more.

    Each member works it out by itself. 4.8.0 `AllocateMessageQueueAveragely.allocate`; H-47.

    >>> allocate("B", [0, 1, 2, 3, 4], ["A", "B"])
    [3, 4]
    """
    if current_cid not in cid_all:
        return []
    index = cid_all.index(current_cid)
    share, rest = divmod(len(mq_all), len(cid_all))
    size = 1 if len(mq_all) <= len(cid_all) else share + (1 if index < rest else 0)
    start = index * size if index < rest else index * size + rest
    return list(mq_all[start : start + size])


def rebalances_again(balanced: bool) -> bool:  # noqa: ARG001 - later versions go by it
    """Whether a client rebalances once more soon, after one in which it did not get all the queues it wants.

    Whatever came of it, 4.8.0 waits for the whole period. 4.8.0 `RebalanceService.run`; H-46.
    """
    return False


def stamp_sub_version(old: int, now: int) -> int:  # noqa: ARG001 - other rules may go by the old one
    """The version of a subscription after its client's queues changed: the client's own clock, in epoch ms.

    4.8.0 `RebalancePushImpl.messageQueueChanged`; S-84, S-86.
    """
    return now


def compute_pull_from_where(committed: int, consume_from_where: str, is_retry_topic: bool) -> StartsAt:
    """Where a queue that became ours is pulled from; `committed` is -1 without one and -2 when it cannot be asked.

    4.8.0 `RebalancePushImpl.computePullFromWhere`; S-96.

    >>> compute_pull_from_where(-1, "CONSUME_FROM_LAST_OFFSET", False)
    'end'
    """
    if committed != -1:
        return "committed" if committed >= 0 else "nowhere"
    if consume_from_where == "CONSUME_FROM_FIRST_OFFSET":
        return "first"
    if consume_from_where == "CONSUME_FROM_TIMESTAMP":
        return "end" if is_retry_topic else "timestamp"
    return "first" if is_retry_topic else "end"


def offset_without_commit(min_offset: int, max_offset: int, on_disk: bool) -> int | None:  # noqa: ARG001
    """What the broker tells a group that never committed an offset of a queue; None: it does not say (22, not found).

    Where the queue is still whole and its first message in memory, a new group begins at 0, whatever it asked for.
    `min_offset` and `max_offset` are the queue's. 4.8.0 `ConsumerManageProcessor.queryConsumerOffset`; S-96.

    >>> offset_without_commit(0, 0, False), offset_without_commit(5, 9, False)
    (0, None)
    """
    return None if min_offset > 0 or on_disk else 0


# Pull.


def subscription_in_force(posted: SubscriptionData | None, held: SubscriptionData | None) -> SubscriptionData | None:
    """The subscription that filters a pull: its own, if it posts one, else what the broker holds for the group.

    4.8.0 `PullMessageProcessor.processRequest`; S-63..S-65, S-90.
    """
    return held if posted is None else posted


def assigned_expression(given: str | None) -> str:  # noqa: ARG001 - later versions go by it
    """The expression of a lite pull consumer that assigned itself its queues: everything, whatever was `given`.

    4.8.0 `DefaultLitePullConsumerImpl.PullTaskImpl`. From 4.9.8 on it is what `setSubExpressionForAssign` was given.

    >>> assigned_expression("tagA")
    '*'
    """
    return SUB_ALL


def lite_pull_threads(asked: int) -> int:  # noqa: ARG001 - later versions go by it
    """How many threads of a lite pull consumer pull, each one queue: 20, for the pool is made before anybody can ask.

    4.8.0 `DefaultLitePullConsumerImpl.DefaultLitePullConsumerImpl`.

    >>> lite_pull_threads(2), lite_pull_threads_as_asked(2)
    (20, 2)
    """
    return 20


def is_latest(held_version: int, pull_version: int) -> bool:
    """Whether the broker's subscription may serve a pull; an older one is refused, a newer one serves in silence.

    4.8.0 `PullMessageProcessor.processRequest`; S-66.
    """
    return held_version >= pull_version


_CODES = {
    "FOUND": "SUCCESS",
    "MESSAGE_WAS_REMOVING": "PULL_RETRY_IMMEDIATELY",
    "NO_MATCHED_MESSAGE": "PULL_RETRY_IMMEDIATELY",
    "OFFSET_FOUND_NULL": "PULL_NOT_FOUND",
    "OFFSET_OVERFLOW_BADLY": "PULL_OFFSET_MOVED",
    "OFFSET_OVERFLOW_ONE": "PULL_NOT_FOUND",
    "OFFSET_TOO_SMALL": "PULL_OFFSET_MOVED",
}


def code_of_status(status: str, queue_offset: int) -> str:
    """The name of the response code for a status of the store.

    An empty or unknown queue is a reason to move only for a consumer that claims to be further.
    4.8.0 `PullMessageProcessor.processRequest`; S-71.

    >>> code_of_status("NO_MESSAGE_IN_QUEUE", 0), code_of_status("NO_MESSAGE_IN_QUEUE", 5)
    ('PULL_NOT_FOUND', 'PULL_OFFSET_MOVED')
    """
    if status in {"NO_MATCHED_LOGIC_QUEUE", "NO_MESSAGE_IN_QUEUE"}:
        return "PULL_OFFSET_MOVED" if queue_offset != 0 else "PULL_NOT_FOUND"
    return _CODES[status]


def next_offset(offset: int, looked_at: int, found: int) -> int:  # noqa: ARG001 - wrong rules go by what was found
    """The offset to go on from after `looked_at` entries, of which `found` went out: behind all of them.

    What the filter dropped is never looked at again. 4.8.0 `DefaultMessageStore.getMessage`; S-51, S-56.
    """
    return offset + looked_at


def is_the_batch_full(
    size: int, max_messages: int, total_bytes: int, total_messages: int, most_bytes: int, most_messages: int
) -> bool:
    """Whether a message of `size` bytes is left for the next pull; an answer without messages is never full.

    The two bounds are the store's for messages in memory or on disk. 4.8.0 `DefaultMessageStore.isTheBatchFull`; S-49.
    """
    if total_bytes == 0 or total_messages == 0:
        return False
    if max_messages <= total_messages:
        return True
    return total_bytes + size > most_bytes or total_messages > most_messages - 1


# Filter, at the broker.


def tags_code(tag: str | None) -> int:
    """What a queue entry keeps of a tag: `String.hashCode`, 0 without a tag.

    4.8.0 `MessageExtBrokerInner.tagsString2tagsCode`; F-50, F-56.

    >>> tags_code("AaAa") == tags_code("BBBB"), tags_code(None)
    (True, 0)
    """
    return string_hash(tag) if tag else 0


def is_matched_by_consume_queue(subscription: SubscriptionData, code: int | None) -> bool:
    """Layer 1 for tags: everything is subscribed, or the code, narrowed to 32 bits, is in the code set.

    No code (its extension cannot be read) passes. 4.8.0 `ExpressionMessageFilter.isMatchedByConsumeQueue`; F-56..F-58.
    """
    return code is None or subscription.sub_string == SUB_ALL or to_int32(code) in subscription.code_set


def is_matched_by_commit_log(value: object) -> bool:
    """Layer 2 for SQL92: the condition's value on the message's properties must be true; null and errors are not.

    4.8.0 `ExpressionMessageFilter.isMatchedByCommitLog`; F-64, F-65.
    """
    return value is True


def retry_subscription(group: str) -> tuple[str, str]:
    """Topic and expression that each clustering consumer subscribes besides: all messages sent back to its group.

    4.8.0 `DefaultMQPushConsumerImpl.copySubscription`; S-95.
    """
    return f"%RETRY%{group}", SUB_ALL


def goes_to_dlq(times: int, most: int, locked: bool) -> bool:  # noqa: ARG001 - later versions go by it
    """Whether a message that a client sends to its group's retry topic is a dead letter: it was retried often enough.

    `times` it was retried, at most `most` times; `locked`: a member of the group holds the lock of a queue, as members
    do that consume in order. 4.8.0 `SendMessageProcessor.handleRetryAndDLQ`.

    >>> goes_to_dlq(16, 16, locked=False), goes_to_dlq(15, 16, locked=True)
    (True, False)
    """
    return times >= most


def disk_used(total: int, free: int, usable: int) -> float:  # noqa: ARG001 - later versions go by it
    """The part of a disk that is in use, 0 to 1; of one without a size -1: not known.

    `total` bytes it has, `free` of them are not in use, `usable` of those a user without special rights may write.
    Bytes kept for special users count as not in use. 4.8.0 `UtilAll.getDiskPartitionSpaceUsedPercent`.

    >>> disk_used(200, 50, 25)
    0.75
    """
    return (total - free) / total if total else -1.0


def bit_positions(hash64: int, k: int, m: int) -> list[int]:
    """The positions of a key with this hash in a bloom filter of `k` functions over `m` bits.

    The halves of the hash are h1 and h2; position i is h1 + i*h2, wrapped to 32 bits, flipped if negative, modulo m.
    4.8.0 `BloomFilter.calcBitPositions`; F-77.
    """
    low, high = hash64 & _MASK32, (hash64 >> 32) & _MASK32
    wrapped = (to_int32(low + i * high) for i in range(1, k + 1))
    return [(~number if number < 0 else number) % m for number in wrapped]


def is_hit(positions: Sequence[int], is_set: Callable[[int], bool]) -> bool:
    """Layer 1 for SQL92: whether all positions of a group are set in a message's bits: false is certain, true is not.

    Every position is read, also after a miss: one out of range raises. 4.8.0 `BloomFilter.isHit`; F-77, F-78.
    """
    return all([is_set(position) for position in positions])  # noqa: C419 - every one is read


# Filter, at the client.


def client_keeps(subscription: SubscriptionData, tag: str | None) -> bool:
    """Whether a client hands a message to its listener: the text of the tag is one that it named itself.

    4.8.0 `PullAPIWrapper.processPullResult`; F-95, H-31.
    """
    if not subscription.tags_set or subscription.class_filter_mode:
        return True
    return tag is not None and tag in subscription.tags_set


def offset_after_nothing_kept(next_offset: int, waiting: int) -> int | None:
    """The offset to commit after an answer without a message to consume; None while messages are still waiting.

    This makes a loss permanent. 4.8.0 `DefaultMQPushConsumerImpl.correctTagsOffset`; S-83.
    """
    return next_offset if waiting == 0 else None


@dataclass(frozen=True, slots=True, repr=False)
class Rules(RuleTable):
    """All rules of one version. Periods and times in ms, versions in epoch ms; each function is described above.

    `heartbeat_period_ms`: `ClientConfig.heartbeatBrokerInterval`, H-14. `channel_expired_ms`:
    `ConsumerManager.CHANNEL_EXPIRED_TIMEOUT`, H-41. `scan_period_ms`: `ClientHousekeepingService`, H-40.
    `rebalance_period_ms`: `RebalanceService.waitInterval`, H-46. `suspend_ms`: how long a pull may be held,
    `DefaultMQPushConsumerImpl.BROKER_SUSPEND_MAX_TIME_MILLIS`, S-73. `hold_check_period_ms`: `PullRequestHoldService`,
    S-91.

    What later versions do otherwise, 0 where a version knows no such time. `notifies_broadcasting`: whether members of
    a broadcasting group are told to rebalance when others come and go, `ConsumerManager.registerConsumer`,
    `ConsumerManager.unregisterConsumer`. `rebalance_min_period_ms`: a client does not rebalance again sooner,
    `RebalanceService.minInterval`. `first_pull_delay_ms`: how long a queue that became ours waits for its first pull,
    `RebalanceImpl.updateProcessQueueTableInRebalance`. `lock_again_ms`: when an orderly consumer that did not get a
    lock tries again, `RebalanceImpl.updateProcessQueueTableInRebalance`. `fix_offset_delay_ms`: how long a queue is
    kept after OFFSET_ILLEGAL, 0: it is rebalanced at once, `DefaultMQPushConsumerImpl.pullMessage`.
    `asks_members_first`: whether a client asks for the group's members before it looks whether the topic has queues,
    `RebalanceImpl.rebalanceByTopic`. `stamps_without_queues`: whether each rebalance of a topic without queues stamps
    its subscription anew, `RebalanceImpl.rebalanceByTopic`. `registers_unknown_groups`: whether a heartbeat registers a
    group that there is no configuration of, `ClientManageProcessor.heartBeat`. `knows_heartbeat_v2`: whether a
    heartbeat may leave out subscriptions that the broker has, `ClientManageProcessor.heartBeatV2`; clients do so only
    if they are told to. `may_pull_from_dlq`: whether dead letters may be pulled,
    `AbstractSendMessageProcessor.consumerSendMsgBack`. `needs_reconsume_times`: whether a client that sends a message
    back must say how often it is retried at most, `AbstractSendMessageProcessor.consumerSendMsgBack`.
    `chooses_below_0`: whether the broker, asked to choose a queue, may choose one below 0,
    `AbstractSendMessageProcessor.randomQueueId`. `stores_offset_moved_event`: whether the broker stores
    OFFSET_MOVED_EVENT, `PullMessageProcessor.processRequest`, S-74. `sql92`: the version whose words a condition has,
    `SelectorParser`. `has_pop`: whether the broker knows POP, so that the rules of `rmqlab.rules_of_pop` are asked,
    `PopMessageProcessor.processRequest`. `wire`: what is seen in frames and in the store, and decides nothing,
    `MQVersion`.
    """

    version: str
    heartbeat_period_ms: int = 30_000
    update_channel: Callable[..., tuple[Any, bool]] = update_channel
    update_subscription: Callable[[Held, Iterable[SubscriptionData]], Table] = update_subscription
    is_notified: Callable[[Held, Held, bool], bool] = is_notified
    notifies_broadcasting: bool = True
    registers_unknown_groups: bool = True
    knows_heartbeat_v2: bool = False
    channel_expired_ms: int = 120_000
    scan_period_ms: int = 10_000
    is_expired: Callable[[int, int, int], bool] = is_expired
    rebalance_period_ms: int = 20_000
    rebalance_min_period_ms: int = 0
    rebalances_again: Callable[[bool], bool] = rebalances_again
    lock_again_ms: int = 0
    asks_members_first: bool = True
    stamps_without_queues: bool = False
    allocate: Callable[[str, Sequence[T], Sequence[str]], list[T]] = allocate
    stamp_sub_version: Callable[[int, int], int] = stamp_sub_version
    compute_pull_from_where: Callable[[int, str, bool], StartsAt] = compute_pull_from_where
    offset_without_commit: Callable[[int, int, bool], int | None] = offset_without_commit
    first_pull_delay_ms: int = 0
    subscription_in_force: Callable[[SubscriptionData | None, SubscriptionData | None], SubscriptionData | None] = (
        subscription_in_force
    )
    assigned_expression: Callable[[str | None], str] = assigned_expression
    lite_pull_threads: Callable[[int], int] = lite_pull_threads
    is_latest: Callable[[int, int], bool] = is_latest
    code_of_status: Callable[[str, int], str] = code_of_status
    next_offset: Callable[[int, int, int], int] = next_offset
    is_the_batch_full: Callable[[int, int, int, int, int, int], bool] = is_the_batch_full
    fix_offset_delay_ms: int = 10_000
    stores_offset_moved_event: bool = True
    may_pull_from_dlq: bool = False
    needs_reconsume_times: bool = True
    goes_to_dlq: Callable[[int, int, bool], bool] = goes_to_dlq
    chooses_below_0: bool = True
    disk_used: Callable[[int, int, int], float] = disk_used
    suspend_ms: int = 15_000
    hold_check_period_ms: int = 5_000
    tags_code: Callable[[str | None], int] = tags_code
    is_matched_by_consume_queue: Callable[[SubscriptionData, int | None], bool] = is_matched_by_consume_queue
    is_matched_by_commit_log: Callable[[object], bool] = is_matched_by_commit_log
    retry_subscription: Callable[[str], tuple[str, str]] = retry_subscription
    bit_positions: Callable[[int, int, int], list[int]] = bit_positions
    is_hit: Callable[[Sequence[int], Callable[[int], bool]], bool] = is_hit
    client_keeps: Callable[[SubscriptionData, str | None], bool] = client_keeps
    offset_after_nothing_kept: Callable[[int, int], int | None] = offset_after_nothing_kept
    has_pop: bool = False
    waiter_to_wake: Callable[[Sequence[T], Callable[[T], bool]], T | None] = waiter_to_wake
    woken_by: Callable[[str, str | None], Woken | None] = woken_by
    pop_share: Callable[..., list[Any] | None] = pop_share
    pop_order: Callable[[int, int, bool], list[int]] = pop_order
    pop_offset: Callable[[int, int], int] = pop_offset
    visible_at: Callable[[int, int], int] = visible_at
    retry_topic: Callable[[str, str, bool], str] = retry_topic
    sql92: Grammar = "4.8.0"
    wire: Wire = WIRE_4_8_0

    may_be_0: ClassVar[frozenset[str]] = frozenset(
        {"rebalance_min_period_ms", "lock_again_ms", "first_pull_delay_ms", "fix_offset_delay_ms"}
    )
    choices: ClassVar[Mapping[str, tuple[object, ...]]] = {"sql92": get_args(Grammar)}

    @property
    def longest_hold_ms(self) -> int:
        """How long a pull may be held: until the look at held pulls (`PullRequestHoldService`) after its time is up.

        >>> RULES["4.8.0"].longest_hold_ms
        20000
        """
        return self.suspend_ms + self.hold_check_period_ms

    def __repr__(self) -> str:
        """`<rules of 4.8.0>`, and which of them are others: `<rules of 4.8.0, but for client_keeps>`."""
        known = RULES.get(self.version, self)
        others = [
            rule.name for rule in dataclasses.fields(self) if getattr(self, rule.name) != getattr(known, rule.name)
        ]
        return f"<rules of {self.version}{', but for ' if others else ''}{', '.join(others)}>"


def require_rules(given: object) -> None:
    """Check that these are rules.

    Raises:
        BadInput: they are none.
    """
    if not isinstance(given, Rules):
        raise BadInput(_('rules is {given}; right is RULES["4.8.0"].replace(...)', given=f"{given!r}"))


def rules_of(version: str | None = None, rules: Rules | None = None) -> Rules:
    """The rules that a caller means: those of a version, or rules of its own; without either the usual ones.

    >>> rules_of("5.5.0") is RULES["5.5.0"], rules_of() is RULES["4.8.0"]
    (True, True)

    Raises:
        BadInput: there are none of the version, the rules are none, or the two do not fit together.
    """
    if rules is None:
        return RULES[DEFAULT_VERSION if version is None else version]
    require_rules(rules)
    if version is not None and version != rules.version:
        raise BadInput(
            _(
                "version is {version} and rules are those of {other}; give one of the two",
                version=f"{version!r}",
                other=rules.version,
            )
        )
    return rules


DEFAULT_VERSION: Final = "4.8.0"
RULES = ByVersion({DEFAULT_VERSION: Rules(DEFAULT_VERSION)})
"""The rules by version."""
DEFAULT_RULES = RULES[DEFAULT_VERSION]
RULES["5.3.3"] = DEFAULT_RULES.replace(
    version="5.3.3",
    notifies_broadcasting=False,
    registers_unknown_groups=False,
    knows_heartbeat_v2=True,
    rebalance_min_period_ms=1_000,
    rebalances_again=rebalances_again_until_balanced,
    lock_again_ms=500,
    stamps_without_queues=True,
    offset_without_commit=offset_without_commit_of_a_message,
    first_pull_delay_ms=500,
    assigned_expression=assigned_expression_as_given,
    lite_pull_threads=lite_pull_threads_as_asked,
    fix_offset_delay_ms=0,
    stores_offset_moved_event=False,
    may_pull_from_dlq=True,
    needs_reconsume_times=False,
    goes_to_dlq=goes_to_dlq_when_locked,
    chooses_below_0=False,
    disk_used=disk_used_as_df,
    has_pop=True,
    sql92="5.3.3",
    wire=WIRE_5_3_3,
)
RULES["5.5.0"] = RULES["5.3.3"].replace(
    version="5.5.0",
    asks_members_first=False,
    woken_by=woken_by_origin_group,
    pop_order=pop_order_downwards,
    wire=WIRE_5_5_0,
)
POP_VERSIONS: Final = tuple(version for version, rules in RULES.items() if rules.has_pop)
"""The versions with POP and with a proxy, the newest last."""
