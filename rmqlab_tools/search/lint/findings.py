"""What lint found: wishes of a topic, differences between them, what is lost by them; as JSON and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rmqlab.language import N_, _
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import Fate
from rmqlab.scenario.scenario import POPPING
from rmqlab_tools.search.consistency import Apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class LintVerdict(StrEnum):
    """What can be said of a group or a topic; the worst of its parts."""

    CONSISTENT = "consistent"
    UNDECIDED = N_("not decided")
    INCONSISTENT = N_("inconsistent")

    @classmethod
    def worst(cls, verdicts: Iterable[LintVerdict]) -> LintVerdict:
        """The worst of some verdicts; of none that all is consistent."""
        return max(verdicts, key=list(cls).index, default=cls.CONSISTENT)


Properties = dict[str, str]


@dataclass(frozen=True, slots=True)
class Wish:
    """One way to subscribe a topic, and who does so; `data` None: these members do not subscribe it at all."""

    data: SubscriptionData | None
    members: tuple[str, ...]

    def __str__(self) -> str:
        """Type and text."""
        return _("nothing") if self.data is None else f"{self.data.expression_type or 'TAG'} {self.data.sub_string!r}"

    def as_json(self) -> dict[str, Any]:
        """Type, text and members."""
        subscription = None if self.data is None else {"type": self.data.expression_type, "expr": self.data.sub_string}
        return {"subscription": subscription, "members": list(self.members)}


@dataclass(frozen=True, slots=True)
class WishDifference:
    """Two wishes compared. `apart` None: one of them is a class filter, which cannot be looked into.

    `popped`: who does not subscribe a topic that is popped is given no queue of it, so nothing is amiss.
    """

    first: Wish
    second: Wish
    apart: Apart | None
    popped: bool = False

    @property
    def verdict(self) -> LintVerdict:
        """Same, different, or not known."""
        if self.first.data is None or self.second.data is None:
            return LintVerdict.CONSISTENT if self.popped else LintVerdict.INCONSISTENT
        if self.apart is None:
            return LintVerdict.UNDECIDED
        if self.apart.only_first is not None or self.apart.only_second is not None:
            return LintVerdict.INCONSISTENT
        return LintVerdict.CONSISTENT if self.apart.proven else LintVerdict.UNDECIDED

    def as_json(self) -> dict[str, Any]:
        """Both wishes, the messages between them, and what was tried."""
        apart = self.apart
        return {
            "first": self.first.as_json(),
            "second": self.second.as_json(),
            "verdict": str(self.verdict),
            "only_first": None if apart is None else _message(apart.only_first),
            "only_second": None if apart is None else _message(apart.only_second),
            "proven": apart is not None and apart.proven,
            "tried": 0 if apart is None else apart.tried,
        }


@dataclass(frozen=True, slots=True)
class Loss:
    """What becomes of a message while the slot is `holder`'s: by owner of its queue, and in which share of queues.

    `lost`: the share of the queues (in a broadcasting group: of the members that ask for it) where it is lost;
    `stuck`: where it waits, because no client pulls. `fates`: fate by owner. `unasked`: owners that get it although
    they did not ask for it.
    """

    holder: str
    lost: Fraction
    stuck: Fraction
    fates: dict[str, Fate]
    unasked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirstInLine:
    """What becomes of a message when it comes while `first` stands first in the line of pops that wait."""

    first: str
    fate: Fate


@dataclass(frozen=True, slots=True)
class ExampleLoss:
    """A message on which members differ: who asks for it, and what becomes of it by who holds the slot.

    `losses`: one for each wish that may be in the slot; the first for the highest version,
    of equal ones the first heard; where none is given, the last heard. `waiters`: where the members pop, by who stands
    first in line. Where some pull and some pop, there is neither: what becomes of it is not worked out.
    """

    message: Properties
    asked: tuple[str, ...]
    losses: tuple[Loss, ...]
    waiters: tuple[FirstInLine, ...] = ()

    @property
    def expected(self) -> Fraction | None:
        """The share lost while the slot is that of the first loss; None where no slot filters."""
        return self.losses[0].lost if self.losses else None

    def as_json(self) -> dict[str, Any]:
        """The message, who asks for it, and the losses."""
        return {
            "message": _message(self.message),
            "asked": list(self.asked),
            "losses": [
                {
                    "slot": loss.holder,
                    "lost": float(loss.lost),
                    "lost_of": [loss.lost.numerator, loss.lost.denominator],
                    "stuck": float(loss.stuck),
                    "fates": {client: str(fate) for client, fate in loss.fates.items()},
                    "unasked": list(loss.unasked),
                }
                for loss in self.losses
            ],
            **(
                {"waiters": [{"first": waiter.first, "fate": str(waiter.fate)} for waiter in self.waiters]}
                if self.waiters
                else {}
            ),
        }


@dataclass(frozen=True, slots=True)
class TopicLint:
    """One topic: the different texts (the first member's first), how they differ, and what is lost by it."""

    topic: str
    wishes: tuple[Wish, ...]
    differences: tuple[WishDifference, ...]
    witnesses: tuple[ExampleLoss, ...]
    queues: int | None
    left_out: int = 0
    """Different subscriptions that were not compared: nothing is known of them."""
    kinds: tuple[str, ...] = ("push",)
    """How the members that subscribe it fetch: push, lite, pop, grpc, simple."""

    @property
    def pops(self) -> bool:
        """Whether all members that subscribe it pop: then no slot of a broker filters what they get."""
        return POPPING.issuperset(self.kinds)

    @property
    def verdict(self) -> LintVerdict:
        """The worst of its differences; with a subscription that was not compared it is never good."""
        unknown = [LintVerdict.UNDECIDED] if self.left_out else []
        return LintVerdict.worst([*(difference.verdict for difference in self.differences), *unknown])

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "topic": self.topic,
            "verdict": str(self.verdict),
            "queues": self.queues,
            "wishes": [wish.as_json() for wish in self.wishes],
            "differences": [difference.as_json() for difference in self.differences],
            "witnesses": [witness.as_json() for witness in self.witnesses],
            **({"left_out": self.left_out} if self.left_out else {}),
        }


