"""Runs the eight messages and takes down each function when it first runs: in which hop, and what it knew then."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import rmqlab
from rmqlab.checkout import PACKAGE
from rmqlab.namesrv.name_server import NameServer
from rmqlab.protocol.codes import RequestCode
from rmqlab.sim.cluster import Cluster
from rmqlab.sim.scheduler import VirtualTask
from rmqlab.sim.virtual import VirtualNode
from rmqlab.sim.virtual_server import VirtualServer
from tests.proof.reading import doors
from tests.proof.reading.doors import CALL, DRIVER, DRIVERS_NAME, NOBODY, SERVED, Words
from tests.proof.reading.known import Held, Reader
from tests.proof.reading.sources import Function, function_of

if TYPE_CHECKING:
    from types import CodeType, FrameType

STORY = (
    'lab = rmqlab.Lab(topics={"T": 4})',
    'a = lab.consumer("A", group="G", subscribe={"T": "tagA"})',
    "lab.run(seconds=60)",
    'b = lab.consumer("B", group="G", subscribe={"T": "tagB"})',
    "lab.run(seconds=60)",
    'sent = lab.send("T", ["tagA"] * 4 + ["tagB"] * 4)',
    "lab.run(seconds=30)",
)
_INSIDE = f"{PACKAGE}/"
_MAY_PAUSE = 0x20 | 0x80  # a generator or a coroutine: what it returns may be a pause


@dataclass(slots=True)
class Entry:
    """A function at its first run: its arguments, and what it returned if that is short (or "")."""

    function: Function
    arguments: str
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Hop:
    """What goes on: whose it is, and for what."""

    words: Words
    who: Words = NOBODY
    what: Words = NOBODY

    def title(self, language: str) -> str:
        """What a reader calls it, with a capital letter."""
        place = 0 if language == "en" else 1
        text = self.words[place].format(who=self.who[place], what=self.what[place])
        return text[0].upper() + text[1:]


@dataclass(slots=True)
class Stay:
    """The functions that first run while one hop lasts, and what the broker held when it began.

    Without functions, all of which ran before: what the broker held when it ended, since that changed.
    """

    hop: Hop
    at_ms: float
    held: Held
    entries: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class Act:
    """One line of the story and the hops that it makes, in order."""

    code: str
    stays: list[Stay] = field(default_factory=list)


class Walk:
    """The run of the story. A process can make it once: what is cached then does not run again."""

    def __init__(self) -> None:
        self.acts: list[Act] = []
        self._doors = doors.doors()
        self._reader = Reader()
        self._seen: set[Function] = set()
        self._codes: set[CodeType] = set()
        self._calls: list[tuple[Entry | None, Hop]] = []
        self._importing: FrameType | None = None

    def run(self) -> list[Act]:
        """Run it line by line, and give each line's hops."""
        names: dict[str, object] = {"rmqlab": rmqlab, "Lab": rmqlab.Lab}  # imported before the first line runs
        for code in STORY:
            self.acts.append(Act(code))
            self._calls = [(None, Hop(CALL))]
            line = compile(code, "story", "exec")
            before = sys.getprofile()
            sys.setprofile(self._profile)
            try:
                exec(line, names)  # noqa: S102 - the lines above
            finally:
                sys.setprofile(before)
        return self.acts

    def _profile(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if self._importing is not None:
            if event == "return" and frame is self._importing:
                self._importing = None
        elif not code.co_filename.startswith(_INSIDE):
            return
        elif code.co_name == "<module>":
            self._importing = frame if event == "call" else None
        elif event == "call":
            self._called(frame, code)
        elif event == "return":
            entry, hop = self._calls.pop()
            if entry is not None and not code.co_flags & _MAY_PAUSE:
                entry.outcome = self._reader.outcome(value)
            if hop.words is SERVED and hop != self._calls[-1][1]:
                self._left(hop)

    def _called(self, frame: FrameType, code: CodeType) -> None:
        hop = self._calls[-1][1]
        if (words := self._doors.get(code)) is not None:
            hop = self._entered(words, frame, hop)
        entry = None
        if code not in self._codes:
            self._codes.add(code)
            function = function_of(code)
            if function not in self._seen:
                self._seen.add(function)
                entry = Entry(function, self._reader.arguments(frame))
                self._stay(hop).entries.append(entry)
        self._calls.append((entry, hop))

    def _entered(self, words: Words, frame: FrameType, around: Hop) -> Hop:
        """The hop that begins with this call: whose it is, and what for."""
        values = frame.f_locals
        receiver, owner, what = values.get("self"), around.who, around.what
        if isinstance(receiver, Cluster):
            self._reader.begin(receiver, values["config"].epoch_ms)
        elif isinstance(receiver, VirtualTask):
            machine, _, thread = receiver.name.partition(": ")
            if thread == DRIVERS_NAME:
                return Hop(DRIVER)
            owner, what = doors.client(machine), Words(thread, thread)
        elif isinstance(receiver, VirtualServer):
            owner = doors.NAME_SERVER if isinstance(receiver.handler, NameServer) else doors.BROKER
        elif isinstance(receiver, VirtualNode):
            owner = doors.client(receiver.name)
        elif (client_id := _client_id(receiver)) is not None:
            owner = doors.client(client_id.rpartition("@")[2])
        command, link = values.get("command"), values.get("connection", values.get("channel"))
        sender = getattr(link, "node", None)  # a connection of the virtual network
        if command is not None and sender is not None and not command.is_response:
            what = doors.request_of(RequestCode(command.code).name, doors.client(sender.name))
        return Hop(words, owner, what)

    def _stay(self, hop: Hop) -> Stay:
        """The stay that goes on, or a new one."""
        stays = self.acts[-1].stays
        if not (stays and stays[-1].hop == hop and stays[-1].entries):
            stays.append(Stay(hop, self._reader.now_ms, self._reader.held()))
        return stays[-1]

    def _left(self, hop: Hop) -> None:
        """A server answered: if the broker's subscription or the committed offsets are others now, that is told."""
        if (changed := self._reader.change()) is None:
            return
        stays = self.acts[-1].stays
        if stays and not stays[-1].entries and stays[-1].hop == hop:
            stays[-1].held = changed  # one queue after another
        else:
            stays.append(Stay(hop, self._reader.now_ms, changed))


def _client_id(receiver: object) -> str | None:
    """The id of the client that an object is part of."""
    for name in ("client_id", "instance", "consumer"):
        part = getattr(receiver, name, None)
        if part is not None:
            return part if isinstance(part, str) else _client_id(part)
    return None
