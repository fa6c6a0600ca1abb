"""One pass over a recording: every line in its turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.recordings.frames import LineKind, RecordedLine
from tests.proof.replay.broker import RecordedChannel
from tests.proof.replay.change_requests import LOOK_AFTER_MS, ChangeRequests
from tests.proof.replay.compare import compare
from tests.proof.replay.pop_requests import is_pop
from tests.proof.replay.read_requests import ReadRequests
from tests.proof.replay.replay_context import (
    ANSWER_MS,
    NOTHING,
    SETTLE_MS,
    AnswerDifference,
    FoundDifference,
    ReplayContext,
)
from tests.proof.replay.tolerated_differences import Tolerated

if TYPE_CHECKING:
    from rmqlab_tools.recordings.exchange import Exchange

EVE_MS = 100.0
"""How long before the recorder saw it the broker may have closed a connection by itself."""


class ReplayPass:
    """Goes over a recording once."""

    def __init__(self, context: ReplayContext) -> None:
        self.context = context
        self.exchanges = context.exchanges
        self.reads = ReadRequests(context)
        self.changes = ChangeRequests(context, self.reads)

    def run(self) -> None:
        """Go through all lines; what differs is noted in the context."""
        for t, line in self._events():
            self.changes.advance(t)
            self._line(line)
        self._finish()

    def _events(self) -> list[tuple[float, RecordedLine]]:
        """All lines in order of time; the first close of a connection only, earlier if the broker closed it."""
        events = []
        closed: set[int] = set()
        by_others = self.context.clock.scanned | self.context.clock.cut
        for line in self.context.recording.lines:
            if line.kind is not LineKind.CLOSE:
                events.append((line.t, line))
            elif line.conn not in closed:
                closed.add(line.conn)
                early = EVE_MS if not line.to_broker and line.conn not in by_others else 0.0
                events.append((line.t - early, line))
        return sorted(events, key=lambda event: event[0])

    def _line(self, line: RecordedLine) -> None:
        context, command = self.context, line.command
        if line.kind in {LineKind.OPEN, LineKind.FRAME} and line.conn not in context.channels:
            address = f"127.0.0.1:{context.clock.ports.get(line.conn, 0)}"
            context.channels[line.conn] = RecordedChannel(line.conn, address, context.broker.outgoing)
        if line.kind is LineKind.CLOSE:
            self.changes.see_close(line)
        elif command is not None:
            if line.number in self.exchanges.by_request:
                self._see_request(self.exchanges.by_request[line.number])
            elif line.number in self.exchanges.by_answer:
                self._see_answer(self.exchanges.by_answer[line.number])
            elif not line.to_broker:
                self._see_own(line, command)
            elif command.is_response:
                self.changes.client_answers(line, command)

    def _see_request(self, exchange: Exchange) -> None:
        expected = exchange.expected
        if expected is not None and exchange.was_shed:
            self.context.uses[Tolerated.SHED] += 1
            shed = RemotingCommand.response(expected.code, expected.remark)
            self.context.settle(exchange, shed.reply_to(exchange.command, self.context.broker.rules.wire))
        elif exchange.number in self.context.lost:
            self.context.uses[Tolerated.LOST] += 1
            self.context.settle(exchange, None)
        elif is_pop(exchange) and self.changes.pops is not None:
            self.changes.pops.see(exchange)
        elif exchange.reads:
            self.reads.see(exchange)
        else:
            self.changes.see(exchange)

    def _see_answer(self, exchange: Exchange) -> None:
        if is_pop(exchange) and self.changes.pops is not None:
            self.changes.pops.force(exchange)
        elif exchange.reads:
            self.changes.force(exchange)
            self.reads.give_up(exchange)
        elif not exchange.is_done:
            self.changes.handle(exchange)
        expected = exchange.expected
        if exchange.got is None and expected is not None:
            text = f"{int(expected.code)} {expected.remark or ''} {dict(expected.ext_fields or {})}"
            self.context.differs(exchange, "answer", text, NOTHING if exchange.pull is None else "held")

    def _see_own(self, line: RecordedLine, command: RemotingCommand) -> None:
        """The real broker sent something by itself: so must ours, if pending changes make it."""
        context = self.context
        if command.is_response:
            self._differs(line, command, "answer", command.code, "no such request")
            return
        fields = dict(command.ext_fields or {})
        group = _group(command)
        while not self._take_sent(line, command):
            change = next((change for change in context.pending if ("group", group) in change.domains), None)
            if change is None:
                self._differs(line, command, "frame", fields, NOTHING)
                return
            self.changes.handle(change)

    def _take_sent(self, line: RecordedLine, command: RemotingCommand) -> bool:
        for index, (t, conn, ours) in enumerate(self.context.sent):
            if line.t - t > ANSWER_MS:
                continue
            if conn == line.conn and ours.code == command.code and ours.all_ext_fields() == command.ext_fields:
                del self.context.sent[index]
                self.context.own[conn, command.opaque] = ours.opaque
                self.context.uses[Tolerated.NOTIFY_OPAQUE] += ours.opaque != command.opaque
                for name, expected, got in compare(0, command, ours):
                    self._differs(line, command, name, expected, got)
                return True
        return False

    def _differs(self, line: RecordedLine, command: RemotingCommand, field: str, expected: object, got: object) -> None:
        """Note a difference of something that the real broker, or ours, sent by itself."""
        difference = AnswerDifference(line.conn, command.opaque, int(command.code), field, expected, got)
        self.context.differing.append(FoundDifference(difference, frozenset({_group(command)}), line.t))

    def _finish(self) -> None:
        """After the last line: nothing is put off any longer, and nothing of ours may be left over."""
        context = self.context
        context.t = context.clock.end
        self.changes.advance(context.clock.end + 2 * SETTLE_MS)
        for t, conn, command in context.sent:
            if not context.cut_off(conn, t):
                line = RecordedLine(0, t, LineKind.FRAME, conn)
                self._differs(line, command, "frame", NOTHING, dict(command.all_ext_fields() or {}))
        for exchange in self.exchanges.by_request.values():
            if exchange.expected is not None or exchange.got is None or exchange.command.is_oneway:
                continue
            # the look that ended a held pull may have been that much later
            late = LOOK_AFTER_MS if exchange.was_woken else 0.0
            if not context.cut_off(exchange.line.conn, exchange.done_at + late):
                context.differs(exchange, "answer", NOTHING, int(exchange.got.code))


def _group(command: RemotingCommand) -> str:
    fields = command.all_ext_fields() or {}
    return str(fields.get("consumerGroup") or fields.get("group"))
