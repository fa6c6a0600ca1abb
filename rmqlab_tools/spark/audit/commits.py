"""When a group's committed offset has surely moved on after a message that no member kept.

Until then the next owner of the queue looks at the message once more. The offset moves on soon after an owner kept a
message after it. Otherwise that of a push consumer moves on only by an answer without a message (4.8.0
`DefaultMQPushConsumerImpl.correctTagsOffset`): what the client itself drops moves nothing, and every such message lets
the next answer wait. That of a lite pull consumer moves only by what it hands out
(`DefaultLitePullConsumerImpl.commitAll`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rmqlab_tools.spark.audit.owners import HOLD_MS
from rmqlab_tools.spark.audit.subscriptions import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rmqlab_tools.spark.audit.owners import Owners

    Bools = NDArray[np.bool_]
    Numbers = NDArray[np.int64]


class PullOpportunities(NamedTuple):
    """Messages of one topic, in the order of the log: queue, when (epoch ms) somebody could look, and who owned it.

    `owner` is a place in `Owners.clients`, -1 for one who is not known. `brought`: an answer may have brought the
    message to its owner; `kept`: the owner surely kept it then.
    """

    queues: Numbers
    begin: Numbers
    owner: Numbers
    brought: Bools
    kept: Bools


def earliest_commit_ms(looks: PullOpportunities, owners: Owners, lite: Bools, known_until: int = NEVER) -> Numbers:
    """When (epoch ms) an offset after each message was surely committed, `NEVER` where nothing names them.

    `lite`: for each of `owners.clients`, and at last for one who is not known, whether it may be a lite pull consumer.
    What was stored after `known_until` (epoch ms) may be in another part of the log.
    """
    committed = np.empty(len(looks.begin), np.int64)
    by_queue = np.argsort(looks.queues, kind="stable")
    for rows in np.split(by_queue, np.flatnonzero(np.diff(looks.queues[by_queue])) + 1):
        mine = PullOpportunities(
            looks.queues[rows], looks.begin[rows], looks.owner[rows], looks.brought[rows], looks.kept[rows]
        )
        committed[rows] = _in_queue(mine, owners, lite, known_until - HOLD_MS)
    return committed


def _in_queue(looks: PullOpportunities, owners: Owners, lite: Bools, silent_until: int) -> Numbers:
    """Follow the events of one queue: messages that were brought, and changes of members, when all is looked at anew.

    An event ends the wait if its message was kept, or if for `HOLD_MS` nothing comes after it, which is unknown of
    one after `silent_until`.
    """
    begin, changes = looks.begin, owners.unsettled
    brought = np.flatnonzero(looks.brought)
    times = np.concatenate((begin[brought], changes))
    order = np.argsort(times, kind="stable")
    place = np.argsort(order)
    times, end = np.append(times[order], NEVER), len(order)
    kept = np.append(looks.kept[brought], np.zeros(len(changes), np.bool_))[order]
    is_lite = lite[owners.at(times[:-1], np.full(end, looks.queues[0]))]
    ends = kept | ((np.diff(times) > HOLD_MS) & (times[:-1] <= silent_until) & ~is_lite)
    ended = np.append(np.where(ends, times[:-1] + HOLD_MS, NEVER), NEVER)
    ended = np.minimum.accumulate(ended[::-1])[::-1]
    # What comes next: a message that is brought, this one or one behind it, or a change of members.
    message = np.append(place[: len(brought)], end)[np.searchsorted(brought, np.arange(len(begin)))]
    change = np.append(place[len(brought) :], end)[np.searchsorted(changes, begin)]
    behind = np.minimum(message, change)
    alone = (times[behind] - begin > HOLD_MS) & (begin <= silent_until) & ~lite[looks.owner]
    return np.where(alone, begin + HOLD_MS, ended[behind])
