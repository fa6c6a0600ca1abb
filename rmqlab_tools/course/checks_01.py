"""The checks of notebook 01: predict an outcome, steer one, write a rule of the broker and a protocol, hunt bugs."""

from __future__ import annotations

from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.events import Rebalance, SubscriptionChanged
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined, ngettext, sentences
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import MessageSent
from rmqlab.run.run_view import RunView
from rmqlab.scenario.scenario import Send, Start
from rmqlab_tools.course.answers import called_in_lab, differences, hunt_by_name, needs_keys
from rmqlab_tools.course.articles.eight_messages import CLIENT_IP, EightMessages
from rmqlab_tools.course.check import OPEN_ANSWER, CheckFailed
from rmqlab_tools.course.mutants import FUNCTIONS, broken
from rmqlab_tools.course.order_judge import must_be_like, must_hold_in_every_order
from rmqlab_tools.course.price import Price, added, price_of, price_of_groups
from rmqlab_tools.course.trials import ASKED, EIGHT, TOPIC, Design, design_of, in_one_group
from rmqlab_tools.show.evidence import line, message_trail
from rmqlab_tools.show.swimlane import swimlane

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.run.run import Run
    from rmqlab_tools.course.trials import Begin
    from rmqlab_tools.show.evidence import EvidenceLine

GROUP = "G"
QUEUES = (2, 3, 0, 1) * 2
FATE_NAMES = {
    "delivered": Fate.DELIVERED,
    _("dropped by the broker"): Fate.DROPPED_BY_BROKER_TAG,
    _("dropped by a client"): Fate.DROPPED_BY_CLIENT,
}


def played(
    order: str = "AB",
    tags: Iterable[str] = EIGHT,
    queues: int = 4,
    rules: Rules = DEFAULT_RULES,
    seed: int | None = None,
) -> Lab:
    """The experiment of the lesson: two consumers a minute apart, then the messages, the first one into queue 2."""
    lab = Lab(topics={TOPIC: queues}, rules=rules, seed=seed)
    for number, name in enumerate(order):
        lab.run(seconds=60 * number)
        lab.consumer(name, group=GROUP, subscribe={TOPIC: ASKED[name]})
    lab.run(seconds=5)
    sent = list(tags)
    lab.send(TOPIC, sent, queues=[(2 + number) % queues for number in range(len(sent))])
    lab.run(seconds=25)
    return lab


# Predict.


def predicted() -> RunView:
    """What is to be predicted: B starts first, tags come in turn."""
    return RunView(played("BA", ("tagA", "tagB") * 4).finish().run)


def predict(answer: Any) -> str:
    """What becomes of each of the eight messages: {place: names, in a list or a text, or how many}."""
    view = predicted()
    bodies = [fate.body for fate in view.fates]
    said = _places(answer, bodies)
    right = {place: [fate.body for fate in view.fates if fate.fate is kind] for place, kind in FATE_NAMES.items()}
    for place, mine in said.items():
        if isinstance(mine, int):
            if mine != len(right[place]):
                problem = _("Not {count} are {place}.", count=mine, place=place)
                raise CheckFailed(problem=problem, lines=_causes(view))
            continue
        for body in mine:
            if body not in right[place]:
                tag = next(fate.tag for fate in view.fates if fate.body == body)
                problem = _('{body} ({tag}) is not "{said}".', body=body, tag=tag, said=place)
                raise CheckFailed(problem=problem, lines=_causes(view))
    if any(isinstance(mine, int) for mine in said.values()):
        return _("The numbers are right. Can you say which messages they are? Names are judged too.")
    return _("All eight messages end where you said.")


def _causes(view: RunView) -> list[EvidenceLine | str]:
    """What decides the fates: who wrote the slot, who owns which queues, where the messages lie."""
    owners = {fact.source: fact for fact in view.facts(Rebalance)}
    stored = [message_trail(view, message.body)[0] for message in view.fates]
    return [*(line(fact, view) for fact in [*view.facts(SubscriptionChanged), *owners.values()]), *stored]


def _places(answer: Any, bodies: list[str]) -> dict[str, list[str] | int]:
    """Place to names, each message in exactly one, or to how many; all of them together are the eight."""
    rule = _("Each of {bodies} to {bodies2} has exactly one fate.", bodies=bodies[0], bodies2=bodies[-1])
    names = joined(", ", map(repr, FATE_NAMES))
    form = _("Give a dict with the keys {places}, each with names of messages or with how many they are.", places=names)
    needs_keys(answer, FATE_NAMES, form, rule=rule)
    said = {place: _names(mine, bodies, form, rule) for place, mine in answer.items()}
    named = [body for mine in said.values() if not isinstance(mine, int) for body in mine]
    for body in named:
        if named.count(body) > 1:
            raise CheckFailed(_("{body} stands twice in your answer.", body=body), rule=rule)
    total = len(named) + sum(mine for mine in said.values() if isinstance(mine, int))
    missing = [body for body in bodies if body not in named]
    if total != len(bodies):
        if missing and len(named) == total:
            raise CheckFailed(_("Your answer says nothing about {missing}.", missing=joined(", ", missing)), rule=rule)
        raise CheckFailed(
            ngettext("This is {count} message, not eight.", "These are {count} messages, not eight.", total), rule=rule
        )
    return said


