"""The name server's part of a recording, asked of ours.

What changes something takes effect at some moment between its frame and its answer: it is put off until an answer
shows that it has happened, as in the broker's part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.namesrv.name_server import NameServer
from rmqlab.protocol.channel import LocalChannel
from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.recordings.exchange import Exchange, ExchangeState, pair, tally
from rmqlab_tools.recordings.frames import LineKind
from tests.proof.replay.compare import FieldDifference, compare
from tests.proof.replay.replay_context import NOTHING, UNDER_WAY_MS, AnswerDifference
from tests.proof.replay.tolerated_differences import Tolerated

if TYPE_CHECKING:
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.protocol.wire import Wire
    from rmqlab_tools.recordings.frames import RecordedLine, Recording
    from tests.proof.replay.recorded_clock import RecordedClock
    from tests.proof.replay.tolerated_differences import Uses

CHANGES = frozenset({
    RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER, RequestCode.PUT_KV_CONFIG,
    RequestCode.DELETE_KV_CONFIG, RequestCode.WIPE_WRITE_PERM_OF_BROKER, RequestCode.DELETE_TOPIC_IN_NAMESRV,
})  # fmt: skip
_ADDRESSES = re.compile(r'(?<=")[^"\s]+:\d{1,5}(?=")')


class NamesrvReplay:
    """Feeds the frames to a name server; `uses` counts what was taken from the recording."""

    def __init__(self, recording: Recording, clock: RecordedClock, uses: Uses, wire: Wire) -> None:
        self._lines = recording.namesrv_lines
        self._exchanges = pair(self._lines)
        self._clock = clock
        self._uses = uses
        self._server = NameServer(clock.epoch_ms(0.0), wire=wire)
        self._connections: dict[int, LocalChannel] = {}
        # Changes seen and not made yet; what only reads, seen and not answered yet.
        self._pending: list[Exchange] = []
        self._reads: list[Exchange] = []
        self._renamed: dict[str, str] = {}
        self._differing: list[AnswerDifference] = []

    def run(self) -> tuple[dict[int, tuple[int, int]], list[AnswerDifference]]:
        """Go through all lines; return how many were answered and how many of them alike, by code, and what differs."""
        for line in self._lines:
            settled = [one for one in self._pending if one.expected is None and one.line.t + UNDER_WAY_MS <= line.t]
            for change in settled:
                self._make(change)
            self._server.run_timers(self._clock.epoch_ms(line.t))
            if line.kind is LineKind.CLOSE:
                self._close(line)
            elif line.number in self._exchanges.by_request:
                self._see(self._exchanges.by_request[line.number])
            elif line.number in self._exchanges.by_answer:
                self._answered(self._exchanges.by_answer[line.number])
        return tally(self._exchanges.by_answer.values()), self._differing

    def _close(self, line: RecordedLine) -> None:
        connection = self._connections.pop(line.conn, None)
        if connection is not None:
            for change in list(self._pending):
                self._make(change)
            self._server.on_channel_close(connection, self._clock.epoch_ms(line.t))

    def _see(self, request: Exchange) -> None:
        if request.code in CHANGES:
            self._pending.append(request)
        else:
            self._reads.append(request)
            self._ask(request)

    def _ask(self, request: Exchange) -> None:
        now = self._clock.epoch_ms(request.line.t)
        connection = self._connections.setdefault(request.line.conn, LocalChannel("127.0.0.1:0"))
        request.got = self._server.handle(connection, request.command, now)
        if request.expected is not None and request.got is not None:
            self._rename(request.expected, request.got)
            if not compare(request.code, request.expected, request.got):
                request.state = ExchangeState.DONE

    def _make(self, change: Exchange) -> None:
        self._pending.remove(change)
        self._ask(change)
        for read in self._reads:
            if not read.is_done:
                self._ask(read)

    def _answered(self, request: Exchange) -> None:
        while request in self._pending:  # after what came before it on its connection
            self._make(next(one for one in self._pending if one.line.conn == request.line.conn))
        if request in self._reads:
            while not request.is_done and self._pending:
                self._make(self._pending[0])
            self._reads.remove(request)
        if request.expected is None:
            return
        differences: list[FieldDifference] = [("answer", int(request.expected.code), NOTHING)]
        if request.got is not None:
            differences = compare(request.code, request.expected, request.got, self._uses)
        request.agrees = not differences
        for name, left, right in differences:
            self._differing.append(
                AnswerDifference(request.line.conn, request.opaque, int(request.code), name, left, right)
            )

    def _rename(self, expected: RemotingCommand, got: RemotingCommand) -> None:
        """Put the address that the recorder wrote for the broker's into our answer."""
        if got.body is None or expected.body is None or got.body == expected.body:
            return
        left, right = expected.body.decode("utf-8", "replace"), got.body.decode("utf-8", "replace")
        theirs, ours = set(_ADDRESSES.findall(left)), set(_ADDRESSES.findall(right))
        new, old = sorted(theirs - ours), sorted(ours - theirs)
        if len(new) == len(old) == 1:
            self._renamed.setdefault(old[0], new[0])
        for before, after in self._renamed.items():
            if f'"{before}"' in right:
                right = right.replace(f'"{before}"', f'"{after}"')
                self._uses[Tolerated.TAPPED] += 1
        got.content = right.encode()
