"""What later answers ask for: another order of requests under way at once, a reput thread that stood still.

A pass over a recording handles such requests in the order seen. Where that was wrong it may show much later only: of
two heartbeats with subscriptions of one version the first one stays, and pulls tell which it was. So a pass notes every
pair that may have been handled the other way round and every message that may have become visible later, and what
differs is looked at together with those before it: other passes assume the other order, or that the reput thread stood
still. What moves the first difference of a group further away, or leaves fewer after the same first one, is kept; all
else is taken back. An assumption changes only when our broker does what it does, never what it answers.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.recordings.exchange import CLOSE_LINE, LOG_DOMAIN, consumers_of, number_of, pair
from tests.proof.replay.assumptions import Assumption, Lost, OrderChoice, PopWay, Stall, TornHeartbeat
from tests.proof.replay.planned_log import planned_log
from tests.proof.replay.pop_requests import LATE
from tests.proof.replay.recorded_clock import read_clock
from tests.proof.replay.replay_context import STALL_MS, FoundDifference, ReplayContext
from tests.proof.replay.replay_pass import ReplayPass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules
    from rmqlab_tools.recordings.exchange import Exchange
    from rmqlab_tools.recordings.frames import Recording

PASSES = 20
"""How many passes over a recording are made at most."""
POP_PASSES = 60
"""The same where something is popped: each pop may have gone about in several ways."""
UNLIKELY_FIRST = (0, 7, 6, 5, 4, 3, LATE, 2, 1)
"""The ways of a pop: the last one is tried first."""
POP_NEAR_MS = 400.0
"""How far from the first difference of a group the pops are whose ways are tried."""

# When (ms) the first difference of a group or topic showed, and how many it has, below 0: the greater, the better.
Score = tuple[float, int]
_NONE: Score = inf, 0


class OrderSearch:
    """Passes over a recording, until nothing differs or nothing is left to assume. `tell` hears of each."""

    def __init__(self, recording: Recording, tell: Callable[[str], None], rules: Rules) -> None:
        self._recording = recording
        self._clock = read_clock(recording, pair(recording.lines).by_request.values())
        self._rules = rules
        self._plan = planned_log(recording, self._clock, rules)
        self._tell = tell
        # What was taken back, by group or topic, since that one last kept something.
        self._tried: dict[str, set[tuple[int, ...]]] = {}
        self.passes = 0

    def run(self) -> ReplayContext:
        """Return the pass with the fewest differences."""
        best = fewest = self.run_pass(())
        most = PASSES if self._plan is None else POP_PASSES
        while best.differing and self.passes < most:
            proposals = self._proposals(best)
            if not proposals:
                break
            was = _by_subject(best)
            trial = self.run_pass(_all(best, proposals))
            now = _by_subject(trial)
            better = {subject: ones for subject, ones in proposals.items() if now.get(subject, _NONE) > was[subject]}
            if not better:
                continue
            for subject in better:
                self._tried.pop(subject)
            if len(better) < len(proposals):
                trial = self.run_pass(_all(best, better))
            best = trial
            if len(best.differing) < len(fewest.differing):
                fewest = best
        return fewest

    def run_pass(self, assumed: tuple[Assumption, ...]) -> ReplayContext:
        """Go over the recording once."""
        self.passes += 1
        exchanges = pair(self._recording.lines)
        self._tell(f"pass {self.passes} over {len(exchanges.by_request)} requests")
        context = ReplayContext(self._recording, exchanges, self._clock, assumed, self._rules, self._plan)
        ReplayPass(context).run()
        return context

    def _proposals(self, context: ReplayContext) -> dict[str, list[Assumption]]:
        """For each group or topic that differs, what is most likely behind it and was not tried.

        That is the latest tie of two heartbeats, or the end of a connection before a request that got no answer on it;
        else, for every request that differs, the order of it and a change; else an older subscription put last; else
        the message that a request may not have seen; else the latest pair of any kind.
        """
        shown = {subject: moment for subject, (moment, _) in _by_subject(context).items()}
        differing = {found.exchange.number for found in context.differing if found.exchange is not None}
        assumed = {one.key for one in context.assumed}
        proposals: dict[str, dict[int, Assumption]] = {}
        ranks: dict[str, int] = {}

        def propose(subject: str, rank: int, place: int, one: Assumption) -> None:
            if one.key in assumed or one.key in self._tried.get(subject, ()) or rank > ranks.get(subject, rank):
                return
            if rank < ranks.get(subject, inf):
                ranks[subject], proposals[subject] = rank, {}
            proposals[subject][place] = one

        for one in context.assumed:
            if isinstance(one, OrderChoice) and one.second.code == CLOSE_LINE and one.domain[1] in shown:
                propose(one.domain[1], 0, one.first.number, Lost(one.first))
        for choice in context.choices:
            subject, first, second = choice.domain[1], choice.first.number, choice.second.number
            if first in differing and choice.second.code == CLOSE_LINE:
                propose(subject, 0, first, choice)
            elif choice.second.line.t > shown.get(subject, -inf):
                continue
            elif _is_tie(choice):
                propose(subject, 0, 0, choice)
            elif first in differing:
                # of all changes after it, the one next to it
                if first not in proposals.get(subject, ()):
                    propose(subject, 1, first, choice)
            elif second in differing:
                propose(subject, 1, second, choice)
            else:
                propose(subject, 4, 0, choice)
            if _is_older(choice):
                propose(subject, 2, 0, TornHeartbeat(choice.first, choice.second))
        unseen = {
            (at, subject) for found in context.differing for at in _unseen(context, found) for subject in found.subjects
        }
        for at, subject in sorted(unseen, reverse=True):
            # the first of them in the log: a thread that stands still there shows none of the others
            propose(subject, 3, 0, Stall(at))
        for subject, one in self._pop_ways(context, shown):
            propose(subject, 5, 0, one)
        for subject, ones in proposals.items():
            self._tried.setdefault(subject, set()).update(one.key for one in ones.values())
        return {subject: list(ones.values()) for subject, ones in proposals.items()}

    def _pop_ways(self, context: ReplayContext, shown: Mapping[str, float]) -> Iterator[tuple[str, PopWay]]:
        """Other ways of the pops of a group, those next to its first difference last, and then those that waited."""
        pops: dict[str, list[Exchange]] = {}
        for exchange in context.exchanges.by_request.values():
            if exchange.code == RequestCode.POP_MESSAGE and exchange.expected is not None:
                pops.setdefault(exchange.fields.get("consumerGroup") or "", []).append(exchange)
        for group, moment in shown.items():
            near = [
                one for one in pops.get(group, ()) if moment - POP_NEAR_MS <= one.answered_at <= moment + POP_NEAR_MS
            ]
            near = [one for one in near if one.expected and number_of((one.expected.ext_fields or {}).get("popTime"))]
            near.sort(key=lambda one: -abs(one.answered_at - moment))
            # A pop that should have found nothing shows when its time is over: what matters is when it was asked.
            asked = {found.exchange.line.t for found in context.differing if found.exchange and group in found.subjects}
            waited = [
                one
                for one in pops.get(group, ())
                if one.answered_at - one.line.t > POP_NEAR_MS
                and any(0 <= at - one.line.t <= POP_NEAR_MS for at in asked)
            ]
            for way in UNLIKELY_FIRST:
                for one in waited if way == LATE else near:
                    yield group, PopWay(one, way)


def _all(context: ReplayContext, proposals: dict[str, list[Assumption]]) -> tuple[Assumption, ...]:
    return (*context.assumed, *(one for ones in proposals.values() for one in ones))


def _by_subject(context: ReplayContext) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    for found in context.differing:
        for subject in found.subjects:
            moment, count = scores.get(subject, _NONE)
            scores[subject] = min(moment, found.t), count - 1
    return scores


def _unseen(context: ReplayContext, found: FoundDifference) -> Iterator[int]:
    """Where those messages are in the log that our broker showed to a request, and the real one may not have had."""
    exchange = found.exchange
    if exchange is None or LOG_DOMAIN not in exchange.domains:
        return
    for offset in (exchange.highest, number_of(exchange.fields.get("queueOffset"))):
        message = None if offset is None else context.messages.get((exchange.queue, offset))
        if message and message.visible < exchange.answered_at and exchange.line.t - message.t <= STALL_MS:
            yield message.at


def _is_tie(choice: OrderChoice) -> bool:
    """Tell whether two heartbeats bring different subscriptions of the same version: the first to come stays."""
    mine = {subscription.topic: subscription for subscription in _subscriptions(choice.first)}
    return any(
        (other := mine.get(subscription.topic)) is not None and other.is_tied_with(subscription)
        for subscription in _subscriptions(choice.second)
    )


def _is_older(choice: OrderChoice) -> bool:
    """Tell whether the second heartbeat brings an older subscription than the first: it may be put all the same."""
    before = {one.topic: one for one in _subscriptions(choice.first)}
    return any(
        (newer := before.get(one.topic)) is not None
        and one.sub_version < newer.sub_version
        and one.sub_string != newer.sub_string
        for one in _subscriptions(choice.second)
    )


def _subscriptions(change: Exchange) -> list[SubscriptionData]:
    return [one for consumer in consumers_of(change.command) for one in consumer.subscription_data_set]
