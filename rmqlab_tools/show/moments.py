"""The moments of a run that tell its story, in order of time: heartbeats, rebalances, what became of each message.

The swimlane draws them and its table lists them. Heartbeats that repeat what everybody knows are left out, except the
first of each consumer that is refused: it shows why the slot is not won back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING

from rmqlab.events import ClientFiltered, Commit, Notify, Rebalance, Restamp
from rmqlab.language import N_, _, joined
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import Control, Starting
from rmqlab.run.run_view import Beat, RunView, ranges, seconds, short
from rmqlab_tools.show.palette import LOOKS, FateStyle, counted, look_of, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.run.facts import Fact
    from rmqlab.run.fates import MessageFate


class MomentKind(StrEnum):
    """What sort of moment it is."""

    CHOICE = N_("unusual order")
    FAULT = N_("fault")
    BEAT = N_("heartbeat")
    NOTIFY = N_("notification")
    REBALANCE = N_("rebalance")
    MESSAGE = N_("message")
    COMMIT = N_("commit")


@dataclass(frozen=True, slots=True)
class Moment:
    """One row of the swimlane at `t` ms: `who` takes part beside the broker, `text` says what happens there.

    `at_broker` is what happens in the broker's lane. `slot` is the subscription in force afterwards. A beat has
    `taken`; a message has `fate` and `look`. `order` is the place among the run's facts: it decides where times
    are equal, as they are for all that happens while the clock stands still.
    """

    t: float
    kind: MomentKind
    who: tuple[str, ...]
    text: str
    at_broker: str
    slot: str | None
    taken: bool = True
    fate: Fate | None = None
    order: float = 0
    look: FateStyle | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """Moments that belong together, under a heading."""

    title: str
    moments: list[Moment]


def scenes(view: RunView, *, unusual: bool = False) -> list[Scene]:
    """The story in scenes: each start, the messages, the offsets; empty scenes are left out.

    With `unusual` the choices that make this run another one than the usual are moments too.
    """
    moments = sorted(
        [
            *(_unusual(view) if unusual else ()),
            *_faults(view),
            *_beats(view),
            *_notifications(view),
            *_rebalances(view),
        ],
        key=attrgetter("order"),
    )
    starts = [
        (fact.t - view.zero, fact.event.who)
        for fact in view.run.recorded(Starting)
        if fact.event.who in view.asked and view.is_member(fact.event.who, fact.t)
    ]
    story = []
    for index, (since, name) in enumerate(starts):
        until = starts[index + 1][0] if index + 1 < len(starts) else float("inf")
        later = _(", {seconds} later", seconds=seconds(since - starts[index - 1][0])) if index else ""
        # what was chosen before the first start belongs to it
        mine = [moment for moment in moments if (since if index else -math.inf) <= moment.t < until]
        if name in view.starts_with:
            story.append(
                Scene(
                    _(
                        "{who} starts{later}: asks for {starts_with}",
                        who=name,
                        later=later,
                        starts_with=view.starts_with[name],
                    ),
                    mine,
                )
            )
        else:
            story.append(Scene(_("{who} starts{later}", who=name, later=later), mine))
    by_time = attrgetter("t")
    story.append(Scene(joined(": ", (counted(view), summary(view.fates))), sorted(_messages(view), key=by_time)))
    story.append(Scene(_("Offsets move on, whatever became of the messages"), sorted(_commits(view), key=by_time)))
    return [scene for scene in story if scene.moments]


def _slot_after(view: RunView, order: float) -> str | None:
    """The group's subscription in the broker after this place among the facts."""
    return next((slot.expression for slot in reversed(view.slots) if slot.order <= order), None)


def slot_at(view: RunView, t: float) -> str | None:
    """The group's subscription in the broker at `t` (changes at `t` included)."""
    return next((slot.expression for slot in reversed(view.slots) if slot.t <= t), None)


def telling_beats(view: RunView) -> Iterator[tuple[Beat, Beat]]:
    """All heartbeats that took the slot, and the first one of each consumer that another's kept out.

    Each comes with the heartbeat that holds the slot afterwards.
    """
    refused: set[str] = set()
    holder: Beat | None = None
    for beat in view.beats:
        if beat.taken:
            holder = beat
        elif holder is None or holder.who == beat.who or beat.who in refused:
            continue
        else:
            refused.add(beat.who)
        yield beat, holder


def _beats(view: RunView) -> Iterator[Moment]:
    for beat, holder in telling_beats(view):
        older = _("the same version") if beat.version == holder.version else _("an older version")
        verdict = (
            _("slot := {expression}", expression=short(beat.expression))
            if beat.taken
            else _("{older}: ignored", older=older)
        )
        text = _(
            "heartbeat {expression}, version {seconds}",
            expression=short(beat.expression),
            seconds=seconds(beat.version),
        )
        slot = beat.expression if beat.taken else _slot_after(view, beat.order)
        yield Moment(beat.t, MomentKind.BEAT, (beat.who,), text, verdict, slot, beat.taken, order=beat.order)


