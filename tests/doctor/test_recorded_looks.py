"""Looks that were taken of real clusters are judged as they were then: every fault of the scene, no healthy group."""

from __future__ import annotations

import json

import pytest

from rmqlab.checkout import checkout_path
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
    said = json.loads((checkout_path("data") / "doctor" / f"{servers}-mqadmin.json").read_text("utf-8"))
    assert all("Same subscription in the same group of consumer" in text for text in said.values())
    states = {one.group: one.state for one in second.groups if one.group in said}
    assert {name for name, state in states.items() if state >= State.AT_RISK} == said.keys() - {"SameTags"}


def test_the_second_look_knows_what_was_lost(recorded):
    _, (_, second) = recorded
    states = {one.group: one.state for one in second.groups}
    assert {name for name, state in states.items() if state is State.LOSING} >= {"Article", "Wider", "Orphan"}
    assert states["TwoOwners"] is State.AT_RISK


def test_groups_of_a_real_proxy_are_named_and_not_judged_by_push():
    first, second = (recorded_look("5.5.0", number) for number in (1, 2))
    found = diagnose(second, first)
    kinds = {one.group: {finding.kind for finding in one.findings} for one in found.groups}
    at_proxy = {"at_a_proxy", "proxy_one_subscription"}
    assert kinds == {
        "GrpcDiffers": at_proxy, "GrpcSame": at_proxy | {"retries"}, "ProxyPush": at_proxy, "Simple": at_proxy,
        "Mixed": {"at_a_proxy", "mixed_modes"}, "PopDiffers": {"pop_members_differ"}, "PushSame": set(),
        "Gone": {"no_members"},
    }  # fmt: skip
    for look in (first, second):
        look.proxies.clear()
        for group in look.groups.values():
            group.at_proxies.clear()
    alone = diagnose(second, first)
    maybe = {one.group for one in alone.groups if any(finding.kind == "maybe_at_a_proxy" for finding in one.findings)}
    assert maybe == {"GrpcDiffers", "GrpcSame", "ProxyPush", "Simple"}, "the one that is gone is not among them"
