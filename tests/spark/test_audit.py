"""The audit of a store directory: on the recorded set, whose events tell what was delivered, and on damaged stores."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import defaultdict

import pyarrow.parquet as pq
import pytest

from rmqlab.errors import BadInput
from rmqlab.message.topics import TRACE_TOPIC
from rmqlab.run.fates import LOSING
from rmqlab_tools.cli.cli import main
from tests.proof.log_maker import LogMaker

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.delivery_evidence import BEGUN, CONSUMED, FAILED, parse_trace, read_evidence, read_log
from rmqlab_tools.spark.audit.subscription_file import read_subscriptions
from rmqlab_tools.spark.audit.totals import resend_plan


@pytest.fixture(scope="session")
def recorded(golden, tmp_path_factory):
    """The recorded set: its store directory, and the path of its events."""
    folder, recording = tmp_path_factory.mktemp("audit"), golden / "broker-4.8.0" / "audit"
    shutil.unpack_archive(recording / "store.tar.gz", folder, filter="data")
    shutil.rmtree(folder / "store" / "index")
    return folder / "store", recording / "events.jsonl.gz"


class Truth:
    """What the events say: by group, every message sent to it and whether some member's listener got it."""

    def __init__(self, path):
        self.sent, self.consumed, self.group_of = defaultdict(dict), defaultdict(set), {}
        with gzip.open(path, "rt") as stream:
            for line in stream:
                self.take(json.loads(line))

    def take(self, event):
        scenario = event["id"]
        if event["ev"] == "scenario":
            for step in event["scenario"]["steps"]:
                if step["do"] == "start":
                    self.group_of[scenario, step["who"]] = f"{step['group']}_{scenario}"
        elif event["ev"] == "sent":
            self.sent[scenario][event["msgId"]] = event["offsetMsgId"]
        elif event["ev"] == "consume":
            self.consumed[self.group_of[scenario, event["who"]]].add(event["msgId"])

    def groups(self):
        return sorted(set(self.group_of.values()))

    def missed(self, group):
        sent = self.sent[group.partition("_")[2]]
        return {place for key, place in sent.items() if key not in self.consumed[group]}


@pytest.fixture(scope="session")
def truth(recorded):
    return Truth(recorded[1])


@pytest.fixture(scope="session")
def with_subscriptions(recorded):
    audit = Audit(None, recorded[0], AuditOptions(subscriptions=read_subscriptions(recorded[1])))
    yield audit
    audit.close()


def test_given_subscriptions_every_message_called_lost_went_undelivered(with_subscriptions, truth):
    """Half of the set's consumers wrote no trace: of theirs, offsets and subscriptions have to tell."""
    lost = 0
    for group in truth.groups():
        (one,) = with_subscriptions.summary[group].values()
        assert set(one["lost_ids"]) <= truth.missed(group)
        lost += one["lost"]
    assert lost > 680
    perhaps = [row for row in with_subscriptions.lost_table.to_pylist() if row["certainty"] == "unknown"]
    assert {row["fate"] for row in perhaps} == {"passed"}


def test_given_subscriptions_delivered_is_what_the_events_show(with_subscriptions, truth):
    for group in truth.groups():
        (one,) = with_subscriptions.summary[group].values()
        assert one["sent"] == len(truth.sent[group.partition("_")[2]])
        assert one["unknown"] == sum(one["by_certainty"].get("unknown", {}).values())
        assert 0 <= len(truth.consumed[group]) - one["delivered"] <= one["unknown"], group


def test_a_delivery_log_of_another_store_proves_nothing(recorded, tmp_path):
    """It turned eight messages of which nothing is known into `skipped_by_offset (implied)`."""
    store, _ = recorded
    log = tmp_path / "other.jsonl"
    log.write_text('{"group": "G_p-audit-000", "msgId": "ANOTHER"}\n')
    audit = Audit(None, store, AuditOptions(groups=("G_p-audit-000",), delivered=(str(log),)))
    with pytest.raises(BadInput, match="none of them is in the store: ANOTHER; is it the log of another store"):
        _ = audit.summary


