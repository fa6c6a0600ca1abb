"""What a run of a change cost: the messages lost, those taken twice, how long it took, how long messages waited."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.lab.scenario import Send, Start
from rmqlab.search.plan.change import Change, MessageKind

if TYPE_CHECKING:
    from rmqlab.lab.fates import MessageFate
    from rmqlab.lab.run import Run

CHANGES = frozenset({"starting", "started", "stopping", "stopped", "offsetReset"})


@dataclass(frozen=True, slots=True)
class LostByChange:
    """A message that was wanted and that nobody took: its kind, and who let it go by under which subscription."""

    body: str
    kind: MessageKind
    queue: int
    fate: str
    culprit: str | None
    subscription: str | None


@dataclass(frozen=True, slots=True)
class RunCost:
    """``lost``: bodies, as sent; ``duplicates``: how often a message was taken once more.

    ``takes_ms``: from the first step of the change to the last; ``longest_wait_ms``: from a message's arrival to the
    first time that somebody took it; ``wanted``: how many messages somebody wanted.
    """

    lost: tuple[str, ...]
    duplicates: int
    takes_ms: int
    longest_wait_ms: int
    wanted: int


def cost_of(run: Run, change: Change, change_at_ms: float) -> RunCost:
    """The cost of one run; ``change_at_ms``: when its change began, since the run began.

    A message is wanted if a member that ran when it was sent asks for it, or if both OLD and NEW take it. It is lost if
    nobody has taken it when everything has come to rest.
    """
    sent = _sent(run)
    later = [step for step in run.scenario.steps if isinstance(step, Start)]
    running: dict[str, Start] = {}
    wanted: dict[str, float] = {}
    taken: Counter[str] = Counter()
    waits: dict[str, float] = {}
    begin = end = change_at_ms
    passes: dict[tuple[str, str, MessageKind], bool] = {}
    for event in run.events:
        what = event["ev"]
        if what in CHANGES and event["t"] >= change_at_ms:
            end = event["t"]
        match what:
            case "started":
                running[event["who"]] = next(step for step in later if step.who == event["who"])
                later.remove(running[event["who"]])
            case "stopping":
                running.pop(event["who"], None)
            case "sent":
                kind, topic = sent[event["body"]]
                if kind is MessageKind.BOTH or any(
                    _asks(change, step, topic, kind, passes) for step in running.values()
                ):
                    wanted[event["body"]] = event["t"]
            case "consume":
                body = event["body"]
                taken[body] += 1
                if taken[body] == 1 and body in wanted:
                    waits[body] = event["t"] - wanted[body]
    lost = tuple(body for body in wanted if not taken[body])
    twice = sum(times - 1 for times in taken.values())
    return RunCost(lost, twice, round(end - begin), round(max(waits.values(), default=0)), len(wanted))


def _sent(run: Run) -> dict[str, tuple[MessageKind, str]]:
    return {
        message.body: (MessageKind(message.body.partition("-")[0]), step.topic)
        for step in run.scenario.steps
        if isinstance(step, Send)
        for message in step.messages
    }


def _asks(
    change: Change, step: Start, topic: str, kind: MessageKind, passes: dict[tuple[str, str, MessageKind], bool]
) -> bool:
    one = step.subscribe.get(topic)
    if one is None:
        return False
    key = (one.type, one.expr, kind)
    if key not in passes:
        passes[key] = change.passes(one, kind)
    return passes[key]


def lost_messages(run: Run, cost: RunCost) -> list[LostByChange]:
    """Each message lost, with the stage that let it go by."""
    fates: dict[str, list[MessageFate]] = {}
    for fate in run.fates:
        fates.setdefault(fate.body, []).append(fate)
    found = []
    for body in cost.lost:
        fate = next((one for one in fates[body] if one.lost), fates[body][0])
        kind = MessageKind(body.partition("-")[0])
        found.append(LostByChange(body, kind, fate.queue, fate.fate.value, fate.culprit, fate.subscription))
    return found
