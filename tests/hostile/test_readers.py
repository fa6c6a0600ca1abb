"""What strangers write, changed by chance: no reader raises but its refusals, none takes long, none keeps it."""

from __future__ import annotations

import os

import pytest

from tests.proof.stress import readers
from tests.proof.stress.readers import READERS, Reader, fuzz_reader

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
    for example in READERS[name].examples()[:20]:
        READERS[name].read(example, tmp_path / "given")


def test_a_reader_that_fails_is_told(monkeypatch):
    def fails(data, _):
        raise ZeroDivisionError(data[:1])

    monkeypatch.setitem(readers.READERS, "frame", Reader(fails, (), READERS["frame"].examples))
    assert all("ZeroDivisionError" in text for text in fuzz_reader("frame", 5, SEED).wrong)
    monkeypatch.setattr(readers, "SLOWEST_S", 0.0)
    monkeypatch.setitem(readers.READERS, "frame", Reader(lambda data, _: data, (), READERS["frame"].examples))
    assert fuzz_reader("frame", 5, SEED).wrong
