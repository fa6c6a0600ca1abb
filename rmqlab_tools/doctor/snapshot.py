"""What one look at a live cluster saw: plain data, nothing judged. Times are epoch ms, sizes bytes.

None means "not known" everywhere: no answer came, or the version of the other side does not tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import ConsumerConnection, ConsumerRunningInfo, TopicOffset
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.protocol.topic_config import SubscriptionGroupConfig


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """What is to be looked at, and how hard.

    `groups` and `topics` are names, none means all but the system's. `proxies` are the remoting addresses of proxies,
    "host:port", that are asked for the members they have (203). `messages` are read so many a queue (none unless
    asked for). A request may take `timeout_ms`, a member's answer `member_timeout_ms`, the whole look `limit_ms`.

    Args:
        window: queue entries read on each side of an offset
        rate: requests a second to one server, at most
    """

    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    messages: int = 0
    window: int = 64
    rate: int = 500
    timeout_ms: int = 3_000
    member_timeout_ms: int = 2_000
    limit_ms: int = 120_000
    proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense."""
        for name in ("rate", "timeout_ms", "member_timeout_ms", "limit_ms"):
            if getattr(self, name) < 1:
                raise BadInput(_("{name} is {getattr}: it must be 1 or more", name=name, getattr=getattr(self, name)))
        if self.messages < 0 or self.window < 1:
            raise BadInput(
                _(
                    "messages is {messages} and window {window}: 0 and 1 are the lowest",
                    messages=self.messages,
                    window=self.window,
                )
            )


class Unanswered(NamedTuple):
    """A question that got no answer: to whom, the request code, of which group or topic ("" of none), and why.

    Code 0: the server was given up after that, and nothing more was asked of it; without an address, the whole look
    came to its time limit. What is missing then is not known.
    """

    addr: str
    code: int
    about: str
    reason: str


@dataclass(slots=True)
class Cost:
    """What a look asked of one server."""

    requests: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BrokerSeen:
    """A master: its configuration (request 26) and runtime figures (28), None when it did not tell them.

    `request_modes`: by topic and group how messages are fetched, PULL or POP, where an administrator has set it (402);
    None: not known, as of 4.8.0, which knows no POP. `proxies`: addresses of the proxies in CLUSTER mode that are
    connected to it, by the table (203) of the group with which they let each other know their clients.
    """

    name: str
    cluster: str
    addr: str
    version: str | None = None
    settings: Mapping[str, str] | None = None
    runtime: Mapping[str, str] | None = None
    request_modes: Mapping[str, Mapping[str, str]] | None = None
    proxies: frozenset[str] = frozenset()

    @property
    def knows_pop(self) -> bool:
        """Whether it is of a version with POP and proxies: 5.x has a setting for the usual mode, 4.8.0 has none."""
        return USUAL_MODE in (self.settings or {})

    def request_mode(self, topic: str, group: str) -> str | None:
        """How a group's members without a rebalance of their own fetch a topic: PULL or POP; None: not known."""
        if self.request_modes is None:
            return None
        return self.request_modes.get(topic, {}).get(group) or (self.settings or {}).get(USUAL_MODE)

    @property
    def clock(self) -> int | None:
        """Its own clock when it gave its figures, epoch ms, to the second: when it began, and how long it runs.

        4.8.0 `StoreStatsService.getRuntimeInfo`. None when it did not tell.
        """
        figures = self.runtime or {}
        began, parts = figures.get("bootTimestamp", ""), re.findall(r"\d+", figures.get("runtime", "").replace(",", ""))
        if not began.isdecimal() or len(parts) != len(_UNITS_MS):
            return None
        return int(began) + sum(int(part) * unit for part, unit in zip(parts, _UNITS_MS, strict=True))


USUAL_MODE: Final = "defaultMessageRequestMode"
"""The broker's setting for groups whose mode nobody has set (5.x `BrokerConfig`)."""
_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1_000)  # of "[ 0 days, 1 hours, 2 minutes, 3 seconds ]"


@dataclass(frozen=True, slots=True)
class MemberSeen:
    """A member of a group: what the brokers' tables say (203), and what it says itself (307).

    `running` is None when it did not answer; `unanswered` then says why, in words. `brokers` are the names of those
    that list it. `popped` are the queues that it pops as it says (queue -1: all of the topic); a client of 4.8.0 says
    none. `asked_at` and `answered_at` are this machine's clock around question 307.
    """

    client_id: str
    client_addr: str
    language: str
    version: str
    brokers: frozenset[str]
    running: ConsumerRunningInfo | None = None
    unanswered: str | None = None
    asked_at: int = 0
    answered_at: int = 0
    popped: frozenset[MessageQueue] = frozenset()

    @property
    def subscriptions(self) -> dict[str, SubscriptionData] | None:
        """What it asks for by topic, as it says itself."""
        if self.running is None:
            return None
        return {str(data.topic): data for data in self.running.subscription_set}

    @property
    def queues(self) -> frozenset[MessageQueue] | None:
        """The queues it holds, as it says itself; queues that it has dropped are left out."""
        if self.running is None:
            return None
        return frozenset(queue for queue, info in self.running.mq_table.items() if not info.droped)


