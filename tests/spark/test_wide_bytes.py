"""Bytes looked at many at a time are what they are one by one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab_tools.spark.files.wide_bytes import (
    REACH,
    compiled,
    copy_16,
    first_mark,
    int_at,
    long_at,
    marks,
    word_at,
)


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
