"""The change planner: what counts as lost, cases whose answer is known, schedules that replay."""

from __future__ import annotations

import json
from functools import cache

import pytest

from rmqlab.errors import BadInput
from rmqlab.rules import RULES
from rmqlab.scenario.scenario import Send, Start, parse_scenario
from rmqlab.scenario.schedule import Schedule
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import TOPICS_SETTLE_MS, simulate
from rmqlab_tools.search.consistency import lets_pass
from rmqlab_tools.search.explorer.deviations import replay_schedule
from rmqlab_tools.search.explorer.open_search import OpenSearch
from rmqlab_tools.search.plan import planner
from rmqlab_tools.search.plan.change import MessageKind, change_between, data_of, parse_subscription, text_of
from rmqlab_tools.search.plan.checklist import asks_of_producers, checklist
from rmqlab_tools.search.plan.plan_text import plan_lines
from rmqlab_tools.search.plan.planner import plan
from rmqlab_tools.search.plan.procedures import NEW_TOPIC, PROCEDURES, Producers, Setting, course
from rmqlab_tools.search.plan.run_cost import cost_of
from rmqlab_tools.side_by_side import side_by_side
from tests.proof.bench.entries import benchmarks

pytestmark = pytest.mark.slow

NAMES = [one.name for one in PROCEDURES]
WIDEN = "widen-then-narrow"
KEEP, WAIT = Producers.KEEP, Producers.WAIT


def whole(found):
    """All that is said of a plan, assumptions and schedules too."""
    return "\n".join(map(str, plan_lines(found, verbose=True)))


def change(old, new):
    return change_between(parse_subscription(old, "OLD"), parse_subscription(new, "NEW"))


@cache
def planned(old, new):
    """A plan with few schedules: enough to find a loss where there is one in most of them."""
    return plan(old, new, setting=Setting(2, 2, every_ms=1_000), budget=2)


def safe(old, new, producers):
    return {one.procedure.name for one in planned(old, new).tried if one.lossless and one.producers is producers}


# What the two take.


def test_kinds_of_messages_are_by_meaning():
    assert set(change("tagA||tagB", " tagB || tagA").kinds) == {MessageKind.BOTH}
    assert set(change("tagA", "tagB").kinds) == {MessageKind.OLD, MessageKind.NEW}
    assert set(change("tagA", "tagA||tagB").kinds) == {MessageKind.NEW, MessageKind.BOTH}
    assert set(change("*", "tagA").kinds) == {MessageKind.OLD, MessageKind.BOTH}
    assert set(change("SQL92:a > 3", "SQL92:a > 5").kinds) == {MessageKind.OLD, MessageKind.BOTH}
    assert set(change("SQL92:a > 3", "SQL92:a >= 4").kinds) == {MessageKind.BOTH}  # 3.5 is no number to compare with 3


@pytest.mark.parametrize(
    ("old", "new"),
    [("tagA", "tagB"), ("tagA", "SQL92:a > 3"), ("SQL92:a > 3", "SQL92:b = 'x'"), ("tagA||tagB", "tagB||tagC")],
)
def test_a_union_takes_what_either_takes(old, new):
    one = change(old, new)
    assert one.union is not None
    for kind in one.kinds:
        assert one.passes(one.union, kind)
        assert one.passes(one.old, kind) == (kind is not MessageKind.NEW)
        assert one.passes(one.new, kind) == (kind is not MessageKind.OLD)


@pytest.mark.parametrize(
    ("old", "new", "union", "missed"),
    [
        ("SQL92:a > 3", "SQL92:b = 'x'", "SQL92:(b = 'x') OR (a > 3)", None),
        ("SQL92:a > 3", "SQL92:b > 3", "SQL92:(a > 3) OR (b > 3)", {"a": "3.0", "b": "4"}),
    ],
)
def test_a_union_is_written_in_the_order_that_loses_least_and_says_what_it_misses(old, new, union, missed):
    one = change(old, new)
    assert (text_of(one.union), one.missed) == (union, missed)
    if missed is not None:
        assert lets_pass(data_of(one.new), missed)
        assert not lets_pass(data_of(one.union), missed)
    widen = next(each for each in PROCEDURES if each.name == WIDEN)
    asked = [text for text in asks_of_producers(widen, one) if text.startswith("Producers send no message like")]
    assert len(asked) == (missed is not None)


