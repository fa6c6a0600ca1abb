"""What an audit is given besides the store: subscriptions and deliveries in each form, and offsets set by hand."""

from __future__ import annotations

import gzip
import json

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab.errors import BadInput
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab_tools.spark.audit import log_extent
from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.delivery_evidence import read_log
from rmqlab_tools.spark.audit.scan import DETAIL, Scan
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.files.commit_log_files import LogFile, log_files, log_ranges
from tests.proof.log_maker import LogMaker


def written(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def judged(store, subscriptions):
    """Fate, certainty and reason of every message, in order; no Spark is needed for it."""
    audit = Audit(None, store, AuditOptions(subscriptions=subscriptions))
    scan = Scan(
        audit.stores[0].inferences(audit.cluster),
        LONG_MIN,
        LONG_MAX,
        check_crc=False,
        end=audit.stores[0].end,
        each_message=True,
    )
    batches = list(scan.run(log_ranges(log_files(store), 1 << 40)))
    rows = [row for batch in batches for row in batch.to_pylist() if row["kind"] == DETAIL]
    return [(row["fate"], row["certainty"], row["reason"]) for row in rows]


GROUP = {"group": "G", "topic": "T"}
AWAY = (
    {**GROUP, "expr": "tagA"},
    {"group": "G", "clients": ["A"], "from": 0},
    {"group": "G", "clients": [], "from": 200_000},
    {"group": "G", "clients": ["A"], "from": 400_000},
)


@pytest.fixture
def store(tmp_path):
    """Messages at 100, 250 and 450 s, all behind the committed offset; tagB in between."""
    log = LogMaker(4096)
    for number, (at, tag) in enumerate([(100, "tagA"), (250, "tagA"), (250, "tagB"), (450, "tagA")]):
        log.add(queue_offset=number, properties={"TAGS": tag}, stored=at * 1000)
    log.write(tmp_path / "store")
    (tmp_path / "store" / "config").mkdir()
    written(tmp_path / "store" / "config" / "consumerOffset.json", {"offsetTable": {"T@G": {"0": 4}}})
    return tmp_path / "store"


def test_offsets_set_by_hand_leave_open_what_nobody_had_looked_at(store, tmp_path):
    """A group was away, its offsets were set to a place further on, it came back: real 4.8.0 clients got none of it.

    The store tells nothing of it: only who says so learns that a delivery is not certain.
    """
    delivered, dropped = ("delivered", "implied", None), ("dropped_by_broker_tag", "implied", None)
    quiet = read_subscriptions(written(tmp_path / "quiet.jsonl", *AWAY))
    assert judged(store, quiet) == [delivered, delivered, dropped, delivered]
    told = read_subscriptions(written(tmp_path / "told.jsonl", *AWAY, {**GROUP, "reset": 300_000}))
    passed = ("passed", "unknown", "the group's offsets were set by hand: it may have been passed")
    # The first was looked at before, the last was stored after.
    assert judged(store, told) == [delivered, passed, dropped, delivered]
    alone = read_subscriptions(written(tmp_path / "alone.jsonl", AWAY[0], {**GROUP, "reset": 300_000}))
    assert judged(store, alone) == [passed, passed, dropped, delivered]


LATE = "stored before the group was seen, or nobody knows when that was: it may have begun behind it"


def test_a_new_group_begins_with_the_first_message_while_the_broker_has_that_in_memory(store, tmp_path, monkeypatch):
    """Real groups that were started late got everything of a small log, and of one not in memory the later part only.

    That was so with `consumeFromWhere` first, last and timestamp alike, as long as nothing was deleted.
    """
    late = {"group": "G", "clients": ["A"], "from": 300_000}
    seen = read_subscriptions(written(tmp_path / "seen.jsonl", AWAY[0], late))
    unseen = read_subscriptions(written(tmp_path / "unseen.jsonl", AWAY[0]))
    delivered, dropped = ("delivered", "implied", None), ("dropped_by_broker_tag", "implied", None)
    assert judged(store, seen) == judged(store, unseen) == [delivered, delivered, dropped, delivered]
    monkeypatch.setattr(log_extent, "MEMORY", 100)
    perhaps = ("passed", "unknown", LATE)
    assert judged(store, seen) == [perhaps, perhaps, dropped, delivered]
    assert judged(store, unseen) == [perhaps, perhaps, dropped, perhaps]


def test_what_was_deleted_and_what_is_not_written_yet(tmp_path):
    limit = log_extent.MEMORY * log_extent.IN_MEMORY_PERCENT // 100

    def files(*found):
        return [LogFile(str(path), base, path.stat().st_size, base + 1, last) for path, base, last in found]

    log = tmp_path / "log"
    with log.open("wb") as stream:
        stream.write(b"message")
        stream.truncate(limit + 1)
    assert log_extent.begins_at_first(files((log, 0, True)))
    assert not log_extent.begins_at_first(files((log, 1 << 20, True)))
    assert not log_extent.begins_at_first(files((log, 0, False), (log, limit + 1, True)))
    with log.open("r+b") as stream:
        stream.seek(limit)
        stream.write(b"m")
    assert not log_extent.begins_at_first(files((log, 0, True)))
    assert log_extent.begins_at_first(files((log, 0, True)), 41)
    assert not log_extent.begins_at_first([])


def scenario(**more):
    steps = [
        {"at": 0, "do": "start", "who": "A", "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "tagA"}}},
        {"at": 500, "do": "subscribe", "who": "A", "topic": "T", "type": "SQL92", "expr": "a > 3"},
        {"at": 900, "do": "resetOffset", "group": "G", "topic": "T", "to": -1},
    ]
    whole = {"id": "s-1", "topics": {"T": 4}, "steps": steps}
    return [
        {"t": 0, "ev": "scenario", "scenario": whole, "epochMs": 10_000, **more},
        {"t": 100, "ev": "starting", "who": "A", **more},
        {"t": 120, "ev": "consume", "who": "A", "msgId": "M1", **more},
    ]


def test_events_lie_in_one_file_or_in_one_for_each_scenario(tmp_path):
    (tmp_path / "events").mkdir()
    written(tmp_path / "events" / "s-1.jsonl", *scenario())
    whole = tmp_path / "events.jsonl.gz"
    with gzip.open(whole, "wt") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in scenario(id="s-1"))
    found = read_subscriptions(tmp_path / "events")
    assert found == read_subscriptions(whole) == read_subscriptions(tmp_path / "events" / "s-1.jsonl")
    key = "G_s-1", "T_s-1"
    assert [(one.type, one.expression, one.until) for one in found.client_subscriptions[key]] == [
        ("TAG", "tagA", 10_600),
        ("SQL92", "a > 3", 1 << 62),
    ]
    assert found.reset == {key: (11_000,)}
    (one,) = read_log(tmp_path / "events")
    assert one.select(["group", "key"]).to_pylist()[0] == {"group": "G_s-1", "key": "M1"}


def test_what_a_member_registers_for_a_moment_may_have_met_a_message(store, tmp_path):
    """A real client that asked for `*` joined, and took what the group's slot, as it was seen, would have dropped."""
    given = (
        {**GROUP, "expr": "tagA", "client": "A"},
        {**GROUP, "expr": "*", "client": "B"},
        {**GROUP, "expr": "tagA", "held": True, "from": 0},
        {"group": "G", "clients": ["A"], "from": 0},
        {"group": "G", "clients": ["A", "B"], "from": 260_000},
    )
    rows = judged(store, read_subscriptions(written(tmp_path / "given.jsonl", *given)))
    assert rows[2][:2] == ("passed", "unknown")
    early = (*given[:4], {**given[4], "from": 290_000})
    rows = judged(store, read_subscriptions(written(tmp_path / "early.jsonl", *early)))
    assert rows[2] == ("dropped_by_broker_tag", "implied", None)


def test_after_the_last_event_nobody_looked(tmp_path):
    """At the end of a recording its members leave one after the other, and each takes over what another left."""
    seen = {"ev": "broker", "group": "G", "view": {"clients": ["h@A"], "subs": {"T": "TAG:tagA@1"}}}
    lines = [{**line, "id": "s-1"} for line in (*scenario(), {"t": 150, **seen}, {"t": 9_000, "ev": "offset"})]
    found = read_subscriptions(written(tmp_path / "events.jsonl", *lines))
    moments = [(one.since, one.clients) for one in found.present["G_s-1"]]
    assert moments == [(10_150, ("h@A_s-1",)), (19_000, ())]


def test_scenarios_tell_who_asked_for_what_and_not_when(tmp_path):
    steps = scenario()[0]["scenario"]["steps"]
    found = read_subscriptions(written(tmp_path / "scenarios.jsonl", {"id": "s-1", "topics": {"T": 4}, "steps": steps}))
    key, never = ("G_s-1", "T_s-1"), 1 << 62
    assert [(one.expression, one.until) for one in found.client_subscriptions[key]] == [
        ("tagA", never),
        ("a > 3", never),
    ]
    assert found.reset == {key: (never,)}
    assert key in found.complete


@pytest.mark.parametrize(
    "line",
    [
        {"group": "G", "topic": "T", "expr": "a", "type": "REGEX"},
        {"group": "G", "topic": "T", "reset": "soon"},
        {"group": "G", "clients": 7},
        {"group": ["G"], "clients": ["A"]},
        {"ev": "starting", "t": "x"},
        {"ev": "scenario", "scenario": {"steps": [{"do": "start"}]}},
        [1],
    ],
)
def test_a_wrong_line_of_subscriptions_is_named(tmp_path, line):
    first = scenario(id="s-1")[0] if "ev" in line else {**GROUP, "expr": "*"}
    path = written(tmp_path / "given.jsonl", first, line)
    with pytest.raises(BadInput, match=r"given\.jsonl, line 2"):
        read_subscriptions(path)


@pytest.mark.parametrize("line", [{"group": "G"}, {"msgId": "M"}, {"ev": "consume"}])
def test_a_wrong_line_of_deliveries_is_named(tmp_path, line):
    path = written(tmp_path / "log.jsonl", {"group": "G", "msgId": "M0"}, line)
    with pytest.raises(BadInput, match=r"log\.jsonl, line 2"):
        list(read_log(path))


def test_a_folder_without_events_is_no_log(tmp_path):
    with pytest.raises(BadInput, match=r"a folder without \*\.jsonl"):
        read_subscriptions(tmp_path)
