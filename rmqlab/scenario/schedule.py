"""Choice points, and schedules: the written-down list of choices that makes a run repeatable.

Everything that is left open by the rules (a network delay, the producer's first queue, the phase of a timer) is
asked of a `Chooser` as "one of n", and every such question has a number. A `Schedule` holds the answers that
differ from 0, as small JSON; running the same scenario with the same schedule gives the same events, byte for byte.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rmqlab.errors import BadInput, whole_number
from rmqlab.files import json_value
from rmqlab.language import _, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

T = TypeVar("T")

SCHEDULE_FORMAT = "rmqlab-schedule/1"


@dataclass(frozen=True, slots=True)
class Timing:
    """What the rules leave open about time; the first of each is the nominal one.

    `delays_us`: how long a frame takes on a link. `wake_us`: how long a server takes to begin work that is due at
    once; that is a held pull which a message has woken, and in 4.8.0 the thread that builds the consume queue and a
    thread of the pull pool stand between the two. `uptime_ms`: how long the broker had been up when the run began,
    which sets the phase of its timers. `shutdown_ms`: how long a client takes to end its threads (recorded "stopping"
    to "stopped": 6 to 8 ms). `consume_ms`: how long a listener takes; the client's next pull has left by then or not,
    and carries another offset to commit. `start_ms`: how long a client takes from the stamp of its subscription to
    its first frame. `thread_us`: how late a client's thread goes on: the rebalance service that was woken, whoever
    waited for an answer (but pulls), a pool's thread that begins. `reput_us`: how long a message is in the commit log
    before the reput thread enters it, and all after it, in its queue. `pop_us`: how long a thread that pops stands
    still before it looks at a queue, and while it holds the lock of one. `proxy_us`: how long a receive takes from
    a client through a proxy to the broker; empty: as any thread. `revive_ms`: the phase of the thread that looks
    at a queue of the revive log every 100 ms, each of its own. `register_us`: how long what the broker says the
    name server is under way. `spacing_us` lies at least between two frames of one direction: with 0 a
    notification and an answer come at one instant, and a client's two rounds of rebalance fall into one. With
    `open_orders` frames and wake-ups take no time and their order is a choice (`lanes`), and so it is with threads
    and the reput thread if they have more than one time, while a pop is done in one piece; `lag_us` is how long a
    frame may then be under way when a timer is due.
    """

    delays_us: tuple[int, ...] = (1_000,)
    wake_us: tuple[int, ...] = (500,)
    uptime_ms: tuple[int, ...] = (3_700,)
    shutdown_ms: tuple[int, ...] = (5,)
    consume_ms: tuple[int, ...] = (0,)
    start_ms: tuple[int, ...] = (0,)
    thread_us: tuple[int, ...] = (0,)
    reput_us: tuple[int, ...] = (0,)
    pop_us: tuple[int, ...] = (0,)
    proxy_us: tuple[int, ...] = ()
    revive_ms: tuple[int, ...] = (0,)
    register_us: tuple[int, ...] = (1_000,)
    spacing_us: int = 1
    open_orders: bool = False
    lag_us: int = 0


class Choice(NamedTuple):
    """One answered choice point: its number in the run, what was asked, and which of `n` options was taken.

    Of an unusual choice (not the first option) `t` is when it was made, in ms since the run began, and `order` how
    many facts the run had by then; `t` is None of all others, and of those made before the scenario began.
    """

    number: int
    label: str
    n: int
    taken: int
    t: float | None = None
    order: int = 0


@dataclass(slots=True)
class Schedule:
    """The choices of one run that are not the first option, by choice number.

    `scenario` names what was run; `taken` maps choice number to (label, option index); `timing` is what there was
    to choose from.
    """

    scenario: str = ""
    taken: dict[int, tuple[str, int]] = field(default_factory=dict)
    timing: Timing = field(default_factory=Timing)

    @classmethod
    def of(cls, choices: list[Choice], scenario: str = "", timing: Timing | None = None) -> Schedule:
        """Keep what a run chose (`Chooser.made`) as a schedule."""
        return cls(scenario, {c.number: (c.label, c.taken) for c in choices if c.taken}, timing or Timing())

    def to_json(self) -> str:
        """Text form: one line, keys in a fixed order, choices by number, the timing's fields that are not the usual."""
        rows = [[number, label, taken] for number, (label, taken) in sorted(self.taken.items())]
        usual = Timing()
        timing = {
            field.name: getattr(self.timing, field.name)
            for field in fields(Timing)
            if getattr(self.timing, field.name) != getattr(usual, field.name)
        }
        data = {"format": SCHEDULE_FORMAT, "scenario": self.scenario, "timing": timing, "choices": rows}
        return json.dumps(data, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str, where: str = "schedule") -> Schedule:
        """Read the text form.

        Raises:
            BadInput: not JSON, another format, or a row that is not `[number, label, option]`.
        """
        try:
            data = json_value(text)
        except ValueError as error:
            raise BadInput(
                _("{where}: not JSON ({error}); a schedule is one JSON object", where=where, error=error)
            ) from error
        if not isinstance(data, dict) or data.get("format") != SCHEDULE_FORMAT:
            raise BadInput(_('{where}: field "format" must be "{format}"', where=where, format=SCHEDULE_FORMAT))
        taken: dict[int, tuple[str, int]] = {}
        choices = data.get("choices", [])
        if not isinstance(choices, list):
            raise BadInput(_('{where}: "choices" is {choices}; it must be a list', where=where, choices=f"{choices!r}"))
        for index, row in enumerate(choices):
            match row:
                case [int(number), str(label), int(option)] if number >= 0 and option >= 0:
                    taken[number] = (label, option)
                case _:
                    raise BadInput(
                        _(
                            "{where}: choices[{index}] is {row}; it must be [number, label, option]",
                            where=where,
                            index=index,
                            row=f"{row!r}",
                        )
                    )
        return cls(str(data.get("scenario", "")), taken, _timing(data.get("timing", {}), where))


