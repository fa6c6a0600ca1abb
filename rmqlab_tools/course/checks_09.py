"""The checks of notebook 09: a procedure for a team that cannot stop, rules for a rolling restart, a wrong rule."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined, ngettext, sentences
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import Fate, fate_words
from rmqlab.scenario.fault_steps import Kill
from rmqlab.scenario.life_steps import Unsubscribe
from rmqlab.scenario.scenario import Start, Stop, Subscribe
from rmqlab_tools.course.answers import called_in_lab, needs_function, needs_rules
from rmqlab_tools.course.check import CheckFailed
from rmqlab_tools.course.price import Price, added, price_of
from rmqlab_tools.search.consistency import tell_apart
from rmqlab_tools.show.figure import Picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

OLD, NEW = "tagA", "tagB"
SEEDS, ORDERS, MIN_MESSAGES = 4, 30, 8
HALF_S, LONGEST_PAUSE_MS, SLACK_MS = 0.5, 500, 50
QUEUES, BEGUN_MS = 2, 6_000  # when the steps begin
CHANGES = (Start, Stop, Kill, Subscribe, Unsubscribe)


def begin(rules: Rules = DEFAULT_RULES, seed: int | None = None) -> Lab:
    """Two members with OLD on two queues, and a second of OLD's messages."""
    lab = Lab(topics={"T": 2}, rules=rules, seed=seed)
    for name in "AB":
        lab.consumer(name, group="G", subscribe={"T": OLD})
    lab.run(seconds=5)
    traffic(lab, [OLD])
    return lab


def traffic(lab: Lab, tags: Sequence[str] = (OLD, NEW), seconds: float = 1) -> None:
    """Twice a second a message of each tag for each queue."""
    for _ignored in range(int(2 * seconds)):
        lab.send("T", [tag for tag in tags for _queue in (0, 1)], queues=[0, 1] * len(tags))
        lab.run(ms=500)


def rolling_restart(lab: Lab) -> None:
    """The members restart one by one with NEW, while producers send both tags, also when a member is away."""
    for name in "AB":
        lab.stop(name)
        traffic(lab, seconds=HALF_S)
        lab.consumer(name, group="G", subscribe={"T": NEW})
        traffic(lab)


def _played(change: Callable[[Lab], object], rules: Rules = DEFAULT_RULES, seed: int | None = None) -> Lab:
    lab = begin(rules, seed)
    called_in_lab(change, lab)
    lab.run(seconds=30)
    return lab


def _gone(fates: Iterable[Any], rules: Rules) -> list[str]:
    """Messages that were lost, or still wait; with rules of one's own, those that no member can pull too."""
    left = {Fate.WAITING} if rules is DEFAULT_RULES else {Fate.WAITING, Fate.NO_OWNER}
    return [f"{fate.body} ({fate.tag}): {fate_words(fate.fate)}" for fate in fates if fate.lost or fate.fate in left]


@dataclass(frozen=True, slots=True)
class ChangedRun:
    """A run of a change: which it is, what was not taken, what it costs, and its picture."""

    where: str
    gone: list[str]
    price: Price
    picture: Picture


def _runs(change: Callable[[Lab], object], rules: Rules) -> Iterator[ChangedRun]:
    """The usual run, some by chance, some orders of the explorer."""
    for seed in (None, *range(SEEDS)):
        lab = _played(change, rules, seed)
        where = _("the usual run") if seed is None else _("a run with seed={seed}", seed=seed)
        picture, fates = lab.timeline(), lab.fates()
        yield ChangedRun(where, _gone(fates, rules), price_of(lab.finish().run), picture)
    for outcome in _played(change, rules).explore(budget=ORDERS, samples=0).outcomes:
        where = _("an order that the explorer found")
        yield ChangedRun(where, _gone(outcome.run.fates, rules), price_of(outcome.run), outcome.story())


def _loses_nothing(change: Callable[[Lab], object], rules: Rules = DEFAULT_RULES) -> Price:
    """The price of all runs, in which nothing is lost, and no member gets what it did not ask for.

    Raises:
        CheckFailed: something is; the text says what 4.8.0 does in the usual run.
    """
    prices = []
    for run in _runs(change, rules):
        if run.gone:
            problem = ngettext(
                "In {where} {count} of {sent} messages is not taken: {gone}.",
                "In {where} {count} of {sent} messages are not taken, first {gone}.",
                len(run.gone),
                where=run.where,
                sent=run.price.sent,
                gone=run.gone[0],
            )
            raise CheckFailed(
                problem=sentences(problem, _beside(change, rules)), lines=run.gone[:6], picture=run.picture
            )
        if run.price.unasked:
            problem = ngettext(
                "In {where} {count} message went to a listener that did not ask for it: {body}.",
                "In {where} {count} messages went to listeners that did not ask for them, first {body}.",
                len(run.price.unasked),
                where=run.where,
                body=run.price.unasked[0],
            )
            raise CheckFailed(case="unasked", problem=sentences(problem, _beside(change, rules)), picture=run.picture)
        prices.append(run.price)
    return added(prices)


