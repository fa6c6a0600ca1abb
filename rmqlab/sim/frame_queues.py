"""Open orders: frames on their way wait in lanes, and which lane moves next is a choice point.

With delays in microseconds a run is one of endlessly many, and most of them differ in nothing but times. Here the
network takes no time worth naming, but what overtakes what is open. A lane is one direction of one connection, or the
work that a server has woken for itself; inside a lane order is kept, as TCP keeps it. The first option is always the
oldest frame. Whoever is overtaken has a slow link: it waits until no other lane of the burst has anything left, unless
a later choice says otherwise; so one deviation holds a whole conversation back. While frames are under way the
clock stands still (`FIRST_FRAME_US` after the moment that caused them), so timers find the lanes empty; a `lag`
lets a timer come first although frames are under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rmqlab.errors import BadInput
from rmqlab.sim.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.scenario.schedule import Chooser
    from rmqlab.sim.scheduler import Scheduler

FIRST_FRAME_US = US_PER_MS
AFTER_THE_REST = 5  # priority on the heap: what nodes do at this instant comes before the next frame
LONGEST_BURST = 100_000
NO_FRAME, GOODBYE = 0, -1
TIME = "time"
STEP = "step"  # how the scenario goes on: a move of its own


class EndlessBurstError(BadInput):
    """Frames follow each other for ever while the clock stands still."""


class PendingFrame(NamedTuple):
    """One move: its number in the run, when it was sent (us), its text in labels, and what to do.

    `code` is the request code, for an answer that of its request, GOODBYE for the end of a connection, else NO_FRAME.
    `node` is the client that it reaches, `server` the server ("ip:port") that it reaches or comes from; empty when
    there is none. A frame is the first of the `arguments`, of a goodbye it is the connection.
    """

    number: int
    lane: tuple[object, str]
    sent_us: int
    text: str
    code: int
    node: str
    server: str
    action: Callable[..., None]
    arguments: tuple[Any, ...]


class Reduction(Protocol):
    """Spares choices among orders that end alike."""

    def independent_move(self, heads: Sequence[PendingFrame], /) -> int | None:
        """Index of the head, oldest first, that moves without a choice; None: the order is open."""


def all_open(_: Sequence[PendingFrame]) -> int | None:
    """Every order is open."""
    return None


class FrameQueues:
    """What is under way, by lane. `lag_us`: how long a frame may be under way when a timer is due.

    `pending` holds the requests that wait for an answer, by connection number, direction and opaque: code, and when
    they were sent (us).
    `asking`: while one of these choices is asked (no coroutine runs then), which head each option moves, by age.
    `independent_move` is asked which of the heads, oldest first, moves without a choice; None: that is open.
    """

    def __init__(self, scheduler: Scheduler, chooser: Chooser, lag_us: int) -> None:
        self._scheduler = scheduler
        self._chooser = chooser
        self._lag_us = lag_us
        self._count = 0
        self._armed = False
        self._burst = 0
        self.asking: tuple[int, ...] = ()
        self._overtaken: dict[tuple[object, str], int] = {}
        self.independent_move: Callable[[Sequence[PendingFrame]], int | None] = all_open
        self.pending: dict[tuple[int, str, int], tuple[int, int]] = {}
        self.lanes: dict[tuple[object, str], deque[PendingFrame]] = {}

    def post(
        self,
        lane: tuple[object, str],
        text: str,
        action: Callable[..., None],
        *arguments: Any,
        code: int = NO_FRAME,
        node: str = "",
        server: str = "",
    ) -> None:
        """Put a move at the end of a lane."""
        self._count += 1
        frame = PendingFrame(self._count, lane, self._scheduler.now_us, text, code, node, server, action, arguments)
        self.lanes.setdefault(lane, deque()).append(frame)
        if not self._armed:
            self._armed, self._burst = True, 0
            self._scheduler.at(self._scheduler.now_us + FIRST_FRAME_US, self._move, priority=AFTER_THE_REST)

    def unused_queue(self, owner: str, kind: str) -> tuple[object, str]:
        """The first of somebody's lanes of a kind in which nothing waits."""
        number = 0
        while self.lanes.get((owner, f"{kind} {number}")):
            number += 1
        return (owner, f"{kind} {number}")

    def awaited(self) -> set[int]:
        """The codes of the requests that wait for an answer."""
        return {code for code, _ in self.pending.values()}

    def heads(self) -> list[PendingFrame]:
        """The first of each lane, the oldest first."""
        return sorted(lane[0] for lane in self.lanes.values() if lane)

    def _move(self) -> None:
        heads = self.heads()
        if not heads:
            self._armed = False
            self._overtaken.clear()
            return
        index = 0 if len(heads) == 1 and not self._lag_us else self.independent_move(heads)
        if index is None:
            index = self._choose(heads)
            if index == len(heads):
                return
        frame = heads[index]
        self.lanes[frame.lane].popleft()
        frame.action(*frame.arguments)
        self._burst += 1
        if self._burst > LONGEST_BURST:
            raise EndlessBurstError(f"{LONGEST_BURST} frames at one instant, the last of them {frame.text}")
        # what the move causes at this instant comes first, and belongs to the same burst
        self._scheduler.at(self._scheduler.now_us, self._move, priority=AFTER_THE_REST)

    def _choose(self, heads: list[PendingFrame]) -> int:
        """Ask which head moves; one more than there are: time passes, up to the next timer."""
        scheduler = self._scheduler
        due = scheduler.next_time() if self._lag_us else None
        later = due is not None and scheduler.now_us < due <= heads[0].sent_us + self._lag_us
        slow = self._overtaken
        order = sorted(range(len(heads)), key=lambda index: slow.get(heads[index].lane, 0))
        texts = [heads[index].text for index in order] + [TIME] * later
        option = 0
        if len(texts) > 1:
            self.asking = (*order, len(heads)) if later else tuple(order)
            option = self._chooser.choose(" | ".join(texts), len(texts))
            self.asking = ()
        if option == len(heads) and due is not None:
            scheduler.at(due, self._move, priority=AFTER_THE_REST)
            return option
        for index in order[:option]:
            lane = heads[index].lane
            slow[lane] = slow.get(lane, 0) + 1
        return order[option]
