"""Cut, reordered, mixed and garbled evidence: never a traceback, never a claim on what was not recognised."""

from __future__ import annotations

import json

from hypothesis import assume, given
from hypothesis import strategies as st

from rmqlab import BadInput, explain
from rmqlab_tools.doctor.evidence.door import _is_file, _of_data
from rmqlab_tools.doctor.evidence.report import Evidence
from rmqlab_tools.doctor.evidence.sections import sections
from tests.doctor.test_evidence import (
    CONNECTION,
    OFFSETS,
    PRINTED_4_6,
    PRINTED_4_8,
    PRINTED_5,
    PROGRESS_5,
    RUNNING,
    connection,
    heartbeat,
)

SAMPLES = {
    "consumer_connection": (CONNECTION, PRINTED_4_6, PRINTED_5, PRINTED_4_8, connection("1@A", "1@B")),
    "running_info": (RUNNING,),
    "heartbeat": (heartbeat("1@A", "tagA"), heartbeat("1@B", "a > 3", kind="SQL92")),
    "consume_stats": (PROGRESS_5,),
    "consumer_offsets": (OFFSETS,),
    "settings": ("brokerName=broker-a\nenablePropertyFilter=true",),
    "topic_route": (
        '{"brokerDatas":[{"brokerAddrs":{0:"h:1"},"brokerName":"b"}],"queueDatas":[{"brokerName":"b","perm":6}]}',
    ),
    "message": ("OffsetID:   7F\nTopic:      T1\nTags:       [tagA]\nQueue ID:   0\nQueue Offset:  4",),
}
EVERY = [(kind, text) for kind, texts in SAMPLES.items() for text in texts]
FILLING = "2021-09-05 10:30:00 WARN t - nobody knows this line"


def told(evidence):
    """Everything that is said, in each way; the groups that it speaks of."""
    json.dumps(evidence.as_json())
    assert str(evidence)
    assert evidence.status in {0, 3, 4}
    return {group.name for group in evidence.groups}


def explained(*texts):
    try:
        return explain(*texts)
    except BadInput:
        return None


@given(st.lists(st.sampled_from(EVERY), min_size=1, max_size=6))
def test_in_any_order_and_mixed_with_a_log_all_is_recognised(chosen):
    text = f"\n{FILLING}\n".join(["", *(sample for _, sample in chosen), ""])
    found = sections(text, "mixed")
    assert [piece.kind for piece in found.pieces] == [kind for kind, _ in chosen]
    assert {line for line in found.rest if line.strip()} == {FILLING}
    told(explain(text))


@given(st.sampled_from(EVERY), st.data())
def test_what_is_cut_anywhere_is_what_it_was_or_is_not_known(sample, data):
    kind, text = sample
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, len(text)))
    found = explained(text[begin:end])
    if found is None:
        return
    groups = told(found)
    if begin == 0:
        assert {piece.kind for piece in found.pieces} <= {kind, "unknown", "subscription"}
    if not any(piece.kind != "unknown" and not piece.damaged for piece in found.pieces):
        assert groups == set()


@given(st.lists(st.sampled_from(EVERY), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_lines_in_any_order_end_in_no_traceback(chosen, chance):
    lines = "\n".join(sample for _, sample in chosen).split("\n")
    chance.shuffle(lines)
    found = explained("\n".join(lines))
    if found is not None:
        told(found)


@given(st.text(max_size=200))
def test_any_text_is_read_and_nothing_is_claimed_of_a_group(text):
    assume(not _is_file(text))
    found = explained(text)
    if found is not None and not found.pieces:
        assert told(found) == set()


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data):
    told(Evidence((_of_data(data, "bytes"),)))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
NAMES = st.sampled_from([
    "offsetTable", "connectionSet", "subscriptionTable", "mqTable", "properties", "subscriptionSet", "consumerDataSet",
    "clientID", "groupName", "members", "steps", "topicConfigTable", "subscriptionGroupTable", "filterDataByTopic",
    "queueDatas", "brokerDatas", "table", "namesrv", "at", "data", "status", "errMsg", "topic", "subString", "T@G", "0",
    "consumerOffset", "brokerOffset", "maxOffset", "consumerIdList", "subscribe", "client", "queueStatInfoList",
    "diffTotal", "group", "brokerAddrTable", "topicList", "subscriptionDataSet", "messageModel", "consumeType",
])  # fmt: skip
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4))


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_json_with_the_names_of_bodies_and_any_values_ends_in_no_traceback(value):
    told(explain(value))
    found = explained(json.dumps(value))
    if found is not None:
        told(found)
