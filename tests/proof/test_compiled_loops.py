"""The loops are compiled by reading a store, in a process of their own as `./lab test` starts it."""

from __future__ import annotations

import pytest

pytest.importorskip("numba", reason="numba is not installed: ./lab test installs it")

from rmqlab_tools.spark.files.record_kernel import walk
from tests.proof.compiled_loops import compile_loops


def test_reading_a_message_compiles_the_walk():
    assert compile_loops() == 1
    assert walk.signatures
