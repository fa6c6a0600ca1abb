"""Checksums by products and by tables are the ones that zlib says, of every length."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab_tools.spark.files.body_checksums import CRC_TABLES, body_crc_of, table_crc_of
from rmqlab_tools.spark.files.wide_bytes import address_of, compiled


@compiled
def sums(data, at, lengths, tables, crcs):
    for index in range(len(lengths)):
        begin = address_of(data)
        crcs[0, index] = body_crc_of(begin, at, lengths[index], address_of(tables))
        crcs[1, index] = table_crc_of(begin, at, lengths[index], np.uint32(0xFFFFFFFF), address_of(tables))


@pytest.mark.parametrize("at", [16, 17, 31, 200])
def test_every_length_has_the_checksum_of_zlib(at):
    data = np.random.default_rng(at).integers(0, 256, 5_000, np.uint8)
    lengths = np.array([*range(400), 1_000, 4_095, 4_096, 4_700])
    crcs = np.zeros((2, len(lengths)), np.int64)
    sums(data, at, lengths, CRC_TABLES, crcs)
    expected = [zlib.crc32(data.tobytes()[at : at + length]) for length in lengths]
    assert crcs[0].tolist() == [crc & 0x7FFFFFFF for crc in expected]
    assert (crcs[1] & 0xFFFFFFFF ^ 0xFFFFFFFF).tolist() == expected