@dataclass(frozen=True, slots=True)
class SharedId:
    """A client id that several processes have, and by topic the queues that they all read, and those without an owner.

    The broker lists an id for each of its connections (4.8.0 `ConsumerGroupInfo.getAllClientId`); who works out its
    share looks for its own id and takes the first place of it (`AllocateMessageQueueAveragely`). So the processes of
    one id read the same queues, and the shares of the other places are read by no member. `topics` has only those whose
    number of queues is known.
    """

    client_id: str
    processes: int
    members: int
    topics: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]

    def as_json(self) -> dict[str, Any]:
        """The id, how many have it, and queues by topic."""
        topics = {topic: {"shared": list(both), "unowned": list(free)} for topic, (both, free) in self.topics.items()}
        return {"client_id": self.client_id, "processes": self.processes, "topics": topics}

    def lines(self) -> Iterator[str]:
        """What it means for the group's queues."""
        values = {"id": self.client_id, "processes": self.processes, "members": self.members}
        yield _(
            "{processes} of {members} members have the client id {id}: the broker lists it {processes} times", **values
        )
        yield _("each of them takes the first place of its id, so they read the same queues, and one share is nobody's")
        for topic, (both, free) in self.topics.items():
            shared, unowned = (", ".join(map(str, queues)) or "-" for queues in (both, free))
            yield _(
                "{topic}: read by {processes} members at once: queues {shared}; read by nobody: queues {unowned}",
                topic=topic, shared=shared, unowned=unowned, **values,
            )  # fmt: skip
        yield _(
            "give each process a client id of its own: another instanceName, or an address of its own in a container"
        )


@dataclass(frozen=True, slots=True, repr=False)
class GroupLint:
    """One group. `notes`: what else differs or will surprise. `tool`: what the admin tool would say, later on.

    `shared_ids`: client ids that several members have; then the group is inconsistent, whatever they subscribe.
    `missing`: what is not known of the group, where evidence is only a part of it.
    """

    group: str
    members: tuple[str, ...]
    topics: tuple[TopicLint, ...]
    notes: tuple[str, ...] = field(default=())
    tool: bool = True
    shared_ids: tuple[SharedId, ...] = ()
    missing: tuple[str, ...] = ()
    rules: Rules = DEFAULT_RULES
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Members by how they fetch: push, lite, pop, grpc, simple."""

    def __repr__(self) -> str:
        """What the verb prints."""
        from rmqlab_tools.search.lint.lint_text import lint_lines  # it knows this class

        return "\n".join(map(str, lint_lines(self)))

    @property
    def verdict(self) -> LintVerdict:
        """The worst of its topics; members with one client id are as bad, and with a part missing it is never good."""
        if self.shared_ids:
            return LintVerdict.INCONSISTENT
        worst = LintVerdict.worst(topic.verdict for topic in self.topics)
        return LintVerdict.worst([worst, LintVerdict.UNDECIDED]) if self.missing else worst

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "group": self.group,
            "verdict": str(self.verdict),
            "members": list(self.members),
            "topics": [topic.as_json() for topic in self.topics],
            "notes": list(self.notes),
            "admin_tool_says_same": self.tool,
            **({"shared_ids": [shared.as_json() for shared in self.shared_ids]} if self.shared_ids else {}),
            **({"missing": list(self.missing)} if self.missing else {}),
            **(
                {"kinds": {kind: list(clients) for kind, clients in self.kinds.items()}}
                if POPPING & {*self.kinds}
                else {}
            ),
        }


def _message(properties: Properties | None) -> dict[str, Any] | None:
    """A message as its tag and its other properties."""
    if properties is None:
        return None
    others = {name: value for name, value in properties.items() if name != PROPERTY_TAGS}
    return {"tag": properties.get(PROPERTY_TAGS), "properties": others}
