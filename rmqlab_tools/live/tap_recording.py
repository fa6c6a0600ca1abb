"""What a tap keeps: the recorded set that `rmqlab replay` reads, and what can be seen of clients on the wire.

While a recording runs its lines are in `frames.jsonl.part`; only a finished one is called `frames.jsonl`.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.events import Register, SubscriptionChanged, Unregister
from rmqlab.files import atomic_write
from rmqlab.language import _
from rmqlab.message.java_properties import properties_line
from rmqlab.protocol.channel import C2S
from rmqlab.protocol.codes import PULLS, RequestCode, ResponseCode, code_name
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader, UnregisterClientRequestHeader
from rmqlab.protocol.header import FrameError, RemotingCommandException
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab_tools.live.extra.groups_from_heartbeats import HeardGroups

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rmqlab.events import Event
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.protocol.subscription_data import SubscriptionData


FRAMES_FILE, SETTINGS_FILE = "frames.jsonl", "broker.conf"
# Folders and the like: of the machine that was recorded, and no part of a recording.
_LEFT_OUT = ("storePath", "rocketmqHome", "brokerIP2")


class TapRecording:
    """Writes one set into `folder`, which is made; times are ms since the tap started."""

    def __init__(self, folder: Path) -> None:
        """Begin.

        Raises:
            BadInput: when the folder cannot be written or holds a recording already.
        """
        self.folder = folder
        self.frames = 0
        self.stopped = ""
        """Why nothing more is taken before the end, a full disk for example: what is there by then is whole lines."""
        self._path, self._part = folder / FRAMES_FILE, folder / f"{FRAMES_FILE}.part"
        for taken in (self._path, folder / f"{FRAMES_FILE}.gz"):
            if taken.exists():
                raise BadInput(
                    _("{taken} is there already: name another folder, or move that recording away", taken=taken)
                )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._part.open("w", encoding="ascii")
        except OSError as error:
            raise BadInput(
                _("{folder}: {reason}; name a folder that can be written", folder=folder, reason=error.strerror)
            ) from error

    @property
    def is_open(self) -> bool:
        """Whether lines are still taken."""
        return not self._file.closed

    def opened(self, t: float, conn: int) -> None:
        """A client connected."""
        self._write({"t": t, "conn": conn, "open": True})

    def closed(self, t: float, conn: int, direction: str) -> None:
        """One side of a connection has ended."""
        self._write({"t": t, "conn": conn, "dir": direction, "close": True})

    def client(self, t: float, conn: int, client_id: str) -> None:
        """A connection has said whose it is."""
        self._write({"t": t, "conn": conn, "client": client_id})

    def control(self, t: float, verb: str, argument: str, conns: list[int]) -> None:
        """Connections were frozen, cut or marked; or the tap "began", at the epoch ms in `argument`."""
        self._write({"t": t, "control": verb, "arg": argument, "conns": conns})
        self.flush()

    def frame(self, t: float, conn: int, to: str, direction: str, frame: bytes) -> None:
        """A whole frame, its length first, went to its receiver."""
        self._write({"t": t, "conn": conn, "to": to, "dir": direction, "frame": frame.hex()})
        self.frames += self.is_open

    def settings(self, properties: Mapping[str, str]) -> None:
        """Write the broker's settings, without its folders."""
        lines = [properties_line(*setting) for setting in properties.items() if not setting[0].startswith(_LEFT_OUT)]
        with atomic_write(self.folder / SETTINGS_FILE) as part:
            part.write_text("".join(lines), encoding="ascii")

    def flush(self) -> None:
        """Hand what was written to the system."""
        if self.is_open:
            try:
                self._file.flush()
            except OSError as error:
                self._stop(error)

    def discard(self) -> None:
        """Leave nothing of a recording that could not begin."""
        self._file.close()
        self._part.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else is in it
            self.folder.rmdir()

    def finish(self) -> None:
        """End the recording and give it its name; a second call does nothing."""
        self.flush()
        if self._part.exists():
            self._file.close()
            self._part.replace(self._path)

    def _write(self, row: dict[str, object]) -> None:
        if self.is_open:
            try:
                self._file.write(json.dumps(row) + "\n")
            except OSError as error:
                self._stop(error)

    def _stop(self, error: OSError) -> None:
        """Take nothing more, so that frames still pass; the last line may be there in part: it goes."""
        self.stopped = error.strerror or str(error)
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError), self._part.open("rb+") as part:
            end = self.frames = 0
            for line in part:
                if line.endswith(b"\n"):
                    end += len(line)
                    self.frames += b'"frame": ' in line
            part.truncate(end)


@dataclass(slots=True)
class Beats:
    """Heartbeats of one client: how many, when the last one came (ms), the longest pause between two (ms)."""

    count: int = 0
    last: float = 0.0
    longest_pause: float = 0.0


@dataclass(slots=True)
class Pulls:
    """Pulls of a queue by one group: how many, answers by code, messages asked for from this offset on."""

    count: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    offset: int = 0


