"""Lint of a group: verdicts by meaning, and losses that a run of the whole core shows too."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rmqlab
from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.events import SubscriptionChanged
from rmqlab.filter.filter import colliding_tag
from rmqlab.message.java import string_hash
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.run.fates import Fate
from rmqlab.run.run import recorded_events
from rmqlab.scenario.scenario import Send, convert_scenario, read_scenarios
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.lint import limits
from rmqlab_tools.search.lint.findings import LintVerdict
from rmqlab_tools.search.lint.meaning import fate, lint, shares
from rmqlab_tools.search.lint.members import LintGroup, LintMember, group_of, read_groups

lint_of = rmqlab.lint


def group(*texts, queues=None, **told):
    made = group_of([("SQL92", text[4:]) if text.startswith("SQL ") else ("TAG", text) for text in texts], "G")
    made.queues.update({} if queues is None else {"T": queues})
    for one in made.members:
        made.hear(LintMember(one.client, one.subscriptions, told))
    return made


@pytest.mark.row("S-07", "S-08", "S-10")
@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        (["A:T=a||b", "B:T=b||a", "C:T=b || a"], "consistent"),
        (["A:T=a", "SQL B:T=TAGS = 'a'"], "consistent"),
        (["A:T=a", "SQL B:T=a"], "inconsistent"),
        (["A:T=a", "B:T=b"], "inconsistent"),
        (["A:T=a", "A:U=a", "B:T=a"], "inconsistent"),
        (["SQL A:T=a > 3", "SQL B:T=3 < a"], "consistent"),
        (["SQL A:T=a > b", "SQL B:T=b < a"], "not decided"),
        (["SQL A:T=a > b", "SQL B:T=b < a", "SQL C:T=b > a"], "inconsistent"),
        (["A:T=a"], "consistent"),
    ],
)
def test_verdicts(texts, verdict):
    assert lint(group(*texts)).verdict == verdict


@pytest.mark.row("S-03", "S-82", "S-84")
def test_the_article_s_group():
    found = lint(group("A:T=tagA", "B:T=tagB", queues=4))
    (topic,) = found.topics
    by_tag = {witness.message["TAGS"]: witness for witness in topic.witnesses}
    assert set(by_tag) == {"tagA", "tagB"}
    assert by_tag["tagA"].asked == ("A",)
    assert {tag: one.expected for tag, one in by_tag.items()} == {"tagA": Fraction(1), "tagB": Fraction(1, 2)}
    assert by_tag["tagB"].losses[0].holder == "B"
    assert by_tag["tagB"].losses[0].fates == {"A": Fate.DROPPED_BY_CLIENT, "B": Fate.DELIVERED}
    assert by_tag["tagB"].losses[1].fates == dict.fromkeys("AB", Fate.DROPPED_BY_BROKER_TAG)
    assert not found.tool


GROUPS = [
    ["A:T=a", "B:T=b"],
    ["A:T=a||b", "B:T=b", "C:T=c"],
    ["A:T=a", "SQL B:T=x > 3"],
    ["SQL A:T=x > 3", "B:T=*"],
    ["A:T=a", "B:U=a"],
    ["A:T=Aa", "SQL B:T=TAGS = 'BB'"],
]


@pytest.mark.row("S-82", "S-84", "S-93")
@pytest.mark.parametrize("texts", GROUPS, ids=" ".join)
def test_a_run_of_the_whole_core_loses_what_was_predicted(texts):
    """Every witness into every queue of a group that stands still: its fate is that of the owner under the slot."""
    one = group(*texts, queues=4)
    (topic,) = [topic for topic in lint(one).topics if topic.topic == "T"]
    steps = []
    for number, member in enumerate(one.members):
        asked = {
            name: {"type": data.expression_type, "expr": data.sub_string} for name, data in member.subscriptions.items()
        }
        steps.append({"at": 1_000 * number, "do": "start", "who": member.client, "group": "G", "subscribe": asked})
    messages = [
        {
            "body": f"{number}", "tag": witness.message.get("TAGS"), "queue": queue,
            "props": {name: value for name, value in witness.message.items() if name != "TAGS"},
        }
        for number, witness in enumerate(topic.witnesses)
        for queue in range(4)
    ]  # fmt: skip
    steps += [{"at": 12_000, "do": "send", "topic": "T", "messages": messages}, {"at": 45_000, "do": "offsets"}]
    run = simulate(
        convert_scenario({"id": "x", "topics": {"T": 4, "U": 4}, "steps": steps}), cluster=default_settings()
    )
    slots = [fact.event.new for fact in run.facts.of(SubscriptionChanged) if fact.event.topic == "T" and fact.event.new]
    held = next(member for member in one.members if "T" in member.subscriptions and _same(member, slots[-1]))
    part = shares(one.members, 4)
    for number, witness in enumerate(topic.witnesses):
        fates = [fate.fate for fate in run.fates if fate.body == f"{number}"]
        predicted = next(loss for loss in witness.losses if loss.holder == held.client)
        expected = [predicted.fates[client] for client in part for _ in range(int(part[client] * 4))]
        assert sorted(fates) == sorted(expected)


def _same(member, data):
    mine = member.subscriptions["T"]
    return (mine.expression_type, mine.sub_string) == (data.expression_type, data.sub_string)


@pytest.mark.parametrize("others", [("A:T=a", "B:T=b"), ("A:T=a", "B:U=a")])
def test_beside_a_class_filter_no_example_is_given(others):
    """Who asks for a message, and what becomes of it, is up to the class."""
    one = group(*others)
    by_class = replace(build_subscription("T", "com.example.Keep", "TAG"), class_filter_mode=True)
    one.hear(LintMember("C", {"T": by_class}))
    topic = next(each for each in lint(one).topics if each.topic == "T")
    assert topic.verdict is LintVerdict.INCONSISTENT
    assert topic.witnesses == ()
    assert "a class filter cannot be looked into" in str(lint(one))


@pytest.mark.row("S-93", "S-79")
def test_a_member_without_the_topic_leaves_queues_alone():
    found = lint(group("A:T=a", "B:U=a", queues=4))
    (topic,) = [topic for topic in found.topics if topic.topic == "T"]
    (witness,) = topic.witnesses
    assert (witness.losses[0].lost, witness.losses[0].stuck) == (0, Fraction(1, 2))
    assert any("takes the topic out" in note for note in found.notes)


def test_in_a_broadcasting_group_each_member_loses_for_itself():
    found = lint(group("A:T=a", "B:T=b", messageModel="BROADCASTING"))
    by_tag = {witness.message["TAGS"]: [loss.lost for loss in witness.losses] for witness in found.topics[0].witnesses}
    assert by_tag == {"a": [1, 0], "b": [0, 1]}


def test_a_group_of_a_lab_keeps_its_name(tmp_path):
    lab = rmqlab.Lab(topics={"T": 2})
    lab.consumer("A", group="G", subscribe={"T": "a"})
    lab.scenario().save(tmp_path / "mine.jsonl")
    assert list(read_groups(str(tmp_path / "mine.jsonl"))) == ["G"]


def test_settings_that_differ_and_refused_conditions_are_noted():
    members = [
        LintMember("A", {"T": build_subscription("T", "a >", "SQL92")}, {"messageModel": "CLUSTERING"}),
        LintMember("B", {"T": build_subscription("T", "a", "TAG")}, {"messageModel": "BROADCASTING"}),
    ]
    found = lint(LintGroup("G", {one.client: one for one in members}))
    assert found.verdict is LintVerdict.INCONSISTENT
    notes = " / ".join(found.notes)
    for part in (
        "messageModel differs (CLUSTERING: A; BROADCASTING: B)",
        "enablePropertyFilter",
        "is refused",
        "same hash code",
    ):
        assert part in notes
    told = found.as_json()
    assert told["verdict"] == "inconsistent"
    assert told["topics"][0]["witnesses"][0]["message"] == {"tag": "a", "properties": {}}


def test_queues_are_shared_as_4_8_0_does_it():
    members = group("C:T=a", "A:T=a", "B:T=a").members
    assert shares(members, 4) == {"A": Fraction(1, 2), "B": Fraction(1, 4), "C": Fraction(1, 4)}
    assert shares(members, None) == dict.fromkeys("CAB", Fraction(1, 3))


@pytest.mark.parametrize(
    ("texts", "problem"),
    [(["A=a"], "CLIENT:TOPIC=EXPRESSION"), (["A:T"], "CLIENT:TOPIC=EXPRESSION"), (["A:T=a", "A:T=b"], "already")],
)
def test_arguments_that_say_nothing_are_refused(texts, problem):
    with pytest.raises(BadInput, match=problem):
        group(*texts)


@pytest.mark.row("S-77", "S-86")
@pytest.mark.parametrize(("versions", "holder"), [((9, 5), "A"), ((5, 9), "B"), ((5, 5), "A"), ((0, 0), "B")])
def test_the_highest_version_has_the_slot_whoever_was_heard_last(versions, holder):
    """Of equal ones the first heard; where none is told, the last."""
    one = LintGroup("G")
    for client, text, version in (("A", "a", versions[0]), ("B", "b", versions[1])):
        one.hear(LintMember(client, {"T": build_subscription("T", text, "TAG", version)}))
    assert {witness.losses[0].holder for witness in lint(one).topics[0].witnesses} == {holder}


@pytest.mark.row("F-50")
def test_a_twin_has_the_same_hash_and_reaches_members_with_sql92():
    """Under a TAG slot the broker compares hashes, and only members with TAG look again."""
    found = lint(group("A:T=tagA", "SQL B:T=TAGS = 'tagA'"))
    assert found.verdict is LintVerdict.CONSISTENT
    assert any("such as 'uBgA' for 'tagA'" in note for note in found.notes)
    assert string_hash("uBgA") == string_hash("tagA")
    assert [colliding_tag(tag) for tag in ("Aa", "a", "")] == ["BB", None, None]


def test_a_thousand_members_are_no_trouble():
    large = group(*[f"C{number}:T={'a||b' if number % 2 else 'b||a'}" for number in range(1_000)], queues=16)
    found = lint(large)
    assert found.verdict is LintVerdict.CONSISTENT
    assert len(found.members) == 1_000


PLAIN = {"at", "do", "who", "group", "subscribe"}
SETTLES_MS = 2_000


def _predictable(scenario):
    """One group of push consumers, all started some time before everything is sent, and nothing else happens."""
    fields = scenario.to_builtins()["steps"]
    starts = [step for step in fields if step["do"] == "start"]
    sends = [step["at"] for step in fields if step["do"] == "send"]
    return (
        {step["do"] for step in fields} == {"start", "alloc", "send", "offsets"}
        and len(starts) > 1
        and all(set(step) <= PLAIN for step in starts)
        and len(scenario.topics) == len(scenario.groups()) == 1
        and max(step["at"] for step in starts) + SETTLES_MS <= min(sends)
    )


@pytest.mark.row("S-03", "S-07", "S-82", "S-84")
def test_the_real_broker_did_what_is_predicted():
    """Per message and queue: the owner gets it or not, by its own subscription and the one seen in the slot."""
    folder_of = checkout_path("data") / "golden" / "broker-4.8.0" / "base"
    events = recorded_events(folder_of)
    seen = 0
    for scenario in read_scenarios(folder_of / "scenarios.jsonl"):
        if not _predictable(scenario):
            continue
        groups = read_groups(f"{folder_of / 'scenarios.jsonl'}#{scenario.id}")
        (one,) = groups.values()
        ((topic, queues),) = scenario.topics.items()
        mine = events[scenario.id]
        first_sent = next(event["t"] for event in mine if event["ev"] == "sent")
        views = [event["view"]["subs"] for event in mine if event["ev"] == "broker" and event["t"] <= first_sent]
        kind, _, text = views[-1][topic].rpartition("@")[0].partition(":")
        slot = build_subscription(topic, text, kind)
        part = shares(one.members, queues)
        owners = [client for client in part for _ in range(int(part[client] * queues))]
        predicted = set()
        for message in (message for step in scenario.steps if isinstance(step, Send) for message in step.messages):
            owner = owners[message.queue]
            properties = dict(message.props or {}) | ({} if message.tag is None else {"TAGS": message.tag})
            if fate(one.heard[owner].subscriptions[topic], slot, properties) is Fate.DELIVERED:
                predicted.add((owner, message.body))
        got = {(event["who"], event["body"]) for event in mine if event["ev"] == "consume"}
        assert got == predicted, scenario.id
        seen += 1
    assert seen >= 35


LARGE = {
    "one subscription": (20_000, lambda number: "tagA"),
    "two subscriptions": (20_000, lambda number: f"tag{number % 2}"),
    "a tag for each": (2_000, lambda number: f"tag{number}"),
    "a condition for each": (200, lambda number: f"SQL92:a > {number} AND b BETWEEN {number} AND {number + 5}"),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_large_group_is_cut_with_a_sentence(kind):
    """Work is on different subscriptions, of which a stated number is compared; nothing is claimed of the others."""
    count, wish = LARGE[kind]
    result = lint_of({f"c{number}": {"T": wish(number)} for number in range(count)})
    (topic,) = result.topics
    different = len({wish(number) for number in range(count)})
    assert len(topic.differences) == min(different - 1, limits.MOST_COMPARED)
    assert topic.left_out == max(0, different - 1 - limits.MOST_COMPARED)
    assert len(topic.witnesses) <= limits.MOST_MESSAGES
    for witness in topic.witnesses:
        assert len(witness.losses) <= limits.MOST_SLOTS
        assert all(len(loss.fates) <= limits.MOST_FATES + different for loss in witness.losses)
    assert len(repr(result)) < 40_000
    assert ("were not compared" in repr(result)) == (topic.left_out > 0)
    assert result.verdict is (LintVerdict.CONSISTENT if different == 1 else LintVerdict.INCONSISTENT)


def test_what_was_not_compared_is_never_consistent():
    """Texts that differ in blanks alone mean the same; those beyond the limit are not looked at."""
    wishes = [f"tag0{' ' * number}" for number in range(limits.MOST_COMPARED + 5)]
    result = lint_of({f"c{number}": {"T": wish} for number, wish in enumerate(wishes)})
    assert {difference.verdict for difference in result.topics[0].differences} == {LintVerdict.CONSISTENT}
    assert result.verdict is LintVerdict.UNDECIDED


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "a || b", "*", None]), min_size=2, max_size=9),
    st.sampled_from([None, 1, 3, 8, 20]),
)
def test_shares_by_subscription_add_up_to_what_each_member_is_given(wishes, queues):
    """Members are taken together by what they subscribe; the sum is that of the rule, member by member."""
    if all(wish is None for wish in wishes):
        return
    group = LintGroup("G", queues={} if queues is None else {"T": queues})
    for number, wish in enumerate(wishes):
        asked = {} if wish is None else {"T": build_subscription("T", wish, "TAG")}
        group.hear(LintMember(f"c{number}", asked))
    part = shares(group.members, queues)
    for topic in lint(group).topics:
        for witness in topic.witnesses:
            for loss in witness.losses:
                lost = sum(
                    share for client, share in part.items()
                    if loss.fates[client] not in {Fate.DELIVERED, Fate.NO_OWNER}
                )  # fmt: skip
                assert loss.lost == lost
