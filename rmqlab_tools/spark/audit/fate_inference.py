"""What became of the messages of a topic in a group, as far as offsets and subscriptions tell; many rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit.batch import Batch, BatchFilter, BrokerPasses, at_broker, batch_filter
from rmqlab_tools.spark.audit.commits import Looks, committed_by
from rmqlab_tools.spark.audit.fate_codes import (
    CHANGED,
    CODE,
    EARLY,
    IMPLIED,
    MAYBE,
    MIXED,
    NO,
    NO_OFFSETS,
    NOBODYS,
    NOT_HELD,
    NOT_PASSED,
    RESET,
    UNKNOWN,
    UNTOLD,
    YES,
    InferredFates,
)
from rmqlab_tools.spark.audit.owners import HELD_MS, Owners, Window
from rmqlab_tools.spark.audit.subscriptions import ALWAYS, NEVER, Asked, HeldSubscription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Codes = NDArray[np.int8]


@dataclass(slots=True)
class FateInference:
    """Infers the fates of the messages of one topic in one group.

    `committed`: next offset by queue. `complete`: every member's subscription is in `asked`. `owners`: of the topic's
    queues, by who was there when. `has_evidence`: there is a trace or a log of deliveries in this group; `traced`: the
    client ids in it. `telling`: whether the evidence tells of all deliveries. A log that is given does (`YES`); not
    every member may write a trace (`MAYBE`); records of failures do not (`NO`). `reset`: when (epoch ms) the group's
    offsets were set by hand. `at_first`: a new group begins with the first message of its queues, so that it looks at
    what came before it. `paused`: from when to when (epoch ms) somebody stood still. `offsets_known` is False where the
    broker's file of offsets is damaged: then nothing is implied of where the group is.
    """

    group: str
    topic: str
    committed: dict[int, int]
    asked: list[Asked]
    held: list[HeldSubscription]
    complete: bool
    owners: Owners
    has_evidence: bool
    traced: tuple[str, ...] = ()
    telling: int = NO
    reset: tuple[int, ...] = ()
    at_first: bool = True
    paused: tuple[tuple[int, int], ...] = ()
    offsets_known: bool = True

    def property_names(self) -> set[str]:
        """The properties that some subscription looks at, besides TAGS and KEYS."""
        return {name for text in self._texts() for name in self._filter(*text).property_names} - {"TAGS", "KEYS"}

    def _texts(self) -> set[tuple[str, str]]:
        """The types and expressions of all subscriptions, of members and of the broker's table."""
        return {(one.type, one.expression) for one in self.asked} | {(one.type, one.expression) for one in self.held}

    def subscriptions_at(self, times: NDArray[np.int64]) -> pa.Array:
        """The text of the subscription in force at each time (epoch ms), NULL where it is not known."""
        slots = self._slots()
        texts = [Asked("", one.type, one.expression).text for one in slots]
        place = np.searchsorted([one.since for one in slots], times, "right") - 1
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
            window = window._replace(last=np.where(still, np.maximum(window.last, until + HELD_MS), window.last))
        broker = at_broker(batch, window, self.topic, self._slots(), self.asked, self.owners, self.complete)
        some, every = self._by_any(batch, window, owner, broker)
        at_once = Window(begin, begin)
        broker = self._posted(batch, at_once, owner, broker)
        _, likely = self._by_owner(batch, at_once, owner, broker.passes, broker.passes, unlisted=False)
        gets = broker.known & likely
        fate = np.full(len(batch), CODE[Fate.DROPPED_BY_CLIENT], np.int8)
        fate[~broker.passes & broker.by_tag] = CODE[Fate.DROPPED_BY_BROKER_TAG]
        fate[~broker.passes & ~broker.by_tag] = CODE[Fate.DROPPED_BY_BROKER_SQL]
        fate[gets] = CODE[Fate.DELIVERED]
        # A group that begins at the end of its queues never looks at what came before.
        sure = broker.known & np.where(gets, every & ~early, ~some)
        why = np.where(owner < 0, NOBODYS, CHANGED).astype(np.int8)
        why[early], why[~broker.known] = EARLY, NOT_HELD
        if self._is_mixed():
            sure[:], why[:] = False, MIXED
        by_a_member = self._by_a_member(batch)
        # Since the offsets were set by hand somebody may have looked at it again: to a place before it, maybe.
        came_again = by_a_member & (batch.times <= max(self.reset, default=ALWAYS) + HELD_MS)
        set_by_hand = np.where(gets, self._jumped(batch, begin), came_again)
        sure[set_by_hand], why[set_by_hand] = False, RESET
        covered = self._covered(owner)
        contrary = gets & (covered == YES)
        sure[contrary], why[contrary] = False, UNTOLD
        fate[~sure] = CODE[Fate.PASSED]
        if self.telling == YES:
            # A log of all deliveries does not name it: nobody got it, by whichever stage.
            fate[~sure & ~early] = CODE[Fate.SKIPPED_BY_OFFSET]
            sure |= ~early
        some = by_a_member & (covered != YES)
        if not self.offsets_known:
            fate[:], sure[:], why[:] = CODE[Fate.PASSED], False, NO_OFFSETS
        for here, what in self._not_passed(batch) if self.offsets_known else ():
            fate[here] = CODE[what]
            sure[here] = ~some[here]
            why[here] = NOT_PASSED
        why[sure] = 0
        certainty = np.where(sure, IMPLIED, UNKNOWN).astype(np.int8)
        return InferredFates(fate, certainty, self._asked(batch), covered, why)

    def _begin(self, batch: Batch) -> tuple[NDArray[np.int64], Bools]:
        """Return when each message could be looked at, and which may have come before the group began."""
        if self.owners.clients:
            begin, early = self.owners.begins(batch.times)
        else:
            first = self.held[0].since if self.held else ALWAYS
            # Where nothing tells when the group was first there, it may have been after any message.
            begin, early = np.maximum(batch.times, first), (batch.times < first) | (not self.held)
        return begin, early & (not self.at_first)

    def _until_committed(self, batch: Batch, window: Window, owner: NDArray[np.int64]) -> Window:
        """Leave to later owners what nobody kept, until an offset behind it was surely committed."""
        begin, owners = window.first, self.owners
        soon = Window(begin, begin + HELD_MS)
        broker = at_broker(batch, soon, self.topic, self._slots(), self.asked, owners, self.complete)
        _, kept = self._by_owner(batch, soon._replace(first=begin - HELD_MS), owner, broker.some, broker.every)
        kept &= (owner >= 0) & (owners.next_unsettled(begin) > soon.last)
        # Who sends its subscription with every pull may be a lite pull consumer.
        posts = {one.client for one in self.asked if one.post}
        lite = np.array([*(client in posts for client in owners.clients), bool(posts)])
        looks = Looks(batch.queues, begin, owner, broker.some | kept, kept)
        return window._replace(last=np.maximum(window.last, committed_by(looks, owners, lite, batch.known_until)))

    def _jumped(self, batch: Batch, begin: NDArray[np.int64]) -> Bools:
        """Return what nobody may have looked at before the offsets were set: to a place behind it, maybe."""
        found = np.zeros(len(batch), np.bool_)
        for at in self.reset:
            # The place may be behind what nobody had sent yet; until somebody comes, nobody notices.
            until = self.owners.begins(np.array([at]))[0][0] if self.owners.clients else at + HELD_MS
            # Where it is not known who was there when, the group may have been away for long.
            found |= (batch.times <= until) & ((begin >= at - HELD_MS) | (not self.owners.clients))
        return found

    def _is_mixed(self) -> bool:
        """Tell whether a message may have waited for another subscription, since some member did not ask for the topic.

        Its heartbeats take this topic out of the broker's table, so that pulls fail until the next heartbeat of a
        member that asks for it (4.8.0 `ConsumerGroupInfo.updateSubscription`); it is given queues of the topic all the
        same, and does not pull those. Where there was only one subscription all the time, that one decided.
        """
        arrived = self.owners.arrived
        in_time = {one.client for one in self.asked if one.since <= arrived.get(one.client, NEVER) + HELD_MS}
        return self.complete and len(self._texts()) > 1 and not in_time.issuperset(self.owners.clients)

    def _posted(self, batch: Batch, window: Window, owner: NDArray[np.int64], broker: BrokerPasses) -> BrokerPasses:
        """Put the owner's own subscription where it comes with every pull."""
        passes, by_tag, known = broker.passes.copy(), broker.by_tag.copy(), broker.known.copy()
        for place, client in enumerate(self.owners.clients):
            for one, mine in self._in_force(client, owner == place, window):
                if one.post:
                    own = self._filter(one.type, one.expression)
                    passes[mine], by_tag[mine], known[mine] = own.broker_passes(batch)[mine], own.is_tag, True
        return broker._replace(passes=passes, by_tag=by_tag, known=known)

    def _by_any(
        self, batch: Batch, window: Window, owner: NDArray[np.int64], broker: BrokerPasses
    ) -> tuple[Bools, Bools]:
        """Return which messages some possible owner that writes no trace gets, and which every possible one gets."""
        told = [self.telling == YES or client in self.traced for client in self.owners.clients]
        untold = np.array([not one for one in told] + [self.telling != YES])
        # What a pull brings is checked against the subscription at its start, and a pull may be held.
        pulled = window._replace(first=window.first - HELD_MS)
        some, every = self._by_owner(batch, pulled, owner, broker.some, broker.every)
        some &= untold[owner]
        for may, other in self.owners.others(window, batch.queues):
            any_more, all_more = self._by_owner(batch, pulled, other, broker.some, broker.every)
            some = np.logical_or(some, may & any_more & untold[other])
            every = np.logical_and(every, ~may | all_more)
        # After the last member had left, somebody who is not listed must have been there.
        return some | (window.first >= NEVER), every

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
        """Return what gets through for some, and for all, of the subscriptions `owner` may have within `window`.

        `some_pass` and `all_pass` are the same of what the broker held. If the owner or what it asked for is not known,
        it may be any member; if it may be `unlisted`, also one of which nothing is told.
        """

        def through(one: Asked) -> tuple[Bools, Bools]:
            own = self._filter(one.type, one.expression)
            keeps = own.client_passes(batch)
            if one.post:
                passes = own.broker_passes(batch) & keeps
                return passes, passes
            return some_pass & keeps, all_pass & keeps

        known, some = np.zeros((2, len(batch)), np.bool_)
        every = np.ones(len(batch), np.bool_)
        there = np.zeros(len(self.owners.clients) + 1, np.bool_)
        there[owner] = True
        for place, client in enumerate(self.owners.clients):
            if not there[place]:
                continue
            for one, may in self._in_force(client, owner == place, window):
                if may.any():
                    any_of, all_of = through(one)
                    known |= may
                    some |= may & any_of
                    every &= ~may | all_of
        if known.all():
            return some, every
        each = [through(one) for one in self.asked]
        of_any = reduce(np.logical_or, [one for one, _ in each]) if each else some_pass
        of_all = reduce(np.logical_and, [one for _, one in each]) if each else all_pass
        if unlisted and not self.complete:
            of_any, of_all = of_any | some_pass, np.zeros(len(batch), np.bool_)
        if not self.owners.clients:
            return of_any.copy(), of_all.copy()
        return np.where(known, some, of_any), np.where(known, every, of_all)

    def _by_a_member(self, batch: Batch) -> Bools:
        """Return what one member, whenever it was there, may have got of any queue."""
        held = [self._filter(*text).broker_passes(batch) for text in sorted(self._texts())]
        got = np.full(len(batch), not self.asked or not self.complete)
        for one in self.asked:
            own = self._filter(one.type, one.expression)
            by_broker = [own.broker_passes(batch)] if one.post else held
            got |= own.client_passes(batch) & reduce(np.logical_or, by_broker)
        return np.asarray(got)

    def _in_force(self, client: str, rows: Bools, window: Window) -> Iterator[tuple[Asked, Bools]]:
        """Yield what a client asks for, and for which of `rows` that may be in force within `window`."""
        before = ALWAYS
        for one in sorted((one for one in self.asked if one.client == client), key=lambda one: one.until):
            yield one, rows & (window.first <= one.until) & (window.last > before)
            before = one.until

    def _covered(self, owner: NDArray[np.int64]) -> Codes:
        if self.telling != MAYBE:
            return np.full(len(owner), self.telling, np.int8)
        told = np.array([YES if one in self.traced else NO for one in self.owners.clients] + [MAYBE], np.int8)
        return told[owner]

    def _not_passed(self, batch: Batch) -> tuple[tuple[Bools, Fate], ...]:
        """Messages at or above the committed offset wait, those of a queue that nobody committed have no owner.

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
        for one in self.asked:
            wanted |= self._filter(one.type, one.expression).wants(batch) & (batch.times <= one.until)
        return np.where(wanted, YES, NO if self.complete else MAYBE).astype(np.int8)

    def _slots(self) -> list[HeldSubscription]:
        if self.held:
            # Before the first look at it, the broker held what was seen first.
            return [self.held[0]._replace(since=ALWAYS), *self.held[1:]]
        texts = {(one.type, one.expression) for one in self.asked}
        return [HeldSubscription(*texts.pop())] if self.complete and len(texts) == 1 else []

    def _filter(self, kind: str, expression: str) -> BatchFilter:
        return batch_filter(self.topic, kind, expression)
