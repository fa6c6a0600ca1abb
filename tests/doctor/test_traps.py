"""Which trap of the articles the doctor finds by which kind, and which cannot be seen from outside."""

from __future__ import annotations

import re

import pytest

from rmqlab.checkout import checkout_path
from rmqlab_tools.doctor.finding import FINDING_KINDS

FOUND = {
    "S-03": "different_topics", "S-05": "idle_members", "S-06": "different_models", "S-07": "different_subscriptions",
    "S-08": "undecided_subscriptions", "S-09": "different_topics", "S-15": "tags_not_seen", "S-30": "clock_differs",
    "S-36": "losing_messages", "S-51": "losing_messages", "S-58": "consume_disabled", "S-60": "no_readable_queues",
    "S-61": "no_readable_queues", "S-64": "broadcast_disabled", "S-65": "topic_not_held", "S-66": "slot_older",
    "S-67": "refused_expression", "S-69": "property_filter_off", "S-70": "retry_filtered", "S-78": "slot_of_nobody",
    "S-79": "different_topics", "S-82": "losing_messages", "S-83": "losing_messages", "S-86": "version_in_future",
    "S-87": "idle_members", "S-90": "losing_messages", "S-92": "topic_not_held", "S-93": "no_owner",
    "S-94": "unknown_subscriptions", "S-95": "retries", "S-96": "no_committed_offset", "F-01": "class_filter",
    "F-06": "matches_nothing", "F-07": "expression_warning", "F-08": "property_filter_off", "F-09": "bitmap_not_stored",
    "F-15": "refused_expression", "F-23": "expression_warning", "F-25": "undecided_subscriptions",
    "F-27": "expression_warning", "F-31": "wrong_codes", "F-43": "refused_expression", "F-46": "bloom_not_yet",
    "F-49": "bitmap_never_made", "F-50": "wrong_codes", "F-62": "unknown_losses", "F-66": "retry_filtered",
    "F-76": "bloom_refused", "F-92": "bitmap_never_made", "F-98": "property_filter_off", "F-99": "class_filter",
    "F-100": "client_versions", "H-07": "different_consume_types", "H-09": "different_start",
    "H-21": "not_at_every_broker", "H-24": "versions_differ", "H-35": "notify_off", "H-37": "different_models",
    "H-41": "silent_member", "H-42": "no_members", "H-47": "two_owners",
}  # fmt: skip
NOT_SEEN = {
    "S-10": "no trap: the order of tags does not matter, and such a group is called healthy",
    "S-63": "a bad expression that a pull carries lets everything pass: pulls are not seen",
    "S-72": "which slave a member was sent to is not told by any request",
    "S-91": "a held pull may carry an old filter: holds are not seen",
    "S-97": "a second consumer in one client never registers, so no broker knows of it",
    "F-16": "whether a property's value is a number is known of messages that are read only",
    "F-52": "two tags of one hash code look the same in a queue: such a loss stays implied",
    "F-85": "bits of groups that left cost time, and lose nothing",
    "F-88": "how long a bit map takes is in the broker's log",
    "H-16": "a heartbeat that is left out because another one is sent is in the client's log",
    "H-39": "a broker of 4.8.0 tells nobody when it heard a member last",
    "H-43": "a scan that forgets a member tells nobody",
    "H-51": "how long heartbeats wait in the broker's pool is not told",
}


@pytest.mark.parametrize("row", FOUND)
def test_a_trap_is_named_with_its_row(row):
    rows, _ = FINDING_KINDS[FOUND[row]]
    assert row in rows.split()


def test_every_kind_stands_for_rows_of_the_mission_and_is_said_somewhere():
    known = set(re.findall(r"\b[SFH]-\d+\b", (checkout_path("data") / "mission" / "rows.tsv").read_text("utf-8")))
    assert {row for rows, _ in FINDING_KINDS.values() for row in rows.split()} | set(NOT_SEEN) <= known
    assert not set(FOUND) & set(NOT_SEEN)
    modules = "".join(
        path.read_text("utf-8") for path in (checkout_path("rmqlab_tools") / "doctor").rglob("*_findings.py")
    )
    assert {kind for kind in FINDING_KINDS if f'"{kind}"' not in modules} == set()
    assert all(advice for name, (_, advice) in FINDING_KINDS.items() if name not in {
        "heartbeat_table_only", "no_committed_offset", "client_versions", "at_a_proxy"
    })  # fmt: skip
