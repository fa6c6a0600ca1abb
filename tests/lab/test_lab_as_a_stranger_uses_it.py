"""What somebody does with a Lab who only read the README: odd values, mistakes, interruptions, rules of their own."""

import copy
import gc
import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rmqlab
from rmqlab import BadInput
from rmqlab.run.recorded_events import Starting
from rmqlab.sim.frame_queues import EndlessBurstError
from rmqlab_tools.search.explorer.explanation import blame

RULES = rmqlab.RULES["4.8.0"]
ROOT = Path(__file__).parents[2]


def group_of(*consumers, topics=None, **options):
    lab = rmqlab.Lab(topics=topics or {"T": 2}, **options)
    for who, settings in consumers:
        lab.consumer(who, **{"group": "G", "subscribe": {"T": "*"}} | settings)
        lab.run(seconds=30)
    return lab


# Fates agree with what listeners got.


def test_a_message_that_is_refused_seventeen_times_is_a_dead_letter():
    lab = group_of(("A", {"later_times": 17}))
    lab.send("T", ["a"])
    lab.run(seconds=3 * 3600)
    assert [(row.fate, row.lost) for row in lab.fates()] == [("retrying", False)]
    lab.run(ms=17_170_000 - int(lab.now))
    words = [lab.step() for _ in range(60)]
    assert len(lab.consumed()) == 17
    assert [(row.fate, row.culprit, row.lost) for row in lab.fates()] == [("dead_letter", "A", False)]
    (told,) = (text for text in words if "a dead letter of group G" in text)
    assert re.match(r"at \d{8} ms: ", told)
    assert rmqlab.simulate(lab.scenario()).fates()[0].fate == "dead_letter"


def test_an_orderly_listener_that_refuses_gets_the_same_message_again_before_the_next():
    lab = group_of(("A", {"orderly": True, "later_times": 2}))
    lab.send("T", ["a"] * 3, queues=0)
    lab.run(settle=True)
    assert [(row.body, row.success) for row in lab.consumed()] == [
        (f"MsgStr{number}", success) for number in range(3) for success in (False, False, True)
    ]
    assert {row.fate for row in lab.fates()} == {"delivered"}
    assert lab.finish().lines() == rmqlab.simulate(lab.scenario()).lines()


def test_what_a_broadcasting_listener_refuses_never_comes_again():
    lab = group_of(("A", {"mode": "broadcasting", "later_times": 1}))
    lab.send("T", ["a"])
    lab.run(seconds=3600)
    assert len(lab.consumed()) == 1
    assert [(row.fate, row.member, row.lost) for row in lab.fates()] == [("dropped_by_client", "A", True)]
    assert {row[3] for row in lab.swimlane().table.rows if row[2] == "message"} == {"dropped by the client"}


# After a mistake a lab goes on.


def test_a_consumer_whose_start_fails_can_be_ended_and_started_again():
    lab = group_of()
    with pytest.raises(BadInput, match=r"CODE: 23 .*lab\.kill\('B'\) ends them"):
        lab.consumer("B", group="G", sql92={"T": "a >"})
    for call in (lambda: lab.stop("B"), lambda: lab.subscribe("B", "T", "a")):
        with pytest.raises(BadInput, match=r"B did not start; .*lab\.kill\('B'\)"):
            call()
    with pytest.raises(BadInput, match="stop or kill it first"):
        lab.consumer("B", group="G", subscribe={"T": "a"})
    lab.kill("B")
    lab.consumer("B", group="G", subscribe={"T": "a"})
    lab.run(seconds=30)
    lab.send("T", ["a"])
    lab.run(seconds=5)
    assert [row.fate for row in lab.fates()] == ["delivered"]
    assert lab.finish().lines() == rmqlab.simulate(lab.scenario()).lines()


