"""What the doctor finds: findings with evidence and certainty, what they come to for each group, and their kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Final

from rmqlab.language import N_, _, ngettext

if TYPE_CHECKING:
    from collections.abc import Callable


class Certainty(StrEnum):
    """How sure a finding is. The words are those of an audit."""

    PROVED = N_("proved")
    IMPLIED = N_("implied")
    UNKNOWN = N_("unknown")

    @classmethod
    def of(cls, seen_twice: bool) -> Certainty:
        """What was seen at two looks is proved, what was seen at one implied."""
        return cls.PROVED if seen_twice else cls.IMPLIED


class State(IntEnum):
    """What a group's findings come to; the highest number is the worst."""

    HEALTHY = 0
    NOTE = 1
    """Something to know, which loses nothing."""
    UNKNOWN = 2
    """Not enough is known to call it healthy."""
    AT_RISK = 3
    """Messages will be lost, or stand still, when the next ones come."""
    LOSING = 4
    """Messages were lost between two looks, or no member can get them."""

    def __str__(self) -> str:
        """`at risk`, in words."""
        return _STATES[self]


_STATES: Final = (_("healthy"), _("note"), _("unknown"), _("at risk"), _("losing"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or that cannot be known.

    `kind` is a stable short name such as "different_subscriptions"; `says` is one plain line with the group's own
    numbers; `advice` is the fix in one line; `evidence` is JSON; `rows` are mission rows or the article's ("S-45").
    """

    kind: str
    state: State
    certainty: Certainty
    says: str
    advice: str = ""
    topic: str | None = None
    rows: tuple[str, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "state": str(self.state), "certainty": str(self.certainty), "rows": list(self.rows)}

    def lines(self) -> list[str]:
        """What it says, how certain that is, and what to do, in the reader's language."""
        rows = f" ({', '.join(self.rows)})" if self.rows else ""
        says = f"  {self.says} [{_(self.certainty.value)}]{rows}"
        return [says, *([f"    {self.advice}"] if self.advice else [])]


@dataclass(frozen=True, slots=True)
class GroupDiagnosis:
    """A group and its findings, worst first.

    `lost` are messages that were passed since the look before (at a first look: in the window read) though a member
    asks for them; `raw_lag` are those after the committed offsets, `filtered_lag` those of them that the group will be
    given; `flips_per_minute` is a lower bound; `silent_s` is how long the member that is silent longest has not
    answered. None: not known.
    """

    group: str
    members: int
    findings: tuple[Finding, ...]
    lost: int | None = None
    raw_lag: int | None = None
    filtered_lag: int | None = None
    flips_per_minute: float | None = None
    silent_s: float | None = None

    @property
    def state(self) -> State:
        """The worst of its findings; healthy without one."""
        return max((finding.state for finding in self.findings), default=State.HEALTHY)

    @property
    def disagreeing_topics(self) -> int:
        """Topics of which members ask for different things."""
        return len({finding.topic for finding in self.findings if finding.kind == "different_subscriptions"})

    def as_json(self) -> dict[str, Any]:
        """What one look says of it, as JSON."""
        numbers = {"members": self.members, "lost": self.lost, "filtered_lag": self.filtered_lag}
        findings = [finding.as_json() for finding in self.findings]
        return {"group": self.group, "state": str(self.state), **numbers, "findings": findings}


_CLOCK: Final = _("keep the clocks by NTP; until then, change subscriptions on the machine whose clock is ahead")
FINDING_KINDS: Final = {
    # what members ask for
    "different_subscriptions": (
        "S-07 S-08 S-35 S-77 S-82",
        _("let all members ask for the same; which one is right is not known here"),
    ),
    "different_topics": (
        "S-03 S-09 S-79 S-92 S-93",
        _("let all members subscribe the same topics, or make two groups of them"),
    ),
    "undecided_subscriptions": ("S-08 F-25", _("write one and the same text in all members")),
    "slot_of_nobody": (
        "S-07 S-78 S-86",
        _(
            "find the member that asks for it; if it is gone, restart one member so that its newer "
            "version takes the slot"
        ),
    ),
    "topic_not_held": ("S-65 S-79 S-92", _("see that every member's heartbeat names the topic")),
    "slot_older": ("S-66 H-14", _("see whether the member's heartbeats reach this broker; restart it if not")),
    "unknown_subscriptions": ("S-07 S-94", _("ask the members' own logs or code; compare them with `rmqlab lint`")),
    # expressions
    "property_filter_off": (
        "F-08 F-98 S-69",
        _("set enablePropertyFilter=true at the broker, or use tags; then restart the members"),
    ),
    "refused_expression": ("F-15 F-43 S-67", _("correct the expression; `rmqlab sql92` explains it")),
    "expression_warning": ("F-23 F-27 F-07", _("read what `rmqlab sql92` says of it")),
    "matches_nothing": ("F-06 F-25", _("name a tag, or write a condition that some message fulfils")),
    "wrong_codes": ("F-31 F-50 F-58", _("use a client that sends String.hashCode of each tag")),
    "class_filter": ("F-01 F-99", _("filter by tag or SQL92: 4.8.0 comes without filter servers")),
    "tags_not_seen": ("S-15 F-56", _("compare the spelling with the producer's: upper and lower case count")),
    # members
    "silent_member": ("H-41 H-42 H-47", _("look at its process and threads; restart it if it hangs")),
    "heartbeat_table_only": ("H-41 S-94", ""),
    "group_unknown": ("H-25", _("look again when the brokers answer")),
    "same_client_id": ("S-05 H-47", _("give each process an instanceName of its own, then restart both")),
    "no_members": ("H-42", _("start a member, or delete the group if it is not needed any more")),
    "not_at_every_broker": ("H-21 H-25", _("see whether it can reach that broker: its log names failed beats")),
    "different_models": ("S-04 S-05 S-06 H-37", _("let all members be clustering, or all broadcasting")),
    "different_consume_types": ("S-01 H-07 H-37", _("give pull and push consumers groups of their own")),
    "different_start": ("S-96 H-09 H-37", _("set the same consumeFromWhere in all members")),
    "versions_differ": ("H-24 F-100", _("bring all members to one client version")),
    "clock_differs": ("S-30 S-84 S-86", _CLOCK),
    "clock_or_pulls": ("S-86 S-91", _("look at the member's clock, and at its threads")),
    "version_in_future": ("S-78 S-86", _CLOCK),
    # 5.x: POP, and members that come through a proxy
    "pop_members_differ": (
        "S-07 S-08",
        _(
            "let all members ask for the same, or give each kind a group of its own; what was read past is lost to the "
            "group until its offset is set back"
        ),
    ),
    "mixed_modes": ("S-01 S-04", _("let all members of the group fetch in the same way")),
    "maybe_at_a_proxy": (
        "H-42 S-94",
        _("ask the proxies: rmqlab doctor --proxy HOST:PORT, the remoting address of each (remotingListenPort, 8080)"),
    ),
    "at_a_proxy": ("H-42 S-94", ""),
    "proxy_one_subscription": (
        "S-07 S-94",
        _("compare what the members' own code or settings subscribe, with `rmqlab lint`"),
    ),
    "proxy_subscription_changes": ("S-07 S-08 S-77", _("let all members ask for the same")),
    # queues
    "no_owner": ("S-93 H-47 H-53", _("see what the rebalance of the members says; restart one of them")),
    "two_owners": ("S-05 H-47", _("see whether all members get the same member list from all brokers")),
    "idle_members": ("S-05 S-87", _("give the topic more queues, or run fewer members")),
    "no_committed_offset": ("S-96 H-09", ""),
    "no_readable_queues": ("S-60 S-61", _("create the topic, or make it readable")),
    "pulls_stopped": ("H-47 S-91", _("look at the member's threads; a restart gives its queues away")),
    "consume_disabled": ("S-58", _("set consumeEnable=true for the group (updateSubGroup)")),
    "broadcast_disabled": ("S-64", _("set consumeBroadcastEnable=true for the group, or use clustering")),
    "retries": ("S-95", _("read the members' logs: a listener fails or is late")),
    # what is lost
    "losing_messages": (
        "S-33 S-36 S-51 S-82 S-83 S-90",
        _("make the members ask for the same; what was passed is lost to the group until its offset is set back"),
    ),
    "unknown_losses": ("F-62 F-64", _("read some messages (--look) to see what was dropped")),
    "offset_beyond_end": (
        "S-57",
        _("see whether the store was lost or the topic made anew; then set the offset by resetOffsetByTime"),
    ),
    "offset_below_start": ("S-57", _("let the group catch up sooner, or keep files longer (fileReservedTime)")),
    "passed_and_filtered": ("S-36 S-82", _("let all members ask for the same; set the offset back to read it again")),
    "tool_found_difference": (
        "S-07 S-08",
        _("compare the members' own subscriptions; let all members ask for the same"),
    ),
    "unknown_setting": ("", _("correct the name; 4.8.0 passes it over in silence")),
    "tool_found_blocked": ("H-47", _("look at the member's threads; a restart gives its queues away")),
    # brokers
    "unanswered": ("H-25", _("see whether this server runs and can be reached from here")),
    "no_broker": ("H-25", _("see whether the broker runs, and registers at this name server (namesrvAddr)")),
    "not_readable": ("S-58 S-13", _("set brokerPermission=6")),
    "bitmap_not_stored": ("F-09 F-49", _("set enableConsumeQueueExt=true, or leave both off")),
    "bitmap_never_made": ("F-09 F-49 F-92", _("set enableCalcFilterBitMap=true, or leave both off")),
    "bitmap_without_filter": ("F-08 F-49", _("set enablePropertyFilter=true, or enableCalcFilterBitMap=false")),
    "bloom_refused": ("F-76", _("maxErrorRateOfBloomFilter is 1 to 99, expectConsumerNumUseFilter at least 1")),
    "bloom_not_yet": ("F-46 F-61 F-76", _("restart the broker when it suits: the filter data begin anew")),
    "bloom_crowded": ("F-62 F-76", _("raise expectConsumerNumUseFilter and restart the broker")),
    "retry_filtered": ("F-66 S-70", _("mind it when an expression changes: retries are filtered by the new one")),
    "notify_off": ("F-35 H-35 H-48", _("set notifyConsumerIdsChangedEnable=true")),
    "client_versions": ("H-24 F-100", ""),
    "proxies_not_asked": ("H-42 S-94", _("ask them too: rmqlab doctor --proxy HOST:PORT (remotingListenPort, 8080)")),
}
"""Every kind by its name: the mission's rows that it is about, and what to do."""


def counted(number: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "message"), counted(2, "message")
    ('1 message', '2 messages')
    """
    return _COUNTED[noun](number)


_COUNTED: Final[dict[str, Callable[[int], str]]] = {
    "line": lambda number: ngettext("{count} line", "{count} lines", number),
    "member": lambda number: ngettext("{count} member", "{count} members", number),
    "message": lambda number: ngettext("{count} message", "{count} messages", number),
    "queue": lambda number: ngettext("{count} queue", "{count} queues", number),
    "time": lambda number: ngettext("{count} time", "{count} times", number),
}


def found(
    kind: str,
    state: State,
    certainty: Certainty,
    says: str,
    topic: str | None = None,
    evidence: dict[str, Any] | None = None,
    change: str = "",
) -> Finding:
    """A finding of a kind, with the kind's rows and advice; `change` is the command that changes over."""
    rows, advice = FINDING_KINDS[kind]
    advice = _("{advice}; to change over: {change}", advice=advice, change=change) if change else advice
    return Finding(kind, state, certainty, says, advice, topic, tuple(rows.split()), evidence or {})
