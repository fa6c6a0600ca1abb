"""Every reader of what strangers write: how it reads, what it may refuse, examples, and how those are changed.

`fuzzing` gives them changed examples. A reader raises nothing but its own refusals.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import tarfile
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.filter.sql92 import compile_sql92
from rmqlab.message.java_properties import MalformedEscapeError, load_properties
from rmqlab.message.record import decode_records
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.topic_config import TopicConfigSerializeWrapper
from rmqlab.scenario.scenario import read_scenarios
from rmqlab.scenario.schedule import Schedule
from rmqlab_tools.live.config_load import check_config
from rmqlab_tools.live.configuration_files import read_rules
from rmqlab_tools.live.wire.frame_codec import decode_frame
from rmqlab_tools.recordings.frames import read_recording
from rmqlab_tools.recordings.store import open_store
from rmqlab_tools.show.link import Link, pack, unpack
from tests.proof.stress.frame_fuzz import recorded_requests
from tests.proof.stress.mutations import changed, with_odd_bytes, with_odd_values
from tests.proof.stress.whole_store import audited, changed_store, explained, put, served, stores, unchanged
from tests.proof.stress.wire import REFUSALS, changed_frame, read_wire
from tests.proof.stress.wire import examples as wire_examples

if TYPE_CHECKING:
    from tests.proof.stress.whole_store import Changed

    Read = Callable[[bytes, Path], object]

_VALUES_OF_LINKS, _TEXT_OF_LINKS = 0.8, 0.9


class Reader(NamedTuple):
    """Who reads: how, what may be refused, examples that are well formed, and how one of them is changed by chance."""

    read: Callable[[Any, Path], object]
    refusals: tuple[type[Exception], ...]
    examples: Callable[[], Sequence[Any]]
    change: Callable[[Any, random.Random, Sequence[Any]], Any] = changed


def _golden(*names: str) -> list[bytes]:
    return [(checkout_path("data") / "golden" / name).read_bytes() for name in names]


@cache
def _frames() -> list[bytes]:
    return recorded_requests()


@cache
def _heartbeats() -> list[bytes]:
    commands = (decode_frame(frame[4:]) for frame in _frames())
    return [bytes(command.body) for command in commands if command.code == 34 and command.body]


@cache
def _scenario_lines() -> list[bytes]:
    return _golden("broker-4.8.0/base/scenarios.jsonl")[0].splitlines()[:40]


def _links() -> list[bytes]:
    lines = (json.loads(line) for line in _scenario_lines()[:5])
    return [json.dumps({"format": "rmqlab-link/1", "scenario": line, "seed": 3}).encode() for line in lines]


def _packed_links() -> list[str]:
    return [pack(json.loads(link)) for link in _links()]


def _changed_link(example: str, choose: random.Random, _: Sequence[str]) -> str:
    """A link whose JSON was changed before it was packed; now and then its text, or the bytes that are packed."""
    kind, value = choose.random(), unpack(example)
    if kind < _VALUES_OF_LINKS:
        return pack(with_odd_values(value, choose))
    text = pack(value).encode()
    if kind < _TEXT_OF_LINKS:
        return _text(with_odd_bytes(text, choose, [text]))
    plain = with_odd_bytes(json.dumps(value).encode(), choose, [text])
    return base64.urlsafe_b64encode(zlib.compress(plain, 1)).decode()


@cache
def _recording() -> list[bytes]:
    return [b"\n".join(gzip.decompress(_golden("broker-4.8.0/base/frames.jsonl.gz")[0]).splitlines()[:40])]


def _members() -> list[bytes]:
    text = (checkout_path("data") / "formats" / "members.md").read_text("utf-8")
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


def _of_store(store: Changed, path: Path) -> None:
    """`explain` and `audit` only read; then a broker mends what it can. All three are asked, whatever one says."""
    put(store.files, path)
    refusal: BadInput | None = None
    readers: list[Callable[[], object]] = [lambda: audited(path, sorted(store.where)), lambda: served(path)]
    if store.where & {"config", "abort", "commitlog"}:
        readers.insert(0, lambda: explained(path))
    for read in readers:
        try:
            read()
        except BadInput as error:
            refusal = error
    if refusal is not None:
        raise refusal


def _changed_store(example: Changed, choose: random.Random, others: Sequence[Changed]) -> Changed:
    return changed_store(example.files, choose, [other.files for other in others])


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
_SCHEDULE = Schedule("x", {3: ("a", 1)}).to_json().encode()
_CODE: Final = {
    ".java": b"""package a; import org.apache.rocketmq.client.consumer.*; import static a.B.TAG;
