"""One cluster's consumer groups, sick ones and healthy ones, for every driver: real brokers, ours, and the benchmarks.

Members are real Java clients of two versions (`JAVA_4`, `JAVA_5`: one process each), one that is stopped in the midst
(`HUNG`: a process of its own), C++ clients (`CPP`), and a heartbeat that our codec writes (`RAW`).
"""

from __future__ import annotations

from dataclasses import dataclass

JAVA_4, JAVA_5, HUNG, CPP, RAW = "4.8.0", "5.3.3", "hung", "cpp", "raw"
ORDERS, PAYMENTS, SINGLE = "Orders", "Payments", "Single"
TOPICS = {ORDERS: 4, PAYMENTS: 4, SINGLE: 1}
TAGS = ("tagA", "tagB", "tagC")
"""A producer's messages have these tags in turn, and the property a = 0 to 9."""
PERIOD_MS = 40
BROKER = "broker-a"
FUTURE_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group: `subscribe` is (type, expression) by topic.

    `queues` are those of `ORDERS` that `AllocateMessageQueueByConfig` gives it; None: averagely. `ahead_ms` is how far
    its subscription's version is in the future.
    """

    who: str
    client: str
    subscribe: dict[str, tuple[str, str]]
    kind: str = "push"
    mode: str = "clustering"
    queues: tuple[int, ...] | None = None
    ahead_ms: int = 0

    def start_line(self) -> str:
        """What `DoctorScene` reads; without the group."""
        held = "-" if self.queues is None else ",".join(f"{ORDERS}/{BROKER}/{queue}" for queue in self.queues)
        wanted = [word for topic, asked in self.subscribe.items() for word in (topic, *asked)]
        return "\t".join([self.kind, self.mode, held, *wanted])


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the scene, and the kinds of findings that must be among its own; none: it is healthy.

    A healthy group has no finding above a note. `maybe` are kinds that it may have besides.
    """

    name: str
    members: tuple[Member, ...]
    kinds: frozenset[str] = frozenset()

    @property
    def healthy(self) -> bool:
        """Whether nothing may be said against it."""
        return not self.kinds


def _tag(expression: str, topic: str = ORDERS) -> dict[str, tuple[str, str]]:
    return {topic: ("TAG", expression)}


def _sql(expression: str) -> dict[str, tuple[str, str]]:
    return {ORDERS: ("SQL92", expression)}


def _group(name: str, *members: Member, kinds: tuple[str, ...] = ()) -> Group:
    return Group(name, members, frozenset(kinds))


GROUPS = (
    _group(
        "Article",
        Member("article-a", JAVA_4, _tag("tagA")),
        Member("article-b", JAVA_4, _tag("tagB")),
        kinds=("different_subscriptions",),
    ),
    _group(
        "Wider",
        Member("wider-all", JAVA_5, _tag("*")),
        Member("wider-a", JAVA_4, _tag("tagA")),
        kinds=("different_subscriptions",),
    ),
    _group(
        "SqlDiffers",
        Member("sql-high", JAVA_5, _sql("a > 5")),
        Member("sql-low", JAVA_5, _sql("a < 5")),
        kinds=("different_subscriptions",),
    ),
    _group(
        "Topics",
        Member("topics-orders", JAVA_4, _tag("*")),
        Member("topics-payments", JAVA_5, _tag("*", PAYMENTS)),
        kinds=("different_topics",),
    ),
    _group(
        "Modes",
        Member("modes-every", JAVA_4, _tag("tagA"), mode="broadcasting"),
        Member("modes-share", JAVA_5, _tag("tagA")),
        kinds=("different_models",),
    ),
    _group(
        "Future",
        Member("future-raw", RAW, _tag("tagA"), ahead_ms=FUTURE_MS),
        Member("future-java", JAVA_5, _tag("tagB")),
        kinds=("version_in_future",),
    ),
    _group(
        "Orphan",
        Member("orphan-01", JAVA_4, _tag("*"), queues=(0, 1)),
        Member("orphan-2", JAVA_5, _tag("*"), queues=(2,)),
        kinds=("no_owner",),
    ),
    _group(
        "TwoOwners",
        Member("owner-01", JAVA_4, _tag("*"), queues=(0, 1)),
        Member("owner-123", JAVA_5, _tag("*"), queues=(1, 2, 3)),
        kinds=("two_owners",),
    ),
    _group("Nothing", Member("nothing", JAVA_5, _sql("a > 3 AND a < 2")), kinds=("matches_nothing",)),
    _group(
        "Hung",
        Member("hung-stopped", HUNG, _tag("tagA")),
        Member("hung-alive", JAVA_4, _tag("tagA")),
        kinds=("silent_member",),
    ),
    _group(
        "CppTags",
        Member("cpp-a", CPP, _tag("tagA")),
        Member("cpp-java-b", JAVA_5, _tag("tagB")),
        kinds=("different_subscriptions",),
    ),
    _group(
        "Crowded",
        Member("crowded-1", JAVA_4, _tag("*", SINGLE)),
        Member("crowded-2", JAVA_5, _tag("*", SINGLE)),
        kinds=("idle_members",),
    ),
    _group(
        "SameTags",
        Member("same-ab", JAVA_4, _tag("tagA || tagB")),
        Member("same-ba", JAVA_4, _tag("tagB||tagA")),
    ),
    _group(
        "SameSql",
        Member("spelled-1", JAVA_5, _sql("a > 3 AND a <= 7")),
        Member("spelled-2", JAVA_5, _sql("(7 >= a)  and  3 < a")),
    ),
    _group(
        "OneTag",
        Member("one-1", JAVA_4, _tag("tagC")),
        Member("one-2", JAVA_5, _tag("tagC")),
    ),
    _group("Lite4", Member("lite-4", JAVA_4, _tag("tagA"), kind="lite")),
    _group(
        "Lite5",
        Member("lite-5-1", JAVA_5, _tag("tagB"), kind="lite"),
        Member("lite-5-2", JAVA_5, _tag("tagB"), kind="lite"),
    ),
    _group(
        "Broadcast",
        Member("every-1", JAVA_5, _tag("tagA"), mode="broadcasting"),
        Member("every-2", JAVA_5, _tag("tagA"), mode="broadcasting"),
    ),
    _group(
        "TwoTopics",
        Member("both-1", JAVA_4, {**_tag("*"), **_tag("tagB", PAYMENTS)}),
        Member("both-2", JAVA_4, {**_tag("*"), **_tag("tagB", PAYMENTS)}),
    ),
)
CPP_ALONE = _group("CppAlone", Member("cpp-alone", CPP, _tag("tagB")))
"""One C++ client with nothing wrong: what it says of itself may be little."""
SQL_GROUPS = frozenset({"SqlDiffers", "SameSql", "Nothing"})
"""Those that are refused when the broker's `enablePropertyFilter` is off."""


def groups_at(servers: str) -> tuple[Group, ...]:
    """The groups for servers of a version.

    A 4.8.0 broker refuses the pulls of a 5.x lite consumer (code 361), so that one stands still there.
    """
    return tuple(one for one in (*GROUPS, CPP_ALONE) if servers != "4.8.0" or one.name != "Lite5")


def group(name: str) -> Group:
    """The group of that name."""
    return next(one for one in (*GROUPS, CPP_ALONE) if one.name == name)
