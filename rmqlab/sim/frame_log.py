"""The frames of a run: when each left, when it arrives, which request it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.language import _
from rmqlab.protocol.channel import C2S, S2C
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import ONEWAY, RESPONSE
from rmqlab.run.facts import ms_text

if TYPE_CHECKING:
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.sim.network import VirtualConnection

REQUESTS = {int(code): code.name for code in RequestCode}
RESPONSES = {int(code): code.name for code in ResponseCode}


class FrameRecord(NamedTuple):
    """A frame: when it left and when it arrives (ms), from whom to whom.

    `request` names the code of the request, or of the one that is answered; `response` the code of an answer.
    """

    n: int
    t: float
    arrives: float
    source: str
    target: str
    request: str | None
    response: str | None
    opaque: int

    def in_words(self, began: float) -> str:
        """Who sends what to whom, and when it is there (ms since `began`)."""
        what = (
            _("{response} to {request}", response=self.response, request=self.request)
            if self.request and self.response
            else self.response or self.request
        )
        return _(
            "{source} -> {target}: {what}, there at {arrives} ms",
            source=self.source,
            target=self.target,
            what=what,
            arrives=ms_text(self.arrives - began),
        )


class FrameLog:
    """Listens to a network by `see`; `records` are its frames so far, in the order in which they left."""

    def __init__(self) -> None:
        self.records: list[FrameRecord] = []
        self._asked: dict[tuple[int, str, int], str] = {}  # what waits for an answer, by connection and way

    def see(
        self, connection: VirtualConnection, direction: str, command: RemotingCommand, sent_us: int, due_us: int
    ) -> None:
        """Note a frame."""
        ends = connection.node.name, connection.server.name
        source, target = ends if direction == C2S else ends[::-1]
        answer = None
        if command.flag & RESPONSE:
            way = S2C if direction == C2S else C2S
            request = self._asked.pop((connection.number, way, command.opaque), None)
            answer = RESPONSES.get(command.code, f"code {command.code}")
        else:
            request = REQUESTS.get(command.code, f"code {command.code}")
            if not command.flag & ONEWAY:
                self._asked[connection.number, direction, command.opaque] = request
        number, sent, due = len(self.records), sent_us / 1_000, due_us / 1_000
        self.records.append(FrameRecord(number, sent, due, source, target, request, answer, command.opaque))
