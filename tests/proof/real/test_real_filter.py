"""The real filters in a Java process: recorded answers come back, and what is missing is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rmqlab.filter.sql92 import MQFilterException, compile_sql92
from rmqlab.message.properties import properties_to_string
from tests.proof.real import filter as real_filter
from tests.proof.real.filter import RealFilter, RealFilterMissingError


@pytest.fixture(scope="module")
def real():
    try:
        filters = RealFilter()
    except RealFilterMissingError as missing:
        pytest.skip(str(missing))
    with filters:
        yield filters


def test_recorded_evaluations_come_back(real, golden):
    lines = (golden / "vectors" / "sql92_eval.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [
        case
        for case in map(json.loads, lines[:200])
        # An empty value does not survive the way into the commit log.
        if case["compiled"] and case["props"] and all(case["props"].values())
    ]
    for case in cases:
        real.load([properties_to_string(case["props"]).encode()])
        expected = 3 if case["error"] else {None: 2, True: 1, False: 0}[case["result"]]
        assert real.outcomes(case["expr"]) == bytes([expected]), case["case"]
    assert len(cases) > 100


def test_timed_work_tells_what_it_did(real):
    real.load([b"TAGS\x01TagA\x02a\x015", b"TAGS\x01TagB\x02a\x017", b"a\x01x", b""])
    for work in (real.decode_and_evaluate("a > 5", 3), real.evaluate("a > 5", 3)):
        assert (work.messages, work.matched) == (12, 3)
        assert work.seconds > 0
    tags = real.match_tags("TagA || TagC", 2)
    assert (tags.messages, tags.matched) == (8, 2)
    assert real.compile("a > 5", 7).messages == 7


def test_a_process_that_ended_is_told(real):
    other = RealFilter()
    other._process.kill()
    with pytest.raises(RealFilterMissingError, match="ended"):
        other.load([b""])
    other._process.wait()


def test_what_is_missing_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("RMQLAB_CACHE", str(tmp_path))
    monkeypatch.setattr(real_filter.shutil, "which", lambda name: None)
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "javac").touch()
    monkeypatch.setattr(real_filter, "find_java", lambda environ: home)
    with pytest.raises(
        RealFilterMissingError, match=r"no Maven to fetch the jars of RocketMQ 4.8.0 with: install maven"
    ):
        real_filter.set_up()
    monkeypatch.setattr(real_filter, "find_java", lambda environ: None)
    with pytest.raises(RealFilterMissingError, match="no JDK 17 or newer to compile with"):
        real_filter.set_up()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jdk"]


FIELD = Path(__file__).resolve().parents[2] / "search" / "expressions" / "field.jsonl"


def test_the_real_compiler_says_the_same_of_what_people_write_and_takes_what_is_suggested(real):
    """What is accepted and what refused, in its own words; each suggestion is read whole and does what is meant."""
    cases = [json.loads(line) for line in FIELD.read_text(encoding="utf-8").splitlines()]
    for case in cases:
        for text in filter(None, (case["expr"] if case["type"] == "SQL92" else None, case["write"])):
            try:
                ours = True, str(compile_sql92(text))
            except MQFilterException as refusal:
                ours = False, refusal.java_message
            assert real.verdict(text) == ours, text
        for outcome, messages in ((1, case.get("passes", ())), (0, case.get("drops", ()))):
            for message in messages:
                real.load([properties_to_string(message).encode()])
                assert (real.outcomes(case["write"]) == b"\1") == outcome, (case["write"], message)
    assert sum(case["write"] is not None for case in cases) > 90
