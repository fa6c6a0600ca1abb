"""What notebook 11 and its tasks say, sentence by sentence.

The audit itself runs in the lesson, on Spark; here what its cells show as committed is laid beside what the real
clients and the simulation know (``tests/spark/test_audit_certainty.py`` holds certainties to the truth, group by group).
"""

from __future__ import annotations

import json
import re
import tarfile
from itertools import pairwise
from types import SimpleNamespace

import pytest

import rmqlab
from rmqlab.checkout import ROOT, checkout_path
from rmqlab.events import Heartbeat, OffsetPersist
from rmqlab.protocol.codes import ResponseCode
from rmqlab.run.fates import Fate
from rmqlab_tools.course.checks_11 import ORDER_TAGS, SEARCHED, SPLIT
from rmqlab_tools.recordings.recording_reader import read_runs
from rmqlab_tools.spark.audit.audit_report import CERTAINTY_WORDS

LESSON = "11_audit"
SETTING = (
    "The same incident with 16 orders, as a film:",
    # What the words mean; that the audit uses them so is held to the truth by tests/spark/test_audit_certainty.py.
    "A message is lost for a group when three things are true:",
    "Three words say how sure the audit is:",
    "implied: the offset went past the message, and the rules leave one answer:",
    "Make an incident: two members ask for both tags, and orders come in.",
    "Halfway somebody deploys B with tagB alone.",
    "Give the audit more and more evidence:",
    "A second rule goes with the first: the broker serves a pull of any version.",
    "Write the SQL.",
    "messages has topic, queueId, queueOffset, tags, uniqKey and offsetMsgId;",
    "What must be sent again so that the group H_p-audit-010 has everything?",
    "How many of these messages would the other group of the topic get twice, if they were sent to the topic?",
    "A asks for tagA, B for tagB, on four queues.",
    "Orders of both tags come in.",
    "Halfway, you may tell one or both to ask for something else.",
    "What change makes sure that nothing more is lost, and that both tags are still asked for?",
)
SCENARIO = "p-audit-006"


