"""A recorded set's events, in one file or in one for each scenario."""

from __future__ import annotations

import gzip
import json

import pytest

from rmqlab.errors import BadInput
from rmqlab.run.run import recorded_events

CONSUME = {
    "t": 5, "ev": "consume", "who": "A", "topic": "T", "tag": None, "queue": 0, "offset": 0, "body": "x",
    "reconsume": 0, "msgId": "M",
}  # fmt: skip
EVENTS = [CONSUME, {"t": 9, "ev": "stopped", "who": "A"}]


def lines(*events):
    return "".join(json.dumps(event) + "\n" for event in events)


def test_a_folder_of_events_reads_as_one_file_does(tmp_path):
    named = [{"id": name, **event} for name in ("one", "two") for event in EVENTS]
    whole, split = tmp_path / "whole", tmp_path / "split"
    whole.mkdir()
    (whole / "events.jsonl.gz").write_bytes(gzip.compress(lines(*named).encode()))
    (split / "events").mkdir(parents=True)
    for name in ("one", "two"):
        (split / "events" / f"{name}.jsonl").write_text(lines(*EVENTS))
    assert recorded_events(split) == recorded_events(whole) == {"one": named[:2], "two": named[2:]}


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "one.jsonl").write_text(lines(*EVENTS) + "{")
    with pytest.raises(BadInput, match=r"one\.jsonl, line 3: no event"):
        recorded_events(tmp_path)
    (tmp_path / "events" / "one.jsonl").write_text(lines(EVENTS[1], CONSUME | {"queue": "0"}))
    with pytest.raises(BadInput, match=r"line 2: no event of a recording \(Expected 'int', got 'str' - at '\$\.queue'"):
        recorded_events(tmp_path)
    with pytest.raises(BadInput, match="no such file; give a recorded set, which has events"):
        recorded_events(tmp_path / "nothing")
