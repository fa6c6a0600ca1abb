"""What notebook 11 and its tasks say, sentence by sentence.

The audit itself runs in the lesson, on Spark; here what its cells show as committed is laid beside what the real
clients and the simulation know (``tests/spark/test_audit_certainty.py`` holds certainties to the truth, group by group).
"""

from __future__ import annotations

import json
import re
import tarfile
from itertools import pairwise

import pytest

from rmqlab.checkout import ROOT, folder
from rmqlab.filter.filter_api import build
from rmqlab.filter.consistency import tell_apart
from rmqlab.lab.audit_report import CERTAINTIES
from rmqlab.lab.fates import Fate
from rmqlab.lab.groups.incident import MESSAGES, QUEUES, STORE, Incident
from rmqlab.lessons.checks_11 import COUNTED, HELD_MS, SPLIT
from rmqlab.lab.recorded.accounts import recorded_accounts

LESSON = "11_audit"
SETTING = (
    # How the recording was made. That a trace is the first consumer's only is read in 4.8.0's source, and not shown here.
    "All were told to write a message trace; 4.8.0 writes that of a group's first consumer in each process only.",
    "Then it was stopped, and all you have is its directory:",
    "First with nothing but the directory.",
    # What the words mean; that the audit uses them so is held to the truth by tests/spark/test_audit_certainty.py.
    "implied: the offset went past the message, and whoever may have looked at it,",
    "unknown: nothing tells, or the subscription or the queue's owner changed so soon that either may have met the message.",
    "Now change one subscription while orders come in: somebody deploys B with tagB alone.",
    "Any group, with what is known.",
    "Things worth finding: a group of which nothing is unknown once the subscriptions are given;",  # its cell asserts it
    '"layer 1", "layer 2" or "client"?',
    "What must be sent again so that this group has everything, and how many messages would another group get twice",
    "Half way through its orders you may tell one or both to ask for something else.",
    "What must they ask for, so that nothing more is lost and both tags are still asked for?",
)
ALONE, GIVEN, LOGGED, PLAN = "cell-07", "cell-09", "cell-11", "cell-17"


def rows(text):
    """The rows of a table as committed, by their first cell; numbers as numbers."""
    cells = [re.split(r"\s{2,}", line.rstrip("< ")) for line in text.splitlines()]
    return {
        one[0]: [int(cell) for cell in one[1:]] for one in cells if len(one) > 5 and all(c.isdecimal() for c in one[1:])
    }


@pytest.fixture(scope="module")
def told():
    """Every scenario of the recording as the frames tell it."""
    return list(recorded_accounts(folder("data") / "golden" / "broker-4.8.0" / "audit"))


@pytest.fixture(scope="module")
def changed():
    return Incident(change={"B": "tagB"}).run()


def test_nothing_else_is_claimed(unproved):
    assert unproved == []


@pytest.mark.claim("Producers sent a few thousand messages to a dozen topics, each read by a group or two.")
def test_the_recording(told):
    assert sum(len(one.scenario.topics) for one in told) == 12
    assert {len({fate.group for fate in one.fates}) for one in told} == {1, 2}
    assert 2_000 < sum(event["ev"] == "sent" for one in told for event in one.events) < 4_000


@pytest.mark.claim(
    "The lag is the number of messages behind the committed offsets: the cell above asserts that it is 0 for every group.",
    "Of all the rest an offset says that it went by, and no more: its fate is passed.",
    "Nothing is called lost, and nothing is called delivered, that was not proved or implied.",
    "Without the deployment's own record an audit can only say what may be lost.",
    "Here the lag was 0 in every group, and messages were lost by the hundred.",
)
def test_the_store_alone(told, shown):
    table = rows(shown[ALONE])
    sent, delivered, lost, unknown, unwanted, _ = table.pop("all")
    assert len(table) == 18
    assert {one[-1] for one in table.values()} == {0}
    assert (lost, unwanted, delivered + unknown) == (0, 0, sent)
    truth = {}
    for one in told:
        for fate in one.fates:
            group = f"{fate.group} {int(one.scenario.id[-3:])}"
            truth[group] = truth.get(group, 0) + (fate.fate is Fate.DELIVERED)
    assert all(one[1] <= truth[group] for group, one in table.items())
    assert sum(fate.lost for one in told for fate in one.fates) == rows(shown[LOGGED])["all"][2] == 785
    assert rows(shown[GIVEN])["the store alone"][2:] == [0, unknown, unwanted, unknown]  # the last: may be lost


