"""The story of one schedule: as a picture, and as text that one can paste to a colleague."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.run_view import RunView, seconds
from rmqlab.search.explorer.explanation import blame
from rmqlab.show.moments import scenes

if TYPE_CHECKING:
    from rmqlab.lab.run import Run
    from rmqlab.search.explorer.deviations import ReplayedSchedule
    from rmqlab.show.figure import Picture


def story_picture(told: ReplayedSchedule, title: str, *, step: int | None = None) -> Picture:
    """The swimlane of a schedule's run, its unusual choices where they were made; ``step`` as in ``swimlane``."""
    from rmqlab.show.swimlane import swimlane

    group, topic = subject(told.run)
    return swimlane(told.run, group=group, topic=topic, deviations=told.deviations, step=step, title=title)


def moments_of(told: ReplayedSchedule) -> int:
    """How many moments the story of a schedule has."""
    reading = RunView(told.run, *subject(told.run))
    return sum(len(scene.moments) for scene in scenes(reading, told.deviations))


def story_text(told: ReplayedSchedule, title: str) -> str:
    """The same story in lines: what is unusual, who is to blame, every moment, and the schedule that repeats it."""
    run = told.run
    reading = RunView(run, *subject(run))
    lines = [title, f"scenario {run.scenario.id}, group {reading.group}, topic {reading.topic}", "", "who is to blame"]
    lines += [f"  {line}" for line in blame(run)] or ["  nobody: this is the usual order"]
    for scene in scenes(reading, told.deviations):
        lines += ["", scene.title]
        for moment in scene.moments:
            who = f"{', '.join(moment.who)}: " if moment.who else ""
            said = " | ".join(filter(None, (f"{who}{moment.text}" if moment.text or who else "", moment.at_broker)))
            lines.append(f"  {seconds(moment.t):>9}  {moment.kind:<13}  {said}  [slot {moment.slot or '-'}]")
    lines += ["", "the scenario, one line of a file for rmqlab simulate FILE", run.scenario.to_json()]
    lines += ["the schedule, a file for rmqlab simulate FILE --schedule", run.schedule.to_json()]
    return "\n".join(lines) + "\n"


def subject(run: Run) -> tuple[str | None, str | None]:
    """Group and topic that a story is about: those of the first lost message, else the first there are."""
    lost = next((fate for fate in run.fates if fate.lost), None)
    return (None, None) if lost is None else (lost.group, lost.topic)
