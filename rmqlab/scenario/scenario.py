"""Scenarios: what is started, sent, stopped and broken, and when; one JSON object a line.

The format is that of the recordings, so that the same file drives the real clients and this laboratory. Steps are
ordered by `at` (ms after the topics exist); a step starts late when the one before it took long.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import msgspec

from rmqlab.errors import BadInput
from rmqlab.files import json_value, lines_of, read_text, replace_text
from rmqlab.language import _, joined
from rmqlab.message.java import from_utf8, to_utf8
from rmqlab.message.message import Message
from rmqlab.message.topics import is_valid_name, validate_topic
from rmqlab.rules import POP_VERSIONS, Rules
from rmqlab.scenario.fault_steps import (
    BROKER,
    MAY_BE_BROKER,
    MAY_BE_PRODUCER,
    Fault,
    FaultOrder,
    FaultStep,
    Kill,
    ScenarioStep,
)
from rmqlab.scenario.life_steps import Assign, CreateGroup, DeleteGroup, DeleteTopic, LifeOrder, LifeStep, Unsubscribe
from rmqlab.scenario.scenario_errors import MESSAGES_FIELD, SUBSCRIBE, explained, receive_problems

if TYPE_CHECKING:
    from collections.abc import Iterator


PRODUCER_NAME = "P"  # what the scenario's producer is called
MAX_SCENARIO_QUEUES = 1_024
LONGEST_MS = 7 * 24 * 3_600_000  # a week


class Subscription(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a consumer asks of one topic: `type` TAG or SQL92, and the expression text."""

    type: Literal["TAG", "SQL92"] = "TAG"
    expr: str


class OutgoingMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A message to send: `queue` fixes the queue id, otherwise the producer goes round."""

    body: str
    tag: str | None = None
    keys: str | None = None
    props: dict[str, str] | None = None
    queue: int | None = None

    def message(self, topic: str) -> Message:
        """What the producer is given, for a topic as it is on the wire.

        Raises:
            UserPropertyError: a property that Java refuses.
        """
        message = Message.of(topic, to_utf8(self.body), self.tag, self.keys)
        for name, value in (self.props or {}).items():
            message.put_user_property(name, value)
        return message


Kind: TypeAlias = Literal["push", "lite", "pop", "grpc", "simple"]
PYTHON: Final = {"py": "grpc", "pysimple": "simple"}
"""The clients of rocketmq-client-python, as the Java ones that ask alike."""
POPPING: Final = frozenset({"pop", "grpc", "simple", *PYTHON})


class Start(ScenarioStep, frozen=True, tag="start", kw_only=True):
    """Start consumer `who` of `group`; `later_times`: answer RECONSUME_LATER the first n times a body is seen.

    A lite pull consumer has `who`, `group` and `subscribe` alone, as the recorded ones: it is always clustering.
    In place of `subscribe` it may `assign` itself queues by topic, or have neither and be assigned some later.
    A consumer of kind pop is a push consumer that lets the broker assign it queues to pop, one of kind grpc a
    PushConsumer of a proxy, one of kind simple a SimpleConsumer there: it asks for `batch` messages, invisible for
    `invisible` s, and waits `await` s for them. A message that it is to refuse it leaves alone, or lets it be invisible
    for `change` s more. A push or lite pull consumer `via` a proxy speaks to the proxy's remoting side.
    """

    who: str
    group: str
    subscribe: dict[str, Subscription] = msgspec.field(default_factory=dict)
    assign: dict[str, list[int]] | None = None
    mode: Literal["clustering", "broadcasting"] = "clustering"
    from_: Literal["last", "first"] = msgspec.field(default="last", name="from")
    post: bool = False
    orderly: bool = False
    strategy: Literal["avg", "circle", "hash"] = "avg"
    later_times: int = 0
    trace: bool = False
    kind: Kind | Literal["py", "pysimple"] = "push"
    via: Literal["broker", "proxy"] = "broker"
    batch: int = 32
    invisible: int = 15
    await_: int = msgspec.field(default=10, name="await")
    change: int | None = None

    @property
    def asks_as(self) -> str:
        """Its kind; of a Python client the Java one's."""
        return PYTHON.get(self.kind, self.kind)

    @property
    def pops(self) -> bool:
        """Whether it pops: it owns no queue, and what it has popped is hidden from others for a while."""
        return self.kind in POPPING

    @property
    def broadcasts(self) -> bool:
        """Whether it gets every message of its topics, whatever other members of the group get."""
        return self.mode == "broadcasting" and self.kind == "push"


class Stop(ScenarioStep, frozen=True, tag="stop"):
    """Shut consumer `who` down in good order."""

    who: str


