"""Bytes looked at many at a time are what they are one by one."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab.spark.files.wide_bytes import (
    REACH,
    compiled,
    copy_16,
    first_mark,
    int_at,
    long_at,
    marks,
    word_at,
)
from tests.proof.log_maker import LogMaker

_READ = """
import sys
from rmqlab.spark.files.commit_log_files import log_files, log_ranges
from rmqlab.spark.files.log_reader import LogReader
from rmqlab.spark.files.record_columns import TYPES
for part in log_ranges(log_files(sys.argv[1]), 700):
    for batch in LogReader(tuple(TYPES)).read(part):
        for row in batch.to_pylist():
            print(row)
"""


@compiled
def looked_at(data, at, into):
    """Return everything there is to see at `at`."""
    copy_16(data, at, into, 3)
    found = marks(data, at, 1)
    return int_at(data, at), long_at(data, at), word_at(data, at), found, first_mark(found)


def test_every_look_is_what_the_bytes_say():
    data = np.random.default_rng(3).integers(0, 256, 400, np.uint8)
    data[::9] = 1
    data[200:300] = 2
    for at in range(320):
        into = np.zeros(24, np.uint8)
        whole = data.tobytes()[at : at + REACH]
        ones = [index for index, byte in enumerate(whole) if byte == 1]
        expected = (
            int.from_bytes(whole[:4], signed=True),
            int.from_bytes(whole[:8], signed=True),
            int.from_bytes(whole[:8], "little"),
            sum(1 << index for index in ones),
            ones[0] if ones else REACH,
        )
        assert tuple(int(one) for one in looked_at(data, at, into)) == expected
        assert into.tobytes() == bytes(3) + whole[:16] + bytes(5)


def test_without_a_compiler_the_same_rows_are_read(tmp_path):
    """NUMBA_DISABLE_JIT stands for a Python without numba: the same functions, as plain Python."""
    log = LogMaker(1500)
    for number in range(20):
        log.add(body=bytes(number), properties={"TAGS": f"t{number}", "KEYS": "k" * 5 * number, "a": "x" * number})
    log.files[0][300] ^= 0xFF
    store = str(log.write(tmp_path))

    def read(**environment):
        done = subprocess.run(
            [sys.executable, "-c", _READ, store],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    rows = read(NUMBA_DISABLE_JIT="1")
    assert rows.count("physicalOffset") >= 20
    assert rows == read()
