"""Facts: the events of a run with the time and the source of each, in order; the one stream that all else is read from.

Broker and clients tell theirs through an observer, the run recorder adds those that recordings have. Fates, pictures,
checks and tables are read from facts, never from the inside of broker or client.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from rmqlab.events import Event
from rmqlab.language import _, joined
from rmqlab.protocol.codes import ResponseCode
from rmqlab.run.recorded_events import Consumed, Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


BROKER = "broker"
SCENARIO = "scenario"
STAGES = {
    "tags_code": _("the tags code of its queue entry"),
    "bitmap": _("the bit map"),
    "sql": _("the SQL92 condition"),
}


@dataclass(slots=True)
class Fact:
    """An event, ``t`` ms since the run began; ``source`` is "broker", a client's name, or "scenario"."""

    t: float
    source: str
    event: Event

    @property
    def kind(self) -> str:
        """What kind of event it is."""
        return self.event.kind

    def __getitem__(self, name: str) -> Any:
        """A field of the event."""
        return getattr(self.event, name)

    def get(self, name: str, default: object = None) -> Any:
        """A field of the event, `default` where it has none of that name."""
        return getattr(self.event, name, default)


class FactLog(list[Fact]):
    """All facts of one run, in order."""

    def of(self, *kinds: str) -> Iterator[Fact]:
        """The facts of the given kinds, in order."""
        return (fact for fact in self if fact.event.kind in kinds)


def ms_text(ms: float) -> str:
    """A time in ms for people: from a million on without its fraction."""
    return f"{ms:.0f}" if abs(ms) >= 1e6 else f"{ms:g}"


def fact_in_words(fact: Fact, told: Callable[[int], object] = int) -> str:
    """A fact as a sentence: who did what. `told` says how the version of a subscription (epoch ms) is written.

    >>> from rmqlab.events import Rebalance
    >>> fact_in_words(Fact(0, "A", Rebalance("A", "G", "T", [0, 1])))
    'A owns queues 0, 1 of T'
    """
    f, who = fact, fact.source
    if isinstance(fact.event, Recorded) and not isinstance(fact.event, Consumed):
        return f"{fact.kind} {json.dumps(fact.event.columns())}"
    place = _("{value} queue {value2}", value=f.get("topic"), value2=f.get("queue"))
    client, group = f.get("client"), f.get("group")
    match (who == BROKER, fact.kind):
        case True, "heartbeat":
            asked = joined(
                ", ", (f"{one.topic} {one.expression_type} {one.sub_string}" for _, one in f["subscriptions"])
            )
            beat = _("the broker takes a heartbeat of {client}", client=client)
            return (
                _("the broker takes a heartbeat of {client} with {asked}", client=client, asked=asked)
                if asked
                else beat
            )
        case True, "subscription":
            new = f["new"]
            text = _("nothing")
            if new is not None:
                text = _(
                    "{expression_type} {expression}, version {sub_version}",
                    expression_type=new.expression_type,
                    expression=new.sub_string,
                    sub_version=told(new.sub_version),
                )
            return _(
                "the broker now holds for group {group}, topic {topic}: {text} (from {client})",
                group=group,
                topic=f["topic"],
                text=text,
                client=client,
            )
        case True, "register":
            return _("the broker registers {client} of group {group}", client=client, group=group)
        case True, "unregister":
            return _("the broker takes leave of {client} of group {group}", client=client, group=group)
        case True, "expired":
            return _("the broker forgets {client} of group {group}", client=client, group=group)
        case True, "notify":
            return _("the broker tells {client} that the members of {group} changed", client=client, group=group)
        case True, "pull":
            answer = (
                _("holds it")
                if f["held"]
                else _("answers {name}, {count} messages", name=ResponseCode(f["code"]).name, count=f["count"])
            )
            return _(
                "the broker gets {client}'s pull of {place} from offset {offset} and {answer}",
                client=client,
                place=place,
                offset=f["offset"],
                answer=answer,
            )
        case True, "wake":
            return _("the broker wakes a held pull of {place}: {why}", place=place, why=f["why"])
        case True, "filtered":
            what = STAGES[f["stage"]]
            return _(
                "the broker drops offset {offset} of {place} for {client}: {what} against {subscription}",
                offset=f["offset"],
                place=place,
                client=client,
                what=what,
                subscription=f["subscription"],
            )
        case True, "dead_letter":
            return _(
                "the broker makes {message_id} a dead letter of group {group}", message_id=f["message_id"], group=group
            )
        case True, "commit":
            return _(
                "{client} commits offset {offset} of {place} for group {group}",
                client=client,
                offset=f["offset"],
                place=place,
                group=group,
            )
        case True, "registration":
            return _("the broker registers with the name server")
        case False, "pull_failed":
            return _(
                "{who}'s pull of {place} from offset {offset} fails: {error}",
                who=who,
                place=place,
                offset=f["offset"],
                error=f["error"],
            )
        case False, "offset_persist":
            return _(
                "{who} sends its offset {offset} of {place} to the broker", who=who, offset=f["offset"], place=place
            )
        case False, "heartbeat":
            return _("{who} sends a heartbeat", who=who)
        case False, "restamp":
            return _(
                "{who} stamps its subscription of {topic} anew: version {version}",
                who=who,
                topic=f["topic"],
                version=told(f["version"]),
            )
        case False, "rebalance":
            return _(
                "{who} owns queues {queues} of {topic}",
                who=who,
                queues=joined(", ", f["queues"]) or _("none"),
                topic=f["topic"],
            )
        case False, "pull_result":
            return _(
                "{who} gets {status} for {place}, {count} messages, next offset {next}",
                who=who,
                status=f["status"],
                place=place,
                count=f["count"],
                next=f["next"],
            )
        case False, "client_filtered":
            return _(
                "{who} drops offset {offset} of {place} itself: tag {tag}, but it asked {subscription}",
                who=who,
                offset=f["offset"],
                place=place,
                tag=f["tag"],
                subscription=f["subscription"],
            )
        case False, "correct_offset":
            return _(
                "{who} moves its offset of {place} to {offset} although it consumed nothing",
                who=who,
                place=place,
                offset=f["offset"],
            )
        case False, "consume":
            return (
                _(
                    "{who}'s listener takes {body} ({place}, offset {offset})",
                    who=who,
                    body=f["body"],
                    place=place,
                    offset=f["offset"],
                )
                if f["success"]
                else _(
                    "{who}'s listener refuses {body} ({place}, offset {offset})",
                    who=who,
                    body=f["body"],
                    place=place,
                    offset=f["offset"],
                )
            )
        case _:
            return f"{who}: {fact.kind} {', '.join(f'{name} {value}' for name, value in asdict(fact.event).items())}"
