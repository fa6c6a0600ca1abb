"""Evidence: facts in words, and the way of one message through broker and client.

Checks print these lines, notebooks show them as a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import asdict

from rmqlab.errors import BadInput
from rmqlab.lab.facts import BROKER
from rmqlab.lab.run_view import RunView, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rmqlab.lab.facts import Fact
    from rmqlab.lab.fates import MessageFate


class Line(NamedTuple):
    """One piece of evidence: ms since the first start, where it happened, what happened."""

    t: float
    where: str
    text: str

    def __str__(self) -> str:
        """As one line of text."""
        return f"{seconds(self.t):>9}  {self.where:<8}  {self.text}"


def line(fact: Fact, reading: RunView) -> Line:
    """A fact in words."""
    return Line(fact.t - reading.zero, fact.source, _words(fact, reading))


def lines(facts: Sequence[Fact], reading: RunView) -> list[Line]:
    """Several facts in words."""
    return [line(fact, reading) for fact in facts]


def way_of(reading: RunView, body: str) -> list[Line]:
    """The way of the message with this body: stored, pulled, dropped or delivered, passed by a committed offset.

    Raises:
        BadInput: no such message; the text names those that were sent.
    """
    fate = next((one for one in reading.fates if one.body == body), None)
    if fate is None:
        bodies = ", ".join(one.body for one in reading.fates)
        raise BadInput(f"no message {body!r} was sent in this run; sent: {bodies or 'none'}")
    met = sorted(_met(reading, fate), key=lambda one: one.t)
    sent = next(event for event in reading.run.events if event["ev"] == "sent" and event["body"] == body)
    # The producer knows a round trip later; what the broker does with a message it does after storing it.
    stored_at = min([sent["t"] - reading.zero, *(one.t for one in met)])
    text = f"stores {body} ({fate.tag or 'no tag'}): queue {fate.queue}, offset {fate.offset}"
    return [Line(stored_at, BROKER, text), *met]


def _met(reading: RunView, fate: MessageFate) -> Iterator[Line]:
    """Everything that names the message's queue and offset, and the first commit behind it."""
    for fact in reading.facts():
        if fact.get("queue") != fate.queue:
            continue
        match fact.kind:
            case "filtered" | "client_filtered" | "consume" if fact["offset"] == fate.offset:
                yield line(fact, reading)
            case "pull" if fact["next"] is not None and fact["offset"] <= fate.offset < fact["next"]:
                yield line(fact, reading)
    passed = (fact for fact in reading.facts("commit") if fact["queue"] == fate.queue and fact["offset"] > fate.offset)
    first = next(passed, None)
    if first is not None:
        yield line(first, reading)


def _words(fact: Fact, reading: RunView) -> str:
    f = fact
    match fact.kind:
        case "subscription":
            new, old = f["new"], f["old"]
            if new is None:
                return f"{f['client']}'s heartbeat no longer names the topic: subscription {old.sub_string} removed"
            now = f"{new.sub_string} @ {seconds(reading.version(new.sub_version))}"
            if not old:
                return f"{f['client']} sets the group's subscription to {now}"
            before = f"{old.sub_string} @ {seconds(reading.version(old.sub_version))}"
            return f"{f['client']} sets the group's subscription to {now} in place of {before}"
        case "notify":
            return f"tells {f['client']} that the group's members changed"
        case "pull":
            asked = f"{f['client']} pulls queue {f['queue']} from offset {f['offset']}"
            if f["status"] is None:
                return f"{asked}: refused with code {f['code']}"
            held = "held until a message comes" if f["held"] else f"{_messages(f['count'])}, go on from {f['next']}"
            return f"{asked}: {f['status']} (code {f['code']}); {held}"
        case "filtered":
            version = seconds(reading.version(f["version"]))
            subscription = f"{f['subscription']} @ {version}"
            return f"drops queue {f['queue']} offset {f['offset']}: not wanted by {subscription} ({f['client']}'s pull)"
        case "client_filtered":
            tag, own = f["tag"], f["subscription"]
            return f"drops queue {f['queue']} offset {f['offset']} itself: {tag} is not among its own tags ({own})"
        case "consume":
            return f"its listener gets {f['body']} ({f['tag']})"
        case "pull_result":
            return f"gets {f['status']} for queue {f['queue']}: {_messages(f['count'])}, goes on from {f['next']}"
        case "correct_offset":
            return f"moves its offset of queue {f['queue']} to {f['offset']} although it consumed nothing"
        case "commit":
            return f"{f['client']} commits offset {f['offset']} of queue {f['queue']}"
        case "rebalance":
            return f"owns queues {', '.join(map(str, f['queues'])) or 'none'} of {f['topic']}"
        case "restamp":
            old, new = (seconds(reading.version(f[name])) for name in ("old", "version"))
            return f"stamps its subscription: version {old} becomes {new}"
        case _:
            return f"{fact.kind} {asdict(fact.event)}"


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