class Subscribe(ScenarioStep, frozen=True, tag="subscribe", kw_only=True):
    """Consumer `who` subscribes again while it runs."""

    who: str
    topic: str
    expr: str
    type: Literal["TAG", "SQL92"] = "TAG"


class Send(ScenarioStep, frozen=True, tag="send"):
    """Send messages one after another, each awaited."""

    topic: str
    messages: list[OutgoingMessage]
    via: Literal["broker", "proxy"] = "broker"


class Alloc(ScenarioStep, frozen=True, tag="alloc"):
    """Ask every running consumer which queues it owns."""


class Offsets(ScenarioStep, frozen=True, tag="offsets"):
    """Ask the broker for the committed and the maximum offset of each queue."""


class Resize(ScenarioStep, frozen=True, tag="resize"):
    """Give a topic more queues, as mqadmin's updateTopic does; ours, the recordings have no such step."""

    topic: str
    queues: int


class ResetOffset(ScenarioStep, frozen=True, tag="resetOffset", kw_only=True):
    """Let a group go on at `to` (ms as `at`; -1: the end of each queue), as mqadmin's resetOffsetByTime does.

    With `direct` the offsets are written at once, also those of a group that no broker has seen. Ours, as resize.
    """

    group: str
    topic: str
    to: int
    direct: bool = False


Step: TypeAlias = Start | Stop | Subscribe | Send | Alloc | Offsets | Resize | ResetOffset | LifeStep | Fault


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One scenario: id, topics (name to number of read and write queues), and steps in order of `at` (ms).

    Topics, groups and clients carry the id on the wire, so that a real broker can run many at once; with
    `plain_names` they do not.
    """

    id: str
    topics: dict[str, int]
    steps: list[Step]
    trace: bool = False
    plain_names: bool = msgspec.field(default=False, name="plainNames")

    def groups(self) -> list[str]:
        """Names of the consumer groups, sorted."""
        return sorted({step.group for step in self.steps if isinstance(step, Start)})

    @property
    def ends_with_question(self) -> bool:
        """Whether the last step asks (`alloc`, `offsets`): then the run ends with it, as those recorded do.

        Any other scenario runs on until nothing more can change what was delivered, committed or lost (`quiescence`).
        """
        return bool(self.steps) and isinstance(self.steps[-1], Alloc | Offsets)

    def to_builtins(self) -> dict[str, Any]:
        """The scenario as the dicts and lists of its JSON form."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def to_json(self) -> str:
        """The scenario as one line of a scenario file, in ASCII."""
        return json.dumps(self.to_builtins())

    def save(self, path: str | Path) -> None:
        """Write the scenario to `path`, a file that `rmqlab simulate`, `explore` and `lint` read.

        Raises:
            BadInput: the file cannot be written.
        """
        try:
            replace_text(Path(path), self.to_json() + "\n")
        except OSError as error:
            raise BadInput(
                _("{path}: {strerror}; name a file that can be written", path=path, strerror=error.strerror)
            ) from error


_KINDS: dict[str, type] = {str(step.__struct_config__.tag): step for step in get_args(Step)}
_OTHERS: dict[str, type] = {"": Scenario, MESSAGES_FIELD: OutgoingMessage, SUBSCRIBE: Subscription}


def read_scenarios(path: str | Path) -> list[Scenario]:
    """All scenarios of a JSON-lines file, in order; one whose name ends in .gz is unpacked.

    Raises:
        BadInput: the file cannot be read, or a line is not a scenario; the text names file, line and field.
    """
    return list(numbered_scenarios(path).values())


def numbered_scenarios(path: str | Path) -> dict[int, Scenario]:
    """All scenarios of a JSON-lines file by the number of their line; raises as `read_scenarios`."""
    path = Path(path)
    return dict(_numbered(str(path), read_text(path, _("a file of scenarios, one JSON object a line"))))


@lru_cache(maxsize=4)  # who runs scenarios of one file hundreds of times parses it once
def _numbered(name: str, text: str) -> dict[int, Scenario]:
    scenarios: dict[int, Scenario] = {}
    seen: dict[str, int] = {}
    for number, line in lines_of(text):
        scenario = parse_scenario(line, _("{name}, line {number}", name=name, number=number))
        if scenario.id in seen:
            used = seen[scenario.id]
            raise BadInput(
                _(
                    '{name}, line {number}: "id" {id} was used by line {used}; ids must differ',
                    name=name,
                    number=number,
                    id=f"{scenario.id!r}",
                    used=used,
                )
            )
        seen[scenario.id] = number
        scenarios[number] = scenario
    if not scenarios:
        raise BadInput(_("{name}: no scenario in it; one JSON object a line is expected", name=name))
    return scenarios


