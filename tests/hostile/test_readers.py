"""What strangers write, changed by chance: no reader raises but its refusals, none takes long, none keeps it."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import pytest

from tests.proof.stress import fuzzing
from tests.proof.stress.fuzzing import fuzz_reader, inputs, run_batches
from tests.proof.stress.readers import READERS, Reader
from tests.proof.stress.wire import REFUSALS

INPUTS = int(os.environ.get("RMQLAB_HOSTILE_INPUTS", "200"))
SEED = int(os.environ.get("RMQLAB_FUZZ_SEED", "1"))
NEVER_REFUSE = {"record", "config", "evidence"}  # they say what they could make of it
MOST_MB = 300


@pytest.mark.parametrize("name", READERS)
def test_a_reader_refuses_and_does_nothing_else(name):
    result = fuzz_reader(name, INPUTS, SEED)
    assert result.wrong == {}
    assert result.inputs == INPUTS
    assert (result.refused == 0) == (name in NEVER_REFUSE)
    assert result.grown_mb < MOST_MB


@pytest.mark.parametrize("name", sorted(READERS.keys() - NEVER_REFUSE))
def test_what_is_well_formed_is_read(name, tmp_path):
    """A fuzzer of what is refused at once would find nothing."""
    reader = READERS[name]
    examples = reader.examples()[:20]
    read = 0
    for example in examples:
        with suppress(*(REFUSALS if name == "frame" else ())):  # the body of a message is no JSON
            reader.read(example, tmp_path / "given")
            read += 1
    assert read >= len(examples) * 0.7


def test_a_seed_decides_every_input():
    for name in READERS:
        first, again, other = (list(inputs(name, 5, seed)) for seed in (3, 3, 4))
        assert first == again
        assert first != other


def stand_in(monkeypatch, read, refusals=()):
    monkeypatch.setitem(READERS, "heartbeat", Reader(read, refusals, READERS["heartbeat"].examples))


def test_a_reader_that_fails_is_told(monkeypatch):
    monkeypatch.setattr(fuzzing, "STUCK_S", 0.2)
    examples = set(READERS["heartbeat"].examples())

    def fails(given, _):
        if given not in examples:
            raise ZeroDivisionError(given)

    stand_in(monkeypatch, fails)
    (what,), (found,) = zip(*fuzz_reader("heartbeat", 5, SEED).wrong.items(), strict=True)
    assert what == "ZeroDivisionError"
    assert found[0] >= 4

    stand_in(monkeypatch, lambda given, _: given in examples or time.sleep(2))
    result = fuzz_reader("heartbeat", 1, SEED)
    assert list(result.wrong) == ["TookTooLongError"]
    assert result.slowest_ms < 1_900  # it was stopped


def test_batches_go_on_where_a_log_ends(tmp_path):
    log = tmp_path / "batches.jsonl"
    heard = []
    run_batches(["sql92", "settings"], 20, [1, 2], jobs=2, log=log, on_batch=heard.append)
    assert len(heard) == 4
    assert all(batch.peak_mb > 10 for batch in heard)
    with log.open("a") as stream:
        stream.write('{"reader": "sql')  # a run that was ended
    found = run_batches(["sql92", "settings"], 20, [1, 2, 3], log=log, on_batch=heard.append)
    assert len(heard) == 6
    assert sorted({batch.seed for batch in found}) == [1, 2, 3]
    assert sum(batch.inputs for batch in found) == 120
    assert heard[0].wrong == {}


def test_a_process_that_ends_is_told():
    (batch,) = run_batches(["no such reader"], 5, [1])
    assert [what for what in batch.wrong if "process ended with 1" in what]
    assert "no such reader" in str(batch.wrong)
