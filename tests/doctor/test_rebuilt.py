"""A group that was looked at, rebuilt in a lab: it loses what the live one loses."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.run.fates import Fate
from rmqlab.scenario.scenario import Start
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.lab_from_snapshot import rebuild
from tests.doctor.conftest import STARTED, M, look, passed
from tests.doctor.recorded_looks import recorded_look

TWO_TAGS = [M("z@1", {"T": "tagA"}, STARTED), M("a@2", {"T": "tagB"}, STARTED + 60_000)]


@pytest.mark.row("S-01")
def test_the_articles_group_loses_six_of_eight_in_the_lab():
    seen = passed(look(TWO_TAGS), ["tagA", "tagB"])
    lab = diagnose(seen).lab("G")
    fates = lab.fates()
    assert sorted(lab.clients) == ["A", "B"]
    assert [client.subscription_inner["T"].sub_string for _, client in sorted(lab.clients.items())] == ["tagB", "tagA"]
    assert len(fates) == 16
    assert sum(fate.lost for fate in fates) == 12


def test_a_group_of_newer_brokers_is_rebuilt_by_the_rules_there_are():
    lab = rebuild(recorded_look("5.3.3", 2), "Article")
    assert sorted(lab.clients) == ["A", "B"]
    assert any(fate.lost for fate in lab.fates())


def test_a_group_that_pops_pops_in_the_lab():
    lab = rebuild(recorded_look("5.5.0", 2), "PopDiffers")
    assert [step.kind for step in lab.scenario().steps if isinstance(step, Start)] == ["pop", "pop"]
    assert lab.rules.has_pop
    outcomes = rmqlab.explore(lab.scenario(), budget=3, samples=3, shortening=0, version=lab.rules.version).outcomes
    fates = {fate.fate for outcome in outcomes for fate in outcome.run.fates if fate.lost}
    assert fates == {Fate.SKIPPED_BY_POP}, "no slot drops anything there"


def test_the_scenario_repeats_the_lab():
    lab = diagnose(passed(look(TWO_TAGS), ["tagA", "tagB", None])).lab()
    again = rmqlab.Lab.from_scenario(lab.scenario())
    assert [(row.body, row.fate) for row in again.fates()] == [(row.body, row.fate) for row in lab.fates()]


def test_tags_are_sent_in_the_proportions_seen():
    lab = diagnose(passed(look(TWO_TAGS), ["tagA", "tagA", "tagA", "tagB"])).lab()
    assert [row.tag for row in lab.messages()].count("tagA") == 12


def test_a_silent_only_member_is_rebuilt_from_the_slot():
    lab = diagnose(look([M("A", {"T": "SQL92:a > 3"}, silent=True)], settings={"enablePropertyFilter": "true"})).lab()
    assert [client.subscription_inner["T"].sub_string for client in lab.clients.values()] == ["a > 3"]


def test_what_cannot_be_rebuilt_is_said():
    with pytest.raises(BadInput, match="no group 'H' was looked at; there are G"):
        diagnose(look(TWO_TAGS)).lab("H")
    with pytest.raises(BadInput, match="nothing is known of what its members ask for"):
        diagnose(look([])).lab("G")
