"""A run becomes the frames of a film: each thing that changes something gets one, idle time gets none.

What repeats itself is left out: heartbeats that say nothing new, pulls that wait once more after their time is over,
commits of the same offset. The frames are of one group and one topic, as all pictures are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _, ngettext, sentences
from rmqlab.run.fates import FATE_WORDS, Fate
from rmqlab_tools.search.explorer.explanation import deviation
from rmqlab_tools.show.film.frames import BROKER, Place, Step
from rmqlab_tools.show.film.member_steps import MemberSteps
from rmqlab_tools.show.film.message_steps import MessageSteps
from rmqlab_tools.show.film.pop_steps import PopSteps
from rmqlab_tools.show.film.queue_steps import QueueSteps
from rmqlab_tools.show.film.slot_steps import SlotSteps
from rmqlab_tools.show.film.stage import Stage
from rmqlab_tools.show.palette import summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.events import Event
    from rmqlab.run.facts import Fact
    from rmqlab.run.run_view import RunView
    from rmqlab_tools.show.film.frames import Frame


class Storyboard:
    """Goes through the facts of a run once; `frames` is the film, `stage.messages` are its messages."""

    def __init__(self, view: RunView, *, unusual: bool = False) -> None:
        """Read the run; with `unusual`, the choices that make it another one than the usual have frames too."""
        self.view = view
        # Fates may be decided after the last step, while a run comes to rest.
        self.end = max([view.end, *(fate.t - view.zero for fate in view.fates)])
        self._choices = list(reversed(view.run.unusual)) if unusual else []
        self.stage = Stage(view)
        self._pops = PopSteps(self.stage)
        steps = (
            MemberSteps(self.stage, view), SlotSteps(self.stage, view), MessageSteps(self.stage, view),
            QueueSteps(self.stage), self._pops,
        )  # fmt: skip
        queues = ngettext(
            "Topic {topic} has {count} queue.", "Topic {topic} has {count} queues.", view.queues, topic=view.topic
        )
        nobody = _("Group {group} has no members yet.", group=view.group)
        self.stage.take(0, Step.BEGIN, sentences(queues, nobody))
        for fact in self._facts():
            self._choose(view.place(fact))
            t = max(fact.t - view.zero, 0.0)
            for each in steps:
                each.follow(t, fact)
        self._end()

    @property
    def frames(self) -> list[Frame]:
        """The frames in order of time."""
        return self.stage.frames

    def _facts(self) -> Iterator[Fact[Event]]:
        """The facts of this group and topic, and those of none, until the last step or fate."""
        group, topic = self.view.group, self.view.topic
        for fact in self.view.run.facts:
            if fact.t - self.view.zero > self.end:
                continue
            event = fact.event
            if event.is_about(group, topic) or (
                self._pops.of_copy(event) and event.is_about(group, self._pops.topic_of(event))
            ):
                yield fact

    def _choose(self, place: int) -> None:
        """The choices made before the fact at this place."""
        while self._choices and self._choices[-1].order <= place:
            choice = self._choices.pop()
            what = deviation(choice, self.view.run.schedule.timing)
            text = _("Another order than the usual: {what}.", what=what)
            self.stage.take(max(float(choice.t or 0) - self.view.zero, 0.0), Step.FAULT, text, actors=[BROKER])

    def _end(self) -> None:
        """Frames for what is in no event: what waits in a queue without an owner, or was passed unseen; and the sum."""
        stage, t = self.stage, self.end
        for number in range(len(stage.messages)):
            self.stage.sent(t, [number])
        for fate in Fate:
            others = [
                n
                for n, message in enumerate(stage.messages)
                if message.fate is fate and stage.places[n].what is not fate
            ]
            for number in others:
                stage.places[number] = Place(fate, self.view.fates[number].culprit)
            if others:
                stage.take(
                    t,
                    Step.SKIP,
                    _("{messages}: {fate}.", messages=stage.named(others), fate=FATE_WORDS[fate]),
                    actors=[BROKER],
                    messages=others,
                )
        stage.take(t, Step.END, _("The end: {summary}.", summary=summary(self.view.fates)))