class TapSummary:
    """Fed with every frame between clients and the broker; times in ms since the tap started."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.beats: dict[str, Beats] = {}
        self.pulls: dict[tuple[str, str, int], Pulls] = {}
        self.groups = HeardGroups()
        self.changes: list[dict[str, object]] = []
        self._pulling: dict[tuple[int, int], Pulls] = {}

    def see(self, t: float, conn: int, direction: str, command: RemotingCommand) -> list[str]:
        """Take in a frame; return what is worth telling at once, a line each."""
        if command.is_response:
            pulls = self._pulling.pop((conn, command.opaque), None) if direction != C2S else None
            if pulls is not None:
                pulls.answers[code_name(ResponseCode, command.code)] += 1
            return []
        if direction != C2S:
            return []
        self.requests[command.code] += 1
        try:
            if command.code == RequestCode.HEART_BEAT:
                return self._heartbeat(t, conn, HeartbeatData.decode(command.body or b""))
            if command.code == RequestCode.UNREGISTER_CLIENT:
                group = command.decode_header(UnregisterClientRequestHeader).consumer_group
                return [] if group is None else self._lines(t, self.groups.leave(conn, group), "leaves")
            if command.code in PULLS:
                self._pull(conn, command)
        except (FrameError, RemotingCommandException):
            return [f"{_at(t)} connection {conn}: a request of code {command.code} that cannot be read"]
        return []

    def _heartbeat(self, t: float, conn: int, data: HeartbeatData) -> list[str]:
        client = str(data.client_id)  # one without an id is heard, too
        beats = self.beats.setdefault(client, Beats())
        if beats.count:
            beats.longest_pause = max(beats.longest_pause, t - beats.last)
        beats.count += 1
        beats.last = t
        return self._lines(t, self.groups.beat(conn, client, data, t))

    def close(self, t: float, conn: int) -> list[str]:
        """A connection is gone."""
        return self._lines(t, self.groups.close(conn), "lost by")

    def _lines(self, t: float, events: Iterable[Event], how: str = "") -> list[str]:
        """What came of a frame, in words; `how` a client went."""
        lines = []
        for event in events:
            if isinstance(event, SubscriptionChanged):
                old, new = _told(event.old), _told(event.new)
                row = {"t": t, "group": event.group, "topic": event.topic, "by": event.client, "old": old, "new": new}
                self.changes.append(row)
                if old != new:
                    lines.append(f"{_at(t)} {event.group} {event.topic}: {old} -> {new} by {event.client}")
            elif isinstance(event, Register):
                lines.append(f"{_at(t)} {event.client} joins {event.group} ({self._count(event.group)} now)")
            elif isinstance(event, Unregister):
                lines.append(f"{_at(t)} {event.client} {how} {event.group} ({self._count(event.group)} left)")
        return lines

    def _count(self, group: str) -> int:
        info = self.groups.table.get(group)
        return 0 if info is None else len(info.channel_info_table)

    def _pull(self, conn: int, command: RemotingCommand) -> None:
        header = command.decode_header(PullMessageRequestHeader)
        pulls = self.pulls.setdefault((str(header.consumer_group), str(header.topic), header.queue_id or 0), Pulls())
        pulls.count += 1
        pulls.offset = max(pulls.offset, header.queue_offset or 0)
        self._pulling[conn, command.opaque] = pulls

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "requests": {code_name(RequestCode, code): count for code, count in sorted(self.requests.items())},
            "heartbeats": {
                client: {
                    "count": beats.count, "last_ms": beats.last, "longest_pause_ms": round(beats.longest_pause, 1),
                }
                for client, beats in sorted(self.beats.items())
            },
            "groups": {
                group: {
                    "members": sorted(info.client_ids),
                    "subscriptions": {
                        str(topic): _told(data)
                        for topic, data in sorted(info.subscription_table.items(), key=lambda item: str(item[0]))
                    },
                }
                for group, info in sorted(self.groups.table.items(), key=lambda item: str(item[0]))
            },
            "changes": self.changes,
            "pulls": [
                {"group": group, "topic": topic, "queue": queue, "pulls": pulls.count, "offset": pulls.offset,
                 "answers": dict(sorted(pulls.answers.items()))}
                for (group, topic, queue), pulls in sorted(self.pulls.items())
            ],
        }  # fmt: skip

    def lines(self) -> list[str]:
        """A table of it all for people."""
        summary = self.as_json()
        rows = [f"{name:<34} {count:>8}" for name, count in summary["requests"].items()]
        for client, beats in summary["heartbeats"].items():
            rows.append(f"{client}: {beats['count']} heartbeats, longest pause {beats['longest_pause_ms']:.0f} ms")
        for group, view in summary["groups"].items():
            rows.append(f"{group}: {', '.join(view['members'])}")
            rows.extend(f"  {topic}: {text}" for topic, text in view["subscriptions"].items())
        for pull in summary["pulls"]:
            answers = ", ".join(f"{count} {name}" for name, count in pull["answers"].items())
            rows.append(f"{pull['group']} {pull['topic']}/{pull['queue']}: {pull['pulls']} pulls ({answers})")
        return rows


def _told(subscription: SubscriptionData | None) -> str | None:
    if subscription is None:
        return None
    return f"{subscription.expression_type or 'TAG'}:{subscription.sub_string}@{subscription.sub_version}"


def _at(t: float) -> str:
    return f"{t / 1000:9.3f} s"
