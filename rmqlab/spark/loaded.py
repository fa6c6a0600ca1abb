"""What a Spark worker has loaded, kept out of the way of its garbage collector."""

from __future__ import annotations

import gc

_settled = False


def settle() -> None:
    """Tell the collector of this process, once, that what is loaded by now stays.

    A worker collects garbage after each task (PySpark's `daemon`), and walks every object of numba and pyarrow for it:
    that took more time than decoding a gigabyte of records. To be called at the end of a task, when all is loaded.
    """
    global _settled  # noqa: PLW0603 - a process settles once
    if not _settled:
        gc.freeze()
        _settled = True
