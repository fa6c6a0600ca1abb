"""What can be done in a `Lab`: consumers and messages, and everything that can break."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rmqlab.client.client_config import ProducerConfig
from rmqlab.client.client_error import MQClientError, check_message
from rmqlab.errors import BadInput
from rmqlab.lab.recorded_events import StartFailed, StepFailed
from rmqlab.lab.records import messages
from rmqlab.lab.results import LabTables
from rmqlab.lab.run import Run
from rmqlab.lab.scenario import PRODUCER, Scenario, Send, convert_scenario, refusal_of
from rmqlab.message.message import UserPropertyError
from rmqlab.protocol.subscription_data import build_subscription_data

if TYPE_CHECKING:
    from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
    from rmqlab.lab.by_hand import HandDrivenSimulation
    from rmqlab.lab.records import MessageRecord

    Consumer = DefaultMQPushConsumer | DefaultLitePullConsumer

_WHERE = re.compile(r"^lab: (steps\[\d+\](\.|: ))?")


class LabSteps(LabTables):
    """The steps of a `Lab`. Each is done now, and stands in the scenario that the lab makes."""

    _simulation: HandDrivenSimulation

    def _running(self) -> HandDrivenSimulation:
        raise NotImplementedError

    @property
    def clients(self) -> dict[str, Consumer]:
        """The consumers that run, by the names they were started under: the clients themselves."""
        return {who: consumer.client for who, consumer in self._simulation.consumers.items()}

    def consumer(
        self,
        who: str,
        *,
        group: str,
        subscribe: Mapping[str, str] | None = None,
        sql92: Mapping[str, str] | None = None,
        kind: Literal["push", "lite"] = "push",
        mode: Literal["clustering", "broadcasting"] = "clustering",
        strategy: Literal["avg", "circle", "hash"] = "avg",
        consume_from: Literal["last", "first"] = "last",
        orderly: bool = False,
        post_subscription: bool = False,
        later_times: int = 0,
    ) -> Consumer:
        """Start a consumer of `group` and return the client itself.

        `subscribe` maps topics to tag expressions ("tagA", "a || b", "*"), `sql92` topics to conditions. `strategy`
        names how queues are shared out; `later_times`: the listener refuses each message that often before it takes it.
        A consumer of kind "lite" is clustering, has no listener, and takes none of the options behind `kind`.

        >>> from rmqlab import Lab
        >>> Lab(topics={"T": 1}).consumer("A", group="G", subscribe={"T": "*"})
        <DefaultMQPushConsumer A of group G: T TAG *; owns nothing>

        Raises:
            BadInput: the name is taken, a topic is unknown, an expression is of the other kind, or an option is not for
                this kind of consumer.
        """
        if kind == "lite":
            options = {
                "mode": mode != "clustering", "strategy": strategy != "avg", "consume_from": consume_from != "last",
                "orderly": orderly, "post_subscription": post_subscription, "later_times": later_times,
            }  # fmt: skip
            given_too = ", ".join(name for name, given in options.items() if given)
            if given_too:
                raise BadInput(f"{who}: kind is 'lite', which takes no {given_too}")
        wishes: dict[str, dict[str, str]] = {}
        for kind_of_expression, given in (("TAG", subscribe), ("SQL92", sql92)):
            _wanted(who, given or {})
            for topic, expression in (given or {}).items():
                if topic in wishes:
                    raise BadInput(
                        f"{who} asks twice for {topic!r}: by a tag and by SQL92; a consumer has one of the two"
                    )
                if kind_of_expression == "TAG":
                    _no_condition(topic, expression)
                wishes[topic] = {"type": kind_of_expression, "expr": expression}
        extra = {
            "kind": kind, "mode": mode, "strategy": strategy, "from": consume_from, "orderly": orderly,
            "post": post_subscription, "laterTimes": later_times,
        }  # fmt: skip
        self._do("start", who=who, group=group, subscribe=wishes, **extra)
        return self.clients[who]

    def subscribe(self, who: str, topic: str, expression: str | None = None, *, sql92: str | None = None) -> None:
        """Let a running consumer subscribe `topic` anew, by a tag expression or by `sql92`."""
        if (expression is None) == (sql92 is None):
            raise BadInput("subscribe: give a tag expression or sql92='...', one of the two")
        _wanted(who, {topic: sql92 if expression is None else expression})
        if expression is not None:
            _no_condition(topic, expression)
            self._do("subscribe", who=who, topic=topic, expr=expression)
        else:
            self._do("subscribe", who=who, topic=topic, expr=sql92, type="SQL92")

    def stop(self, who: str) -> None:
        """Shut a consumer down in good order."""
        self._do("stop", who=who)

    def send(
        self,
        topic: str,
        tags: str | Sequence[str | None] | None = None,
        *,
        bodies: Sequence[str] | None = None,
        properties: Mapping[str, str] | Sequence[Mapping[str, str] | None] | None = None,
        queues: int | Sequence[int | None] | None = None,
        keys: str | Sequence[str | None] | None = None,
    ) -> list[MessageRecord]:
        """Send messages one after another, and return where they went.

        One message for each of `tags` (None: no tag), `bodies` or `properties`, whichever is a list; a single value
        is for all of them. Bodies are MsgStr0, MsgStr1, ... unless given. Without `queues` the producer goes round.

        >>> from rmqlab import Lab
        >>> [(row.body, row.queue) for row in Lab(topics={"T": 2}).send("T", ["a", "b"], queues=1)]
        [('MsgStr0', 1), ('MsgStr1', 1)]

        Raises:
            BadInput: lists of different lengths, an unknown topic or queue, a property that is no text or that only
                RocketMQ itself sets, a body that is empty or above 4 MiB; then none of them is sent.
        """
        columns: dict[str, Any] = {"tag": tags, "body": bodies, "props": properties, "queue": queues, "keys": keys}
        lists = {name: list(v) for name, v in columns.items() if isinstance(v, Sequence) and not isinstance(v, str)}
        lengths = {len(values) for values in lists.values()} or {1}
        if len(lengths) > 1:
            told = ", ".join(f"{len(values)} for {name}" for name, values in lists.items())
            raise BadInput(f"send: the lists have different lengths: {told}")
        count, first = lengths.pop(), len(self._simulation.recorder.sent)
        rows = []
        for number in range(count):
            row = {name: lists[name][number] if name in lists else value for name, value in columns.items()}
            if row["body"] is None:
                row["body"] = f"MsgStr{first + number}"
            row["props"] = _texts(row["props"])
            rows.append({name: value for name, value in row.items() if value is not None})
        self._do("send", topic=topic, messages=rows)
        run = Run(self._simulation.exported(), self._simulation.recorder.events, self._simulation.cluster.facts, [])
        return list(messages(run))[first:]

    def resize(self, topic: str, queues: int) -> None:
        """Give a topic more queues, as mqadmin's updateTopic does."""
        self._do("resize", topic=topic, queues=queues)

    def reset_offset(self, group: str, topic: str, to: int = -1, *, direct: bool = False) -> None:
        """Let a group go on at the time `to` (ms, the clock of `now`; -1: the end), as mqadmin's resetOffsetByTime."""
        self._do("resetOffset", group=group, topic=topic, to=to, direct=direct)

    # Faults: what each one does stands in the class of its step, in rmqlab.lab.fault_steps.

    def cut(self, who: str) -> None:
        """Reset `who`'s connection to the broker; both sides learn of it."""
        self._do("cut", who=who)

    def freeze(self, who: str, ms: int | None = None) -> None:
        """Swallow every frame of `who`'s connection, and tell nobody; with `ms` hold them so long instead."""
        self._do("freeze", who=who, forMs=ms)

    def kill(self, who: str, *, silent: bool = False) -> None:
        """End `who`'s process without a goodbye; `silent`: its connections do not even close."""
        self._do("kill", who=who, silent=silent)

    def pause(self, who: str, ms: int) -> None:
        """Stop `who` (or "broker") for `ms`, as a long garbage collection does."""
        self._do("pause", who=who, forMs=ms)

    def slow(self, who: str, ms: int, for_ms: int | None = None) -> None:
        """Every frame of `who`'s links takes `ms` more."""
        self._do("slow", who=who, ms=ms, forMs=for_ms)

    def clock(self, who: str, by_ms: int) -> None:
        """Move the clock of `who` (or "broker") by `by_ms`; timers do not notice."""
        self._do("clock", who=who, byMs=by_ms)

    def lose_heartbeat(self, who: str, times: int = 1) -> None:
        """The next heartbeats of `who` never arrive."""
        self._do("loseHeartbeat", who=who, times=times)

    def restart_broker(self, down_ms: int, *, crash: bool = False) -> None:
        """Stop the broker for `down_ms`; with `crash` the offsets that were not written yet are gone."""
        self._do("restartBroker", downMs=down_ms, crash=crash)

    def stop_namesrv(self) -> None:
        """Stop the name server."""
        self._do("namesrvDown")

    def start_namesrv(self) -> None:
        """Start the name server again; it knows nothing until the broker registers."""
        self._do("namesrvUp")

    def _do(self, kind: str, /, **fields: Any) -> None:
        simulation = self._running()
        at = simulation.next_at
        plain = {"do": kind, "at": at, **{name: value for name, value in fields.items() if value is not None}}
        done = msgspec.to_builtins(simulation.scenario)
        step = checked(done | {"steps": [*done["steps"], plain]}).steps[-1]
        if isinstance(step, Send):
            _require_sendable(step)
        facts = simulation.cluster.facts
        before = len(facts)
        simulation.do(step)
        for fact in facts[before:]:
            match fact.event:
                case StartFailed(who=who, error=error, message=message):
                    raise BadInput(f"{kind} {who}: {error}: {message}")
                case StepFailed(error=error, message=message) if kind != "send":
                    raise BadInput(f"{kind} {PRODUCER}: {error}: {message}")


