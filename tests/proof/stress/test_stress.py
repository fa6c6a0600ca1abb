"""Stress: brokers ended under load and clients that misbehave, small enough for every day; what is wrong is told."""

from __future__ import annotations

import json
import sys

import pytest

from rmqlab_tools.cli.cli import main
from tests.proof.stress import sockets as stress_sockets
from tests.proof.stress import store as stress_store
from tests.proof.stress.sockets import misbehave
from tests.proof.stress.store import end_under_load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc: run it on Linux"),
]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(stress_store, "LONGEST_SECONDS", 0.1)
    monkeypatch.setattr(stress_sockets, "IDLE_SECONDS", 3)  # a busy machine must not make a good client look silent
    monkeypatch.setattr(stress_sockets, "_SENDS", 100)


@pytest.mark.parametrize(("how", "flush"), [("kill", "SYNC_FLUSH"), ("kill", "ASYNC_FLUSH"), ("stop", "ASYNC_FLUSH")])
def test_what_was_acknowledged_is_there(how, flush):
    result = end_under_load(how, 2, 5, flush=flush)
    assert result.wrong == []
    assert result.rounds == 2
    assert result.acknowledged >= 2  # each round waits for one at least
    assert result.checked > result.acknowledged / 2


def test_what_is_not_there_is_told(monkeypatch, tmp_path):
    """Between the kill and the look somebody damages the log."""
    store = tmp_path / "store"
    startup = stress_store.BrokerStartup

    def damaged(config):
        (first, *_) = sorted((store / "commitlog").iterdir())
        data = bytearray(first.read_bytes())
        data[9] ^= 0xFF  # the checksum of the first body
        first.write_bytes(data)
        return startup(config)

    monkeypatch.setattr(stress_store, "BrokerStartup", damaged)
    result = end_under_load("kill", 3, 6, store=store)
    assert result.rounds == 1
    assert any("not there" in line or "hole" in line for line in result.wrong)


@pytest.mark.parametrize("kind", ["slow", "half-open", "bombs", "mutated"])
def test_who_misbehaves_is_closed_and_others_are_served(kind):
    result = misbehave(kind, 20, 3)
    assert result.wrong == []
    assert result.closed >= 20
    assert result.memory_worst < result.memory_before + 20 * 5
    assert result.p50_meanwhile > 0
    if kind in {"slow", "half-open"}:
        assert result.reasons == {"nothing read or written for N s": 20}


def test_idle_connections_cost_little_and_stay(monkeypatch):
    result = misbehave("idle", 500)
    assert result.wrong == []
    assert (result.closed, result.connections, result.limited_to) == (0, 500, None)
    assert (result.memory_worst - result.memory_before) / 500 < 0.05
    monkeypatch.setattr(stress_sockets, "most_files", lambda: 210)
    limited = misbehave("idle", 500)
    assert (limited.connections, limited.limited_to) == (10, 10)


def test_the_verb(tmp_path, capsys):
    path = tmp_path / "told.json"
    assert main(["stress", "frames", "stop", "--count", "2", "--json", str(path)]) == 0
    results = json.loads(path.read_text("utf-8"))
    assert results["frames"]["frames"] == 2
    assert results["stop"]["rounds"] == 2
    assert results["stop"]["wrong"] == []
    assert "2 rounds" in capsys.readouterr().out
    assert main(["stress", "earthquake"]) == 2
    assert "there are kill, stop, idle" in capsys.readouterr().err
    assert main(["stress", "kill", "--count", "0"]) == 2
