"""The audit of groups that pop: on a store of the real 5.5.0, whose events tell what each listener got."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import defaultdict

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.run.fates import Fate
from rmqlab_tools.spark.audit.audit import Audit
from rmqlab_tools.spark.audit.audit_options import AuditOptions
from rmqlab_tools.spark.audit.fate_codes import WHY, UnknownReason
from rmqlab_tools.spark.audit.pop_log import PopState, parse_pop, read_again, retry_groups
from rmqlab_tools.spark.audit.store_version import written_by
from rmqlab_tools.spark.audit.subscription_file import of_lines
from rmqlab_tools.spark.audit.subscriptions import Subscriptions
from tests.proof.log_maker import LogMaker

GROUP, TOPIC = "G_d5-popretry-burst-023", "T_d5-popretry-burst-023"
RETRY = f"%RETRY%{GROUP}_{TOPIC}"


@pytest.fixture(scope="module")
def store(golden, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pops")
    shutil.unpack_archive(golden / "broker-5.5.0" / "pop-store" / "store.tar.gz", folder, filter="data")
    return folder / "store"


@pytest.fixture(scope="module")
def found(store):
    audited = rmqlab.audit(store)
    yield audited
    audited.close()


@pytest.fixture(scope="module")
def listeners(golden):
    """By group and message: how often a listener got it, and after how many times it is content."""
    got, content_after, sent = defaultdict(int), {}, set()
    with gzip.open(golden / "broker-5.5.0" / "pop-store" / "events.jsonl.gz", "rt") as stream:
        for event in map(json.loads, stream):
            group = f"G_{event['id']}"
            if event["ev"] == "scenario":
                starts = [step for step in event["scenario"]["steps"] if step["do"] == "start"]
                content_after[group] = max(step.get("laterTimes", 0) for step in starts)
            elif event["ev"] == "sent":
                sent.add((group, event["msgId"]))
            elif event["ev"] == "consume":
                got[group, event["msgId"]] += 1
    return got, content_after, sent


def test_what_a_group_got_is_proved_by_check_points_and_acks(found, listeners):
    """Nothing but the store is given, and each message is said to be delivered that a listener was content with."""
    got, content_after, sent = listeners
    content = {key for key, times in got.items() if times > content_after[key[0]]}
    rows = found.messages.select("group", "key", "fate", "certainty").collect()
    assert {(row["group"], row["key"]) for row in rows} == sent
    assert {(row["group"], row["key"]) for row in rows if row["fate"] == Fate.DELIVERED} == content
    assert {row["certainty"] for row in rows if row["fate"] == Fate.DELIVERED} == {"proved"}
    skipped = {(row["group"], row["key"]) for row in rows if row["fate"] == Fate.SKIPPED_BY_POP}
    assert skipped == sent - content
    assert {row["certainty"] for row in rows if row["fate"] == Fate.SKIPPED_BY_POP} == {"implied"}


def test_a_message_that_failed_and_was_passed_over_when_it_came_again_is_no_delivery(found, listeners):
    """In these groups each listener refuses a message once; a retry is popped with the popper's expression, too."""
    got, content_after, _ = listeners
    once = {key for key, times in got.items() if content_after[key[0]] and times == 1}
    fates = {(row["group"], row["key"]): row["fate"] for row in found.messages.collect()}
    assert once
    assert {fates[key] for key in once} == {Fate.SKIPPED_BY_POP}


def test_the_store_says_who_wrote_it_and_is_judged_by_that(found, store):
    assert found.version == "5.5.0"
    assert found.lines()[0].startswith("5.5.0 wrote this store: stateVersion in config/consumerOffset.json, groupTopic")
    assert found.as_json()["written_by"]["versions"] == ("5.5.0",)
    assert written_by(store).versions == ("5.5.0",)


@pytest.mark.parametrize(
    ("files", "versions"),
    [
        ({"topics.json": '{"dataVersion":{"counter":1,"timestamp":2}}'}, ()),
        ({"topics.json": '{"dataVersion":{"counter":1,"stateVersion":0}}', "consumerOffset.json": '{"offsetTable":{}}'},
         ("5.3.3",)),
        ({"topics.json": '{"dataVersion":{"stateVersion":0}}'}, ("5.3.3", "5.5.0")),
        ({"topics.json": '{"dataVersion":{"stateVersion":0'}, ()),
        ({}, ()),
    ],
)  # fmt: skip
def test_no_version_is_guessed(tmp_path, files, versions):
    (tmp_path / "config").mkdir()
    for name, text in files.items():
        (tmp_path / "config" / name).write_text(text)
    assert written_by(tmp_path).versions == versions


