"""`rmqlab.trials(designs)`: protocols tried against everything, side by side: what each loses, delivers twice, costs.

A design is rules, and how a member starts. Two members, A for tagA and B for tagB, go through four stories: the eight
messages, a dead machine, a rolling restart, a recorded day. Then every order of frames of a small story is tried, as
far as a budget goes; the shortest order in which a design goes wrong is its counterexample.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.errors import BadInput, did_you_mean, whole_number
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.recorded_events import MessageSent
from rmqlab.run.run import Run
from rmqlab.scenario.scenario import Start
from rmqlab_tools.course.answers import recorded
from rmqlab_tools.course.order_judge import first_wrong
from rmqlab_tools.course.price import Price, added, price_of
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rmqlab_tools.show.figure import Picture

    Begin = Callable[[Lab, str, str], object]

TOPIC: Final = "T"
ASKED: Final = {"A": "tagA", "B": "tagB"}
EIGHT: Final = ("tagA",) * 4 + ("tagB",) * 4
DAY: Final = ("audit", "p-audit-007")
BUDGET: Final = 60
HALF_S: Final = 0.5
BEGINS_MS: Final = 60_000


class Design(NamedTuple):
    """A protocol: the rules of broker and clients, and `start(lab, who, tag)`, which starts a member or refuses it."""

    rules: Rules
    start: Begin


def in_one_group(lab: Lab, who: str, tag: str) -> None:
    """How members start in 4.8.0, both in one group."""
    lab.consumer(who, group="G", subscribe={TOPIC: tag})


def design_of(name: str, given: Any) -> Design:
    """A design as it is given: rules, a function `start(lab, who, tag)`, or both.

    Raises:
        BadInput: it is none of these.
    """
    parts = given if isinstance(given, tuple | list) else (given,)
    rules = [part for part in parts if isinstance(part, Rules)]
    starts = [part for part in parts if callable(part) and not isinstance(part, Rules)]
    if not 0 < len(parts) == len(rules) + len(starts) or len(rules) > 1 or len(starts) > 1:
        raise BadInput(
            _(
                "{name} is {given}; right are rules, a function start(lab, who, tag), or (rules, start)",
                name=name,
                given=f"{given!r}",
            )
        )
    return Design((rules or [DEFAULT_RULES])[0], (starts or [in_one_group])[0])


# The stories.


def eight_messages(lab: Lab, start: Begin) -> None:
    """The experiment of the article: two members a minute apart, then the eight messages."""
    start(lab, "A", "tagA")
    lab.run(seconds=60)
    start(lab, "B", "tagB")
    lab.run(seconds=65)
    _send_eight(lab)
    lab.run(seconds=25)


def dead_machine(lab: Lab, start: Begin) -> None:
    """A's machine goes without a word; messages come before the broker notices, after it, and when A is there again."""
    start(lab, "A", "tagA")
    start(lab, "B", "tagB")
    lab.run(seconds=60)
    if "A" in lab.clients:
        lab.kill("A", silent=True)
    lab.run(seconds=5)
    _send_eight(lab)
    lab.run(seconds=150)
    _send_eight(lab)
    lab.run(seconds=25)
    start(lab, "A", "tagA")
    lab.run(seconds=40)
    _send_eight(lab)
    lab.run(seconds=40)


def rolling_restart(lab: Lab, start: Begin) -> None:
    """Both members restart, one after the other, while messages come at every half second."""
    for who in ASKED:
        start(lab, who, ASKED[who])
    lab.run(seconds=60)
    for who in ASKED:
        if who in lab.clients:
            lab.stop(who)
        _traffic(lab)
        start(lab, who, ASKED[who])
        for _half in range(4):
            _traffic(lab)
    lab.run(seconds=60)


def recorded_day(lab: Lab, start: Begin) -> None:
    """The messages of a recording of the real broker, at their times, with their tags, in their queues."""
    for who in ASKED:
        start(lab, who, ASKED[who])
    for t, burst in groupby(recorded(*DAY).messages(), lambda sent: sent.t):
        lab.run(ms=max(round(t + BEGINS_MS - lab.now), 0))
        sent = list(burst)
        lab.send(TOPIC, [message.tag for message in sent], queues=[message.queue for message in sent])
    lab.run(seconds=40)


