"""The remoting side of a proxy: what it answers itself, and what it writes into pulls."""

from __future__ import annotations

from collections import Counter

from rmqlab.rules import RULES
from rmqlab.run import records
from rmqlab.scenario.scenario import convert_scenario
from rmqlab.sim.cluster import ClusterConfig
from rmqlab.sim.simulate import simulate

RULES_5 = RULES["5.5.0"]


def scenario(*starts, gap=200, sent=30_000, tags="AAAABBBB", ends=60_000):
    """Members that start `gap` ms after each other, each with its expression and its way, and a burst."""
    steps = [
        {"do": "start", "at": gap * number, "who": who, "group": "G", "via": via,
         "subscribe": {"T": {"type": kind, "expr": expression}}}
        for number, (who, via, kind, expression) in enumerate(starts)
    ]  # fmt: skip
    messages = [{"body": f"m{n}", "tag": f"tag{tag}", "queue": n % 4} for n, tag in enumerate(tags)]
    steps += [{"do": "send", "at": sent, "topic": "T", "messages": messages}, {"do": "offsets", "at": ends}]
    return convert_scenario({"id": "proxied", "topics": {"T": 4}, "steps": steps})


TWO = (("A", "proxy", "TAG", "tagA"), ("B", "proxy", "TAG", "tagB"))


def run(steps, **settings):
    return simulate(steps, cluster=ClusterConfig(rules=RULES_5, **settings))


def pulls(run):
    return [fact.event for fact in run.facts if fact.event.kind == "pull"]


def test_broker_itself_sees_no_member():
    views = [event for event in run(scenario(*TWO)).events if event["ev"] == "broker" and event.get("clients")]
    assert views == []


def test_group_has_one_expression_at_the_proxy_and_loses():
    fates = list(records.fates(run(scenario(*TWO))))
    assert Counter(fate.lost for fate in fates)[True] >= 4
    assert {fate.fate for fate in fates if fate.lost} <= {"dropped_by_broker_tag", "dropped_by_client"}


def test_members_that_agree_lose_nothing():
    both = [(who, "proxy", "TAG", "tagA || tagB") for who in "AB"]
    assert {fate.fate for fate in records.fates(run(scenario(*both)))} == {"delivered"}


def rebalances(run, who):
    """When a member took which queues of T (ms since its first time)."""
    taken = [(fact.t, fact.event) for fact in run.facts if fact.event.kind == "rebalance" and fact.source == who]
    return [(t - taken[0][0], event.queues) for t, event in taken if event.topic.startswith("T")]


def test_nobody_is_told_that_a_member_came():
    """A finds out that B is there when it rebalances again, every 20 s."""
    result = run(scenario(*TWO, gap=3_000))
    assert not any(fact.event.kind == "notify" for fact in result.facts)
    (_, first), (later_ms, second), *_ignored = rebalances(result, "A")
    assert (first, second) == ([0, 1, 2, 3], [0, 1])
    assert 15_000 < later_ms <= 20_100


def test_one_at_the_broker_and_one_at_the_proxy_do_not_see_each_other():
    """Each owns all queues, so each gets what it asks for."""
    mixed = run(scenario(("A", "proxy", "TAG", "tagA"), ("B", "broker", "TAG", "tagB")))
    assert rebalances(mixed, "A") == rebalances(mixed, "B") == [(0, [0, 1, 2, 3])]
    assert {fate.fate for fate in records.fates(mixed)} == {"delivered"}


def test_sql92_starts_without_property_filter_and_is_refused_at_every_pull():
    wanted = [(who, "proxy", "SQL92", f"TAGS = 'tag{who}'") for who in "AB"]
    refused = run(scenario(*wanted))
    assert not any(event["ev"] == "startFailed" for event in refused.events)
    assert {pull.code for pull in pulls(refused)} == {1}
    direct = run(scenario(*[(who, "broker", kind, expression) for who, _via, kind, expression in wanted]))
    assert [event["ev"] for event in direct.events].count("startFailed") == 2