@pytest.mark.claim("A store keeps no TAG subscriptions, so nothing in it says whether anybody asked for what went by.")
def test_a_store_keeps_no_tag_subscriptions():
    with tarfile.open(folder("data") / "golden" / "broker-4.8.0" / "audit" / "store.tar.gz") as store:
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


@pytest.mark.claim(
    "Each line knows more than the one above, so unknown shrinks: messages leave it for delivered, for lost or for not "
    "wanted (they went by, and nobody had asked for them).",
    "Nothing that was said for certain is taken back: the next cell compares the messages one by one.",
)
def test_more_evidence(told, shown):
    lines = list(rows(shown[GIVEN]).values())
    assert len(lines) == 3
    for less, more in ((lines[0], lines[1]), (lines[1], lines[2])):
        assert more[3] < less[3]
        assert all(more[at] >= less[at] for at in (1, 2, 4))
        assert sum(more[1:5]) == sum(less[1:5]) == more[0]
    assert "'taken back': 0" in shown["cell-10a"]
    assert lines[2][1] == sum(fate.fate is Fate.DELIVERED for one in told for fate in one.fates)


@pytest.mark.claim(
    "Three words for how sure the audit is:",
    "Only what arrived, or was sent back, leaves such a record; a loss leaves none;",
    "And each loss has its stage, as in notebook 01: dropped by the broker's tag check, by its SQL92, or by the client "
    "itself.",
    "Where only the log of deliveries tells that nobody got it, the stage is not known, and it is called skipped.",
)
def test_certainties_and_stages(shown):
    assert len(CERTAINTIES) == 3
    assert "{'implied': 785}" in shown["cell-10a"]
    stages = "16 dropped by the client, 21 dropped by the broker (SQL92), 3 skipped: the offset passed it, 76 dropped by the broker"
    assert f"lost 116 of 320 messages ({stages})" in shown["cell-15"]
    assert rows(shown[LOGGED])["G 9"][2] == 16 + 21 + 3 + 76


@pytest.mark.claim(
    "The audit never sends anything.",
    "Two ways, and neither is free.",
    "Sent to the group's retry topic it reaches that group alone, but any member may get it, whatever it asked for.",
    "Sending again is a decision, not a button: to the topic, and other groups get duplicates; to the retry topic, and any "
    "member may get them.",
    "Then every member of the group must be ready for every tag, since any of them may get the message.",
)
def test_sending_again(shown, changed):
    for path in (ROOT / "rmqlab" / "spark" / "audit").rglob("*.py"):
        assert not re.search(r"rmqlab\.runtime|socket|SEND_MESSAGE", path.read_text(encoding="utf-8")), path.name
    assert re.search(r"to the topic: other groups get twice +54\b", shown[PLAN])
    assert re.search(r"to %RETRY%G_p-audit-009: other groups get twice +0\b", shown[PLAN])
    asked = {
        one.topic: (one.sub_string, fact["client"])
        for fact in changed.facts.of("heartbeat")
        if fact.source == "broker"
        for _, one in fact["subscriptions"]
        if one.topic.startswith("%RETRY%")
    }
    assert {text for text, _ in asked.values()} == {"*"}


