"""Looks that were taken of real clusters are judged as they were then: every fault of the scene, no healthy group."""

from __future__ import annotations

import json

import pytest

from rmqlab.checkout import folder
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import State
from tests.doctor.recorded_looks import recorded_look
from tests.doctor.scene import groups_at


@pytest.fixture(scope="module", params=["4.8.0", "5.3.3"])
def recorded(request):
    """The version of the servers, and what is said of the first look and of the second one."""
    first, second = (recorded_look(request.param, number) for number in (1, 2))
    return request.param, [diagnose(first), diagnose(second, first)]


def test_every_fault_is_found(recorded):
    servers, diagnoses = recorded
    for diagnosis in diagnoses:
        kinds = {one.group: {finding.kind for finding in one.findings} for one in diagnosis.groups}
        assert [one.name for one in groups_at(servers) if one.kinds - kinds[one.name]] == []
        assert diagnosis.status == 3


def test_no_healthy_group_is_accused(recorded):
    servers, diagnoses = recorded
    for diagnosis in diagnoses:
        states = {one.group: one.state for one in diagnosis.groups}
        assert [one.name for one in groups_at(servers) if one.healthy and states[one.name] > State.NOTE] == []


def test_the_admin_tool_told_sick_groups_and_healthy_ones_alike(recorded):
    servers, (_, second) = recorded
    said = json.loads((folder("data") / "doctor" / f"{servers}-mqadmin.json").read_text("utf-8"))
    assert all("Same subscription in the same group of consumer" in text for text in said.values())
    states = {one.group: one.state for one in second.groups if one.group in said}
    assert {name for name, state in states.items() if state >= State.AT_RISK} == said.keys() - {"SameTags"}


def test_the_second_look_knows_what_was_lost(recorded):
    _, (_, second) = recorded
    states = {one.group: one.state for one in second.groups}
    assert {name for name, state in states.items() if state is State.LOSING} >= {"Article", "Wider", "Orphan"}
    assert states["TwoOwners"] is State.AT_RISK