def cells():
    notebook = json.loads((ROOT / "notebooks" / f"{LESSON}.ipynb").read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


def rows(text):
    """The rows of a table as committed, by their first cell; numbers as numbers."""
    lines = [re.split(r"\s{2,}", line.rstrip("< ")) for line in text.splitlines()]
    return {one[0]: [int(cell) for cell in one[1:] if cell.isdecimal()] for one in lines}


@pytest.fixture(scope="module")
def told():
    """Every scenario of the recording as the frames tell it."""
    return {one.scenario.id: one for one in read_runs(checkout_path("data") / "golden" / "broker-4.8.0" / "audit")}


@pytest.fixture(scope="module")
def incident(tmp_path_factory):
    """The lesson's own incident under given rules: its cell, run here."""
    names = {"rmqlab": rmqlab, "tempfile": type("T", (), {"mkdtemp": lambda: str(tmp_path_factory.mktemp("i"))})}
    exec(cells()["incident"], names)  # noqa: S102 - the lesson's own lines
    return names["incident"]


@pytest.fixture(scope="module")
def changed(incident):
    return incident("tagB")[1]


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim(
    "In one group, member GC asked for every tag, and GF asked for tagC.",
    "340 messages came.",
    "The lag is 0 in each queue: the cell asserts that.",
    "Not every message that nobody got is lost.",
    "The lag was 0, and 279 messages were lost.",
    "The group G_p-audit-000 reads the topic T_p-audit-000.",
    "Its member GZ asks for tagA, its member GF asks for *.",
)
def test_the_recording(told, shown):
    starts = {one.who: one.subscribe["T"].expr for one in told[SCENARIO].scenario.steps if hasattr(one, "who")}
    assert starts == {"GC": "*", "GF": "tagC"}
    assert len(told[SCENARIO].fates) == 340
    assert "assert lag == 0" in cells()["offsets"]
    lost = [fate for one in told.values() for fate in one.fates if fate.lost]
    assert len(lost) == 785 == rows(shown["audit"])["all"][2]
    assert sum(fate.lost for fate in told[SCENARIO].fates) == 279 == int(shown["sql"].split()[-1])
    nobody = [fate for one in told.values() for fate in one.fates if fate.fate is not Fate.DELIVERED]
    assert len(nobody) > len(lost)
    searched = {one.who: one.subscribe["T"].expr for one in told["p-audit-000"].scenario.steps if hasattr(one, "who")}
    assert (searched["GZ"], searched["GF"]) == ("tagA", "*")


@pytest.mark.claim(
    "A store keeps no TAG subscriptions.",
    "Without the deployment's own record an audit can only say what may be lost.",
)
def test_a_store_keeps_no_tag_subscriptions(shown):
    with tarfile.open(checkout_path("data") / "golden" / "broker-4.8.0" / "audit" / "store.tar.gz") as store:
        files = {
            one.name.rpartition("/")[2]: store.extractfile(one).read().decode()
            for one in store.getmembers()
            if one.name.endswith(".json")
        }
    kept = json.loads(files.pop("consumerFilter.json"))["filterDataByTopic"].values()
    types = {data["expressionType"] for topic in kept for data in topic["groupFilterData"].values()}
    assert types == {"SQL92"}
    assert len(files) > 3
    assert not [name for name, text in files.items() if "tagA" in text]
    assert rows(shown["levels"])["the store alone"] == [80, 0, 0, 80]


@pytest.mark.claim(
    "The line with split knows tags only.",
    "rmqlab.spark.wants(expression, kind) makes a column by the core's own rules, for tags and for SQL92.",
    "It finds the same messages:",
    "rmqlab.audit does all of this for every group, and more: it knows when a subscription changed, who owned a queue, "
    "and which stage dropped a message.",
    "The audit finds the same ids: the cell asserts that.",
)
def test_sql_and_the_audit_say_the_same():
    assert "== lost_ids" in cells()["wants"]
    assert 'assert set(figures["lost_ids"]) == lost_ids' in cells()["audit"]


@pytest.mark.claim(
    "Only what arrived leaves such a record.",
    "A loss leaves none;",
    "Things worth finding: a group that lost nothing; a group where the client dropped the messages.",
)
def test_certainties_and_stages(shown, told):
    assert len(CERTAINTY_WORDS) == 3
    assert re.search(r"G_p-audit-006 +T_p-audit-006 +340 +61 +279 +0 ", shown["audit"])
    assert rows(shown["audit"])["G_p-audit-011"][2] == 0
    assert {fate.fate for fate in told["p-audit-000"].fates if fate.lost} == {Fate.DROPPED_BY_CLIENT}


@pytest.mark.claim(
    "Each dashed line is a moment when the broker's one slot changed to another text.",
)
def test_the_control_needs_no_session():
    """Run All stops Spark in its last cells, and the reader moves the control after that."""
    session, given = ["open"], {}

    def by_second(name):
        assert session
        return f"the picture of {name}"

    found = SimpleNamespace(groups={"G_mine": {}, "H_mine": {}}, by_second=by_second)
    controls = lambda draw, **values: given.update(values, draw=draw)  # noqa: E731
    fake = SimpleNamespace(show=SimpleNamespace(controls=controls))
    exec(cells()["play"], {"found": found, "rmqlab": fake, "scenario": "mine", "mode": "live"})  # noqa: S102 - its lines
    session.clear()
    assert given["group"] == ["G_mine", "H_mine"]
    assert given["draw"](group="H_mine") == "the picture of H_mine"


def longest_hold():
    """How many ms a pull of a lab waited for its answer at most, in a quiet minute."""
    lab = rmqlab.Lab(topics={"T": 4})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.run(seconds=60)
    asked, answered = {}, {}
    for frame in lab.frames().where(request="PULL_MESSAGE"):
        (asked if frame.response is None else answered)[frame.opaque] = frame.t
    return max(answered[pull] - asked[pull] for pull in answered)


@pytest.mark.row("S-77", "S-83")
@pytest.mark.claim(
    "The audit sees only the files.",
    "Each line knows more than the line above, so unknown shrinks.",
    "The lost messages all have tagA and came after the change: the cell asserts that.",
    "A asks for them, and nobody touched A.",
    "The tagA messages before the change stay unknown.",
    "A pull may be held for up to 20 s, and an offset is committed every 5 s.",
    "So the new subscription may have met these messages too.",
)
def test_an_incident(changed, shown):
    lost = [fate for fate in changed.fates() if fate.lost]
    assert {(fate.tag, fate.fate, fate.subscription) for fate in lost} == {("tagA", "dropped_by_broker_tag", "tagB")}
    levels = [rows(shown["levels"])[name] for name in ("the store alone", "who asked for what", "what the broker held")]
    assert [one[3] for one in levels] == [80, 40, 20]
    assert levels[-1] == [80, 40, len(lost), 20]
    assert "one.t > changed" in cells()["levels-check"]
    assert rmqlab.RULES["4.8.0"].longest_hold_ms == 20_000
    assert 15_000 < longest_hold() <= 20_000 + 5  # and the way there and back
    offsets = sorted({round(fact.t) for fact in changed.run.facts.of(OffsetPersist) if fact.source == "A"})
    assert 5_000 in {later - earlier for earlier, later in pairwise(offsets)}


@pytest.mark.row("S-66")
@pytest.mark.claim(
    "The change then reaches only B itself.",
    "With the first rule nothing is lost and nothing arrives.",
    "Clients stamp their subscriptions anew, the broker keeps the old stamp, and it refuses each pull with a newer one.",
    "All 80 messages wait, and now an alarm on lag would ring.",
    "With both rules the messages flow.",
    "The broker lets everything pass, and B drops the tagA messages in its own queues. Fewer are lost, at another stage.",
    "An audit that looks only at the broker would find nothing.",
)
def test_other_rules(incident):
    names = {}
    exec(cells()["mine"].partition("stays =")[0], names)  # noqa: S102 - the lesson's own rule
    stays = rmqlab.RULES["4.8.0"].replace(update_subscription=names["first_one_stays"])
    kept = incident("tagB", stays)[1]
    assert {fate.fate for fate in kept.fates()} == {"waiting"}
    assert len(kept.fates()) == 80
    assert {(row.committed, row.max) for row in kept.offsets()} == {(0, 20)}
    assert {row.code for row in kept.pulls()} == {ResponseCode.SUBSCRIPTION_NOT_LATEST}
    flows = incident("tagB", stays.replace(is_latest=lambda held_version, pull_version: True))[1]
    lost = flows.fates().where(lost=True)
    assert {(fate.fate, fate.culprit, fate.tag) for fate in lost} == {("dropped_by_client", "B", "tagA")}
    assert 0 < len(lost) < 20


@pytest.mark.claim(
    "The audit never sends anything.",
    "Neither way is free.",
    "A message sent to the group's retry topic reaches that group alone, but any member may get it, whatever it asked for.",
    "Repair the subscriptions first, or the same messages are dropped again.",
    "Then every member of the group must be ready for every tag, since any of them may get the message.",
)
def test_sending_again(shown, changed):
    for path in (ROOT / "rmqlab_tools" / "spark" / "audit").rglob("*.py"):
        assert not re.search(
            r"rmqlab_tools\.live\.(sockets|tap|serve)|socket|SEND_MESSAGE", path.read_text(encoding="utf-8")
        ), path.name
    assert re.search(r"to_topic +T_p-audit-010 +24\b", shown["plan"])
    assert re.search(r"to_retry_topic +%RETRY%H_p-audit-010 +0\b", shown["plan"])
    beats = list(changed.run.facts.of(Heartbeat))
    told = [one for fact in beats for _, one in fact.event.subscriptions]
    asked = {one.sub_string for one in told if str(one.topic).startswith("%RETRY%")}
    assert asked == {"*"}


@pytest.mark.claim(
    "Why. GF asks for everything, so no test of tags is needed.",
    "The broker held *, so it dropped nothing.",
    "An audit that looks at the broker alone would have found nothing.",
)
def test_the_group_that_is_searched(told):
    group, _, scenario = SEARCHED.partition("_")
    fates = [fate for fate in told[scenario].fates if fate.group == group]
    assert {fate.subscription for fate in fates if fate.fate is Fate.DELIVERED} == {"*"}
    lost = [fate for fate in fates if fate.lost]
    assert {(str(fate.fate), fate.subscription) for fate in lost} == {("dropped_by_client", "tagA")}
    assert not [fate for fate in fates if "broker" in fate.fate]


@pytest.mark.claim("Both filters agree only when all members mean the same.")
def test_repairs():
    """`tests/course/test_checks_11.py` tries every pair of changes."""
    assert dict(zip(SPLIT, ORDER_TAGS, strict=True)) == SPLIT