STORIES: Final[Mapping[str, Callable[[Lab, Begin], None]]] = {
    _("the eight messages"): eight_messages,
    _("a dead machine"): dead_machine,
    _("a rolling restart"): rolling_restart,
    _("a recorded day"): recorded_day,
}


def _send_eight(lab: Lab) -> None:
    lab.send(TOPIC, EIGHT, queues=[2, 3, 0, 1] * 2)


def _traffic(lab: Lab) -> None:
    """A message of each tag for each queue, then half a second."""
    lab.send(TOPIC, [*ASKED.values()] * 4, queues=[0, 0, 1, 1, 2, 2, 3, 3])
    lab.run(seconds=HALF_S)


def small_story(design: Design) -> Lab:
    """What every order is tried of: two members, a message of each tag; A restarts, and two more come meanwhile."""
    lab = Lab(topics={TOPIC: 1}, rules=design.rules)
    design.start(lab, "A", "tagA")
    lab.run(seconds=60)
    design.start(lab, "B", "tagB")
    lab.run(seconds=5)
    lab.send(TOPIC, [*ASKED.values()])
    lab.run(seconds=10)
    if "A" in lab.clients:
        lab.stop("A")
    lab.run(seconds=1)
    lab.send(TOPIC, [*ASKED.values()])
    lab.run(seconds=10)
    design.start(lab, "A", "tagA")
    lab.run(seconds=30)
    return lab


class Trial(NamedTuple):
    """What a design came to: its price in each story, and in the small story the first order that goes wrong.

    `asked`: how many messages of each story a member asks for.
    """

    name: str
    prices: dict[str, Price]
    asked: dict[str, int]
    refused: int
    groups: int
    wrong: Run | None
    runs: int
    exhausted: bool

    @property
    def total(self) -> Price:
        """The price of all stories together."""
        return added(self.prices.values())

    def orders(self) -> str:
        """What every order of the small story came to."""
        if self.wrong is not None:
            unusual = len(self.wrong.unusual)
            return (
                ngettext("wrong with {count} unusual choice", "wrong with {count} unusual choices", unusual)
                if unusual
                else _("wrong in the usual order")
            )
        return (
            _("right in every order")
            if self.exhausted
            else ngettext("right in {count} run", "right in {count} runs", self.runs)
        )


class Trials:
    """Designs that were tried, shown as a table of what they lose; `prices()` is what they cost."""

    def __init__(self, tried: Iterable[Trial]) -> None:
        """In the order in which they are shown."""
        self.tried = {trial.name: trial for trial in tried}

    def lost(self, name: str) -> int:
        """How many messages a design loses in the four stories."""
        return len(self._named(name).total.lost)

    def table(self) -> Table:
        """What each design loses: of the messages that a member asks for, those that it does not get."""
        rows = []
        for trial in self.tried.values():
            losses = [
                _("{lost} of {asked}", lost=len(price.lost) + len(price.waiting), asked=trial.asked[story])
                for story, price in trial.prices.items()
            ]
            rows.append((trial.name, *losses, trial.orders()))
        marked = frozenset(
            number
            for number, trial in enumerate(self.tried.values())
            if trial.wrong is not None or trial.total.lost or trial.total.waiting
        )
        headers = (_("design"), *STORIES, _("every order of a small story"))
        return Table(_("Messages that who asked for them did not get"), headers, rows, marked)

    def prices(self) -> Table:
        """What each design costs in the four stories."""
        rows = [
            (trial.name, len(price.twice), len(price.unasked), trial.refused, price.carried, trial.groups)
            for trial in self.tried.values()
            for price in [trial.total]
        ]
        headers = (
            _("design"), _("came twice or more"), _("went to who did not ask"), _("for a member that was refused"),
            _("sent to clients"), _("groups"),
        )  # fmt: skip
        asked = max(sum(trial.asked.values()) for trial in self.tried.values())  # the same for each
        return Table(
            ngettext(
                "What it costs, for {asked} message that a member asks for",
                "What it costs, for {asked} messages that a member asks for",
                asked,
                asked=asked,
            ),
            headers,
            rows,
        )

    def counterexample(self, name: str) -> Picture | str:
        """The shortest order of the small story in which a design goes wrong; a sentence if none was found.

        Raises:
            BadInput: there is no such design; the text names those there are.
        """
        trial = self._named(name)
        if trial.wrong is None:
            return _("No order that was tried goes wrong: {name} is {orders}.", name=name, orders=trial.orders())
        from rmqlab_tools.show.swimlane import story_picture

        return story_picture(trial.wrong, _("The shortest order in which {name} goes wrong", name=name))

    def _named(self, name: str) -> Trial:
        if name not in self.tried:
            known = joined(", ", self.tried)
            near = did_you_mean(name, self.tried)
            raise BadInput(_("no design {name}{near}; there are: {known}", name=f"{name!r}", near=near, known=known))
        return self.tried[name]

    def __repr__(self) -> str:
        """The table of what they lose."""
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()


