"""The steps of queues: offsets move on or are reset, queues come, a topic goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.events import Commit
from rmqlab.language import _, joined, ngettext
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import OffsetReset, Resized, TopicDeleted
from rmqlab_tools.show.film.frames import BROKER, Place, Step

if TYPE_CHECKING:
    from rmqlab.events import Event
    from rmqlab.run.facts import Fact
    from rmqlab_tools.show.film.stage import Stage

SAME_COMMIT_MS = 20  # commits so close are one thing to look at


class QueueSteps:
    """What happens to the queues of the topic."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def follow(self, t: float, fact: Fact[Event]) -> None:
        """Change the stage, and take a frame if there is something to see; an event of another kind changes nothing."""
        match event := fact.event:
            case Commit():
                self._commit(t, event)
            case OffsetReset(group=group, offsets=offsets):
                self.stage.offsets.update({int(queue): offset for queue, offset in offsets.items()})
                text = _("The offsets of group {group} are reset.", group=group)
                self.stage.take(t, Step.COMMIT, text, actors=[BROKER])
            case Resized(topic=topic, queues=queues):
                text = ngettext(
                    "Topic {topic} has {count} queue now.", "Topic {topic} has {count} queues now.", queues, topic=topic
                )
                self.stage.take(t, Step.FAULT, text, actors=[BROKER])
            case TopicDeleted(topic=topic):
                self.stage.take(t, Step.FAULT, _("Topic {topic} is deleted.", topic=topic), actors=[BROKER])

    def _commit(self, t: float, event: Commit) -> None:
        stage, queue = self.stage, event.queue
        before = stage.offsets.get(queue, 0)
        stage.offsets[queue] = event.offset
        skipped = [
            number
            for offset in range(before, event.offset)
            for number in stage.at(queue, offset)
            if stage.messages[number].fate is Fate.SKIPPED_BY_OFFSET and stage.places[number].what is Fate.WAITING
        ]
        if skipped:
            stage.put(skipped, Place(Fate.SKIPPED_BY_OFFSET, event.client))
            text = _(
                "{who} commits offset {offset} of queue {queue}: it passes {messages}, which nobody looked at.",
                who=event.client,
                offset=event.offset,
                queue=queue,
                messages=stage.named(skipped),
            )
            stage.take(t, Step.SKIP, text, actors=[BROKER, event.client], messages=skipped)
        elif event.offset != before:
            last = stage.frames[-1]
            if last.step is Step.COMMIT and t - last.t < SAME_COMMIT_MS:
                stage.frames.pop()
                known = stage.frames[-1].offsets
            else:
                known = last.offsets
            moved = {place: offset for place, offset in sorted(stage.offsets.items()) if offset != known.get(place, 0)}
            places = joined(
                ", ", (_("queue {queue} at {offset}", queue=place, offset=offset) for place, offset in moved.items())
            )
            clients = [
                who
                for who in dict.fromkeys([*(last.actors if last.step is Step.COMMIT else ()), event.client])
                if who != BROKER
            ]
            text = _("The committed offsets move on, whatever became of the messages: {places}.", places=places)
            stage.take(t, Step.COMMIT, text, actors=[BROKER, *clients])
