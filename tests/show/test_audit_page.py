"""The page of an audit: every figure of the audit is on it, names are text, and damage and plan are told."""

from __future__ import annotations

import re

from rmqlab.show.audit import page as module
from rmqlab.show.audit.page import UNWANTED, audit_page, fates_by_group, losses_over_time


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
    "lost_by_certainty": {"implied": 12},
    "lost_by_tag": {"tagA": 12},
    "lost_by_queue": {"0": 12},
    "lost_unless_nobody_asked": 0,
    "first_lost": 6_060_000,
    "last_lost": 6_180_000,
}
FINE = {
    **dict.fromkeys(("sent", "delivered"), 3),
    "lost": 0,
    "by_fate": {"delivered": 3},
    "lost_unless_nobody_asked": 0,
}
FINE |= {f"lost_by_{name}": {} for name in ("certainty", "tag", "queue")}
SUMMARY = {"G_<1>": {"T": LOST}, "H": {"T": FINE}}
DAMAGE = [
    {"physicalOffset": 77, "size": 9, "reason": "no record begins here", "topic": "T", "queueId": 0, "queueOffset": 5}
]
PLAN = [
    {
        "group": "G_<1>",
        "topic": "T",
        "messages": ["M"] * 12,
        "to_topic": {"topic": "T", "duplicates": 4},
        "to_retry_topic": {"topic": "%RETRY%G_<1>", "duplicates": 0},
        "uncertain": 1,
    }
]


def test_the_page_has_groups_stages_damage_and_plan():
    page = audit_page("store", SUMMARY, COUNTS, DAMAGE, PLAN)
    assert "12 messages lost in 1 of 2 groups and topics; 1 damaged places" in page
    assert "G_<1>" not in page
    assert "G_&lt;1&gt;" in page
    assert "1970-01-01 01:41:00" in page
    assert "no record begins here" in page
    assert "%RETRY%G_&lt;1&gt;" in page
    assert page.count("<svg") == 2
    assert re.search(r"<svg[^>]*role=\"img\"", page)


def test_a_store_without_losses_needs_no_picture_of_them_and_says_it_is_whole():
    page = audit_page("store", {"H": {"T": FINE}}, COUNTS[4:], [], [])
    assert "0 messages lost in 0 of 1 groups" in page
    assert "Every record is whole." in page
    assert page.count("<svg") == 1


def test_without_matplotlib_the_tables_are_there(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    page = audit_page("store", SUMMARY, COUNTS, DAMAGE, PLAN)
    assert "matplotlib is not installed" in page
    assert "<svg" not in page
    assert "dropped_by_client" in page


def test_what_nobody_asked_for_is_no_loss_in_the_pictures():
    rows = [("G_<1>", "T", LOST), ("H", "T", FINE)]
    table = fates_by_group(rows, COUNTS).table
    assert dict(zip(table.headers, table.rows[0], strict=True)) == {
        "group": "G_<1>", "topic": "T", "delivered": 60, "dropped_by_broker_tag": 5, "dropped_by_client": 7,
        UNWANTED: 20,
    }  # fmt: skip
    over = losses_over_time("G_<1>", "T", COUNTS).table
    assert list(over.headers) == ["from", "dropped_by_broker_tag", "dropped_by_client", "not lost"]
    assert [one[1:] for one in over.rows] == [(0, 0, 60), (5, 0, 20), (0, 0, 0), (0, 7, 0)]


def test_many_minutes_are_put_together():
    counts = [row("dropped_by_client", 1, minute) for minute in range(1000)]
    table = losses_over_time("G_<1>", "T", counts).table
    assert len(table.rows) <= module.MOST_BINS
    assert sum(one[1] for one in table.rows) == 1000
