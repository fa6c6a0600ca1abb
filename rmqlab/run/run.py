"""What a scenario leaves, simulated or recorded: events, facts, fates, and the schedule that repeats it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import contents, is_dir, is_file, json_value, lines_of, read_text
from rmqlab.language import _, joined
from rmqlab.message.properties import PROPERTY_KEYS, PROPERTY_TAGS
from rmqlab.run.facts import FactLog
from rmqlab.run.fates import MessageFate, SendRecord, fate_words
from rmqlab.run.recorded_events import (
    Assigned,
    Control,
    GroupCreated,
    GroupDeleted,
    MessageSent,
    Recorded,
    Resized,
    StartFailed,
    Starting,
    StepFailed,
    Subscribed,
    TopicDeleted,
    Unsubscribed,
    recorded_facts,
    require_event,
)
from rmqlab.scenario.fault_steps import Freeze
from rmqlab.scenario.life_steps import Assign, CreateGroup, DeleteGroup, DeleteTopic, Unsubscribe
from rmqlab.scenario.scenario import Resize, Scenario, Send, Start, Subscribe
from rmqlab.scenario.schedule import Choice, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rmqlab.run.facts import Fact
    from rmqlab.run.recorded_events import R
    from rmqlab.scenario.scenario import Step

Event = dict[str, Any]
OUTCOME_EVENTS = ("events.jsonl.gz", "events.jsonl", "events")  # where those of a recorded set lie


@dataclass(slots=True)
class Run:
    """One finished run. `events` are in the recordings' format; `facts` is what broker and clients reported.

    `owners`: who held each queue (group, topic, queue id) at the end, with the next offset each would pull;
    `queues`: how many queues each topic had then. `under_way`: what could still change the outcome when a run that
    did not come to rest was ended.
    `zero`: when the topics were ready, ms since the run began: what people read counts from there, as `at` of the
    steps does; `events`, `facts` and `fates` count from the begin of the run, as recordings do.
    `began_ms`: the epoch ms of time 0, None where nothing says it.
    A recording knows no choices; that of a tap has no steps either, and in it all names are as they are on the wire.
    """

    scenario: Scenario
    events: list[Event]
    facts: FactLog
    fates: list[MessageFate]
    schedule: Schedule = field(default_factory=Schedule)
    choices: list[Choice] = field(default_factory=list)
    steps: int = 0
    owners: dict[tuple[str, str, int], dict[str, int]] = field(default_factory=dict)
    queues: dict[str, int] = field(default_factory=dict)
    under_way: str | None = None
    zero: int = 0
    began_ms: int | None = None

    def __post_init__(self) -> None:
        """Take the beginning from the event that says it."""
        if self.began_ms is None and self.events:
            self.began_ms = self.events[0].get("epochMs")

    @property
    def unusual(self) -> list[Choice]:
        """The choices made while the scenario ran that are not the usual ones, in order of time."""
        return [choice for choice in self.choices if choice.t is not None]

    def recorded(self, *kinds: type[R]) -> Iterator[Fact[R]]:
        """The recorded events of the given classes, in order, as `facts.of` gives facts; `t` is in whole ms."""
        return recorded_facts(self.events, *kinds)

    def outcome(self) -> Outcome:
        """Who consumed what, and the committed offsets."""
        return Outcome.of_events(self.events)

    def scenario_name(self, name: str | None) -> str:
        """A name of the wire as the scenario has it."""
        plain = self.scenario.plain_names or not self.scenario.steps
        return (name or "").removesuffix("" if plain else f"_{self.scenario.id}")

    def lines(self) -> str:
        """All events and fates, one JSON object a line, always in the same order and form."""
        rows = self.events + [fate.as_event(self.scenario.id) for fate in self.fates]
        return "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What can be compared between runs and recordings; hashable.

    `consumed`: (who, body, times consumed) sorted; `committed`: (group, "topic/queue", offset) sorted, where
    the offset may be an error's name, as in the recordings.
    """

    consumed: tuple[tuple[str, str, int], ...]
    committed: tuple[tuple[str, str, int | str | None], ...]

    @classmethod
    def of_events(cls, events: list[Event]) -> Outcome:
        """Read the outcome of one scenario's events, simulated or recorded."""
        counts: dict[tuple[str, str], int] = {}
        committed: dict[tuple[str, str], int | str | None] = {}
        for event in events:
            if event["ev"] == "consume":
                key = (event["who"], event["body"])
                counts[key] = counts.get(key, 0) + 1
            elif event["ev"] == "offset":
                committed[event["group"], f"{event['topic']}/{event['queue']}"] = event["committed"]
        return cls(
            tuple(sorted((client, body, n) for (client, body), n in counts.items())),
            tuple((group, queue, offset) for (group, queue), offset in sorted(committed.items())),
        )

    def bodies_of(self, client: str) -> list[str]:
        """Bodies that `client` consumed, sorted."""
        return sorted(body for name, body, _ in self.consumed if name == client)

    @property
    def words(self) -> str:
        """Who got which messages, in one line: "A gets MsgStr2 MsgStr3"."""
        consumed = self.as_json()["consumed"]
        return joined(
            ", ", (_("{who} gets {bodies}", who=client, bodies=" ".join(bodies)) for client, bodies in consumed.items())
        ) or _("nobody gets anything")

    def as_json(self) -> dict[str, Any]:
        """{"consumed": {who: [body…]}, "committed": {"topic/queue": n}}; of several groups, "group/topic/queue"."""
        many = len({group for group, _, _ in self.committed}) > 1
        committed = {f"{group}/{queue}" if many else queue: offset for group, queue, offset in self.committed}
        consumed: dict[str, list[str]] = {}
        for client, body, times in self.consumed:
            consumed.setdefault(client, []).extend([body] * times)
        return {"consumed": consumed, "committed": committed}