def _timing(data: object, where: str) -> Timing:
    """The options that choices are made among, each a list of whole numbers (or a number or a truth value)."""
    usual = Timing()
    known = {field.name: getattr(usual, field.name) for field in fields(Timing)}
    if not isinstance(data, dict):
        raise BadInput(_('{where}: "timing" is {data}; it must be an object', where=where, data=f"{data!r}"))
    given: dict[str, Any] = {}
    for name, value in data.items():
        if name not in known:
            raise BadInput(
                _(
                    "{where}: timing.{name} is unknown; there are {known}",
                    where=where,
                    name=name,
                    known=joined(", ", known),
                )
            )
        if isinstance(known[name], tuple):
            if not (isinstance(value, list) and value and all(type(option) is int for option in value)):
                raise BadInput(
                    _(
                        "{where}: timing.{name} is {value}; it must be a list of whole numbers",
                        where=where,
                        name=name,
                        value=f"{value!r}",
                    )
                )
            given[name] = tuple(value)
        elif type(value) is type(known[name]):
            given[name] = value
        else:
            raise BadInput(
                _(
                    "{where}: timing.{name} is {value}; it must be like {known}",
                    where=where,
                    name=name,
                    value=f"{value!r}",
                    known=f"{known[name]!r}",
                )
            )
    return Timing(**given)


class Chooser:
    """Answers choice points; the base class always takes option 0 (the nominal run).

    `clock` gives the present moment (ms since the run began, number of facts); None until the scenario begins.
    """

    def __init__(self) -> None:
        self.made: list[Choice] = []
        self.clock: Callable[[], tuple[float, int]] | None = None

    def pick(self, number: int, label: str, n: int) -> int:
        """Option for choice point `number`; overridden by the other choosers."""
        return 0

    def choose(self, label: str, n: int) -> int:
        """Ask choice point `label` with options 0..n-1 and remember the answer."""
        number = len(self.made)
        taken = self.pick(number, label, n)
        at = self.clock() if taken and self.clock is not None else ()
        self.made.append(Choice(number, label, n, taken, *at))
        return taken

    def now_is_from(self, ms: float) -> bool:
        """Whether the scenario runs, and for `ms` or longer."""
        return self.clock is not None and self.clock()[0] >= ms

    def among(self, label: str, options: Sequence[T]) -> T:
        """The option that is chosen; of a single one nothing is asked."""
        return options[self.choose(label, len(options)) if len(options) > 1 else 0]


class SeededChooser(Chooser):
    """Takes options at random from a seed: the same seed always gives the same run.

    A share `rate` of the choice points leaves option 0; on a real network most frames take their usual time and few a
    long one, and it is the few that decide races.
    """

    def __init__(self, seed: int, rate: float = 1.0) -> None:
        """Check the seed.

        Raises:
            BadInput: a seed that is no whole number.
        """
        super().__init__()
        self._random = random.Random(whole_number("seed", seed))
        self._rate = rate

    def pick(self, number: int, label: str, n: int) -> int:
        """A uniformly drawn option at the share of points that vary, else option 0."""
        if self._rate < 1.0 and self._random.random() >= self._rate:
            return 0
        return self._random.randrange(n)


class FirstQueues(Chooser):
    """Lets the producer begin with these queues, one a topic, and asks another chooser for everything else."""

    def __init__(self, others: Chooser, queues: Iterable[int]) -> None:
        super().__init__()
        self._others, self._queues = others, iter(queues)

    def pick(self, number: int, label: str, n: int) -> int:
        """The next of the queues as long as there is one, or what the other chooser picks."""
        queue = next(self._queues, None) if label == "P: first_queue" else None
        return self._others.pick(number, label, n) if queue is None else queue % n


class ScheduledChooser(Chooser):
    """Replays a schedule; points it does not name take option 0."""

    def __init__(self, schedule: Schedule) -> None:
        """Check the schedule.

        Raises:
            BadInput: what is no schedule.
        """
        if not isinstance(schedule, Schedule):
            raise BadInput(
                _("schedule is a {name}; right is a Schedule, such as lab.schedule()", name=type(schedule).__name__)
            )
        super().__init__()
        self._taken: Mapping[int, tuple[str, int]] = schedule.taken

    def pick(self, number: int, label: str, n: int) -> int:
        """The written option.

        Raises:
            BadInput: the schedule was made for a run that asks something else at this number.
        """
        entry = self._taken.get(number)
        if entry is None:
            return 0
        written, option = entry
        if written != label or option >= n:
            raise BadInput(
                _(
                    "schedule: choice {number} is written as option {option} of {written}, but this run asks "
                    "{label} with options 0..{n}; it belongs to another scenario, other parameters or "
                    "another version",
                    number=number,
                    option=option,
                    written=f"{written!r}",
                    label=f"{label!r}",
                    n=n - 1,
                ),
            )
        return option