@pytest.mark.row("S-77", "S-83")
@pytest.mark.claim(
    "Where the members of a group disagree, whoever stamped last decides for all.",
    "And repair the subscriptions first, or the same broker drops the same messages again.",
    "Make an incident: two members on four queues, both ask for both tags, orders come in.",
    "Nothing lost.",
    "Every tagA after the change (the cell above asserts it), although A asks for it and nobody touched A.",
)
def test_an_incident(changed, shown):
    assert QUEUES == 4
    assert set(Incident().before.values()) == {"tagA || tagB"}
    healthy = Incident().run()
    assert {fate.fate for fate in healthy.fates} == {Fate.DELIVERED}
    assert rows(shown["cell-19"])["ORDERS"] == [MESSAGES, MESSAGES, 0, 0, 0, 0]
    began = next(event["t"] for event in changed.events if event["ev"] == "subscribed")
    sent = {event["body"]: event for event in changed.events if event["ev"] == "sent"}
    late = {body for body, event in sent.items() if event["tag"] == "tagA" and event["t"] > began}
    lost = [fate for fate in changed.fates if fate.lost]
    assert {fate.body for fate in lost} == late
    assert {(str(fate.fate), fate.subscription) for fate in lost} == {("dropped_by_broker_tag", "tagB")}
    stamps = {f.source: f["version"] for f in changed.facts.of("restamp") if f["topic"] == "order"}
    assert all(fate.version > stamps["A"] for fate in lost)
    assert "{'lost, by the audit': 40, 'lost, by the simulation': 40}" in shown["cell-22"]
    assert len(lost) == 40


@pytest.mark.claim("The broker runs in virtual time and leaves a store directory like any other.")
def test_the_store_it_leaves(tmp_path):
    Incident().run(tmp_path)
    assert {"commitlog", "config", "consumequeue"} <= {path.name for path in (tmp_path / STORE).iterdir()}


@pytest.mark.claim(
    "The tagA of the 20 s before is unknown: a pull may be held for 15 s, an offset is committed every 5 s, so these "
    "messages may have met the new subscription too, and the files do not tell."
)
def test_what_is_unknown_before_the_change(changed, shown):
    assert HELD_MS == 15_000
    sent = [event for event in changed.events if event["ev"] == "sent" and event["tag"] == "tagA"]
    began = next(event["t"] for event in changed.events if event["ev"] == "subscribed")
    before = [event for event in sent if began - 20_000 <= event["t"] < began]
    assert len(before) == 40
    assert "40 unknown" in shown["cell-21"]
    commits = sorted({round(fact.t) for fact in changed.facts.of("offset_persist") if fact.source == "A"})
    assert 5_000 in {later - one for one, later in pairwise(commits)}


@pytest.mark.claim(
    "Why. One member asks for everything, the other for tagA.",
    'The broker held "everything", so it dropped nothing.',
    "An audit that looks at the broker alone would have found nothing.",
)
def test_the_group_that_is_counted(told):
    group, _, scenario = COUNTED.partition("_")
    (account,) = [one for one in told if one.scenario.id == scenario]
    fates = [fate for fate in account.fates if fate.group == group]
    assert {fate.subscription for fate in fates if fate.fate is Fate.DELIVERED} == {"*"}
    lost = [fate for fate in fates if fate.lost]
    assert {(str(fate.fate), fate.subscription) for fate in lost} == {("dropped_by_client", "tagA")}
    assert not [fate for fate in fates if "broker" in fate.fate]


@pytest.mark.claim("Only when all mean the same do both filters agree.")
def test_repairs():
    for a in ("*", "tagA", "tagA || tagB", "tagB||tagA"):
        for b in ("*", "tagB", "tagA || tagB"):
            run = Incident(before=SPLIT, change={"A": a, "B": b}).run()
            began = next(event["t"] for event in run.events if event["ev"] == "subscribed")
            sent = {event["body"]: event["t"] for event in run.events if event["ev"] == "sent"}
            late = [fate for fate in run.fates if fate.lost and sent[fate.body] > began + HELD_MS]
            same = tell_apart(build("order", a, "TAG"), build("order", b, "TAG")).same
            equal_here = {a, b} <= {"*", "tagA || tagB", "tagB||tagA"}  # no other tag is sent
            assert same <= equal_here
            assert (not late) == equal_here