@dataclass(frozen=True, slots=True)
class QueueSeen:
    """How far a group is in a queue (208): `committed` is -1 without a commit; `last_timestamp` 0 when unknown."""

    committed: int
    max_offset: int
    last_timestamp: int = 0

    @property
    def raw_lag(self) -> int:
        """Messages after the committed offset, whoever wants them."""
        return self.max_offset - max(self.committed, 0)


@dataclass(slots=True)
class PassedEntries:
    """The consume queue entries `start` (first) to `end` (not included) of a queue that a group's offset passed.

    After a look before: those passed since then. At a first look: the last ones below the committed offset.

    `codes` counts their tag codes as far as they were read; `read` is how many were. `slot` is what the broker held for
    the group and topic when it was asked, None when the group was not online. `kept` counts by tag code those that the
    broker's first filter stage passes by that slot: for tags that is its decision, for SQL92 it is an upper bound.
    """

    start: int
    end: int
    codes: Counter[int] = field(default_factory=Counter)
    kept: Counter[int] = field(default_factory=Counter)
    slot: SubscriptionData | None = None

    @property
    def read(self) -> int:
        """How many entries were read."""
        return self.codes.total()


@dataclass(slots=True)
class GroupSeen:
    """A consumer group. `slots` has each broker's own table (203) by the broker's name.

    `at_proxies` has each proxy's table by its address: the members that come through it, and one subscription a topic
    for all of them. `pop_retries` are the topics of which a broker has a retry topic of the group, as POP makes them.
    `configs` has the group's settings (201) by the broker's name; a broker that is missing does not know the group.
    `offsets` has the queues that a broker knows a position of (208), those of the retry topic too; `dead_letters` the
    lowest and next offset of each queue of the group's %DLQ% topic, where there is one (202). `passed` is what the
    committed offset went past since the look before; `behind` what lies between it and the end (read up to a limit).
    `messages` are those read because the user asked for them: queue, offset, tags, properties.
    """

    name: str
    slots: dict[str, ConsumerConnection] = field(default_factory=dict)
    at_proxies: dict[str, ConsumerConnection] = field(default_factory=dict)
    pop_retries: set[str] = field(default_factory=set)
    members: dict[str, MemberSeen] = field(default_factory=dict)
    configs: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    offsets: dict[MessageQueue, QueueSeen] = field(default_factory=dict)
    dead_letters: dict[MessageQueue, TopicOffset] = field(default_factory=dict)
    passed: dict[MessageQueue, PassedEntries] = field(default_factory=dict)
    behind: dict[MessageQueue, PassedEntries] = field(default_factory=dict)
    messages: list[MessageSeen] = field(default_factory=list)

    @property
    def proxied(self) -> list[str]:
        """The client ids that proxies list and no broker does."""
        listed = {connection.client_id for table in self.at_proxies.values() for connection in table.connection_set}
        return sorted(listed - self.members.keys())


class MessageSeen(NamedTuple):
    """A message that was read for `--look`: where it lies, its id and its properties (tags among them)."""

    queue: MessageQueue
    offset: int
    msg_id: str
    properties: Mapping[str, str]


@dataclass(slots=True)
class ClusterSnapshot:
    """One look: begun at `at`, done after `took_ms`. `since` is when the look before it began, None at the first.

    `topics` has the readable queues of each topic that groups use. `proxies` are the addresses that were asked.

    >>> Look("127.0.0.1:9876", at=0).groups
    {}
    """

    namesrv: str
    at: int
    took_ms: int = 0
    since: int | None = None
    brokers: dict[str, BrokerSeen] = field(default_factory=dict)
    topics: dict[str, list[MessageQueue]] = field(default_factory=dict)
    proxies: list[str] = field(default_factory=list)
    groups: dict[str, GroupSeen] = field(default_factory=dict)
    unanswered: list[Unanswered] = field(default_factory=list)
    cost: dict[str, Cost] = field(default_factory=dict)

    @property
    def answering_proxies(self) -> list[str]:
        """The proxies that answered every question."""
        silent = {question.addr for question in self.unanswered}
        return [address for address in self.proxies if not silent.intersection({address, ""})]
