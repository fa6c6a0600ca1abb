"""The name server's part of a recording, asked of ours.

What changes something takes effect at some moment between its frame and its answer: it is put off until an answer
shows that it has happened, as in the broker's part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.lab.replay.compare import compare
from rmqlab.lab.replay.frames import Kind, Line
from rmqlab.lab.replay.measured import settle_config
from rmqlab.lab.replay.stage import SETTLE_MS, Difference
from rmqlab.lab.replay.undetermined import Undetermined
from rmqlab.namesrv.name_server import NameServer
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from rmqlab.lab.replay.clock import RecordedClock
    from rmqlab.lab.replay.frames import Recording
    from rmqlab.lab.replay.undetermined import Uses

CHANGES = frozenset({
    RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER, RequestCode.PUT_KV_CONFIG,
    RequestCode.DELETE_KV_CONFIG, RequestCode.WIPE_WRITE_PERM_OF_BROKER, RequestCode.DELETE_TOPIC_IN_NAMESRV,
    RequestCode.UPDATE_NAMESRV_CONFIG,
})  # fmt: skip
_ADDRESSES = re.compile(r'(?<=")[^"\s]+:\d{1,5}(?=")')


@dataclass(slots=True)
class NamesrvResult:
    """Requests to the name server, those answered alike, by code as well, and what differs."""

    requests: int = 0
    identical: int = 0
    codes: dict[int, tuple[int, int]] = field(default_factory=dict)
    differing: list[Difference] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Connection:
    """A recorded connection to the name server."""

    remote_address: str = "127.0.0.1:0"

    def close(self) -> None:
        """Do nothing: the recording says when a connection closed."""


@dataclass(eq=False, slots=True)
class _Request:
    line: Line
    command: RemotingCommand
    got: RemotingCommand | None = None
    done: bool = False


class NamesrvReplay:
    """Feeds the frames to a name server; `uses` counts what was taken from the recording."""

    def __init__(self, recording: Recording, clock: RecordedClock, uses: Uses) -> None:
        self._lines = recording.namesrv_lines
        self._clock = clock
        self._uses = uses
        self._server = NameServer(clock.epoch_ms(0.0))
        self._connections: dict[int, _Connection] = {}
        self._answers = self._pair()
        self._pending: list[_Request] = []
        self._open: dict[tuple[int, int], _Request] = {}
        self._renamed: dict[str, str] = {}
        self.result = NamesrvResult()

    def run(self) -> NamesrvResult:
        """Go through all lines."""
        for line in self._lines:
            self._settle(line.t)
            self._server.run_timers(self._clock.epoch_ms(line.t))
            if line.kind is Kind.CLOSE:
                self._close(line)
            elif line.command is not None and line.to_broker and not line.command.is_response:
                self._see(_Request(line, line.command))
            elif line.command is not None and line.command.is_response and not line.to_broker:
                self._answered(line, line.command)
        return self.result

    def _pair(self) -> dict[int, RemotingCommand]:
        """The recorded answer to the request in each line."""
        asked: dict[tuple[int, int], int] = {}
        answers = {}
        for line in self._lines:
            if line.command is None:
                continue
            key = line.conn, line.command.opaque
            if line.to_broker and not line.command.is_response:
                asked[key] = line.number
            elif line.command.is_response and key in asked:
                answers[asked.pop(key)] = line.command
        return answers

    def _settle(self, t: float) -> None:
        for change in [change for change in self._pending if change.command.is_oneway]:
            if change.line.t + SETTLE_MS <= t:
                self._make(change)

    def _close(self, line: Line) -> None:
        connection = self._connections.pop(line.conn, None)
        if connection is not None:
            for change in list(self._pending):
                self._make(change)
            self._server.on_channel_close(connection, self._clock.epoch_ms(line.t))

    def _see(self, request: _Request) -> None:
        self._open[request.line.conn, request.command.opaque] = request
        if request.command.code in CHANGES:
            self._pending.append(request)
        else:
            self._ask(request)

    def _ask(self, request: _Request) -> None:
        now = self._clock.epoch_ms(request.line.t)
        connection = self._connections.setdefault(request.line.conn, _Connection())
        request.got = self._server.handle(connection, request.command, now)
        expected = self._answers.get(request.line.number)
        if expected is not None and request.got is not None:
            self._take_from(request.command.code, expected, request.got)
            request.done = not compare(request.command.code, expected, request.got)

    def _make(self, change: _Request) -> None:
        self._pending.remove(change)
        self._ask(change)
        for other in self._open.values():
            if not other.done and other.command.code not in CHANGES:
                self._ask(other)

    def _answered(self, line: Line, expected: RemotingCommand) -> None:
        request = self._open.pop((line.conn, expected.opaque), None)
        if request is None:
            return
        if request in self._pending:
            self._make(request)
        while not request.done and request.command.code not in CHANGES and self._pending:
            self._open[line.conn, expected.opaque] = request
            self._make(self._pending[0])
            del self._open[line.conn, expected.opaque]
        self._count(request, expected)

    def _count(self, request: _Request, expected: RemotingCommand) -> None:
        code, result = request.command.code, self.result
        if request.got is None:
            differences: list[tuple[str, object, object]] = [("answer", int(expected.code), "(nothing)")]
        else:
            differences = list(compare(code, expected, request.got, self._uses))
        result.requests += 1
        result.identical += not differences
        requests, identical = result.codes.get(code, (0, 0))
        result.codes[code] = requests + 1, identical + (not differences)
        for name, left, right in differences:
            result.differing.append(Difference(request.line.conn, request.command.opaque, int(code), name, left, right))

    def _take_from(self, code: int, expected: RemotingCommand, got: RemotingCommand) -> None:
        """Put what the recorder rewrote, and what belongs to the installation, into our answer."""
        if got.body is None or expected.body is None or got.body == expected.body:
            return
        left, right = expected.body.decode("utf-8", "replace"), got.body.decode("utf-8", "replace")
        if code == RequestCode.GET_NAMESRV_CONFIG:
            got.content = settle_config(left, right, self._uses).encode()
            return
        theirs, ours = set(_ADDRESSES.findall(left)), set(_ADDRESSES.findall(right))
        new, old = sorted(theirs - ours), sorted(ours - theirs)
        if len(new) == len(old) == 1:
            self._renamed.setdefault(old[0], new[0])
        for before, after in self._renamed.items():
            if f'"{before}"' in right:
                right = right.replace(f'"{before}"', f'"{after}"')
                self._uses[Undetermined.TAPPED] += 1
        got.content = right.encode()