def _beside(change: Callable[[Lab], object], rules: Rules) -> str:
    """What 4.8.0 does in the usual run, if the rules are others."""
    if rules is DEFAULT_RULES:
        return ""
    fates = _played(change).fates()
    return _("4.8.0 loses {lost} of {sent} in the usual run.", lost=len(_gone(fates, DEFAULT_RULES)), sent=len(fates))


def procedure(answer: Any) -> str:
    """Steps on a lab that go from OLD to NEW, lose nothing, and leave somebody running at every moment."""
    needs_function(answer, _("Give the function itself: it takes the lab and does the steps."))
    lab = _played(answer)
    running: dict[str, Any] = {}
    for step in lab.scenario().steps:
        if isinstance(step, Start):
            running[step.who] = step.subscribe.get("T")
        elif isinstance(step, Subscribe):
            running[step.who] = step
        elif isinstance(step, Unsubscribe):
            running[step.who] = None
        elif isinstance(step, Stop | Kill):
            running.pop(step.who, None)
            if not running:
                at = _("At {at} ms nobody runs.", at=step.at)
                raise CheckFailed(_("A team that cannot stop has a member running at every moment."), problem=at)
    wrong = [
        name
        for name, subscription in running.items()
        if subscription is None or not _same(subscription.type, subscription.expr)
    ]
    if wrong:
        raise CheckFailed(
            _("In the end every member subscribes {new}.", new=NEW),
            problem=_("{wrong}: something else.", wrong=joined(", ", wrong)),
        )
    _must_not_pause(lab)
    for tag in (OLD, NEW):
        if (sent := sum(row.tag == tag for row in lab.messages())) < MIN_MESSAGES:
            raise CheckFailed(
                _("Messages keep coming: at least {min_messages} of each tag.", min_messages=MIN_MESSAGES),
                problem=_("{tag}: {sent} sent.", tag=tag, sent=sent),
            )
    price = _loses_nothing(answer)
    return sentences(
        _(
            "Nothing was lost in {seeds} runs and {orders} orders of the explorer, somebody always ran, and messages"
            " always came.",
            seeds=1 + SEEDS,
            orders=ORDERS,
        ),
        price.words(),
    )


def _must_not_pause(lab: Lab) -> None:
    """Messages come into both queues at each half second of the change, from its first step to its last."""
    changes = [step.at for step in lab.scenario().steps if isinstance(step, CHANGES) and step.at >= BEGUN_MS]
    if not changes:
        return
    for queue in range(QUEUES):
        sent = [row.t for row in lab.messages() if row.queue == queue and row.tag in {OLD, NEW}]
        moments = [at for at in sent if at <= changes[-1]] + [changes[-1]]
        for before, after in pairwise(moments):
            if after - before > LONGEST_PAUSE_MS + SLACK_MS and after > changes[0]:
                raise CheckFailed(
                    case="pause",
                    problem=_(
                        "From {before} s to {after} s no message comes into queue {queue}: producers do not pause.",
                        before=f"{before / 1_000:.1f}",
                        after=f"{after / 1_000:.1f}",
                        queue=queue,
                    ),
                )


def _same(kind: str, text: str) -> bool:
    return bool(tell_apart(build_subscription("T", text, kind), build_subscription("T", NEW, "TAG")).same)


def safe_rules(answer: Any) -> str:
    """Rules with which a rolling restart loses nothing while producers send both tags."""
    needs_rules(answer)
    price = _loses_nothing(rolling_restart, answer)
    return sentences(
        _(
            "In {seeds} runs and {orders} orders of the explorer nothing was lost, and nobody got what it did not ask"
            " for.",
            seeds=1 + SEEDS,
            orders=ORDERS,
        ),
        price.words(),
    )


def wrong_rule(answer: Any) -> str:
    """The rule for client_keeps with which only the first tag of the text arrives."""
    needs_function(answer, _("Give the function itself: it takes (subscription, tag) and answers with True or False."))
    rules = DEFAULT_RULES.replace(client_keeps=answer)
    for text in (f"{OLD}||{NEW}", f"{NEW}||{OLD}"):
        lab = Lab(topics={"T": 2}, rules=rules)
        for name in "AB":
            lab.consumer(name, group="G", subscribe={"T": text})
        lab.run(seconds=30)
        traffic(lab)
        lab.run(seconds=10)
        arrived = sorted({str(fate.tag) for fate in lab.fates() if fate.fate == Fate.DELIVERED})
        if arrived != [text[: len(OLD)]]:
            problem = _(
                "With {text} and this rule arrive: {arrived}.", text=text, arrived=joined(", ", arrived) or _("none")
            )
            raise CheckFailed(problem=problem, picture=lab.grid())
    return _("Only the first tag of the text arrives; the client drops the other.")


CHECKS: Final = {"09-procedure": procedure, "09-rule": safe_rules, "09-hunt": wrong_rule}