@RocketMQMessageListener(topic = "${t:T}", consumerGroup = B.G + "x", selectorExpression = TAG)
class A { void f(String g) { DefaultMQPushConsumer c = new DefaultMQPushConsumer(g); c.subscribe("T", K.A.getTag()); }
  void h() { f("g"); } enum K { A("a"); final String tag; K(String tag) { this.tag = tag; } } }
""",
    ".kt": b"""package a
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer
class A(@Value("\\${t:T}") val t: String) { fun f() { DefaultMQPushConsumer("g").apply { subscribe(t, "a$t") } } }
""",
    ".go": b"""package a
import "github.com/apache/rocketmq-client-go/v2/consumer"
func f() { c, _ := rocketmq.NewPushConsumer(consumer.WithGroupName("g" + G))
 c.Subscribe("T", consumer.MessageSelector{Type: consumer.TAG, Expression: `a`}, h) }
const G = "x"
""",
    ".py": b"""from rocketmq import PushConsumer, FilterExpression
c = PushConsumer(config, "g", listener, {"T": FilterExpression(f"a{B}")})
B = "x"
""",
    ".yml": b"""a: &a {b: 1}
spring.cloud.stream:
  rocketmq: {bindings: {in-0: {consumer: {subscription: "${x:a || b}"}}}}
  bindings: {in-0: {destination: T, group: g}}
---
spring.profiles: p & !q
c: &c 1
d: *c
""",
    ".xml": b"""<?xml version="1.0"?><beans><bean class="x.DefaultMQPushConsumer">
<property name="consumerGroup" value="${g:g}"/>
<property name="subscription"><map><entry key="T" value="a"/></map></property></bean></beans>""",
}


def _of_code(data: bytes, folder: Path) -> object:
    """What a folder with files of this text comes to, one in each language whose example begins alike."""
    from rmqlab_tools.source.checks import checks_of
    from rmqlab_tools.source.consumers import read_code_base
    from rmqlab_tools.source.groups import lint_sources

    folder.mkdir(exist_ok=True)
    near = [end for end, text in _CODE.items() if text[:5] == data[:5]] or [*_CODE]
    for end in _CODE:
        file = folder / f"application{end}"
        file.unlink(missing_ok=True)
        if end in near:
            file.write_bytes(data)
    return checks_of(lint_sources(read_code_base([folder])))


READERS: Final[dict[str, Reader]] = {
    "frame": Reader(lambda wire, _: read_wire(wire), REFUSALS, wire_examples, changed_frame),
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
    "packed link": Reader(lambda text, _: Link.read(text), (BadInput,), _packed_links, _changed_link),
    "schedule": Reader(lambda data, _: Schedule.from_json(_text(data)), (BadInput,), lambda: [_SCHEDULE]),
    "scenario": Reader(_by_file(read_scenarios), (BadInput,), _scenario_lines),
    "members": Reader(_by_file(_linted), (BadInput,), _members),
    "recording": Reader(_by_file(_recorded), (BadInput,), _recording),
    "look": Reader(_by_file(_look), (BadInput,), _looks),
    "notebook": Reader(_by_file(_noted), (BadInput,), lambda: [_NOTEBOOK]),
    "evidence": Reader(_by_file(_explained), (BadInput,), lambda: [_LOG, _TOPICS, _NOTEBOOK, *_heartbeats()[:5]]),
    "archive": Reader(_by_file(_opened, ".tar"), (BadInput,), _archive),
    "code": Reader(_of_code, (BadInput,), lambda: [*_CODE.values()]),
    "store": Reader(_of_store, (BadInput,), lambda: [*map(unchanged, stores())], _changed_store),
}  # fmt: skip
"""By name; the frames and stores of a broker that runs are given by `frame_fuzz` and `store`."""
