"""Pictures of an audit: what they say and draw, from plain rows."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.spark.audit.audit_report import topic_of
from rmqlab_tools.spark.audit.pictures import audit_table, loss_by_second, loss_by_tag

ZERO = 1_000_000
FIGURES = {
    "sent": 6, "delivered": 2, "lost": 2, "unknown": 1, "may_be_lost": 1, "by_fate": {},
    "by_certainty": {
        "implied": {"delivered": 2, "dropped_by_broker_tag": 2, "dropped_by_client": 1}, "unknown": {"passed": 1},
    },
    "lost_by_tag": {"tagA": 1, "": 1}, "lost_by_queue": {"0": 2},
}  # fmt: skip


def message(ms, fate, asked="yes"):
    place = {"group": "G_p-audit-003", "topic": "T_p-audit-003", "storeTimestamp": ZERO + ms}
    certainty = "unknown" if fate == "passed" else "implied"
    return {**place, "fate": fate, "certainty": certainty, "asked": asked}


GROUP, TOPIC = "G_p-audit-003", "T_p-audit-003"
HEALTHY = {
    **FIGURES, "delivered": 6, "lost": 0, "unknown": 0, "may_be_lost": 0, "lost_by_tag": {},
    "by_certainty": {"proved": {"delivered": 6}},
}  # fmt: skip
SUMMARY = {"H": {TOPIC: HEALTHY}, GROUP: {TOPIC: FIGURES}}
MESSAGES = [
    message(0, "delivered"), message(100, "dropped_by_broker_tag"), message(900, "passed"),
    message(1_000, "dropped_by_broker_tag", "no"), message(2_500, "dropped_by_client"), message(2_600, "delivered"),
]  # fmt: skip


def test_table_of_all_groups_has_the_worst_first_and_the_sum_last():
    rows = audit_table("a test", SUMMARY).rows
    assert [row[0] for row in rows] == ["G_p-audit-003", "H", "all"]
    assert rows[0][2:] == (6, 2, 2, 1, 1)
    assert rows[-1][2:] == (12, 8, 2, 1, 1)


def test_second_by_second_with_the_flip_of_the_subscription():
    picture = loss_by_second("a test", GROUP, FIGURES, MESSAGES, [(0, "tagA"), (ZERO + 1_500, "tagB")])
    assert tuple(picture.table.headers) == (
        "second", "sent", "dropped by the broker", "dropped by the client", "delivered",
        "passed: nothing else is known", "nobody asked for it",
    )  # fmt: skip
    assert picture.table.rows == [(0, 3, 1, 0, 1, 1, 0), (1, 1, 0, 0, 0, 0, 1), (2, 2, 0, 1, 1, 0, 0)]
    assert "The broker's subscription turned to tagB after 1.5 s." in picture.alt
    assert "tagB" in picture.svg
    assert "2 were delivered, 1 are unknown" in picture.alt
    nothing = loss_by_second("a test", "H", HEALTHY, [{**one, "fate": "delivered"} for one in MESSAGES], [])
    assert "H lost 0 of 6 messages; 6 were delivered, 0 are unknown." in nothing.alt
    assert "What the broker held is not known." in nothing.svg


def test_grid_of_groups_and_tags():
    picture = loss_by_tag("a test", SUMMARY)
    assert picture.table.rows == [["G_p-audit-003", 1, 1]]
    assert "no tag" in picture.svg
    with pytest.raises(BadInput, match="nothing was lost"):
        loss_by_tag("a test", {"H": SUMMARY["H"]})


def test_what_is_not_there_is_named():
    with pytest.raises(BadInput, match="group 'X' is not in this audit; there are G_p-audit-003, H"):
        topic_of(SUMMARY, "X")
