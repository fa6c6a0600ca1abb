"""Evidence: facts in words, each with its time, and the way of one message through broker and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.events import ClientFiltered, Commit, Event, Filtered, Pull
from rmqlab.language import _, joined
from rmqlab.run.recorded_events import Consumed, MessageSent, TapSent
from rmqlab.run.run_view import RunView, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.run.facts import Fact
    from rmqlab.run.fates import MessageFate


class EvidenceLine(NamedTuple):
    """One piece of evidence: ms since the topics were ready, and what happened."""

    t: float
    text: str

    def __str__(self) -> str:
        """As one line of text."""
        return f"{seconds(self.t):>9}  {self.text}"


def line(fact: Fact[Event], view: RunView) -> EvidenceLine:
    """A fact in words; versions are shown by the same clock as times."""
    return EvidenceLine(fact.t - view.zero, fact.words(lambda version: seconds(view.version(version))))


def message_trail(view: RunView, body: str) -> list[EvidenceLine]:
    """The way of the message with this body: stored, pulled, dropped or delivered, passed by a committed offset.

    Raises:
        BadInput: no such message; the text names those that were sent.
    """
    fate = next((fate_of for fate_of in view.fates if fate_of.body == body), None)
    if fate is None:
        bodies = joined(", ", (fate_of.body for fate_of in view.fates))
        raise BadInput(
            _("no message {body} was sent in this run; sent: {bodies}", body=f"{body!r}", bodies=bodies or _("none"))
        )
    met = sorted(_met(view, fate), key=lambda line: line.t)
    sent: Iterator[Fact[MessageSent | TapSent]] = view.run.recorded(MessageSent, TapSent)
    sent_at = next(fact.t for fact in sent if fact.event.body == body)
    # The producer knows a round trip later; what the broker does with a message it does after storing it.
    stored_at = min([sent_at - view.zero, *(line.t for line in met)])
    text = _(
        "the broker stores {body} ({tag}): queue {queue}, offset {offset}",
        body=body,
        tag=fate.tag or _("no tag"),
        queue=fate.queue,
        offset=fate.offset,
    )
    return [EvidenceLine(stored_at, text), *met]


def _met(view: RunView, fate: MessageFate) -> Iterator[EvidenceLine]:
    """Everything that names the message's queue and offset, and the first commit after it."""
    for fact in view.facts(Event):
        match fact.event:
            case Filtered(queue=fate.queue, offset=fate.offset):
                yield line(fact, view)
            case ClientFiltered(queue=fate.queue, offset=fate.offset) | Consumed(queue=fate.queue, offset=fate.offset):
                yield line(fact, view)
            case Pull(queue=fate.queue, offset=offset, next=int(following)) if offset <= fate.offset < following:
                yield line(fact, view)
    commits = (fact for fact in view.facts(Commit) if fact.event.queue == fate.queue)
    first = next((fact for fact in commits if fact.event.offset > fate.offset), None)
    if first is not None:
        yield line(first, view)
