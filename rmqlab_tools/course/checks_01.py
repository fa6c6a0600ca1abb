"""The checks of notebook 01: predict an outcome, steer one, write a rule of the broker and a protocol, hunt bugs."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

from rmqlab.events import Rebalance, SubscriptionChanged
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import MessageSent
from rmqlab.run.run_view import RunView
from rmqlab.scenario.scenario import Send, Start
from rmqlab_tools.course.answers import differences, hunt_by_name, needs_keys, needs_rules
from rmqlab_tools.course.articles.eight_messages import CLIENT_IP, EightMessages
from rmqlab_tools.course.check import CheckFailed
from rmqlab_tools.course.mutants import FUNCTIONS, broken
from rmqlab_tools.course.order_judge import must_be_like, must_hold_in_every_order
from rmqlab_tools.show.evidence import line, message_trail
from rmqlab_tools.show.swimlane import swimlane

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.run.run import Run

TOPIC, GROUP = "T", "G"
ASKED = {"A": "tagA", "B": "tagB"}
EIGHT = ("tagA",) * 4 + ("tagB",) * 4
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
    """What becomes of each of the eight messages: {place: [bodies]} with the three places."""
    view = predicted()
    said = _places(answer, [fate.body for fate in view.fates])
    for fate in view.fates:
        if FATE_NAMES[said[fate.body]] is not fate.fate:
            # What decides the fates: who wrote the slot, who owns which queues, where the messages lie.
            owners = {fact.source: fact for fact in view.facts(Rebalance)}
            stored = [message_trail(view, message.body)[0] for message in view.fates]
            facts = [*view.facts(SubscriptionChanged), *owners.values()]
            causes = [*(line(fact, view) for fact in facts), *stored]
            raise CheckFailed(
                problem=_('{body} ({tag}) is not "{said}".', body=fate.body, tag=fate.tag, said=said[fate.body]),
                lines=causes,
            )
    return _("All eight messages end where you said.")


def _places(answer: Any, bodies: list[str]) -> dict[str, str]:
    """Body to place; every message in exactly one."""
    rule = _("Each of {bodies} to {bodies2} has exactly one fate.", bodies=bodies[0], bodies2=bodies[-1])
    names = joined(", ", map(repr, FATE_NAMES))
    form = _("Give a dict with the keys {places}, each with a list of bodies.", places=names)
    needs_keys(answer, FATE_NAMES, form, rule=rule)
    said: dict[str, str] = {}
    for place, mine in answer.items():
        for body in mine:
            if body in said or body not in bodies:
                why = (
                    _("{body} stands twice in your answer.", body=body)
                    if body in said
                    else _("{body} was never sent.", body=body)
                )
                raise CheckFailed(why, rule=rule)
            said[body] = place
    missing = [body for body in bodies if body not in said]
    if missing:
        raise CheckFailed(_("Your answer says nothing about {missing}.", missing=joined(", ", missing)), rule=rule)
    return said


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
    """What is wrong with who got what; None when each message went once to a member that asked for it."""
    tags = {fact.event.body: fact.event.tag for fact in run.recorded(MessageSent)}
    got: Counter[str] = Counter()
    for client, body, times in run.outcome().consumed:
        if ASKED[client] != tags[body]:
            return _("{who} gets {body} ({tags}), and did not ask for it", who=client, body=body, tags=tags[body])
        got[body] += times
    for body, tag in tags.items():
        if got[body] != 1:
            return (
                _("{body} ({tag}) is taken {got} times", body=body, tag=tag, got=got[body])
                if got[body]
                else _("nobody gets {body} ({tag})", body=body, tag=tag)
            )
    return None


def protocol(answer: Any) -> str:
    """Rules with which each message goes once to a member that asked for it, in every order of frames."""
    needs_rules(answer)
    for order, seed in product(("AB", "BA"), (None, 1, 2)):
        run = played(order, rules=answer, seed=seed).finish().run
        problem = unfair(run)
        if problem is not None:
            view = RunView(run)
            body = next(fate.body for fate in view.fates if fate.body in problem)
            raise CheckFailed(problem=f"{problem}.", lines=message_trail(view, body), picture=swimlane(run))
    must_hold_in_every_order([played(queues=1, tags=ASKED.values())], answer, unfair, hint="")
    return _(
        "The eight messages arrive where they are wanted; on one queue two messages do so in every order of frames."
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
