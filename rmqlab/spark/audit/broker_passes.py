"""What the broker let pass to a group: by what it held when a message was looked at first, and soon after."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rmqlab.spark.audit.batch import batch_filter
from rmqlab.spark.audit.owners import HELD_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rmqlab.spark.audit.batch import Batch
    from rmqlab.spark.audit.owners import Owners
    from rmqlab.spark.audit.subscriptions import Asked

    Bools = NDArray[np.bool_]


class BrokerPasses(NamedTuple):
    """Which rows the broker passes, by the tag or not, where that is known; which at least once, and which always."""

    passes: Bools
    by_tag: Bools
    known: Bools
    some: Bools
    every: Bools


def at_broker(
    batch: Batch,
    begin: NDArray[np.int64],
    topic: str,
    slots: Sequence[tuple[int, str, str]],
    asked: Sequence[Asked],
    owners: Owners,
    complete: bool,
) -> BrokerPasses:
    """Judge messages that could be looked at from `begin` (epoch ms) on.

    `slots` are what the broker held: since when (epoch ms), type and expression. `asked` is what members ask for,
    all of them if it is `complete`.
    """
    rows = len(batch)
    passes, known, some = np.zeros((3, rows), np.bool_)
    by_tag, every = np.ones((2, rows), np.bool_)
    for index, (since, kind, expression) in enumerate(slots):
        until = slots[index + 1][0] if index + 1 < len(slots) else None
        mine = (begin >= since) & (True if until is None else begin < until)
        one = batch_filter(topic, kind, expression)
        got = one.broker_passes(batch)
        passes[mine], by_tag[mine] = got[mine], one.is_tag
        known |= mine
        # A pull that is held begins at its old offset when it wakes, and meets what is held then.
        may = mine | ((begin < since) & (begin >= since - HELD_MS))
        some |= may & got
        every &= ~may | got
    own = [batch_filter(topic, one.type, one.expression) for one in asked]
    if slots and own:
        # Who joins, and whoever gets other queues by that, registers its own: often for less than a look takes.
        near = owners.is_near_change(begin)
        passed = [one.broker_passes(batch) for one in own]
        some |= near & reduce(np.logical_or, passed)
        every &= ~near | reduce(np.logical_and, passed)
    if not slots and complete and own:
        # Whichever subscription the broker held: what none of them lets pass, it dropped.
        got_by = [one.broker_passes(batch) for one in own]
        some, every = reduce(np.logical_or, got_by), reduce(np.logical_and, got_by)
        passes, known = some, every | ~some
        by_tag[:] = own[0].is_tag
    elif not slots:
        some, every = ~some, ~every
    return BrokerPasses(passes, by_tag, known, some, every)
