"""TAG as Spark columns: recorded answers of broker and client, and the rules of `rmqlab.filter.filter` on any tag."""

from __future__ import annotations

import json

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")
pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

# ruff: noqa: E402 - the modules below need what was looked for above

from pyspark.sql import functions as F  # noqa: N812

from rmqlab.filter.filter import match_in_two_layers
from rmqlab.message.java import string_hash
from rmqlab.message.properties import string_to_properties
from rmqlab.protocol.subscription_data import build_subscription_data
from rmqlab_tools.spark.filters.subscription_columns import client_keeps, wants
from tests.proof.agree.adversarial import row
from tests.proof.agree.spark_columns import broker_keeps


def subscribe(text, *, class_filter=False):
    data = build_subscription_data("G", "T", text)
    data.class_filter_mode = class_filter
    return data


def recorded(golden, kind):
    lines = (golden / "vectors" / "tags.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["kind"] == kind]


def storable(text):
    return text is None or not any("\ud800" <= char <= "\udfff" for char in text)


def frame_of(spark, tags, codes):
    return spark.createDataFrame(pa.table({"tag": pa.array(tags, pa.string()), "code": pa.array(codes, pa.int64())}))


@pytest.mark.row("F-53", "F-56", "F-58", "F-95")
def test_recorded_answers_of_broker_and_client(spark, golden):
    cases = [case for case in recorded(golden, "match") if storable(case["tag"])]
    wrong = []
    for key in dict.fromkeys((case["subString"], bool(case["classFilterMode"])) for case in cases):
        some = [case for case in cases if (case["subString"], bool(case["classFilterMode"])) == key]
        subscription = subscribe(key[0], class_filter=key[1])
        frame = frame_of(spark, [case["tag"] for case in some], [case["tagsCode"] for case in some])
        told = frame.select(
            broker_keeps(subscription, F.col("code")).alias("broker"),
            client_keeps(subscription, F.col("tag")).alias("client"),
        ).toArrow()
        for case, broker, client in zip(some, told["broker"].to_pylist(), told["client"].to_pylist(), strict=True):
            if (broker, client) != (case["by_consume_queue"], case["by_client"]):
                wrong.append((case["case"], broker, client))
    assert wrong == []
    assert len(cases) > 100


@pytest.mark.row("F-51", "F-52", "F-53")
@pytest.mark.parametrize("text", ["Aa || AaAa", "TagA||TagB", "*", "五", "5", "\U0001d7d8 || é"])
@pytest.mark.parametrize("class_filter", [False, True])
def test_both_steps_on_odd_tags(spark, text, class_filter):
    subscription = subscribe(text, class_filter=class_filter)
    tags = ["BB", "BBBB", "AaBB", "Aa", "", None, *(string_to_properties(row(at, 3)).get("TAGS") for at in range(300))]
    frame = frame_of(spark, tags, [0 if tag is None else string_hash(tag) for tag in tags])
    told = frame.select(
        broker_keeps(subscription, F.col("code")).alias("broker"),
        client_keeps(subscription, F.col("tag")).alias("client"),
        (F.lit(False) if class_filter else wants(text, tags="tag")).alias("wanted"),
    ).toArrow()
    for tag, one in zip(tags, told.to_pylist(), strict=True):
        steps = match_in_two_layers(subscription, tag)
        wanted = not class_filter and steps.delivered
        expected = {"broker": steps.broker, "client": steps.client, "wanted": wanted}
        assert one == expected, tag


def test_a_code_that_could_not_be_read_passes(spark):
    told = frame_of(spark, ["a"], [None]).select(broker_keeps(subscribe("TagA"), F.col("code")).alias("kept")).toArrow()
    assert told["kept"].to_pylist() == [True]