def test_given_a_delivery_log_too_everything_is_what_the_events_show(recorded, truth):
    store, events = recorded
    options = AuditOptions(subscriptions=read_subscriptions(events), delivered=(str(events),))
    audit = Audit(None, store, options)
    for group in truth.groups():
        (one,) = audit.summary[group].values()
        assert one["delivered"] == len(truth.consumed[group]), group
        assert set(one["lost_ids"]) <= truth.missed(group), group
        assert one["lost"] == len(one["lost_ids"]) == len(set(one["lost_ids"]))
        assert sum(one["by_fate"].values()) == one["sent"]
        unasked = sum(
            row["messages"]
            for row in audit.counts.to_pylist()
            if row["group"] == group and row["asked"] == "no" and row["fate"] in set(map(str, LOSING))
        )
        assert one["lost"] + unasked == len(truth.missed(group))
        assert one["unknown"] == one["may_be_lost"] == 0
    audit.close()


def test_with_the_store_alone_only_what_is_known_is_called_certain(recorded, truth):
    audit = Audit(None, recorded[0], AuditOptions(groups=("G_p-audit-004", "H_p-audit-004")))
    for group in ("G_p-audit-004", "H_p-audit-004"):
        (one,) = audit.summary[group].values()
        # One consumer, and it wrote a trace. Nobody says what it asked for, so nothing says that the rest is lost.
        assert one["delivered"] == len(truth.consumed[group])
        assert (one["lost"], one["lost_ids"]) == (0, [])
        assert one["may_be_lost"] == one["unknown"] == len(truth.missed(group))
        rows = [row for row in audit.lost_table.to_pylist() if row["group"] == group]
        assert {row["offsetMsgId"] for row in rows} == truth.missed(group)
    audit.close()


def test_one_group_asked_for_is_told_what_the_others_of_its_topic_got(recorded, with_subscriptions):
    """Who else got a message decides how many duplicates sending it again would make."""
    lost = with_subscriptions.lost_table.to_pylist()
    group = next(row["group"] for row in lost if row["elsewhere"])
    options = AuditOptions(groups=(group,), subscriptions=read_subscriptions(recorded[1]))
    audit = Audit(None, recorded[0], options)
    assert audit.lost_table.to_pylist() == [row for row in lost if row["group"] == group]
    assert set(audit.summary) == {group}
    assert set(audit.counts["group"].to_pylist()) == {group}
    audit.close()


def test_the_result_does_not_depend_on_the_number_of_tasks(recorded, with_subscriptions):
    options = AuditOptions(subscriptions=read_subscriptions(recorded[1]), split_bytes=100_000)
    audit = Audit(None, recorded[0], options)
    assert audit.counts.equals(with_subscriptions.counts)
    assert audit.lost_table.equals(with_subscriptions.lost_table)
    audit.close()


def test_the_resend_plan_names_every_lost_message_and_who_gets_it_twice(with_subscriptions):
    plan = resend_plan(with_subscriptions.lost_table)
    lost = with_subscriptions.summary
    for entry in plan:
        one = lost[entry["group"]][entry["topic"]]
        assert entry["messages"] == one["lost_ids"]
        assert len(entry["perhaps"]) == one["may_be_lost"]
        assert entry["to_retry_topic"] == {"topic": f"%RETRY%{entry['group']}", "duplicates": 0}
    both = [one for one in plan if one["topic"] == "T_p-audit-000"]
    # Group H got some of what group G lost.
    assert both[0]["group"] == "G_p-audit-000"
    assert 0 < both[0]["to_topic"]["duplicates"] <= len(both[0]["messages"])


