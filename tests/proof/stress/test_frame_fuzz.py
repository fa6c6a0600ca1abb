"""Mutated frames: nothing a client sends makes a rule fail.

RMQLAB_FUZZ_FRAMES and RMQLAB_FUZZ_SEED: how many, and which.
"""

from __future__ import annotations

import os
import random

import pytest

from rmqlab.broker.consumer_manage_processor import ConsumerManageProcessor, ConsumerOffsetManager
from tests.proof.stress.frame_fuzz import fuzz, mutated, recorded_requests

pytestmark = pytest.mark.slow

FRAMES = int(os.environ.get("RMQLAB_FUZZ_FRAMES", "40000"))
SEED = int(os.environ.get("RMQLAB_FUZZ_SEED", "1"))


def test_no_rule_fails_on_what_a_client_sends():
    result = fuzz(FRAMES, SEED)
    assert result.wrong == {}
    assert result.frames == FRAMES
    assert result.ended > FRAMES / 100


def test_a_rule_that_fails_is_told(monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(ConsumerOffsetManager, "query_offset", fail)
    assert any("ZeroDivisionError" in text for text in fuzz(3_000, SEED).wrong)


def test_a_seed_decides_every_byte():
    requests = recorded_requests()
    assert len(requests) > 100
    first, again = random.Random(5), random.Random(5)
    changed = [mutated(frame, first, requests) for frame in requests]
    assert changed == [mutated(frame, again, requests) for frame in requests]
    assert sum(frame != other for frame, other in zip(requests, changed, strict=True)) > len(requests) * 0.9


@pytest.mark.parametrize("name", ["queueId", "commitOffset"])
def test_an_offset_without_its_parts_is_refused_and_not_kept(name):
    """4.8.0 meets a NullPointerException there; kept, it would stand in the way of every later file of offsets."""
    from types import SimpleNamespace

    from rmqlab.broker.processor import ProcessorError
    from rmqlab.protocol.codes import RequestCode
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.rules import DEFAULT_RULES

    fields = {"consumerGroup": "G", "topic": "T", "queueId": "0", "commitOffset": "5"}
    command = RemotingCommand(RequestCode.UPDATE_CONSUMER_OFFSET)
    command.ext_fields = {key: value for key, value in fields.items() if key != name}
    processor = ConsumerManageProcessor(SimpleNamespace(), SimpleNamespace(), SimpleNamespace(), DEFAULT_RULES)
    with pytest.raises(ProcessorError, match="NullPointerException"):
        processor.handlers[RequestCode.UPDATE_CONSUMER_OFFSET](SimpleNamespace(remote_address="c"), command, 0)