def test_a_union_that_is_one_of_the_two_needs_one_rollout():
    assert change("tagA", "tagA||tagB").rollouts == [change("tagA", "tagA||tagB").new]
    assert change("tagA||tagB", "tagA").rollouts == [change("tagA||tagB", "tagA").new]
    assert [text_of(one) for one in change("tagA", "tagB").rollouts] == ["tagA||tagB", "tagB"]


def test_what_cannot_be_written_as_one_is_rolled_out_one_by_one():
    one = change("it's", "SQL92:a > 3")
    assert one.union is None
    one_by_one, widen = (next(each for each in PROCEDURES if each.name == name) for name in ("one-by-one", WIDEN))
    assert checklist(widen, one) == checklist(one_by_one, one)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("||", "tagA", "OLD '||'"),
        (" || ", "tagA", "OLD ' || '"),
        ("tagA", "SQL92:a >", "NEW 'SQL92:a >'"),
        ("tagA", "SQL92:", "NEW 'SQL92:'"),
    ],
)
def test_what_the_broker_refuses_is_refused(old, new, told):
    with pytest.raises(BadInput, match="^" + told.replace("|", r"\|")):
        plan(old, new)


@pytest.mark.parametrize("numbers", [{"members": 0}, {"queues": 0}, {"pause_ms": -1}, {"every_ms": 1}])
def test_settings_out_of_range_are_refused(numbers):
    with pytest.raises(BadInput, match="whole number from"):
        Setting(**numbers)


def test_unknown_procedures_and_empty_budgets_are_refused():
    with pytest.raises(BadInput, match="no procedure 'hope'; there are: stop-all"):
        plan("tagA", "tagB", procedures=["hope"])
    with pytest.raises(BadInput, match="budget is 0"):
        plan("tagA", "tagB", budget=0)


# Cases whose answer is known.


def test_equal_by_meaning_loses_nothing_in_any_way():
    assert safe("tagA||tagB", "tagB || tagA", KEEP) == safe("tagA||tagB", "tagB || tagA", WAIT) == set(NAMES)


def test_one_by_one_loses_what_the_two_disagree_about():
    """The broker keeps one subscription for the group, and members of both kinds pull by it (rows S-07, S-84)."""
    for old, new in (("tagA", "tagB"), ("tagA", "tagA||tagB"), ("tagA||tagB", "tagA")):
        one = planned(old, new).of("one-by-one")
        assert not one.lossless
        assert {lost.kind for lost in one.lost} <= {MessageKind.OLD, MessageKind.NEW}
        assert {lost.fate for lost in one.lost} <= {"dropped_by_broker_tag", "dropped_by_client"}


def test_all_at_once_a_new_group_and_a_new_topic_lose_nothing():
    for old, new in (("tagA", "tagB"), ("tagA", "tagA||tagB"), ("tagA||tagB", "tagA")):
        assert safe(old, new, KEEP) >= {"stop-all", "new-group", "new-topic"}


def test_widening_first_is_safe_only_if_the_producers_wait():
    assert "widen-then-narrow" not in safe("tagA", "tagB", KEEP)
    assert "widen-then-narrow" in safe("tagA", "tagB", WAIT)
    assert "one-by-one" not in safe("tagA", "tagB", WAIT)
    assert "widen-then-narrow" in safe("tagA", "tagA||tagB", WAIT)
    assert "widen-then-narrow" in safe("tagA||tagB", "tagA", WAIT)


def test_a_condition_in_place_of_a_tag():
    one = planned("tagA", "SQL92:a > 3")
    assert {"stop-all", "new-group", "new-topic"} <= safe("tagA", "SQL92:a > 3", KEEP)
    assert not one.of("one-by-one").lossless
    assert text_of(one.change.union) == "SQL92:(TAGS IN ('tagA')) OR (a > 3)"
    assert one.of("widen-then-narrow", WAIT).lossless


