"""The rules that the articles are about: what RocketMQ 4.8.0 does with subscriptions, filters and heartbeats.

Each is a small pure function or a constant under RocketMQ's name. Broker, store and client call them through one frozen
`Rules`, and hold no second copy. Another version, a wrong rule to be found, or a rule of your own is a replacement:

>>> mine = RULES["4.8.0"].replace(heartbeat_period_ms=10_000)
>>> mine.heartbeat_period_ms, RULES["4.8.0"].heartbeat_period_ms
(10000, 30000)

S, F and H with a number are rows of the mission (`rmqlab rows`), of the articles on subscriptions, filters, heartbeats.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeVar

from rmqlab.errors import BadInput, did_you_mean, whole_number
from rmqlab.language import _, joined
from rmqlab.message.java import string_hash, to_int32
from rmqlab.protocol.subscription_data import SUB_ALL, SubscriptionData

T = TypeVar("T")
Topic = str | None  # 4.8.0 takes a heartbeat with a null for a topic
Table = dict[Topic, SubscriptionData]
Held = Mapping[Topic, SubscriptionData]
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
    return {topic: one for topic, one in table.items() if topic in topics}


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


def bit_positions(hash64: int, k: int, m: int) -> list[int]:
    """The positions of a key with this hash in a bloom filter of `k` functions over `m` bits.

    The halves of the hash are h1 and h2; position i is h1 + i*h2, wrapped to 32 bits, flipped if negative, modulo m.
    4.8.0 `BloomFilter.calcBitPositions`; F-77.
    """
    low, high = hash64 & _MASK32, (hash64 >> 32) & _MASK32
    wrapped = (to_int32(low + i * high) for i in range(1, k + 1))
    return [(~one if one < 0 else one) % m for one in wrapped]


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


class RuleSource(str):
    """Lines of Python that a notebook shows as they stand."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The lines."""
        return str(self)


@dataclass(frozen=True, slots=True, repr=False)
class Rules:
    """All rules of one version. Periods and times in ms, versions in epoch ms; each function is described above.

    `heartbeat_period_ms`: `ClientConfig.heartbeatBrokerInterval`, H-14. `channel_expired_ms`:
    `ConsumerManager.CHANNEL_EXPIRED_TIMEOUT`, H-41. `scan_period_ms`: `ClientHousekeepingService`, H-40.
    `rebalance_period_ms`: `RebalanceService.waitInterval`, H-46. `suspend_ms`: how long a pull may be held,
    `DefaultMQPushConsumerImpl.BROKER_SUSPEND_MAX_TIME_MILLIS`, S-73. `hold_check_period_ms`: `PullRequestHoldService`,
    S-91.
    """

    version: str
    heartbeat_period_ms: int = 30_000
    update_channel: Callable[..., tuple[Any, bool]] = update_channel
    update_subscription: Callable[[Held, Iterable[SubscriptionData]], Table] = update_subscription
    is_notified: Callable[[Held, Held, bool], bool] = is_notified
    channel_expired_ms: int = 120_000
    scan_period_ms: int = 10_000
    is_expired: Callable[[int, int, int], bool] = is_expired
    rebalance_period_ms: int = 20_000
    allocate: Callable[[str, Sequence[T], Sequence[str]], list[T]] = allocate
    stamp_sub_version: Callable[[int, int], int] = stamp_sub_version
    compute_pull_from_where: Callable[[int, str, bool], StartsAt] = compute_pull_from_where
    subscription_in_force: Callable[[SubscriptionData | None, SubscriptionData | None], SubscriptionData | None] = (
        subscription_in_force
    )
    assigned_expression: Callable[[str | None], str] = assigned_expression
    is_latest: Callable[[int, int], bool] = is_latest
    code_of_status: Callable[[str, int], str] = code_of_status
    next_offset: Callable[[int, int, int], int] = next_offset
    is_the_batch_full: Callable[[int, int, int, int, int, int], bool] = is_the_batch_full
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

    def __repr__(self) -> str:
        """`<rules of 4.8.0>`, and which of them are others: `<rules of 4.8.0, but for client_keeps>`."""
        known = RULES.get(self.version, self)
        others = [one.name for one in dataclasses.fields(self) if getattr(self, one.name) != getattr(known, one.name)]
        return f"<rules of {self.version}{', but for ' if others else ''}{', '.join(others)}>"

    def replace(self, **rules: object) -> Rules:
        """These rules with some replaced.

        Raises:
            BadInput: there is no rule of that name, a function is none, or a time is no whole number of ms above 0.
        """
        for name, rule in rules.items():
            usual = self._named(name)
            if isinstance(usual, int):
                whole_number(name, rule, 1)
            elif callable(usual) and not callable(rule):
                raise BadInput(
                    _(
                        "{name} is {rule}; right is a function, as source({quoted}) shows it",
                        name=name,
                        rule=f"{rule!r}",
                        quoted=f"{name!r}",
                    )
                )
        return dataclasses.replace(self, **rules)  # type: ignore[arg-type]

    def _named(self, name: str) -> Any:
        known = [field.name for field in dataclasses.fields(self)]
        if name not in known:
            raise BadInput(
                _(
                    "no rule {name}{near}; there are {known}",
                    name=f"{name!r}",
                    near=did_you_mean(name, known),
                    known=joined(", ", known[1:]),
                )
            )
        return getattr(self, name)

    def source(self, name: str) -> RuleSource:
        """The rule as it is written: its lines of Python, or the value of a constant and where it comes from.

        A rule that you put in yourself is shown in your own lines.

        >>> RULES["4.8.0"].source("channel_expired_ms")
        channel_expired_ms = 120000  # ConsumerManager.CHANNEL_EXPIRED_TIMEOUT, H-41

        Raises:
            BadInput: there is no rule of that name; the text names those there are.
        """
        rule = self._named(name)
        if not callable(rule):
            origin = re.search(rf"`{name}`: (.+?)\.(?= `|\s*$)", " ".join((type(self).__doc__ or "").split()))
            return RuleSource(f"{name} = {rule!r}" + (f"  # {origin[1].replace('`', '')}" if origin else ""))
        try:
            lines = textwrap.dedent(inspect.getsource(rule)).rstrip()
        except (OSError, TypeError):
            return RuleSource(f"{name} = {rule!r}  # its lines are not at hand")
        return RuleSource(re.sub(r"  # noqa:[^\n]*", "", lines))


def require_rules(given: object) -> None:
    """Raises `BadInput` for what are no rules."""
    if not isinstance(given, Rules):
        raise BadInput(_('rules is {given}; right is RULES["4.8.0"].replace(...)', given=f"{given!r}"))


class RulesByVersion(dict[str, Rules]):
    """Rules by the version that has them; a version that is not here is a `BadInput` that names those that are."""

    def __missing__(self, version: object) -> Rules:
        raise BadInput(
            _(
                "no rules of version {version}; there are those of {versions}",
                version=f"{version!r}",
                versions=joined(", ", self),
            )
        )


DEFAULT_VERSION: Final = "4.8.0"
RULES = RulesByVersion({DEFAULT_VERSION: Rules(DEFAULT_VERSION)})
"""The rules by version."""
DEFAULT_RULES = RULES[DEFAULT_VERSION]