def parse_scenario(text: str, where: str = "scenario") -> Scenario:
    """One scenario from its JSON text.

    Raises:
        BadInput: with `where`, the field, what is wrong and what would be right.
    """
    try:
        # not msgspec's own parser: it refuses lone surrogates, which a body may have
        fields = json_value(text)
    except ValueError as error:
        raise BadInput(_("{where}: not one JSON object ({error})", where=where, error=error)) from error
    return convert_scenario(fields, where)


def convert_scenario(fields: object, where: str = "scenario") -> Scenario:
    """One scenario from the dicts and lists of its JSON form; raises as `parse_scenario`."""
    try:
        scenario = msgspec.convert(fields, Scenario)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: {explained(error, fields, _KINDS, _OTHERS)}") from error
    except UnicodeEncodeError:
        # msgspec cannot name a lone surrogate in its complaint: it gets U+FFFD to complain about
        return parse_scenario(re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(fields, ensure_ascii=False)), where)
    for problem in chain(_name_problems(scenario), step_problems(scenario)):
        raise BadInput(f"{where}: {problem}")
    return scenario


def refusal_of(scenario: Scenario, rules: Rules) -> str | None:
    """Why a scenario cannot be simulated with these rules, naming the field; None if it can."""
    for index, step in enumerate(scenario.steps):
        if isinstance(step, Send) and step.via == "proxy":
            return _("steps[{index}].via is 'proxy': a gRPC producer is not simulated; leave it out", index=index)
        if not isinstance(step, Start) or rules.has_pop or not (step.pops or step.via == "proxy"):
            continue
        values = {"index": index, "version": rules.version, "versions": joined(_(" or "), POP_VERSIONS)}
        if step.pops:
            return _(
                "steps[{index}].kind is {kind}: {version} has no POP; use push or lite, or version {versions}",
                kind=f"{step.kind!r}",
                **values,
            )
        return _(
            "steps[{index}].via is {via}: {version} has no proxy; leave it out, or use version {versions}",
            via=f"{step.via!r}",
            **values,
        )
    return None


def _name_problems(scenario: Scenario) -> Iterator[str]:
    """What a well-formed scenario can have wrong in its id and its topics, each with its field."""
    if not is_valid_name(scenario.id):
        yield _(
            '"id" is {id}; it becomes part of names, so letters, digits, % | _ and - only, and not empty',
            id=f"{scenario.id!r}",
        )
    for topic, queues in scenario.topics.items():
        wire = topic if scenario.plain_names else f"{topic}_{scenario.id}"
        if refusal := validate_topic(wire) if topic else _("empty"):
            yield _(
                "topics: {topic} (on the wire {wire}) is no name for a topic: {refusal}",
                topic=f"{topic!r}",
                wire=wire,
                refusal=refusal,
            )
        if not 1 <= queues <= MAX_SCENARIO_QUEUES:
            yield _(
                "topics.{topic} is {queues}; a topic has 1 to {max_queues} queues",
                topic=topic,
                queues=queues,
                max_queues=MAX_SCENARIO_QUEUES,
            )