def checked(fields: dict[str, Any]) -> Scenario:
    """A scenario from the dicts of its JSON form; the error of a bad call names the argument, not a place in a file."""
    try:
        scenario = convert_scenario(fields, "lab")
    except BadInput as error:
        raise BadInput(_WHERE.sub("", str(error))) from None
    refusal = refusal_of(scenario)
    if refusal is not None:
        raise BadInput(_WHERE.sub("", f"lab: {refusal}"))
    return scenario


def _require_sendable(step: Send) -> None:
    """A message that no client sends is refused before the first one leaves; one that gets lost is none of those."""
    for number, outgoing in enumerate(step.messages):
        try:
            check_message(outgoing.message(step.topic), ProducerConfig.max_message_size)
        except (UserPropertyError, MQClientError) as error:
            why = error.error_message if isinstance(error, MQClientError) else error
            raise BadInput(f"send: message {number}: {why}") from error


def _texts(properties: object) -> dict[str, object] | None:
    if not isinstance(properties, Mapping | None):
        raise BadInput(f'send: properties of a message are {properties!r}; right is names and texts: {{"a": "5"}}')
    for name, value in (properties or {}).items():
        if not isinstance(value, str):
            raise BadInput(f"send: property {name!r} is {value!r}; a property is a text, such as {str(value)!r}")
    return None if properties is None else dict(properties)


def _wanted(who: str, given: object) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given.values()):
        raise BadInput(f'{who} subscribes {given!r}; right is topic and expression: {{"T": "tagA"}}')


def _no_condition(topic: str, expression: str) -> None:
    """A condition given as a tag matches nothing, so it is refused, as is what no client can subscribe."""
    if re.search(r"[<>=]|\b(IS|IN|BETWEEN|AND|OR|NOT)\b", expression):
        raise BadInput(
            f"{expression!r} looks like a SQL92 condition, but it was given as a tag expression; "
            f"write sql92={{{topic!r}: {expression!r}}}"
        )
    try:
        build_subscription_data(None, topic, expression)
    except BadInput as error:
        right = f'write tags with || between, as in {{{topic!r}: "tagA || tagB"}}, or "*"'
        raise BadInput(f"{expression!r} is a tag expression that no client can subscribe ({error}); {right}") from None
