"""An independent witness: the C++ client in its Python wrapping, against our broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rmqlab

WITNESS = Path(__file__).parent / "python" / "witness.py"


@pytest.mark.skipif(find_spec("rocketmq") is None, reason="no client but Java's: pip install rocketmq (Linux, x86-64)")
def test_the_cpp_client_sends_and_consumes(tmp_path):
    """In a process of its own: it is a library of C++ with threads."""
    with rmqlab.serve() as broker:
        broker.create_topic("Witness", 2)
        told = subprocess.run(
            [sys.executable, str(WITNESS), broker.namesrv_addr],
            capture_output=True, text=True, timeout=180, check=False, env={**os.environ, "HOME": str(tmp_path)},
        )  # fmt: skip
        assert told.returncode == 0, told.stdout + told.stderr
        stored = broker.messages("Witness")
    seen = json.loads(told.stdout.splitlines()[-1])
    assert sorted(message.body.decode() for message in stored) == [f"body{number}" for number in (0, 1, 2, 3, 4, 5, 7)]
    assert seen["got"] == [[f"body{number}", "tagA", f"k{number}", str(number)] for number in (1, 3, 5, 7)]
    assert all(status == 0 for status, _, _ in seen["sent"])
    assert {msg_id for _, msg_id, _ in seen["sent"]} <= {message.unique_id for message in stored}
