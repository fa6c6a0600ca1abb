"""What is being lost: by tag code, slot and owner; proved only where nothing can have changed in between."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rmqlab.message.java import string_hash
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import Certainty, State
from rmqlab_tools.doctor.snapshot import PassedEntries, QueueSeen
from tests.doctor.conftest import NOW, STARTED, M, finding, kinds, look, passed

A, B = M("A", {"T": "tagA"}), M("B", {"T": "tagB"}, version=STARTED + 1)
EIGHT = ["tagA", "tagB"]


def two_looks(before_members, members, tags=EIGHT, *, start=100, **now):
    """A look that was caught up, and one ten seconds later with these tags passed in every queue."""
    first = look(before_members, at=NOW - 10_000, committed=start, end=start)
    second = passed(look(members, committed=start + len(tags), end=start + len(tags), **now), tags, start=start)
    second.since = first.at
    return diagnose(second, first)


@pytest.mark.row("S-33", "S-36", "S-51", "S-82")
def test_the_articles_loss_is_counted_and_proved():
    one = finding(two_looks([A, B], [A, B]), "losing_messages")
    assert (one.state, one.certainty) == (State.LOSING, Certainty.PROVED)
    evidence = one.evidence
    assert (evidence["lost"], evidence["proved"], evidence["read"]) == (6, 6, 8), "six of eight, as in the article"
    assert {(told["tags"][0], told["where"]): told["lost"] for told in evidence["by_tag"]} == {
        ("tagA", "dropped by the broker"): 4,
        ("tagB", "dropped by the owner"): 2,
    }
    assert evidence["by_queue"] == {"broker-a/0": 2, "broker-a/1": 2, "broker-a/2": 1, "broker-a/3": 1}
    assert "6 surely lost of the 8 messages that passed since the last look (75%)" in one.says


def test_a_first_look_only_implies():
    one = finding(diagnose(passed(look([A, B]), EIGHT)), "losing_messages")
    assert (one.certainty, one.evidence["lost"], one.evidence["proved"]) == (Certainty.IMPLIED, 6, 0)
    assert one.evidence["since_ms"] is None


@pytest.mark.row("S-76", "S-77")
@pytest.mark.parametrize(
    "before",
    [
        [replace(A, version=STARTED + 2), B],  # the slot was A's
        [A, replace(B, version=STARTED - 1)],  # the same text, another version: it flipped in between, or may have
        [replace(A, queues=[]), B],  # A did not own its queues yet
        [A],  # B had not asked yet
    ],
)
def test_what_changed_in_between_leaves_it_implied(before):
    one = finding(two_looks(before, [A, B]), "losing_messages")
    assert one.evidence["by_queue"]["broker-a/0"] == 2
    assert one.evidence["proved"] <= 2, "at most the queues of B, where nothing changed"


def test_entries_from_before_the_last_look_are_not_proved():
    first = look([A, B], at=NOW - 10_000, committed=100, end=103)
    second = passed(look([A, B], committed=104, end=104), ["tagA"] * 4)
    second.since = first.at
    one = finding(diagnose(second, first), "losing_messages")
    assert (one.evidence["lost"], one.evidence["proved"]) == (16, 4), (
        "three of four a queue were there at the look before"
    )


@pytest.mark.row("F-52")
def test_a_hash_collision_stays_implied():
    one, other = M("A", {"T": "AaAa"}), M("B", {"T": "BBBB||x"}, version=STARTED + 1)
    found = two_looks([one, replace(other, asks={"T": "x"})], [one, replace(other, asks={"T": "x"})], ["AaAa"])
    assert finding(found, "losing_messages").certainty is Certainty.PROVED
    third = M("C", {"T": "BBBB"}, version=STARTED - 1)
    slot = M("D", {"T": "x"}, version=STARTED + 5)
    collided = finding(two_looks([one, third, slot], [one, third, slot], ["AaAa"]), "losing_messages")
    assert (collided.certainty, collided.evidence["by_tag"][0]["tags"]) == (Certainty.IMPLIED, ["AaAa", "BBBB"])


def test_what_no_member_asks_for_is_no_loss():
    found = two_looks([A], [A], ["tagA", "tagX", None])
    assert "losing_messages" not in kinds(found)
    one = finding(two_looks([A, B], [A, B], ["tagA", "tagX", "tagX", None]), "losing_messages")
    assert (one.evidence["lost"], one.evidence["unasked"], one.evidence["unasked_share"]) == (4, 12, 0.75)


@pytest.mark.row("S-90")
def test_members_that_post_their_own_subscription_lose_by_their_queues_alone():
    own = {"postSubscriptionWhenPull": "true"}
    pair = [replace(A, properties=own), replace(B, properties=own)]
    one = finding(two_looks(pair, pair), "losing_messages")
    assert (one.evidence["lost"], one.certainty) == (4, Certainty.PROVED), "half is lost, whatever the slot is"


@pytest.mark.row("S-87", "S-78")
def test_a_slot_of_nobody_drops_for_all():
    gone = M("C", {"T": "tagC"}, version=STARTED + 9)
    seen = passed(look([A, replace(A, client="A2"), gone]), ["tagA"])
    del seen.groups["G"].members["C"]
    found = diagnose(seen)
    assert finding(found, "slot_of_nobody").certainty is Certainty.PROVED
    assert finding(found, "losing_messages").evidence["lost"] == 4, "tagA of every queue"


@pytest.mark.row("F-62", "F-64")
def test_under_an_sql92_slot_codes_alone_do_not_tell():
    pair = [A, M("B", {"T": "SQL92:a > 3"}, version=STARTED + 1)]
    one = finding(two_looks(pair, pair, ["tagA"] * 4), "unknown_losses")
    assert (one.state, one.certainty, one.evidence["undecided"]) == (State.UNKNOWN, Certainty.UNKNOWN, 16)
    seen = passed(look(pair), ["tagA"] * 4)
    for entries in seen.groups["G"].passed.values():
        entries.kept, entries.slot = Counter({string_hash("tagA"): 1}), pair[1].subscriptions()["T"]
    implied = finding(diagnose(seen), "losing_messages")
    assert (implied.certainty, implied.evidence["lost"]) == (Certainty.IMPLIED, 12), "bitmaps tell 3 of 4 dropped"
    assert implied.evidence["undecided"] == 4


@pytest.mark.row("H-49", "S-36")
def test_filtered_lag_beside_raw_lag():
    seen = passed(look([A, B], committed=100, end=108), ["tagB", "tagX", "tagX", "tagX"], behind=True)
    (group,) = diagnose(seen).groups
    assert (group.filtered_lag, group.lost) == (8, 0), "of 32; 4 of 8 a queue were read, one in four passes"
    passed(seen, ["tagA"])
    evidence = finding(diagnose(seen), "losing_messages").evidence
    assert (evidence["raw_lag"], evidence["filtered_lag"]) == (32, 8)
    seen.groups["G"].behind.clear()
    (group,) = diagnose(seen).groups
    assert (group.filtered_lag, group.lost) == (None, 4)


def test_a_window_with_an_offset_that_is_not_read_to_the_end():
    seen = look([A, B])
    queue = seen.topics["T"][0]
    seen.groups["G"].passed = {queue: PassedEntries(0, 1000, Counter({string_hash("tagA"): 10}))}
    seen.groups["G"].offsets[queue] = QueueSeen(1000, 1000)
    evidence = finding(diagnose(seen), "losing_messages").evidence
    assert (evidence["lost"], evidence["read"], evidence["passed"]) == (10, 10, 1000)


@pytest.mark.row("F-57")
def test_what_a_narrower_owner_drops_of_a_slot_of_everything_is_proved():
    pair = [A, M("B", {"T": "*"}, version=STARTED + 1)]
    one = finding(two_looks(pair, pair), "losing_messages")
    assert (one.certainty, one.evidence["lost"], one.evidence["proved"]) == (Certainty.PROVED, 2, 2)
    stamped = [replace(A, version=STARTED + 9, properties={"postSubscriptionWhenPull": "true"}), pair[1]]
    earlier = [replace(stamped[0], version=STARTED), pair[1]]
    again = finding(two_looks(earlier, stamped), "losing_messages")
    assert again.certainty is Certainty.IMPLIED, "A's queues changed in between"
