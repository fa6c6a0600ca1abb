"""Python's collector looks less often while much work of short life is done, and not at all while modules load."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

OBJECTS: Final = 5_000  # that came and stayed before it looks; Python's own number is 700


@contextmanager
def gc_tuning() -> Iterator[None]:
    """For work of many runs: a twentieth less time. What was there before is set apart; afterwards all is as it was.

    It counts between the runs: in one, `Scheduler.run` has Python look less often still. Inside another one, or where
    somebody has switched the collector off or slowed it down, nothing changes.
    """
    before = gc.get_threshold()
    if not gc.isenabled() or not 0 < before[0] < OBJECTS or gc.get_freeze_count():
        yield
        return
    gc.collect(1)  # what is garbage now is not to be kept
    gc.freeze()
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def no_collecting() -> Iterator[None]:
    """While the block loads modules nothing is collected: to walk over all that is loaded takes a fifth of the time.

    What is there afterwards is set apart, and stays so: for a process that ends when its work is done.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if is_on:
            gc.enable()
