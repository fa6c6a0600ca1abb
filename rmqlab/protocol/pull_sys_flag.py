"""Bits of a pull request's `sysFlag` (4.8.0 `PullSysFlag`, row S-59)."""

from __future__ import annotations

from typing import Final

FLAG_COMMIT_OFFSET: Final = 0x1
FLAG_SUSPEND: Final = 0x2
FLAG_SUBSCRIPTION: Final = 0x4
FLAG_CLASS_FILTER: Final = 0x8
FLAG_LITE_PULL_MESSAGE: Final = 0x10


def build_sys_flag(
    commit_offset: bool,
    suspend: bool,
    subscription: bool,
    class_filter: bool,
    lite_pull: bool = False,
) -> int:
    """Return the number that carries these five answers."""
    return (
        FLAG_COMMIT_OFFSET * commit_offset
        | FLAG_SUSPEND * suspend
        | FLAG_SUBSCRIPTION * subscription
        | FLAG_CLASS_FILTER * class_filter
        | FLAG_LITE_PULL_MESSAGE * lite_pull
    )


def clear_commit_offset_flag(sys_flag: int) -> int:
    """Return the flag without its commit bit: slaves do not commit."""
    return sys_flag & ~FLAG_COMMIT_OFFSET


def has_commit_offset_flag(sys_flag: int) -> bool:
    """Tell whether the pull also commits `commitOffset`."""
    return bool(sys_flag & FLAG_COMMIT_OFFSET)


def has_suspend_flag(sys_flag: int) -> bool:
    """Tell whether the broker may hold the pull when there is nothing to give."""
    return bool(sys_flag & FLAG_SUSPEND)


def has_subscription_flag(sys_flag: int) -> bool:
    """Tell whether the pull brings its own subscription."""
    return bool(sys_flag & FLAG_SUBSCRIPTION)


def has_class_filter_flag(sys_flag: int) -> bool:
    """Tell whether a filter server runs the consumer's own class."""
    return bool(sys_flag & FLAG_CLASS_FILTER)


def has_lite_pull_flag(sys_flag: int) -> bool:
    """Tell whether a lite pull consumer asks."""
    return bool(sys_flag & FLAG_LITE_PULL_MESSAGE)
