"""The order of requests of the real client, out of the recorded frames, beside the order of ours."""

from __future__ import annotations

import gzip
import json

import pytest

from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.live.wire.frame_codec import decode_frame

SCENARIO = "p-article-000"
REBALANCE = {
    RequestCode.HEART_BEAT, RequestCode.GET_CONSUMER_LIST_BY_GROUP, RequestCode.QUERY_CONSUMER_OFFSET,
}  # fmt: skip
COMMIT, PULL = RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.PULL_MESSAGE


@pytest.fixture(scope="module")
def recorded(golden):
    """{client: [(ms, code, ext fields)]} of what A and B sent in the recorded scenario."""
    lines = []
    with gzip.open(golden / "broker-4.8.0" / "base" / "frames.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    clients = {line["conn"]: line["client"] for line in lines if "client" in line}
    sent = {}
    for line in lines:
        client = clients.get(line.get("conn"), "").partition("@")[2]
        if client.endswith("_" + SCENARIO) and line.get("dir") == "c2s" and "frame" in line:
            command = decode_frame(bytes.fromhex(line["frame"])[4:])
            sent.setdefault(client[0], []).append((line["t"], command.code, dict(command.ext_fields or {})))
    return sent


@pytest.fixture(scope="module")
def ours(make_world):
    """The same of our own two clients."""
    world = make_world()
    topic, group = f"T_{SCENARIO}", f"G_{SCENARIO}"
    world.topic(topic)
    for who, tag, after in (("A", "tagA", 2_000), ("B", "tagB", 34_000)):
        consumer = world.consumer(f"{who}_{SCENARIO}", group)
        world.do(consumer.subscribe(topic, tag))
        # as recorded: the name server learns of the retry topic only after the first round of A's rebalancing, and the
        # notification and the end of the start, a millisecond apart, wake the thread twice
        world.namesrv.hidden.add(f"%RETRY%{group}" if who == "A" else "")
        world.do(consumer.start())
        world.run(100)
        world.namesrv.hidden.clear()
        consumer.instance.rebalance_service.wakeup()
        world.run(after - 100)
    return {
        who: [(t, c.code, c.header.to_ext_fields() if c.header else {}) for t, c in world.requests(f"{who}_{SCENARIO}")]
        for who in "AB"
    }


def queue_of(fields):
    return fields.get("topic", "")[:1].replace("%", "retry"), fields.get("queueId")


def rebalance_thread(sent, until):
    """Codes and queues of the rebalancing thread up to a time after the client's first request."""
    begin = sent[0][0]
    return [(code, *queue_of(fields)) for t, code, fields in sent if code in REBALANCE and t - begin < until]


@pytest.mark.row("S-84")
def test_a_starting_client_asks_in_the_recorded_order(recorded, ours):
    real, own = (rebalance_thread(sent["A"], 900) for sent in (recorded, ours))
    offsets = [entry for entry in real if entry[0] == RequestCode.QUERY_CONSUMER_OFFSET]
    assert offsets == [(14, "T", "1"), (14, "T", "0"), (14, "T", "3"), (14, "T", "2")]
    assert real[:7] == own[:7]
    first = [[queue_of(f) for _, code, f in sent["A"] if code == PULL][:4] for sent in (recorded, ours)]
    assert first[0] == first[1]


@pytest.mark.row("S-84")
def test_the_client_that_joins_stamps_after_its_two_questions(recorded, ours):
    real, own = (rebalance_thread(sent["B"], 90 if sent is ours else 500) for sent in (recorded, ours))
    assert [code for code, *_ in real] == [34, 38, 38, 14, 14, 34]
    assert real == own


@pytest.mark.row("S-84")
def test_the_client_that_gives_queues_up_takes_the_retry_queue_first(recorded, ours):
    for who in (recorded, ours):
        begin = who["B"][0][0]
        sent = [(code, *queue_of(f)) for t, code, f in who["A"] if 0 <= t - begin < 500 and code != PULL]
        assert sent == [
            (38, "", None), (14, "retry", "0"), (34, "", None),
            (38, "", None), (COMMIT, "T", "3"), (COMMIT, "T", "2"), (34, "", None),
        ]  # fmt: skip


def test_offsets_are_committed_in_the_recorded_order_every_five_seconds(recorded, ours):
    for who, queues in (("A", [("retry", "0"), ("T", "1"), ("T", "0")]), ("B", [("T", "3"), ("T", "2")])):
        for sent in (recorded, ours):
            begin = sent[who][0][0]
            commits = [(t - begin, queue_of(f)) for t, code, f in sent[who] if code == COMMIT and t - begin > 5_000]
            assert [queue for _, queue in commits[: len(queues)]] == queues
            assert commits[0][0] == pytest.approx(10_000, abs=200)
            assert commits[len(queues)][0] - commits[0][0] == pytest.approx(5_000, abs=20)


def test_a_first_pull_carries_the_recorded_fields(recorded, ours):
    real, own = (next(f for _, code, f in sent["B"] if code == PULL) for sent in (recorded, ours))
    assert {k: v for k, v in real.items() if k != "subVersion"} == {k: v for k, v in own.items() if k != "subVersion"}
