"""What a run of a change cost: the messages lost, those taken twice, how long it took, how long messages waited."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.run.recorded_events import MessageSent, OffsetReset, Received, Started, Starting, Stopped, Stopping
from rmqlab.scenario.scenario import Send, Start
from rmqlab_tools.search.plan.change import MessageKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.run.facts import Fact
    from rmqlab.run.recorded_events import Recorded
    from rmqlab.run.run import Run
    from rmqlab_tools.search.plan.change import Change

CHANGES: tuple[type[Recorded], ...] = (Starting, Started, Stopping, Stopped, OffsetReset)


@dataclass(frozen=True, slots=True)
class LostByChange:
    """A message that was wanted and that no member took: its kind, and who let it go by under which subscription."""

    body: str
    kind: MessageKind
    queue: int
    fate: str
    culprit: str | None
    subscription: str | None


@dataclass(frozen=True, slots=True)
class RunCost:
    """`lost`: bodies, as sent; `duplicates`: how often a message was taken once more.

    `takes_ms`: from the first step of the change to the last; `longest_wait_ms`: from a message's arrival to the
    first time that somebody took it; `wanted`: how many messages somebody wanted.
    """

    lost: tuple[str, ...]
    duplicates: int
    takes_ms: int
    longest_wait_ms: int
    wanted: int


def cost_of(run: Run, change: Change, change_at_ms: float) -> RunCost:
    """The cost of one run; `change_at_ms`: when its change began, since the run began.

    A message is wanted if a member that ran when it was sent asks for it, or if both OLD and NEW take it. It is lost if
    no member has taken it when everything has come to rest.
    """
    starts = [step for step in run.scenario.steps if isinstance(step, Start)]
    takes = {
        subscription: change.taken_by(subscription)
        for subscription in {subscription for step in starts for subscription in step.subscribe.values()}
    }
    topics = {
        message.body: step.topic for step in run.scenario.steps if isinstance(step, Send) for message in step.messages
    }
    running: dict[str, Start] = {}
    wanted: dict[str, float] = {}
    taken: Counter[str] = Counter()
    waits: dict[str, float] = {}
    end = change_at_ms
    facts: Iterator[Fact[Recorded]] = run.recorded(*CHANGES, MessageSent, Received)
    for fact in facts:
        if isinstance(fact.event, CHANGES) and fact.t >= change_at_ms:
            end = fact.t
        match fact.event:
            case Started(who=client):
                running[client] = next(step for step in starts if step.who == client)
                starts.remove(running[client])
            case Stopping(who=client):
                running.pop(client, None)
            case MessageSent(body=body):
                topic, kind = topics[body], _kind_of(body)
                kinds_asked = [takes[step.subscribe[topic]] for step in running.values() if topic in step.subscribe]
                if kind is MessageKind.BOTH or any(kind in kinds for kinds in kinds_asked):
                    wanted[body] = fact.t
            case Received(body=body):
                taken[body] += 1
                if taken[body] == 1 and body in wanted:
                    waits[body] = fact.t - wanted[body]
    lost = tuple(body for body in wanted if not taken[body])
    twice = sum(times - 1 for times in taken.values())
    return RunCost(lost, twice, round(end - change_at_ms), round(max(waits.values(), default=0)), len(wanted))


def lost_messages(run: Run, cost: RunCost) -> list[LostByChange]:
    """Each message lost, with the stage that let it go by."""
    messages = []
    for body in cost.lost:
        fates = [fate for fate in run.fates if fate.body == body]
        fate = next((of_message for of_message in fates if of_message.lost), fates[0])
        kind = _kind_of(body)
        messages.append(LostByChange(body, kind, fate.queue, fate.fate.value, fate.culprit, fate.subscription))
    return messages


def _kind_of(body: str) -> MessageKind:
    return MessageKind(body.partition("-")[0])
