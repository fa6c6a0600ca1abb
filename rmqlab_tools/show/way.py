"""The way of one message, step by step: who stored it, pulled it, dropped it, took it, passed it."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.events import ClientFiltered, Commit, Filtered, Pull
from rmqlab.language import _, joined
from rmqlab.run.fates import FATE_WORDS, Fate
from rmqlab.run.recorded_events import Consumed, MessageSent, TapSent
from rmqlab.run.run_view import RunView, seconds
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.run.facts import Fact
    from rmqlab.run.fates import MessageFate
    from rmqlab.run.run import Run

BROKER = _("the broker")
# What is told of a drop already, or needs no last line.
TOLD = {Fate.DELIVERED, Fate.DROPPED_BY_BROKER_TAG, Fate.DROPPED_BY_BROKER_BITMAP, Fate.DROPPED_BY_BROKER_SQL,
        Fate.DROPPED_BY_CLIENT}  # fmt: skip


def way_table(run: Run, body: str, *, group: str | None = None, topic: str | None = None) -> Table:
    """The steps of the message with this body in a group, in order of time; a copy for each member has its own lines.

    Raises:
        BadInput: no such message came to this group.
    """
    view = RunView(run, group, topic)
    fates = [fate for fate in view.fates if fate.body == body]
    if not fates:
        known = joined(", ", dict.fromkeys(fate.body for fate in view.fates)) or _("none")
        raise BadInput(
            _("no message {body} came to group {group}; known are: {known}", body=body, group=view.group, known=known)
        )
    sent_facts: list[Fact[MessageSent | TapSent]] = list(run.recorded(MessageSent, TapSent))
    sent = next(
        fact for fact in sent_facts
        if (fact.event.body, fact.event.queue, fact.event.offset) == (body, fates[0].queue, fates[0].offset)
    )  # fmt: skip
    later = sorted((step for fate in fates for step in _steps(view, fate)), key=itemgetter(0, 1))
    stored = min([sent.t - view.zero, *(step.t for step in later)])
    told = _("stores it in queue {queue} at offset {offset}", queue=fates[0].queue, offset=fates[0].offset)
    lines = [(seconds(t), who, what) for t, _rank, who, what in dict.fromkeys([Step(stored, 0, BROKER, told), *later])]
    caption = _("The way of {body}, which has {tag}", body=body, tag=fates[0].tag or _("no tag"))
    return Table(caption, (_("time"), _("who"), _("what")), lines)


class Step(NamedTuple):
    """Who did what to a message at `t` (ms since the topics were ready); of equal times the lower `rank` was first."""

    t: float
    rank: int
    who: str
    what: str


def _steps(view: RunView, fate: MessageFate) -> Iterator[Step]:
    """What happened to a message after it was stored, up to the commit that passed it."""
    place, passed = (fate.queue, fate.offset), False
    for fact in view.facts(Pull, Filtered, ClientFiltered, Consumed, Commit):
        t, event = fact.t - view.zero, fact.event
        match event:
            case Pull() if event.queue == fate.queue and event.next is not None and not event.held:
                if event.offset <= fate.offset < event.next:
                    told = _("pulls queue {queue} from offset {offset}", queue=fate.queue, offset=event.offset)
                    yield Step(t, 0, event.client, told)
                    if not event.count:
                        told = _("finds nothing else for {client}: go on at offset {next}", client=event.client,
                                 next=event.next)  # fmt: skip
                        yield Step(t, 2, BROKER, told)
            case Filtered() if (event.queue, event.offset) == place:
                yield Step(t, 1, BROKER, _("drops it: the slot says {subscription}", subscription=event.subscription))
            case ClientFiltered() if (event.queue, event.offset) == place:
                told = _("drops it: {client} itself asks for {subscription}", client=fact.source,
                         subscription=event.subscription)  # fmt: skip
                yield Step(t, 1, fact.source, told)
            case Consumed() if (event.queue, event.offset) == place:
                told = _("hands it to its listener") if event.success else _("its listener refuses it")
                yield Step(t, 1, fact.source, told)
            case Commit() if event.queue == fate.queue and event.offset > fate.offset and not passed:
                passed = True
                told = _("commits offset {offset} of queue {queue}: nobody reads it again", offset=event.offset,
                         queue=fate.queue)  # fmt: skip
                yield Step(t, 3, event.client, told)
    if fate.fate not in TOLD:
        yield Step(fate.t - view.zero, 4, fate.culprit or "–", FATE_WORDS[fate.fate])