def _names(mine: Any, bodies: list[str], form: str, rule: str) -> list[str] | int:
    """Names as a list, a set or a text ("MsgStr2, MsgStr6"), also as numbers of them ([2, 6]); or how many."""
    if not isinstance(mine, bool) and isinstance(mine, Integral):
        return int(mine)
    if isinstance(mine, str):
        words = mine.replace(",", " ").split()
        if len(words) == 1 and words[0].isdecimal():
            return int(words[0])
        mine = words
    if not isinstance(mine, list | tuple | set | frozenset):
        raise CheckFailed(form, rule=rule)
    named = [f"MsgStr{body}" if str(body).isdecimal() else str(body) for body in mine]
    for body in named:
        if body not in bodies:
            raise CheckFailed(_("{body} was never sent.", body=body), rule=rule)
    return named


# Steer.

WANTED = ["MsgStr0", "MsgStr1"]


def steer(answer: Any) -> str:
    """A lab in which the consumer that asks for tagA gets exactly MsgStr0 and MsgStr1."""
    if not isinstance(answer, Lab):
        raise CheckFailed(_("Give the lab itself, after its last `run`."))
    scenario = answer.scenario()
    starts = {step.who: step for step in scenario.steps if isinstance(step, Start)}
    asks = {step.subscribe[TOPIC].expr: client for client, step in starts.items() if TOPIC in step.subscribe}
    sent = [message for step in scenario.steps if isinstance(step, Send) for message in step.messages]
    kinds = {type(step).__name__ for step in scenario.steps} - {"Start", "Send", "Alloc", "Offsets"}
    same = [(sending.tag, sending.queue) for sending in sent] == list(zip(EIGHT, QUEUES, strict=True))
    two = set(asks) == set(ASKED.values()) and len(starts) == len(ASKED)
    if not (two and same) or kinds or scenario.topics != {TOPIC: 4}:
        raise CheckFailed(
            _(
                "Two consumers, one for tagA and one for tagB, four queues, the eight messages of the "
                "lesson, and no fault."
            )
        )
    if answer.rules != DEFAULT_RULES:
        raise CheckFailed(_("The rules are to stay as they are."))
    name = asks["tagA"]
    got = [row.body for row in answer.consumed() if row.who == name]
    if sorted(got) == WANTED:
        return _("{who} gets {wanted}.", who=name, wanted=joined(" and ", WANTED))
    view = RunView(answer._run())  # noqa: SLF001 - the run so far, of a lab that may go on
    owned = [fact for fact in view.facts(Rebalance) if fact.source == name][-1:]
    why = [line(fact, view) for fact in (*view.facts(SubscriptionChanged), *owned)]
    raise CheckFailed(problem=_("{who} gets {got}.", who=name, got=joined(", ", got) or _("nothing")), lines=why)


# A rule of the broker.


def rule(answer: Any) -> str:
    """A function with the behaviour of `update_subscription`."""
    must_be_like("update_subscription", answer, [played(queues=1, tags=ASKED.values())])
    return _("It answers as the broker does, and two consumers end as they do on 4.8.0 in every order of frames.")


# A protocol of one's own.


def unfair(run: Run) -> str | None:
    """What is wrong with who got what; None when each message went once to the member that asked for it."""
    return _wrong_with(run, price_of(run, ASKED), may_come_twice=False)


def _wrong_with(run: Run, price: Price, *, may_come_twice: bool) -> str | None:
    """The first thing that is wrong: a message for whom it is not, one that goes to no member, or one taken twice."""
    tags = {fact.event.body: fact.event.tag for fact in run.recorded(MessageSent)}

    def named(bodies: tuple[str, ...]) -> str:
        return f"{bodies[0]} ({tags[bodies[0]]})"

    if price.unasked:
        return _("{body} goes to who did not ask for it", body=named(price.unasked))
    if missing := price.lost + price.waiting:
        return _("nobody gets {body}", body=named(missing))
    return _("{body} is taken twice", body=named(price.twice)) if price.twice and not may_come_twice else None


