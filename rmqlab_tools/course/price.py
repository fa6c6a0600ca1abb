"""What a protocol costs, counted in a run: messages that did not come, came twice, went to others, and were carried."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.events import ClientFiltered, PullAnswered
from rmqlab.language import _, ngettext, sentences
from rmqlab.protocol.subscription_data import SUB_ALL, build_subscription
from rmqlab.run.fates import Fate
from rmqlab.run.recorded_events import Consumed, MessageSent
from rmqlab.scenario.scenario import Start, Subscribe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rmqlab.run.run import Run

_ON_ITS_WAY = {Fate.WAITING, Fate.NO_OWNER, Fate.RETRYING, Fate.INVISIBLE}


class Price(NamedTuple):
    """Bodies of messages by what is wrong: `lost`, `waiting` and `twice` for who asked, `unasked` by who did not.

    A message that a member asks for, when it is sent or later, and does not get is lost, or waits if a group has not
    passed it. `carried`: messages that brokers sent to clients, those that clients dropped included. `sent`: messages.
    """

    sent: int
    lost: tuple[str, ...]
    waiting: tuple[str, ...]
    twice: tuple[str, ...]
    unasked: tuple[str, ...]
    carried: int

    def words(self) -> str:
        """The price in a sentence or two; what costs nothing is left out."""
        unasked, twice = len(self.unasked), len(self.twice)
        parts = (
            ngettext(
                "But {count} message went to a listener that did not ask for it.",
                "But {count} messages went to listeners that did not ask for them.",
                unasked,
            )
            if unasked
            else "",
            ngettext("But {count} message came twice or more.", "But {count} messages came twice or more.", twice)
            if twice
            else "",
            _(
                "Messages sent to the broker: {sent}; sent on to clients: {carried}.",
                sent=self.sent,
                carried=self.carried,
            )
            if self.carried != self.sent
            else "",
        )
        return sentences(*parts) if any(parts) else ""


class Asked:
    """Who asks for what in a run, by its steps: of each member the tag expressions, from when on."""

    def __init__(self, run: Run, asks: Mapping[str, str] | None = None) -> None:
        """`run` has steps: it is a simulation. `asks`: what members ask for all the time, whatever they subscribe."""
        self._of: dict[str, list[tuple[float, str]]] = {who: [(0, text)] for who, text in (asks or {}).items()}
        for step in () if asks else run.scenario.steps:
            at = step.at + run.zero
            if isinstance(step, Start):
                for expression in step.subscribe.values():
                    self._of.setdefault(step.who, []).append((at, expression.expr))
            elif isinstance(step, Subscribe):
                self._of.setdefault(step.who, []).append((at, step.expr))

    def wants(self, who: str, tag: str | None, at: float) -> bool:
        """Whether a member asked for a tag at this moment (ms of the run)."""
        said = [expression for since, expression in self._of.get(who, ()) if since <= at]
        return bool(said) and _names(said[-1], tag)

    def wanted_by(self, tag: str | None, at: float) -> list[str]:
        """Who asks for a tag at this moment or later."""
        return [
            who
            for who, said in self._of.items()
            if self.wants(who, tag, at) or any(since >= at and _names(expression, tag) for since, expression in said)
        ]


def _names(expression: str, tag: str | None) -> bool:
    subscription = build_subscription("", expression, "TAG")
    return subscription.sub_string == SUB_ALL or tag in subscription.tags_set


def price_of(run: Run, asks: Mapping[str, str] | None = None) -> Price:
    """The price of a run whose members ask by tags (`asks`: for these, whatever they subscribe to get them)."""
    asked, got = Asked(run, asks), Counter[str]()
    sent = {fact.event.body: (fact.event.tag, fact.t) for fact in run.recorded(MessageSent)}
    unasked: list[str] = []
    for fact in run.facts.of(Consumed):
        body, tag = fact.event.body, fact.event.tag
        if asked.wants(fact.source, tag, fact.t):
            got[body] += 1
        else:
            unasked.append(body)
    on_its_way = {fate.body for fate in run.fates if fate.fate in _ON_ITS_WAY}
    missing = [body for body, (tag, at) in sent.items() if not got[body] and asked.wanted_by(tag, at)]
    return Price(
        len(sent),
        tuple(body for body in missing if body not in on_its_way),
        tuple(body for body in missing if body in on_its_way),
        tuple(body for body, times in got.items() if times > 1),
        tuple(unasked),
        carried(run),
    )


def price_of_groups(groups: int) -> str:
    """What it costs that members do not share one group, in a sentence; empty if they do."""
    return _("The price: a group for each member, each with an offset of its own for each queue.") if groups > 1 else ""


def carried(run: Run) -> int:
    """Messages that brokers sent to clients: those that clients kept, and those that they dropped themselves."""
    kept = sum(fact.event.count for fact in run.facts.of(PullAnswered))
    kept = kept or sum(1 for _fact in run.facts.of(Consumed))  # what pops answer is no pull
    return kept + sum(1 for _fact in run.facts.of(ClientFiltered))


def added(prices: Iterable[Price]) -> Price:
    """The price of several runs together."""
    rows = list(prices)
    bodies = {name: tuple(body for price in rows for body in getattr(price, name)) for name in Price._fields[1:5]}
    return Price(sent=sum(price.sent for price in rows), carried=sum(price.carried for price in rows), **bodies)