def step_problems(scenario: Scenario) -> Iterator[str]:
    """What the steps of a well-formed scenario can still have wrong, each with its field."""
    last = 0
    running: dict[str, bool] = {}
    groups = {step.group for step in scenario.steps if isinstance(step, Start | CreateGroup)}
    life = LifeOrder(scenario.topics, groups)
    faults = FaultOrder(scenario.steps[-1].at if scenario.steps else 0)
    for index, step in enumerate(scenario.steps):
        field = f"steps[{index}]"
        if step.at < 0:
            yield _("{field}.at is {at}; it counts ms after the topics exist, so 0 or more", field=field, at=step.at)
        if step.at < last:
            yield _(
                "{field}.at is {at}, but the step before it is at {last}; steps are ordered by time (ms)",
                field=field,
                at=step.at,
                last=last,
            )
        if step.at > LONGEST_MS:
            yield _(
                "{field}.at is {at} ms; a scenario lasts at most a week ({longest_ms} ms)",
                field=field,
                at=step.at,
                longest_ms=LONGEST_MS,
            )
        last = step.at
        match step:
            case Start():
                yield from _start_problems(step, field, scenario.topics, running)
                is_lite = step.kind == "lite"
                yield from life.starts(step.who, step.subscribe, step.assign, field, is_lite=is_lite)
                yield from faults.starts(step.who, step.at, field)
                running[step.who] = True
            case Stop(who=client) | Subscribe(who=client) | Unsubscribe(who=client) | Assign(who=client) if (
                not running.get(client)
            ):
                yield _not_running(field, client, running)
            case FaultStep():
                yield from faults.problems(step, field)
                yield from _fault_problems(step, field, running)
            case Stop(who=client):
                running[client] = False
            case Subscribe(topic=topic) | Send(topic=topic) | Resize(topic=topic) | ResetOffset(topic=topic) if (
                topic not in scenario.topics
            ):
                yield _(
                    "{field}.topic is {topic}; known topics: {topics}",
                    field=field,
                    topic=f"{topic!r}",
                    topics=joined(", ", scenario.topics) or _("none"),
                )
            case Subscribe(who=client, topic=topic):
                yield from life.subscribes(client, topic, field)
            case Resize(topic=topic, queues=queues):
                least = 1 if life.is_deleted(topic) else life.queues_of[topic]
                if not least <= queues <= MAX_SCENARIO_QUEUES:
                    yield _(
                        "{field}.queues is {queues}; {topic} has {least} and may grow to {max_queues}",
                        field=field,
                        queues=queues,
                        topic=f"{topic!r}",
                        least=least,
                        max_queues=MAX_SCENARIO_QUEUES,
                    )
                life.resized(topic, queues)
            case Unsubscribe() | Assign() | DeleteTopic() | CreateGroup() | DeleteGroup():
                yield from life.problems(step, field)
            case ResetOffset(group=group, to=to):
                yield from _reset_problems(field, group, to)
            case Send(topic=topic, messages=messages):
                for number, message in enumerate(messages):
                    if message.queue is not None and not 0 <= message.queue < life.queues_of[topic]:
                        at = f"{field}.messages[{number}].queue"
                        yield _(
                            "{at} is {queue}; {topic} has queues 0..{queues_of}",
                            at=at,
                            queue=message.queue,
                            topic=f"{topic!r}",
                            queues_of=life.queues_of[topic] - 1,
                        )


def _fault_problems(step: FaultStep, field: str, running: dict[str, bool]) -> Iterator[str]:
    """The one whom a fault hits must be there; whom it kills is there no more."""
    target = getattr(step, "who", None)
    broker = target == BROKER and isinstance(step, MAY_BE_BROKER)
    producer = target == PRODUCER_NAME and isinstance(step, MAY_BE_PRODUCER)
    if target is not None and not (running.get(target) or broker or producer):
        yield _not_running(field, target, running)
    if isinstance(step, Kill):
        running[step.who] = False


def _not_running(field: str, client: str, running: dict[str, bool]) -> str:
    if client in running:
        return _("{field}.who is {who}, who was stopped before", field=field, who=f"{client!r}")
    return _(
        "{field}.who is {who}, who was not started before; started: {running}",
        field=field,
        who=f"{client!r}",
        running=joined(", ", sorted(running)) or _("nobody"),
    )


def _reset_problems(field: str, group: str, to: int) -> Iterator[str]:
    if not group:
        yield _("{field}.group is empty; name the group whose offsets are reset", field=field)
    if to < -1:
        yield _(
            "{field}.to is {to}; give ms on the scenario's clock, or -1 for the end of each queue", field=field, to=to
        )


def _start_problems(step: Start, field: str, topics: dict[str, int], running: dict[str, bool]) -> Iterator[str]:
    if not step.who or step.who in {PRODUCER_NAME, BROKER}:
        taken = _(
            "{producer} is the producer, {broker} the broker", producer=f"{PRODUCER_NAME!r}", broker=f"{BROKER!r}"
        )
        yield _(
            "{field}.who is {who}; give the consumer a name of its own ({taken})",
            field=field,
            who=f"{step.who!r}",
            taken=taken,
        )
    if not step.who.isascii() and step.who != from_utf8(to_utf8(step.who)):
        yield _("{field}.who is {who}; a lone surrogate is no character", field=field, who=f"{step.who!r}")
    if running.get(step.who):
        yield _(
            "{field}.who is {who}, who runs already; stop or kill it first, or give another name",
            field=field,
            who=f"{step.who!r}",
        )
    if not step.group:
        yield _("{field}.group is empty; a consumer belongs to a group", field=field)
    if not step.subscribe and step.kind != "lite":
        yield _("{field}.subscribe is empty; a consumer subscribes at least one topic", field=field)
    for topic in step.subscribe:
        if topic not in topics:
            yield _(
                "{field}.subscribe names topic {topic}; known topics: {topics}",
                field=field,
                topic=f"{topic!r}",
                topics=joined(", ", topics) or _("none"),
            )
    if step.asks_as == "simple":
        yield from receive_problems(step, field)
    if step.later_times < 0:
        yield _(
            "{field}.laterTimes is {later_times}; it counts answers, so 0 or more",
            field=field,
            later_times=step.later_times,
        )