REFUSED = {
    "group: the specified group": {"group": "组"},
    "consumerGroup can not equal DEFAULT_CONSUMER": {"group": "DEFAULT_CONSUMER"},
    "B subscribes {'T': ''}; right is topic and condition": {"subscribe": None, "sql92": {"T": ""}},
    "a lone surrogate is no character": {"who": "\ud800"},
    'consume_from is "start"; it is one of last, first': {"consume_from": "start"},
    "later_times is -1": {"later_times": -1},
    "group is null; right is a text": {"group": None},
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_no_consumer_can_be_is_refused_before_it_starts(said):
    lab = group_of()
    with pytest.raises(BadInput, match=re.escape(said)):
        lab.consumer(**{"who": "B", "group": "G", "subscribe": {"T": "a"}} | REFUSED[said])
    lab.consumer("B", group="G", subscribe={"T": "a"})
    assert round(lab.now) == 6


WRONG = {
    "topics names 5; right is a text": lambda lab: rmqlab.Lab(topics={5: 1}),
    "name is null": lambda lab: rmqlab.Lab(topics={"T": 1}, name=None),
    "rules is {}; right is RULES": lambda lab: rmqlab.Lab(topics={"T": 1}, rules={}),
    "a property is named 5; right is a text": lambda lab: lab.send("T", properties={5: "a"}),
    "by_ms is 0": lambda lab: lab.clock("broker", 0),
    "down_ms is 0": lambda lab: lab.restart_broker(0),
    "ms is -1": lambda lab: lab.pause("broker", -1),
    "for_ms is -1": lambda lab: lab.slow("P", 5, for_ms=-1),
    "A subscribes {'T': ''}; right is topic and condition": lambda lab: lab.subscribe("A", "T", sql92=""),
    "run: inf ms; time runs forward": lambda lab: lab.run(seconds=1e308),
    "is no time; right is a number": lambda lab: lab.run(seconds=10**400),
    "Timedelta('0 days 00:00:03') is no time": lambda lab: lab.run(seconds=pd.Timedelta("3s")),
    "budget is None; a whole number is wanted": lambda lab: lab.explore(budget=None),
    "budget is 2.5; a whole number is wanted": lambda lab: rmqlab.explore(lab.scenario(), budget=2.5),
    "vary 'begin'; there are start": lambda lab: lab.explore(vary="begin"),
    "scenario is <Lab lab at": rmqlab.simulate,
    "rules is 4; right is RULES": lambda lab: rmqlab.simulate(lab.scenario(), rules=4),
    "rules is 'x'; right is RULES": lambda lab: rmqlab.replay("data/golden/broker-4.8.0/noprop", rules="x"),
    "nobody subscribes 'X'; subscribed are: T of G": lambda lab: group_of(("A", {})).swimlane(topic="X"),
    "no consumer was started": lambda lab: lab.swimlane(),
    "A, T: is 5; right is a text": lambda lab: rmqlab.lint({"A": {"T": 5}}),
    "lint: a client is 5; right is a text": lambda lab: rmqlab.lint({5: {"T": "a"}}),
    "OLD is None; right is a text": lambda lab: rmqlab.plan(None, "b"),
    "producers is ['kep']; it is a list of keep, wait": lambda lab: rmqlab.plan("a", "b", producers=["kep"]),
    "seed is 'x'; a whole number": lambda lab: rmqlab.plan("a", "b", seed="x"),
    "expression is None; right is a text": lambda lab: rmqlab.sql92(None),
    "properties are 'a=5'; right is names and texts": lambda lab: rmqlab.sql92("a > 3", "a=5"),
    "expression is ['a']; right is a text": lambda lab: rmqlab.tags(["a"]),
    "an experiment's name is 5": lambda lab: rmqlab.reproduce(5),
    "no broken rules 5": lambda lab: rmqlab.broken(5),
    "no question 9: they have the numbers 1 to 3": lambda lab: rmqlab.quiz("01").answer(9, 1),
    "no choice 'x': they have the numbers 1 to": lambda lab: rmqlab.quiz("01").answer(1, "x"),
    "heartbeat_period_ms is 0; it must be 1 or more": lambda lab: RULES.replace(heartbeat_period_ms=0),
    "scan_period_ms is '2 s'; a whole number is wanted": lambda lab: RULES.replace(scan_period_ms="2 s"),
    "suspend_ms is 1.5; a whole number is wanted": lambda lab: RULES.replace(suspend_ms=1.5),
    "client_keeps is 5; right is a function": lambda lab: RULES.replace(client_keeps=5),
    "a lab cannot be copied": copy.deepcopy,
    "Lab.from_scenario(lab.scenario(), ...) opens another": pickle.dumps,
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_call_is_told_and_changes_nothing(said):
    lab = group_of()
    with pytest.raises(BadInput, match=re.escape(said)):
        WRONG[said](lab)
    assert (lab.now, len(lab.scenario().steps)) == (0, 2)
    lab.consumer("A", group="G", subscribe={"T": "a"})


def test_a_predicate_that_raises_leaves_the_lab_whole():
    lab = group_of(("A", {}))
    with pytest.raises(ZeroDivisionError):
        lab.run(until=lambda lab: 1 / 0)
    lab.send("T", ["a"])
    lab.run(seconds=5)
    assert [row.fate for row in lab.fates()] == ["delivered"]
    assert lab.finish().lines() == rmqlab.simulate(lab.scenario()).lines()


@pytest.mark.parametrize("rule", ["client_keeps", "update_subscription", "allocate", "tags_code"])
def test_whoever_writes_a_rule_that_raises_is_told_and_the_lab_says_that_it_cannot_go_on(rule):
    def mine(*_given):
        raise ValueError("my mistake")

    lab = rmqlab.Lab(topics={"T": 2}, rules=RULES.replace(**{rule: mine}))

    def goes_on():
        lab.consumer("A", group="G", subscribe={"T": "*"})
        lab.run(seconds=30)
        lab.send("T", ["a"])
        lab.run(seconds=30)

    with pytest.raises((ValueError, RuntimeError), match="my mistake"):
        goes_on()
    with pytest.raises(BadInput, match=r"was broken by (ValueError|RuntimeError); Lab\.from_scenario"):
        lab.run(seconds=1)
    again = rmqlab.Lab.from_scenario(lab.scenario(), rules=RULES)
    again.run(seconds=60)
    assert "1 sent" in repr(again) or rule != "client_keeps"


def test_the_value_of_a_condition_goes_to_a_rule_of_ones_own_and_its_error_comes_back():
    def mine(value):
        raise ValueError(f"my mistake with {value}")

    lab = group_of(
        ("A", {"subscribe": None, "sql92": {"T": "a > 3"}}), rules=RULES.replace(is_matched_by_commit_log=mine)
    )
    with pytest.raises(ValueError, match="my mistake with False"):
        lab.send("T", properties={"a": "2"})


def test_an_interrupted_lab_says_so_instead_of_going_on_with_a_hole():
    def mine(subscription, tag):
        raise KeyboardInterrupt

    lab = group_of(("A", {}), rules=RULES.replace(client_keeps=mine))
    lab.send("T", ["a"])
    with pytest.raises(KeyboardInterrupt):
        lab.run(seconds=5)
    with pytest.raises(BadInput, match="this lab was broken by KeyboardInterrupt"):
        lab.send("T", ["a"])
    assert "1 sent" in repr(lab)
    again = rmqlab.Lab.from_scenario(lab.scenario())
    again.run(seconds=5)
    assert [row.fate for row in again.fates()] == ["delivered"]


def test_a_lab_that_is_dropped_or_refused_says_nothing_of_coroutines():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            group_of().consumer("A", group="G", subscribe={"T": "*"})
        with pytest.raises(BadInput, match="conflict with system topic"):
            rmqlab.Lab(topics={"TBW102": 1})
        gc.collect()


# A lab that was opened with rules and settings is opened again with them.


def test_a_scenario_is_opened_with_the_rules_and_settings_of_its_lab():
    options = {"enableCalcFilterBitMap": True, "enableConsumeQueueExt": True}
    rules = RULES.replace(heartbeat_period_ms=7_000)
    lab = group_of(("A", {"subscribe": None, "sql92": {"T": "x > 2"}}), rules=rules, **options)
    lab.send("T", properties=[{"x": "1"}, {"x": "3"}])
    lab.run(seconds=10)
    assert [row.fate for row in lab.fates()] == ["dropped_by_broker_bitmap", "delivered"]
    again = rmqlab.Lab.from_scenario(lab.scenario(), rules=rules, **options)
    assert list(again.fates()) == list(lab.fates())
    assert list(again.heartbeats()) == list(lab.heartbeats())
    assert again.finish().lines() == rmqlab.simulate(lab.scenario(), rules=rules, **options).lines()


# Values of a notebook.


def test_numbers_and_columns_of_numpy_and_pandas_are_taken():
    lab = rmqlab.Lab(topics={"T": np.int64(4)}, seed=np.int64(3))
    lab.consumer("A", group="G", subscribe={"T": "*"}, later_times=np.int32(0))
    lab.run(seconds=np.int64(30))
    lab.run(ms=np.float64(500))
    lab.send("T", np.array(["a", "b"]), queues=np.arange(2))
    lab.send("T", pd.Series(["a", None]), bodies=(f"body {number}" for number in range(2)), queues=range(2))
    lab.pause("A", np.int64(5))
    assert [(row.tag, row.queue, row.body) for row in lab.messages()] == [
        ("a", 0, "MsgStr0"), ("b", 1, "MsgStr1"), ("a", 0, "body 0"), (None, 1, "body 1"),
    ]  # fmt: skip
    assert rmqlab.Lab.from_scenario(lab.scenario(), until=np.int64(100)).now >= 100
    assert rmqlab.explore(lab.scenario(), budget=np.int64(2)).runs >= 2
    with pytest.raises(BadInput, match=r"right is a text or null"):
        lab.send("T", {"a", "b"})


def test_what_send_returns_are_the_records_of_the_table():
    lab = group_of(("A", {}))
    sent = lab.send("T", ["a", "b"], keys="k") + lab.send("T", bodies=["x"])
    assert sent == list(lab.messages()) == list(lab.finish().messages())


# What is shown.


def test_what_is_shown_says_what_a_learner_wants_to_know():
    lab = group_of(("A", {}))
    lab.resize("T", 4)
    assert "topics T (4)" in repr(lab)
    lab.send("T", ["a"])
    assert repr(lab.producer) == "<DefaultMQProducer of group PROD: knows TBW102, T>"
    outcomes = lab.explore(budget=4, samples=2).outcomes
    assert len(repr(outcomes)) < 200 * len(outcomes)
    assert re.fullmatch(r"<outcome, (no share|[\d.]+%): A gets MsgStr0; lost: nothing>", repr(outcomes[0]))


@pytest.mark.parametrize("topics", [1, 30])
def test_tables_events_and_the_lab_have_one_zero_the_moment_at_which_the_topics_were_ready(topics):
    lab = group_of(("A", {"subscribe": {"T0": "*"}}), topics={f"T{number}": 1 for number in range(topics)})
    beats = len(lab.heartbeats())
    lab.run(until=lambda lab: len(lab.heartbeats()) > beats)
    assert lab.events().where(ev="starting")[0].t == 0
    assert int(lab.now) == int(lab.heartbeats()[-1].t) + 1
    run = lab.finish().run
    assert 2_500 < run.zero <= 2_500 + 4 * topics
    assert next(run.recorded(Starting)).t == run.zero  # lines and files count from the begin of the run


@pytest.mark.parametrize("topics", [1, 30])
def test_pictures_versions_and_what_is_to_blame_count_from_the_same_zero(topics):
    lab = group_of(("A", {"subscribe": {"T0": "a"}}), topics={f"T{number}": 1 for number in range(topics)})
    lab.run(seconds=60)
    lab.consumer("B", group="G", subscribe={"T0": "b"})
    lab.run(seconds=40)
    cut_at = lab.now
    lab.cut("A")
    lab.run(seconds=20)
    moments = {(row[2], row[1]): row for row in lab.swimlane().table.rows}
    joined, cut = moments["heartbeat", "B"], moments["fault", "A"]
    started = lab.events().where(ev="starting", who="B")[0].t
    beat = next(row for row in lab.heartbeats() if row.who == "B")
    stamp = next(row for row in lab.subscriptions() if row.who == "B")
    run = lab.finish().run
    epoch = run.events[0]["epochMs"]
    assert cut[0] == f"{cut_at / 1_000:.3f} s"
    assert next(row.since for row in lab.owners() if row.owners == "A and B") == pytest.approx(cut_at, abs=20)
    assert any(f"the connection of A was cut at {cut_at:.0f} ms" in line for line in blame(run))
    shown = [text for row in lab.swimlane().table.rows if row[1] == "B" for text in row if "version" in str(text)]
    version = stamp.version - epoch - run.zero  # of the broker's subscription, as ms of the lab's clock
    assert started - 1 <= version <= beat.t
    assert any(f"version {version / 1_000:.3f} s" in str(text) for text in shown)
    assert joined[0] in {f"{row.t / 1_000:.3f} s" for row in lab.heartbeats() if row.who == "B"}


def test_a_long_time_is_told_to_the_ms():
    lab = group_of(("A", {}))
    lab.run(seconds=2_000)
    now = int(lab.now)
    assert f"at {now} ms" in repr(lab)
    assert re.match(r"at 2\d{6} ms: ", lab.step())
    lab.send("T", ["a"])
    lab.run(seconds=1)
    assert str(round(lab.consumed()[0].t)) in repr(lab.consumed())
    with pytest.raises(BadInput, match=r"now is 20\d{5} ms"):
        lab.run(until=lambda lab: False, seconds=1)


def test_steps_are_told_in_words():
    lab = group_of(("A", {}))
    lab.send("T", ["a"])
    lab.cut("A")
    words = " ".join(lab.step() for _ in range(200))
    for told in (
        "the broker registers with the name server", "A's pull of T queue 0 from offset 0 fails: ",
        "A sends its offset 1 of T queue 0 to the broker", "A commits offset 1 of T queue 0 for group G",
    ):  # fmt: skip
        assert told in words
    assert not re.search(r"\b[a-z]+_[a-z_]+\b", words)


def test_an_endless_burst_is_bad_input():
    assert issubclass(EndlessBurstError, BadInput)


USER = """
import rmqlab

lab = rmqlab.Lab(topics={"T": 4}, rules=rmqlab.RULES["4.8.0"].replace(client_keeps=lambda subscription, tag: True))
lab.consumer("A", group="G", subscribe={"T": "a"})
lab.run(until=lambda one: len(one.rebalances()) > 1)
queue: int = lab.send("T", (tag for tag in "ab"), queues=range(2))[0].queue
share: float | None = lab.explore(budget=3).outcomes[0].share
again = rmqlab.Lab.from_scenario(lab.scenario(), until=5, enablePropertyFilter=True)
rows: int = rmqlab.read_store(rmqlab.spark(), "store").count()
print(again.fates().where(lambda fate: fate.lost), rmqlab.simulate(lab.scenario()).fates()[0].lost)
"""
SLIPS = (("the_fates()", "fates()"), ("simulat(", "simulate("), ('queues="x"', "queues=range(2)"))


@pytest.mark.slow
def test_mypy_sees_the_front_door_and_slips_at_it(tmp_path):
    def told_of(text):
        (tmp_path / "user.py").write_text(text, encoding="utf-8")
        options = ["--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", "user.py"]
        path, mypy = os.environ | {"MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}, [sys.executable, "-m", "mypy"]
        return subprocess.run(
            [*mypy, *options],
            cwd=tmp_path,
            env=path,
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    assert told_of(USER).startswith("Success")
    for wrong, right in SLIPS:
        assert "Found 1 error" in told_of(USER.replace(right, wrong, 1))
