"""Subscriptions that cannot work, each by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import Certainty, State
from tests.doctor.conftest import M, finding, kinds, look, passed, subscription

ON = {"enablePropertyFilter": "true"}


def one_member(wish, **more):
    return diagnose(look([M("A", {"T": wish})], settings=more.pop("settings", ON), **more))


@pytest.mark.row("F-08", "F-98", "S-69")
@pytest.mark.parametrize(("end", "state"), [(100, State.AT_RISK), (107, State.LOSING)])
def test_sql92_without_the_switch(end, state):
    one = finding(one_member("SQL92:a > 3", settings={"enablePropertyFilter": "false"}, end=end), "property_filter_off")
    assert (one.state, one.certainty, one.evidence["waiting"]) == (state, Certainty.PROVED, 4 * (end - 100))
    assert "property_filter_off" not in kinds(one_member("SQL92:a > 3", settings={}))
    assert "property_filter_off" not in kinds(one_member("tagA", settings={"enablePropertyFilter": "false"}))


@pytest.mark.row("F-15", "F-43", "S-67", "F-39")
@pytest.mark.parametrize(
    "wish", ["SQL92:a > '100'", "SQL92:a in (1)", SubscriptionData("T", "a > 3", expression_type="sql92")]
)
def test_a_refused_expression(wish):
    assert finding(one_member(wish), "refused_expression").certainty is Certainty.PROVED


@pytest.mark.row("F-06")
@pytest.mark.parametrize("wish", ["SQL92:a > 3 AND a < 2", " || ", SubscriptionData("T", "||")])
def test_what_matches_nothing(wish):
    one = finding(one_member(wish), "matches_nothing")
    assert (one.state, one.certainty) == (State.AT_RISK, Certainty.PROVED)


@pytest.mark.row("F-07", "F-23", "F-27")
@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ("SQL92:a > 3 foo", "the rest is ignored in silence"),
        ("SQL92:tags = 'x'", "case-sensitive"),
        ("SQL92:a = 1 OR b = 2 AND c = 3", "AND binds tighter than OR"),
    ],
)
def test_what_its_author_cannot_have_meant_is_a_note(wish, said):
    one = finding(one_member(wish), "expression_warning")
    assert one.state is State.NOTE
    assert said in one.says


@pytest.mark.row("F-31", "F-50", "F-58")
def test_codes_that_are_not_those_of_the_tags():
    sent = replace(subscription("T", "tagA"), code_set={1})
    assert finding(one_member(sent), "wrong_codes").certainty is Certainty.PROVED
    assert finding(diagnose(passed(look([M("A", {"T": sent})]), ["tagA"])), "losing_messages").evidence["lost"] == 4
    assert "wrong_codes" not in kinds(one_member(replace(sent, code_set=set()))), "not told is not wrong"


@pytest.mark.row("F-01", "F-99")
def test_a_class_filter():
    wish = SubscriptionData("T", "org.example.Mine", class_filter_mode=True)
    assert finding(one_member(wish), "class_filter").certainty is Certainty.IMPLIED


@pytest.mark.row("S-15")
def test_a_tag_in_another_case():
    seen = passed(look([M("A", {"T": "TagA"})]), ["tagA"] * 25)
    one = finding(diagnose(seen), "tags_not_seen")
    assert one.state is State.NOTE
    assert one.evidence == {"read": 100, "spelled": ["tagA"]}
    assert "tags_not_seen" not in kinds(diagnose(passed(look([M("A", {"T": "TagA"})]), ["tagA"] * 24))), "too few"
    assert "tags_not_seen" not in kinds(diagnose(passed(look([M("A")]), ["tagA"] * 25)))