def store_of(folder, tags, committed, **config):
    log = LogMaker(4096)
    for number, tag in enumerate(tags):
        log.add(queue_offset=number, properties={"TAGS": tag} if tag else {}, stored=60_000 * number)
    log.write(folder)
    (folder / "config").mkdir()
    (folder / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": {"T@G": {"0": committed}}}))
    return log


def subscriptions(folder, *lines):
    path = folder / "subscriptions.jsonl"
    path.write_text("".join(json.dumps({"group": "G", "topic": "T", **line}) + "\n" for line in lines))
    return read_subscriptions(path)


def test_a_store_without_a_trace_is_judged_by_subscriptions(tmp_path):
    store_of(tmp_path, ["tagA", "tagB", None, "tagA", "tagB", "tagB"], 5)
    given = subscriptions(
        tmp_path,
        {"expr": "tagA"},
        {"expr": "tagB"},
        {"expr": "tagA", "held": True},
        {"expr": "tagB", "held": True, "from": 150_000},
    )
    one = Audit(None, tmp_path, AuditOptions(subscriptions=given)).summary["G"]["T"]
    # What passed the broker met one of two members, and nothing says which; nobody asked for the one without a tag.
    # The second may have waited for the broker's second subscription: no line says who was there.
    assert one["by_certainty"] == {
        "implied": {"dropped_by_broker_tag": 2},
        "unknown": {"passed": 3, "waiting": 1},
    }
    assert (one["sent"], one["delivered"], one["lost"], one["unknown"], one["may_be_lost"]) == (6, 0, 1, 4, 3)
    assert one["lost_by_tag"] == {"tagA": 1}
    assert one["unknown_because"] == {
        "nobody knows who owned the queue, or what that member asked for": 3,
        "no committed offset is past it: it may have been consumed all the same": 1,
    }
    assert one["asked_for"] == ["tagA", "tagB"]


def test_a_message_that_was_sent_back_says_nothing_of_those_that_were_not(tmp_path):
    """A group without a trace, and a single failure in it: what went well left no record."""
    log = LogMaker(4096)
    for number in range(4):
        log.add(queue_offset=number, properties={"TAGS": "tagA", "UNIQ_KEY": f"M{number}"}, stored=60_000 * number)
    log.add(topic="%RETRY%G", properties={"TAGS": "tagA", "UNIQ_KEY": "M1"}, stored=300_000)
    log.write(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "consumerOffset.json").write_text('{"offsetTable": {"T@G": {"0": 4}}}')
    (tmp_path / "consumequeue" / "%RETRY%G").mkdir(parents=True)
    audit = Audit(None, tmp_path, AuditOptions(subscriptions=subscriptions(tmp_path, {"expr": "tagA"})))
    one = audit.summary["G"]["T"]
    assert one["by_fate"] == {"delivered": 3, "retrying": 1}
    assert one["lost"] == 0
    audit.close()
    (part,) = audit.stores[0].ranges
    topics = ("%RETRY%G",)
    for committed, rank in ((0, FAILED), (1, BEGUN)):
        # Once the group has consumed its retry topic to there, the message is not to be retried any more.
        (told,) = read_evidence([part], topics, TRACE_TOPIC, {("%RETRY%G", 0): committed})
        assert told.to_pylist() == [{"group": "G", "key": "M1", "rank": rank, "client": None}]


def test_what_a_trace_does_not_name_is_likely_lost_and_not_certainly(tmp_path):
    """Not every consumer writes a trace, and queues change hands: a real one got what another's trace did not name."""
    log = LogMaker(4096)
    for number in range(3):
        log.add(queue_offset=number, properties={"TAGS": "tagA", "UNIQ_KEY": f"M{number}"}, stored=60_000 * number)
    told = "".join(
        f"SubBefore\x01{at}\x01null\x01G\x01R\x01{key}\x010\x01k\x01c\x02SubAfter\x01R\x01{key}\x013\x01true\x01k\x010\x02"
        for key, at in (("M0", 1_000), ("M2", 121_000))
    )
    log.add(topic=TRACE_TOPIC, body=told.encode(), stored=130_000)
    log.write(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "consumerOffset.json").write_text('{"offsetTable": {"T@G": {"0": 3}}}')
    (tmp_path / "consumequeue" / TRACE_TOPIC).mkdir(parents=True)
    audit = Audit(None, tmp_path, AuditOptions(subscriptions=subscriptions(tmp_path, {"expr": "tagA"})))
    one = audit.summary["G"]["T"]
    assert one["by_certainty"] == {"proved": {"delivered": 2}, "unknown": {"passed": 1}}
    assert one["unknown_because"] == {"the subscription lets it pass, and the evidence names no delivery": 1}
    assert one["lost_ids"] == []
    assert audit.groups_with_evidence == {"G": ("c",)}
    audit.close()


def test_flipped_bytes_and_a_cut_tail_are_told_and_the_rest_is_audited(tmp_path):
    log = store_of(tmp_path, ["tagA"] * 40, 40)
    path = min((tmp_path / "commitlog").iterdir())
    data = bytearray(path.read_bytes())
    data[log.offsets[3] + 4] ^= 0xFF
    data[log.offsets[5] + 90] ^= 0xFF
    path.write_bytes(data)
    last = max((tmp_path / "commitlog").iterdir())
    last.write_bytes(last.read_bytes()[: log.offsets[-1] % 4096 + 50])
    audit = Audit(None, tmp_path, AuditOptions(subscriptions=subscriptions(tmp_path, {"expr": "*"})))
    assert [one["physicalOffset"] for one in audit.damage] == [log.offsets[3], log.offsets[5], log.offsets[-1]]
    one = audit.summary["G"]["T"]
    assert (one["sent"], one["delivered"], one["lost"]) == (38, 38, 0)


def test_only_messages_of_a_time_window(tmp_path):
    store_of(tmp_path, ["tagA"] * 10, 10)
    audit = Audit(None, tmp_path, AuditOptions(since=120_000, until=300_000))
    assert audit.summary["G"]["T"]["sent"] == 4


def test_the_verb_reads_a_recorded_set_and_writes_tables_and_plan(recorded, tmp_path, capsys):
    found = tmp_path / "found.json"
    folder = str(recorded[1].parent)
    assert (
        main(["audit", folder, "--group", "G_p-audit-006", "--out", str(tmp_path / "out"), "--json", str(found)]) == 3
    )
    one = json.loads(found.read_text())["groups"]["G_p-audit-006"]["T_p-audit-006"]
    assert (one["sent"], one["delivered"], one["lost"]) == (340, 61, 279)
    assert pq.read_table(tmp_path / "out" / "lost.parquet").num_rows == 279
    assert json.loads((tmp_path / "out" / "resend.json").read_text())[0]["messages"] == one["lost_ids"]
    assert "Lost messages: 279, in 1 of the groups and topics (1)" in (tmp_path / "out" / "index.html").read_text()
    assert "279 dropped by the broker" in capsys.readouterr().out


def test_the_verb_says_0_where_nothing_was_lost_and_2_for_what_is_no_store(tmp_path, capsys):
    store_of(tmp_path, ["tagA"] * 3, 3)
    (tmp_path / "s.jsonl").write_text('{"group": "G", "topic": "T", "expr": "tagA"}')
    assert main(["audit", str(tmp_path), "--subscriptions", str(tmp_path / "s.jsonl")]) == 0
    assert main(["audit", str(tmp_path)]) == 4
    assert "3 passed: nothing else is known (unknown)" in capsys.readouterr().out
    assert main(["audit", str(tmp_path / "config")]) == 2
    assert main(["audit", str(tmp_path), "--from", "yesterday"]) == 2
    errors = capsys.readouterr().err
    assert "no store directory" in errors
    assert "time 'yesterday'" in errors


def test_a_recording_tells_of_groups_that_got_nothing(tmp_path):
    lines = [
        {"id": "1", "ev": "scenario", "scenario": {"steps": [{"do": "start", "who": "A", "group": "G"}]}},
        {"id": "1", "ev": "consume", "who": "B", "msgId": "M", "t": 1},
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (batch,) = read_log(path)
    assert batch.select(["group", "key", "rank"]).to_pylist() == [{"group": "G_1", "key": "", "rank": 0}]


def test_trace_entries():
    text = (
        "SubBefore\x011000\x01null\x01G\x01R1\x01M1\x010\x01k\x01h@c\x02SubAfter\x01R1\x01M1\x013\x01true\x01k\x010\x011003\x01G\x02"
        "SubAfter\x01R1\x01M2\x013\x01false\x01k\x010\x02Pub\x011\x02"
    )
    assert parse_trace(text) == [
        ("G", "M1", BEGUN, "h@c"),
        ("G", "M1", CONSUMED, None),
        ("G", "M2", FAILED, None),
    ]


def test_a_file_of_subscriptions_that_is_wrong_names_the_line(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text('{"group": "G", "topic": "T", "expr": "*"}\n{"group": "G"}\n')
    with pytest.raises(BadInput, match=r"s\.jsonl, line 2.*right would be"):
        read_subscriptions(path)
