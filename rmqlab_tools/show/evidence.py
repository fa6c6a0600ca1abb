"""Evidence: facts in words, each with its time, and the way of one message through broker and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.events import ClientFiltered, Commit, Event, Filtered, Pull
from rmqlab.language import _, joined
from rmqlab.run.recorded_events import Consumed
from rmqlab.run.run_view import RunView, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.run.facts import Fact
    from rmqlab.run.fates import MessageFate


class Line(NamedTuple):
    """One piece of evidence: ms since the topics were ready, and what happened."""

    t: float
    text: str

    def __str__(self) -> str:
        """As one line of text."""
        return f"{seconds(self.t):>9}  {self.text}"


def line(fact: Fact[Event], reading: RunView) -> Line:
    """A fact in words; versions are told by the same clock as times."""
    return Line(fact.t - reading.zero, fact.words(lambda version: seconds(reading.version(version))))


def way_of(reading: RunView, body: str) -> list[Line]:
    """The way of the message with this body: stored, pulled, dropped or delivered, passed by a committed offset.

    Raises:
        BadInput: no such message; the text names those that were sent.
    """
    fate = next((one for one in reading.fates if one.body == body), None)
    if fate is None:
        bodies = joined(", ", (one.body for one in reading.fates))
        raise BadInput(
            _("no message {body} was sent in this run; sent: {bodies}", body=f"{body!r}", bodies=bodies or _("none"))
        )
    met = sorted(_met(reading, fate), key=lambda one: one.t)
    sent = next(event for event in reading.run.told("sent") if event["body"] == body)
    # The producer knows a round trip later; what the broker does with a message it does after storing it.
    stored_at = min([sent["t"] - reading.zero, *(one.t for one in met)])
    text = _(
        "the broker stores {body} ({tag}): queue {queue}, offset {offset}",
        body=body,
        tag=fate.tag or _("no tag"),
        queue=fate.queue,
        offset=fate.offset,
    )
    return [Line(stored_at, text), *met]


def _met(reading: RunView, fate: MessageFate) -> Iterator[Line]:
    """Everything that names the message's queue and offset, and the first commit behind it."""
    for fact in reading.facts(Event):
        match fact.event:
            case Filtered(queue=fate.queue, offset=fate.offset):
                yield line(fact, reading)
            case ClientFiltered(queue=fate.queue, offset=fate.offset) | Consumed(queue=fate.queue, offset=fate.offset):
                yield line(fact, reading)
            case Pull(queue=fate.queue, offset=offset, next=int(following)) if offset <= fate.offset < following:
                yield line(fact, reading)
    commits = (fact for fact in reading.facts(Commit) if fact.event.queue == fate.queue)
    first = next((fact for fact in commits if fact.event.offset > fate.offset), None)
    if first is not None:
        yield line(first, reading)
