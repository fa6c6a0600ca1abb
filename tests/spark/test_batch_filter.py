"""The audit's filter of whole batches and the sweep's reduced broker decide as the one `Filter`, value by value."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

import pyarrow as pa

from rmqlab.filter.filter import Filter
from rmqlab.spark.audit.batch import Batch, BatchFilter
from rmqlab.spark.files.commit_log_files import PROPERTY_PREFIX
from rmqlab.spark.sweeps import reduced_group

TAGS = ["AaAa", "BBBB", "TagA", "五", "", None]
PRICES = ["6", "5", "5.5", "x", None]
ROWS = [(tag, price) for tag in TAGS for price in PRICES]


def batch():
    tags = pa.array([tag for tag, _ in ROWS], pa.string()).dictionary_encode()
    numbers = pa.array(range(len(ROWS)), pa.int64())
    rows = pa.record_batch({
        "queueId": numbers, "queueOffset": numbers, "storeTimestamp": numbers, "tags": tags.cast(pa.string()),
        "keys": pa.nulls(len(ROWS), pa.string()), f"{PROPERTY_PREFIX}a": pa.array([price for _, price in ROWS]),
    })  # fmt: skip
    return Batch(rows, tags, np.arange(len(ROWS)))


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("*", "TAG"), ("AaAa", "TAG"), ("TagA || 五", "TAG"), (" || ", "TAG"), ("a > 5", "SQL92"), ("a >", "SQL92"),
        ("TAGS = 'BBBB' OR a IS NULL", "SQL92"), ("a > 5", "sql92"),
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


@pytest.mark.parametrize(("members", "shared"), [(2, 0), (3, 2)])
def test_the_reduced_broker_answers_a_pull_as_the_filter(members, shared):
    names = [f"tag{number}" for number in range(members + shared)]
    asked = [Filter.of("T", " || ".join([names[who], *names[members:]]), "TAG") for who in range(members)]
    counted = (reduced_group._DELIVERED, reduced_group._BY_BROKER, reduced_group._BY_CLIENT)
    fates = dict(zip((None, "tags_code", "client"), counted, strict=True))
    for slot in range(members):
        for owner in range(members):
            for tag, name in enumerate(names):
                run, waiting = np.zeros(9, np.int64), np.zeros((1, len(names)), np.int64)
                run[reduced_group._SLOT], waiting[0, tag] = slot, 1
                reduced_group._answer(run, waiting, np.array([1 << owner]), members, 0)
                expected = fates[asked[slot].fate({"TAGS": name}, asked[owner])]
                assert [int(run[at]) for at in counted] == [int(at == expected) for at in counted], (slot, owner, name)
