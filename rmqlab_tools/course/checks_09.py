"""The checks of notebook 09: a procedure for a team that cannot stop, rules for a rolling restart, a wrong rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import Fate, fate_words
from rmqlab.scenario.fault_steps import Kill
from rmqlab.scenario.life_steps import Unsubscribe
from rmqlab.scenario.scenario import Start, Stop, Subscribe
from rmqlab_tools.course.answers import needs_function, needs_rules
from rmqlab_tools.course.check import CheckFailed
from rmqlab_tools.search.consistency import tell_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rmqlab_tools.show.figure import Picture

OLD, NEW = "tagA", "tagB"
SEEDS, ORDERS, MIN_MESSAGES = 4, 30, 8


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
    """The members restart one by one with NEW, while producers send both tags."""
    for name in "AB":
        lab.stop(name)
        lab.run(ms=400)
        lab.consumer(name, group="G", subscribe={"T": NEW})
        traffic(lab)


def _played(change: Callable[[Lab], object], rules: Rules = DEFAULT_RULES, seed: int | None = None) -> Lab:
    lab = begin(rules, seed)
    change(lab)
    lab.run(seconds=30)
    return lab


def _gone(fates: Iterable[Any], rules: Rules) -> list[str]:
    """Messages that were lost, or still wait; with rules of one's own, those that no member can pull too."""
    left = {Fate.WAITING} if rules is DEFAULT_RULES else {Fate.WAITING, Fate.NO_OWNER}
    return [f"{fate.body} ({fate.tag}): {fate_words(fate.fate)}" for fate in fates if fate.lost or fate.fate in left]


def _runs(change: Callable[[Lab], object], rules: Rules) -> Iterator[tuple[str, list[str], Picture]]:
    """Runs, each with what was lost: the usual one, some by chance, some orders of the explorer."""
    for seed in (None, *range(SEEDS)):
        lab = _played(change, rules, seed)
        yield (
            _("the usual run") if seed is None else _("a run with seed={seed}", seed=seed),
            _gone(lab.fates(), rules),
            lab.timeline(),
        )
    for outcome in _played(change, rules).explore(budget=ORDERS, samples=0).outcomes:
        yield _("an order that the explorer found"), _gone(outcome.run.fates, rules), outcome.story()


def _loses_nothing(change: Callable[[Lab], object], rules: Rules = DEFAULT_RULES) -> None:
    for where, gone, picture in _runs(change, rules):
        if gone:
            raise CheckFailed(problem=_("In {where} not taken:", where=where), lines=gone[:6], picture=picture)


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
    for tag in (OLD, NEW):
        if (sent := sum(row.tag == tag for row in lab.messages())) < MIN_MESSAGES:
            raise CheckFailed(
                _("Messages keep coming: at least {min_messages} of each tag.", min_messages=MIN_MESSAGES),
                problem=_("{tag}: {sent} sent.", tag=tag, sent=sent),
            )
    _loses_nothing(answer)
    return _(
        "Nothing was lost in {seeds} runs and {orders} orders of the explorer, and somebody always ran.",
        seeds=1 + SEEDS,
        orders=ORDERS,
    )


def _same(kind: str, text: str) -> bool:
    return bool(tell_apart(build_subscription("T", text, kind), build_subscription("T", NEW, "TAG")).same)


def safe_rules(answer: Any) -> str:
    """Rules with which a rolling restart loses nothing while producers send both tags."""
    needs_rules(answer)
    _loses_nothing(rolling_restart, answer)
    return _("Nothing was lost in {seeds} runs and {orders} orders of the explorer.", seeds=1 + SEEDS, orders=ORDERS)


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