def test_another_version_is_said(store):
    audited = rmqlab.audit(store, groups=[GROUP], version="4.8.0")
    assert audited.lines()[1] == "It is judged by the rules of 4.8.0."
    audited.close()
    with pytest.raises(BadInput, match=r"no rules of version '5\.9\.9'; there are those of 4\.8\.0, 5\.3\.3, 5\.5\.0"):
        rmqlab.audit(store, version="5.9.9")


@pytest.mark.parametrize(("version", "lost"), [(None, 3), ("4.8.0", 0)])
def test_a_condition_has_the_words_of_the_version(store, version, lost):
    """Four have tagA, and one of them was consumed in the end; to 4.8.0, which knows no CONTAINS, nobody asked."""
    wish = {"group": GROUP, "topic": TOPIC, "type": "SQL92", "expr": "TAGS CONTAINS 'A'"}
    audited = rmqlab.audit(store, subscriptions=[wish], groups=[GROUP], version=version)
    assert audited.groups[GROUP][TOPIC]["lost"] == lost
    audited.close()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pops_in_memory": True}, UnknownReason.POPS_IN_MEMORY),
        ({"pops_in_kv": True}, UnknownReason.POPS_IN_KV),
        ({"subscriptions": "pulls"}, UnknownReason.MEMBER_PULLS),
        ({"subscriptions": "reset"}, UnknownReason.OFFSETS_SET),
    ],
)
def test_what_speaks_against_a_check_point_for_each_pop_leaves_it_unknown(store, options, reason):
    """What check points name is proved all the same."""
    nothing = Subscriptions({}, {}, frozenset(), {})
    given = {
        "pulls": nothing._replace(pulling=frozenset({GROUP}), popping=frozenset({GROUP})),
        "reset": of_lines([("", {"group": GROUP, "topic": TOPIC, "reset": 1 << 50})], ""),
    }
    options = {name: given.get(value, value) for name, value in options.items()}
    audit = Audit(None, store, AuditOptions(groups=(GROUP,), each_message=True, **options))
    rows = audit.engine.table(audit.messages).to_pylist()
    audit.close()
    assert {row["reason"] for row in rows if row["fate"] == Fate.PASSED} == {WHY[reason]}
    assert Fate.SKIPPED_BY_POP not in {row["fate"] for row in rows}
    assert sum((row["fate"], row["certainty"]) == (Fate.DELIVERED, "proved") for row in rows) == 2


def test_a_group_whose_mode_is_pop_and_that_no_check_point_names_is_unknown(tmp_path):
    """It may have pulled before, or its pops found nothing: neither rule may be applied."""
    LogMaker().add(properties={"TAGS": "tagA"}).write(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "consumerOffset.json").write_text('{"offsetTable":{"T@G":{0:1}}}')
    modes = {"T": {"G": {"topic": "T", "consumerGroup": "G", "mode": "POP", "popShareQueueNum": 0}}}
    (tmp_path / "config" / "messageRequestMode.json").write_text(json.dumps({"messageRequestModeMap": modes}))
    audited = rmqlab.audit(tmp_path, subscriptions=[{"group": "G", "topic": "T", "expr": "tagA"}])
    assert audited.groups["G"]["T"]["unknown_because"] == {WHY[UnknownReason.POP_MODE_ALONE]: 1}
    audited.close()


