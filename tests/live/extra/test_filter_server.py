"""The filter server of 4.x in miniature: uploads, pulls in the consumers' place, and what the broker knows of it."""

from __future__ import annotations

import ast
import inspect

import pytest
from msgspec.structs import asdict

from rmqlab.message.record import body_crc, decode_records
from rmqlab.message.sysflag import COMPRESSED_FLAG
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    FLAG_CLASS_FILTER,
    FLAG_COMMIT_OFFSET,
    FLAG_SUSPEND,
    PullMessageRequestHeader,
    RegisterMessageFilterClassRequestHeader,
)
from tests.proof.clients import filter_server
from tests.proof.clients.filter_server import FilterServer

SOURCE = b"import os; os._exit(1)  // class Even"


def even(message, context):
    return int(message.properties["n"]) % 2 == 0


class Beside:
    """A filter server beside a bench's broker, which answers at once or is `away`."""

    def __init__(self, bench, classes=None):
        self.bench, self.away, self.exited, self.facts = bench, False, 0, []
        self.channel = bench.channel()
        self.server = FilterServer(
            "127.0.0.1:30001",
            {"x.Even": even} if classes is None else classes,
            now=bench.now,
            ask_broker=self._ask,
            on_exit=self._exit,
            observe=lambda event: self.facts.append((event.kind, asdict(event))),
        )

    def _ask(self, request, timeout_ms, answered):
        answered(None if self.away else self.bench.broker.handle(self.channel, request, self.bench.now))

    def _exit(self):
        self.exited += 1

    def upload(self, source=SOURCE, name="x.Even", crc=None, group="G"):
        header = RegisterMessageFilterClassRequestHeader(group, "T", name, body_crc(source) if crc is None else crc)
        request = RemotingCommand.request(RequestCode.REGISTER_MESSAGE_FILTER_CLASS, header, source)
        return self.server.handle(self.bench.channel(), request, self.bench.now)

    def pull(self, offset=0, queue=0, group="G"):
        flag = FLAG_COMMIT_OFFSET | FLAG_SUSPEND | FLAG_CLASS_FILTER
        header = PullMessageRequestHeader(group, "T", queue, offset, 32, flag, 7, 15_000, None, 1, None)
        request, channel = RemotingCommand.request(RequestCode.PULL_MESSAGE, header), self.bench.channel()
        request.opaque = 77
        at_once = self.server.handle(channel, request, self.bench.now)
        if at_once is not None:
            return at_once
        (answer,) = channel.sent
        assert answer.opaque == 77
        return answer


@pytest.fixture
def beside(bench):
    bench.topic("T", 1)
    return Beside(bench)


@pytest.mark.row("F-99")
def test_it_registers_after_three_seconds_and_then_every_ten(bench, beside):
    table = bench.extras.filter_server_manager.filter_server_table
    seen = []
    for _ in range(25):
        bench.pass_time(1_000)
        beside.server.run_timers(bench.now)
        seen.append([info.last_update_timestamp - bench.now for info in table.values()])
    assert seen[:3] == [[], [], [0]]
    assert [second + 1 for second, ages in enumerate(seen) if ages == [0]] == [3, 13, 23]
    assert bench.extras.filter_server_manager.filter_servers() == ["127.0.0.1:30001"]
    assert beside.server.registered


def test_it_ends_when_its_broker_cannot_be_reached(bench, beside):
    beside.away = True
    beside.server.run_timers(bench.now + 3_000)
    assert (beside.exited, beside.server.registered, beside.server.next_timer()) == (1, False, None)


@pytest.mark.row("F-99")
def test_without_a_class_nothing_is_pulled(bench, beside):
    bench.send("T", props={"n": "2"})
    answer = beside.pull()
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "Find Filter class failed, not registered")
    assert beside.upload(name="x.Unknown").code == ResponseCode.SUCCESS
    answer = beside.pull()
    assert answer.remark == "Find Filter class failed, registered but no class"


@pytest.mark.row("F-55", "F-67", "F-99")
def test_only_what_the_class_lets_through_comes_back(bench, beside, bodies):
    for n in range(5):
        bench.send("T", str(n).encode(), tag="any", props={"n": str(n)})
    beside.upload()
    answer = beside.pull()
    assert (answer.code, bodies(answer)) == (ResponseCode.SUCCESS, [b"0", b"2", b"4"])
    header = answer.header
    assert (header.next_begin_offset, header.min_offset, header.max_offset, header.suggest_which_broker_id) == (
        5,
        0,
        5,
        0,
    )
    assert [fields["passed"] for kind, fields in beside.facts if kind == "class_filter"] == [True, False] * 2 + [True]
    assert bench.seen("filtered") == []
    (pull,) = bench.seen("pull")
    assert (pull["group"], pull["status"]) == ("FILTERSRV_CONSUMER", "FOUND")
    assert bench.broker.consumer_offset_manager.query_offset("G", "T", 0) == -1


