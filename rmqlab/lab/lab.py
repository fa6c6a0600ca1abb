"""A cluster in a cell: broker, name server, producer and consumers in virtual time, driven by hand.

`Lab` is what `import rmqlab` offers for experiments. Everything that is done with it makes a scenario, and a run of
that scenario gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import finalize

from rmqlab.errors import BadInput
from rmqlab.lab.interactive import InteractiveSimulation
from rmqlab.lab.lab_steps import LabSteps
from rmqlab.lab.step_arguments import checked
from rmqlab.language import _, joined
from rmqlab.rules import RULES, Rules, rules_of
from rmqlab.run.facts import SCENARIO, ms_text
from rmqlab.run.recorded_events import GroupViewed
from rmqlab.run.records import from_zero
from rmqlab.run.results import LabResult, Records
from rmqlab.sim.cluster import changed_settings, cluster_of
from rmqlab.sim.frame_log import FrameLog, FrameRecord
from rmqlab.sim.quiescence import Quiescence
from rmqlab.sim.simulate import LONGEST_REST_MS, LOOK_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.namesrv.name_server import NameServer
    from rmqlab.plugins import Exploration
    from rmqlab.run.run import Run
    from rmqlab.scenario.scenario import Scenario
    from rmqlab.scenario.schedule import Schedule
    from rmqlab.sim.cluster import ClusterConfig

MAX_WAIT_MS = 7 * 24 * 3_600_000  # a week, as a scenario
WAIT_MS = 60_000  # two heartbeats and three rounds of rebalance


class Lab(LabSteps):
    """A broker, a name server, a producer and the consumers that you start, all on one clock that only you move.

    `topics` gives each topic its number of queues. `settings` are those of a 4.8.0 broker under RocketMQ's names
    (`enablePropertyFilter` is true unless you say otherwise). With a `seed` times are drawn as often as recordings of
    real clients show them, the same for the same seed: frames, threads, starts, the broker's registration. So first
    pulls are refused at four starts of ten (SUBSCRIPTION_NOT_LATEST), as there. Left out is that the broker's threads
    may handle two requests at once. Without a seed each frame takes 1 ms and no thread is late. `version` is that of
    broker and clients: 4.8.0 unless you say another of `RULES`. `rules` are its own unless you replace some:
    `RULES["4.8.0"].replace(client_keeps=mine)`. Times are ms since the topics were ready: `now`, `step()`, `t` in
    tables, pictures and the versions in them (`LabTables`).

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
        version: str | None = None,
        seed: int | None = None,
        name: str = "lab",
        rules: Rules | None = None,
        **settings: object,
    ) -> None:
        """`name` is the id of the scenario that this lab makes."""
        chosen = rules_of(version, rules)
        if not isinstance(topics, Mapping):
            raise BadInput(_('topics is {topics}; right is a name and its queues: {{"T": 4}}', topics=f"{topics!r}"))
        for topic in topics:
            if not isinstance(topic, str):
                raise BadInput(
                    _('topics names {topic}; right is a text and its queues: {{"T": 4}}', topic=f"{topic!r}")
                )
        self.seed = seed
        scenario = checked({"id": name, "topics": dict(topics), "steps": [], "plainNames": True}, chosen)
        self._open(scenario, cluster_of(settings, chosen))

    def _open(self, scenario: Scenario, cluster: ClusterConfig) -> None:
        from rmqlab.plugins import NETWORK_TIMING, NetworkChooser

        drawn = {} if self.seed is None else {"chooser": NetworkChooser(self.seed), "timing": NETWORK_TIMING}
        self._cluster = cluster
        # A broker sizes its bit map as it starts and writes that into its settings; a link has those that were given.
        self._given = replace(cluster, broker=copy(cluster.broker), store=copy(cluster.store))
        self._frames = FrameLog()
        self._result: LabResult | None = None
        self._simulation = InteractiveSimulation(scenario, cluster=cluster, **drawn)
        self._simulation.world.on_frame = self._frames.see
        finalize(self, self._simulation.world.scheduler.close)  # what has not begun ends without a warning

    @classmethod
    def from_scenario(
        cls,
        scenario: Scenario | Mapping[str, Any] | str | Path,
        *,
        until: float | None = None,
        version: str | None = None,
        rules: Rules | None = None,
        **settings: object,
    ) -> Self:
        """A lab in which the steps of a scenario were done, to go on from: all, or those up to `until` (ms).

        `scenario` is what `scenario()` gives, its JSON as a dict or a text, or a file (`FILE#ID` chooses one). It has
        neither the `version`, the `rules` nor the `settings` of the lab that made it: give them again.

        Raises:
            BadInput: it is no scenario, or asks for what is not simulated; `until` is no time.
        """
        from rmqlab.sim.scenario_inputs import scenario_and_settings

        if until is not None:
            _check_time(until)

        given, cluster = scenario_and_settings(scenario, settings, rules_of(version, rules))
        lab = cls.__new__(cls)
        lab.seed = None
        lab._open(given, cluster)  # noqa: SLF001 - a lab opens a lab
        for step in given.steps:
            if until is not None and step.at > until:
                break
            lab._simulation.do(step)  # noqa: SLF001
        if until is not None and until > lab.now:
            lab._running().run_to(int(until))  # noqa: SLF001
        return lab

    @staticmethod
    def from_recording(folder: str | Path, scenario: str) -> LabResult:
        """What a recorded cluster did: the same tables and pictures, of the real broker and real clients.

        `folder` is a recorded set, `scenario` the id of one of its scenarios. It has happened, so it cannot go on.

        Raises:
            BadInput: the folder holds no recording, or no such scenario.
        """
        from rmqlab.plugins import read_runs

        return LabResult(next(iter(read_runs(folder, [scenario]))))

    @staticmethod
    def recordings(folder: str | Path, *kinds: str) -> list[LabResult]:
        """All scenarios of a recorded set, as `from_recording` gives one; of these `kinds` only: words of their ids.

        Raises:
            BadInput: the folder holds no recording, or none of these kinds.
        """
        from rmqlab.plugins import read_runs, recorded_ids

        ids = [name for name in recorded_ids(folder) if not kinds or set(kinds) & set(name.split("-"))]
        if not ids:
            raise BadInput(_("{folder}: no scenario of the kind {kinds}", folder=folder, kinds=joined(", ", kinds)))
        return [LabResult(run) for run in read_runs(folder, ids)]

    @property
    def rules(self) -> Rules:
        """The rules of broker and clients."""
        return self._cluster.rules

    # Time.

    @property
    def now(self) -> float:
        """Ms since the topics were ready: the zero of all times that a lab shows (`LabTables`)."""
        return self._simulation.at_ms

    def run(
        self,
        *,
        seconds: float | None = None,
        ms: int | None = None,
        until: Callable[[Lab], bool] | None = None,
        settle: bool = False,
    ) -> None:
        """Let time pass: `seconds`, or `ms`, or until `until(lab)` is true, or until all stands still (`settle`).

        It stands still when nothing more can change what was delivered, committed or lost. With `until` and `settle` a
        time is the longest wait (60 s and 240 s unless given); `until` is asked after everything that happens.
        Time stops at a whole ms.

        >>> lab = Lab(topics={"T": 1})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
        >>> lab.run(until=lambda lab: len(lab.rebalances()) == 1)
        >>> lab.now
        11.0

        Raises:
            BadInput: no time, a negative one, `until` is no function or did not become true, or nothing stands still.
        """
        given = [(value, per) for value, per in ((seconds, 1_000), (ms, 1)) if value is not None]
        if len(given) > 1 or (not given and until is None and not settle):
            raise BadInput(
                _("run: say how long with seconds=..., or ms=..., or until=a function of the lab, or settle=True")
            )
        _check_until(until, settle=settle)
        wait = LONGEST_REST_MS if settle else WAIT_MS
        for value, per in given:
            if not _is_time(value):
                raise BadInput(_("run: {value} is no time; right is a number, such as seconds=60", value=f"{value!r}"))
            if not 0 <= value * per <= MAX_WAIT_MS:
                asked_ms = ms_text(value * per)
                raise BadInput(
                    _(
                        "run: {told} ms; time runs forward, and at most a week ({max_wait_ms} ms) at once",
                        told=asked_ms,
                        max_wait_ms=MAX_WAIT_MS,
                    )
                )
            wait = round(float(value) * per) if per > 1 else int(value)
        simulation = self._running()
        last = simulation.next_at + wait
        if settle:
            self._settle(last)
        elif until is None:
            simulation.run_to(last)
        elif not until(self):
            if not simulation.run_to(last, lambda: until(self)):
                raise BadInput(
                    _(
                        "run: until did not become true within {wait} ms; now is {now} ms",
                        wait=wait,
                        now=ms_text(self.now),
                    )
                )
            simulation.run_to(simulation.next_at)

    def _settle(self, last: int) -> None:
        """Run to where a scenario without a question at its end ends (`quiescence`)."""
        simulation = self._running()
        quiescence = Quiescence(simulation.cluster, simulation.consumers)
        while (under_way := quiescence.under_way(faults=simulation.faults.to_come)) is not None:
            if simulation.next_at >= last:
                raise BadInput(
                    _(
                        "run: by {now} ms it does not stand still: {under_way}",
                        now=ms_text(self.now),
                        under_way=under_way,
                    )
                )
            simulation.run_to(min(simulation.next_at + LOOK_MS, last))

    def step(self) -> str:
        """Let the next thing happen that can be seen, and say what it was.

        >>> lab = Lab(topics={"T": 1})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
        >>> lab.step()
        'at 7 ms: 127.0.0.1:10911 -> A: SUCCESS to GET_CONSUMER_LIST_BY_GROUP, there at 8 ms'
        """
        simulation = self._running()
        seen, frames = len(simulation.cluster.facts), len(self._frames.records)
        while simulation.step():
            happened = self._say_what_happened(seen, frames)
            if happened:
                return _(
                    "at {now} ms: {fromkeys}", now=ms_text(self.now), fromkeys=joined("; ", dict.fromkeys(happened))
                )
        return _("nothing is left to happen")

    def _say_what_happened(self, seen: int, frames: int) -> list[str]:
        facts = self._simulation.cluster.facts[seen:]
        facts.sort(key=lambda fact: fact.source == SCENARIO)
        began = self._simulation.began_us / 1_000
        happened = [fact.words() for fact in facts if not isinstance(fact.event, GroupViewed)]
        return happened + [frame.in_words(began) for frame in self._frames.records[frames:]]

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

    def frames(self) -> Records[FrameRecord]:
        """Every frame between clients and servers since the lab was opened: when it left, when it arrives."""
        return Records("Frames", FrameRecord, from_zero(self._frames.records, self._simulation.zero))

    # What it makes.

    def scenario(self) -> Scenario:
        """What was done so far as a scenario that ends now: `save(FILE)` writes it for `rmqlab simulate`.

        It holds neither settings nor rules of your own: who runs it gives the same bytes only with the same ones.
        """
        return self._simulation.exported()

    def schedule(self) -> Schedule:
        """The choices of this run so far (none without a seed), for `rmqlab simulate --schedule`.

        The end of a scenario makes choices too, so with a seed call `finish()` first.
        """
        return self._run().schedule

    def link(self) -> str:
        """What was done so far as text for a page's address, after its #: `loss.html#...` of the site shows it.

        `rmqlab simulate --link TEXT` runs it, too: to the bytes of `finish()`. The page goes on until 30 s after the
        last step, so let so much time pass before you make a link. With a seed call `finish()` first, as for
        `schedule()`.

        >>> lab = Lab(topics={"T": 4})
        >>> a = lab.consumer("A", group="G", subscribe={"T": "tagA"})
        >>> lab.run(seconds=30)
        >>> text = lab.link()
        >>> len(text) < 2_000, text.replace("-", "").replace("_", "").isalnum()
        (True, True)

        Raises:
            BadInput: the lab has a rule of your own, which no text carries.
        """
        from rmqlab.plugins import Link

        version = next((name for name, known in RULES.items() if known == self.rules), None)
        if version is None:
            raise BadInput(
                _(
                    "link: a rule of your own is no text; a link carries the rules of {rules}",
                    rules=joined(" or ", RULES),
                )
            )
        settings = changed_settings(self._given)
        schedule = None if self.seed is None else self.schedule()
        return Link(self.scenario(), schedule=schedule, version=version, settings=settings).text()

    def write_store(self, folder: str | Path) -> Path:
        """Write what the broker keeps in files as they are now: commit log, queues, offsets, topics. Returns `folder`.

        It is laid out as 4.8.0 lays it out, for `rmqlab.audit` and `spark.read.format("rocketmq")`.

        >>> from tempfile import mkdtemp
        >>> lab = Lab(topics={"T": 1})
        >>> sent = lab.send("T", ["tagA"])
        >>> sorted(file.name for file in lab.write_store(mkdtemp() + "/store").iterdir())
        ['commitlog', 'config', 'consumequeue', 'lock']

        Raises:
            BadInput: the folder is not empty, or cannot be written.
        """
        from rmqlab.plugins import write_store

        return write_store(self.broker, Path(folder))

    def explore(self, *, budget: int = 2_000, **options: Any) -> Exploration:
        """Every outcome that what was done so far can have: each order of frames, each timer that is open.

        At most about `budget` runs are made. The answer has `outcomes` (share, who got what, schedule), `exhausted`,
        and properties that hold or fail; other `options` are those of `Explorer`.
        """
        from rmqlab.plugins import Explorer

        return Explorer(self.scenario(), budget=budget, cluster=self._cluster, **options).explore()

    def finish(self) -> LabResult:
        """End the lab as a scenario ends: ask for queues and offsets, shut everybody down. Then nothing can be done.

        `lines()` of the answer are the bytes that `rmqlab simulate` writes for `scenario()`.
        """
        if self._result is None:
            self._result = LabResult(self._running().end())
        return self._result

    # Inside.

    def _running(self) -> InteractiveSimulation:
        if self._result is not None or self._simulation.broken_by is not None:
            error = self._simulation.broken_by
            ended = _("was finished") if self._result is not None else _("was broken by {error}", error=error)
            raise BadInput(
                _(
                    "this lab {ended}; Lab.from_scenario(lab.scenario(), ...) opens it again, as it was opened",
                    ended=ended,
                )
            )
        return self._simulation

    def _run(self) -> Run:
        return self._simulation.so_far() if self._result is None else self._result.run

    def __repr__(self) -> str:
        """Time, topics, members, and how many messages were lost."""
        simulation = self._simulation
        name, known = simulation.scenario.id, simulation.scenario.topics | simulation.queues()
        topics = joined(", ", (f"{topic} ({queues})" for topic, queues in known.items())) or _("none")
        members = joined(
            ", ",
            (
                _("{who} of {group}", who=consumer_name, group=consumer.step.group)
                for consumer_name, consumer in simulation.consumers.items()
            ),
        ) or _("nobody")
        lost, sent = sum(fate.lost for fate in self.fates()), len(simulation.recorder.sent)
        now = ms_text(self.now)
        return f"<Lab {name} at {now} ms: topics {topics}; running: {members}; {sent} sent, {lost} lost>"

    def __reduce__(self) -> str:
        """What `copy` and `pickle` ask for."""
        raise BadInput(
            _("a lab cannot be copied; Lab.from_scenario(lab.scenario(), ...) opens another, as it was opened")
        )


def _is_time(value: Any) -> bool:
    """Whether it is a finite number, of Python or of numpy."""
    try:
        return not isinstance(value, str) and math.isfinite(value)
    except (TypeError, OverflowError):
        return False


def _check_time(until: Any) -> None:
    if not _is_time(until) or not 0 <= until <= MAX_WAIT_MS:
        raise BadInput(
            _("until is {until}; right is ms since the topics were ready, such as 60_000", until=f"{until!r}")
        )


def _check_until(until: object, *, settle: bool) -> None:
    if until is None:
        return
    if settle:
        raise BadInput(_("run: until and settle are two ways to end a run; give one of them"))
    if not callable(until):
        raise BadInput(
            _(
                "run: until is {until}; right is a function: until=lambda lab: len(lab.rebalances()) == 1",
                until=f"{until!r}",
            )
        )