def _design_of(answer: Any) -> Design:
    try:
        return design_of("", answer)
    except BadInput:
        raise CheckFailed(
            _('Give rules, rmqlab.RULES["4.8.0"].replace(...), or a function start(lab, who, tag), or (rules, start).')
        ) from None


def _both_begin(lab: Lab, start: Begin, order: str = "AB") -> None:
    """Both members start, a minute apart, and are at rest."""
    for number, who in enumerate(order):
        lab.run(seconds=60 * number)
        _begins(lab, start, who)
    lab.run(seconds=5)


def _begins(lab: Lab, start: Begin, who: str) -> None:
    """A member starts as the learner's function does it."""
    if called_in_lab(start, lab, who, ASKED[who]) is ...:
        raise CheckFailed(OPEN_ANSWER)
    if who not in lab.clients:
        raise CheckFailed(_("start(lab, who, tag) is to start one consumer named {who}.", who=f"{who!r}"))


def trial(rules: Rules, start: Begin, order: str, seed: int | None, again: str = "") -> Lab:
    """The eight messages; then, if `again` names a member, eight more while it is away, and it starts again."""
    lab = Lab(topics={TOPIC: 4}, rules=rules, seed=seed)
    _both_begin(lab, start, order)
    lab.send(TOPIC, EIGHT, queues=QUEUES)
    lab.run(seconds=25)
    if again:
        lab.stop(again)
        lab.run(seconds=1)
        lab.send(TOPIC, EIGHT, queues=QUEUES)
        lab.run(seconds=20)
        _begins(lab, start, again)
        lab.run(seconds=40)
    return lab


def protocol(answer: Any) -> str:
    """Rules, and how members start, with which each message goes once to who asked, in every order and restart."""
    rules, start = _design_of(answer)
    prices = []
    for order, seed in product(("AB", "BA"), (None, 1, 2)):
        prices.append(_judged(trial(rules, start, order, seed), order, "", seed))
    for again, seed in product("AB", (None, 1)):
        prices.append(_judged(trial(rules, start, "AB", seed, again), "AB", again, seed))
    lab = Lab(topics={TOPIC: 1}, rules=rules)
    _both_begin(lab, start)
    lab.send(TOPIC, ["tagA", "tagB"], queues=[0, 0])
    lab.run(seconds=25)
    must_hold_in_every_order([lab], rules, unfair, hint="")
    groups = {step.group for step in lab.scenario().steps if isinstance(step, Start)}
    return sentences(
        _("The eight messages arrive where they are wanted, also those that come while a member is away;"
          " on one queue two messages do so in every order of frames."),
        added(prices).words(),
        price_of_groups(len(groups)),
    )  # fmt: skip


def _judged(lab: Lab, order: str, again: str, seed: int | None) -> Price:
    """The price of a trial in which nothing is wrong; that a message comes twice is none after a restart."""
    run = lab.finish().run
    price = price_of(run, ASKED)
    problem = _wrong_with(run, price, may_come_twice=bool(again))
    if problem is None:
        return price
    view, sound = RunView(run), price_of(trial(DEFAULT_RULES, in_one_group, order, seed, again).finish().run, ASKED)
    body = next(fate.body for fate in view.fates if f"{fate.body} " in problem)
    where = (
        _("{who} stops, eight messages come, {who} starts again", who=again)
        if again
        else _("{who} starts first", who=order[0])
    )
    raise CheckFailed(
        case="restart" if again else "",
        problem=_(
            "{where}: {problem}. 4.8.0 loses {lost} of {sent} there.",
            where=where,
            problem=problem,
            lost=len(sound.lost),
            sent=sound.sent,
        ),
        lines=message_trail(view, body),
        picture=swimlane(run),
    )


# Hunt.

HUNTED = ("amber", "basalt", "coral", "dune", "ember")


def hunted(rules: Rules = DEFAULT_RULES) -> Run:
    """The eight messages as in the hunt: B starts a minute after A, and has the lower client id."""
    return EightMessages(client_ids={"A": f"{CLIENT_IP}@5307", "B": f"{CLIENT_IP}@4902"}, rules=rules).run()


def _difference(name: str, said: str) -> CheckFailed:
    """The first thing that a broken lab does and 4.8.0 does not, or the other way round."""
    problem = _("{name} does not have a wrong {said}. Look at what differs first.", name=name, said=said)
    return CheckFailed(problem=problem, lines=differences(hunted(), hunted(broken(name))))


CHECKS = {
    "01-predict": predict,
    "01-steer": steer,
    "01-rule": rule,
    "01-protocol": protocol,
    "01-bug-hunt": hunt_by_name(
        HUNTED, FUNCTIONS, _difference, _("You found all {hunted} by what they do.", hunted=len(HUNTED))
    ),
}
