"""How far Spark is with what it does just now."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

EVERY_S: Final = 0.5


@contextmanager
def watched(session: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    """While the block runs, tell every half second how many tasks of the stages under way are done, and of how many.

    Nothing is told over Connect, which does not say.
    """
    try:
        tracker = session.sparkContext.statusTracker()
    except Exception:  # noqa: BLE001 - Connect has no context; the kind of error differs between its versions
        yield
        return
    over = Event()

    def look() -> None:
        while not over.wait(EVERY_S):
            try:
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except Exception:  # noqa: BLE001 - the session has ended meanwhile
                return
            known = [stage for stage in stages if stage is not None]
            if known:
                tell(sum(one.numCompletedTasks for one in known), sum(one.numTasks for one in known))

    thread = Thread(target=look, name="watched", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
