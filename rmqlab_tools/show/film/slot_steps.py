"""The steps of the slot: the group's one subscription in the broker, and the heartbeats that write it or do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.events import Heartbeat, SubscriptionChanged
from rmqlab.language import _
from rmqlab.run.run_view import seconds
from rmqlab_tools.show.film.frames import BROKER, FilmSlot, Step
from rmqlab_tools.show.moments import telling_beats

if TYPE_CHECKING:
    from rmqlab.events import Event
    from rmqlab.run.facts import Fact
    from rmqlab.run.run_view import RunView
    from rmqlab_tools.show.film.stage import Stage


class SlotSteps:
    """What the broker holds for the group."""

    def __init__(self, stage: Stage, view: RunView) -> None:
        self.stage, self.view = stage, view
        self._telling = {beat.order: (beat, holder) for beat, holder in telling_beats(view)}

    def follow(self, t: float, fact: Fact[Event]) -> None:
        """Change the stage, and take a frame if there is something to see; an event of another kind changes nothing."""
        match event := fact.event:
            case SubscriptionChanged():
                self._slot(t, event)
            case Heartbeat():
                self._beat(t, self.view.place(fact))

    def _slot(self, t: float, event: SubscriptionChanged) -> None:
        stage, new = self.stage, event.new
        if new is None:
            stage.slot = None
            stage.take(
                t,
                Step.SLOT,
                _("The broker holds no subscription of group {group} any more.", group=event.group),
                actors=[BROKER],
            )
            return
        before, stage.slot = (
            stage.slot,
            FilmSlot(new.sub_string or "", event.client, self.view.version(new.sub_version)),
        )
        expression, version = stage.slot.expression, seconds(stage.slot.version)
        if before is None:
            text = _(
                "{who}'s heartbeat fills the group's slot: the broker lets through {expression}.",
                who=event.client,
                expression=expression,
            )
        elif before.expression != expression:
            text = _(
                "{who}'s heartbeat is newer ({version}) and changes the slot: "
                "the broker now lets through {expression}, no longer {before}.",
                who=event.client,
                version=version,
                expression=expression,
                before=before.expression,
            )
        elif len(stage.members) > 1:
            text = _(
                "{who}'s heartbeat is newer ({version}): the slot stays {expression}.",
                who=event.client,
                version=version,
                expression=expression,
            )
        else:
            return
        stage.take(t, Step.SLOT, text, actors=[BROKER, event.client])

    def _beat(self, t: float, place: int) -> None:
        beat, holder = self._telling.get(place, (None, None))
        if beat is not None and holder is not None and not beat.taken:
            values = {
                "who": beat.who,
                "expression": beat.expression,
                "version": seconds(beat.version),
                "newer": seconds(holder.version),
            }
            text = _(
                "{who}'s heartbeat with {expression} is ignored: its version {version} is not newer than {newer}.",
                **values,
            )
            self.stage.take(t, Step.IGNORED, text, actors=[BROKER, beat.who])