def sent_messages(scenario: Scenario, events: Iterable[Event]) -> list[SendRecord]:
    """Every message that was sent, with the topic and the properties that its step gave it.

    Raises:
        BadInput: an event names a message that no step sends.
    """
    steps = (step for step in scenario.steps if isinstance(step, Send) and step.messages)
    step = next(steps, None)
    records = []
    facts: Iterator[Fact[StepFailed | MessageSent]] = recorded_facts(events, StepFailed, MessageSent)
    for fact in facts:
        event = fact.event
        if isinstance(event, StepFailed):
            if event.do == "send":  # the rest of that step was not sent
                step = next(steps, None)
            continue
        while step is not None and [content.body for content in step.messages[event.i : event.i + 1]] != [event.body]:
            step = next(steps, None)
        if step is None:
            raise BadInput(_("scenario {id}: no step sends {body}", id=f"{scenario.id!r}", body=f"{event.body!r}"))
        topic, message = step.topic, step.messages[event.i]
        if event.i == len(step.messages) - 1:
            step = next(steps, None)
        known = {PROPERTY_TAGS: message.tag, PROPERTY_KEYS: message.keys}
        properties = {**(message.props or {}), **{name: text for name, text in known.items() if text is not None}}
        place = topic, event.queue, event.offset, event.body, event.tag, event.msg_id
        records.append(SendRecord(*place, fact.t, properties))
    return records


def tells_of(event: Recorded, step: Step) -> bool:
    """Whether an event says that a step was made; the event of a subscription names no topic."""
    match event, step:
        case Starting(who=name), Start(who=step_name):
            return name == step_name
        case Control(line=line), Freeze(who=step_name):
            return line == f"freeze @{step_name}"
        case Unsubscribed(who=name, topic=topic), Unsubscribe(who=step_name, topic=step_topic):
            return (name, topic) == (step_name, step_topic)
        case Assigned(who=name, queues=queues), Assign(who=step_name, queues=step_queues):
            return (name, queues) == (step_name, step_queues)
        case (TopicDeleted(topic=name), DeleteTopic(topic=step_name)) | (Resized(topic=name), Resize(topic=step_name)):
            return name == step_name
        case (GroupDeleted(group=name), DeleteGroup(group=step_name)) | (
            GroupCreated(group=name),
            CreateGroup(group=step_name),
        ):
            return name == step_name
        case Subscribed(who=name, expr=expr), Subscribe(who=step_name, expr=step_expr):
            return (name, expr) == (step_name, step_expr)
    return False


def run_lines(run: Run) -> Iterator[str]:
    """A run in a line: the fates of its messages; below it what clients or the broker refused while it ran."""
    fates = Counter(str(fate.fate) for fate in run.fates)
    if fates:
        counts = joined(
            ", ", (_("{count} {fate}", count=count, fate=fate_words(fate)) for fate, count in fates.items())
        )
        rest = _("; ended although {under_way}", under_way=run.under_way) if run.under_way else ""
        yield _(
            "{id}: {counts}; {lost} lost{rest}",
            id=run.scenario.id,
            counts=counts,
            lost=sum(fate.lost for fate in run.fates),
            rest=rest,
        )
    else:
        yield _("{id}: no message was stored, so nothing is known of losses", id=run.scenario.id)
    failures: Iterator[Fact[StartFailed | StepFailed]] = run.recorded(StartFailed, StepFailed)
    for event in (fact.event for fact in failures):
        what = (
            _("{who} did not start", who=event.who) if isinstance(event, StartFailed) else _("{do} failed", do=event.do)
        )
        yield f"{what}: {event.message.splitlines()[0]} ({event.error})"


def recorded_events(folder: Path) -> dict[str, list[Event]]:
    """The events of a recorded set by scenario id, from events.jsonl.gz, events.jsonl or a folder events/.

    In a folder each scenario has a file named after it, whose lines need no `id`: so a driver of clients leaves them.

    Raises:
        BadInput: no such file, or a line that is no event; the text names file and line.
    """
    events: dict[str, list[Event]] = {}
    for path, of in _event_files(folder):
        for number, line in lines_of(read_text(path, _("a recorded set, which has events.jsonl.gz"))):
            try:
                event = of | json_value(line)
                require_event(event)
                events.setdefault(event["id"], []).append(event)
            except (ValueError, KeyError, TypeError) as error:
                why = (
                    _("it has no {error}", error=error) if isinstance(error, KeyError) else str(error).replace("`", "'")
                )
                raise BadInput(
                    _("{path}, line {number}: no event of a recording ({why})", path=path, number=number, why=why)
                ) from error
    return events


def _event_files(folder: Path) -> list[tuple[Path, Event]]:
    """Files of events, with what their lines do not say themselves."""
    packed, plain, split = (folder / name for name in OUTCOME_EVENTS)
    if not is_file(packed) and not is_file(plain) and is_dir(split):
        return [(path, {"id": path.stem}) for path in contents(split) if path.suffix == ".jsonl"]
    return [(packed if is_file(packed) else plain, {})]