def trials(designs: Mapping[str, Any], *, budget: int = BUDGET) -> Trials:
    """Try protocols against everything: four stories, and every order of frames of a small one, `budget` runs at most.

    A design is rules, a function `start(lab, who, tag)` that starts a member of the lab (or refuses it: then it starts
    none), or a pair of both. Members are A, who asks for tagA, and B, who asks for tagB; the topic is T.

    >>> import rmqlab
    >>> def a_group_for_each(lab, who, tag):
    ...     lab.consumer(who, group=f"G-{tag}", subscribe={"T": tag})
    >>> tried = rmqlab.trials({"a group for each tag": a_group_for_each})
    >>> tried.lost("a group for each tag"), tried.counterexample("a group for each tag")
    (0, 'No order that was tried goes wrong: a group for each tag is right in every order.')

    Raises:
        BadInput: a design is none, or the budget is no number of runs.
    """
    whole_number("budget", budget)
    if not designs or not hasattr(designs, "items"):
        raise BadInput(_("designs are a name and a design each: {example}", example='{"mine": rmqlab.mine()}'))
    return Trials([tried(str(name), design_of(str(name), given), budget) for name, given in designs.items()])


def tried(name: str, design: Design, budget: int = BUDGET) -> Trial:
    """One design in all stories."""
    prices, asked, refused, groups = dict[str, Price](), dict[str, int](), 0, set[str]()
    for story, play in STORIES.items():
        lab = Lab(topics={TOPIC: 4}, rules=design.rules)
        play(lab, design.start)
        run = lab.finish().run
        price = price_of(run, ASKED)
        groups |= {step.group for step in run.scenario.steps if isinstance(step, Start)}
        asked[story] = sum(fact.event.tag in ASKED.values() for fact in run.recorded(MessageSent))
        of_nobody = _of_refused_members(run)
        refused += len(of_nobody)
        prices[story] = price._replace(lost=tuple(body for body in price.lost if body not in of_nobody))
    lab = small_story(design)
    wrong, runs, exhausted = first_wrong(lab, _lost_or_unasked, budget)
    return Trial(name, prices, asked, refused, len(groups), wrong, runs, exhausted)


def _lost_or_unasked(run: Run) -> str | None:
    """Something where a member that runs did not get its message, or got one of the other."""
    price, of_nobody = price_of(run, ASKED), _of_refused_members(run)
    missing = [body for body in price.lost + price.waiting if body not in of_nobody]
    return (*price.unasked, *missing, None)[0]


def _of_refused_members(run: Run) -> set[str]:
    """The messages for a member that was never started."""
    started = {step.who for step in run.scenario.steps if isinstance(step, Start)}
    tags = {tag for who, tag in ASKED.items() if who not in started}
    return {fact.event.body for fact in run.recorded(MessageSent) if fact.event.tag in tags}
