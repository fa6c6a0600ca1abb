"""The page of an audit: every figure of the audit is on it, names are text, and damage and plan are told."""

from __future__ import annotations

import re

from rmqlab_tools.spark.audit.audit_report import UNWANTED, remarks
from rmqlab_tools.spark.audit.page import audit_page
from rmqlab_tools.spark.audit.pictures import MAX_BINS, fates_by_group, losses_over_time


def row(fate, messages, minute=100, asked="yes", group="G_<1>", topic="T"):
    return {"group": group, "topic": topic, "fate": fate, "messages": messages, "minute": minute, "asked": asked}


COUNTS = [
    row("delivered", 60),
    row("dropped_by_client", 7, 103),
    row("dropped_by_broker_tag", 5, 101),
    row("dropped_by_broker_tag", 20, 101, "no"),
    row("delivered", 3, group="H"),
]
LOST = {
    "sent": 92,
    "delivered": 60,
    "lost": 12,
    "by_fate": {"delivered": 60, "dropped_by_client": 7, "dropped_by_broker_tag": 25},
    "unknown": 0,
    "may_be_lost": 0,
    "by_certainty": {"implied": {"delivered": 60, "dropped_by_client": 7, "dropped_by_broker_tag": 25}},
    "unknown_because": {},
    "asked_for": ["tagA", "tagB"],
    "lost_by_tag": {"tagA": 12},
    "lost_by_queue": {"0": 12},
    "first_lost": 6_060_000,
    "last_lost": 6_180_000,
}
FINE = {
    **dict.fromkeys(("sent", "delivered"), 3),
    **dict.fromkeys(("lost", "unknown", "may_be_lost"), 0),
    "by_fate": {"delivered": 3},
    "by_certainty": {"proved": {"delivered": 3}},
    **{name: {} for name in ("unknown_because", "lost_by_tag", "lost_by_queue")},
    "asked_for": ["*"],
}
SUMMARY = {"G_<1>": {"T": LOST}, "H": {"T": FINE}}
DAMAGE = [
    {"physicalOffset": 77, "size": 9, "reason": "no record begins here", "topic": "T", "queueId": 0, "queueOffset": 5}
]
PLAN = [
    {
        "group": "G_<1>",
        "topic": "T",
        "messages": ["M"] * 12,
        "perhaps": ["P"],
        "to_topic": {"topic": "T", "duplicates": 4},
        "to_retry_topic": {"topic": "%RETRY%G_<1>", "duplicates": 0},
    }
]


def test_the_page_has_groups_stages_damage_and_plan():
    page = audit_page("store", SUMMARY, COUNTS, DAMAGE, PLAN)
    assert "Lost messages: 12, in 1 of the groups and topics (2); 0 more may be; what became of 0 is unknown; " in page
    assert "G_<1>" not in page
    assert "G_&lt;1&gt;" in page
    assert "1970-01-01 01:41:00" in page
    assert "no record begins here" in page
    assert "%RETRY%G_&lt;1&gt;" in page
    assert page.count("<svg") == 2
    assert re.search(r"<svg[^>]*role=\"img\"", page)


def test_a_store_without_losses_needs_no_picture_of_them_and_says_it_is_whole():
    page = audit_page("store", {"H": {"T": FINE}}, COUNTS[4:], [], [])
    assert "<p class='yes'>Lost messages: 0, in 0 of the groups and topics (1); 0 more may be;" in page
    assert "Every record is whole." in page
    assert page.count("<svg") == 1


def test_what_nobody_asked_for_is_no_loss_in_the_pictures():
    rows = [("G_<1>", "T", LOST), ("H", "T", FINE)]
    table = fates_by_group(rows, COUNTS).table
    assert dict(zip(table.headers, table.rows[0], strict=True)) == {
        "group": "G_<1>", "topic": "T", "delivered": 60, "dropped_by_broker_tag": 5, "dropped_by_client": 7,
        UNWANTED: 20,
    }  # fmt: skip
    over = losses_over_time("G_<1>", "T", COUNTS).table
    assert list(over.headers) == ["from", "dropped by the broker", "dropped by the client", "delivered", UNWANTED]
    assert [one[1:] for one in over.rows] == [(0, 0, 60, 0), (5, 0, 0, 20), (0, 0, 0, 0), (0, 7, 0, 0)]


def test_a_page_says_what_is_unknown_and_is_not_green():
    """Two members with different tags: nothing is lost for certain, and nothing says that it was delivered."""
    eight = {
        **FINE, "sent": 8, "delivered": 0, "unknown": 8, "may_be_lost": 8, "by_fate": {"passed": 8},
        "by_certainty": {"unknown": {"passed": 8}}, "unknown_because": {"nobody knows": 8},
        "asked_for": ["tagA", "tagB"],
    }  # fmt: skip
    page = audit_page("store", {"H": {"T": eight}}, [row("passed", 8, group="H")], [], [])
    assert (
        "<p class='no'>Lost messages: 0, in 0 of the groups and topics (1); 8 more may be; what became of 8 is unknown"
        in page
    )
    assert "Each message is refused by one of them" in page
    assert "So at most one member took it." in page
    assert "8 unknown: nobody knows." in page
    assert re.search(r"passed: nothing else is known</td><td[^>]*>unknown</td><td[^>]*>8<", page)


def test_of_subscriptions_that_overlap_less_is_said():
    one = {**FINE, "sent": 8, "unknown": 8, "asked_for": ["*", "tagA"]}
    (told,) = remarks({"H": {"T": one}})
    assert "A message that not all of them ask for is refused by one of them" in told
    assert remarks({"H": {"T": {**one, "unknown": 0}}}) == []
    (nothing,) = remarks({"H": {"T": {**FINE, "sent": 0}}})
    assert "No message was audited" in nothing


def test_many_minutes_are_put_together():
    counts = [row("dropped_by_client", 1, minute) for minute in range(1000)]
    table = losses_over_time("G_<1>", "T", counts).table
    assert len(table.rows) <= MAX_BINS
    assert sum(one[1] for one in table.rows) == 1000