def test_what_asks_something_of_the_producers_is_safe_on_that_condition_only():
    one = planned("tagA", "tagB")
    assert one.safe == []
    for tried in one.lossless:
        told = tried.as_json()
        steps = [step for step in checklist(tried.procedure, one.change) if "roducers" in step]
        assert tried.conditions == steps != []
        assert (told["safe"], told["conditional"], told["conditions"]) == (False, True, steps)
    for tried in planned("tagA||tagB", "tagB || tagA").tried:
        asks = tried.procedure.name == "new-topic"
        assert (tried.safe, bool(tried.conditions)) == (not asks, asks)


def test_what_asks_least_is_advised_first():
    assert planned("tagA||tagB", "tagB || tagA").safe[0].procedure.name == "one-by-one"
    assert [(one.procedure.name, one.producers) for one in planned("tagA", "tagB").lossless] == [
        ("stop-all", KEEP), ("new-group", KEEP), ("new-topic", KEEP),
        ("stop-all", WAIT), ("new-group", WAIT), ("widen-then-narrow", WAIT), ("new-topic", WAIT),
    ]  # fmt: skip


def test_two_groups_take_more_twice_than_two_topics():
    one = planned("tagA", "tagA||tagB")
    assert one.of("new-group").duplicates > one.of("new-topic").duplicates


def test_a_gap_makes_messages_wait():
    one = planned("tagA", "tagA||tagB")
    assert one.of("stop-all").longest_wait_ms > one.of("one-by-one").longest_wait_ms


def test_time_and_wait_are_the_longest_of_all_runs_and_not_of_the_usual_one():
    one = plan(
        "tagA", "tagA||tagB", setting=Setting(2, 2, every_ms=1_000), budget=30, procedures=["one-by-one"],
        producers=[KEEP],
    ).of("one-by-one")  # fmt: skip
    at = TOPICS_SETTLE_MS + one.course.change_at
    usual = cost_of(simulate(one.course.scenario, cluster=default_settings()), change("tagA", "tagA||tagB"), at)
    assert one.longest_wait_ms >= one.cost.longest_wait_ms
    assert one.longest_wait_ms > usual.longest_wait_ms
    assert one.takes_ms > usual.takes_ms


def test_going_slowly_makes_it_worse():
    fast, slow = (
        plan("tagA", "tagB", setting=Setting(2, 2, pause), budget=1, procedures=["one-by-one"], producers=[KEEP])
        for pause in (1_000, 4_000)
    )
    assert len(slow.of("one-by-one").cost.lost) > len(fast.of("one-by-one").cost.lost) > 0


# Searching.


def test_a_small_space_is_searched_to_its_end():
    one = plan("tagA", "tagB", setting=Setting(1, 1, every_ms=1_000), budget=50, procedures=["one-by-one"])
    for producers in (KEEP, WAIT):
        tried = one.of("one-by-one", producers)
        assert tried.lossless
        assert tried.exhausted
        assert sum(tried.losses.values()) == pytest.approx(1)
    assert "every schedule: every order of frames; assumed: the broker handles one request after" in whole(one)


def test_a_large_space_says_how_many_were_tried():
    tried = planned("tagA", "tagB").of("one-by-one")
    assert not tried.exhausted
    assert not any(one.exhausted for one in planned("tagA", "tagB").tried)
    assert "assumed" not in whole(planned("tagA", "tagB"))
    assert (tried.searched, tried.drawn, tried.runs) == (2, 2, 4)


def test_the_search_opens_nothing_before_the_change():
    one = course(PROCEDURES[0], change("tagA", "tagB"), Setting(2, 2), KEEP)
    late, early = (
        OpenSearch(one.scenario, lambda run: len(run.events), cluster=default_settings(), open_from_ms=at)
        for at in (10_000_000, 0)
    )
    late.step()
    early.step()
    assert late.exhausted
    assert len(late.graph.nodes) == 0
    assert early.waiting > 0


def test_the_worst_schedule_replays_from_its_text():
    tried = planned("tagA", "tagB").of("one-by-one")
    scenario = parse_scenario(tried.course.scenario.to_json())
    schedule = Schedule.from_json(tried.schedule.to_json())
    run = replay_schedule(scenario, schedule, cluster=default_settings())
    cost = cost_of(run, planned("tagA", "tagB").change, TOPICS_SETTLE_MS + tried.course.change_at)
    assert cost == tried.cost
    assert cost.lost


