"""The checks of notebook 16: which proposals lose nothing, a story that breaks one, a protocol of one's own."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.lab.lab import Lab
from rmqlab.language import _, joined, ngettext, sentences
from rmqlab.rules import DEFAULT_RULES, RULES
from rmqlab.scenario.scenario import Alloc, Offsets, Send, Start, Stop
from rmqlab_tools.course.answers import called_in_lab, needs_function
from rmqlab_tools.course.check import OF_TASK, OPEN_ANSWER, CheckFailed
from rmqlab_tools.course.price import price_of, price_of_groups
from rmqlab_tools.course.trials import ASKED, TOPIC, Design, Trial, design_of, in_one_group, tried

if TYPE_CHECKING:
    from collections.abc import Sequence

ORDERS: Final = 60


def _every_queue(current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]) -> list[Any]:  # noqa: ARG001
    return list(mq_all)


def _by_pull(lab: Lab, who: str, tag: str) -> None:
    lab.consumer(who, group="G", subscribe={TOPIC: tag}, post_subscription=True)


def _group_each(lab: Lab, who: str, tag: str) -> None:
    lab.consumer(who, group=f"G-{tag}", subscribe={TOPIC: tag})


def _both(lab: Lab, who: str, tag: str) -> None:  # noqa: ARG001 - whatever it is for
    lab.consumer(who, group="G", subscribe={TOPIC: "tagA || tagB"})


def _by_pop(lab: Lab, who: str, tag: str) -> None:
    lab.consumer(who, group="G", subscribe={TOPIC: tag}, kind="pop")


SHARED: Final = Design(DEFAULT_RULES.replace(allocate=_every_queue), _by_pull)
PROPOSED: Final = {
    "4.8.0": Design(DEFAULT_RULES, in_one_group),
    "both ask for both": Design(DEFAULT_RULES, _both),
    "a group for each tag": Design(DEFAULT_RULES, _group_each),
    "subscription by pull": Design(DEFAULT_RULES, _by_pull),
    "consumer tags": Design(RULES["5.5.0"], _by_pop),
    "every queue, by pull": SHARED,
}
"""The proposals of the first task, as the exercise names them."""


@cache
def _tried(name: str) -> Trial:
    """A proposal in the four stories; of the small one only the usual order."""
    return tried(name, PROPOSED[name], 1)


def predict(answer: Any) -> str:
    """The proposals with which each message of the four stories comes to who asked for it: a set of names."""
    if isinstance(answer, str):
        answer = [answer]
    names = set(map(str, answer)) if isinstance(answer, set | frozenset | list | tuple) else None
    if names is None or not names <= set(PROPOSED):
        raise CheckFailed(_("Give a set of these names: {names}.", names=joined(", ", PROPOSED)), rule=OF_TASK)
    for name in PROPOSED:
        trial = _tried(name)
        price = trial.total
        if (name in names) == bool(price.lost or price.waiting):
            story = next((story for story, price in trial.prices.items() if price.lost or price.waiting), "")
            problem = (
                _("{name} loses in {story}.", name=name, story=story)
                if story
                else _("{name} loses nothing in the four stories.", name=name)
            )
            raise CheckFailed(problem=problem, lines=[trial.orders()])
    return _("So it is in all four stories.")


def break_it(answer: Any) -> str:
    """A story for the design `SHARED` in which a message is lost: starts, stops and messages, and no other fault."""
    needs_function(answer, _("Give the function itself: it takes (lab, start) and does steps."))
    lab = Lab(topics={TOPIC: 4}, rules=SHARED.rules)

    def start(who: str) -> None:
        if who not in ASKED:
            raise BadInput(_("members are A and B, not {who}", who=f"{who!r}"))
        SHARED.start(lab, who, ASKED[who])

    if called_in_lab(answer, lab, start) is ...:
        raise CheckFailed(OPEN_ANSWER)
    lab.run(seconds=60)
    scenario = lab.scenario()
    may_be = Start | Stop | Send | Alloc | Offsets  # the last two are questions
    others = {type(step).__name__ for step in scenario.steps if not isinstance(step, may_be)}
    if others:
        raise CheckFailed(
            _("Only starts, stops and messages: nothing else may happen."),
            problem=_("It has {others}.", others=joined(", ", sorted(others))),
        )
    if any(isinstance(step, Start) and step.group != "G" for step in scenario.steps):
        raise CheckFailed(_("Start members with start(who)."))
    if set(lab.clients) != set(ASKED):
        raise CheckFailed(_("In the end A and B both run."))
    price = price_of(lab.finish().run, ASKED)
    if not price.lost:
        raise CheckFailed(problem=_("All {sent} messages came to who asked for them.", sent=price.sent))
    sound = _("A group for each tag would have lost none of them.")
    return sentences(
        ngettext(
            "{count} of {sent} messages is lost.",
            "{count} of {sent} messages are lost.",
            len(price.lost),
            sent=price.sent,
        ),
        sound,
    )


def protocol(answer: Any) -> str:
    """A protocol that loses nothing and gives no member what it did not ask for, in one group, in every story."""
    try:
        design = design_of(_("your design"), answer)
    except BadInput as error:
        raise CheckFailed(str(error)) from None
    for who in ASKED:
        lab = Lab(topics={TOPIC: 4}, rules=design.rules)
        if called_in_lab(design.start, lab, who, ASKED[who]) is ...:
            raise CheckFailed(OPEN_ANSWER)
        if who not in lab.clients:
            raise CheckFailed(case="refused", problem=_("{who} is refused.", who=who))
    try:
        trial = tried(_("your design"), design, ORDERS)
    except BadInput as error:
        raise CheckFailed(str(error)) from None
    for story, price in trial.prices.items():
        missing = price.lost + price.waiting
        if missing or price.unasked:
            problem = (
                _("In {story} {body} does not come to who asked for it.", story=story, body=missing[0])
                if missing
                else _("In {story} {body} goes to who did not ask for it.", story=story, body=price.unasked[0])
            )
            usual = _tried("4.8.0").prices[story]
            beside = _("4.8.0 loses {lost} of {sent} there.", lost=len(usual.lost), sent=price.sent)
            raise CheckFailed(problem=sentences(problem, beside))
    if trial.wrong is not None:
        from rmqlab_tools.show.swimlane import story_picture

        picture = story_picture(trial.wrong, _("The shortest order in which it goes wrong"))
        raise CheckFailed(
            problem=_("All four stories go well, and an order of the small one does not."), picture=picture
        )
    return sentences(
        _("Nothing is lost in four stories, and the small story is {orders}.", orders=trial.orders()),
        trial.total.words(),
        price_of_groups(trial.groups),
    )


CHECKS = {"16-predict": predict, "16-break": break_it, "16-protocol": protocol}