def test_a_batch_without_a_match_is_to_be_pulled_again_at_once(bench, beside):
    bench.send("T", props={"n": "1"})
    beside.upload()
    answer = beside.pull()
    assert (answer.code, answer.body, answer.header.next_begin_offset) == (
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        None,
        1,
    )


def test_a_held_pull_is_answered_when_the_broker_answers(bench, beside):
    beside.upload()
    waiting = []
    beside.server._ask_broker = lambda request, timeout_ms, answered: waiting.append((request, timeout_ms, answered))
    flag = FLAG_SUSPEND | FLAG_CLASS_FILTER
    header = PullMessageRequestHeader("G", "T", 0, 0, 32, flag, 0, 15_000, None, 1, None)
    channel, request = bench.channel(), RemotingCommand.request(RequestCode.PULL_MESSAGE, header)
    assert beside.server.handle(channel, request, bench.now) is None
    ((own, timeout_ms, answered),) = waiting
    assert (own.header.suspend_timeout_millis, timeout_ms, own.header.subscription) == (19_000, 29_000, "*")
    assert channel.sent == []
    answered(None)
    assert channel.sent[0].remark == "Pull Callback Exception, no answer"


def test_a_refusal_of_the_broker_is_told(bench, beside):
    beside.upload()
    answer = beside.pull(queue=9)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark.startswith("Pull Callback Exception, code 1: queueId[9] is illegal")


@pytest.mark.row("F-99")
def test_a_class_that_throws_fails_the_whole_pull(bench, beside):
    bench.send("T", props={"n": "2"})
    bench.send("T", props={"n": "two"})
    beside.upload()
    answer = beside.pull()
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark.startswith("do Message Filter Exception, ConsumerGroup: G Topic: T ValueError")


def test_large_bodies_are_compressed_and_come_back_whole(bench, beside):
    bench.send("T", b"x" * 10_000, props={"n": "2"})
    bench.send("T", b"y" * 100, props={"n": "2"})
    beside.upload()
    body = beside.pull().body
    assert len(body) < 2_000
    large, small = decode_records(body)
    assert (large.body, large.sys_flag & COMPRESSED_FLAG) == (b"x" * 10_000, COMPRESSED_FLAG)
    assert (small.body, small.sys_flag & COMPRESSED_FLAG) == (b"y" * 100, 0)
    assert (small.properties["MIN_OFFSET"], small.properties["MAX_OFFSET"]) == ("0", "2")


@pytest.mark.row("F-99")
def test_the_uploaded_text_is_kept_checked_and_never_run(bench, beside):
    assert beside.upload().code == ResponseCode.SUCCESS
    info = beside.server.filter_class_manager.find_filter_class("G", "T")
    assert (info.source, info.class_crc, info.match) == (SOURCE, body_crc(SOURCE), even)
    answer = beside.upload(b"other", crc=5)
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        f"registerFilterClass error: the source of x.Even has the checksum {body_crc(b'other')}, its header says 5",
    )
    assert beside.server.filter_class_manager.find_filter_class("G", "T") is info
    calls = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(inspect.getsource(filter_server)))
        if isinstance(node, ast.Call)
    }
    assert calls.isdisjoint({"exec", "eval", "compile", "__import__", "getattr", "import_module"})


def test_the_last_upload_that_differs_wins_whoever_sent_it(beside):
    manager = beside.server.filter_class_manager
    assert manager.register_filter_class("G", "T", "x.Even", body_crc(b"1"), b"1")
    assert not manager.register_filter_class("G", "T", "x.Odd", body_crc(b"1"), b"1")
    assert not manager.register_filter_class("G", "T", "x.Odd", 0, b"2")
    assert manager.find_filter_class("G", "T").class_name == "x.Even"
    assert manager.register_filter_class("G", "T", "x.Odd", body_crc(b"2"), b"2")
    assert manager.find_filter_class("G", "T").class_name == "x.Odd"
    assert manager.find_filter_class("H", "T") is None


def test_other_requests_stay_without_an_answer(bench, beside):
    request = RemotingCommand.request(RequestCode.HEART_BEAT, None)
    assert beside.server.handle(bench.channel(), request, bench.now) is None
    beside.server.on_channel_close(bench.channel(), bench.now)


@pytest.mark.row("F-99")
def test_the_broker_asks_for_missing_filter_servers_every_thirty_seconds(make_bench):
    bench = make_bench(config={"filter_server_nums": 2})
    manager, asked = bench.extras.filter_server_manager, []
    manager.start_filter_server = lambda: asked.append(bench.broker.now - start)
    start = bench.now
    bench.pass_time(34_999)
    assert asked == [5_000, 5_000]
    manager.register_filter_server(bench.channel(), "fs:1", bench.now)
    bench.pass_time(1)
    assert asked[2:] == [35_000]
    assert len(bench.seen("start_filter_server")) == 3


@pytest.mark.row("F-99")
def test_by_default_no_filter_server_is_wanted(bench):
    assert bench.broker.config.filter_server_nums == 0
    assert "filter servers" not in [name for _, name, _ in bench.broker.timers.upcoming()]