def pop_store(folder, messages, revive, offsets):
    """A store of group G: messages are topic, offset, tag; what lies in the revive log is tag and fields."""
    log = LogMaker(1 << 16)
    for topic, offset, tag, key in messages:
        log.add(topic, queue_offset=offset, properties={"TAGS": tag, "UNIQ_KEY": key})
    for tag, fields in revive:
        record = {"c": "G", "q": 0, "bn": "b", **fields}
        log.add("rmq_sys_REVIVE_LOG_C", json.dumps(record).encode(), properties={"TAGS": tag})
    log.write(folder)
    (folder / "config").mkdir()
    table = {f"{topic}@G": {"0": offset} for topic, offset in offsets.items()}
    (folder / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": table}))
    for topic in ("rmq_sys_REVIVE_LOG_C", *offsets):
        (folder / "consumequeue" / topic).mkdir(parents=True)
    return folder


def check_point(pop_time, start, *distances, topic="T", acked=0):
    count = len(distances)
    return "ck", {"t": topic, "pt": pop_time, "so": start, "d": distances, "n": count, "it": 9, "bm": acked}


def ack(pop_time, start, offset, topic="T"):
    return "ack", {"t": topic, "pt": pop_time, "so": start, "ao": offset}


def test_every_way_of_a_message_through_pops(tmp_path):
    """Acked, handed out, made invisible anew, given again (twice), passed over, waiting; AaAa and BBBB are twins."""
    again = "%RETRY%G+T"  # the second form of its name, and no ORIGIN_GROUP: only check points tell whose it is
    messages = [("T", offset, "AaAa" if offset == 3 else "BBBB", f"K{offset}") for offset in range(10)]
    messages += [(again, offset, "BBBB", key) for offset, key in enumerate(("K5", "K6", "K7", "K5"))]
    revive = [
        check_point(1, 0, 0, 2, 3), ack(1, 0, 0), ack(1, 0, 3),  # 1 is passed over, 2 not acked
        check_point(2, 4, 0, 1, 2, 3), ack(2, 4, 4), check_point(3, 4, 0),  # 4 became invisible anew
        check_point(4, 0, 0, 2, topic=again),  # 5 failed again; 6 is passed over; 7 is acked as it came again
        ("bAck", {"t": again, "pt": 4, "so": 0, "aol": [2]}),
    ]  # fmt: skip
    store = pop_store(tmp_path, messages, revive, {"T": 9, again: 3})
    wishes = [{"group": "G", "topic": "T", "expr": "BBBB"}]
    audited = rmqlab.audit(store, subscriptions=wishes)
    fates = {row["key"]: (row["fate"], row["certainty"]) for row in audited.messages.collect()}
    assert fates == {
        "K0": (Fate.DELIVERED, "proved"),
        "K1": (Fate.SKIPPED_BY_POP, "implied"),
        "K2": (Fate.RETRYING, "proved"),
        "K3": (Fate.DROPPED_BY_CLIENT, "implied"),
        "K4": (Fate.RETRYING, "proved"),
        "K5": (Fate.RETRYING, "proved"),
        "K6": (Fate.SKIPPED_BY_POP, "implied"),
        "K7": (Fate.DELIVERED, "proved"),
        "K8": (Fate.SKIPPED_BY_POP, "implied"),
        "K9": (Fate.WAITING, "implied"),
    }
    assert audited.groups["G"]["T"]["lost"] == 3
    assert set(audited.groups) == {"G"}
    audited.close()


def test_a_check_point_that_was_made_anew_counts_and_not_the_ack_of_the_old_one():
    """Who changes how long a message stays invisible acks it, and has it again by another check point."""
    old = parse_pop("ck", b'{"bm":0,"c":"G","d":[0],"it":60000,"n":1,"pt":7,"q":0,"so":4,"t":"T"}')
    ack = parse_pop("ack", b'{"ao":4,"c":"G","pt":7,"q":0,"so":4,"t":"T"}')
    new = parse_pop("ck", b'{"bm":0,"c":"G","d":[0],"it":9000,"n":1,"pt":8,"q":0,"so":4,"t":"T"}')
    rows = [*old, *new, *ack]
    assert {row[3] for row in rows} == {4}
    assert max((row[4], row[6]) for row in rows) == (8, PopState.TAKEN)


def test_batch_acks_old_check_points_and_nonsense():
    assert [row[3] for row in parse_pop("bAck", b'{"ao":-1,"aol":[2,5],"c":"G","pt":7,"q":0,"so":2,"t":"T"}')] == [2, 5]
    assert [row[3] for row in parse_pop("ck", b'{"bm":0,"c":"G","it":9,"n":3,"pt":7,"q":0,"so":4,"t":"T"}')] == [
        4,
        5,
        6,
    ]
    for body in (b"", b"[1]", b"{}", b'{"c":"G"}', b'{"ao":"x","c":"G","pt":7,"q":0,"so":2,"t":"T"}', b"\xff"):
        assert parse_pop("ack", body) == []


def test_retry_topics_of_both_forms_belong_to_the_group():
    keys, topics = [("G", "T"), ("G", "U")], ["%RETRY%G_T", "%RETRY%G+U", "%RETRY%G", "%RETRY%X_T"]
    assert retry_groups(keys, topics) == {"%RETRY%G_T": "G", "%RETRY%G+U": "G"}
    assert list(read_again([], {}, {})) == []
