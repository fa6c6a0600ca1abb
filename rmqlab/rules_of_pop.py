"""The rules of POP, which 5.x has besides; `rmqlab.rules` has a field for each, and 4.8.0 never asks them.

A learner replaces `waiter_to_wake`:

>>> from rmqlab import RULES
>>> def ask_everyone(waiters, wants):
...     return next(filter(wants, waiters), None)
>>> ask_everyone(["B", "A"], lambda waiter: waiter == "A")
'A'
>>> RULES["5.5.0"].waiter_to_wake(["B", "A"], lambda waiter: waiter == "A")
>>> mine = RULES["5.5.0"].replace(waiter_to_wake=ask_everyone)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rmqlab.message.topics import RETRY_GROUP_TOPIC_PREFIX, is_retry_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
Woken = tuple[str, str | None, bool]
RETRY = -1
"""In `pop_order`: the group's retry topic."""


def waiter_to_wake(waiters: Sequence[T], wants: Callable[[T], bool]) -> T | None:
    """Which of the pops that wait in line a message wakes: the first one if it wants the message, else none.

    Those further back are not asked, so the message lies there until someone pops again, and if that is the first one
    it is skipped. `waiters` is not empty; `wants(waiter)` says whether his expression takes the message.
    5.3.3 `PopLongPollingService.notifyMessageArriving`.

    >>> wants = "A".__eq__
    >>> waiter_to_wake(["A", "B"], wants), waiter_to_wake(["B", "A"], wants)
    ('A', None)
    """
    return waiters[0] if wants(waiters[0]) else None


def pop_share(
    current_cid: str,
    mq_all: Sequence[T],
    cid_all: Sequence[str],
    pop_share_queue_num: int,
    allocate: Callable[[str, Sequence[T], Sequence[str]], list[T]],
) -> list[T] | None:
    """The queues of one member that pops, all lists sorted; None: it pops from all, as everybody.

    A member shares its queues with `pop_share_queue_num` members after it, so that it has theirs besides its own.
    5.3.3 `QueryAssignmentProcessor.allocate4Pop`.

    >>> from rmqlab import RULES
    >>> allocate = RULES["5.5.0"].allocate
    >>> pop_share("B", [0, 1, 2, 3], ["A", "B", "C", "D"], 1, allocate)
    [1, 2]
    >>> pop_share("B", [0, 1, 2, 3], ["A", "B"], -1, allocate)
    """
    if pop_share_queue_num <= 0 or pop_share_queue_num >= len(cid_all) - 1:
        return None
    if current_cid not in cid_all:
        return []
    index = cid_all.index(current_cid)
    if len(cid_all) > len(mq_all):
        return [mq_all[index % len(mq_all)]]
    members = [cid_all[(index + step) % len(cid_all)] for step in range(pop_share_queue_num + 1)]
    return [queue for member in members for queue in allocate(member, mq_all, cid_all)]


def pop_order(start: int, queues: int, retry_first: bool) -> list[int]:
    """In which order a pop of all queues looks at them: round from `start`; the retry topic (-1) first or last.

    It stops looking when it has as many messages as it asked for. 5.3.3 `PopMessageProcessor.processRequest`.

    >>> pop_order(2, 4, False)
    [2, 3, 0, 1, -1]
    """
    around = [(start + step) % queues for step in range(queues)]
    return [RETRY, *around] if retry_first else [*around, RETRY]


def pop_order_downwards(start: int, queues: int, retry_first: bool) -> list[int]:
    """In which order a pop of all queues looks at them: round from `start` downwards; the retry topic (-1) aside.

    So a topic's last queue can be the one with precedence. 5.5.0 `PopMessageProcessor.popMsgFromTopic`.

    >>> pop_order_downwards(2, 4, True)
    [-1, 2, 1, 0, 3]
    """
    around = [(start - step) % queues for step in range(queues)]
    return [RETRY, *around] if retry_first else [*around, RETRY]


def pop_offset(committed: int, buffered: int) -> int:
    """The offset a pop goes on from: what is popped and not committed yet (`buffered`, -1: nothing) counts, too.

    5.3.3 `PopMessageProcessor.getPopOffset`.
    """
    return max(committed, buffered)


def visible_at(pop_time: int, invisible_ms: int) -> int:
    """When a message that was popped and not acked may come again: in epoch ms. 5.3.3 `PopCheckPoint.getReviveTime`."""
    return pop_time + invisible_ms


def retry_topic(group: str, topic: str, v2: bool) -> str:
    """The topic of a group's messages that come again, one for each topic: POP pops it with the popper's expression.

    5.3.3 `KeyBuilder.buildPopRetryTopic`.

    >>> retry_topic("G", "T", False), retry_topic("G", "T", True)
    ('%RETRY%G_T', '%RETRY%G+T')
    """
    return f"{RETRY_GROUP_TOPIC_PREFIX}{group}{'+' if v2 else '_'}{topic}"


def woken_by(topic: str, origin_group: str | None) -> Woken | None:  # noqa: ARG001 - later versions go by it
    """Whose pops a message that has come to a topic may wake: topic, group (None: of all), and whether it must.

    What came to a retry topic again concerns the pops of the topic it was of; 5.3.3 knows that of version 2 alone, so
    no waiter hears of a retry. 5.3.3 `PopLongPollingService.notifyMessageArrivingWithRetryTopic`.

    >>> woken_by("T", None), woken_by("%RETRY%G_T", "G"), woken_by("%RETRY%G+T", "G")
    (('T', None, False), None, ('T', None, False))
    """
    if not is_retry_topic(topic):
        return topic, None, False
    parts = topic.split("+")
    return (parts[1], None, False) if len(parts) == 2 else None


def woken_by_origin_group(topic: str, origin_group: str | None) -> Woken | None:
    """Whose pops a message that has come to a topic may wake: a retry wakes whoever is first of its group, unasked.

    5.5.0 `PopLongPollingService.notifyMessageArrivingFromRetry`.

    >>> woken_by_origin_group("%RETRY%G_T", "G"), woken_by_origin_group("%RETRY%G", "G")
    (('T', 'G', True), None)
    """
    if not is_retry_topic(topic):
        return topic, None, False
    start = len(RETRY_GROUP_TOPIC_PREFIX) + len(origin_group or "") + 1
    if not origin_group or origin_group.isspace() or len(topic) <= start:
        return None
    return topic[start:], origin_group, True
