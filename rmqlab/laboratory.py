"""A cluster in a cell: broker, name server, producer and consumers in virtual time, driven by hand.

`Lab` is what `import rmqlab` offers for experiments. Everything that is done with it makes a scenario, and a run of
that scenario gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import msgspec

from rmqlab.errors import BadInput
from rmqlab.lab.by_hand import HandDrivenSimulation
from rmqlab.lab.scenario import PRODUCER, Scenario, convert_scenario
from rmqlab.lab_results import FrameRecord, LabResult, LabTables
from rmqlab.runtime.network import C2S, S2C

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
    from rmqlab.lab.cluster import ClusterConfig
    from rmqlab.lab.explorer.explored import Explored
    from rmqlab.lab.recorded.facts import Account
    from rmqlab.lab.records import MessageRecord
    from rmqlab.lab.run import Run
    from rmqlab.namesrv.name_server import NameServer
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.runtime.network import Connection
    from rmqlab.runtime.schedule import Schedule

    Consumer = DefaultMQPushConsumer | DefaultLitePullConsumer

VERSION = "4.8.0"
MAX_WAIT_MS = 7 * 24 * 3_600_000  # a week, as a scenario
QUIET_MS = 60_000  # two heartbeats and three rounds of rebalance
_WHERE = re.compile(r"^lab: (steps\[\d+\]\.?)?")


class Lab(LabTables):
    """A broker, a name server, a producer and the consumers that you start, all on one clock that only you move.

    `topics` gives each topic its number of queues. `settings` are those of a 4.8.0 broker under RocketMQ's names
    (`enablePropertyFilter` is true unless you say otherwise). With a `seed` delays vary as on a real network, the same
    way for the same seed; without one each frame takes 1 ms. Times are ms; `now` counts from when the topics were
    ready.

    >>> lab = Lab(topics={"T": 4})
    >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
    >>> lab.run(seconds=60)
    >>> b = lab.consumer("B", group="G", subscribe={"T": "tagB"})
    >>> lab.run(seconds=60)
    >>> sent = lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)
    >>> lab.run(seconds=30)
    >>> sum(fate.lost for fate in lab.fates())
    6

    Raises:
        BadInput: a topic, a setting or the version does not fit; the text says what would.
    """

    def __init__(
        self,
        topics: Mapping[str, int],
        *,
        version: str = VERSION,
        seed: int | None = None,
        name: str = "lab",
        **settings: object,
    ) -> None:
        """`name` is the id of the scenario that this lab makes."""
        if version != VERSION:
            raise BadInput(f"version {version!r}: only {VERSION} is here")
        self.seed = seed
        scenario = _checked({"id": name, "topics": dict(topics), "steps": [], "plainNames": True})
        self._open(scenario, cluster_of(settings))

    def _open(self, scenario: Scenario, cluster: ClusterConfig | None) -> None:
        from rmqlab.lab.explorer.race import RACE_TIMING, RaceChooser

        drawn = {} if self.seed is None else {"chooser": RaceChooser(self.seed), "timing": RACE_TIMING}
        self._cluster = cluster
        self._frames: list[FrameRecord] = []
        self._requests: dict[tuple[int, str, int], str] = {}  # those that wait for an answer, by connection and way
        self._said: list[str] = []
        self._result: LabResult | None = None
        self._simulation = HandDrivenSimulation(scenario, cluster=cluster, **drawn)
        self._simulation.world.on_frame = self._frame

    @classmethod
    def from_scenario(cls, scenario: Scenario | Mapping[str, Any] | str | Path, *, until: float | None = None) -> Self:
        """A lab in which the steps of a scenario were done, to go on from: all, or those up to `until` (ms).

        `scenario` is what `scenario()` gives, its JSON as a dict or a text, or a file (`FILE#ID` chooses one).

        Raises:
            BadInput: it is no scenario, or asks for what is not simulated.
        """
        from rmqlab.commands.explore import chosen_scenario
        from rmqlab.lab.explorer.compare import settings_beside

        cluster = cluster_of({})
        if isinstance(scenario, Path) or (isinstance(scenario, str) and not scenario.lstrip().startswith("{")):
            path, scenario = chosen_scenario(str(scenario))
            cluster = settings_beside(path.parent)
        given = as_scenario(scenario)
        lab = cls.__new__(cls)
        lab.seed = None
        lab._repeat(given, cluster, until)  # noqa: SLF001 - a lab opens a lab
        return lab

    def _repeat(self, scenario: Scenario, cluster: ClusterConfig, until: float | None) -> None:
        self._open(scenario, cluster)
        for step in scenario.steps:
            if until is not None and step.at > until:
                break
            self._simulation.do(step)
        if until is not None and until > self.now:
            self._run_to(int(until))

    @staticmethod
    def from_recording(folder: str | Path, scenario: str) -> LabResult:
        """What a recorded cluster did: the same tables and pictures, of the real broker and real clients.

        `folder` is a recorded set, `scenario` the id of one of its scenarios. It has happened, so it cannot go on.

        Raises:
            BadInput: the folder holds no recording, or no such scenario.
        """
        from rmqlab.lab.recorded.facts import recorded_accounts

        return LabResult.of_account(next(iter(recorded_accounts(folder, [scenario]))))

    # Who takes part.

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

        >>> Lab(topics={"T": 1}).consumer("A", group="G", subscribe={"T": "*"})
        <DefaultMQPushConsumer A of group G: T TAG *; owns nothing>

        Raises:
            BadInput: the name is taken, a topic is unknown, an expression is of the other kind.
        """
        wishes: dict[str, dict[str, str]] = {}
        for kind_of_expression, given in (("TAG", subscribe), ("SQL92", sql92)):
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

        >>> [(row.body, row.queue) for row in Lab(topics={"T": 2}).send("T", ["a", "b"], queues=1)]
        [('MsgStr0', 1), ('MsgStr1', 1)]

        Raises:
            BadInput: lists of different lengths, an unknown topic or queue, a property that is no text.
        """
        columns: dict[str, Any] = {"tag": tags, "body": bodies, "props": properties, "queue": queues, "keys": keys}
        lists = {name: list(v) for name, v in columns.items() if isinstance(v, Sequence) and not isinstance(v, str)}
        lengths = {len(values) for values in lists.values()} or {1}
        if len(lengths) > 1:
            told = ", ".join(f"{len(values)} for {name}" for name, values in lists.items())
            raise BadInput(f"send: the lists have different lengths: {told}")
        count, first = lengths.pop(), len(self._simulation.witness.sent)
        rows = []
        for number in range(count):
            row = {name: lists[name][number] if name in lists else value for name, value in columns.items()}
            if row["body"] is None:
                row["body"] = f"MsgStr{first + number}"
            row["props"] = _texts(row["props"])
            rows.append({name: value for name, value in row.items() if value is not None})
        self._do("send", topic=topic, messages=rows)
        return list(self.messages()[first:])

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

    # Time.

    @property
    def now(self) -> float:
        """Ms since the topics were ready."""
        return self._simulation.at_ms

    def run(
        self,
        *,
        seconds: float | None = None,
        ms: int | None = None,
        until: Callable[[Lab], bool] | None = None,
        settle: bool = False,
    ) -> None:
        """Let time pass: `seconds`, or `ms`, or until `until(lab)` is true, or until the group stands still.

        With `until` a time is the longest wait (60 s unless given); it is asked after everything that happens. Time
        stops at a whole ms.

        >>> lab = Lab(topics={"T": 1})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
        >>> lab.run(until=lambda lab: len(lab.rebalances()) == 1)
        >>> lab.now
        11.0

        Raises:
            BadInput: no time, a negative one, or `until` did not become true.
        """
        given = [value for value in (seconds, ms) if value is not None]
        if len(given) > 1 or (not given and until is None and not settle):
            raise BadInput(
                "run: say how long with seconds=..., or ms=..., or until=a function of the lab, or settle=True"
            )
        wait = QUIET_MS if not given else round(seconds * 1_000) if seconds is not None else int(ms or 0)
        if not 0 <= wait <= MAX_WAIT_MS:
            raise BadInput(f"run: {wait} ms; time runs forward, and at most a week ({MAX_WAIT_MS} ms) at once")
        simulation = self._running()
        last = simulation.next_at + wait
        if settle:
            self._settle(last)
        elif until is None:
            self._run_to(last)
        elif not until(self):
            if not simulation.run_until(lambda: until(self), last):
                raise BadInput(f"run: until did not become true within {wait} ms; now is {self.now:g} ms")
            self._run_to(simulation.next_at)

    def _settle(self, last: int) -> None:
        raise NotImplementedError

    def _run_to(self, at: int) -> None:
        self._running().run_to(at)

    def step(self) -> str:
        """Let the next thing happen that can be seen, and say what it was.

        >>> lab = Lab(topics={"T": 1})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
        >>> lab.step()
        'at 7 ms: 127.0.0.1:10911 -> A: SUCCESS to GET_CONSUMER_LIST_BY_GROUP, there at 8 ms'
        """
        simulation = self._running()
        seen, events = len(simulation.cluster.facts.facts), len(simulation.witness.events)
        self._said.clear()
        while simulation.step():
            self._say_what_happened(seen, events)
            if self._said:
                return f"at {self.now:g} ms: {'; '.join(dict.fromkeys(self._said))}"
        return "nothing is left to happen"

    def _say_what_happened(self, seen: int, events: int) -> None:
        from rmqlab.lab.words import event_in_words, fact_in_words

        simulation = self._simulation
        happened = [fact_in_words(fact) for fact in simulation.cluster.facts.facts[seen:]]
        told = {"consume", "broker"}  # facts say these
        happened += [event_in_words(e) for e in simulation.witness.events[events:] if e["ev"] not in told]
        self._said[:0] = happened

    def _frame(self, connection: Connection, direction: str, command: RemotingCommand, sent: int, due: int) -> None:
        from rmqlab.lab.words import name_of

        ends = (connection.node.name, connection.server.address)
        source, target = ends if direction == C2S else ends[::-1]
        asker = (connection.number, direction if command.is_response else _back(direction), command.opaque)
        request = self._requests.pop(asker, None) if command.is_response else name_of(command)
        if request is not None and not command.is_response and not command.is_oneway:
            self._requests[asker] = request
        answer = name_of(command) if command.is_response else None
        times = sent / 1_000, due / 1_000
        self._frames.append(FrameRecord(len(self._frames), *times, source, target, request, answer, command.opaque))
        what = request if answer is None else answer if request is None else f"{answer} to {request}"
        self._said.append(f"{source} -> {target}: {what}, there at {(due - self._simulation.began_us) / 1_000:g} ms")

    # What can be looked into: the real objects of the core.

    @property
    def broker(self) -> Broker:
        """The broker itself; after a restart it is another one."""
        return self._simulation.cluster.broker

    @property
    def namesrv(self) -> NameServer:
        """The name server itself."""
        return self._simulation.cluster.namesrv

    @property
    def producer(self) -> DefaultMQProducer:
        """The producer, a client like the others."""
        return self._simulation.producer

    @property
    def clients(self) -> dict[str, Consumer]:
        """The consumers that run, by the names they were started under."""
        return {who: consumer.client for who, consumer in self._simulation.consumers.items()}

    def frames(self) -> Any:
        """Every frame between clients and servers since the lab was opened: when it left, when it arrives."""
        from rmqlab.show.records import Records

        return Records("Frames", FrameRecord, self._frames)

    # What it makes.

    def scenario(self) -> Scenario:
        """What was done so far as a scenario that ends now: `save(FILE)` writes it for `rmqlab simulate`."""
        return self._simulation.exported()

    def schedule(self) -> Schedule:
        """The choices of this run so far (none without a seed), for `rmqlab simulate --schedule`.

        The end of a scenario makes choices too, so with a seed call `finish()` first.
        """
        return self._account_run().schedule

    def explore(self, *, budget: int = 2_000, **options: Any) -> Explored:
        """Every outcome that what was done so far can have: each order of frames, each timer that is open.

        At most about `budget` runs are made. The answer has `outcomes` (share, who got what, schedule), `exhausted`,
        and properties that hold or fail; other `options` are those of `rmqlab.lab.explorer.explore.Explorer`.
        """
        from rmqlab.lab.explorer.explore import Explorer

        return Explorer(self.scenario(), budget=budget, cluster=self._cluster, **options).explore()

    def finish(self) -> LabResult:
        """End the lab as a scenario ends: ask for queues and offsets, shut everybody down. Then nothing can be done.

        `lines()` of the answer are the bytes that `rmqlab simulate` writes for `scenario()`.
        """
        if self._result is None:
            self._result = LabResult(self._running().end())
        return self._result

    # Inside.

    def _running(self) -> HandDrivenSimulation:
        if self._result is not None:
            raise BadInput("this lab was finished; Lab.from_scenario(lab.scenario()) opens it again")
        return self._simulation

    def _do(self, kind: str, /, **fields: Any) -> None:
        simulation = self._running()
        at = simulation.next_at
        plain = {"do": kind, "at": at, **{name: value for name, value in fields.items() if value is not None}}
        before = msgspec.to_builtins(simulation.scenario)
        step = _checked(before | {"steps": [*before["steps"], plain]}).steps[-1]
        errors = len(simulation.witness.events)
        simulation.do(step)
        for event in simulation.witness.events[errors:]:
            if event["ev"] == "startFailed" or (event["ev"] == "error" and kind != "send"):
                _refused(kind, event)

    def _account_run(self) -> Run:
        return self._simulation.so_far() if self._result is None else self._result.run

    def _account(self) -> Account:
        from rmqlab.lab.recorded.facts import account_of

        return account_of(self._account_run())

    def __repr__(self) -> str:
        """Time, topics, members, and how many messages were lost."""
        simulation = self._simulation
        name, topics = simulation.scenario.id, ", ".join(f"{t} ({n})" for t, n in simulation.scenario.topics.items())
        members = ", ".join(f"{who} of {one.step.group}" for who, one in simulation.consumers.items()) or "nobody"
        lost, sent = sum(fate.lost for fate in self.fates()), len(simulation.witness.sent)
        return f"<Lab {name} at {self.now:g} ms: topics {topics}; running: {members}; {sent} sent, {lost} lost>"


def cluster_of(settings: Mapping[str, object]) -> ClusterConfig:
    """A cluster whose broker has these settings, by RocketMQ's names; `enablePropertyFilter` is true unless given.

    Raises:
        BadInput: a 4.8.0 broker has no such setting, or the value is not of its kind.
    """
    from rmqlab.broker.broker_config import BrokerConfig, unknown_keys
    from rmqlab.lab.cluster import ClusterConfig
    from rmqlab.store.config import MessageStoreConfig

    given = {"enablePropertyFilter": True, **settings}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    for name in unknown_keys(texts):
        raise BadInput(f"setting {name!r}: a 4.8.0 broker has none of this name")
    return ClusterConfig(
        broker=BrokerConfig.from_properties(texts, where="Lab"),
        store=MessageStoreConfig.from_properties(texts, where="Lab"),
    )


def as_scenario(given: Scenario | Mapping[str, Any] | str) -> Scenario:
    """A scenario from itself, its dict, or its JSON text. Raises `BadInput` if it is none."""
    from rmqlab.lab.scenario import parse_scenario

    if isinstance(given, Scenario):
        return given
    return parse_scenario(given) if isinstance(given, str) else convert_scenario(given)


def _checked(fields: dict[str, Any]) -> Scenario:
    try:
        return convert_scenario(fields, "lab")
    except BadInput as error:
        raise BadInput(_WHERE.sub("", str(error))) from None


def _texts(properties: Mapping[str, object] | None) -> dict[str, object] | None:
    for name, value in (properties or {}).items():
        if not isinstance(value, str):
            raise BadInput(f"send: property {name!r} is {value!r}; a property is a text, such as {str(value)!r}")
    return None if properties is None else dict(properties)


def _back(direction: str) -> str:
    return S2C if direction == C2S else C2S


def _no_condition(topic: str, expression: str) -> None:
    """A condition given as a tag matches nothing, so it is refused."""
    if re.search(r"[<>=]|\b(IS|IN|BETWEEN|AND|OR|NOT)\b", expression):
        raise BadInput(
            f"{expression!r} looks like a SQL92 condition, but it was given as a tag expression; "
            f"write sql92={{{topic!r}: {expression!r}}}"
        )


def _refused(kind: str, event: Mapping[str, Any]) -> NoReturn:
    raise BadInput(f"{kind} {event.get('who', PRODUCER)}: {event['error']}: {event['message']}")