def _unusual(view: RunView) -> Iterator[Moment]:
    from rmqlab_tools.search.explorer.explanation import deviation

    for choice in view.run.unusual:
        text, slot = deviation(choice, view.run.schedule.timing), _slot_after(view, choice.order)
        t = float(choice.t or 0) - view.zero
        yield Moment(t, MomentKind.CHOICE, (), "", text, slot, order=choice.order - 0.5)


def _faults(view: RunView) -> Iterator[Moment]:
    facts = view.run.facts
    for control in view.run.recorded(Control):
        what, client, _ignored = control.event.parts
        mine = (client,) if client in view.asked else ()
        order = next((place for place, fact in enumerate(facts) if round(fact.t) >= control.t), len(facts)) - 0.25
        text, verdict, slot = what if mine else "", "" if mine else control.event.line, _slot_after(view, order)
        yield Moment(control.t - view.zero, MomentKind.FAULT, mine, text, verdict, slot, order=order)


def _notifications(view: RunView) -> Iterator[Moment]:
    by_time: dict[float, list[Fact[Notify]]] = {}
    for fact in view.facts(Notify):
        by_time.setdefault(fact.t - view.zero, []).append(fact)
    for t, facts in by_time.items():
        if len(facts) > 1:  # the first member is told of itself: no story in it
            clients, order = tuple(fact.event.client for fact in facts), view.place(facts[-1])
            slot = _slot_after(view, order)
            yield Moment(t, MomentKind.NOTIFY, clients, _("look again"), _("members changed (40)"), slot, order=order)


def _rebalances(view: RunView) -> Iterator[Moment]:
    stamps = {(fact.source, fact.t): fact for fact in view.facts(Restamp)}
    for fact in view.facts(Rebalance):
        stamp = stamps.get((fact.source, fact.t))
        parts = [_("owns {ranges}", ranges=ranges(fact.event.queues) or _("nothing"))]
        parts += [_("new stamp {seconds}", seconds=seconds(view.version(stamp.event.version)))] if stamp else []
        t, text, order = fact.t - view.zero, joined("; ", parts), view.place(fact)
        yield Moment(t, MomentKind.REBALANCE, (fact.source,), text, "", _slot_after(view, order), order=order)


def _messages(view: RunView) -> Iterator[Moment]:
    dropped = view.facts(ClientFiltered)
    compared = {(fact.source, fact.event.queue, fact.event.offset) for fact in dropped}
    for fate in view.fates:
        t = fate.t - view.zero
        clients = (fate.culprit,) if fate.culprit else ()
        at_broker = _("{body}  {tag}  queue {queue}", body=fate.body, tag=fate.tag or _("no tag"), queue=fate.queue)
        slot = slot_at(view, t)
        text = _why(fate, compared=(fate.culprit, fate.queue, fate.offset) in compared)
        yield Moment(t, MomentKind.MESSAGE, clients, text, at_broker, slot, fate=fate.fate, look=look_of(fate))


def _why(fate: MessageFate, *, compared: bool) -> str:
    """`compared`: the client's own check of the tag dropped it. A broadcasting listener may have refused it as well."""
    match fate.fate.value:
        case "delivered":
            return _("delivered to {culprit}", culprit=fate.culprit)
        case "dropped_by_broker_tag":
            return _(
                "{culprit} pulls; the slot says {subscription}",
                culprit=fate.culprit,
                subscription=short(str(fate.subscription)),
            )
        case "dropped_by_client" if fate.subscription and compared:
            return _(
                "{culprit} itself wants only {subscription}",
                culprit=fate.culprit,
                subscription=short(fate.subscription),
            )
        case _:
            return LOOKS[fate.fate].words


def _commits(view: RunView) -> Iterator[Moment]:
    """The commit of each consumer after which the offsets of its queues move no more."""
    ends = {queue: maximum for queue, (_, maximum) in view.offsets.items()}
    done: dict[str, dict[int, Fact[Commit]]] = {}
    for fact in view.facts(Commit):
        commit, mine = fact.event, done.setdefault(fact.event.client, {})
        if commit.queue not in mine or mine[commit.queue].event.offset != commit.offset:
            mine[commit.queue] = fact
    for name in view.names:
        queues = [queue for queue, owners in view.owners.items() if name in owners]
        last = [fact for queue, fact in done.get(name, {}).items() if queue in queues]
        if queues and len(last) == len(queues):
            t = max(fact.t for fact in last) - view.zero
            passed = sum(fact.event.offset for fact in last)
            behind = sum(ends.get(queue, 0) for queue in queues) - passed
            text = _(
                "queues {ranges}: {passed} passed, lag {behind}", ranges=ranges(queues), passed=passed, behind=behind
            )
            yield Moment(t, MomentKind.COMMIT, (name,), text, _("committed by {who}", who=name), slot_at(view, t))
