"""Scenarios: what is started, sent, stopped and broken, and when; one JSON object a line.

The format is that of the recordings, so that the same file drives the real clients and this laboratory. Steps are
ordered by ``at`` (ms after the topics exist); a step starts late when the one before it took long.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator


class Subscription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a consumer asks of one topic: ``type`` TAG or SQL92, and the expression text."""

    type: Literal["TAG", "SQL92"]
    expr: str


class OutgoingMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A message to send: ``queue`` fixes the queue id, otherwise the producer goes round."""

    body: str
    tag: str | None = None
    keys: str | None = None
    props: dict[str, str] | None = None
    queue: int | None = None


class _Step(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do", rename="camel"
):
    at: int


class Start(_Step, frozen=True, tag="start", kw_only=True):
    """Start consumer ``who`` of ``group``; ``later_times``: answer RECONSUME_LATER the first n times a body is seen."""

    who: str
    group: str
    subscribe: dict[str, Subscription]
    mode: Literal["clustering", "broadcasting"] = "clustering"
    from_: Literal["last", "first"] = msgspec.field(default="last", name="from")
    post: bool = False
    orderly: bool = False
    strategy: Literal["avg", "circle", "hash"] = "avg"
    later_times: int = 0
    trace: bool = False
    kind: Literal["push", "lite", "pop"] = "push"


class Stop(_Step, frozen=True, tag="stop"):
    """Shut consumer ``who`` down in good order."""

    who: str


class Subscribe(_Step, frozen=True, tag="subscribe", kw_only=True):
    """Consumer ``who`` subscribes again while it runs."""

    who: str
    topic: str
    expr: str
    type: Literal["TAG", "SQL92"] = "TAG"


class Send(_Step, frozen=True, tag="send"):
    """Send messages one after another, each awaited."""

    topic: str
    messages: list[OutgoingMessage]


class Cut(_Step, frozen=True, tag="cut"):
    """Reset ``who``'s connection to the broker; it will connect again."""

    who: str


class Freeze(_Step, frozen=True, tag="freeze"):
    """Swallow everything on ``who``'s connection to the broker from now on, both ways."""

    who: str


class Alloc(_Step, frozen=True, tag="alloc"):
    """Ask every running consumer which queues it owns."""


class Offsets(_Step, frozen=True, tag="offsets"):
    """Ask the broker for the committed and the maximum offset of each queue."""


Step: TypeAlias = Start | Stop | Subscribe | Send | Cut | Freeze | Alloc | Offsets


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One scenario: id, topics (name to number of read and write queues), and steps in order of ``at`` (ms)."""

    id: str
    topics: dict[str, int]
    steps: list[Step]
    trace: bool = False

    def groups(self) -> list[str]:
        """Names of the consumer groups, sorted."""
        return sorted({step.group for step in self.steps if isinstance(step, Start)})

    def to_json(self) -> str:
        """The scenario as one line of a scenario file."""
        return msgspec.json.encode(self).decode()


_KINDS: dict[str, type] = {
    "start": Start,
    "stop": Stop,
    "subscribe": Subscribe,
    "send": Send,
    "cut": Cut,
    "freeze": Freeze,
    "alloc": Alloc,
    "offsets": Offsets,
}


def read_scenarios(path: str | Path) -> list[Scenario]:
    """All scenarios of a JSON-lines file.

    Raises:
        BadInput: the file cannot be read, or a line is not a scenario; the text names file, line and field.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read as UTF-8 text ({error})") from error
    scenarios: list[Scenario] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        scenario = parse_scenario(line, f"{path.name}, line {number}")
        if scenario.id in seen:
            raise BadInput(
                f"{path.name}, line {number}: id {scenario.id!r} was used by line {seen[scenario.id]}; ids must differ"
            )
        seen[scenario.id] = number
        scenarios.append(scenario)
    if not scenarios:
        raise BadInput(f"{path.name}: no scenario in it; one JSON object a line is expected")
    return scenarios


def parse_scenario(text: str, where: str = "scenario") -> Scenario:
    """One scenario from its JSON text.

    Raises:
        BadInput: with ``where``, the field, what is wrong and what would be right.
    """
    try:
        scenario = msgspec.json.decode(text.encode("utf-8", "surrogatepass"), type=Scenario)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: {error}{_hint(text)}") from error
    except msgspec.DecodeError as error:
        raise BadInput(f"{where}: not one JSON object ({error})") from error
    for problem in _problems(scenario):
        raise BadInput(f"{where}: {problem}")
    return scenario


def _hint(text: str) -> str:
    """What would be right, for the first step whose kind or fields are unknown."""
    try:
        steps = json.loads(text).get("steps", [])
    except (ValueError, AttributeError):
        return ""
    for step in steps if isinstance(steps, list) else []:
        kind = step.get("do") if isinstance(step, dict) else None
        if kind not in _KINDS:
            return f'; "do" is one of {", ".join(_KINDS)}'
        known = {field.encode_name: field.required for field in msgspec.structs.fields(_KINDS[kind])}
        missing = [name for name, required in known.items() if required and name not in step]
        if missing or any(name not in known and name != "do" for name in step):
            return f"; a {kind!r} step has {', '.join(n if r else f'[{n}]' for n, r in known.items())}"
    return ""


def _problems(scenario: Scenario) -> Iterator[str]:
    """What a well-formed scenario can still have wrong, each with its field."""
    last = 0
    known: set[str] = set()
    if not scenario.id:
        yield '"id" is empty; give the scenario a name'
    for topic, queues in scenario.topics.items():
        if queues < 1:
            yield f"topics.{topic} is {queues}; a topic has at least one queue"
    for index, step in enumerate(scenario.steps):
        field = f"steps[{index}]"
        if step.at < last:
            yield f"{field}.at is {step.at}, but the step before it is at {last}; steps are ordered by time (ms)"
        last = step.at
        match step:
            case Start(who=who, subscribe=subscribe):
                known.add(who)
                if not subscribe:
                    yield f"{field}.subscribe is empty; a consumer subscribes at least one topic"
                for topic in subscribe:
                    if topic not in scenario.topics:
                        yield f"{field}.subscribe names topic {topic!r}; known topics: {', '.join(scenario.topics)}"
                if step.later_times < 0:
                    yield f"{field}.laterTimes is {step.later_times}; it counts answers, so 0 or more"
            case Stop(who=who) | Cut(who=who) | Freeze(who=who) | Subscribe(who=who) if who not in known:
                started = ", ".join(sorted(known)) or "nobody"
                yield f"{field}.who is {who!r}, who was not started before; started: {started}"
            case Subscribe(topic=topic) | Send(topic=topic) if topic not in scenario.topics:
                yield f"{field}.topic is {topic!r}; known topics: {', '.join(scenario.topics)}"
            case Send(topic=topic, messages=messages):
                queues = scenario.topics[topic]
                for number, message in enumerate(messages):
                    if message.queue is not None and not 0 <= message.queue < queues:
                        at = f"{field}.messages[{number}].queue"
                        yield f"{at} is {message.queue}; {topic!r} has queues 0..{queues - 1}"
            case _:
                pass
