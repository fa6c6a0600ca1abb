"""What strangers write, changed by chance, given to every reader of files and frames.

A reader raises nothing but its own refusals, takes no more than a bound of time for one input, and what it kept is
let go. A seed decides every byte.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import resource
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.filter.sql92 import compile_sql92
from rmqlab.message.java_properties import MalformedEscapeError, load_properties
from rmqlab.message.record import decode_records
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.topic_config import TopicConfigSerializeWrapper
from rmqlab.scenario.scenario import read_scenarios
from rmqlab.scenario.schedule import Schedule
from rmqlab_tools.live.config_load import check_config
from rmqlab_tools.live.configuration_files import read_rules
from rmqlab_tools.recordings.frames import read_recording
from rmqlab_tools.recordings.store import open_store
from rmqlab_tools.show.link import Link, pack, unpack
from tests.proof.stress.frame_fuzz import mutated, recorded_requests

if TYPE_CHECKING:
    Read = Callable[[bytes, Path], object]

SLOWEST_S: Final = 5.0
"""Of one input, on a busy machine."""
SHOWN: Final = 80
_JSON_PARTS: Final = (
    b"[", b"]", b"{", b"}", b'"', b":", b",", b"null", b"true", b"-1", b"1e999", b"NaN", b"9" * 400, b"\\u0000",
    b"\\ud800",     b"[" * 3_000, b"\xff", b"\x00", b'"\x1b[2J"', b"'", b"-- ", b"\n", b"\r\n", b"%s", b"../", b"&a *a",
)  # fmt: skip


_ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 2**31, 2**63, 10**400, 1.5, 1e308, float("nan"), float("inf"), "", "x", "\x00", "\ud800",
    "\x1b[2J", "9" * 5_000, [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, [1, "x"], "a = 1", "*", "%RETRY%x",
    "../x",
)  # fmt: skip
_VALUES_CHANGED: Final = 0.5
_DEEPER: Final = 0.85
_RENAMED: Final = 0.2


class Reader(NamedTuple):
    """Who reads: how, what may be refused, and examples that are well formed."""

    read: Read
    refusals: tuple[type[Exception], ...]
    examples: Callable[[], Sequence[bytes]]


@dataclass(slots=True)
class ReaderResult:
    """Inputs given and refused, the slowest (s), what grew (MB), and what went wrong: words -> how often."""

    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    grown_mb: float = 0.0
    wrong: Counter[str] = field(default_factory=Counter)


def changed(example: bytes, choose: random.Random, others: Sequence[bytes]) -> bytes:
    """Return an example with values changed if it is JSON, or bytes changed, cut, doubled, put in."""
    if choose.random() < _VALUES_CHANGED:
        try:
            value = json.loads(example)
        except ValueError:
            pass
        else:
            for _ in range(choose.choice((1, 1, 2, 3))):
                value = _with_odd_value(value, choose)
            return json.dumps(value).encode()
    return _with_odd_bytes(example, choose, others)


def _with_odd_value(value: Any, choose: random.Random) -> Any:
    """Return a JSON value with one of its parts replaced, taken out or named otherwise."""
    if isinstance(value, dict) and value and choose.random() < _DEEPER:
        name = choose.choice(list(value))
        part = value[name]
        if choose.random() < _RENAMED:
            value = {one: item for one, item in value.items() if one != name}
            return value if choose.random() < 0.5 else value | {choose.choice(("", "a", name.upper(), "\x1b")): part}
        return value | {name: _with_odd_value(part, choose)}
    if isinstance(value, list) and value and choose.random() < _DEEPER:
        at = choose.randrange(len(value))
        return [*value[:at], _with_odd_value(value[at], choose), *value[at + 1 :]]
    return choose.choice(_ODD_VALUES)


def _with_odd_bytes(example: bytes, choose: random.Random, others: Sequence[bytes]) -> bytes:
    data = bytearray(example)
    for _ in range(choose.choice((1, 1, 2, 4, 8))):
        at = choose.randrange(len(data) + 1)
        match choose.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << choose.randrange(8)
            case 1:
                del data[at : at + choose.randrange(1, 30)]
            case 2:
                data[at:at] = choose.choice(_JSON_PARTS)
            case 3:
                del data[at:]
            case 4:
                end = min(at + choose.randrange(1, 200), len(data))
                data[at:at] = data[at:end]
            case 5:
                other = choose.choice(others)
                begin = choose.randrange(len(other) + 1)
                data[at : at + choose.randrange(40)] = other[begin : begin + choose.randrange(200)]
            case 6:
                data[at:at] = choose.randbytes(choose.randrange(1, 9))
            case _:
                data[at : at + 4] = choose.choice(
                    (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0")
                )
    return bytes(data)


def fuzz_reader(name: str, count: int, seed: int) -> ReaderResult:
    """Give so many inputs to a reader; what it must not do is in `wrong`."""
    reader, result = READERS[name], ReaderResult()
    examples, choose = reader.examples(), random.Random(f"{name} {seed}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "given"
        for _ in range(count):
            data = (mutated if name == "frame" else changed)(choose.choice(examples), choose, examples)
            began = perf_counter()
            try:
                reader.read(data, path)
            except reader.refusals:
                result.refused += 1
            except Exception as error:  # noqa: BLE001 - this is what is looked for
                result.wrong[f"{name}: {type(error).__name__}: {error!s:.80}: {data[:SHOWN]!r}"] += 1
            took = perf_counter() - began
            result.inputs += 1
            result.slowest_s = max(result.slowest_s, took)
            if took > SLOWEST_S:
                result.wrong[f"{name}: {took:.1f} s: {data[:SHOWN]!r}"] += 1
    result.grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return result


def _golden(*names: str) -> list[bytes]:
    return [(folder("data") / "golden" / name).read_bytes() for name in names]


@cache
def _frames() -> list[bytes]:
    return recorded_requests()


@cache
def _heartbeats() -> list[bytes]:
    commands = (RemotingCommand.decode(frame[4:]) for frame in _frames())
    return [bytes(command.body) for command in commands if command.code == 34 and command.body]


@cache
def _scenario_lines() -> list[bytes]:
    return _golden("broker-4.8.0/base/scenarios.jsonl")[0].splitlines()[:40]


def _links() -> list[bytes]:
    lines = (json.loads(line) for line in _scenario_lines()[:5])
    return [json.dumps({"format": "rmqlab-link/1", "scenario": line, "seed": 3}).encode() for line in lines]


@cache
def _recording() -> list[bytes]:
    return [b"\n".join(gzip.decompress(_golden("broker-4.8.0/base/frames.jsonl.gz")[0]).splitlines()[:40])]


def _members() -> list[bytes]:
    text = (folder("data") / "formats" / "members.md").read_text("utf-8")
    return [text.split("```json\n")[1].split("```")[0].encode()]


def _commit_log() -> list[bytes]:
    with tarfile.open(fileobj=io.BytesIO(_golden("broker-4.8.0/base/store.tar.gz")[0])) as archive:
        for entry in archive:
            if "commitlog" in entry.name and entry.isfile():
                return [archive.extractfile(entry).read(6_000)]  # type: ignore[union-attr]
    raise AssertionError


def _archive() -> list[bytes]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in (
            ("store/commitlog/00000000000000000000", _commit_log()[0]),
            ("store/config/topics.json", b"{}"),
        ):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return [buffer.getvalue()]


def _by_file(read: Callable[[Path], object], suffix: str = "") -> Read:
    def of_bytes(data: bytes, path: Path) -> object:
        named = path.with_name(path.name + suffix)
        named.write_bytes(data)
        return read(named)

    return of_bytes


def _recorded(path: Path) -> object:
    inside = path.with_name("recording")
    inside.mkdir(exist_ok=True)
    path.replace(inside / "frames.jsonl")
    (inside / "broker.conf").write_text("brokerName=a\n")
    return read_recording(inside)


def _opened(path: Path) -> None:
    with open_store(path):
        pass


def _explained(path: Path) -> object:
    from rmqlab_tools.doctor.evidence.door import explain

    return repr(explain(path))


def _linted(path: Path) -> object:
    from rmqlab_tools.search.lint.members import read_groups

    return read_groups(str(path))


def _look(path: Path) -> object:
    from rmqlab_tools.doctor.snapshot_json import read_look

    return read_look(path)


def _noted(path: Path) -> object:
    from rmqlab_tools.course.notebooks import read

    return read(path)


def _looks() -> list[bytes]:
    return [b'{"namesrv": "127.0.0.1:9876", "at": 5, "took_ms": 1}']


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


_RULES = b"globalWhiteRemoteAddresses: ['*']\naccounts:\n"
_RULES += b"- accessKey: RocketMQ\n  secretKey: 12345678\n  topicPerms: [T=PUB]\n"
_SETTINGS = b"a=1\nb: \\u0041\\\n c\n"
_TOPICS = b'{"dataVersion":{"counter":1,"timestamp":1},"topicConfigTable":{"T":{"topicName":"T","readQueueNums":4}}}'
_SQL = (
    b"a = 1 OR b BETWEEN 2 AND 3 AND c IN ('x', 'y')",
    b"NOT (a IS NULL) AND -b >= 1.5e3 -- c\n",
    b"a = 'it''s' /* b */",
)
_LOG = b"2026-01-01 00:00:00 WARN x - the consumer's subscription not latest\n"
_LOG += b"CODE: 24  DESC: the consumer's group info not exist\n"
_NOTEBOOK = (
    b'{"cells": [{"cell_type": "code", "id": "a", "source": ["1"], "metadata": {}, "outputs": []}], "metadata": {},'
)
_NOTEBOOK += b' "nbformat": 4, "nbformat_minor": 5}'
_PACKED = pack({"a": [1, 2]}).encode()
_SCHEDULE = Schedule("x", {3: ("a", 1)}).to_json().encode()
READERS: Final[dict[str, Reader]] = {
    "frame": Reader(lambda data, _: RemotingCommand.decode(data[4:]), (FrameError,), _frames),
    "heartbeat": Reader(lambda data, _: HeartbeatData.decode(data), (FrameError,), _heartbeats),
    "record": Reader(lambda data, _: decode_records(data), (), _commit_log),
    "config": Reader(
        lambda data, path: check_config(path, data, lambda text: TopicConfigSerializeWrapper.decode(text.encode())),
        (), lambda: [_TOPICS],
    ),
    "settings": Reader(lambda data, _: load_properties(data), (MalformedEscapeError,), lambda: [_SETTINGS]),
    "rules": Reader(_by_file(read_rules), (BadInput,), lambda: [_RULES]),
    "sql92": Reader(lambda data, _: compile_sql92(_text(data)), (BadInput,), lambda: _SQL),
    "link": Reader(lambda data, _: Link.of(json.loads(data)), (BadInput, ValueError, RecursionError), _links),
    "packed link": Reader(lambda data, _: unpack(_text(data)), (BadInput,), lambda: [_PACKED]),
    "schedule": Reader(lambda data, _: Schedule.from_json(_text(data)), (BadInput,), lambda: [_SCHEDULE]),
    "scenario": Reader(_by_file(read_scenarios), (BadInput,), _scenario_lines),
    "members": Reader(_by_file(_linted), (BadInput,), _members),
    "recording": Reader(_by_file(_recorded), (BadInput,), _recording),
    "look": Reader(_by_file(_look), (BadInput,), _looks),
    "notebook": Reader(_by_file(_noted), (BadInput,), lambda: [_NOTEBOOK]),
    "evidence": Reader(_by_file(_explained), (BadInput,), lambda: [_LOG, _TOPICS, _NOTEBOOK, *_heartbeats()[:5]]),
    "archive": Reader(_by_file(_opened, ".tar"), (BadInput,), _archive),
}  # fmt: skip
"""By name; the frames and stores of a broker that runs are given by `frame_fuzz` and `store`."""
