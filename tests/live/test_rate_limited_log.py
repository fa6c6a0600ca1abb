"""Lines of a running server: bounded, counted, and never in its way."""

from __future__ import annotations

import os
import threading

import pytest

from rmqlab_tools.live.rate_limited_log import MAX_WAITING, RateLimitedLog


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as reader, os.fdopen(writing, "w") as writer:
        yield reader, writer


def test_lines_come_out_in_their_order_and_in_ascii(pipe):
    reader, writer = pipe
    teller = RateLimitedLog(writer)
    teller.tell("one")
    teller.tell("zw\u00f6lf")
    teller.close()
    teller.tell("too late")
    assert reader.read(1000) == b"one\nzw\\xf6lf\n"


def test_what_comes_too_fast_is_counted_and_told_with_the_next_line(pipe):
    reader, writer = pipe
    now = [0.0]
    teller = RateLimitedLog(writer, a_second=2, burst=3, clock=lambda: now[0])
    for number in range(10):
        teller.tell(str(number))
    now[0] = 1.0
    teller.tell("later")
    teller.close()
    lines = reader.read(1000).decode().splitlines()
    assert lines == ["0", "1", "2", "7 more lines were not written: too many at once, or nobody read them", "later"]


def test_a_pipe_that_nobody_reads_blocks_nobody_and_loses_what_it_cannot_keep(pipe):
    reader, writer = pipe
    teller = RateLimitedLog(writer, a_second=None, dropped="{} dropped".format)
    told = 2 * MAX_WAITING + 100

    def tell():
        for _ in range(told):
            teller.tell("x" * 1000)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()  # a pipe holds 64 KiB: a plain write of all this would wait forever
    read = threading.Thread(target=teller.close)
    read.start()
    data = b""
    while b"dropped" not in data:
        data += reader.read(65536)
    read.join(60)
    *lines, last = data.decode().splitlines()
    assert len(lines) + int(last.split()[0]) == told
    assert MAX_WAITING <= len(lines) < told
