"""What became of the messages of a topic in a group, as far as offsets and subscriptions tell; many rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit.batch import Batch, BatchFilter, BrokerPasses, at_broker, batch_filter
from rmqlab_tools.spark.audit.commits import PullOpportunities, earliest_commit_ms
from rmqlab_tools.spark.audit.fate_codes import CODE_OF_FATE, Answer, CertaintyCode, InferredFates, UnknownReason
from rmqlab_tools.spark.audit.owners import HOLD_MS, Owners, Window
from rmqlab_tools.spark.audit.subscriptions import ALWAYS, NEVER, BrokerSubscription, ClientSubscription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Codes = NDArray[np.int8]


@dataclass(slots=True, kw_only=True)
class FateInference:
    """Infers the fates of the messages of one topic in one group.

    `committed`: next offset by queue. `complete`: every member's subscription is in `client_subscriptions`. `owners`:
    of the topic's queues, by who was there when. `has_evidence`: there is a trace or a log of deliveries in this group;
    `traced`: the client ids in it. `coverage`: whether the evidence names all deliveries. A log that is given does
    (`Answer.YES`); not every member may write a trace (`Answer.MAYBE`); records of failures do not (`Answer.NO`).
    `reset`: when (epoch ms) the group's offsets were set by hand. `at_first`: a new group begins with the first message
    of its queues, so that it looks at what came before it. `paused`: from when to when (epoch ms) somebody stood still.
    `offsets_known` is False where the broker's file of offsets is damaged: then nothing is implied of where the group
    is. `rules` are those of the broker's version.
    """

    group: str
    topic: str
    committed: dict[int, int]
    client_subscriptions: list[ClientSubscription]
    broker_subscriptions: list[BrokerSubscription]
    complete: bool
    owners: Owners
    has_evidence: bool
    traced: tuple[str, ...] = ()
    coverage: int = Answer.NO
    reset: tuple[int, ...] = ()
    at_first: bool = True
    paused: tuple[tuple[int, int], ...] = ()
    offsets_known: bool = True
    rules: Rules = DEFAULT_RULES

    def property_names(self) -> set[str]:
        """The properties that some subscription looks at, besides TAGS."""
        return {name for text in self._texts() for name in self._filter(*text).property_names} - {"TAGS"}

    def _texts(self) -> set[tuple[str, str]]:
        """The types and expressions of all subscriptions, of members and of the broker's table."""
        return {(subscription.type, subscription.expression) for subscription in self.client_subscriptions} | {
            (subscription.type, subscription.expression) for subscription in self.broker_subscriptions
        }

    def subscriptions_at(self, times: NDArray[np.int64]) -> pa.Array:
        """The text of the subscription in force at each time (epoch ms), NULL where it is not known."""
        slots = self._slots()
        texts = [ClientSubscription("", slot.type, slot.expression).text for slot in slots]
        place = np.searchsorted([slot.since for slot in slots], times, "right") - 1
        return pa.array(texts, pa.string()).take(pa.array(place)) if slots else pa.nulls(len(times), pa.string())

    def infer(self, batch: Batch) -> InferredFates:
        """Infer the fates of messages of which no evidence says that they were delivered.

        A fate is implied where whoever may have looked at the message, with whatever subscription may have been in
        force then, would have decided alike; otherwise nothing is known but that the offset passed it.
        """
        begin, early = self._begin(batch)
        owner = self.owners.at(begin, batch.queues)
        window = self.owners.window(begin, batch.queues)
        if not self.owners.clients:
            # Nothing tells when somebody was there to look.
            window = window._replace(last=np.full(len(batch), NEVER))
        else:
            window = self._until_committed(batch, window, owner)
        for since, until in self.paused:
            # Whoever stands still looks at it when it goes on.
            still = (window.last >= since) & (window.first <= until)
            window = window._replace(last=np.where(still, np.maximum(window.last, until + HOLD_MS), window.last))
        broker = self._at_broker(batch, window)
        may_receive, must_receive = self._by_any(batch, window, owner, broker)
        at_once = Window(begin, begin)
        broker = self._posted(batch, at_once, owner, broker)
        _, likely = self._by_owner(batch, at_once, owner, broker.passes, broker.passes, unlisted=False)
        gets = broker.known & likely
        fate = np.full(len(batch), CODE_OF_FATE[Fate.DROPPED_BY_CLIENT], np.int8)
        fate[~broker.passes & broker.by_tag] = CODE_OF_FATE[Fate.DROPPED_BY_BROKER_TAG]
        fate[~broker.passes & ~broker.by_tag] = CODE_OF_FATE[Fate.DROPPED_BY_BROKER_SQL]
        fate[gets] = CODE_OF_FATE[Fate.DELIVERED]
        # A group that begins at the end of its queues never looks at what came before.
        sure = broker.known & np.where(gets, must_receive & ~early, ~may_receive)
        why = np.where(owner < 0, UnknownReason.OWNER_UNKNOWN, UnknownReason.CHANGED_SOON).astype(np.int8)
        why[early], why[~broker.known] = UnknownReason.BEFORE_GROUP, UnknownReason.SUBSCRIPTION_UNKNOWN
        if self._is_mixed():
            sure[:], why[:] = False, UnknownReason.MIXED_TOPICS
        by_a_member = self._by_a_member(batch)
        # Since the offsets were set by hand somebody may have looked at it again: to a place before it, maybe.
        came_again = by_a_member & (batch.times <= max(self.reset, default=ALWAYS) + HOLD_MS)
        set_by_hand = np.where(gets, self._jumped(batch, begin), came_again)
        sure[set_by_hand], why[set_by_hand] = False, UnknownReason.OFFSETS_SET
        covered = self._covered(owner)
        contrary = gets & (covered == Answer.YES)
        sure[contrary], why[contrary] = False, UnknownReason.NO_EVIDENCE
        fate[~sure] = CODE_OF_FATE[Fate.PASSED]
        if self.coverage == Answer.YES:
            # A log of all deliveries does not name it: nobody got it, by whichever stage.
            fate[~sure & ~early] = CODE_OF_FATE[Fate.SKIPPED_BY_OFFSET]
            sure |= ~early
        may_receive = by_a_member & (covered != Answer.YES)
        if not self.offsets_known:
            fate[:], sure[:], why[:] = CODE_OF_FATE[Fate.PASSED], False, UnknownReason.OFFSETS_UNREADABLE
        for here, what in self._not_passed(batch) if self.offsets_known else ():
            fate[here] = CODE_OF_FATE[what]
            sure[here] = ~may_receive[here]
            why[here] = UnknownReason.NOT_PASSED
        why[sure] = 0
        certainty = np.where(sure, CertaintyCode.IMPLIED, CertaintyCode.UNKNOWN).astype(np.int8)
        return InferredFates(fate, certainty, self._asked(batch), covered, why)

    def _begin(self, batch: Batch) -> tuple[NDArray[np.int64], Bools]:
        """When each message could be looked at, and which may have come before the group began."""
        if self.owners.clients:
            begin, early = self.owners.begins(batch.times)
        else:
            first = self.broker_subscriptions[0].since if self.broker_subscriptions else ALWAYS
            # Where nothing tells when the group was first there, it may have been after any message.
            begin, early = np.maximum(batch.times, first), (batch.times < first) | (not self.broker_subscriptions)
        return begin, early & (not self.at_first)

    def _until_committed(self, batch: Batch, window: Window, owner: NDArray[np.int64]) -> Window:
        """Leave to later owners what no member kept, until an offset after it was surely committed."""
        begin, owners = window.first, self.owners
        soon = Window(begin, begin + HOLD_MS)
        broker = self._at_broker(batch, soon)
        _, kept = self._by_owner(
            batch, soon._replace(first=begin - HOLD_MS), owner, broker.may_receive, broker.must_receive
        )
        kept &= (owner >= 0) & (owners.next_unsettled(begin) > soon.last)
        # Who sends its subscription with every pull may be a lite pull consumer.
        posts = {subscription.client for subscription in self.client_subscriptions if subscription.post}
        lite = np.array([*(client in posts for client in owners.clients), bool(posts)])
        looks = PullOpportunities(batch.queues, begin, owner, broker.may_receive | kept, kept)
        return window._replace(last=np.maximum(window.last, earliest_commit_ms(looks, owners, lite, batch.known_until)))

    def _jumped(self, batch: Batch, begin: NDArray[np.int64]) -> Bools:
        """What was surely not looked at before the offsets were set: to a place after it, maybe."""
        skipped = np.zeros(len(batch), np.bool_)
        for at in self.reset:
            # The place may be behind what nobody had sent yet; until somebody comes, nobody notices.
            until = self.owners.begins(np.array([at]))[0][0] if self.owners.clients else at + HOLD_MS
            # Where it is not known who was there when, the group may have been away for long.
            skipped |= (batch.times <= until) & ((begin >= at - HOLD_MS) | (not self.owners.clients))
        return skipped

    def _is_mixed(self) -> bool:
        """Whether a message may have waited for another subscription, since some member did not ask for the topic.

        Its heartbeats take this topic out of the broker's table, so that pulls fail until the next heartbeat of a
        member that asks for it (4.8.0 `ConsumerGroupInfo.updateSubscription`); it is given queues of the topic all the
        same, and does not pull those. Where there was only one subscription all the time, that one decided.
        """
        arrived = self.owners.arrived
        in_time = {
            subscription.client
            for subscription in self.client_subscriptions
            if subscription.since <= arrived.get(subscription.client, NEVER) + HOLD_MS
        }
        return self.complete and len(self._texts()) > 1 and not in_time.issuperset(self.owners.clients)

    def _posted(self, batch: Batch, window: Window, owner: NDArray[np.int64], broker: BrokerPasses) -> BrokerPasses:
        """Put the owner's own subscription where it comes with every pull."""
        passes, by_tag, known = broker.passes.copy(), broker.by_tag.copy(), broker.known.copy()
        for place, client in enumerate(self.owners.clients):
            for subscription, mine in self._in_force(client, owner == place, window):
                if subscription.post:
                    own = self._filter(subscription.type, subscription.expression)
                    passes[mine], by_tag[mine], known[mine] = own.broker_passes(batch)[mine], own.is_tag, True
        return broker._replace(passes=passes, by_tag=by_tag, known=known)

    def _by_any(
        self, batch: Batch, window: Window, owner: NDArray[np.int64], broker: BrokerPasses
    ) -> tuple[Bools, Bools]:
        """Which messages some possible owner that writes no trace gets, and which every possible one gets."""
        is_traced = [self.coverage == Answer.YES or client in self.traced for client in self.owners.clients]
        untold = np.array([not traced for traced in is_traced] + [self.coverage != Answer.YES])
        # What a pull brings is checked against the subscription at its start, and a pull may be held.
        pulled = window._replace(first=window.first - HOLD_MS)
        may_receive, must_receive = self._by_owner(batch, pulled, owner, broker.may_receive, broker.must_receive)
        may_receive &= untold[owner]
        for may, other in self.owners.others(window, batch.queues):
            any_more, all_more = self._by_owner(batch, pulled, other, broker.may_receive, broker.must_receive)
            may_receive = np.logical_or(may_receive, may & any_more & untold[other])
            must_receive = np.logical_and(must_receive, ~may | all_more)
        # After the last member had left, somebody who is not listed must have been there.
        return may_receive | (window.first >= NEVER), must_receive

    def _by_owner(
        self,
        batch: Batch,
        window: Window,
        owner: NDArray[np.int64],
        some_pass: Bools,
        all_pass: Bools,
        *,
        unlisted: bool = True,
    ) -> tuple[Bools, Bools]:
        """What gets through for some, and for all, of the subscriptions `owner` may have within `window`.

        `some_pass` and `all_pass` are the same of what the broker held. If the owner or what it asked for is not known,
        it may be any member; if it may be `unlisted`, also one of which nothing is known.
        """

        def through(subscription: ClientSubscription) -> tuple[Bools, Bools]:
            own = self._filter(subscription.type, subscription.expression)
            keeps = own.client_passes(batch)
            if subscription.post:
                passes = own.broker_passes(batch) & keeps
                return passes, passes
            return some_pass & keeps, all_pass & keeps

        known, may_receive = np.zeros((2, len(batch)), np.bool_)
        must_receive = np.ones(len(batch), np.bool_)
        there = np.zeros(len(self.owners.clients) + 1, np.bool_)
        there[owner] = True
        for place, client in enumerate(self.owners.clients):
            if not there[place]:
                continue
            for subscription, may in self._in_force(client, owner == place, window):
                if may.any():
                    any_of, all_of = through(subscription)
                    known |= may
                    may_receive |= may & any_of
                    must_receive &= ~may | all_of
        if known.all():
            return may_receive, must_receive
        each = [through(subscription) for subscription in self.client_subscriptions]
        of_any = reduce(np.logical_or, [subscription for subscription, _ in each]) if each else some_pass
        of_all = reduce(np.logical_and, [subscription for _, subscription in each]) if each else all_pass
        if unlisted and not self.complete:
            of_any, of_all = of_any | some_pass, np.zeros(len(batch), np.bool_)
        if not self.owners.clients:
            return of_any.copy(), of_all.copy()
        return np.where(known, may_receive, of_any), np.where(known, must_receive, of_all)

    def _by_a_member(self, batch: Batch) -> Bools:
        """What one member, whenever it was there, may have got of any queue."""
        by_table = [self._filter(*text).broker_passes(batch) for text in sorted(self._texts())]
        got = np.full(len(batch), not self.client_subscriptions or not self.complete)
        for subscription in self.client_subscriptions:
            own = self._filter(subscription.type, subscription.expression)
            by_broker = [own.broker_passes(batch)] if subscription.post else by_table
            got |= own.client_passes(batch) & reduce(np.logical_or, by_broker)
        return np.asarray(got)

    def _in_force(self, client: str, rows: Bools, window: Window) -> Iterator[tuple[ClientSubscription, Bools]]:
        """What a client asks for, and for which of `rows` that may be in force within `window`."""
        before = ALWAYS
        for subscription in sorted(
            (subscription for subscription in self.client_subscriptions if subscription.client == client),
            key=lambda subscription: subscription.until,
        ):
            yield subscription, rows & (window.first <= subscription.until) & (window.last > before)
            before = subscription.until

    def _covered(self, owner: NDArray[np.int64]) -> Codes:
        if self.coverage != Answer.MAYBE:
            return np.full(len(owner), self.coverage, np.int8)
        coverage = np.array(
            [Answer.YES if client in self.traced else Answer.NO for client in self.owners.clients] + [Answer.MAYBE],
            np.int8,
        )
        return coverage[owner]

    def _not_passed(self, batch: Batch) -> tuple[tuple[Bools, Fate], ...]:
        """Messages at or above the committed offset wait, those of a queue without a commit have no owner.

        That is implied only of what no member gets: a listener may have had a message whose offset was never committed
        (by a client that was killed, or whose earlier message is still being worked on), or was set back; and a
        member that is broadcasting commits nothing at the broker.
        """
        queues = max([*self.committed, int(batch.queues.max(initial=0))], default=0) + 1
        table = np.full(queues, -1, np.int64)
        for queue, offset in self.committed.items():
            table[queue] = offset
        committed = table[batch.queues]
        none = committed < 0
        return (~none & (batch.offsets >= committed), Fate.WAITING), (none, Fate.NO_OWNER)

    def _asked(self, batch: Batch) -> Codes:
        wanted = np.zeros(len(batch), np.bool_)
        for subscription in self.client_subscriptions:
            wanted |= self._filter(subscription.type, subscription.expression).wants(batch) & (
                batch.times <= subscription.until
            )
        return np.where(wanted, Answer.YES, Answer.NO if self.complete else Answer.MAYBE).astype(np.int8)

    def _slots(self) -> list[BrokerSubscription]:
        if self.broker_subscriptions:
            # Before the first look at it, the broker held what was seen first.
            return [self.broker_subscriptions[0]._replace(since=ALWAYS), *self.broker_subscriptions[1:]]
        texts = {(subscription.type, subscription.expression) for subscription in self.client_subscriptions}
        return [BrokerSubscription(*texts.pop())] if self.complete and len(texts) == 1 else []

    def _at_broker(self, batch: Batch, window: Window) -> BrokerPasses:
        wishes = self.client_subscriptions
        return at_broker(batch, window, self.topic, self._slots(), wishes, self.owners, self.complete, self.rules)

    def _filter(self, kind: str, expression: str) -> BatchFilter:
        return batch_filter(self.topic, kind, expression, self.rules)
