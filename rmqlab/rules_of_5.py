"""The rules of 5.x that 4.8.0 has otherwise; `rmqlab.rules` puts each in place of the one it is named after."""

from __future__ import annotations

from rmqlab.protocol.subscription_data import SUB_ALL


def rebalances_again_until_balanced(balanced: bool) -> bool:
    """Whether a client rebalances once more after `rebalance_min_period_ms`: until it holds all the queues it wants.

    5.3.3 `RebalanceService.run`.
    """
    return not balanced


def offset_without_commit_of_a_message(min_offset: int, max_offset: int, on_disk: bool) -> int | None:
    """What the broker says a group without an offset: 0 where the queue's first message is in memory, else nothing.

    Of an empty queue it does not say, so the client asks for the end of the queue: a message stored between the two
    questions is skipped. 5.3.3 `ConsumerManageProcessor.queryConsumerOffset`.

    >>> offset_without_commit_of_a_message(0, 0, False), offset_without_commit_of_a_message(0, 9, False)
    (None, 0)
    """
    return None if min_offset > 0 or max_offset <= 0 or on_disk else 0


def assigned_expression_as_given(given: str | None) -> str:
    """The expression of a lite pull consumer that assigned itself its queues: `given`, without one everything.

    5.3.3 `DefaultLitePullConsumer.setSubExpressionForAssign`, `DefaultLitePullConsumerImpl.PullTaskImpl`.

    >>> assigned_expression_as_given("tagA"), assigned_expression_as_given(None)
    ('tagA', '*')
    """
    return SUB_ALL if given is None else given


def lite_pull_threads_as_asked(thread_nums: int) -> int:
    """How many threads of a lite pull consumer pull: as many as `setPullThreadNums` asked for.

    Each is held as long as the broker holds its pull: with fewer threads than queues, queues wait for each other.
    5.3.3 `DefaultLitePullConsumerImpl.initScheduledThreadPoolExecutor`.
    """
    return thread_nums


def goes_to_dlq_when_locked(times: int, most: int, locked: bool) -> bool:
    """Whether a message that a client sends to its group's retry topic is a dead letter.

    While members hold locks it always is: then it comes from one that consumes in order and has tried often enough.
    5.3.3 `SendMessageProcessor.handleRetryAndDLQ`.

    >>> goes_to_dlq_when_locked(16, 16, locked=False), goes_to_dlq_when_locked(0, 16, locked=True)
    (False, True)
    """
    return times > most or locked


def disk_used_as_df(total: int, free: int, usable: int) -> float:
    """The part of a disk that is in use, 0 to 1 in steps of 0.01 upwards; of one without a size -1: not known.

    What only a user with special rights may write is left out of the disk's size, as the command `df` does.
    5.3.3 `UtilAll.getDiskPartitionSpaceUsedPercent`.

    >>> disk_used_as_df(200, 50, 25)
    0.86
    """
    used = total - free
    return -(-100 * used // (used + usable)) / 100 if total else -1.0
