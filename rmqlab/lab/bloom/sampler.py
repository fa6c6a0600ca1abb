"""A sampling profiler and a counting one, both for named stages: where the CPU time goes, and how often each is called.

The sampler looks at the stack at every tick of the process's CPU timer, so it costs next to nothing and does not make
small functions look expensive, as a profiler does that times every call. The counter is Python's own `cProfile`; its
numbers of calls are exact and the same on every machine, its times are not used.
"""

from __future__ import annotations

import cProfile
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import CodeType, FrameType

INTERVAL_S: Final = 0.001  # of CPU time; most kernels tick every 4 ms
REST: Final = "rest"


def code_of(function: Any) -> CodeType:
    """The code object of a function or method."""
    code: CodeType = function.__code__
    return code


class StageSampler:
    """Counts ticks by stage: the stage of the innermost frame whose code is one of ``stages``, else `REST`."""

    def __init__(self, stages: Mapping[CodeType, str]) -> None:
        self.stages = stages
        self.ticks: Counter[str] = Counter()

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample what is done in the block.

        Raises:
            BadInput: not on the main thread, or a system without CPU timers: signals are not delivered there.
        """
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            raise BadInput("the sampler needs the main thread of a Linux or macOS process: CPU timers signal only that")
        before = signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        while frame is not None:
            stage = self.stages.get(frame.f_code)
            if stage is not None:
                self.ticks[stage] += 1
                return
            frame = frame.f_back
        self.ticks[REST] += 1


def calls(work: Callable[[], object], functions: Iterable[Any]) -> dict[str, int]:
    """How often each of ``functions`` is called while ``work`` runs, by qualified name; exact."""
    names = {code_of(function): function.__qualname__ for function in functions}
    profiler = cProfile.Profile()
    profiler.runcall(work)
    found = dict.fromkeys(names.values(), 0)
    for entry in profiler.getstats():
        if not isinstance(entry.code, str) and entry.code in names:
            found[names[entry.code]] += entry.callcount
    return found
