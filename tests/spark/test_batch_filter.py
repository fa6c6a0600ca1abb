"""The audit's filter of whole batches decides as the one `Filter`, value by value."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

import pyarrow as pa

from rmqlab.filter.filter import Filter
from rmqlab_tools.spark.audit.batch import Batch, BatchFilter, BatchNumbers
from rmqlab_tools.spark.files.commit_log_files import PROPERTY_PREFIX

TAGS = ["AaAa", "BBBB", "TagA", "五", "", None]
PRICES = ["6", "5", "5.5", "x", None]
ROWS = [(tag, price) for tag in TAGS for price in PRICES]


def batch():
    tags = pa.array([tag for tag, _ in ROWS], pa.string())
    numbers = pa.array(range(len(ROWS)), pa.int64())
    rows = pa.record_batch({
        "queueId": numbers, "queueOffset": numbers, "storeTimestamp": numbers, "tags": tags,
        f"{PROPERTY_PREFIX}KEYS": pa.nulls(len(ROWS), pa.string()),
        f"{PROPERTY_PREFIX}a": pa.array([price for _, price in ROWS]),
    })  # fmt: skip
    return Batch(BatchNumbers(rows), np.arange(len(ROWS)))


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("*", "TAG"), ("AaAa", "TAG"), ("TagA || 五", "TAG"), (" || ", "TAG"), ("a > 5", "SQL92"), ("a >", "SQL92"),
        ("TAGS = 'BBBB' OR a IS NULL", "SQL92"), ("a > 5", "sql92"),
        ("KEYS IS NULL AND a > 5", "SQL92"),
    ],
)  # fmt: skip
def test_a_batch_is_filtered_as_each_of_its_messages(expression, kind):
    one, many, rows = Filter.of("T", expression, kind), BatchFilter("T", kind, expression), batch()
    properties = [{k: v for k, v in (("TAGS", tag), ("a", price)) if v is not None} for tag, price in ROWS]
    assert many.wants(rows).tolist() == [one.wants(each) for each in properties]
    codes = [one.rules.tags_code(tag) for tag, _ in ROWS]
    passed = [one.broker_passes(code, None, each) for code, each in zip(codes, properties, strict=True)]
    assert many.broker_passes(rows).tolist() == passed
    assert many.client_passes(rows).tolist() == [one.client_keeps(tag) for tag, _ in ROWS]