def test_the_same_question_has_the_same_answer():
    again = plan("tagA", "tagB", setting=Setting(2, 2, every_ms=1_000), budget=2)
    assert again.as_json() == planned("tagA", "tagB").as_json()


def test_the_json_has_the_keys_that_others_rely_on():
    for one in planned("tagA", "tagB").as_json()["procedures"]:
        assert {"name", "safe", "exhausted", "runs", "worst_loss", "duplicates", "schedule"} <= set(one)
        assert (one["safe"] or one["conditional"]) == (one["worst_loss"] == 0)
        assert not (one["safe"] and one["conditions"])


# Courses.


@pytest.mark.parametrize("procedure", PROCEDURES, ids=NAMES)
def test_every_procedure_ends_with_all_members_on_the_new_subscription(procedure):
    one = change("tagA", "tagB")
    scenario = course(procedure, one, Setting(3, 2), KEEP).scenario
    last = {}
    for step in scenario.steps:
        if getattr(step, "who", None):
            last[step.who] = step
    running = [step for step in last.values() if isinstance(step, Start)]
    assert len(running) == 3
    for step in running:
        ((topic, wants),) = step.subscribe.items()
        assert wants == one.new or topic == NEW_TOPIC


@pytest.mark.parametrize("procedure", PROCEDURES, ids=NAMES)
def test_producers_that_wait_never_send_both_kinds_at_a_time(procedure):
    scenario = course(procedure, change("tagA", "tagB"), Setting(2, 2), WAIT).scenario
    sends = [step for step in scenario.steps if isinstance(step, Send)]
    kinds = [message.body.partition("-")[0] for step in sends for message in step.messages]
    assert kinds == sorted(kinds, key=["old", "new"].index)
    assert set(kinds) == {"old", "new"}


@pytest.mark.parametrize("procedure", PROCEDURES, ids=NAMES)
def test_every_procedure_has_a_checklist_that_names_the_new_subscription(procedure):
    for old, new in (("tagA", "tagB"), ("tagA", "tagA||tagB"), ("tagA||tagB", "tagA"), ("tagA", "tagA")):
        lines = checklist(procedure, change(old, new))
        assert any(new in line for line in lines)
        assert any("mqadmin" in line for line in lines)


# Speed.


def test_the_bench_plans_for_four_members():
    known = benchmarks()
    assert known["plan-four"].heavy
    done, seconds = known["plan-schedules"].measure()
    assert done >= 2
    assert seconds > 0


def test_a_limit_of_time_ends_the_plan_and_is_said():
    found = plan("tagA", "tagB", seconds=0.01, procedures=["one-by-one"])
    assert found.cut
    assert all(one.searched <= 2 and one.drawn == 1 for one in found.tried)
    assert found.as_json()["out_of_time"]
    assert "the limit of time came before the budget was used up" in repr(found)


def test_plan_in_several_processes_is_the_plan_of_one(monkeypatch):
    def made():
        return plan(
            "tagA", "tagB", setting=Setting(2, 2, every_ms=1_000), budget=2, procedures=["stop-all", "new-topic"]
        )

    alone = made()
    monkeypatch.setattr(planner, "WORTH_HELPERS", 1)
    monkeypatch.setattr(planner, "processors", lambda: 2)
    asked = []
    monkeypatch.setattr(planner, "side_by_side", lambda *what: asked.append(what) or side_by_side(*what))
    together = made()
    assert len(asked) == 1
    assert json.dumps(together.as_json()) == json.dumps(alone.as_json())
    for one, other in zip(together.tried, alone.tried, strict=True):
        assert (one.course, one.cost, one.losses) == (other.course, other.cost, other.losses)
        assert one.worst.lines() == other.worst.lines()
        assert one.worst.scenario.to_json() == other.worst.scenario.to_json()


def test_rules_of_ones_own_stay_in_this_process():
    """A helper could not read them: they may be functions of a notebook."""
    task = planner._Task(PROCEDURES[0], change("a", "b"), Setting(), KEEP, RULES["4.8.0"], 600, 0)
    own = task._replace(rules=RULES["4.8.0"].replace(scan_period_ms=1))
    assert planner._is_worth_helpers([task, task]) == (planner.processors() > 1)
    assert not planner._is_worth_helpers([own, own])
